//! The simulated disk's own laws: what must survive, what may not, and that both happen.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::store::FileSystem;

/// What a disk may look like after a power cut: of each file, its content or that it is not there.
fn outcomes(disk: &SimulatedDisk, names: &[&str]) -> BTreeSet<Vec<Option<Vec<u8>>>> {
    let looks = (0..300).map(|random| {
        let after = disk.after_power_cut(random);
        names.iter().map(|name| after.content(Path::new(name)).ok()).collect()
    });
    looks.collect()
}

/// The look of a single file with this content.
fn only(text: &str) -> Vec<Option<Vec<u8>>> {
    vec![Some(text.as_bytes().to_vec())]
}

/// A disk with a durable file `a` in its root.
fn with_file(content: &str) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.plant(Path::new("a"), content.as_bytes());
    disk
}

fn open(disk: &SimulatedDisk, name: &str) -> Box<dyn StorageFile> {
    disk.open(Path::new(name)).expect("there")
}

#[test]
fn content_and_entry_are_kept_apart() {
    let disk = SimulatedDisk::new();
    let mut file = disk.create(Path::new("new")).expect("created");
    file.append(b"text").expect("appended");
    file.sync().expect("synced");
    let lost_or_there = BTreeSet::from([vec![None], only("text")]);
    assert_eq!(outcomes(&disk, &["new"]), lost_or_there, "content synced, entry not");
    disk.sync_directory(Path::new("")).expect("synced");
    assert_eq!(outcomes(&disk, &["new"]), BTreeSet::from([only("text")]), "both synced");

    let mut file = disk.create(Path::new("other")).expect("created");
    disk.sync_directory(Path::new("")).expect("synced");
    file.append(b"xy").expect("appended");
    let found = outcomes(&disk, &["other"]);
    assert!(found.iter().all(|look| look[0].as_ref().is_some_and(|bytes| bytes.len() <= 2)));
    for content in ["", "x", "xy", "\0\0", "x\0"] {
        assert!(found.contains(&only(content)), "{content:?}");
    }
}

#[test]
fn of_unsynced_bytes_any_part_may_be_there_and_what_was_synced_always_is() {
    let disk = with_file("durable ");
    open(&disk, "a").append(b"0123456789").expect("appended");
    let found = outcomes(&disk, &["a"]);
    let contents: Vec<&[u8]> = found.iter().filter_map(|look| look[0].as_deref()).collect();
    assert_eq!(contents.len(), found.len());
    assert!(contents.iter().all(|bytes| bytes.starts_with(b"durable ") && bytes.len() <= 18));
    assert!((8..=18).all(|length| contents.contains(&&b"durable 0123456789"[..length])), "every prefix");
    let hole = |bytes: &&[u8]| bytes.ends_with(b"9") && bytes.contains(&0);
    assert!(contents.iter().any(hole), "a hole before what arrived");
    let garbage =
        |bytes: &&[u8]| bytes.iter().any(|byte| *byte != 0 && !b"durable 0123456789".contains(byte));
    assert!(contents.iter().any(garbage));
}

#[test]
fn a_truncation_may_be_undone_until_it_is_synced() {
    let disk = with_file("0123");
    let mut file = open(&disk, "a");
    file.truncate(1).expect("cut");
    file.append(b"x").expect("appended");
    assert_eq!(disk.content(Path::new("a")).expect("there"), b"0x");
    let found = outcomes(&disk, &["a"]);
    for content in ["0123", "012", "0", "0x"] {
        assert!(found.contains(&only(content)), "{content}");
    }
    file.sync().expect("synced");
    assert_eq!(outcomes(&disk, &["a"]), BTreeSet::from([only("0x")]));
}

#[test]
fn a_rename_is_done_whole_or_not_at_all() {
    let disk = with_file("old");
    let mut aside = disk.create(Path::new("a.new")).expect("created");
    aside.append(b"new").expect("appended");
    aside.sync().expect("synced");
    disk.rename(Path::new("a.new"), Path::new("a")).expect("renamed");
    let found = outcomes(&disk, &["a", "a.new"]);
    let look = |a: &[u8], aside: Option<&[u8]>| vec![Some(a.to_vec()), aside.map(<[u8]>::to_vec)];
    let (undone, done) = (look(b"old", None), look(b"new", None));
    assert_eq!(found, BTreeSet::from([undone, look(b"old", Some(b"new")), done.clone()]));
    disk.sync_directory(Path::new("/")).expect("synced");
    assert_eq!(outcomes(&disk, &["a", "a.new"]), BTreeSet::from([done]));
}

#[test]
fn a_removed_file_may_come_back() {
    let disk = with_file("old");
    disk.remove(Path::new("a")).expect("removed");
    assert!(disk.content(Path::new("a")).is_err());
    assert_eq!(outcomes(&disk, &["a"]), BTreeSet::from([vec![None], only("old")]));
    disk.sync_directory(Path::new("")).expect("synced");
    assert_eq!(outcomes(&disk, &["a"]), BTreeSet::from([vec![None]]));
}

#[test]
fn a_directory_that_was_not_synced_takes_all_with_it() {
    let disk = SimulatedDisk::new();
    disk.create_directory(Path::new("crawl/state")).expect("made");
    let file = disk.create(Path::new("crawl/state/a")).expect("created");
    file.sync().expect("synced");
    disk.sync_directory(Path::new("crawl/state")).expect("synced");
    let either = BTreeSet::from([vec![None], only("")]);
    assert_eq!(outcomes(&disk, &["crawl/state/a"]), either);
    disk.sync_directory(Path::new("crawl")).expect("synced");
    assert_eq!(outcomes(&disk, &["crawl/state/a"]), either);
    disk.sync_directory(Path::new("")).expect("synced");
    assert_eq!(outcomes(&disk, &["crawl/state/a"]), BTreeSet::from([only("")]));
    assert_eq!(disk.names(Path::new("crawl")).expect("a directory"), Vec::<String>::new());
    assert_eq!(disk.names(Path::new("crawl/state")).expect("a directory"), ["a"]);
}

#[test]
fn a_kill_loses_nothing_and_makes_nothing_durable() {
    let disk = with_file("old");
    open(&disk, "a").append(b"er").expect("appended");
    disk.crash();
    assert!(disk.open(Path::new("a")).is_err());
    let after = disk.after_kill();
    assert_eq!(after.content(Path::new("a")).expect("there"), b"older");
    open(&after, "a").sync().expect("the power is back");
    assert_eq!(outcomes(&after, &["a"]).len(), 1);
    assert!(outcomes(&disk, &["a"]).len() > 1, "each disk after a crash is one of its own");
}

#[test]
fn equal_numbers_choose_equal_outcomes() {
    let disk = with_file("old");
    open(&disk, "a").append(b"0123456789").expect("appended");
    disk.remove(Path::new("a")).expect("removed");
    let twice = |random| [(); 2].map(|()| disk.after_power_cut(random).content(Path::new("a")).ok());
    assert!((0..50).map(twice).all(|[first, second]| first == second));
}

#[test]
fn the_power_fails_before_amid_or_after_an_operation() {
    for (point, content) in
        [(CutPoint::Before, &b"ab"[..]), (CutPoint::Amid, b"abcd"), (CutPoint::After, b"abcdef")]
    {
        let disk = SimulatedDisk::new();
        disk.crash_at(2, point);
        let mut file = disk.create(Path::new("a")).expect("operation 0");
        file.append(b"ab").expect("operation 1");
        file.append(b"cdef").expect_err("operation 2");
        assert!(disk.is_dead());
        for refused in [file.append(b"x"), file.sync(), file.truncate(0), file.read_at(0, &mut [0])] {
            refused.expect_err("no power");
        }
        disk.names(Path::new("")).expect_err("no power");
        assert_eq!(disk.operations(), [Operation::Create, Operation::Append, Operation::Append]);
        assert_eq!(disk.after_kill().content(Path::new("a")).expect("there"), content);
    }
}

#[test]
fn a_full_disk_refuses_what_needs_room_until_it_is_freed() {
    let disk = with_file("old");
    disk.fail_from(1, io::ErrorKind::StorageFull);
    let mut file = open(&disk, "a");
    file.append(b"er").expect("operation 0");
    assert_eq!(file.append(b"xyz!").expect_err("full").kind(), io::ErrorKind::StorageFull);
    disk.create(Path::new("b")).expect_err("full");
    file.sync().expect("needs no room");
    file.truncate(6).expect("needs no room");
    disk.rename(Path::new("a"), Path::new("c")).expect("needs no room");
    assert_eq!(disk.content(Path::new("c")).expect("there"), b"olderx");
    disk.free();
    file.append(b"!").expect("freed");

    disk.fail_once(disk.operations().len() as u64, io::ErrorKind::Other);
    file.sync().expect_err("once");
    file.sync().expect("only once");
}

#[test]
fn every_end_of_a_run_is_tried() {
    let run = |disk: &SimulatedDisk| {
        let mut file = disk.create(Path::new("a")).ok()?;
        file.append(b"text").ok()?;
        file.sync().ok()?;
        disk.sync_directory(Path::new("")).ok()
    };
    let mut ends = Vec::new();
    let checks = for_each_cut(1, run, |disk, finished, crash: Crash| {
        ends.push(crash.cut);
        assert_eq!(finished.is_some(), crash.cut.is_none());
        if finished.is_some()
            || crash.cut.is_some_and(|(_, operation, point)| {
                (operation, point) == (Operation::SyncDirectory, CutPoint::After)
            })
        {
            assert_eq!(disk.content(Path::new("a")).expect("durable"), b"text");
        }
    });
    ends.dedup();
    // Four operations before and after, the append amid, and the end.
    assert_eq!((ends.len(), checks), (10, 40));
    let some = Cuts { every: 2, outcomes: 9, seed: 5, start: with_file("x") };
    assert_eq!(some.for_each(|disk| disk.remove(Path::new("a")), |_, _, _| {}), 30);
}

#[test]
fn a_check_that_fails_names_the_crash() {
    let careless = |disk: &SimulatedDisk| {
        let mut file = disk.create(Path::new("a")).ok()?;
        file.append(b"text").ok()?;
        disk.sync_directory(Path::new("")).ok()
    };
    let failed = std::panic::catch_unwind(|| {
        for_each_cut(1, careless, |disk, finished, _| {
            if finished.is_some() {
                assert_eq!(disk.content(Path::new("a")).expect("there"), b"text", "lost");
            }
        })
    });
    let text = failed.expect_err("a missing sync is found").downcast::<String>().expect("text");
    assert!(text.contains("after Crash") && text.contains("PowerCut") && text.contains("lost"), "{text}");
}

#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    Append(u8, Vec<u8>),
    Truncate(u8, u64),
    Sync(u8),
    Rename(u8, u8),
    Remove(u8),
    SyncDirectory,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        (0..3_u8).prop_map(Step::Create),
        (0..3_u8, bytes).prop_map(|(name, bytes)| Step::Append(name, bytes)),
        (0..3_u8, 0..30_u64).prop_map(|(name, length)| Step::Truncate(name, length)),
        (0..3_u8).prop_map(Step::Sync),
        (0..3_u8, 0..3_u8).prop_map(|(from, to)| Step::Rename(from, to)),
        (0..3_u8).prop_map(Step::Remove),
        Just(Step::SyncDirectory),
    ]
}

fn take(storage: &dyn Storage, folder: &Path, step: &Step) -> io::Result<()> {
    let path = |name: &u8| -> PathBuf { folder.join(format!("{name}")) };
    match step {
        Step::Create(name) => storage.create(&path(name)).map(drop),
        Step::Append(name, bytes) => storage.open(&path(name))?.append(bytes),
        Step::Truncate(name, length) => storage.open(&path(name))?.truncate(*length),
        Step::Sync(name) => storage.open(&path(name))?.share()?.sync(),
        Step::Rename(from, to) => storage.rename(&path(from), &path(to)),
        Step::Remove(name) => storage.remove(&path(name)),
        Step::SyncDirectory => storage.sync_directory(folder),
    }
}

fn listing(storage: &dyn Storage, folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = storage.names(folder).expect("a directory");
    names.sort();
    let files = names.into_iter().map(|name| {
        let file = storage.open(&folder.join(&name)).expect("there");
        let mut bytes = vec![0; file.length().expect("a length") as usize];
        file.read_at(0, &mut bytes).expect("whole");
        file.read_at(bytes.len() as u64, &mut [0]).expect_err("its end");
        (name, bytes)
    });
    files.collect()
}

proptest! {
    #[test]
    fn while_the_power_is_on_it_is_like_the_file_system(steps in proptest::collection::vec(step(), 0..40)) {
        let real = tempfile::tempdir().expect("a folder");
        let disk = SimulatedDisk::new();
        for step in &steps {
            let real = take(&FileSystem, real.path(), step).map_err(|error| error.kind());
            let simulated = take(&disk, Path::new(""), step).map_err(|error| error.kind());
            prop_assert_eq!(real, simulated, "{:?}", step);
        }
        prop_assert_eq!(listing(&FileSystem, real.path()), listing(&disk, Path::new("")));
    }

    /// Whatever happened to it: once a file and its directory are synced, it is there, whole.
    #[test]
    fn all_that_is_synced_survives(steps in proptest::collection::vec(step(), 0..40), random: u64) {
        let disk = SimulatedDisk::new();
        for step in steps {
            let _ = take(&disk, Path::new(""), &step);
        }
        for name in 0..3 {
            let _ = take(&disk, Path::new(""), &Step::Sync(name));
        }
        let names = disk.names(Path::new("")).expect("a directory");
        let before = listing(&disk, Path::new(""));
        disk.sync_directory(Path::new("")).expect("synced");
        prop_assert_eq!(listing(&disk.after_power_cut(random), Path::new("")), before);
        for name in names {
            let path = Path::new(&name);
            disk.open(path).and_then(|mut file| file.append(b"unsynced")).expect("appended");
            let (durable, after) = (disk.content(path), disk.after_power_cut(random).content(path));
            let (durable, after) = (durable.expect("there"), after.expect("still there"));
            let synced = durable.len() - 8;
            prop_assert!(after.len() >= synced && after[..synced] == durable[..synced]);
        }
    }
}
