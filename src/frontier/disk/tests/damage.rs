//! A byte that is not as it was written is found, and named with its file and place.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use super::world::{OnDisk, Subject, candidate, names};
use crate::frontier::{Claimed, DiskFrontier, DiskSettings, Frontier, FrontierError, QueueId};
use crate::store::{Decoder, FileSystem, StateError};

const SETTINGS: DiskSettings = DiskSettings { memtable_bytes: 512 << 10, cache_bytes: 1, most_segments: 8 };
const CANDIDATES: u64 = 1_500;
const QUEUES: u64 = 5;

/// Restores and claims everything; as many as came before the error, if there was one.
fn read(directory: &Path, state: &[u8]) -> (Vec<Claimed>, Result<(), FrontierError>) {
    let mut claimed = VecDeque::new();
    let result = (|| {
        let mut frontier =
            DiskFrontier::restore(Arc::new(FileSystem), directory, SETTINGS, &mut Decoder(state))?;
        for queue in 0..QUEUES {
            frontier.claim(QueueId(queue as u32), usize::MAX, &mut claimed)?;
        }
        Ok(())
    })();
    (claimed.into(), result)
}

fn written() -> (OnDisk, Vec<u8>) {
    let mut disk = OnDisk::new(SETTINGS);
    for number in 0..CANDIDATES {
        disk.push(QueueId((number % QUEUES) as u32), &candidate(number, 1)).expect("pushed");
    }
    let state = disk.checkpoint();
    (disk, state)
}

fn refused(result: Result<(), FrontierError>, path: &Path, length: u64, what: &str) {
    match result {
        Err(FrontierError::State(StateError::Damaged { file, offset, .. })) => {
            assert_eq!(file, path, "{what}");
            assert!(offset <= length, "{what}: {offset}");
        }
        // A version that this program does not know, where the version is.
        Err(FrontierError::State(StateError::Newer { file, .. } | StateError::Older { file, .. })) => {
            assert_eq!(file, path, "{what}")
        }
        other => panic!("{what}: expected damage, got {other:?}"),
    }
}

#[test]
fn every_kind_of_byte_is_checked() {
    let (disk, state) = written();
    let path = disk.directory.path().join(&names(disk.directory.path())[0]);
    let good = std::fs::read(&path).expect("readable");
    let (all, result) = read(disk.directory.path(), &state);
    result.expect("whole");
    assert_eq!(all.len() as u64, CANDIDATES);
    // Header and end byte by byte, and of blocks, pages and root enough to meet each part.
    let near_an_end = |place: usize| place < 128 || place + 256 > good.len();
    for place in (0..good.len()).filter(|place| near_an_end(*place) || place % 61 == 0) {
        let mut bad = good.clone();
        bad[place] ^= 1 << (place % 8);
        std::fs::write(&path, &bad).expect("written");
        let (some, result) = read(disk.directory.path(), &state);
        refused(result, &path, good.len() as u64, &format!("byte {place}"));
        assert_eq!(some, all[..some.len()], "byte {place}: a wrong candidate");
    }
}

#[test]
fn a_cut_is_found() {
    let (disk, state) = written();
    let path = disk.directory.path().join(&names(disk.directory.path())[0]);
    let good = std::fs::read(&path).expect("readable");
    for length in [0, 8, 16, 17, good.len() / 2, good.len() - 9, good.len() - 1] {
        std::fs::write(&path, &good[..length]).expect("written");
        let (_, result) = read(disk.directory.path(), &state);
        refused(result, &path, length as u64, &format!("cut to {length}"));
    }
    let mut longer = good.clone();
    longer.push(0);
    std::fs::write(&path, longer).expect("written");
    refused(read(disk.directory.path(), &state).1, &path, good.len() as u64, "a byte more");
}

#[test]
fn a_missing_file_is_named() {
    let (disk, state) = written();
    let path = disk.directory.path().join(&names(disk.directory.path())[0]);
    std::fs::remove_file(&path).expect("removed");
    let error = read(disk.directory.path(), &state).1.expect_err("missing");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}
