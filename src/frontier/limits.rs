//! What a limit leaves room for: the one place that knows whether a host has reached its own.

use super::{Attempt, DrainReason, Host, HostId, Moment, OriginId, RobotsState, Schedule};

impl Schedule {
    /// Attempts that wait and will end in a record, whatever comes.
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// Whether nothing new is to be picked, only what was begun: the limit of the whole crawl
    /// leaves no more room. May change as often as it likes: hosts are set aside when their turn
    /// comes, and come back one by one.
    pub fn hold_new(&mut self, hold: bool) {
        self.hold_new = hold;
    }

    /// Whether a new candidate of this origin may be begun; what was begun may always go on.
    pub fn may_begin(&self, id: OriginId) -> bool {
        let origin = &self.origins[id.index()];
        origin.may_claim(self.is_pressed()) && !self.hold_new && !self.is_reserved(self.host(id))
    }

    /// Whether a host has all the records that `--max-pages-per-host` allows.
    pub(super) fn limit_reached(&self, records: u64) -> bool {
        self.politeness.max_pages_per_host.is_some_and(|most| records >= most)
    }

    /// Whether every record that `--max-pages-per-host` allows is written, in flight or owed.
    pub(super) fn is_reserved(&self, host: &Host) -> bool {
        self.limit_reached(host.records + u64::from(host.pages_in_flight) + host.owed)
    }

    /// Whether everything left of a host is to be skipped.
    pub(super) fn host_done(&self, id: HostId) -> bool {
        let host = &self.hosts[id.index()];
        host.drained.is_some() || self.limit_reached(host.records) || self.is_gone(host)
    }

    /// Why everything of this origin is to be skipped, where it is.
    pub fn drained(&self, id: OriginId) -> Option<DrainReason> {
        let origin = &self.origins[id.index()];
        let host = self.host(id);
        if host.drained.is_some() {
            return host.drained;
        }
        if self.limit_reached(host.records) {
            return Some(DrainReason::HostLimit);
        }
        if self.is_gone(host) {
            return Some(DrainReason::HostUnreachable);
        }
        match &origin.robots {
            RobotsState::Drained(reason) => Some(*reason),
            RobotsState::Unknown | RobotsState::Retry { last: None, .. } => {
                self.presumed_dead(&origin.name, host.unanswered)
            }
            _ => None,
        }
    }

    /// Counts a record of this origin's host; returns whether that was its last by `--max-pages-per-host`.
    pub fn recorded(&mut self, id: OriginId) -> bool {
        let before = self.limit_reached(self.host(id).records);
        let host = self.host_mut(id);
        host.records += 1;
        let last = !before && self.limit_reached(self.host(id).records);
        if last {
            self.refresh_host(id);
        }
        last
    }

    /// Lets an attempt wait until `at`.
    pub fn wait(&mut self, id: OriginId, attempt: Attempt, at: Moment) {
        let ticket = self.ticket();
        if attempt.fallback.is_some() {
            self.owed += 1;
            self.host_mut(id).owed += 1;
        }
        self.hold_bytes(id, attempt.memory_bytes());
        self.origins[id.index()].waiting.push(super::attempts::Waiting { at, ticket, attempt });
        self.refresh(id);
    }

    /// Takes an attempt of an origin whose time has come, or any where `drained`.
    pub fn take_waiting(&mut self, id: OriginId, now: Moment, drained: bool) -> Option<Attempt> {
        let origin = &mut self.origins[id.index()];
        if !drained && origin.waiting.peek()?.at > now {
            return None;
        }
        let attempt = origin.waiting.pop()?.attempt;
        self.let_go_bytes(id, attempt.memory_bytes());
        if attempt.fallback.is_some() {
            self.owed -= 1;
            self.host_mut(id).owed -= 1;
        }
        Some(attempt)
    }

    /// Puts a host aside that has only new work to do, while nothing new may begin.
    pub(super) fn set_aside(&mut self, id: HostId) {
        let host = &mut self.hosts[id.index()];
        if host.held || host.ready.is_empty() {
            return;
        }
        host.held = true;
        self.held.push_back((id, host.serial));
        if self.held.len() > 2 * self.hosts.len() + 64 {
            let hosts = &self.hosts;
            self.held.retain(|(id, serial)| hosts[id.index()].serial == *serial && hosts[id.index()].held);
        }
    }

    /// Lets one host that was set aside be picked again, where new work may begin; whether there was one.
    pub(super) fn bring_back(&mut self) -> bool {
        while !self.hold_new
            && let Some((id, serial)) = self.held.pop_front()
        {
            let host = &mut self.hosts[id.index()];
            if host.serial == serial && std::mem::take(&mut host.held) {
                self.place(id);
                return true;
            }
        }
        false
    }
}
