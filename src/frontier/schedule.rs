//! When each host may be asked: delays, slots, turns.
//!
//! A heap holds each host that has something to do once, by the time it may be
//! asked next, so no call looks at all hosts. Hosts that may be asked at once
//! take turns. Its other methods stand in files by what they are about: `opening`, `pick`, `share`,
//! `rules`, `failures`, `limits`, `names`, `addresses`, `restoring`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::addresses::AddressState;
use super::hosts::{Host, HostId, HostShare, Lookup, Origin, OriginId, Politeness};
use super::residues::Residues;
use super::rules::ClosedRules;
use super::slots::Slots;
use super::{BUCKETS, Moment};

/// Look-ups that may be under way at a time where nobody says.
const MOST_LOOKUPS: usize = 64;

/// The hosts and origins in use, and when each may be asked; and what is remembered of others.
#[derive(Debug)]
pub struct Schedule {
    pub(super) politeness: Politeness,
    pub(super) share: HostShare,
    pub(super) obey_robots: bool,
    pub(super) hosts: Slots<Host>,
    pub(super) origins: Slots<Origin>,
    pub(super) host_names: HashMap<Arc<str>, HostId>,
    pub(super) origin_names: HashMap<Arc<str>, OriginId>,
    pub(super) heap: BinaryHeap<Reverse<(Moment, u64, HostId)>>,
    pub(super) addresses: Slots<AddressState>,
    pub(super) address_numbers: HashMap<IpAddr, u32>,
    /// Names are looked up before hosts are asked.
    pub(super) looks_up: bool,
    /// Look-ups under way, and how many there may be.
    pub(super) lookups: usize,
    pub(super) most_lookups: usize,
    /// Hosts in line for one, with their serial numbers.
    pub(super) lookup_line: VecDeque<(HostId, u64)>,
    pub(super) residues: Residues,
    pub(super) closed_rules: ClosedRules,
    /// Bytes of what is open.
    pub(super) used: u64,
    /// Idle origins, the longest first; an entry counts while the origin has its ticket.
    pub(super) idle: VecDeque<(OriginId, u64)>,
    /// Origins in line for room for their rules, and how much they need.
    pub(super) starved: VecDeque<(OriginId, u64, u64)>,
    /// Origins that have rules or are promised room for some.
    pub(super) rules_holders: usize,
    /// Hosts set aside while nothing new may begin, with their serial numbers.
    pub(super) held: VecDeque<(HostId, u64)>,
    pub(super) next_queue: u32,
    pub(super) next_ticket: u64,
    pub(super) random: u64,
    pub(super) last: Option<OriginId>,
    /// Attempts of all hosts that wait and will end in a record.
    pub(super) owed: u64,
    /// Hosts that have work or requests in flight.
    pub(super) active_hosts: usize,
    pub(super) hold_new: bool,
    pub(super) any_drained: bool,
    /// Host state was restored: the process was started anew.
    pub(super) restored: bool,
    /// The latest moment it was told of.
    pub(super) clock: Moment,
}

impl Schedule {
    /// A schedule without hosts; `obey_robots` holds pages back until their robots.txt is known.
    pub fn new(politeness: Politeness, share: HostShare, obey_robots: bool) -> Self {
        let random = politeness.seed | 1;
        Self {
            politeness,
            share,
            obey_robots,
            hosts: Slots::new(),
            origins: Slots::new(),
            host_names: HashMap::new(),
            origin_names: HashMap::new(),
            heap: BinaryHeap::new(),
            addresses: Slots::new(),
            address_numbers: HashMap::new(),
            looks_up: false,
            lookups: 0,
            most_lookups: MOST_LOOKUPS,
            lookup_line: VecDeque::new(),
            residues: Residues::new(share.residue_bytes),
            closed_rules: ClosedRules::new(share.closed_rules_bytes),
            used: 0,
            idle: VecDeque::new(),
            starved: VecDeque::new(),
            rules_holders: 0,
            held: VecDeque::new(),
            next_queue: BUCKETS,
            next_ticket: 0,
            random,
            last: None,
            owed: 0,
            active_hosts: 0,
            hold_new: false,
            any_drained: false,
            restored: false,
            clock: Moment::START,
        }
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

    /// Every open host.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.serial > 0)
    }

    /// Every open origin.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.hosts().flat_map(|host| &host.origins).map(|id| self.origin(*id))
    }

    /// How many hosts are open.
    pub fn open_hosts(&self) -> usize {
        self.hosts.len()
    }

    /// How many origins are open.
    pub fn open_origins(&self) -> usize {
        self.origins.len()
    }

    /// When a request to this origin could begin, as far as is known, whether or not it is open.
    pub fn open_at(&mut self, name: &str, now: Moment) -> Moment {
        let Some(id) = self.host_names.get(super::hosts::host_name(name)).copied() else {
            let key = self.hash(super::hosts::host_name(name));
            return self.residues.get(key).map_or(now, |residue| residue.until.max(now));
        };
        let host = &self.hosts[id.index()];
        let looked_up = matches!(host.lookup, Lookup::Underway(_));
        if looked_up || host.in_flight >= self.slots(host) || self.address_busy(id) {
            return now.after(BUSY);
        }
        host.next_allowed.max(self.address_allows(id)).max(now)
    }

    /// Looks again at when an origin and its host have something to do.
    pub fn refresh(&mut self, id: OriginId) {
        let host_id = self.origins[id.index()].host;
        let done = self.host_done(host_id);
        let (pressed, obey_robots) = (self.is_pressed(), self.obey_robots);
        let origin = &mut self.origins[id.index()];
        let host = &mut self.hosts[host_id.index()];
        let (at_once, at) = origin.availability(done, pressed, obey_robots);
        if at_once && !origin.in_ready {
            origin.in_ready = true;
            host.ready.push_back(id);
        }
        if at != origin.timed_at {
            origin.timed_at = at;
            host.timed.extend(at.map(|at| Reverse((at, id))));
            if host.timed.len() > 2 * host.origins.len() + 16 {
                let origins = &self.origins;
                host.timed.retain(|Reverse((at, id))| origins[id.index()].timed_at == Some(*at));
            }
        }
        self.note_idle(id);
        self.place(host_id);
    }

    /// Every origin of the host is looked at again (it was given up, or reached its limit).
    pub fn refresh_host(&mut self, id: OriginId) {
        let host = self.origins[id.index()].host.index();
        for place in 0..self.hosts[host].origins.len() {
            self.refresh(self.hosts[host].origins[place]);
        }
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

    /// Whether something of a host may go on or begin at once, its delay aside.
    fn has_ready(&self, host: &Host) -> bool {
        if host.held || self.is_reserved(host) {
            return host.ready.iter().any(|origin| self.origins[origin.index()].may_go_on());
        }
        !host.ready.is_empty()
    }

    /// When the host has something to do, where it has.
    pub(super) fn due(&mut self, id: HostId) -> Option<Moment> {
        let done = self.host_done(id);
        let host = &self.hosts[id.index()];
        if done && !host.ready.is_empty() {
            return Some(Moment::START);
        }
        let looked_up = host.awaits_lookup || matches!(host.lookup, Lookup::Underway(_));
        if host.in_flight >= self.slots(host) || host.parked || looked_up {
            return None;
        }
        let allowed = host.next_allowed.max(self.address_allows(id));
        if self.has_ready(host) {
            return Some(allowed);
        }
        let host = &mut self.hosts[id.index()];
        while let Some(Reverse((at, origin))) = host.timed.peek() {
            if self.origins[origin.index()].timed_at == Some(*at) {
                return Some(allowed.max(*at));
            }
            host.timed.pop();
        }
        None
    }

    /// Looks again at when a host has something to do.
    pub(super) fn place(&mut self, id: HostId) {
        let due = self.due(id);
        self.enter(id, due);
        self.review_election(id, due);
    }

    /// Enters a host in the heap.
    pub(super) fn enter(&mut self, id: HostId, due: Option<Moment>) {
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
        if self.heap.len() > 2 * self.hosts.len() + 64 {
            let hosts = &self.hosts;
            self.heap.retain(|Reverse((at, ticket, id))| hosts[id.index()].entry == Some((*at, *ticket)));
        }
    }

    pub(super) fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    /// A request to this origin begins.
    pub fn started(&mut self, id: OriginId, page: bool) {
        let origin = &mut self.origins[id.index()];
        origin.in_use += 1;
        let host_id = origin.host;
        let host = &mut self.hosts[host_id.index()];
        host.in_flight += 1;
        host.pages_in_flight += u32::from(page);
        self.occupy_address(host_id);
        self.refresh(id);
    }

    /// A request to this origin has ended.
    pub fn finished(&mut self, id: OriginId, page: bool, now: Moment) {
        self.clock = self.clock.max(now);
        let origin = &mut self.origins[id.index()];
        origin.in_use = origin.in_use.saturating_sub(1);
        let host_id = origin.host;
        // What a robots.txt asks for is the least, not the mean.
        let delay = self.randomized(self.politeness.delay).max(self.hosts[host_id.index()].crawl_delay);
        let host = &mut self.hosts[host_id.index()];
        host.in_flight = host.in_flight.saturating_sub(1);
        host.pages_in_flight = host.pages_in_flight.saturating_sub(u32::from(page));
        host.next_allowed = host.next_allowed.max(now.after(delay));
        self.release_address(host_id, now);
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

    /// Takes note of an origin's `Crawl-delay`; returns whether it was clamped.
    pub fn set_crawl_delay(&mut self, id: OriginId, seconds: f64) -> bool {
        let wanted = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let honoured = wanted.min(self.politeness.max_crawl_delay);
        let host = self.host_mut(id);
        host.crawl_delay = host.crawl_delay.max(honoured);
        honoured < wanted
    }

    /// Whether the host of an origin has asked for a delay.
    pub fn has_crawl_delay(&self, id: OriginId) -> bool {
        !self.host(id).crawl_delay.is_zero()
    }
}

/// After so long it is looked again whether a busy host has a slot.
const BUSY: Duration = Duration::from_millis(20);

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
