//! Names of hosts that must be looked up before anything is asked of them.
//!
//! So many look-ups are under way at a time. Hosts whose turn comes while there are as many stand
//! in line, so that nobody else waits for them. What a look-up said holds for its time, and the
//! next request after that, or after the host could not be reached, waits for another one. That a
//! name does not exist is a verdict on what its host has now, and ends with its time: what is queued
//! later is looked up again.

use std::net::IpAddr;

use super::hosts::Lookup;
use super::{Host, HostId, Moment, OriginId, Schedule};
use crate::model::PageError;

impl Schedule {
    /// Has names looked up before hosts are asked, so many at a time.
    pub fn look_up_names(&mut self, most: usize) {
        self.looks_up = true;
        self.most_lookups = most.max(1);
    }

    /// Look-ups that may be under way at a time.
    pub fn most_lookups(&self) -> usize {
        self.most_lookups
    }

    /// What is known of the name of a host that is opened now.
    pub(super) fn first_lookup(&self) -> Lookup {
        if self.looks_up || self.counts_addresses() { Lookup::Due } else { Lookup::NotNeeded }
    }

    /// Whether the host must be looked up before it is asked.
    pub(super) fn name_is_due(&self, id: HostId) -> bool {
        match self.hosts[id.index()].lookup {
            Lookup::NotNeeded | Lookup::Underway(_) => false,
            Lookup::Due => true,
            Lookup::Until(until) | Lookup::GoneUntil(until) => until <= self.clock,
        }
    }

    /// Whether the name of a host is known to lead nowhere.
    pub(super) fn is_gone(&self, host: &Host) -> bool {
        matches!(host.lookup, Lookup::GoneUntil(until) if until > self.clock)
    }

    /// Whether this origin's host, whose name is due, must stand in line for a look-up; then it does.
    pub fn stands_in_line(&mut self, id: OriginId) -> bool {
        if self.lookups < self.most_lookups {
            return false;
        }
        let host_id = self.origins[id.index()].host;
        let host = self.host_mut(id);
        host.awaits_lookup = true;
        let serial = host.serial;
        self.lookup_line.push_back((host_id, serial));
        self.refresh(id);
        true
    }

    /// Nothing has to be looked up for this origin's host.
    pub fn needs_no_look_up(&mut self, id: OriginId) {
        self.host_mut(id).lookup = Lookup::NotNeeded;
        self.refresh(id);
    }

    /// The look-up of this origin's host begins.
    pub fn resolving(&mut self, id: OriginId) {
        self.lookups += 1;
        self.origins[id.index()].in_use += 1;
        let clock = self.clock;
        self.host_mut(id).lookup = Lookup::Underway(clock);
        self.refresh(id);
    }

    /// The look-up has ended, and what it gave holds until then; without an address the host counts
    /// as its own.
    pub fn resolved(&mut self, id: OriginId, address: Option<IpAddr>, until: Moment) {
        self.end_lookup(id, Lookup::Until(until));
        self.host_mut(id).unresolved = 0;
        if self.counts_addresses() {
            self.stand_at(id, address);
        }
        self.refresh(id);
    }

    /// The look-up has ended, and the name leads nowhere: all that the host has is to be
    /// skipped, and what comes before that moment.
    pub fn gone(&mut self, id: OriginId, error: &PageError, until: Moment) {
        self.end_lookup(id, Lookup::GoneUntil(until));
        self.any_drained = true;
        self.host_mut(id).last_error = Some(Box::new(error.clone()));
        self.refresh_host(id);
    }

    /// The look-up has ended without an answer; gives when it began, for
    /// [`host_failed`](Self::host_failed).
    pub fn unresolved(&mut self, id: OriginId) -> Moment {
        let started = match self.host(id).lookup {
            Lookup::Underway(started) => started,
            _ => self.clock,
        };
        self.end_lookup(id, Lookup::Due);
        self.host_mut(id).unresolved += 1;
        self.refresh(id);
        started
    }

    fn end_lookup(&mut self, id: OriginId, lookup: Lookup) {
        self.lookups -= 1;
        let origin = &mut self.origins[id.index()];
        origin.in_use = origin.in_use.saturating_sub(1);
        self.host_mut(id).lookup = lookup;
        while self.lookups < self.most_lookups
            && let Some((next, serial)) = self.lookup_line.pop_front()
        {
            let host = &mut self.hosts[next.index()];
            if host.serial == serial && std::mem::take(&mut host.awaits_lookup) {
                self.place(next);
                break;
            }
        }
    }
}

impl Host {
    /// It could not be reached, perhaps for its addresses: its name is due again. That costs a question only
    /// where what DNS said has run out or is in doubt, which is not known here.
    pub(super) fn doubt_name(&mut self) {
        if matches!(self.lookup, Lookup::Until(_)) {
            self.lookup = Lookup::Due;
        }
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
