//! Robots rules within the share of the open hosts.
//!
//! An origin is charged with what rules mostly take as soon as it is opened, and with what its own
//! do take once they have come. Where they find no room, idle origins are closed. If that is not
//! enough, the rules are let go again and the origin waits in line until as much is free:
//! the others, which have their rules, work off what they have. So ten thousand hosts with
//! robots.txt files as large as there may be take turns, a few at a time. Whoever would be the only
//! one with rules keeps them, however large.
//!
//! Rules that were let go are kept beside that share, within a bound of their own, by how often their origins
//! come and go; an origin that wants some takes them from there and does not ask again while they hold.

use std::sync::Arc;

use super::{Moment, OriginId, RobotsState, Schedule};
use crate::cache::Cache;
use crate::robots::RobotsRules;

/// Bytes of rules that an origin is expected to have: more than most do.
const EXPECTED_RULES: u64 = 1 << 10;

/// Bytes of shared rules beside themselves, allocator included.
const SHARED_BYTES: usize = 32;

/// Rules of origins that have let them go, each with the moment until which they hold.
#[derive(Debug)]
pub(super) struct ClosedRules(Cache<(Arc<RobotsRules>, Moment)>);

impl ClosedRules {
    /// Room for so many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        Self(Cache::new(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    /// Bytes of what is kept.
    pub(super) fn bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    /// Keeps what an origin knew of its robots.txt, where that still holds.
    pub(super) fn keep(&mut self, origin: &str, robots: RobotsState, now: Moment) {
        if let RobotsState::Known { rules, until } = robots
            && until > now
        {
            let bytes = SHARED_BYTES + rules.memory_bytes();
            self.0.put(origin, (rules, until), bytes);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn take(&mut self, origin: &str, now: Moment) -> Option<(Arc<RobotsRules>, Moment)> {
        self.0.take(origin).filter(|(_, until)| *until > now)
    }
}

impl Schedule {
    pub(super) fn expected_rules(&self) -> u64 {
        if self.obey_robots { EXPECTED_RULES } else { 0 }
    }

    /// An origin is charged with so much for rules from now on.
    pub(super) fn charge_rules(&mut self, id: OriginId, bytes: u64) {
        let origin = &mut self.origins[id.index()];
        self.used = self.used - origin.rules_bytes + bytes;
        origin.rules_bytes = bytes;
    }

    fn counts_as_holder(&mut self, id: OriginId, holds: bool) {
        let held = std::mem::replace(&mut self.origins[id.index()].holds_rules, holds);
        self.rules_holders = self.rules_holders + usize::from(holds) - usize::from(held);
    }

    /// An origin has no rules any more, and no place in line for some; it is charged with so much.
    pub(super) fn let_rules_go(&mut self, id: OriginId, charged: u64) {
        self.counts_as_holder(id, false);
        self.charge_rules(id, charged);
        self.origins[id.index()].starved = None;
    }

    /// The robots.txt of an origin says this, until then. Returns whether the rules found room;
    /// where they did not, they are wanted again once there is some.
    pub fn set_rules(&mut self, id: OriginId, rules: Arc<RobotsRules>, until: Moment, now: Moment) -> bool {
        self.host_mut(id).unanswered = 0;
        self.hold_rules(id, rules, until, now)
    }

    /// Gives an origin of which nothing is known the rules that it had before, where they are kept and hold; whether
    /// there were any. When it may be asked is to be looked at anew then: they may name a `Crawl-delay`.
    pub fn recall_rules(&mut self, id: OriginId, now: Moment) -> bool {
        let origin = &self.origins[id.index()];
        if !matches!(origin.robots, RobotsState::Unknown) {
            return false;
        }
        let Some((rules, until)) = self.closed_rules.take(&origin.name, now) else { return false };
        if let Some(seconds) = rules.crawl_delay() {
            self.set_crawl_delay(id, seconds);
        }
        self.hold_rules(id, rules, until, now);
        true
    }

    fn hold_rules(&mut self, id: OriginId, rules: Arc<RobotsRules>, until: Moment, now: Moment) -> bool {
        let bytes = rules.memory_bytes() as u64;
        let origin = &mut self.origins[id.index()];
        // It must not be taken for an idle one while room is made.
        origin.idle = None;
        origin.robots = RobotsState::Known { rules, until };
        self.counts_as_holder(id, true);
        self.charge_rules(id, bytes);
        while self.is_pressed() && self.shed(now) {}
        let found_room = !self.is_pressed() || self.rules_holders <= 1 || bytes <= EXPECTED_RULES;
        if !found_room {
            self.starve(id, bytes, now);
        }
        self.refresh(id);
        found_room
    }

    /// Lets the rules of an origin go and puts it in line for room for as many bytes.
    fn starve(&mut self, id: OriginId, bytes: u64, now: Moment) {
        self.let_rules_go(id, 0);
        let ticket = self.ticket();
        let origin = &mut self.origins[id.index()];
        let robots = std::mem::replace(&mut origin.robots, RobotsState::Unknown);
        origin.starved = Some(ticket);
        self.closed_rules.keep(&origin.name, robots, now);
        self.starved.push_back((id, ticket, bytes));
    }

    /// Promises room for rules to those that wait for it, as far as there is some.
    pub(super) fn feed(&mut self, now: Moment) {
        while let Some((id, ticket, bytes)) = self.starved.front().copied() {
            if self.origins[id.index()].starved == Some(ticket) {
                let short = |schedule: &Self| schedule.used + bytes > schedule.share.open_bytes;
                while short(self) && self.shed(now) {}
                if short(self) && self.rules_holders > 0 {
                    return;
                }
                self.origins[id.index()].starved = None;
                self.charge_rules(id, bytes);
                self.counts_as_holder(id, true);
                self.refresh(id);
            }
            self.starved.pop_front();
        }
    }

    /// Frees memory of the origin that has been idle longest; whether there was any to free.
    fn shed(&mut self, now: Moment) -> bool {
        if !self.close_idle(now, 1).is_empty() {
            return true;
        }
        // None may be closed yet; its rules may go all the same.
        let idle = self.idle.iter().filter(|(id, ticket)| self.origins[id.index()].idle == Some(*ticket));
        let richest = idle.map(|(id, _)| *id).find(|id| self.origins[id.index()].rules_bytes > 0);
        let Some(id) = richest else { return false };
        let origin = &mut self.origins[id.index()];
        if matches!(origin.robots, RobotsState::Known { .. }) {
            let robots = std::mem::replace(&mut origin.robots, RobotsState::Unknown);
            self.closed_rules.keep(&origin.name, robots, now);
        }
        self.let_rules_go(id, 0);
        true
    }
}
