//! A frontier beside a model of it that is too simple to be wrong.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use crate::frontier::{
    Claimed, DiskFrontier, DiskSettings, Frontier, MemoryFrontier, QueueId, Ticket, class_of,
};
use crate::model::{Candidate, Via};
use crate::store::{Decoder, Encoder, FileSystem};

/// As small as it gets: a few dozen candidates are a memtable, a few memtables a merge.
pub(super) const TINY: DiskSettings =
    DiskSettings { memtable_bytes: 4 << 10, cache_bytes: 1, most_segments: 8 };

/// The `number`-th candidate; every sixteenth has a URL of 2,000 bytes.
pub(super) fn candidate(number: u64, depth: u32) -> Candidate {
    let path = "x".repeat(if number % 16 == 7 { 2_000 } else { number as usize % 50 });
    Candidate {
        url: format!("http://h{}.test/{number}/{path}", number % 10).into(),
        origin_length: 14,
        key: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        depth,
        via: match number {
            _ if number.is_multiple_of(3) => Via::Seed,
            _ if number % 7 == 2 => Via::Canonical,
            _ => Via::Link,
        },
        hops: (number % 4) as u32,
        carries_scope: number.is_multiple_of(5),
        // Some without, the others of pages of four links.
        referrer: (!number.is_multiple_of(3)).then(|| Arc::from(format!("http://from.test/{}", number / 4))),
    }
}

/// What a test does to a frontier beyond what the trait knows.
pub(super) trait Subject: Frontier + Debug + Sized {
    fn spill(&mut self) {}
    /// Lets a checkpoint be durable.
    fn checkpoint(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Dies, and comes back from the last checkpoint and what happened since; nothing if it cannot.
    fn crash(&mut self, _saved: &[u8], _since: &[Event]) -> bool {
        false
    }
}

impl Subject for MemoryFrontier {}

/// A frontier on disk and its directory.
#[derive(Debug)]
pub(super) struct OnDisk {
    pub(super) frontier: DiskFrontier,
    pub(super) directory: tempfile::TempDir,
    settings: DiskSettings,
}

impl OnDisk {
    pub(super) fn new(settings: DiskSettings) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let frontier =
            DiskFrontier::create(Arc::new(FileSystem), directory.path(), settings).expect("a new frontier");
        Self { frontier, directory, settings }
    }
}

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("listable");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

impl Frontier for OnDisk {
    fn push_as(
        &mut self,
        queue: QueueId,
        class: u8,
        candidate: &Candidate,
    ) -> Result<Ticket, crate::frontier::FrontierError> {
        self.frontier.push_as(queue, class, candidate)
    }
    fn claim(
        &mut self,
        queue: QueueId,
        most: usize,
        claimed: &mut VecDeque<Claimed>,
    ) -> Result<(), crate::frontier::FrontierError> {
        self.frontier.claim(queue, most, claimed)
    }
    fn acknowledge(&mut self, ticket: Ticket) -> Result<(), crate::frontier::FrontierError> {
        self.frontier.acknowledge(ticket)
    }
    fn len(&self) -> u64 {
        self.frontier.len()
    }
    fn queue_len(&self, queue: QueueId) -> u64 {
        self.frontier.queue_len(queue)
    }
    fn next_bucket(&self, from: QueueId) -> Option<QueueId> {
        self.frontier.next_bucket(from)
    }
}

impl Subject for OnDisk {
    fn spill(&mut self) {
        self.frontier.spill().expect("spilled");
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        self.frontier.prepare_checkpoint().expect("prepared");
        let mut state = Vec::new();
        self.frontier.encode_state(&mut Encoder(&mut state)).expect("encoded");
        self.frontier.checkpoint_done().expect("done");
        state
    }

    fn crash(&mut self, saved: &[u8], since: &[Event]) -> bool {
        let mut state = Decoder(saved);
        let storage = Arc::new(FileSystem);
        let mut frontier = DiskFrontier::restore(storage, self.directory.path(), self.settings, &mut state)
            .expect("restored");
        assert!(state.is_empty());
        let named: Vec<String> = frontier.named_files().collect();
        for name in names(self.directory.path()) {
            if !named.contains(&name) {
                std::fs::remove_file(self.directory.path().join(name)).expect("garbage is deleted");
            }
        }
        for event in since {
            match event {
                Event::Push(ticket, candidate) => frontier.replay_push(*ticket, candidate),
                Event::Acknowledge(ticket) => frontier.acknowledge(*ticket),
            }
            .expect("replayed");
        }
        self.frontier = frontier;
        true
    }
}

/// What the log would hold.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Push(Ticket, Candidate),
    Acknowledge(Ticket),
}

/// A frontier, its model, and a log.
#[derive(Debug)]
pub(super) struct World<F> {
    pub(super) frontier: F,
    /// By queue, class and sequence.
    waiting: BTreeMap<Ticket, Candidate>,
    claimed: BTreeMap<Ticket, Candidate>,
    /// By queue and class, what was pushed last.
    last: BTreeMap<(QueueId, u8), u64>,
    saved: Option<Vec<u8>>,
    since: Vec<Event>,
    pushed: u64,
}

impl<F: Subject> World<F> {
    pub(super) fn new(mut frontier: F) -> Self {
        let saved = Some(frontier.checkpoint());
        Self {
            frontier,
            waiting: BTreeMap::new(),
            claimed: BTreeMap::new(),
            last: BTreeMap::new(),
            saved,
            since: Vec::new(),
            pushed: 0,
        }
    }

    pub(super) fn push(&mut self, queue: QueueId, depth: u32) {
        let candidate = candidate(self.pushed, depth);
        self.pushed += 1;
        let ticket = self.frontier.push(queue, &candidate).expect("pushed");
        assert_eq!((ticket.queue, ticket.class), (queue, class_of(&candidate)));
        let lane = (queue, ticket.class);
        let holds =
            |held: &BTreeMap<Ticket, Candidate>| held.keys().any(|other| (other.queue, other.class) == lane);
        if let Some(last) = self.last.insert(lane, ticket.sequence) {
            assert!(ticket.sequence > last, "no ticket is given twice");
            if holds(&self.waiting) || holds(&self.claimed) {
                assert_eq!(ticket.sequence, last + 1, "there is no gap");
            }
        }
        self.waiting.insert(ticket, candidate.clone());
        self.since.push(Event::Push(ticket, candidate));
    }

    pub(super) fn claim(&mut self, queue: QueueId, most: usize) {
        let mut claimed = VecDeque::new();
        self.frontier.claim(queue, most, &mut claimed).expect("claimed");
        let first = Ticket { queue, class: 0, sequence: 0 };
        let expected: Vec<Ticket> = self
            .waiting
            .range(first..)
            .map(|(ticket, _)| *ticket)
            .take_while(|ticket| ticket.queue == queue)
            .take(most)
            .collect();
        assert_eq!(claimed.iter().map(|claimed| claimed.ticket).collect::<Vec<_>>(), expected);
        for Claimed { ticket, candidate } in claimed {
            assert_eq!(self.waiting.remove(&ticket).as_ref(), Some(&candidate));
            self.claimed.insert(ticket, candidate);
        }
    }

    /// Acknowledges one of the claimed, whichever `choice` falls on.
    pub(super) fn acknowledge(&mut self, choice: usize) {
        let Some(ticket) = self.claimed.keys().nth(choice % self.claimed.len().max(1)).copied() else {
            return;
        };
        self.claimed.remove(&ticket);
        self.frontier.acknowledge(ticket).expect("acknowledged");
        self.since.push(Event::Acknowledge(ticket));
    }

    pub(super) fn acknowledge_all(&mut self) {
        while !self.claimed.is_empty() {
            self.acknowledge(0);
        }
    }

    pub(super) fn checkpoint(&mut self) {
        self.saved = Some(self.frontier.checkpoint());
        self.since.clear();
    }

    pub(super) fn crash(&mut self) {
        if self.frontier.crash(self.saved.as_deref().unwrap_or_default(), &self.since) {
            self.waiting.append(&mut self.claimed);
        }
    }

    pub(super) fn check(&self) {
        assert_eq!(self.frontier.len(), self.waiting.len() as u64);
        assert_eq!(self.frontier.is_empty(), self.waiting.is_empty());
        let mut queues: BTreeMap<QueueId, u64> = BTreeMap::new();
        for ticket in self.waiting.keys() {
            *queues.entry(ticket.queue).or_default() += 1;
        }
        for (queue, count) in &queues {
            assert_eq!(self.frontier.queue_len(*queue), *count);
        }
        for from in [0, 1, 63, 64, 4_000].map(QueueId) {
            let mut buckets = queues.keys().copied().filter(|queue| queue.is_bucket());
            let first = buckets.clone().next();
            assert_eq!(self.frontier.next_bucket(from), buckets.find(|bucket| *bucket >= from).or(first));
        }
    }

    /// Claims and acknowledges everything; nothing is left.
    pub(super) fn drain(&mut self) {
        while let Some(queue) = self.waiting.keys().next().map(|ticket| ticket.queue) {
            self.claim(queue, 16);
            self.acknowledge_all();
        }
        self.acknowledge_all();
        self.check();
    }
}
