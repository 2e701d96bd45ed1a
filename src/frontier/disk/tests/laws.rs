//! One suite for every frontier: against the model, through spills, checkpoints and crashes.

use proptest::prelude::*;

use super::world::{OnDisk, Subject, TINY, World};
use crate::frontier::{BUCKETS, DiskSettings, MemoryFrontier, QueueId};

#[derive(Debug, Clone)]
enum Step {
    Push { queue: usize, depth: u32, count: usize },
    Claim { queue: usize, most: usize },
    Acknowledge { choice: usize, count: usize },
    Spill,
    Checkpoint,
    Crash,
}

/// Buckets, the last among them, and queues of their own.
const QUEUES: [QueueId; 6] =
    [QueueId(0), QueueId(64), QueueId(BUCKETS - 1), QueueId(BUCKETS), QueueId(BUCKETS + 1), QueueId(1 << 31)];

fn step() -> impl Strategy<Value = Step> {
    let queue = 0..QUEUES.len();
    prop_oneof![
        6 => (queue.clone(), 0..20_u32, 1..40_usize).prop_map(|(queue, depth, count)| Step::Push { queue, depth, count }),
        6 => (queue, 0..40_usize).prop_map(|(queue, most)| Step::Claim { queue, most }),
        6 => (any::<usize>(), 1..60_usize).prop_map(|(choice, count)| Step::Acknowledge { choice, count }),
        1 => Just(Step::Spill),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Crash),
    ]
}

fn run<F: Subject>(frontier: F, steps: &[Step]) {
    let mut world = World::new(frontier);
    for step in steps {
        match *step {
            Step::Push { queue, depth, count } => {
                for _ in 0..count {
                    world.push(QUEUES[queue], depth);
                }
            }
            Step::Claim { queue, most } => world.claim(QUEUES[queue], most),
            Step::Acknowledge { choice, count } => {
                for _ in 0..count {
                    world.acknowledge(choice);
                }
            }
            Step::Spill => world.frontier.spill(),
            Step::Checkpoint => world.checkpoint(),
            Step::Crash => world.crash(),
        }
        world.check();
    }
    world.crash();
    world.drain();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn in_memory_all_is_as_in_the_model(steps in proptest::collection::vec(step(), 0..120)) {
        run(MemoryFrontier::new(), &steps);
    }

    #[test]
    fn on_disk_all_is_as_in_the_model(steps in proptest::collection::vec(step(), 0..120)) {
        run(OnDisk::new(TINY), &steps);
    }
}

/// Large enough for many pages and merges of merges; the steps are random, but the same each time.
#[test]
fn a_long_run_stays_as_the_model() {
    let settings = DiskSettings { memtable_bytes: 16 << 10, cache_bytes: 64 << 10, most_segments: 8 };
    let mut world = World::new(OnDisk::new(settings));
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    for round in 0..600_u64 {
        for _ in 0..50 {
            // The first queues get most.
            let queue = below(40) * below(40) / 40;
            world.push(QueueId(BUCKETS - 20 + queue as u32), below(3) as u32);
        }
        for _ in 0..3 {
            world.claim(QueueId(BUCKETS - 20 + below(40) as u32), 16);
        }
        for _ in 0..below(60) {
            world.acknowledge(below(1 << 20) as usize);
        }
        match round % 100 {
            33 | 66 => world.checkpoint(),
            80 => world.crash(),
            _ => {}
        }
    }
    world.check();
    assert!(world.frontier.frontier.segments() <= 12, "{}", world.frontier.frontier.segments());
    world.crash();
    world.drain();
    world.checkpoint();
    assert_eq!(world.frontier.frontier.disk_bytes(), 0);
}
