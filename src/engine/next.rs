//! What the owner does next: which candidate is begun, what is waited for, and when the crawl is over.
//!
//! The one place where the end is decided, from state alone.

use std::sync::Arc;

use super::core::{Core, CoreError};
use super::job::{Buffers, Job, PageJob};
use super::journal::KeptAttempt;
use super::settle::SettleTurn;
use super::skip::skip_reason;
use super::worker::new_outcome;
use crate::frontier::{Attempt, DrainReason, Moment, OriginId, Pick, RobotsState};
use crate::model::{ErrorKind, PageError, SkipReason};
use crate::sink::encode_line;
use crate::stats::EndReason;
use crate::visited::Otherwise;

/// What the owner should do next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Start this.
    Ready(Job),
    /// Nothing before this moment.
    NotBefore(Moment),
    /// Nothing until an outcome arrives.
    Blocked,
    /// Ask again, after looking at the rest of the world: much was skipped in one go.
    Again,
    /// The crawl is over.
    Done(EndReason),
}

/// Crashes at which a page was alone in flight, after which it is not asked for again.
const CRASHES: u32 = 2;
/// Candidates skipped in one go before the loop gets a turn.
const SKIPS_AT_A_TIME: usize = 64;

impl Core {
    /// What to do next. The one place where the end is decided.
    pub(crate) fn next(&mut self, now: Moment) -> Result<Next, CoreError> {
        self.now = self.now.max(now);
        self.schedule.close_expired(now);
        self.counters.hosts_forgotten += self.schedule.take_forgotten();
        loop {
            if let Some(reason) = self.stop {
                // What a look-up still says is of no use any more.
                let done = self.requests_in_flight() == 0;
                return Ok(if done { Next::Done(reason) } else { Next::Blocked });
            }
            if self.settle_when_due(now, Otherwise::Busy)? == SettleTurn::Taken && self.has_much_to_write() {
                return Ok(Next::Again);
            }
            if self.settings.max_pages.is_some_and(|most| self.counters.records() >= most) && self.has_work()
            {
                self.stop(EndReason::PageLimit);
                continue;
            }
            let reserved = self.page_limit_reserved();
            self.schedule.hold_new(reserved);
            if self.skipped_at_once >= SKIPS_AT_A_TIME {
                self.skipped_at_once = 0;
                return Ok(Next::Again);
            }
            // What may not begin need not be opened.
            let more = !reserved && self.open_from_buckets()?;
            match self.schedule.pick(now) {
                Pick::Origin(origin) => {
                    if let Some(job) = self.take(origin, now)? {
                        self.in_flight += 1;
                        return Ok(Next::Ready(job));
                    }
                }
                Pick::Address(origin) => {
                    if let Some(job) = self.look_up(origin) {
                        return Ok(Next::Ready(job));
                    }
                }
                Pick::NotBefore(_) | Pick::Nothing if more => self.skipped_at_once += 1,
                idle => {
                    if let Some(next) = self.idle(idle, now)? {
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// What to do where no job can be begun now; nothing where it is worth looking again.
    fn idle(&mut self, pick: Pick, now: Moment) -> Result<Option<Next>, CoreError> {
        let stuck = matches!(pick, Pick::Nothing) && self.in_flight == 0;
        let otherwise = if stuck { Otherwise::Stuck } else { Otherwise::Idle };
        let settling = match self.settle_when_due(now, otherwise)? {
            // Whatever was rescued is written down before more is.
            SettleTurn::Taken => return Ok(Some(Next::Again)),
            SettleTurn::NotBefore(at) => Some(at),
            SettleTurn::Pass => None,
        };
        Ok(Some(match (pick, settling) {
            (Pick::NotBefore(at), settling) => {
                let at = self.room_before(at);
                Next::NotBefore(settling.map_or(at, |settling| settling.min(at)))
            }
            (_, Some(at)) => Next::NotBefore(at),
            _ if self.in_flight > 0 => Next::Blocked,
            _ if self.buckets.hold_any() => {
                let room = self.wait_for_room()?;
                return Ok(room.map(Next::NotBefore));
            }
            _ => Next::Done(EndReason::Done),
        }))
    }

    /// Whether every record that `--max-pages` allows is written, in flight, or owed to what waits.
    fn page_limit_reserved(&self) -> bool {
        let coming = self.counters.records() + self.pages_in_flight + self.schedule.owed();
        self.settings.max_pages.is_some_and(|most| coming >= most)
    }

    fn has_work(&self) -> bool {
        self.queued() > 0 || self.pages_in_flight > 0 || self.doubts_pending() > 0
    }

    /// The next job of an origin, where there is one.
    fn take(&mut self, id: OriginId, now: Moment) -> Result<Option<Job>, CoreError> {
        if let Some(reason) = self.schedule.drained(id) {
            self.drain(id, reason, now)?;
            self.schedule.refresh(id);
            return Ok(None);
        }
        if self.put_off_redirect(id, now) {
            self.schedule.refresh(id);
            return Ok(None);
        }
        if self.settings.obey_robots && self.recall_rules(id, now) {
            return Ok(None);
        }
        if self.settings.obey_robots
            && let Some(job) = self.robots_job(id, now)
        {
            return Ok(Some(job));
        }
        for _ in 0..SKIPS_AT_A_TIME {
            let Some(mut attempt) = self.next_attempt(id, now, false)? else {
                break;
            };
            if self.suspects.get(&attempt.ticket).is_some_and(|crashes| *crashes >= CRASHES) {
                self.give_up_crashed(id, attempt)?;
                // Its record may have been the last that a limit allows.
                break;
            }
            if self.denied(id, &attempt) {
                self.skip_attempt(id, attempt, SkipReason::RobotsDenied)?;
                continue;
            }
            if self.is_ended(&attempt.candidate) {
                self.skip_attempt(id, attempt, SkipReason::Trap)?;
                continue;
            }
            self.recognize_sitemap(id, &mut attempt);
            self.pages_in_flight += 1;
            self.schedule.started(id, true);
            attempt.started = now;
            if self.keeper.is_some() {
                let before = (attempt.requests > 0).then(|| Box::new(KeptAttempt::new(&attempt, 0)));
                self.tickets_in_flight.insert(attempt.ticket, before);
                self.journal.start(attempt.ticket);
            }
            let buffers = self.buffers.pop().unwrap_or_default();
            return Ok(Some(Job::Page(Box::new(PageJob { origin: id, attempt, buffers }))));
        }
        self.schedule.refresh(id);
        Ok(None)
    }

    /// Whether an origin had rules to get back. A delay that they name is written down, as where they come anew.
    fn recall_rules(&mut self, id: OriginId, now: Moment) -> bool {
        let recalled = self.schedule.recall_rules(id, now);
        if recalled && self.schedule.has_crawl_delay(id) {
            self.host_changed = true;
            self.note_host_state(id);
        }
        recalled
    }

    /// The request for robots.txt that has to come first, where one has to.
    fn robots_job(&mut self, id: OriginId, now: Moment) -> Option<Job> {
        let origin = self.schedule.origin(id);
        let first = |name: &str| (Arc::from(format!("{name}/robots.txt")), 0);
        let ((url, hops), failures, last) = match &origin.robots {
            RobotsState::Unknown => (first(&origin.name), 0, None),
            RobotsState::Retry { failures, last, .. } => (first(&origin.name), *failures, last.clone()),
            RobotsState::Redirected { to, hops, failures, last, .. } => {
                ((to.clone(), *hops), *failures, last.clone())
            }
            RobotsState::Known { rules, until } if *until <= now => {
                (first(&origin.name), 0, Some(rules.clone()))
            }
            _ => return None,
        };
        let booked = if hops > 0 { self.schedule.origin_of(crate::url::origin_of(&url)) } else { id };
        self.schedule.origin_mut(id).robots = RobotsState::Fetching { failures, booked, last };
        self.schedule.started(booked, false);
        self.schedule.refresh(id);
        Some(Job::Robots { origin: id, url, hops })
    }

    /// Puts a redirect of robots.txt off until the host it leads to may be asked.
    fn put_off_redirect(&mut self, id: OriginId, now: Moment) -> bool {
        let RobotsState::Redirected { to, .. } = &self.schedule.origin(id).robots else { return false };
        let to = to.clone();
        if crate::url::host_of(&to) == &*self.schedule.host(id).name {
            return false;
        }
        let open = self.schedule.open_at(crate::url::origin_of(&to), now);
        if let RobotsState::Redirected { at, .. } = &mut self.schedule.origin_mut(id).robots
            && open > now
        {
            *at = open;
            return true;
        }
        false
    }

    fn next_attempt(
        &mut self,
        id: OriginId,
        now: Moment,
        drained: bool,
    ) -> Result<Option<Attempt>, CoreError> {
        if let Some(attempt) = self.schedule.take_waiting(id, now, drained) {
            self.held -= 1;
            return Ok(Some(attempt));
        }
        if !drained && !self.schedule.may_begin(id) {
            return Ok(None);
        }
        Ok(self.next_claimed(id, drained)?.map(Attempt::new))
    }

    /// A page that was alone in flight at two crashes is not asked for a third time.
    fn give_up_crashed(&mut self, id: OriginId, attempt: Attempt) -> Result<(), CoreError> {
        let mut outcome = new_outcome(PageJob { origin: id, attempt, buffers: Buffers::default() });
        let detail = format!("the process ended {CRASHES} times while this page alone was in flight");
        outcome.record.error = Some(PageError { kind: ErrorKind::Crashed, detail });
        let mut line = Vec::new();
        encode_line(&outcome.record, &mut line)?;
        self.write_record(id, &outcome.record, &line, None)?;
        self.acknowledge(outcome.job.attempt.ticket)
    }

    fn denied(&self, id: OriginId, attempt: &Attempt) -> bool {
        let RobotsState::Known { rules, .. } = &self.schedule.origin(id).robots else {
            return false;
        };
        let url = &attempt.candidate.url;
        !rules.allowed(&url[usize::from(attempt.candidate.origin_length)..])
    }

    /// Skips what an origin has left, some at a time.
    fn drain(&mut self, id: OriginId, reason: DrainReason, now: Moment) -> Result<(), CoreError> {
        let reason = skip_reason(reason);
        for _ in 0..SKIPS_AT_A_TIME {
            let Some(attempt) = self.next_attempt(id, now, true)? else {
                break;
            };
            self.skip_attempt(id, attempt, reason)?;
        }
        Ok(())
    }
}
