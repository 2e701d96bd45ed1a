//! What only the stage on disk does: tiers, files, and staying within its memory.

use std::collections::HashSet;
use std::time::Duration;

use super::super::tests::{keys, place};
use super::*;

#[test]
fn keys_go_through_tiers_within_memory_and_disk() {
    let directory = tempfile::tempdir().unwrap();
    let settings = DiskKeysSettings { batch_bytes: 12 * 4096, fence_bytes: 256 };
    let mut exact = DiskKeys::create(place(directory.path()), settings);
    let mut most_runs = 0;
    for page in keys(0, 400_000).chunks(60) {
        exact.append(page).unwrap();
        most_runs = most_runs.max(exact.lookup_cost().runs);
    }
    assert!(most_runs < 24, "{most_runs} runs at once: merges do not keep up");
    assert!(exact.memory_bytes() < 12 * 4096 + 256 + 8 * (68 << 10), "{}", exact.memory_bytes());
    while exact.idle_work(Duration::from_millis(1)).unwrap() {}
    assert!(exact.lookup_cost().runs <= 12);
    assert!(exact.disk_bytes() < 400_000 * 9);
    let mut unseen = Vec::new();
    exact.find_unseen(&keys(399_990, 20), &mut unseen).unwrap();
    assert_eq!(unseen, [vec![false; 10], vec![true; 10]].concat());
    exact.find_unseen(&keys(0, 800_000), &mut unseen).unwrap();
    assert!(unseen[..400_000].iter().all(|unseen| !unseen));
    assert!(unseen[400_000..].iter().all(|unseen| *unseen));
}

#[test]
fn equal_and_extreme_keys_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let settings = DiskKeysSettings { batch_bytes: 12, fence_bytes: 0 };
    let mut exact = DiskKeys::create(place(directory.path()), settings);
    let extreme = [u64::MAX, 0, 1 << 63, 1, u64::MAX - 1];
    exact.append(&extreme).unwrap();
    let mut unseen = Vec::new();
    exact.find_unseen(&[2, 2, u64::MAX, 0, u64::MAX - 2], &mut unseen).unwrap();
    assert_eq!(unseen, [true, false, false, false, true]);
    let mut held = HashSet::new();
    exact.for_each(&mut |keys| held.extend(keys.iter().copied())).unwrap();
    assert_eq!(held, extreme.into_iter().collect());
}

#[test]
fn a_manifest_keeps_its_files_until_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let settings = DiskKeysSettings { batch_bytes: 12 * 100, fence_bytes: 1 << 20 };
    let mut exact = DiskKeys::create(place(directory.path()), settings);
    exact.append(&keys(0, 350)).unwrap();
    exact.prepare_checkpoint().unwrap();
    let mut named = Vec::new();
    exact.named_files(&mut named);
    exact.checkpoint_done().unwrap();
    assert_eq!(named.len(), 4);
    while exact.idle_work(Duration::from_millis(1)).unwrap() {}
    exact.append(&keys(350, 1000)).unwrap();
    while exact.idle_work(Duration::from_millis(1)).unwrap() {}
    assert!(named.iter().all(|name| directory.path().join(name).exists()));
    exact.prepare_checkpoint().unwrap();
    assert!(named.iter().all(|name| directory.path().join(name).exists()));
    exact.checkpoint_done().unwrap();
    assert!(!named.iter().any(|name| directory.path().join(name).exists()));
}
