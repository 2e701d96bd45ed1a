//! The frontier in memory: a queue per origin and class.
//!
//! It grows with the number of queued URLs.

use std::collections::VecDeque;

use super::{Claimed, DEEPEST_CLASS, Frontier, FrontierError, OriginId};
use crate::model::Candidate;

#[derive(Debug, Default)]
struct Queue {
    /// One list per class in use, by rising class.
    classes: Vec<(u32, VecDeque<Claimed>)>,
    length: u64,
    next_sequence: u64,
}

impl Queue {
    fn class(&mut self, class: u32) -> &mut VecDeque<Claimed> {
        let place = match self.classes.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(place) => place,
            Err(place) => {
                self.classes.insert(place, (class, VecDeque::new()));
                place
            }
        };
        &mut self.classes[place].1
    }

    fn take(&mut self) -> Option<Claimed> {
        loop {
            let (_, first) = self.classes.first_mut()?;
            if let Some(claimed) = first.pop_front() {
                self.length -= 1;
                return Some(claimed);
            }
            self.classes.remove(0);
        }
    }
}

/// Queues of candidates that live in memory only.
#[derive(Debug, Default)]
pub struct MemoryFrontier {
    queues: Vec<Queue>,
    length: u64,
}

impl MemoryFrontier {
    /// An empty frontier.
    pub fn new() -> Self {
        Self::default()
    }

    fn queue(&mut self, origin: OriginId) -> &mut Queue {
        let place = origin.index();
        if place >= self.queues.len() {
            self.queues.resize_with(place + 1, Queue::default);
        }
        &mut self.queues[place]
    }
}

impl Frontier for MemoryFrontier {
    fn push(&mut self, origin: OriginId, candidate: Candidate) -> Result<(), FrontierError> {
        let queue = self.queue(origin);
        let sequence = queue.next_sequence;
        queue.next_sequence += 1;
        queue.length += 1;
        queue.class(candidate.depth.min(DEEPEST_CLASS)).push_back(Claimed { sequence, candidate });
        self.length += 1;
        Ok(())
    }

    fn claim(
        &mut self,
        origin: OriginId,
        most: usize,
        claimed: &mut VecDeque<Claimed>,
    ) -> Result<(), FrontierError> {
        for _ in 0..most {
            let Some(next) = self.queue(origin).take() else {
                break;
            };
            self.length -= 1;
            claimed.push_back(next);
        }
        Ok(())
    }

    fn acknowledge(&mut self, _origin: OriginId, _sequence: u64) -> Result<(), FrontierError> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn queue_len(&self, origin: OriginId) -> u64 {
        self.queues.get(origin.index()).map_or(0, |queue| queue.length)
    }
}
