//! A manifest is found as it was written, or as the one before was; a bad byte is always named.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::store::FileSystem;
use crate::store::simulated::{SimulatedDisk, for_each_cut};

fn path() -> &'static Path {
    Path::new("MANIFEST")
}

fn body(generation: u64) -> Vec<u8> {
    format!("what generation {generation} names, ").repeat(generation as usize).into_bytes()
}

fn planted(bytes: &[u8]) -> Result<Option<(u64, Vec<u8>)>, StateError> {
    let disk = SimulatedDisk::new();
    disk.plant(path(), bytes);
    read_manifest(&disk, path())
}

fn written() -> Vec<u8> {
    let disk = SimulatedDisk::new();
    write_manifest(&disk, path(), 3, &body(3)).expect("written");
    disk.content(path()).expect("there")
}

#[test]
fn the_last_one_is_found_and_nothing_is_left_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("MANIFEST");
    assert_eq!(read_manifest(&FileSystem, &path).expect("readable"), None);
    std::fs::write(folder.path().join("MANIFEST.new"), "left by a crash").expect("written");
    for generation in [1, 2] {
        write_manifest(&FileSystem, &path, generation, &body(generation)).expect("written");
    }
    assert_eq!(read_manifest(&FileSystem, &path).expect("readable"), Some((2, body(2))));
    assert_eq!(FileSystem.names(folder.path()).expect("listed"), ["MANIFEST"]);
}

#[test]
fn every_flipped_bit_is_found() {
    let bytes = written();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1 << bit;
            let newer = (12..16).contains(&place);
            match planted(&flipped).expect_err("found") {
                StateError::Damaged { file, .. } => assert_eq!(file, path()),
                StateError::Newer { .. } | StateError::Older { .. } => assert!(newer, "byte {place}"),
                error @ StateError::Io { .. } => panic!("{error}"),
            }
        }
    }
}

#[test]
fn every_truncation_and_any_addition_is_found() {
    let bytes = written();
    for length in 0..bytes.len() {
        let error = planted(&bytes[..length]).expect_err("found");
        assert!(matches!(error, StateError::Damaged { .. }), "{error}");
    }
    let error = planted(&[&bytes[..], b"\0"].concat()).expect_err("found");
    assert!(error.to_string().contains("MANIFEST: damaged at byte 24: it is not as long"), "{error}");
}

#[test]
fn at_every_cut_there_is_the_old_one_or_the_new_one() {
    let run = |disk: &SimulatedDisk| {
        (1..=6)
            .take_while(|next| write_manifest(disk, path(), *next, &body(*next)).is_ok())
            .last()
            .unwrap_or(0)
    };
    let mut found = BTreeSet::new();
    let checks = for_each_cut(3, run, |disk, acknowledged, _| {
        let manifest = read_manifest(disk, path()).expect("whole");
        let generation = manifest.as_ref().map_or(0, |(generation, _)| *generation);
        assert!((*acknowledged..=acknowledged + 1).contains(&generation), "{generation}, {acknowledged}");
        if let Some((generation, bytes)) = manifest {
            assert_eq!(bytes, body(generation));
        }
        found.insert(generation - acknowledged);
        // What was read once is read again, even if the power fails now.
        for random in 0..4 {
            let again = peek_manifest(&disk.after_power_cut(random), path()).expect("whole");
            assert_eq!(again.map_or(0, |(generation, _)| generation), generation);
        }
    });
    assert!(checks > 200, "{checks}");
    assert_eq!(found, BTreeSet::from([0, 1]));
}

#[test]
fn a_look_alone_makes_nothing_durable() {
    let disk = SimulatedDisk::new();
    write_manifest(&disk, path(), 1, &body(1)).expect("written");
    disk.fail_once(disk.operations().len() as u64 + 5, std::io::ErrorKind::Other);
    write_manifest(&disk, path(), 2, &body(2)).expect_err("its directory is not synced");
    let generation =
        |disk: &SimulatedDisk| peek_manifest(disk, path()).expect("whole").map(|(number, _)| number);
    assert_eq!(generation(&disk), Some(2));
    let after: BTreeSet<_> = (0..50).map(|random| generation(&disk.after_power_cut(random))).collect();
    assert_eq!(after, BTreeSet::from([Some(1), Some(2)]));
}

#[test]
fn a_full_disk_keeps_the_old_one() {
    let disk = SimulatedDisk::new();
    write_manifest(&disk, path(), 1, &body(1)).expect("written");
    disk.fail_from(0, std::io::ErrorKind::StorageFull);
    assert!(write_manifest(&disk, path(), 2, &body(2)).expect_err("full").is_disk_full());
    assert_eq!(read_manifest(&disk, path()).expect("whole"), Some((1, body(1))));
    disk.free();
    write_manifest(&disk, path(), 2, &body(2)).expect("there is room");
}

proptest! {
    #[test]
    fn what_was_written_comes_back(generation: u64, body in proptest::collection::vec(any::<u8>(), 0..500)) {
        let disk = SimulatedDisk::new();
        write_manifest(&disk, path(), generation, &body).expect("written");
        prop_assert_eq!(read_manifest(&disk, path()).expect("readable"), Some((generation, body)));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let good = written();
        let mixed = [&good[..HEADER_BYTES], &bytes].concat();
        prop_assert!(planted(&mixed).is_err());
    }
}
