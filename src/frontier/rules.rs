//! Robots rules within the share of the open hosts.
//!
//! An origin is charged with what rules mostly take as soon as it is opened, and with what its own
//! do take once they have come. Where they find no room, idle origins are closed. If that is not
//! enough, the rules are let go again and the origin waits in line until as much is free:
//! the others, which have their rules, work off what they have. So ten thousand hosts with
//! robots.txt files as large as there may be take turns, a few at a time. Whoever would be the only
//! one with rules keeps them, however large.

use std::sync::Arc;

use super::{Moment, OriginId, RobotsState, Schedule};
use crate::robots::RobotsRules;

/// Bytes of rules that an origin is expected to have: more than most do.
const EXPECTED_RULES: u64 = 1 << 10;

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
    /// where they did not, they will be asked for again once there is some.
    pub fn set_rules(&mut self, id: OriginId, rules: Arc<RobotsRules>, until: Moment, now: Moment) -> bool {
        let bytes = rules.memory_bytes() as u64;
        let origin = &mut self.origins[id.index()];
        // It must not be taken for an idle one while room is made.
        origin.idle = None;
        origin.robots = RobotsState::Known { rules, until };
        self.counts_as_holder(id, true);
        self.charge_rules(id, bytes);
        self.host_mut(id).unanswered = 0;
        while self.is_pressed() && self.shed(now) {}
        let found_room = !self.is_pressed() || self.rules_holders <= 1 || bytes <= EXPECTED_RULES;
        if !found_room {
            self.starve(id, bytes);
        }
        self.refresh(id);
        found_room
    }

    /// Lets the rules of an origin go and puts it in line for room for as many bytes.
    fn starve(&mut self, id: OriginId, bytes: u64) {
        self.let_rules_go(id, 0);
        let ticket = self.ticket();
        let origin = &mut self.origins[id.index()];
        origin.robots = RobotsState::Unknown;
        origin.starved = Some(ticket);
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
        if matches!(self.origins[id.index()].robots, RobotsState::Known { .. }) {
            self.origins[id.index()].robots = RobotsState::Unknown;
        }
        self.let_rules_go(id, 0);
        true
    }
}
