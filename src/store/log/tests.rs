//! The log's laws: what was appended comes back; damage is told from a torn tail; a wrong record
//! never comes.

use std::io;
use std::path::Path;

use proptest::prelude::*;

use super::frame::PREAMBLE_BYTES;
use super::*;
use crate::store::simulated::{Aftermath, SimulatedDisk, for_each_cut};
use crate::store::{FileSystem, StateError, Storage};

const LOG: &str = "log-1";

/// Records, each with its offset.
type Records = Vec<(u64, Vec<u8>)>;

/// What reading a log gave.
#[derive(Debug, PartialEq)]
struct Read {
    records: Records,
    /// The end, or where it is damaged.
    end: Result<LogEnd, u64>,
}

fn read(storage: &dyn Storage, path: &Path) -> Read {
    let mut records = Vec::new();
    let mut reader = match LogReader::open(storage, path) {
        Ok(reader) => reader,
        Err(StateError::Damaged { offset, .. }) => return Read { records, end: Err(offset) },
        // A flipped version; nothing was read.
        Err(StateError::Newer { .. } | StateError::Older { .. }) => return Read { records, end: Err(12) },
        Err(error) => panic!("{error}"),
    };
    loop {
        match reader.next_record() {
            Ok(Some(record)) => records.push((record.offset, record.payload.to_vec())),
            Ok(None) => return Read { records, end: Ok(reader.end().expect("an end")) },
            Err(StateError::Damaged { offset, file, .. }) => {
                assert_eq!(file, path);
                return Read { records, end: Err(offset) };
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn read_bytes(bytes: &[u8]) -> Read {
    let disk = SimulatedDisk::new();
    disk.plant(Path::new(LOG), bytes);
    read(&disk, Path::new(LOG))
}

/// Lines as they are found on the web: much like one another.
fn text(length: usize) -> Vec<u8> {
    let lines = (0..).flat_map(|number| format!("http://a.test/page/{number}\n").into_bytes());
    lines.take(length).collect()
}

/// Bytes that nothing makes shorter.
fn noise(length: usize) -> Vec<u8> {
    (0..length as u64).map(|place| (xxhash_rust::xxh3::xxh3_64(&place.to_le_bytes()) >> 7) as u8).collect()
}

/// A small log with two marks, as bytes, its records, and for each mark where it stands and how
/// far it covers.
fn small_log() -> (Vec<u8>, Records, [(u64, u64); 2]) {
    let disk = SimulatedDisk::new();
    let mut log = LogWriter::create(&disk, Path::new(LOG)).expect("created");
    let mut records = Vec::new();
    let mut append = |log: &mut LogWriter, payload: &[u8]| {
        records.push((log.append(payload).expect("appended"), payload.to_vec()));
    };
    append(&mut log, b"first");
    append(&mut log, &text(700));
    let first = log.length();
    log.sync().expect("synced");
    let marks_first = (first, first);
    append(&mut log, b"");
    append(&mut log, &noise(40));
    log.write().expect("written");
    let handle = log.sync_handle().expect("a handle");
    let second = log.length();
    append(&mut log, b"written while the sync runs");
    log.write().expect("written");
    let marks_second = (log.length(), second);
    log.mark(&handle.sync().expect("synced")).expect("marked");
    append(&mut log, &text(600));
    append(&mut log, b"last");
    log.write().expect("written");
    assert!(log.has_unmarked());
    let bytes = disk.content(Path::new(LOG)).expect("there");
    assert_eq!(bytes.len() as u64, log.length());
    (bytes, records, [marks_first, marks_second])
}

/// Where the frames of the small log begin, the end included.
fn frame_starts(bytes: &[u8], records: &[(u64, Vec<u8>)], marks: &[(u64, u64); 2]) -> Vec<u64> {
    let mut starts: Vec<u64> = records.iter().map(|(offset, _)| *offset).collect();
    starts.extend(marks.iter().map(|(place, _)| *place));
    starts.push(bytes.len() as u64);
    starts.sort_unstable();
    starts
}

fn before(records: &[(u64, Vec<u8>)], offset: u64) -> Records {
    records.iter().filter(|(start, _)| *start < offset).cloned().collect()
}

#[test]
fn the_small_log_is_read_whole() {
    let (bytes, records, _) = small_log();
    let end = Ok(LogEnd { offset: bytes.len() as u64, torn: None });
    assert_eq!(read_bytes(&bytes), Read { records, end });
}

#[test]
fn every_flipped_bit_is_damage_before_the_mark_and_a_torn_tail_after_it() {
    let (bytes, records, marks) = small_log();
    let starts = frame_starts(&bytes, &records, &marks);
    for place in 0..bytes.len() as u64 {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[place as usize] ^= 1 << bit;
            let found = read_bytes(&flipped);
            if place < PREAMBLE_BYTES as u64 {
                assert!(found.end.is_err() && found.records.is_empty(), "byte {place}");
                continue;
            }
            let bad = *starts.iter().rfind(|start| **start <= place).expect("a frame");
            let covered = marks.iter().filter(|(at, _)| *at != bad).map(|(_, covers)| *covers).max();
            assert_eq!(found.records, before(&records, bad), "byte {place} bit {bit}");
            match found.end {
                Err(offset) => assert!(offset == bad && covered > Some(bad), "byte {place} bit {bit}"),
                Ok(end) => {
                    assert!(end.offset == bad && end.torn.is_some(), "byte {place} bit {bit}");
                    assert!(covered <= Some(bad), "byte {place} bit {bit}");
                }
            }
        }
    }
}

/// What is missing at the end cannot be told from what never got there, not even where a mark
/// stood in it: the log ends at its last whole record.
#[test]
fn every_truncation_ends_the_log_at_its_last_whole_record() {
    let (bytes, records, marks) = small_log();
    let starts = frame_starts(&bytes, &records, &marks);
    for length in 0..bytes.len() {
        let found = read_bytes(&bytes[..length]);
        if length < PREAMBLE_BYTES {
            assert_eq!(found, Read { records: Vec::new(), end: Err(length as u64) });
            continue;
        }
        let last = *starts.iter().rfind(|start| **start <= length as u64).expect("a frame");
        assert_eq!(found.records, before(&records, last));
        let end = found.end.expect("a torn tail");
        assert_eq!((end.offset, end.torn.is_some()), (last, last < length as u64));
    }
}

#[test]
fn a_stretch_of_zeros_is_damage_if_a_mark_covers_it() {
    let (bytes, records, marks) = small_log();
    let [_, (second_mark, second_covers)] = marks;
    for (start, _) in &records {
        let mut holed = bytes.clone();
        let end = (*start as usize + 24).min(bytes.len());
        holed[*start as usize..end].fill(0);
        let mark_is_whole = end as u64 <= second_mark || *start > second_mark;
        let found = read_bytes(&holed);
        assert_eq!(found.records, before(&records, *start));
        if *start < second_covers && mark_is_whole {
            assert_eq!(found.end, Err(*start));
        } else {
            assert_eq!(found.end.expect("torn").offset, *start);
        }
    }
}

#[test]
fn what_an_older_log_left_on_the_disk_is_no_record() {
    let (older, _, _) = small_log();
    let (bytes, records, [(first_mark, _), _]) = small_log();
    let cut = records.iter().map(|(start, _)| *start).find(|start| *start > first_mark).expect("a record");
    let mixed = [&bytes[..cut as usize], &older[cut as usize..]].concat();
    let found = read_bytes(&mixed);
    assert_eq!(found.records, before(&records, cut));
    assert_eq!(found.end.expect("torn").offset, cut);
}

#[test]
fn a_mark_within_a_record_is_not_taken_for_one() {
    let (bytes, _, [(mark, _), _]) = small_log();
    let disk = SimulatedDisk::new();
    let mut log = LogWriter::create(&disk, Path::new(LOG)).expect("created");
    log.append(b"torn").expect("appended");
    log.append(&bytes[mark as usize..mark as usize + 16]).expect("appended");
    log.write().expect("written");
    let mut torn = disk.content(Path::new(LOG)).expect("there");
    torn[PREAMBLE_BYTES + 9] ^= 1;
    assert_eq!(read_bytes(&torn).end.expect("torn").offset, PREAMBLE_BYTES as u64);
}

#[test]
fn a_record_that_cannot_be_followed_is_judged_by_the_marks() {
    let (bytes, records, [_, (_, covered)]) = small_log();
    for (start, payload) in &records {
        let disk = SimulatedDisk::new();
        disk.plant(Path::new(LOG), &bytes);
        let mut reader = LogReader::open(&disk, Path::new(LOG)).expect("opened");
        while reader.next_record().expect("readable").expect("a record").offset != *start {}
        assert_eq!(reader.is_synced(*start).expect("readable"), *start < covered);
        match reader.reject(*start, "its sink lacks it") {
            Ok(()) => {
                assert!(*start >= covered);
                assert_eq!(reader.next_record().expect("readable"), None);
                let end = LogEnd { offset: *start, torn: Some("its sink lacks it") };
                assert_eq!(reader.end(), Some(end));
            }
            Err(error) => {
                assert!(*start < covered, "{payload:?}");
                assert!(error.to_string().contains(&format!("damaged at byte {start}: its sink")), "{error}");
            }
        }
    }
}

#[test]
fn a_missing_log_is_damage() {
    assert_eq!(read(&SimulatedDisk::new(), Path::new(LOG)).end, Err(0));
}

#[test]
fn large_records_come_back_and_leave_no_room_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(LOG);
    let mut log = LogWriter::create(&FileSystem, &path).expect("created");
    let payloads =
        [noise(64 * 1024 - 8), text(3_000_000), noise(1_500_000), noise(20_000), text(65_600), noise(3)];
    for payload in &payloads {
        log.append(payload).expect("appended");
        log.sync().expect("synced");
        assert!(log.room() <= 512 * 1024, "{}", log.room());
    }
    log.write().expect("written");
    assert!(log.length() < 2_400_000, "text is compressed");
    assert_eq!(std::fs::metadata(&path).expect("there").len(), log.length());
    let found = read(&FileSystem, &path);
    assert!(found.records.iter().map(|(_, payload)| payload).eq(&payloads));
    assert_eq!(found.end, Ok(LogEnd { offset: log.length(), torn: None }));
}

#[test]
fn a_record_that_is_too_long_is_refused() {
    let mut log = LogWriter::create(&SimulatedDisk::new(), Path::new(LOG)).expect("created");
    log.append(&vec![0; MAX_RECORD]).expect("as long as may be");
    log.append(&vec![0; MAX_RECORD + 1]).expect_err("too long");
    log.append(b"").expect_err("poisoned");
    log.write().expect_err("poisoned");
}

#[test]
fn nothing_is_written_after_a_failed_write() {
    let disk = SimulatedDisk::new();
    let mut log = LogWriter::create(&disk, Path::new(LOG)).expect("created");
    log.append(b"kept").expect("appended");
    log.write().expect("written");
    let handle = log.sync_handle().expect("a handle");
    disk.fail_from(disk.operations().len() as u64, io::ErrorKind::StorageFull);
    log.append(&noise(100)).expect("gathered");
    assert!(log.write().expect_err("full").is_disk_full());
    disk.free();
    log.append(b"more").expect_err("poisoned");
    log.write().expect_err("poisoned");
    log.sync().expect_err("poisoned");
    log.sync_handle().expect_err("poisoned");
    handle.sync().expect_err("poisoned");
    let found = read(&disk, Path::new(LOG));
    assert_eq!(found.records.len(), 1);
    assert_eq!(found.end, Ok(LogEnd { offset: log.length() - 108, torn: None }), "cut back to whole records");
}

#[test]
fn nothing_is_written_after_a_failed_sync() {
    let disk = SimulatedDisk::new();
    let mut log = LogWriter::create(&disk, Path::new(LOG)).expect("created");
    log.append(b"kept").expect("appended");
    log.write().expect("written");
    let (failing, good) = (log.sync_handle().expect("a handle"), log.sync_handle().expect("a handle"));
    disk.fail_once(disk.operations().len() as u64, io::ErrorKind::Other);
    std::thread::scope(|scope| scope.spawn(|| failing.sync().expect_err("fails")).join()).expect("joined");
    good.sync().expect_err("what a second sync says is not believed");
    let error = log.append(b"more").expect_err("poisoned");
    assert!(error.to_string().contains("log-1: an earlier write or sync"), "{error}");
}

#[test]
fn the_sync_of_an_older_log_marks_nothing() {
    let disk = SimulatedDisk::new();
    let mut older = LogWriter::create(&disk, Path::new("log-1")).expect("created");
    older.append(&noise(400)).expect("appended");
    older.write().expect("written");
    let synced = older.sync_handle().expect("a handle").sync().expect("synced");
    assert_eq!(synced.covers(), older.length());
    let mut log = LogWriter::create(&disk, Path::new("log-2")).expect("created");
    log.append(b"a").expect("appended");
    let length = log.length();
    log.mark(&synced).expect("passed over");
    assert_eq!(log.length(), length);
    assert!(log.has_unmarked());
    older.mark(&synced).expect("marked");
    assert!(!older.has_unmarked());
}

/// What a test knows of a log whose writer ended somewhere.
#[derive(Default)]
struct Known {
    created: bool,
    appended: Vec<Vec<u8>>,
    written: usize,
    synced: usize,
}

fn write_log(disk: &SimulatedDisk) -> Known {
    let mut known = Known::default();
    let _ = write_some(disk, &mut known);
    known
}

fn write_some(disk: &SimulatedDisk, known: &mut Known) -> Result<(), StateError> {
    let mut log = LogWriter::create(disk, Path::new(LOG))?;
    known.created = true;
    for step in 0..40_usize {
        let payload = if step % 3 == 0 { text(500 + step * 10) } else { noise(step) };
        log.append(&payload)?;
        known.appended.push(payload);
        if step % 2 == 0 {
            log.write()?;
            known.written = known.appended.len();
        }
        if step % 5 == 4 {
            log.sync()?;
            (known.written, known.synced) = (known.appended.len(), known.appended.len());
        }
    }
    Ok(())
}

#[test]
fn a_log_survives_every_cut_as_far_as_it_was_promised() {
    let mut torn = 0;
    let checks = for_each_cut(7, write_log, |disk, known, crash| {
        if !known.created {
            return;
        }
        let found = read(disk, Path::new(LOG));
        let promised = if crash.aftermath == Aftermath::Kill { known.written } else { known.synced };
        let end = found.end.expect("a cut is no damage");
        torn += u32::from(end.torn.is_some());
        assert!(found.records.len() >= promised, "{} of {promised}", found.records.len());
        // More may be there than is known to be: an append may end well and not be heard of.
        assert!(found.records.iter().map(|(_, payload)| payload).zip(&known.appended).all(|(a, b)| a == b));
        assert!(found.records.len() <= known.appended.len());
    });
    assert!(checks > 300 && torn > 50, "{checks} checks, {torn} torn");
}

proptest! {
    #[test]
    fn what_was_appended_comes_back(
        payloads in proptest::collection::vec((0..3_000_usize, any::<bool>(), 0..4_u8), 0..40),
    ) {
        let disk = SimulatedDisk::new();
        let mut log = LogWriter::create(&disk, Path::new(LOG)).expect("created");
        let mut appended = Vec::new();
        for (length, dense, then) in payloads {
            let payload = if dense { noise(length) } else { text(length) };
            appended.push((log.append(&payload).expect("appended"), payload));
            match then {
                0 => log.write().expect("written"),
                1 => log.sync().expect("synced"),
                _ => {}
            }
        }
        log.write().expect("written");
        let end = Ok(LogEnd { offset: log.length(), torn: None });
        prop_assert_eq!(read(&disk, Path::new(LOG)), Read { records: appended, end });
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (good, _, _) = small_log();
        let read = read_bytes(&[&good[..PREAMBLE_BYTES], &bytes].concat());
        prop_assert!(read.records.is_empty());
    }
}
