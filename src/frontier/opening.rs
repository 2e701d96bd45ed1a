//! Which hosts are open, and the share of memory that they have.
//!
//! A host is *open* while it has state here; the candidates of the others wait in buckets. An
//! open origin that has nothing to do is *idle* and stays as long as there is room, for its rules
//! may be needed again; whoever has been idle longest goes first. What must outlive a host becomes
//! a residue: see `residues`. Its rules outlive it as far as there is room: see `rules`.

use std::sync::Arc;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::hosts::{Lookup, host_name};
use super::residues::Residue;
use super::{BUCKETS, DrainReason, Host, HostId, Moment, Origin, OriginId, QueueId, RobotsState, Schedule};
use crate::model::PageError;

/// Bytes of a host beside its name: its state, its entry among the names, in the heap and on its
/// origins' small lists. Measured over 200,000 hosts, allocator included.
const HOST_BYTES: u64 = size_of::<Host>() as u64 + 232;
/// Bytes of an origin beside its name.
const ORIGIN_BYTES: u64 = size_of::<Origin>() as u64 + 96;
/// Idle origins looked at for one that may be closed.
const LOOKED_AT: usize = 64;

impl Schedule {
    pub(super) fn hash(&self, name: &str) -> u64 {
        xxh3_64_with_seed(name.as_bytes(), self.share.secret)
    }

    /// The bucket for candidates of an origin that is not open.
    pub fn bucket(&self, origin: &str) -> QueueId {
        QueueId::bucket(self.hash(host_name(origin)))
    }

    /// The number of an origin (`scheme://host[:port]`), if it is open.
    pub fn find(&mut self, name: &str) -> Option<OriginId> {
        // Links of one page mostly share one origin.
        if let Some(last) = self.last
            && &*self.origins[last.index()].name == name
        {
            return Some(last);
        }
        let id = self.origin_names.get(name).copied()?;
        self.last = Some(id);
        Some(id)
    }

    /// The number of an origin, opened where it is not and the share has room; see
    /// [`Schedule::close_idle`] for making some. One is always open.
    pub fn open(&mut self, name: &str) -> Option<OriginId> {
        if let Some(id) = self.find(name) {
            return Some(id);
        }
        let bytes = HOST_BYTES + ORIGIN_BYTES + 2 * name.len() as u64 + self.expected_rules();
        let room = self.used + bytes <= self.share.open_bytes || self.origins.len() == 0;
        room.then(|| self.origin_of(name))
    }

    /// The number of an origin, opened where it is not, past the share too: for what is on its way
    /// already, and was taken to this origin by a redirect.
    pub fn origin_of(&mut self, name: &str) -> OriginId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let queue = QueueId(self.next_queue);
        self.next_queue = self.next_queue.saturating_add(1);
        self.insert(name, queue)
    }

    /// Opens an origin that had this queue before the process was started anew.
    pub fn reopen(&mut self, name: &str, queue: QueueId) -> OriginId {
        self.set_next_queue(queue.0.saturating_add(1));
        match self.find(name) {
            Some(id) => id,
            None => self.insert(name, queue),
        }
    }

    /// Keeps an origin open though it may have nothing to do: a candidate of its queue waits at
    /// another origin.
    pub fn pin(&mut self, id: OriginId) {
        self.origins[id.index()].in_use += 1;
    }

    /// Ends one [`pin`](Self::pin).
    pub fn unpin(&mut self, id: OriginId) {
        let origin = &mut self.origins[id.index()];
        origin.in_use = origin.in_use.saturating_sub(1);
        self.refresh(id);
    }

    /// No queue below this number is given any more.
    pub fn set_next_queue(&mut self, next: u32) {
        self.next_queue = self.next_queue.max(next).max(BUCKETS);
    }

    fn insert(&mut self, name: &str, queue: QueueId) -> OriginId {
        let host = self.host_of(host_name(name));
        let name: Arc<str> = name.into();
        let mut origin = Origin::new(name.clone(), host, queue);
        if let Some(residue) = self.residues.take(self.hash(&name))
            && let Some(reason) = residue.drained()
        {
            origin.robots = RobotsState::Drained(reason);
            origin.last_error = bare_error(&residue);
        }
        self.used += ORIGIN_BYTES + name.len() as u64;
        let id = OriginId(self.origins.insert(origin));
        if self.obey_robots {
            self.charge_rules(id, self.expected_rules());
        }
        self.hosts[host.index()].origins.push(id);
        self.origin_names.insert(name, id);
        self.last = Some(id);
        id
    }

    fn host_of(&mut self, name: &str) -> HostId {
        if let Some(id) = self.host_names.get(name) {
            return *id;
        }
        let name: Arc<str> = name.into();
        let serial = self.ticket();
        let mut host = Host::new(name.clone(), serial, self.first_lookup());
        self.remember(&mut host);
        self.used += HOST_BYTES + name.len() as u64;
        let id = HostId(self.hosts.insert(host));
        self.host_names.insert(name, id);
        id
    }

    /// What outlived the host when it was closed.
    fn remember(&mut self, host: &mut Host) {
        let key = self.hash(&host.name);
        host.records = self.residues.count(key);
        if let Some(residue) = self.residues.take(key) {
            host.next_allowed = residue.until;
            host.crawl_delay = Duration::from_secs(residue.crawl_delay.into());
            host.failures = residue.failures.into();
            host.transient_failures = residue.transient_failures.into();
            host.slow_downs = residue.slow_downs.into();
            host.unanswered = residue.unanswered.into();
            host.drained = residue.drained();
            host.last_error = bare_error(&residue);
        }
        if self.restored {
            // Nobody knows how shortly before the start it was asked.
            let delay = self.politeness.delay.max(host.crawl_delay);
            host.next_allowed = host.next_allowed.max(Moment::START.after(delay));
        }
    }

    /// Takes note of whether an origin is idle.
    pub(super) fn note_idle(&mut self, id: OriginId) {
        let idle = self.origins[id.index()].is_idle();
        if idle == self.origins[id.index()].idle.is_some() {
            return;
        }
        self.origins[id.index()].idle = None;
        if idle {
            let ticket = self.ticket();
            self.origins[id.index()].idle = Some(ticket);
            self.idle.push_back((id, ticket));
        }
        if self.idle.len() > 2 * self.origins.len() + 64 {
            let origins = &self.origins;
            self.idle.retain(|(id, ticket)| origins[id.index()].idle == Some(*ticket));
        }
    }

    /// Closes up to so many origins that are idle, those first that have been so longest, and with
    /// the last origin of a host the host. Returns their queues, which hold nothing and are never
    /// used again. A host leaves once its next-allowed time has passed, or with that time
    /// remembered.
    pub fn close_idle(&mut self, now: Moment, most: usize) -> Vec<QueueId> {
        let mut closed = Vec::new();
        for _ in 0..self.idle.len().min(most.saturating_add(LOOKED_AT)) {
            if closed.len() >= most {
                break;
            }
            let Some((id, ticket)) = self.idle.pop_front() else { break };
            if self.origins[id.index()].idle != Some(ticket) {
                continue;
            }
            match self.close(id, now) {
                Some(queue) => closed.push(queue),
                None => self.idle.push_back((id, ticket)),
            }
        }
        closed
    }

    /// Closes the origin that has been idle longest, where its rules are out of date.
    pub fn close_expired(&mut self, now: Moment) -> Option<QueueId> {
        loop {
            let (id, ticket) = self.idle.front().copied()?;
            let origin = &self.origins[id.index()];
            if origin.idle != Some(ticket) {
                self.idle.pop_front();
                continue;
            }
            return match &origin.robots {
                RobotsState::Known { until, .. } if *until <= now => self.close_idle(now, 1).pop(),
                _ => None,
            };
        }
    }

    /// When an origin that is idle now may be closed, where only time keeps it open.
    pub fn next_leaving(&self, now: Moment) -> Option<Moment> {
        let valid = self.idle.iter().filter(|(id, ticket)| self.origins[id.index()].idle == Some(*ticket));
        let leaving = valid.map(|(id, _)| {
            let host = self.origins[id.index()].host;
            self.hosts[host.index()].next_allowed.max(self.address_lets_leave(host))
        });
        let mut leaving = leaving.peekable();
        // What is remembered of it may have to wait for room, too.
        let room = leaving.peek().and_then(|_| self.residues.first_until(now));
        leaving.chain(room).filter(|at| *at > now).min()
    }

    fn close(&mut self, id: OriginId, now: Moment) -> Option<QueueId> {
        let origin = &self.origins[id.index()];
        let host_id = origin.host;
        let host = &self.hosts[host_id.index()];
        let leaves = host.origins.len() == 1;
        let of_origin = Residue::of_origin(origin);
        let kept = usize::from(of_origin.is_some()) + usize::from(leaves && Residue::of(host).tells(now));
        if (leaves && !self.host_may_leave(host_id, now)) || (kept > 0 && !self.residues.make_room(kept, now))
        {
            return None;
        }
        if let Some(residue) = of_origin {
            self.residues.put(self.hash(&self.origins[id.index()].name), residue);
        }
        self.let_rules_go(id, 0);
        let origin = self.origins.remove(id.0, Origin::vacant());
        self.origin_names.remove(&origin.name);
        self.closed_rules.keep(&origin.name, origin.robots, now);
        self.last = None;
        self.used -= ORIGIN_BYTES + origin.name.len() as u64;
        let host = &mut self.hosts[host_id.index()];
        host.origins.retain(|other| *other != id);
        host.ready.retain(|other| *other != id);
        host.timed.retain(|entry| entry.0.1 != id);
        if leaves {
            self.close_host(host_id, now);
        } else {
            self.place(host_id);
        }
        Some(origin.queue)
    }

    fn host_may_leave(&self, id: HostId, now: Moment) -> bool {
        let host = &self.hosts[id.index()];
        let asked = host.in_flight > 0 || matches!(host.lookup, Lookup::Underway(_));
        !asked && self.address_lets_leave(id) <= now
    }

    fn close_host(&mut self, id: HostId, now: Moment) {
        self.place(id);
        self.leave_address(id);
        let host = self.hosts.remove(id.0, Host::vacant());
        self.used -= HOST_BYTES + host.name.len() as u64;
        self.host_names.remove(&host.name);
        let key = self.hash(&host.name);
        let residue = Residue::of(&host);
        if residue.tells(now) {
            self.residues.put(key, residue);
        }
        if self.politeness.max_pages_per_host.is_some() {
            self.residues.set_count(key, host.records);
        }
    }

    /// Why a candidate of this origin is to be skipped, whether or not it is open, and what
    /// happened last before it was given up.
    pub fn standing(&mut self, name: &str) -> Option<(DrainReason, Option<PageError>)> {
        if let Some(id) = self.find(name) {
            let error = self.origin(id).last_error.as_deref().or(self.host(id).last_error.as_deref());
            return self.drained(id).map(|reason| (reason, error.cloned()));
        }
        if let Some(residue) = self.residues.get(self.hash(name))
            && let Some(reason) = residue.drained()
        {
            return Some((reason, bare_error(residue).map(|error| *error)));
        }
        let host = host_name(name);
        if let Some(id) = self.host_names.get(host) {
            let host = &self.hosts[id.index()];
            let drained = host.drained.or_else(|| self.is_gone(host).then_some(DrainReason::HostUnreachable));
            let reason = self.reason_of(name, drained, host.records, host.unanswered)?;
            return Some((reason, host.last_error.as_deref().cloned()));
        }
        let key = self.hash(host);
        let residue = self.residues.get(key).copied().unwrap_or_default();
        let records = self.residues.count(key);
        let reason = self.reason_of(name, residue.drained(), records, residue.unanswered.into())?;
        Some((reason, bare_error(&residue).map(|error| *error)))
    }

    /// Why a candidate of an origin that is not open is to be skipped for what its host is.
    fn reason_of(
        &self,
        name: &str,
        drained: Option<DrainReason>,
        records: u64,
        unanswered: u32,
    ) -> Option<DrainReason> {
        let limit = || self.limit_reached(records).then_some(DrainReason::HostLimit);
        drained.or_else(limit).or_else(|| self.presumed_dead(name, unanswered))
    }
}

fn bare_error(residue: &Residue) -> Option<Box<PageError>> {
    residue.error().map(|kind| Box::new(PageError { kind, detail: String::new() }))
}
