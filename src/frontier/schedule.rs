//! When each host may be asked: delays, pauses, failures, slots.
//!
//! A heap holds each host that has something to do once, by the time it may be
//! asked next, so no call looks at all hosts. Hosts that may be asked at once
//! take turns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::addresses::AddressState;
use super::hosts::{
    Address, Attempt, Availability, DrainReason, Host, HostId, Origin, OriginId, Politeness, RobotsState,
    Waiting,
};
use super::{BUCKETS, Moment, QueueId};

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
    pub(super) politeness: Politeness,
    pub(super) obey_robots: bool,
    pub(super) hosts: Vec<Host>,
    pub(super) origins: Vec<Origin>,
    pub(super) host_names: HashMap<Arc<str>, HostId>,
    pub(super) origin_names: HashMap<Arc<str>, OriginId>,
    pub(super) heap: BinaryHeap<Reverse<(Moment, u64, HostId)>>,
    pub(super) addresses: Vec<AddressState>,
    pub(super) address_numbers: HashMap<IpAddr, usize>,
    pub(super) next_ticket: u64,
    pub(super) random: u64,
    pub(super) last: Option<OriginId>,
    /// Attempts of all hosts that wait and will end in a record.
    pub(super) owed: u64,
    /// Hosts that have work or requests in flight.
    pub(super) active_hosts: usize,
    pub(super) hold_new: bool,
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
            owed: 0,
            active_hosts: 0,
            hold_new: false,
        }
    }

    /// Attempts that wait and will end in a record, whatever comes.
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// Whether nothing new is to be picked, only what was begun: a limit leaves no more room.
    pub fn hold_new(&mut self, hold: bool) {
        if self.hold_new == hold {
            return;
        }
        self.hold_new = hold;
        if !hold {
            for origin in 0..self.origins.len() {
                self.refresh(OriginId(origin as u32));
            }
        }
    }

    /// Whether a new candidate of this origin may be begun; what was begun may always go on.
    pub fn may_begin(&self, id: OriginId) -> bool {
        let origin = &self.origins[id.index()];
        origin.may_claim() && !self.hold_new && !self.host_reserved(&self.hosts[origin.host.index()])
    }

    /// Whether every record that `--max-pages-per-host` allows is written, in flight or owed.
    fn host_reserved(&self, host: &Host) -> bool {
        let most = self.politeness.max_pages_per_host;
        most.is_some_and(|most| host.records + u64::from(host.pages_in_flight) + host.owed >= most)
    }

    /// Takes an attempt of an origin whose time has come, or any where `drained`.
    pub fn take_waiting(&mut self, id: OriginId, now: Moment, drained: bool) -> Option<Attempt> {
        let origin = &mut self.origins[id.index()];
        if !drained && origin.waiting.peek()?.at > now {
            return None;
        }
        let attempt = origin.waiting.pop()?.attempt;
        if attempt.fallback.is_some() {
            self.owed -= 1;
            self.hosts[origin.host.index()].owed -= 1;
        }
        Some(attempt)
    }

    /// When a request to this origin's host could begin, as far as is known.
    pub fn open_at(&self, id: OriginId, now: Moment) -> Moment {
        let host = self.host(id);
        if host.in_flight < self.slots(host) {
            return host.next_allowed.max(now);
        }
        now.after(BUSY)
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
            queue: QueueId(BUCKETS + id.0),
            robots: RobotsState::Unknown,
            last_error: None,
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
            owed: 0,
            failures: 0,
            transient_failures: 0,
            slow_downs: 0,
            drained: None,
            last_error: None,
            failed_at: None,
            active: false,
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
        if attempt.fallback.is_some() {
            self.owed += 1;
            self.host_mut(id).owed += 1;
        }
        self.origins[id.index()].waiting.push(Waiting { at, ticket, attempt });
        self.refresh(id);
    }

    /// Looks again at when an origin and its host have something to do.
    pub fn refresh(&mut self, id: OriginId) {
        let host_id = self.origins[id.index()].host;
        let done = self.host_done(host_id);
        let only_waiting = self.hold_new || self.host_reserved(&self.hosts[host_id.index()]);
        let origin = &mut self.origins[id.index()];
        let host = &mut self.hosts[host_id.index()];
        match origin.availability(done, only_waiting, self.obey_robots) {
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

    pub(super) fn host_done(&self, id: HostId) -> bool {
        let host = &self.hosts[id.index()];
        host.drained.is_some() || self.politeness.max_pages_per_host.is_some_and(|most| host.records >= most)
    }

    /// Requests that may be in flight to a host at a time.
    fn slots(&self, host: &Host) -> u32 {
        // A host in trouble is sounded with one request, not with all of them.
        if !self.delay(host).is_zero() || host.failures > 0 {
            return 1;
        }
        let share = self.politeness.concurrency.div_ceil(self.active_hosts.max(1));
        u32::try_from(self.politeness.per_host.min(share).max(1)).unwrap_or(u32::MAX)
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

    pub(super) fn place(&mut self, id: HostId) {
        let due = self.due(id);
        let host = &mut self.hosts[id.index()];
        let active = host.in_flight > 0 || !host.ready.is_empty();
        if active != host.active {
            host.active = active;
            self.active_hosts = if active { self.active_hosts + 1 } else { self.active_hosts - 1 };
        }
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
        // What a robots.txt asks for is the least, not the mean.
        let delay = self.randomized(self.politeness.delay).max(self.hosts[host_id.index()].crawl_delay);
        let host = &mut self.hosts[host_id.index()];
        host.in_flight = host.in_flight.saturating_sub(1);
        host.pages_in_flight = host.pages_in_flight.saturating_sub(u32::from(page));
        host.next_allowed = host.next_allowed.max(now.after(delay));
        if let (Address::Known(number), false) = (host.address, self.politeness.address_delay.is_zero()) {
            self.release_address(number, now);
        }
        self.refresh(id);
    }

    pub(super) fn randomized(&mut self, delay: Duration) -> Duration {
        if !self.politeness.random_wait || delay.is_zero() {
            return delay;
        }
        // xorshift64 (Marsaglia 2003): spread matters here, not secrecy.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        delay.mul_f64(0.5 + (self.random >> 11) as f64 / (1u64 << 53) as f64)
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

    /// A request to this host that began at `started` failed for the host's sake. The pause doubles
    /// with each failure in a row; requests that began before the running pause was imposed belong
    /// to the failure that imposed it. Returns whether the host is given up now.
    pub fn host_failed(&mut self, id: OriginId, started: Moment, now: Moment) -> Failed {
        let most = self.politeness.host_failures;
        let host = self.host_mut(id);
        if host.drained.is_some() || host.failed_at.is_some_and(|at| started < at) {
            return Failed::Known;
        }
        host.failures += 1;
        host.failed_at = Some(now);
        if host.failures >= most {
            host.drained = Some(DrainReason::HostUnreachable);
            self.refresh_host(id);
            return Failed::GivenUp;
        }
        let pause = doubled(FIRST_PAUSE, host.failures - 1);
        self.pause(id, now.after(pause));
        Failed::Paused(pause)
    }

    /// The host of this origin answered: whatever was wrong is over.
    pub fn host_answered(&mut self, id: OriginId) {
        let host = self.host_mut(id);
        let was_failing = host.failures > 0;
        host.failures = 0;
        host.transient_failures = 0;
        if was_failing {
            self.refresh_host(id);
        }
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

/// What [`Schedule::host_failed`] made of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// It belongs to one that was counted, or the host is given up already.
    Known,
    /// The host rests for so long.
    Paused(Duration),
    /// That was one too many.
    GivenUp,
}

/// `first` doubled `times` times, up to a minute.
pub fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(16)).min(LONGEST_PAUSE)
}

/// The longest pause that is doubled up to.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// After so long it is looked again whether a busy host has a slot.
const BUSY: Duration = Duration::from_millis(20);

/// The pause after the first failure of a host; it doubles with each further one in a row.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The host name in `scheme://host[:port]`; brackets of an IPv6 literal stay.
fn host_name(origin: &str) -> &str {
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    let name = match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => &authority[..colon],
        _ => authority,
    };
    // The root's dot names the same host (RFC 1034 section 3.1).
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
