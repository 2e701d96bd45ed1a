//! Hosts and origins: what is known of each, and what it has to do.
//!
//! A *host* (a name) is what politeness speaks of; an *origin* (scheme, host
//! and port) is what robots.txt speaks of and what has a queue. When something
//! may be done is [`Schedule`](super::Schedule)'s to say.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::{Claimed, Moment, QueueId, Ticket};
use crate::model::{Candidate, Record};
use crate::robots::RobotsRules;

/// A host name, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub(super) u32);

/// An origin, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginId(pub(super) u32);

impl HostId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl OriginId {
    /// The number, counted from 0 in order of appearance.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The settings of politeness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Politeness {
    /// Pause between the end of a fetch and the next one of the same host.
    pub delay: Duration,
    /// Each pause is multiplied by a random factor of 0.5 to 1.5.
    pub random_wait: bool,
    /// Pause between the end of a fetch and the next one of the same address.
    pub address_delay: Duration,
    /// The longest `Crawl-delay` that is honoured as it stands.
    pub max_crawl_delay: Duration,
    /// Requests in flight at most for one host; 1 where the host has a delay.
    pub per_host: usize,
    /// Requests in flight at most in all; hosts that have work share them evenly.
    pub concurrency: usize,
    /// Failures of a host in a row after which it is given up.
    pub host_failures: u32,
    /// Records of one host at most.
    pub max_pages_per_host: Option<u64>,
    /// Seeds the random factor.
    pub seed: u64,
}

/// What is known of an origin's robots.txt.
#[derive(Debug, Clone)]
pub enum RobotsState {
    /// Nothing yet.
    Unknown,
    /// A request is in flight.
    Fetching {
        /// Requests made before this one that failed.
        failures: u32,
        /// Whose slot and delay it takes: where the file stands, after a redirect.
        booked: OriginId,
        /// The last good copy, where it is being refreshed.
        last: Option<Arc<RobotsRules>>,
    },
    /// Asking failed; to be asked again.
    Retry {
        /// Requests that failed so far.
        failures: u32,
        /// Not before.
        at: Moment,
        /// The last good copy.
        last: Option<Arc<RobotsRules>>,
    },
    /// It stands elsewhere, and that place is asked next.
    Redirected {
        /// The URL to ask.
        to: Arc<str>,
        /// Redirects so far.
        hops: u32,
        /// Not before.
        at: Moment,
        /// Requests that have failed before.
        failures: u32,
        /// The last good copy.
        last: Option<Arc<RobotsRules>>,
    },
    /// These rules hold.
    Known {
        /// The rules.
        rules: Arc<RobotsRules>,
        /// Until then.
        until: Moment,
    },
    /// Given up: nothing of this origin is fetched any more.
    Drained(DrainReason),
}

/// Why all that is left of a host or an origin is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DrainReason {
    /// Its robots.txt could not be read.
    RobotsUnreachable,
    /// The host failed too often in a row.
    HostUnreachable,
    /// `--max-pages-per-host` is reached.
    HostLimit,
    /// The address guard refuses it.
    PrivateAddress,
}

/// A candidate on its way, with what has happened to it so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Its place in its queue, for the acknowledgement; its URL may meanwhile be of another origin.
    pub ticket: Ticket,
    /// What to fetch; its URL may have been replaced by another spelling of the same key.
    pub candidate: Candidate,
    /// Requests made so far.
    pub requests: u32,
    /// Requests that failed so far.
    pub failures: u32,
    /// It was asked again at once after its connection broke before any answer.
    pub reconnected: bool,
    /// When the last request began.
    pub started: Moment,
    /// The canonical spelling has been put in place of the one as written.
    pub respelled: bool,
    /// The record to write if nothing better comes.
    pub fallback: Option<Box<Record>>,
}

impl Attempt {
    /// The first attempt at a claimed candidate.
    pub fn new(claimed: Claimed) -> Self {
        Self {
            ticket: claimed.ticket,
            candidate: claimed.candidate,
            requests: 0,
            failures: 0,
            reconnected: false,
            started: Moment::START,
            respelled: false,
            fallback: None,
        }
    }
}

/// Whether an origin has something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// At once, as far as the origin is concerned.
    Now,
    /// Not before this moment.
    At(Moment),
    /// Not until something happens.
    Never,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: Moment,
    pub(super) ticket: u64,
    pub(super) attempt: Attempt,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.ticket) == (other.at, other.ticket)
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    // Reversed, so that the heap gives the earliest first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.ticket).cmp(&(self.at, self.ticket))
    }
}

/// Attempts of one origin that may wait at a time before no new candidate of it is claimed.
const MOST_WAITING: usize = 16;

/// Scheme, host and port: what has a queue and a robots.txt.
#[derive(Debug)]
pub struct Origin {
    /// `scheme://host[:port]`.
    pub name: Arc<str>,
    /// Its host.
    pub host: HostId,
    /// Its queue in the frontier.
    pub queue: QueueId,
    /// What is known of its robots.txt.
    pub robots: RobotsState,
    /// What went wrong last with its robots.txt.
    pub last_error: Option<Arc<str>>,
    /// Candidates claimed from the frontier, to be fetched next.
    pub claimed: VecDeque<Claimed>,
    /// Candidates of its queue that are not claimed.
    pub unclaimed: u64,
    pub(super) waiting: BinaryHeap<Waiting>,
    pub(super) in_ready: bool,
    pub(super) timed_at: Option<Moment>,
}

impl Origin {
    /// Attempts that wait for their time.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether new candidates may be taken from its queue.
    pub fn may_claim(&self) -> bool {
        self.waiting.len() < MOST_WAITING
    }

    /// Whether anything of it is queued, claimed or waiting.
    pub fn has_work(&self) -> bool {
        self.unclaimed > 0 || !self.claimed.is_empty() || !self.waiting.is_empty()
    }

    /// `host_done`: everything left is to be skipped. `only_waiting`: a limit leaves room for
    /// what was begun, and for nothing new.
    pub(super) fn availability(
        &self,
        host_done: bool,
        only_waiting: bool,
        obey_robots: bool,
    ) -> Availability {
        if !self.has_work() {
            return Availability::Never;
        }
        if host_done {
            return Availability::Now;
        }
        match &self.robots {
            RobotsState::Drained(_) => Availability::Now,
            RobotsState::Unknown if obey_robots => Availability::Now,
            RobotsState::Fetching { .. } => Availability::Never,
            RobotsState::Retry { at, .. } | RobotsState::Redirected { at, .. } => Availability::At(*at),
            RobotsState::Known { .. } | RobotsState::Unknown => {
                let new = self.unclaimed > 0 || !self.claimed.is_empty();
                if new && self.may_claim() && !only_waiting {
                    return Availability::Now;
                }
                self.waiting.peek().map_or(Availability::Never, |first| Availability::At(first.at))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    Unknown,
    Resolving,
    Known(usize),
}

/// A host name: what politeness speaks of.
#[derive(Debug)]
pub struct Host {
    /// The name, without port.
    pub name: Arc<str>,
    /// Requests in flight.
    pub in_flight: u32,
    /// Page requests in flight.
    pub pages_in_flight: u32,
    /// Records written.
    pub records: u64,
    /// Attempts that wait and will end in a record, whatever comes.
    pub owed: u64,
    /// Failures of the host in a row.
    pub failures: u32,
    /// Failures in a row that may be the page's as well as the host's.
    pub transient_failures: u32,
    /// Answers in a row that asked to slow down without saying for how long.
    pub slow_downs: u32,
    /// Given up, and why.
    pub drained: Option<DrainReason>,
    /// What happened last before it was given up.
    pub last_error: Option<Arc<str>>,
    /// When the running pause after a failure was imposed: requests from before belong to that failure.
    pub(super) failed_at: Option<Moment>,
    /// Counted among the hosts that share the slots.
    pub(super) active: bool,
    pub(super) origins: Vec<OriginId>,
    pub(super) next_allowed: Moment,
    pub(super) crawl_delay: Duration,
    pub(super) address: Address,
    pub(super) ready: VecDeque<OriginId>,
    pub(super) timed: BinaryHeap<Reverse<(Moment, OriginId)>>,
    /// The one entry of the heap that counts.
    pub(super) entry: Option<(Moment, u64)>,
    pub(super) parked_at_address: bool,
}
