//! Whose turn it is.

use std::cmp::Reverse;

use super::Moment;
use super::hosts::{HostId, OriginId};
use super::schedule::Schedule;

/// What [`Schedule::pick`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// Something of this origin may be asked now; answer with [`Schedule::started`] or [`Schedule::refresh`].
    Origin(OriginId),
    /// The host's name must be looked up first, through this origin; answer with
    /// [`Schedule::needs_no_look_up`], or [`Schedule::stands_in_line`] and [`Schedule::resolving`].
    Address(OriginId),
    /// Nothing before this moment.
    NotBefore(Moment),
    /// Nothing until something happens.
    Nothing,
}

impl Schedule {
    /// Finds an origin that may be asked now.
    pub fn pick(&mut self, now: Moment) -> Pick {
        self.clock = self.clock.max(now);
        self.feed(now);
        self.bring_back();
        loop {
            let first = self.heap.peek().map(|Reverse(entry)| *entry);
            let nothing = match first {
                Some((at, ticket, id)) if self.hosts[id.index()].entry != Some((at, ticket)) => {
                    self.heap.pop();
                    continue;
                }
                Some((at, _, _)) if at > now => Pick::NotBefore(at),
                Some((_, _, id)) => {
                    self.heap.pop();
                    match self.pick_of(id, now) {
                        Some(pick) => return pick,
                        None => continue,
                    }
                }
                None => Pick::Nothing,
            };
            if !self.bring_back() {
                return nothing;
            }
        }
    }

    /// What may be asked of a host whose entry has come up.
    fn pick_of(&mut self, id: HostId, now: Moment) -> Option<Pick> {
        self.hosts[id.index()].entry = None;
        // Records written since may have used up the host's limit.
        if self.due(id).is_none_or(|due| due > now) {
            self.place(id);
            return None;
        }
        if self.held_by_address(id) {
            return None;
        }
        let Some(origin) = self.next_origin(id, now) else {
            if self.hold_new {
                self.set_aside(id);
            }
            self.place(id);
            return None;
        };
        if self.name_is_due(id) && !self.host_done(id) {
            self.origins[origin.index()].in_ready = true;
            self.hosts[id.index()].ready.push_front(origin);
            return Some(Pick::Address(origin));
        }
        Some(Pick::Origin(origin))
    }

    fn next_origin(&mut self, id: HostId, now: Moment) -> Option<OriginId> {
        let done = self.host_done(id);
        let only_begun = !done && (self.hold_new || self.is_reserved(&self.hosts[id.index()]));
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
        let origins = &mut self.origins;
        if only_begun {
            let place = host.ready.iter().position(|origin| origins[origin.index()].may_go_on())?;
            let origin = host.ready.remove(place)?;
            origins[origin.index()].in_ready = false;
            return Some(origin);
        }
        while let Some(origin) = host.ready.pop_front() {
            origins[origin.index()].in_ready = false;
            let found = &origins[origin.index()];
            if done || (found.has_work() && !found.is_blocked()) {
                return Some(origin);
            }
        }
        None
    }
}
