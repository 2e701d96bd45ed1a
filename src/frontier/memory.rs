//! The frontier in memory: a queue per origin and class.
//!
//! It grows with the number of queued URLs.

use std::collections::{BTreeMap, VecDeque};

use super::{BUCKETS, Claimed, Frontier, FrontierError, QueueId, Ticket};
use crate::model::Candidate;

/// What one queue holds of one class.
#[derive(Debug, Default)]
struct Lane {
    waiting: VecDeque<Candidate>,
    /// The number of the first that waits.
    head: u64,
}

#[derive(Debug, Default)]
struct Queue {
    lanes: BTreeMap<u8, Lane>,
    length: u64,
}

impl Queue {
    fn take(&mut self, id: QueueId) -> Option<Claimed> {
        let (class, lane) = self.lanes.iter_mut().find(|(_, lane)| !lane.waiting.is_empty())?;
        let candidate = lane.waiting.pop_front()?;
        let ticket = Ticket { queue: id, class: *class, sequence: lane.head };
        lane.head += 1;
        self.length -= 1;
        Some(Claimed { ticket, candidate })
    }
}

/// Queues of candidates that live in memory only.
#[derive(Debug, Default)]
pub struct MemoryFrontier {
    queues: BTreeMap<QueueId, Queue>,
    length: u64,
}

impl MemoryFrontier {
    /// An empty frontier.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Frontier for MemoryFrontier {
    fn push_as(&mut self, queue: QueueId, class: u8, candidate: &Candidate) -> Result<Ticket, FrontierError> {
        let held = self.queues.entry(queue).or_default();
        let lane = held.lanes.entry(class).or_default();
        let sequence = lane.head + lane.waiting.len() as u64;
        lane.waiting.push_back(candidate.clone());
        held.length += 1;
        self.length += 1;
        Ok(Ticket { queue, class, sequence })
    }

    fn claim(
        &mut self,
        queue: QueueId,
        most: usize,
        claimed: &mut VecDeque<Claimed>,
    ) -> Result<(), FrontierError> {
        let Some(held) = self.queues.get_mut(&queue) else { return Ok(()) };
        for _ in 0..most {
            let Some(next) = held.take(queue) else { break };
            self.length -= 1;
            claimed.push_back(next);
        }
        Ok(())
    }

    fn acknowledge(&mut self, _ticket: Ticket) -> Result<(), FrontierError> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn queue_len(&self, queue: QueueId) -> u64 {
        self.queues.get(&queue).map_or(0, |queue| queue.length)
    }

    fn next_bucket(&self, from: QueueId) -> Option<QueueId> {
        let buckets = || self.queues.range(..QueueId(BUCKETS)).filter(|(_, queue)| queue.length > 0);
        buckets().find(|(id, _)| **id >= from).or_else(|| buckets().next()).map(|(id, _)| *id)
    }
}
