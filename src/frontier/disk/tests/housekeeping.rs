//! Files come and go when they should.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::world::{OnDisk, Subject, TINY, World, candidate, names};
use crate::frontier::{
    BUCKETS, DEEPEST_CLASS, DiskFrontier, DiskSettings, Frontier, FrontierError, QueueId, Ticket,
};
use crate::store::{Decoder, Encoder, FileSystem, Storage, StorageFile};

const OWN: QueueId = QueueId(BUCKETS + 7);

#[test]
fn what_is_done_before_the_memtable_is_full_never_reaches_the_disk() {
    let mut world = World::new(OnDisk::new(TINY));
    for _ in 0..20 {
        world.push(OWN, 1);
    }
    world.claim(OWN, 20);
    world.acknowledge_all();
    world.frontier.spill();
    assert_eq!(names(world.frontier.directory.path()), Vec::<String>::new());
}

#[test]
fn what_is_claimed_but_not_acknowledged_is_written() {
    let mut world = World::new(OnDisk::new(TINY));
    for _ in 0..10 {
        world.push(OWN, 1);
    }
    world.claim(OWN, 10);
    world.acknowledge(3);
    world.checkpoint();
    world.crash();
    world.check();
    assert_eq!(world.frontier.len(), 9);
    world.drain();
}

#[test]
fn a_file_that_no_manifest_named_goes_at_once_and_a_named_one_with_the_next_checkpoint() {
    let mut world = World::new(OnDisk::new(TINY));
    world.push(OWN, 1);
    world.frontier.spill();
    assert_eq!(names(world.frontier.directory.path()).len(), 1);
    world.claim(OWN, 1);
    assert_eq!(names(world.frontier.directory.path()).len(), 1, "claimed is not acknowledged");
    world.acknowledge_all();
    assert_eq!(names(world.frontier.directory.path()).len(), 0);

    world.push(OWN, 1);
    world.checkpoint();
    world.drain();
    assert_eq!(names(world.frontier.directory.path()).len(), 1, "the manifest still names it");
    world.crash();
    world.drain();
    // Only a manifest that is durable lets it go.
    world.frontier.frontier.prepare_checkpoint().expect("prepared");
    assert_eq!(names(world.frontier.directory.path()).len(), 1);
    assert!(world.frontier.frontier.disk_bytes() > 0);
    world.frontier.frontier.checkpoint_done().expect("done");
    assert_eq!(names(world.frontier.directory.path()).len(), 0);
    assert_eq!(world.frontier.frontier.disk_bytes(), 0);
}

/// Small pushes and claims, until a merge that is due is done.
fn idle(world: &mut World<OnDisk>) {
    for _ in 0..2_000 {
        world.push(QueueId(1), 1);
        world.claim(QueueId(1), 1);
        world.acknowledge_all();
    }
}

#[test]
fn leftovers_are_merged() {
    let settings = DiskSettings { memtable_bytes: 64 << 10, cache_bytes: 1, most_segments: 64 };
    let mut world = World::new(OnDisk::new(settings));
    // In each segment a tenth belongs to a queue that nobody asks.
    for number in 0..4_000 {
        world.push(if number % 10 == 0 { QueueId(9) } else { OWN }, 1);
    }
    world.checkpoint();
    let (segments, bytes) = (world.frontier.frontier.segments(), world.frontier.frontier.disk_bytes());
    assert!(segments >= 5, "{segments}");
    for _ in 0..3_600 / 16 {
        world.claim(OWN, 16);
        world.acknowledge_all();
    }
    idle(&mut world);
    world.checkpoint();
    let left = (world.frontier.frontier.segments(), world.frontier.frontier.disk_bytes());
    assert!(left.0 <= segments / 2, "{segments} segments became {left:?}");
    assert!(left.1 < bytes / 5, "{bytes} bytes became {left:?}");
    let mut named: Vec<String> = world.frontier.frontier.named_files().collect();
    named.sort();
    assert_eq!(names(world.frontier.directory.path()), named);
    world.crash();
    assert_eq!(world.frontier.len(), 400);
    world.drain();
}

#[test]
fn segments_do_not_pile_up() {
    let mut world = World::new(OnDisk::new(TINY));
    let mut most = 0;
    for number in 0..6_000 {
        world.push(QueueId(number % 7), 1);
        most = most.max(world.frontier.frontier.segments());
    }
    assert!(most <= 16, "{most}");
    world.crash();
    world.drain();
}

#[test]
fn garbage_of_a_crash_is_in_nobodys_way() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("00000004.seg"), "torn").expect("written");
    std::fs::write(directory.path().join("lock"), "").expect("written");
    let mut frontier =
        DiskFrontier::create(Arc::new(FileSystem), directory.path(), TINY).expect("a new frontier");
    frontier.push(OWN, &candidate(1, 1)).expect("pushed");
    frontier.spill().expect("spilled");
    assert_eq!(frontier.named_files().collect::<Vec<_>>(), ["00000005.seg"]);
}

#[test]
fn the_memory_does_not_grow_with_the_candidates() {
    let settings = DiskSettings { memtable_bytes: 32 << 10, cache_bytes: 16 << 10, most_segments: 8 };
    let mut disk = OnDisk::new(settings);
    let mut used = Vec::new();
    for number in 0..40_000_u64 {
        disk.push(QueueId((number % 50) as u32), &candidate(number, 1)).expect("pushed");
        if number % 10_000 == 9_999 {
            used.push(disk.frontier.memory_bytes());
        }
    }
    assert!(used[3] < used[0] + (128 << 10), "{used:?}");
    assert!(used[3] < 512 << 10, "{used:?}");
}

#[test]
fn a_log_that_does_not_fit_is_refused() {
    let ticket = |sequence| Ticket { queue: OWN, class: 1, sequence };
    let inconsistent = |result| matches!(result, Err(FrontierError::Inconsistent { .. }));
    let fresh = || {
        let mut disk = OnDisk::new(TINY);
        disk.frontier.replay_push(ticket(0), &candidate(0, 1)).expect("the first");
        disk
    };
    assert!(inconsistent(fresh().frontier.replay_push(ticket(2), &candidate(0, 1))));
    assert!(inconsistent(fresh().frontier.replay_push(ticket(0), &candidate(0, 1))));
    let beyond = Ticket { class: DEEPEST_CLASS as u8 + 1, ..ticket(0) };
    assert!(inconsistent(fresh().frontier.replay_push(beyond, &candidate(0, 1))));
    assert!(inconsistent(fresh().acknowledge(ticket(1))));
    let mut disk = fresh();
    disk.acknowledge(ticket(0)).expect("known");
    disk.acknowledge(ticket(0)).expect("said again");
    assert_eq!(disk.len(), 0);
}

#[test]
fn a_state_that_does_not_fit_together_is_refused() {
    let mut world = World::new(OnDisk::new(TINY));
    for number in 0..100 {
        world.push(QueueId(number % 3), number % 4);
    }
    world.claim(QueueId(1), 10);
    world.acknowledge(5);
    let state = world.frontier.checkpoint();
    let directory = world.frontier.directory.path();
    let restore = |bytes: &[u8]| {
        let mut state = Decoder(bytes);
        let restored = DiskFrontier::restore(Arc::new(FileSystem), directory, TINY, &mut state);
        restored.map(|_| state.is_empty())
    };
    assert!(restore(&state).expect("whole"));
    for length in 0..state.len() {
        assert!(restore(&state[..length]).is_err(), "cut to {length}");
    }
    for place in 0..state.len() {
        let mut other = state.clone();
        other[place] ^= 0x15;
        // It may fit together all the same; it must not panic.
        let _ = restore(&other);
    }
}

/// Fails from some time on.
#[derive(Debug)]
struct Failing(Arc<AtomicBool>);

impl Storage for Failing {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        if self.0.load(Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        FileSystem.create(path)
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        FileSystem.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        FileSystem.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        FileSystem.remove(path)
    }
    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        FileSystem.names(directory)
    }
    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        FileSystem.create_directory(directory)
    }
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        FileSystem.sync_directory(directory)
    }
}

#[test]
fn after_a_failure_everything_fails() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let failing = Arc::new(AtomicBool::new(false));
    let storage = Arc::new(Failing(Arc::clone(&failing)));
    let mut frontier = DiskFrontier::create(storage, directory.path(), TINY).expect("a new frontier");
    let ticket = frontier.push(OWN, &candidate(1, 1)).expect("pushed");
    failing.store(true, Ordering::Relaxed);
    match frontier.spill() {
        Err(FrontierError::State(error)) => assert!(error.is_disk_full(), "{error}"),
        other => panic!("expected a full disk, got {other:?}"),
    }
    failing.store(false, Ordering::Relaxed);
    let failed = |result: Result<(), FrontierError>| assert!(matches!(result, Err(FrontierError::Failed)));
    failed(frontier.push(OWN, &candidate(2, 1)).map(|_| ()));
    failed(frontier.claim(OWN, 1, &mut VecDeque::new()));
    failed(frontier.acknowledge(ticket));
    failed(frontier.spill());
    failed(frontier.prepare_checkpoint());
    failed(frontier.encode_state(&mut Encoder(&mut Vec::new())));
    failed(frontier.checkpoint_done());
}

#[test]
fn a_state_is_not_to_be_had_without_a_checkpoint() {
    let mut disk = OnDisk::new(TINY);
    disk.push(OWN, &candidate(1, 1)).expect("pushed");
    let state = |disk: &OnDisk| disk.frontier.encode_state(&mut Encoder(&mut Vec::new()));
    assert!(matches!(state(&disk), Err(FrontierError::Manifest(_))));
    disk.frontier.spill().expect("spilled");
    assert!(matches!(state(&disk), Err(FrontierError::Manifest(_))), "it is not synced");
    disk.frontier.prepare_checkpoint().expect("prepared");
    assert!(state(&disk).is_ok());
}

#[test]
fn the_queues_are_told_after_a_restart() {
    let mut world = World::new(OnDisk::new(TINY));
    for number in 0..60 {
        world.push(QueueId(BUCKETS - 1 + number % 3), number % 2);
    }
    world.claim(QueueId(BUCKETS), 5);
    world.checkpoint();
    world.crash();
    let mut queues: Vec<(QueueId, u64)> = world.frontier.frontier.queues().collect();
    queues.sort_unstable();
    assert_eq!(queues, [(QueueId(BUCKETS - 1), 20), (QueueId(BUCKETS), 20), (QueueId(BUCKETS + 1), 20)]);
}
