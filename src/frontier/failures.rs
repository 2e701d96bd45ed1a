//! Hosts in trouble: pauses, failures in a row, and when a host or an origin is given up.

use std::time::Duration;

use super::hosts::names_a_port;
use super::{DrainReason, Moment, OriginId, RobotsState, Schedule};
use crate::model::{ErrorKind, FailureClass, PageError};

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

/// The pause after the first failure of a host; it doubles with each further one in a row.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Requests for an origin's robots.txt before it counts as unreachable.
const ROBOTS_TRIES: u32 = 3;

/// Look-ups of a name in a row that nobody answered, after which its host is given up.
const LOOKUP_TRIES: u32 = 3;

/// Requests for robots.txt in a row that nobody answered from which on an origin of the host is
/// asked once and not again.
const DOUBTED_FROM: u32 = 6;

/// Such requests from which on the other ports of the host are not asked at all.
const PRESUMED_DEAD_FROM: u32 = 16;

impl Schedule {
    /// Nothing is asked of this origin's host before `until`.
    pub fn pause(&mut self, id: OriginId, until: Moment) {
        let host = self.host_mut(id);
        host.next_allowed = host.next_allowed.max(until);
        self.refresh(id);
    }

    /// A request to this host that began at `started` failed for the host's sake. The pause doubles
    /// with each failure in a row; requests that began before the running pause was imposed belong
    /// to the failure that imposed it. Says whether the host is given up now.
    pub fn host_failed(&mut self, id: OriginId, started: Moment, now: Moment) -> Failed {
        let most = self.politeness.host_failures;
        let host = self.host_mut(id);
        if host.drained.is_some() || host.failed_at.is_some_and(|at| started < at) {
            return Failed::Known;
        }
        host.failures += 1;
        host.failed_at = Some(now);
        host.doubt_name();
        if host.failures >= most || host.unresolved >= LOOKUP_TRIES {
            host.drained = Some(DrainReason::HostUnreachable);
            self.any_drained = true;
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

    /// A request for the robots.txt of an origin failed. Returns how many it is worth in all: of a
    /// host that did not answer at several ports, one after the other, each further port is asked
    /// once only, and at last not at all. A page may name thousands.
    pub fn robots_failed(&mut self, id: OriginId, error: &PageError) -> u32 {
        let host = self.host_mut(id);
        if error.kind.class() == FailureClass::Host {
            host.doubt_name();
        }
        if error.kind.class() == FailureClass::Host || error.kind == ErrorKind::Timeout {
            host.unanswered = host.unanswered.saturating_add(1);
            host.last_error = Some(Box::new(error.clone()));
        }
        if host.unanswered > DOUBTED_FROM { 1 } else { ROBOTS_TRIES }
    }

    /// The robots.txt of an origin could not be had, and nothing of it is fetched any more.
    /// The other origins of its host are not touched.
    pub fn give_up_origin(&mut self, id: OriginId, reason: DrainReason, error: &PageError) {
        self.any_drained = true;
        self.let_rules_go(id, 0);
        let origin = &mut self.origins[id.index()];
        origin.robots = RobotsState::Drained(reason);
        origin.last_error = Some(Box::new(error.clone()));
        self.refresh(id);
    }

    /// Why an origin that never answered is not worth asking, where its host did not so often.
    /// A scheme's own port is always asked.
    pub(super) fn presumed_dead(&self, name: &str, unanswered: u32) -> Option<DrainReason> {
        let presumed = self.obey_robots && unanswered >= PRESUMED_DEAD_FROM && names_a_port(name);
        presumed.then_some(DrainReason::HostUnreachable)
    }

    /// Whether any host or origin was ever given up.
    pub fn any_drained(&self) -> bool {
        self.any_drained
    }
}
