//! Hosts and origins in use: what is known of each, and what it has to do.
//!
//! A *host* (a name) is what politeness speaks of; an *origin* (scheme, host
//! and port) is what robots.txt speaks of and what has a queue. When something
//! may be done is [`Schedule`](super::Schedule)'s to say.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::attempts::Waiting;
use super::{Claimed, Moment, QueueId};
use crate::model::PageError;
use crate::robots::RobotsRules;

/// An open host, by number; the number is given again once it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub(super) u32);

/// An open origin, by number; the number is given again once it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginId(pub(super) u32);

impl HostId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl OriginId {
    /// The number: small, for it is given again.
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

/// The share of memory that hosts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostShare {
    /// Bytes of open hosts and origins: their state, the rules of their robots.txt, and what is
    /// claimed and waits. Past it no host is opened. What is in flight is not counted, and
    /// each open origin may hold one candidate and one attempt more.
    pub open_bytes: u64,
    /// Bytes for what is remembered of hosts that were closed. Not counted: how many records each
    /// has, which is kept only under `--max-pages-per-host` (see [`Schedule::memory_bytes`](super::Schedule::memory_bytes)).
    pub residue_bytes: u64,
    /// Bytes for rules of robots.txt whose origins are closed; none are kept where it is 0.
    pub closed_rules_bytes: u64,
    /// What the hash of a host's name depends on, so that nobody can aim at it; of the crawl, for
    /// buckets and what is remembered are found by it.
    pub secret: u64,
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
    pub last_error: Option<Box<PageError>>,
    /// Candidates of its queue that are not claimed.
    pub unclaimed: u64,
    /// Candidates claimed from the frontier, to be fetched next.
    pub(super) claimed: VecDeque<Claimed>,
    pub(super) waiting: BinaryHeap<Waiting>,
    /// Bytes of `claimed` and `waiting`.
    pub(super) held_bytes: u64,
    /// Bytes of rules that are charged to it: what it has, or is expected to need.
    pub(super) rules_bytes: u64,
    /// It has rules, or has been promised room for them.
    pub(super) holds_rules: bool,
    /// Its place in line, where its rules found no room: it waits until they would.
    pub(super) starved: Option<u64>,
    /// Jobs in flight that name it.
    pub(super) in_use: u32,
    /// Its place among the idle ones, where it is idle.
    pub(super) idle: Option<u64>,
    pub(super) in_ready: bool,
    pub(super) timed_at: Option<Moment>,
}

impl Origin {
    pub(super) fn new(name: Arc<str>, host: HostId, queue: QueueId) -> Self {
        Self {
            name,
            host,
            queue,
            robots: RobotsState::Unknown,
            last_error: None,
            unclaimed: 0,
            claimed: VecDeque::new(),
            waiting: BinaryHeap::new(),
            held_bytes: 0,
            rules_bytes: 0,
            holds_rules: false,
            starved: None,
            in_use: 0,
            idle: None,
            in_ready: false,
            timed_at: None,
        }
    }

    /// What stands in a place that nobody holds.
    pub(super) fn vacant() -> Self {
        Self::new(Arc::default(), HostId(0), QueueId(0))
    }

    /// Candidates that are claimed and not in flight.
    pub fn held(&self) -> u64 {
        (self.claimed.len() + self.waiting.len()) as u64
    }

    /// The attempts that wait, with their times, in no particular order.
    pub fn attempts(&self) -> impl Iterator<Item = (Moment, &super::Attempt)> {
        self.waiting.iter().map(|waiting| (waiting.at, &waiting.attempt))
    }

    /// Attempts that wait for their time.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether new candidates may be taken from its queue; where memory is short (`pressed`) only
    /// while nothing of it waits.
    pub(super) fn may_claim(&self, pressed: bool) -> bool {
        self.waiting.len() < if pressed { 1 } else { MOST_WAITING }
    }

    /// Whether anything of it is queued, claimed or waiting.
    pub fn has_work(&self) -> bool {
        self.has_new() || !self.waiting.is_empty()
    }

    fn has_new(&self) -> bool {
        self.unclaimed > 0 || !self.claimed.is_empty()
    }

    /// Whether it has nothing to do and nobody speaks of it: it may be closed, if its host may.
    pub(super) fn is_idle(&self) -> bool {
        !self.has_work() && self.in_use == 0 && !matches!(self.robots, RobotsState::Fetching { .. })
    }

    /// Whether it has something to do at once, and when what waits is to be looked at.
    /// `host_done`: everything left is to be skipped.
    pub(super) fn availability(
        &self,
        host_done: bool,
        pressed: bool,
        obey_robots: bool,
    ) -> (bool, Option<Moment>) {
        if !self.has_work() {
            return (false, None);
        }
        match &self.robots {
            _ if host_done => (true, None),
            RobotsState::Drained(_) => (true, None),
            RobotsState::Unknown if obey_robots => (self.starved.is_none(), None),
            RobotsState::Fetching { .. } => (false, None),
            RobotsState::Retry { at, .. } | RobotsState::Redirected { at, .. } => (false, Some(*at)),
            RobotsState::Known { .. } | RobotsState::Unknown => {
                (self.has_new() && self.may_claim(pressed), self.waiting.peek().map(|first| first.at))
            }
        }
    }

    /// Whether something that was begun may go on now, as far as was seen when its time came.
    pub(super) fn may_go_on(&self) -> bool {
        !self.waiting.is_empty() && self.timed_at.is_none() && !self.is_blocked()
    }

    /// Whether it must wait for its robots.txt, or for room for it.
    pub(super) fn is_blocked(&self) -> bool {
        self.starved.is_some() || matches!(self.robots, RobotsState::Fetching { .. })
    }
}

/// Where the look-up of a host's name stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    NotNeeded,
    /// It has to come before anything is asked.
    Due,
    /// Since then.
    Underway(Moment),
    /// It leads somewhere; to be asked again after this.
    Until(Moment),
    /// It leads nowhere; to be asked again after this.
    GoneUntil(Moment),
}

/// A host name in use: what politeness speaks of.
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
    /// Requests for a robots.txt in a row that nobody answered, at whichever port.
    pub unanswered: u32,
    /// Given up, and why.
    pub drained: Option<DrainReason>,
    /// What happened last before it, or one of its origins, was given up.
    pub last_error: Option<Box<PageError>>,
    /// When the running pause after a failure was imposed: requests from before belong to that failure.
    pub(super) failed_at: Option<Moment>,
    /// Tells it from those that had its number before.
    pub(super) serial: u64,
    /// Counted among the hosts that share the slots.
    pub(super) active: bool,
    pub(super) origins: Vec<OriginId>,
    pub(super) next_allowed: Moment,
    pub(super) crawl_delay: Duration,
    pub(super) lookup: Lookup,
    /// It waits in line for a look-up.
    pub(super) awaits_lookup: bool,
    /// Look-ups in a row that nobody answered.
    pub unresolved: u32,
    /// The place of its address, where that is known and anything depends on it.
    pub(super) address: Option<u32>,
    /// It waits in line at its address.
    pub(super) parked: bool,
    /// Set aside, with what it has to begin: a limit leaves no room.
    pub(super) held: bool,
    pub(super) ready: VecDeque<OriginId>,
    pub(super) timed: BinaryHeap<Reverse<(Moment, OriginId)>>,
    /// The one entry of the heap that counts.
    pub(super) entry: Option<(Moment, u64)>,
}

impl Host {
    pub(super) fn new(name: Arc<str>, serial: u64, lookup: Lookup) -> Self {
        Self {
            name,
            in_flight: 0,
            pages_in_flight: 0,
            records: 0,
            owed: 0,
            failures: 0,
            transient_failures: 0,
            slow_downs: 0,
            unanswered: 0,
            drained: None,
            last_error: None,
            failed_at: None,
            serial,
            active: false,
            origins: Vec::new(),
            next_allowed: Moment::START,
            crawl_delay: Duration::ZERO,
            lookup,
            awaits_lookup: false,
            unresolved: 0,
            address: None,
            parked: false,
            held: false,
            ready: VecDeque::new(),
            timed: BinaryHeap::new(),
            entry: None,
        }
    }

    /// What stands in a place that nobody holds.
    pub(super) fn vacant() -> Self {
        Self::new(Arc::default(), 0, Lookup::NotNeeded)
    }
}

/// The host name in `scheme://host[:port]`; brackets of an IPv6 literal stay.
pub(super) fn host_name(origin: &str) -> &str {
    let authority = authority(origin);
    let name = match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => &authority[..colon],
        _ => authority,
    };
    // The root's dot names the same host (RFC 1034 section 3.1).
    name.strip_suffix('.').unwrap_or(name)
}

/// Whether an origin names a port, which is then not its scheme's own.
pub(super) fn names_a_port(origin: &str) -> bool {
    let authority = authority(origin);
    !authority.ends_with(']') && authority.contains(':')
}

fn authority(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, authority)| authority)
}
