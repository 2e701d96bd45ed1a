//! A sink holds what manifest and log name, whatever happened; less is never made good.

use std::collections::HashSet;
use std::io;

use super::*;
use crate::store::simulated::{Aftermath, Cuts, SimulatedDisk, for_each_cut};
use crate::store::{Decoder, Encoder, FileSystem, LogReader, LogWriter, remove_unnamed};

fn pages() -> &'static Path {
    Path::new("pages.jsonl")
}

fn log() -> &'static Path {
    Path::new("state/log-1")
}

fn line(number: usize) -> Vec<u8> {
    format!("{{\"url\":\"http://a.test/{number}\",\"text\":\"{}\"}}\n", "x".repeat(number % 90)).into_bytes()
}

fn lines(numbers: std::ops::Range<usize>) -> Vec<u8> {
    numbers.flat_map(line).collect()
}

fn seal_of(bytes: &[u8]) -> SinkSeal {
    let tail = &bytes[bytes.len().saturating_sub(TAIL as usize)..];
    SinkSeal {
        whole: Seal { length: bytes.len() as u64, crc32: crc32fast::hash(bytes) },
        tail_crc32: crc32fast::hash(tail),
    }
}

fn damaged_at(error: &StateError) -> Option<u64> {
    if let StateError::Damaged { offset, .. } = error { Some(*offset) } else { None }
}

#[test]
fn ranges_follow_one_another_and_verify() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pages.jsonl");
    let mut sink = SinkFile::create(&FileSystem, &path).expect("created");
    let mut ranges = Vec::new();
    // The last of them passes the buffer several times over.
    for numbers in [0..1, 1..1, 1..4, 4..3_000] {
        numbers.map(line).for_each(|line| sink.append(&line).expect("appended"));
        ranges.push(sink.write().expect("written"));
        assert_eq!(ranges.last().map(SinkRange::end), Some(sink.length()));
    }
    assert_eq!(ranges[1], SinkRange { offset: ranges[0].length, length: 0, crc32: 0 });
    assert_eq!(std::fs::read(&path).expect("readable"), lines(0..3_000));
    sink.append(b"in memory, unnamed").expect("appended");
    drop(sink);

    let mut recovering = RecoveringSink::open(&FileSystem, &path, seal_of(&lines(0..1))).expect("opened");
    for range in &ranges[1..3] {
        recovering.accept(*range).expect("verified");
    }
    let mut sink = recovering.finish().expect("cut back");
    assert_eq!(std::fs::read(&path).expect("readable"), lines(0..4));
    sink.append(&line(4)).expect("appended");
    assert_eq!(sink.write().expect("written").offset, ranges[2].end());
    assert_eq!(std::fs::read(&path).expect("readable"), lines(0..5));
    assert_eq!(
        sink.seal().expect("sealed"),
        seal_of(&lines(0..5)),
        "what was written before the recovery counts"
    );
}

#[test]
fn a_shorter_or_missing_sink_is_refused_and_not_touched() {
    let disk = SimulatedDisk::new();
    let missing = RecoveringSink::open(&disk, pages(), SinkSeal::default()).expect_err("missing");
    assert_eq!(damaged_at(&missing), Some(0));
    disk.plant(pages(), b"short\n");
    let error = RecoveringSink::open(&disk, pages(), seal_of(b"shorter")).expect_err("shorter");
    let said = error.to_string();
    assert!(
        said.starts_with("pages.jsonl: damaged at byte 6: it is shorter than the manifest says"),
        "{said}"
    );
    let mut sink = RecoveringSink::open(&disk, pages(), seal_of(b"short\n")).expect("as long");
    let beyond = SinkRange { offset: 6, length: 1, crc32: 0 };
    assert_eq!(damaged_at(&sink.accept(beyond).expect_err("shorter")), Some(6));
    let endless = SinkRange { offset: 6, length: u64::MAX, crc32: 0 };
    assert_eq!(damaged_at(&sink.accept(endless).expect_err("shorter")), Some(6));
    assert_eq!(disk.content(pages()).expect("there"), b"short\n");
    assert!(disk.operations().is_empty());
}

#[test]
fn every_flipped_bit_and_every_wrong_place_is_found() {
    let good = lines(0..4);
    let range = SinkRange { offset: 0, length: good.len() as u64, crc32: crc32fast::hash(&good) };
    let recovering = |bytes: &[u8]| {
        let disk = SimulatedDisk::new();
        disk.plant(pages(), bytes);
        RecoveringSink::open(&disk, pages(), SinkSeal::default()).expect("opened")
    };
    recovering(&good).accept(range).expect("verified");
    for place in 0..good.len() {
        for bit in 0..8 {
            let mut flipped = good.clone();
            flipped[place] ^= 1 << bit;
            let mut sink = recovering(&flipped);
            assert_eq!(damaged_at(&sink.accept(range).expect_err("flipped")), Some(0));
            assert_eq!(sink.length(), 0);
        }
    }
    let mut sink = recovering(&[&good[..], &good[..]].concat());
    sink.accept(range).expect("verified");
    sink.accept(range).expect_err("the same once more");
    sink.accept(SinkRange { offset: range.end() + 1, length: 0, crc32: 0 }).expect_err("a gap");
    sink.accept(SinkRange { offset: range.end(), ..range }).expect("the next");
}

#[test]
fn what_was_written_before_the_checkpoint_is_held_against_its_checksums() {
    let good = lines(0..1_500);
    let sealed = good.len() - line(1_499).len();
    let seal = seal_of(&good[..sealed]);
    let opened = |bytes: &[u8]| {
        let disk = SimulatedDisk::new();
        disk.plant(pages(), bytes);
        RecoveringSink::open(&disk, pages(), seal)
    };
    assert!(sealed > TAIL as usize + 30_000, "there is more than the tail");
    opened(&good).expect("what follows is the log's matter").check().expect("as written");
    for place in (0..good.len()).step_by(499).chain(sealed - 3..sealed + 3) {
        let mut flipped = good.clone();
        flipped[place] ^= 1 << (place % 8);
        let found = opened(&flipped);
        let found = if place >= sealed {
            found.expect("behind the checkpoint").check().expect("not looked at");
            continue;
        } else if place < sealed - TAIL as usize {
            found.expect("before the tail").check()
        } else {
            found.map(|_| ())
        };
        let error = found.expect_err("flipped");
        assert!(error.to_string().contains("put it back"), "the remedy is named: {error}");
    }
    // a letter too many anywhere moves the tail
    opened(&[b"x", &good[..]].concat()).expect_err("longer at its beginning");
}

#[test]
fn checksums_go_on_over_recoveries() {
    let disk = SimulatedDisk::new();
    let mut sink = SinkFile::create(&disk, pages()).expect("created");
    for round in 0..4 {
        let seal = sink.seal().expect("sealed");
        assert_eq!(seal, seal_of(&lines(0..round * 500)));
        (round * 500..round * 500 + 300).map(line).for_each(|line| sink.append(&line).expect("appended"));
        let named = sink.write().expect("written");
        drop(sink);
        let mut recovering = RecoveringSink::open(&disk, pages(), seal).expect("opened");
        recovering.accept(named).expect("verified");
        recovering.check().expect("as written");
        sink = recovering.finish().expect("goes on");
        (round * 500 + 300..(round + 1) * 500)
            .map(line)
            .for_each(|line| sink.append(&line).expect("appended"));
        sink.write().expect("written");
    }
}

#[test]
fn after_a_failed_write_whole_lines_are_left() {
    let disk = SimulatedDisk::new();
    let mut sink = SinkFile::create(&disk, pages()).expect("created");
    sink.append(&line(1)).expect("appended");
    sink.write().expect("written");
    disk.fail_from(0, io::ErrorKind::StorageFull);
    sink.append(&line(2)).expect("gathered");
    assert!(sink.write().expect_err("full").is_disk_full());
    disk.free();
    sink.append(&line(3)).expect_err("poisoned");
    sink.write().expect_err("poisoned");
    sink.sync_handle().expect_err("poisoned");
    assert_eq!(disk.content(pages()).expect("there"), line(1));
}

/// What is known of a run that wrote lines and their log.
#[derive(Default)]
struct Known {
    begun: bool,
    written: usize,
    synced: usize,
}

fn crawl(disk: &SimulatedDisk) -> Known {
    let mut known = Known::default();
    let _ = crawl_some(disk, &mut known);
    known
}

/// The order of DESIGN's log: sink bytes, log record; sinks synced, log synced, mark.
fn crawl_some(disk: &SimulatedDisk, known: &mut Known) -> Result<(), StateError> {
    let root = Path::new("");
    disk.create_directory(Path::new("state")).map_err(StateError::io(root))?;
    let mut sink = SinkFile::create(disk, pages())?;
    sink.sync_handle()?.sync()?;
    let mut log = LogWriter::create(disk, log())?;
    disk.sync_directory(root).map_err(StateError::io(root))?;
    known.begun = true;
    for number in 0..30 {
        sink.append(&line(number))?;
        let range = sink.write()?;
        let mut payload = Vec::new();
        let mut encoder = Encoder(&mut payload);
        encoder.number(range.offset);
        encoder.number(range.length);
        encoder.number(u64::from(range.crc32));
        log.append(&payload)?;
        log.write()?;
        known.written = number + 1;
        if number % 7 == 6 {
            let handle = log.sync_handle()?;
            sink.sync_handle()?.sync()?;
            log.mark(&handle.sync()?)?;
            known.synced = number + 1;
        }
    }
    Ok(())
}

/// Takes what the log names, cuts off the rest; gives the number of lines.
fn recover(disk: &SimulatedDisk) -> Result<usize, StateError> {
    let mut sink = RecoveringSink::open(disk, pages(), SinkSeal::default())?;
    let mut reader = LogReader::open(disk, log())?;
    let mut accepted = 0;
    while let Some(record) = reader.next_record()? {
        let offset = record.offset;
        let mut decoder = Decoder(record.payload);
        let mut number = || decoder.number().expect("whole");
        let range = SinkRange { offset: number(), length: number(), crc32: number() as u32 };
        match sink.accept(range) {
            Err(error) if damaged_at(&error).is_none() || reader.is_synced(offset)? => return Err(error),
            Err(_) => reader.reject(offset, "its lines are not in the sink")?,
            Ok(()) => accepted += 1,
        }
    }
    sink.finish()?;
    Ok(accepted)
}

#[test]
fn log_and_sink_agree_after_every_cut_and_after_cuts_in_the_recovery() {
    let mut nested = 0;
    let checks = for_each_cut(11, crawl, |disk, known, crash| {
        if !known.begun {
            return;
        }
        let promised = if crash.aftermath == Aftermath::Kill { known.written } else { known.synced };
        let cuts = Cuts { start: disk.clone(), outcomes: 1, seed: 5, every: 1 };
        nested += cuts.for_each(recover, |disk, first, again| {
            let found = recover(disk).expect("a cut is no damage");
            let at_least = if again.aftermath == Aftermath::Kill { promised } else { known.synced };
            assert!((at_least..=known.written + 1).contains(&found), "{found} of {at_least}");
            if let (Ok(first), Aftermath::Kill) = (first, again.aftermath) {
                assert_eq!(*first, found);
            }
            assert_eq!(disk.content(pages()).expect("there"), lines(0..found));
        });
    });
    assert!(checks > 500 && nested > 2_000, "{checks} checks, {nested} in the recovery");
}

#[test]
fn garbage_goes_and_what_is_named_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["MANIFEST", "lock", "log-1", "log-2", "MANIFEST.new"] {
        std::fs::write(folder.path().join(name), name).expect("written");
    }
    std::fs::create_dir(folder.path().join("directory")).expect("made");
    let named = HashSet::from(["MANIFEST", "lock", "log-2", "absent"].map(str::to_owned));
    let mut removed = remove_unnamed(&FileSystem, folder.path(), &named).expect("removed");
    removed.sort();
    assert_eq!(removed, ["MANIFEST.new", "log-1"]);
    let mut left: Vec<_> = FileSystem.names(folder.path()).expect("listed");
    left.sort();
    assert_eq!(left, ["MANIFEST", "lock", "log-2"]);
    assert!(folder.path().join("directory").is_dir());
    assert!(remove_unnamed(&FileSystem, folder.path(), &named).expect("again").is_empty());
}
