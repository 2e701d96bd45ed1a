//! When each host may be asked: delays, pauses, failures, slots, addresses.
//!
//! A *host* (a name) is what politeness speaks of; an *origin* (scheme, host
//! and port) is what robots.txt speaks of and what has a queue. A heap holds
//! each host that has something to do once, by the time it may be asked next,
//! so no call looks at all hosts. Hosts that may be asked at once take turns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{Claimed, Moment};
use crate::model::{Candidate, Record};
use crate::robots::RobotsRules;

/// A host name, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(u32);

/// An origin, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginId(u32);

impl HostId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl OriginId {
    /// The number, counted from 0 in order of appearance.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    #[cfg(test)]
    pub(super) fn from_index(index: u32) -> Self {
        Self(index)
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
    /// Its place in its queue, for the acknowledgement.
    pub sequence: u64,
    /// What to fetch; its URL may have been replaced by another spelling of the same key.
    pub candidate: Candidate,
    /// Requests made so far.
    pub requests: u32,
    /// Requests that failed so far.
    pub failures: u32,
    /// The canonical spelling has been put in place of the one as written.
    pub respelled: bool,
    /// The record to write if nothing better comes.
    pub fallback: Option<Box<Record>>,
}

impl From<Claimed> for Attempt {
    fn from(claimed: Claimed) -> Self {
        Self {
            sequence: claimed.sequence,
            candidate: claimed.candidate,
            requests: 0,
            failures: 0,
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
struct Waiting {
    at: Moment,
    ticket: u64,
    attempt: Attempt,
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
    /// What is known of its robots.txt.
    pub robots: RobotsState,
    /// Candidates claimed from the frontier, to be fetched next.
    pub claimed: VecDeque<Claimed>,
    /// Candidates of its queue that are not claimed.
    pub unclaimed: u64,
    waiting: BinaryHeap<Waiting>,
    in_ready: bool,
    timed_at: Option<Moment>,
}

impl Origin {
    /// Attempts that wait for their time.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes an attempt whose time has come, or any where `drained`.
    pub fn take_waiting(&mut self, now: Moment, drained: bool) -> Option<Attempt> {
        if drained || self.waiting.peek()?.at <= now {
            return self.waiting.pop().map(|waiting| waiting.attempt);
        }
        None
    }

    /// Whether new candidates may be taken from its queue.
    pub fn may_claim(&self) -> bool {
        self.waiting.len() < MOST_WAITING
    }

    fn has_work(&self) -> bool {
        self.unclaimed > 0 || !self.claimed.is_empty() || !self.waiting.is_empty()
    }

    fn availability(&self, host_drained: bool, obey_robots: bool) -> Availability {
        if !self.has_work() {
            return Availability::Never;
        }
        if host_drained {
            return Availability::Now;
        }
        match &self.robots {
            RobotsState::Drained(_) | RobotsState::Redirected { .. } => Availability::Now,
            RobotsState::Unknown if obey_robots => Availability::Now,
            RobotsState::Fetching { .. } => Availability::Never,
            RobotsState::Retry { at, .. } => Availability::At(*at),
            RobotsState::Known { .. } | RobotsState::Unknown => {
                if self.may_claim() && (self.unclaimed > 0 || !self.claimed.is_empty()) {
                    return Availability::Now;
                }
                self.waiting.peek().map_or(Availability::Never, |first| Availability::At(first.at))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Address {
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
    /// Failures of the host in a row.
    pub failures: u32,
    /// Failures in a row that may be the page's as well as the host's.
    pub transient_failures: u32,
    /// Answers in a row that asked to slow down without saying for how long.
    pub slow_downs: u32,
    /// Given up, and why.
    pub drained: Option<DrainReason>,
    origins: Vec<OriginId>,
    next_allowed: Moment,
    crawl_delay: Duration,
    address: Address,
    ready: VecDeque<OriginId>,
    timed: BinaryHeap<Reverse<(Moment, OriginId)>>,
    /// The one entry of the heap that counts.
    entry: Option<(Moment, u64)>,
    parked_at_address: bool,
}

#[derive(Debug, Default)]
struct AddressState {
    next_allowed: Moment,
    busy: bool,
    parked: VecDeque<HostId>,
}

/// What [`Schedule::pick`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// Something of this origin may be asked now; answer with [`Schedule::started`] or [`Schedule::refresh`].
    Origin(OriginId),
    /// The host's address must be looked up first, through this origin.
    Address(OriginId),
    /// Nothing before this moment.
    NotBefore(Moment),
    /// Nothing until something happens.
    Nothing,
}

/// All hosts and origins, and when each may be asked.
#[derive(Debug)]
pub struct Schedule {
    politeness: Politeness,
    obey_robots: bool,
    hosts: Vec<Host>,
    origins: Vec<Origin>,
    host_names: HashMap<Arc<str>, HostId>,
    origin_names: HashMap<Arc<str>, OriginId>,
    heap: BinaryHeap<Reverse<(Moment, u64, HostId)>>,
    addresses: Vec<AddressState>,
    address_numbers: HashMap<IpAddr, usize>,
    next_ticket: u64,
    random: u64,
    last: Option<OriginId>,
}

impl Schedule {
    /// A schedule without hosts; `obey_robots` holds pages back until their robots.txt is known.
    pub fn new(politeness: Politeness, obey_robots: bool) -> Self {
        let random = politeness.seed | 1;
        Self {
            politeness,
            obey_robots,
            hosts: Vec::new(),
            origins: Vec::new(),
            host_names: HashMap::new(),
            origin_names: HashMap::new(),
            heap: BinaryHeap::new(),
            addresses: Vec::new(),
            address_numbers: HashMap::new(),
            next_ticket: 0,
            random,
            last: None,
        }
    }

    /// The number of an origin (`scheme://host[:port]`), made where it is new.
    pub fn origin_of(&mut self, name: &str) -> OriginId {
        // Links of one page mostly share one origin.
        if let Some(last) = self.last
            && &*self.origins[last.index()].name == name
        {
            return last;
        }
        let id = match self.origin_names.get(name) {
            Some(id) => *id,
            None => self.new_origin(name),
        };
        self.last = Some(id);
        id
    }

    fn new_origin(&mut self, name: &str) -> OriginId {
        let host = self.host_of(host_name(name));
        let id = OriginId(u32::try_from(self.origins.len()).unwrap_or(u32::MAX));
        let name: Arc<str> = name.into();
        self.origins.push(Origin {
            name: name.clone(),
            host,
            robots: RobotsState::Unknown,
            claimed: VecDeque::new(),
            unclaimed: 0,
            waiting: BinaryHeap::new(),
            in_ready: false,
            timed_at: None,
        });
        self.hosts[host.index()].origins.push(id);
        self.origin_names.insert(name, id);
        id
    }

    fn host_of(&mut self, name: &str) -> HostId {
        if let Some(id) = self.host_names.get(name) {
            return *id;
        }
        let id = HostId(u32::try_from(self.hosts.len()).unwrap_or(u32::MAX));
        let name: Arc<str> = name.into();
        let address =
            if self.politeness.address_delay.is_zero() { Address::Known(0) } else { Address::Unknown };
        self.hosts.push(Host {
            name: name.clone(),
            in_flight: 0,
            pages_in_flight: 0,
            records: 0,
            failures: 0,
            transient_failures: 0,
            slow_downs: 0,
            drained: None,
            origins: Vec::new(),
            next_allowed: Moment::START,
            crawl_delay: Duration::ZERO,
            address,
            ready: VecDeque::new(),
            timed: BinaryHeap::new(),
            entry: None,
            parked_at_address: false,
        });
        self.host_names.insert(name, id);
        id
    }

    /// An origin.
    pub fn origin(&self, id: OriginId) -> &Origin {
        &self.origins[id.index()]
    }

    /// An origin, to be changed; call [`Schedule::refresh`] afterwards.
    pub fn origin_mut(&mut self, id: OriginId) -> &mut Origin {
        &mut self.origins[id.index()]
    }

    /// The host of an origin.
    pub fn host(&self, id: OriginId) -> &Host {
        &self.hosts[self.origins[id.index()].host.index()]
    }

    /// The host of an origin, to be changed; call [`Schedule::refresh`] afterwards.
    pub fn host_mut(&mut self, id: OriginId) -> &mut Host {
        &mut self.hosts[self.origins[id.index()].host.index()]
    }

    /// Every host, in order of appearance.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    /// Every origin, in order of appearance.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.origins.iter()
    }

    /// Why everything of this origin is to be skipped, where it is.
    pub fn drained(&self, id: OriginId) -> Option<DrainReason> {
        let origin = &self.origins[id.index()];
        let host = &self.hosts[origin.host.index()];
        if host.drained.is_some() {
            return host.drained;
        }
        if self.politeness.max_pages_per_host.is_some_and(|most| host.records >= most) {
            return Some(DrainReason::HostLimit);
        }
        match origin.robots {
            RobotsState::Drained(reason) => Some(reason),
            _ => None,
        }
    }

    /// Lets an attempt wait until `at`.
    pub fn wait(&mut self, id: OriginId, attempt: Attempt, at: Moment) {
        let ticket = self.ticket();
        self.origins[id.index()].waiting.push(Waiting { at, ticket, attempt });
        self.refresh(id);
    }

    /// Looks again at when an origin and its host have something to do.
    pub fn refresh(&mut self, id: OriginId) {
        let host_id = self.origins[id.index()].host;
        let drained = self.host_done(host_id);
        let origin = &mut self.origins[id.index()];
        let host = &mut self.hosts[host_id.index()];
        match origin.availability(drained, self.obey_robots) {
            Availability::Now => {
                origin.timed_at = None;
                if !origin.in_ready {
                    origin.in_ready = true;
                    host.ready.push_back(id);
                }
            }
            Availability::At(at) => {
                if origin.timed_at != Some(at) {
                    origin.timed_at = Some(at);
                    host.timed.push(Reverse((at, id)));
                }
            }
            Availability::Never => origin.timed_at = None,
        }
        self.place(host_id);
    }

    fn host_done(&self, id: HostId) -> bool {
        let host = &self.hosts[id.index()];
        host.drained.is_some() || self.politeness.max_pages_per_host.is_some_and(|most| host.records >= most)
    }

    /// Requests that may be in flight to a host at a time.
    fn slots(&self, host: &Host) -> u32 {
        let limit = if self.delay(host).is_zero() { self.politeness.per_host.max(1) } else { 1 };
        u32::try_from(limit).unwrap_or(u32::MAX)
    }

    fn delay(&self, host: &Host) -> Duration {
        self.politeness.delay.max(host.crawl_delay)
    }

    /// When the host has something to do, where it has.
    fn due(&mut self, id: HostId) -> Option<Moment> {
        let done = self.host_done(id);
        let host = &self.hosts[id.index()];
        if done && !host.ready.is_empty() {
            return Some(Moment::START);
        }
        if host.in_flight >= self.slots(host) || host.parked_at_address || host.address == Address::Resolving
        {
            return None;
        }
        if let Some(most) = self.politeness.max_pages_per_host
            && host.records + u64::from(host.pages_in_flight) >= most
        {
            return None;
        }
        if !host.ready.is_empty() {
            return Some(host.next_allowed);
        }
        let host = &mut self.hosts[id.index()];
        while let Some(Reverse((at, origin))) = host.timed.peek() {
            if self.origins[origin.index()].timed_at == Some(*at) {
                return Some(host.next_allowed.max(*at));
            }
            host.timed.pop();
        }
        None
    }

    fn place(&mut self, id: HostId) {
        let due = self.due(id);
        let host = &mut self.hosts[id.index()];
        match (due, host.entry) {
            (None, _) => host.entry = None,
            (Some(at), Some((entered, _))) if at == entered => {}
            (Some(at), _) => {
                self.next_ticket += 1;
                host.entry = Some((at, self.next_ticket));
                self.heap.push(Reverse((at, self.next_ticket, id)));
            }
        }
    }

    fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    /// Finds an origin that may be asked now.
    pub fn pick(&mut self, now: Moment) -> Pick {
        loop {
            let Some(&Reverse((at, ticket, id))) = self.heap.peek() else {
                return Pick::Nothing;
            };
            if self.hosts[id.index()].entry != Some((at, ticket)) {
                self.heap.pop();
                continue;
            }
            if at > now {
                return Pick::NotBefore(at);
            }
            self.heap.pop();
            self.hosts[id.index()].entry = None;
            // Records written since may have used up the host's limit.
            if self.due(id).is_none_or(|due| due > now) {
                self.place(id);
                continue;
            }
            if self.held_by_address(id, now) {
                continue;
            }
            if let Some(origin) = self.next_origin(id, now) {
                if self.hosts[id.index()].address == Address::Unknown && !self.host_done(id) {
                    self.put_back(id, origin);
                    return Pick::Address(origin);
                }
                return Pick::Origin(origin);
            }
            self.place(id);
        }
    }

    fn put_back(&mut self, id: HostId, origin: OriginId) {
        self.origins[origin.index()].in_ready = true;
        self.hosts[id.index()].ready.push_front(origin);
    }

    fn next_origin(&mut self, id: HostId, now: Moment) -> Option<OriginId> {
        let host = &mut self.hosts[id.index()];
        while let Some(Reverse((at, origin))) = host.timed.peek().copied() {
            let timed = &mut self.origins[origin.index()];
            if timed.timed_at != Some(at) {
                host.timed.pop();
            } else if at <= now {
                host.timed.pop();
                timed.timed_at = None;
                if !timed.in_ready {
                    timed.in_ready = true;
                    // What had to wait goes first: it was due before.
                    host.ready.push_front(origin);
                }
            } else {
                break;
            }
        }
        let origin = host.ready.pop_front()?;
        self.origins[origin.index()].in_ready = false;
        Some(origin)
    }

    /// Whether the host must wait for others at its address; then it is parked or put off.
    fn held_by_address(&mut self, id: HostId, now: Moment) -> bool {
        if self.politeness.address_delay.is_zero() || self.host_done(id) {
            return false;
        }
        let Address::Known(number) = self.hosts[id.index()].address else {
            return false;
        };
        let address = &mut self.addresses[number];
        let host = &mut self.hosts[id.index()];
        if address.busy {
            host.parked_at_address = true;
            address.parked.push_back(id);
            return true;
        }
        if address.next_allowed > now {
            let at = address.next_allowed;
            self.next_ticket += 1;
            host.entry = Some((at, self.next_ticket));
            self.heap.push(Reverse((at, self.next_ticket, id)));
            return true;
        }
        false
    }

    /// A request to this origin begins.
    pub fn started(&mut self, id: OriginId, page: bool) {
        let host_id = self.origins[id.index()].host;
        let host = &mut self.hosts[host_id.index()];
        host.in_flight += 1;
        host.pages_in_flight += u32::from(page);
        if let (Address::Known(number), false) = (host.address, self.politeness.address_delay.is_zero()) {
            self.addresses[number].busy = true;
        }
        self.refresh(id);
    }

    /// A request to this origin has ended.
    pub fn finished(&mut self, id: OriginId, page: bool, now: Moment) {
        let host_id = self.origins[id.index()].host;
        let delay = self.delay(&self.hosts[host_id.index()]);
        let delay = self.randomized(delay);
        let host = &mut self.hosts[host_id.index()];
        host.in_flight = host.in_flight.saturating_sub(1);
        host.pages_in_flight = host.pages_in_flight.saturating_sub(u32::from(page));
        host.next_allowed = host.next_allowed.max(now.after(delay));
        if let (Address::Known(number), false) = (host.address, self.politeness.address_delay.is_zero()) {
            self.release_address(number, now);
        }
        self.refresh(id);
    }

    fn release_address(&mut self, number: usize, now: Moment) {
        let delay = self.randomized(self.politeness.address_delay);
        let address = &mut self.addresses[number];
        address.busy = false;
        address.next_allowed = address.next_allowed.max(now.after(delay));
        self.unpark(number);
    }

    /// Lets every host that waits at an address be placed again; the first to be picked takes it.
    fn unpark(&mut self, number: usize) {
        let parked = std::mem::take(&mut self.addresses[number].parked);
        for id in parked {
            self.hosts[id.index()].parked_at_address = false;
            self.place(id);
        }
    }

    fn randomized(&mut self, delay: Duration) -> Duration {
        if !self.politeness.random_wait || delay.is_zero() {
            return delay;
        }
        // xorshift64 (Marsaglia 2003): spread matters here, not secrecy.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        delay.mul_f64(0.5 + (self.random >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// The address look-up of this origin's host begins.
    pub fn resolving(&mut self, id: OriginId) {
        self.host_mut(id).address = Address::Resolving;
    }

    /// The address look-up has ended; without an address the host counts as its own.
    pub fn resolved(&mut self, id: OriginId, address: Option<IpAddr>) {
        let number = match address {
            Some(address) => *self.address_numbers.entry(address).or_insert_with(|| {
                self.addresses.push(AddressState::default());
                self.addresses.len() - 1
            }),
            None => {
                self.addresses.push(AddressState::default());
                self.addresses.len() - 1
            }
        };
        self.host_mut(id).address = Address::Known(number);
        self.refresh(id);
    }

    /// Nothing is asked of this origin's host before `until`.
    pub fn pause(&mut self, id: OriginId, until: Moment) {
        let host = self.host_mut(id);
        host.next_allowed = host.next_allowed.max(until);
        self.refresh(id);
    }

    /// Takes note of an origin's `Crawl-delay`; returns whether it was clamped.
    pub fn set_crawl_delay(&mut self, id: OriginId, seconds: f64) -> bool {
        let wanted = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let honoured = wanted.min(self.politeness.max_crawl_delay);
        let host = self.host_mut(id);
        host.crawl_delay = host.crawl_delay.max(honoured);
        honoured < wanted
    }

    /// Counts a failure of the host; its pause doubles with each one in a row. Returns whether it is given up now.
    pub fn host_failed(&mut self, id: OriginId, now: Moment) -> bool {
        let most = self.politeness.host_failures;
        let host = self.host_mut(id);
        host.failures += 1;
        if host.failures >= most {
            let first = host.drained.is_none();
            host.drained = host.drained.or(Some(DrainReason::HostUnreachable));
            self.refresh_host(id);
            return first;
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << (host.failures - 1).min(16));
        self.pause(id, now.after(pause));
        false
    }

    /// Every origin of the host is looked at again (it was given up, or reached its limit).
    pub fn refresh_host(&mut self, id: OriginId) {
        let host = self.origins[id.index()].host.index();
        for place in 0..self.hosts[host].origins.len() {
            self.refresh(self.hosts[host].origins[place]);
        }
    }

    /// Counts a record of this origin's host; returns whether that was its last by `--max-pages-per-host`.
    pub fn recorded(&mut self, id: OriginId) -> bool {
        let most = self.politeness.max_pages_per_host;
        let host = self.host_mut(id);
        host.records += 1;
        let last = most == Some(host.records);
        if last {
            self.refresh_host(id);
        }
        last
    }
}

/// The pause after the first failure of a host; it doubles with each further one in a row.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The host name in `scheme://host[:port]`; brackets of an IPv6 literal stay.
fn host_name(origin: &str) -> &str {
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => &authority[..colon],
        _ => authority,
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
