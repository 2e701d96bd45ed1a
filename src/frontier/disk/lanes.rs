//! What is known in memory of each queue and class: where it begins, how far it is claimed, where
//! it ends, and what is acknowledged out of order.
//!
//! A *lane* is a queue and a class. One that is empty and wholly acknowledged is forgotten; if it
//! is needed again it begins above every number that any forgotten lane ever gave, so no ticket is
//! given twice.

use std::collections::HashMap;

use super::memtable::Listed;
use super::ranges::Ranges;
use crate::frontier::{BUCKETS, QueueId, Ticket};
use crate::model::KeyHash;

/// A queue and a class, in the order of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LaneKey {
    pub(super) queue: QueueId,
    pub(super) class: u8,
}

impl LaneKey {
    pub(super) fn of(ticket: Ticket) -> Self {
        Self { queue: ticket.queue, class: ticket.class }
    }

    pub(super) fn ticket(self, sequence: u64) -> Ticket {
        Ticket { queue: self.queue, class: self.class, sequence }
    }
}

/// Sequences of a lane of which it is known in which segment they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
    /// The segment's age when this was noted.
    pub(super) age: u64,
}

/// The state of one queue and class.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) class: u8,
    /// Everything below is acknowledged.
    pub(super) head: u64,
    /// Everything below is claimed or acknowledged.
    pub(super) cursor: u64,
    /// One past the last that was pushed.
    pub(super) tail: u64,
    /// Neither claimed nor acknowledged.
    pub(super) waiting: u64,
    /// Of these, the ones in segments.
    pub(super) waiting_on_disk: u64,
    /// Sequences from here on are in the memtable.
    pub(super) memtable_from: u64,
    /// No segment older than this age holds one that waits.
    pub(super) floor: u64,
    /// The lane's entries in the memtable.
    pub(super) listed: Listed,
    /// Acknowledged above the head.
    pub(super) acknowledged: Ranges,
    /// Where claimed entries that are not acknowledged are, ascending. Between two entries of one
    /// segment there is none of another, so spans of one age are joined.
    pub(super) spans: Vec<Span>,
}

impl Lane {
    pub(super) fn new(class: u8, start: u64) -> Self {
        Self {
            class,
            head: start,
            cursor: start,
            tail: start,
            waiting: 0,
            waiting_on_disk: 0,
            memtable_from: start,
            floor: 0,
            listed: Listed::default(),
            acknowledged: Ranges::default(),
            spans: Vec::new(),
        }
    }

    /// Whether this one is acknowledged.
    pub(super) fn is_acknowledged(&self, sequence: u64) -> bool {
        sequence < self.head || self.acknowledged.contains(sequence)
    }

    /// Notes an acknowledgement; the head moves over what is acknowledged without a gap.
    pub(super) fn note_acknowledged(&mut self, sequence: u64) {
        if sequence != self.head {
            self.acknowledged.insert(sequence);
            return;
        }
        self.head = self.acknowledged.take_from(sequence + 1).unwrap_or(sequence + 1);
        self.cursor = self.cursor.max(self.head);
        let done = self.spans.partition_point(|span| span.last < self.head);
        self.spans.drain(..done);
    }

    /// Notes in which segment the claimed entries of a stretch are. It lies above all that was noted
    /// before: entries are claimed in order.
    pub(super) fn note_span(&mut self, first: u64, last: u64, age: u64) {
        match self.spans.last_mut() {
            Some(before) if before.age == age => before.last = last,
            _ => self.spans.push(Span { first, last, age }),
        }
    }

    /// The age of the segment that holds this sequence, where it is known.
    pub(super) fn age_of(&self, sequence: u64) -> Option<u64> {
        let after = self.spans.partition_point(|span| span.first <= sequence);
        let span = self.spans.get(after.checked_sub(1)?)?;
        (sequence <= span.last).then_some(span.age)
    }

    /// No segment older than this age holds one that is not acknowledged.
    pub(super) fn oldest_age(&self) -> u64 {
        self.spans.first().map_or(self.floor, |span| span.age.min(self.floor))
    }

    /// Pushed and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.tail - self.head - self.acknowledged.count()
    }

    fn heap_bytes(&self) -> usize {
        self.acknowledged.heap_bytes() + self.spans.capacity() * size_of::<Span>()
    }
}

/// The lanes of one queue.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) id: QueueId,
    /// Neither claimed nor acknowledged, in all lanes.
    pub(super) waiting: u64,
    /// Ascending by class.
    pub(super) lanes: Vec<Lane>,
}

impl Queue {
    pub(super) fn new(id: QueueId) -> Self {
        Self { id, waiting: 0, lanes: Vec::new() }
    }

    /// The lane of a class, made where it is missing, and to begin at `start` then.
    fn open(&mut self, class: u8, start: u64) -> &mut Lane {
        let place = self.lanes.partition_point(|lane| lane.class < class);
        if self.lanes.get(place).is_none_or(|lane| lane.class != class) {
            self.lanes.reserve_exact(1);
            self.lanes.insert(place, Lane::new(class, start));
        }
        &mut self.lanes[place]
    }
}

/// All lanes.
#[derive(Debug)]
pub(super) struct Lanes {
    queues: HashMap<u64, Queue, KeyHash>,
    /// Neither claimed nor acknowledged, in all queues.
    pub(super) waiting: u64,
    /// Above every sequence of a lane that was forgotten: where a new one begins.
    pub(super) fresh: u64,
    /// A bit for each bucket that holds one that waits.
    occupied: Vec<u64>,
}

/// Queue numbers come in runs; an odd factor spreads them without two becoming one.
fn spread(queue: QueueId) -> u64 {
    u64::from(queue.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Lanes {
    pub(super) fn new(fresh: u64) -> Self {
        let occupied = vec![0; BUCKETS.div_ceil(64) as usize];
        Self { queues: HashMap::default(), waiting: 0, fresh, occupied }
    }

    pub(super) fn queue(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(&spread(id))
    }

    pub(super) fn queue_mut(&mut self, id: QueueId) -> Option<&mut Queue> {
        self.queues.get_mut(&spread(id))
    }

    pub(super) fn get(&self, key: LaneKey) -> Option<&Lane> {
        self.queue(key.queue)?.lanes.iter().find(|lane| lane.class == key.class)
    }

    pub(super) fn get_mut(&mut self, key: LaneKey) -> Option<&mut Lane> {
        self.queue_mut(key.queue)?.lanes.iter_mut().find(|lane| lane.class == key.class)
    }

    /// The lane, made where it is missing, and to begin at `start` then; counts one more that waits
    /// in its queue. The lane's own counts are the caller's matter.
    pub(super) fn open(&mut self, key: LaneKey, start: u64) -> &mut Lane {
        self.add_waiting(key.queue, 1);
        let queue = self.queues.entry(spread(key.queue)).or_insert_with(|| Queue::new(key.queue));
        queue.waiting += 1;
        queue.open(key.class, start)
    }

    /// Puts a queue with its lanes in place.
    pub(super) fn restore(&mut self, queue: Queue) {
        self.add_waiting(queue.id, queue.waiting);
        self.queues.insert(spread(queue.id), queue);
    }

    fn add_waiting(&mut self, id: QueueId, count: u64) {
        self.waiting += count;
        if count > 0
            && let Some(word) = self.occupied.get_mut(id.0 as usize / 64)
        {
            *word |= 1 << (id.0 % 64);
        }
    }

    /// Counts so many fewer that wait in a queue.
    pub(super) fn remove_waiting(&mut self, id: QueueId, count: u64) {
        self.waiting = self.waiting.saturating_sub(count);
        let Some(queue) = self.queue_mut(id) else { return };
        queue.waiting = queue.waiting.saturating_sub(count);
        if queue.waiting == 0
            && let Some(word) = self.occupied.get_mut(id.0 as usize / 64)
        {
            *word &= !(1 << (id.0 % 64));
        }
    }

    /// The first bucket from this one on, going round, in which one waits.
    pub(super) fn next_bucket(&self, from: QueueId) -> Option<QueueId> {
        let from = from.0 % BUCKETS;
        let start = from as usize / 64;
        let words = self.occupied.len();
        // The first word is looked at twice: from the bit on, and as a whole at the end.
        (0..=words).find_map(|step| {
            let place = (start + step) % words;
            let mask = if step == 0 { u64::MAX << (from % 64) } else { u64::MAX };
            let word = self.occupied[place] & mask;
            (word != 0).then(|| QueueId(place as u32 * 64 + word.trailing_zeros()))
        })
    }

    /// Forgets a lane in which nothing is left that is not acknowledged.
    pub(super) fn forget_if_done(&mut self, key: LaneKey) {
        let Some(queue) = self.queues.get_mut(&spread(key.queue)) else { return };
        let done = |lane: &Lane| lane.class == key.class && lane.head == lane.tail;
        let Some(place) = queue.lanes.iter().position(done) else { return };
        let lane = queue.lanes.remove(place);
        self.fresh = self.fresh.max(lane.tail);
        if queue.lanes.is_empty() {
            self.queues.remove(&spread(key.queue));
        }
    }

    /// All queues, in no particular order.
    pub(super) fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.queues.values()
    }

    /// About as many bytes as all of this takes.
    pub(super) fn memory_bytes(&self) -> usize {
        let lanes = |queue: &Queue| {
            let beside: usize = queue.lanes.iter().map(Lane::heap_bytes).sum();
            beside + queue.lanes.capacity() * size_of::<Lane>()
        };
        // The map keeps one byte of its own beside each place.
        self.queues.capacity() * (size_of::<(u64, Queue)>() + 1)
            + self.queues.values().map(lanes).sum::<usize>()
    }
}
