//! The frontier: candidates not yet fetched, and when each host may be asked.
//!
//! [`Frontier`] holds the candidates, shallower ones first: one queue for each origin in use, and
//! buckets for all others. [`Schedule`] holds who may be asked when: the hosts in use, their
//! delays, pauses and failures, in a share of memory. Neither knows of the network, of the visited set or of
//! a clock; time is an argument.

mod addresses;
mod attempts;
mod disk;
mod failures;
mod hosts;
mod limits;
mod memory;
mod names;
mod opening;
mod pick;
mod residues;
mod restoring;
mod rules;
mod schedule;
mod share;
mod slots;

use std::time::Duration;

pub use attempts::Attempt;
pub use disk::{DiskFrontier, DiskSettings};
pub use failures::{FIRST_PAUSE, Failed, doubled};
pub use hosts::{DrainReason, Host, HostId, HostShare, Origin, OriginId, Politeness, RobotsState};
pub use memory::MemoryFrontier;
pub use pick::Pick;
pub use schedule::Schedule;

use crate::model::{Candidate, Via};
use crate::store::{Encoder, StateError};

/// A point in time, in microseconds since the crawl began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment the crawl began.
    pub const START: Moment = Moment(0);

    /// This moment and `duration` later; saturates.
    #[must_use]
    pub fn after(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Time from `earlier` to this moment; zero where `earlier` is later.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A queue, by number. Numbers below [`BUCKETS`] are the buckets that hosts which are not open
/// share; an open origin has one of its own, whose number is never given a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// Buckets for the candidates of hosts that have no state in memory.
pub const BUCKETS: u32 = 4096;

impl QueueId {
    /// The bucket of a host name's hash.
    pub fn bucket(hash: u64) -> QueueId {
        QueueId((hash >> 32) as u32 % BUCKETS)
    }

    /// Whether it is shared by hosts that are not open.
    pub fn is_bucket(self) -> bool {
        self.0 < BUCKETS
    }
}

/// The place of a candidate: what an acknowledgement names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket {
    /// Its queue.
    pub queue: QueueId,
    /// Its class within the queue: lower ones are claimed first.
    pub class: u8,
    /// Its number within queue and class, in order of pushing, from 0 without gaps.
    pub sequence: u64,
}

/// A candidate taken from its queue but not yet acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Its place, for the acknowledgement.
    pub ticket: Ticket,
    /// What to fetch.
    pub candidate: Candidate,
}

/// The storage under the frontier failed; the crawl must stop at its last good state.
#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// A file could not be read or written, or is not what was written.
    #[error("the frontier cannot be kept: {0}")]
    State(#[from] StateError),
    /// What the log says happened cannot have happened in this frontier.
    #[error("the frontier is not what the log says: queue {}, class {}, number {}: {problem}", .ticket.queue.0, .ticket.class, .ticket.sequence)]
    Inconsistent {
        /// The place it is about.
        ticket: Ticket,
        /// What does not fit.
        problem: &'static str,
    },
    /// What the manifest says of the frontier does not fit together.
    #[error("the manifest is not usable: {0}")]
    Manifest(&'static str),
    /// An operation failed before, so what is in memory may not be what is on disk.
    #[error("the frontier failed before and can only be restored")]
    Failed,
}

/// Queues of candidates.
///
/// Within a queue the lowest class comes first, and within a class the first
/// that was pushed.
pub trait Frontier {
    /// Appends a candidate to a queue.
    fn push(&mut self, queue: QueueId, candidate: &Candidate) -> Result<Ticket, FrontierError> {
        self.push_as(queue, class_of(candidate), candidate)
    }

    /// The same with a class of the caller's, [`DEEPEST_CLASS`] at most.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    fn push_as(&mut self, queue: QueueId, class: u8, candidate: &Candidate) -> Result<Ticket, FrontierError>;

    /// Takes up to `most` candidates from the head of a queue and appends them to `claimed`.
    fn claim(
        &mut self,
        queue: QueueId,
        most: usize,
        claimed: &mut std::collections::VecDeque<Claimed>,
    ) -> Result<(), FrontierError>;

    /// Says that the outcome of a claimed candidate is kept elsewhere: it will not be needed again.
    /// In any order.
    fn acknowledge(&mut self, ticket: Ticket) -> Result<(), FrontierError>;

    /// Candidates in all queues that are not claimed.
    fn len(&self) -> u64;

    /// Whether no queue holds an unclaimed candidate.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unclaimed candidates in one queue.
    fn queue_len(&self, queue: QueueId) -> u64;

    /// The first bucket from this one on, going round, that holds an unclaimed candidate.
    fn next_bucket(&self, from: QueueId) -> Option<QueueId>;

    /// Writes and syncs everything that the next manifest has to name. As all that follows it is
    /// for a frontier that outlives the process; one in memory has nothing to do.
    fn prepare_checkpoint(&mut self) -> Result<(), FrontierError> {
        Ok(())
    }

    /// Appends what the manifest is to say of the frontier, right after `prepare_checkpoint`.
    fn encode_state(&self, _state: &mut Encoder<'_>) -> Result<(), FrontierError> {
        Ok(())
    }

    /// The manifest is durable.
    fn checkpoint_done(&mut self) -> Result<(), FrontierError> {
        Ok(())
    }

    /// Pushes once more what the log says was pushed, and got this ticket.
    fn replay_push(&mut self, ticket: Ticket, candidate: &Candidate) -> Result<(), FrontierError> {
        self.push_as(ticket.queue, ticket.class, candidate).map(|_| ())
    }

    /// Names of the files that the last manifest names.
    fn named_files(&self) -> Vec<String> {
        Vec::new()
    }

    /// Bytes on disk.
    fn disk_bytes(&self) -> u64 {
        0
    }
}

/// Depths from here on share one class.
pub const DEEPEST_CLASS: u32 = 15;

/// The class of a candidate within its queue: its depth. What a page names as canonical comes before
/// what else is as deep, so that it is read before its further copies.
pub fn class_of(candidate: &Candidate) -> u8 {
    let sooner = u32::from(candidate.via == Via::Canonical);
    candidate.depth.min(DEEPEST_CLASS).saturating_sub(sooner) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_names_as_canonical_comes_before_what_is_as_deep_and_not_before_what_is_nearer() {
        let class = |depth, via| {
            let (url, origin_length, key) = ("http://a.test/".into(), 13, 1);
            class_of(&Candidate {
                url,
                origin_length,
                key,
                depth,
                via,
                hops: 0,
                carries_scope: false,
                referrer: None,
            })
        };
        for (depth, link, canonical) in [(0, 0, 0), (1, 1, 0), (2, 2, 1), (15, 15, 14), (99, 15, 14)] {
            assert_eq!((class(depth, Via::Link), class(depth, Via::Canonical)), (link, canonical), "{depth}");
        }
    }
}
