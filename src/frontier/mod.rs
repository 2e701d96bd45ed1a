//! The frontier: candidates not yet fetched, and when each host may be asked.
//!
//! [`Frontier`] holds the candidates, one queue per origin, shallower ones
//! first. [`Schedule`] holds who may be asked when: hosts, their delays,
//! pauses and failures. Neither knows of the network, of the visited set or of
//! a clock; time is an argument.

mod addresses;
mod hosts;
mod memory;
mod schedule;

use std::time::Duration;

pub use hosts::{
    Attempt, Availability, DrainReason, Host, HostId, Origin, OriginId, Politeness, RobotsState,
};
pub use memory::MemoryFrontier;
pub use schedule::{FIRST_PAUSE, Failed, Pick, Schedule, doubled};

use crate::model::Candidate;

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

/// A candidate taken from its queue but not yet acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Its place in its queue, for the acknowledgement.
    pub sequence: u64,
    /// What to fetch.
    pub candidate: Candidate,
}

/// The storage under the frontier failed; the crawl must stop at its last good state.
#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// Reading or writing failed.
    #[error("frontier storage failed: {0}")]
    Storage(#[from] std::io::Error),
}

/// Queues of candidates, one per origin.
///
/// Within a queue the lowest class comes first, and within a class the first
/// that was pushed. The class is the candidate's depth, capped at
/// [`DEEPEST_CLASS`].
pub trait Frontier {
    /// Appends a candidate to the queue of its origin.
    fn push(&mut self, origin: OriginId, candidate: Candidate) -> Result<(), FrontierError>;

    /// Takes up to `most` candidates from the head of a queue into `claimed`.
    fn claim(
        &mut self,
        origin: OriginId,
        most: usize,
        claimed: &mut std::collections::VecDeque<Claimed>,
    ) -> Result<(), FrontierError>;

    /// Says that the outcome of a claimed candidate has been written.
    fn acknowledge(&mut self, origin: OriginId, sequence: u64) -> Result<(), FrontierError>;

    /// Candidates in all queues that are not claimed.
    fn len(&self) -> u64;

    /// Whether no queue holds an unclaimed candidate.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unclaimed candidates in one queue.
    fn queue_len(&self, origin: OriginId) -> u64;
}

/// Depths from here on share one class.
pub const DEEPEST_CLASS: u32 = 15;
