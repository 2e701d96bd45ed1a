//! The owner's core: it alone decides what is new, what is fetched next and when the crawl is over.
//!
//! Plain synchronous code: no network, no tasks, no clock (`now` is an
//! argument). The invariant it keeps: whatever the visited set holds is
//! queued, in flight, in doubt, recorded or counted as skipped.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::job::{Buffers, Job, PageJob};
use super::observer::Event;
use super::shadow::DepthShadow;
use crate::frontier::{
    Attempt, DrainReason, Frontier, FrontierError, Moment, OriginId, Pick, RobotsState, Schedule,
};
use crate::model::{Candidate, Record, SkipReason, UrlKey};
use crate::robots::RobotsRules;
use crate::scope::Scope;
use crate::sink::{Page, Sink, Skipped, encode_line};
use crate::stats::{Counters, EndReason};
use crate::visited::{Answer, ExactError, GrowError, Sizing, Visited};

/// The crawl cannot go on: what it would decide next could no longer be kept.
#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    /// The frontier failed.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The exact stage failed.
    #[error(transparent)]
    Exact(#[from] ExactError),
    /// A sink failed.
    #[error("cannot write results: {0}")]
    Sink(#[from] std::io::Error),
}

impl CoreError {
    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            CoreError::Frontier(FrontierError::State(error)) | CoreError::Exact(ExactError(error)) => {
                error.is_disk_full()
            }
            CoreError::Sink(source) => {
                matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
            }
        }
    }
}

/// The settings of the core.
#[derive(Debug, Clone)]
pub(crate) struct CoreSettings {
    /// Attempts after a failed one.
    pub(crate) retries: u32,
    /// Records at most.
    pub(crate) max_pages: Option<u64>,
    /// The longest `Retry-After` honoured.
    pub(crate) max_retry_after: Duration,
    /// robots.txt is asked for and obeyed.
    pub(crate) obey_robots: bool,
    /// Rows for skipped URLs are wanted.
    pub(crate) log_skipped: bool,
    /// What the filter may grow to.
    pub(crate) largest_filter: Sizing,
    /// Bytes of robots.txt rules that may be held for origins without work.
    pub(crate) rules_bytes: u64,
    /// Doubts that may gather before they are settled.
    pub(crate) doubts: usize,
    /// Limits that others hold to, for saying which one it was.
    pub(crate) caps: Caps,
}

/// Limits that a skip may be owed to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caps {
    /// Links followed from a seed at most.
    pub(crate) depth: Option<u32>,
    /// Redirects in one chain at most.
    pub(crate) max_redirects: u32,
    /// Records of one host name at most.
    pub(crate) max_pages_per_host: Option<u64>,
}

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

/// Requests for an origin's robots.txt before it counts as unreachable.
pub(super) const ROBOTS_TRIES: u32 = 3;
/// How long rules hold (RFC 9309 section 2.4).
pub(super) const ROBOTS_VALIDITY: Duration = Duration::from_secs(24 * 60 * 60);
/// Origins looked at for rules to let go when new ones come.
const EVICTIONS_AT_A_TIME: usize = 64;
/// Candidates claimed from a queue at a time.
const CLAIM: usize = 16;
/// Candidates skipped in one go before the loop gets a turn.
const SKIPS_AT_A_TIME: usize = 64;

/// See the module's description.
pub(crate) struct Core {
    pub(super) settings: CoreSettings,
    pub(super) frontier: Box<dyn Frontier + Send>,
    pub(super) visited: Visited,
    pub(super) schedule: Schedule,
    pub(super) scope: Arc<RwLock<Scope>>,
    pub(super) sinks: Vec<Box<dyn Sink>>,
    pub(super) counters: Counters,
    pub(super) doubts: Vec<Candidate>,
    /// Page jobs in flight.
    pub(super) pages_in_flight: u64,
    /// All jobs in flight.
    pub(super) in_flight: usize,
    /// Candidates claimed or waiting for their time.
    pub(super) held: u64,
    pub(super) events: Vec<Event>,
    pub(super) stop: Option<EndReason>,
    pub(super) any_drained: bool,
    // Kept between calls for their memory.
    pub(super) keys: Vec<UrlKey>,
    pub(super) answers: Vec<Answer>,
    pub(super) buffers: Vec<Buffers>,
    pub(super) shadow: DepthShadow,
    /// Candidates skipped since the loop last had a turn.
    skipped_at_once: usize,
    /// Origins whose rules are held, the oldest first, and the bytes of all of them.
    rules_held: VecDeque<(OriginId, u64)>,
    rules_bytes: u64,
}

impl Core {
    pub(crate) fn new(
        settings: CoreSettings,
        frontier: Box<dyn Frontier + Send>,
        visited: Visited,
        schedule: Schedule,
        scope: Arc<RwLock<Scope>>,
        sinks: Vec<Box<dyn Sink>>,
    ) -> Self {
        let shadow = DepthShadow::new(settings.caps.depth);
        Self {
            settings,
            frontier,
            visited,
            schedule,
            scope,
            sinks,
            counters: Counters::default(),
            doubts: Vec::new(),
            pages_in_flight: 0,
            in_flight: 0,
            held: 0,
            events: Vec::new(),
            stop: None,
            any_drained: false,
            keys: Vec::new(),
            answers: Vec::new(),
            buffers: Vec::new(),
            shadow,
            skipped_at_once: 0,
            rules_held: VecDeque::new(),
            rules_bytes: 0,
        }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn visited(&mut self) -> &mut Visited {
        &mut self.visited
    }

    pub(crate) fn sinks(&mut self) -> &mut [Box<dyn Sink>] {
        &mut self.sinks
    }

    /// Adds a sink.
    pub(crate) fn add_sink(&mut self, sink: Box<dyn Sink>) {
        self.sinks.push(sink);
    }

    /// Jobs in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Candidates that wait to be fetched.
    pub(crate) fn queued(&self) -> u64 {
        self.frontier.len() + self.held
    }

    /// Page jobs in flight.
    pub(crate) fn pages_in_flight(&self) -> u64 {
        self.pages_in_flight
    }

    /// Candidates of which it is not known yet whether they are new.
    pub(crate) fn doubts_pending(&self) -> u64 {
        self.doubts.len() as u64
    }

    /// Nothing new is started from now on.
    pub(crate) fn stop(&mut self, reason: EndReason) {
        self.stop.get_or_insert(reason);
    }

    /// Whether the laws of counting hold.
    pub(crate) fn adds_up(&self) -> bool {
        self.counters.add_up(self.doubts_pending(), self.queued(), self.pages_in_flight)
    }

    /// What to do next. The one place where the end is decided.
    pub(crate) fn next(&mut self, now: Moment) -> Result<Next, CoreError> {
        loop {
            if let Some(reason) = self.stop {
                return Ok(if self.in_flight == 0 { Next::Done(reason) } else { Next::Blocked });
            }
            if self.doubts.len() >= self.settings.doubts {
                self.settle()?;
            }
            if self.settings.max_pages.is_some_and(|most| self.counters.records() >= most) && self.has_work()
            {
                self.stop(EndReason::PageLimit);
                continue;
            }
            self.schedule.hold_new(self.page_limit_reserved());
            if self.skipped_at_once >= SKIPS_AT_A_TIME {
                self.skipped_at_once = 0;
                return Ok(Next::Again);
            }
            match self.schedule.pick(now) {
                Pick::Origin(origin) => {
                    if let Some(job) = self.take(origin, now)? {
                        self.in_flight += 1;
                        return Ok(Next::Ready(job));
                    }
                }
                Pick::Address(origin) => {
                    self.schedule.resolving(origin);
                    self.in_flight += 1;
                    let name = self.schedule.origin(origin).name.clone();
                    return Ok(Next::Ready(Job::Address { origin, name }));
                }
                Pick::NotBefore(_) | Pick::Nothing if !self.doubts.is_empty() => self.settle()?,
                Pick::NotBefore(at) => return Ok(Next::NotBefore(at)),
                Pick::Nothing if self.in_flight > 0 => return Ok(Next::Blocked),
                Pick::Nothing => return Ok(Next::Done(EndReason::Done)),
            }
        }
    }

    /// Whether every record that `--max-pages` allows is written, in flight, or owed to what waits.
    fn page_limit_reserved(&self) -> bool {
        let coming = self.counters.records() + self.pages_in_flight + self.schedule.owed();
        self.settings.max_pages.is_some_and(|most| coming >= most)
    }

    fn has_work(&self) -> bool {
        self.queued() > 0 || self.pages_in_flight > 0 || !self.doubts.is_empty()
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
        if self.settings.obey_robots
            && let Some(job) = self.robots_job(id, now)
        {
            return Ok(Some(job));
        }
        for _ in 0..SKIPS_AT_A_TIME {
            let Some(mut attempt) = self.next_attempt(id, now, false)? else {
                break;
            };
            if self.denied(id, &attempt) {
                self.skip_attempt(id, attempt, SkipReason::RobotsDenied)?;
                continue;
            }
            self.pages_in_flight += 1;
            self.schedule.started(id, true);
            attempt.started = now;
            let buffers = self.buffers.pop().unwrap_or_default();
            return Ok(Some(Job::Page(Box::new(PageJob { origin: id, attempt, buffers }))));
        }
        self.schedule.refresh(id);
        Ok(None)
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
        let target = self.schedule.origin_of(crate::url::origin_of(&to));
        if self.schedule.origin(target).host == self.schedule.origin(id).host {
            return false;
        }
        let open = self.schedule.open_at(target, now);
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
        let origin = self.schedule.origin_mut(id);
        if origin.claimed.is_empty() && origin.unclaimed > 0 {
            self.frontier.claim(origin.queue, CLAIM, &mut origin.claimed)?;
            self.held += origin.claimed.len() as u64;
            origin.unclaimed = self.frontier.queue_len(origin.queue);
        }
        Ok(origin.claimed.pop_front().map(|claimed| {
            self.held -= 1;
            Attempt::new(claimed)
        }))
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
        let reason = match reason {
            DrainReason::RobotsUnreachable => SkipReason::RobotsUnreachable,
            DrainReason::HostUnreachable => SkipReason::HostUnreachable,
            DrainReason::HostLimit => SkipReason::HostLimit,
            DrainReason::PrivateAddress => SkipReason::PrivateAddress,
        };
        for _ in 0..SKIPS_AT_A_TIME {
            let Some(attempt) = self.next_attempt(id, now, true)? else {
                break;
            };
            self.skip_attempt(id, attempt, reason)?;
        }
        Ok(())
    }

    /// Ends a candidate without (another) request: what was asked before ends in its
    /// record, what was never asked is a counted skip.
    pub(super) fn skip_attempt(
        &mut self,
        id: OriginId,
        mut attempt: Attempt,
        reason: SkipReason,
    ) -> Result<(), CoreError> {
        self.skipped_at_once += 1;
        if let Some(record) = attempt.fallback.take() {
            let mut line = Vec::new();
            encode_line(&*record, &mut line)?;
            self.write_record(id, &record, &line, None)?;
        } else {
            self.counters.skipped_after_queue.add(reason, 1);
            if self.settings.log_skipped {
                self.log_skipped_attempt(id, &attempt, reason)?;
            }
        }
        self.frontier.acknowledge(attempt.ticket)?;
        Ok(())
    }

    fn log_skipped_attempt(
        &mut self,
        id: OriginId,
        attempt: &Attempt,
        reason: SkipReason,
    ) -> Result<(), CoreError> {
        let candidate = &attempt.candidate;
        let detail = match (&self.schedule.origin(id).robots, reason) {
            (RobotsState::Known { rules, .. }, SkipReason::RobotsDenied) => {
                let verdict = rules.verdict(&candidate.url[usize::from(candidate.origin_length)..]);
                verdict.line.zip(verdict.rule).map(|(line, rule)| format!("robots.txt line {line}: {rule}"))
            }
            (_, SkipReason::RobotsUnreachable | SkipReason::HostUnreachable | SkipReason::PrivateAddress) => {
                self.last_error(id)
            }
            _ => self.rule_behind(&candidate.url, reason),
        };
        let row = Skipped {
            url: &candidate.url,
            reason,
            detail: detail.as_deref(),
            via: candidate.via,
            depth: candidate.depth,
            referrer: candidate.referrer.as_deref(),
        };
        for sink in &mut self.sinks {
            sink.skipped(&row)?;
        }
        Ok(())
    }

    /// What an origin, or else its host, failed of last.
    pub(super) fn last_error(&self, id: OriginId) -> Option<String> {
        let of_origin = self.schedule.origin(id).last_error.as_deref();
        of_origin.or(self.schedule.host(id).last_error.as_deref()).map(str::to_owned)
    }

    /// The option that a skip is owed to, as a person would type it.
    pub(super) fn rule_behind(&self, url: &str, reason: SkipReason) -> Option<String> {
        let caps = &self.settings.caps;
        match reason {
            SkipReason::TooDeep => caps.depth.map(|depth| format!("--depth {depth}")),
            SkipReason::TooManyRedirects => Some(format!("--max-redirects {}", caps.max_redirects)),
            SkipReason::HostLimit => {
                caps.max_pages_per_host.map(|most| format!("--max-pages-per-host {most}"))
            }
            _ => self.scope.read().unwrap_or_else(PoisonError::into_inner).rule(url, reason),
        }
    }

    pub(super) fn write_record(
        &mut self,
        id: OriginId,
        record: &Record,
        line: &[u8],
        body: Option<&[u8]>,
    ) -> Result<(), CoreError> {
        self.counters.record(record);
        for sink in &mut self.sinks {
            sink.page(&Page { record, line, body })?;
        }
        if self.schedule.recorded(id) {
            let host = self.schedule.host(id).name.clone();
            self.events.push(Event::Drained { name: host, reason: DrainReason::HostLimit, error: None });
        }
        Ok(())
    }

    /// Queues a candidate that is new.
    pub(super) fn accept(&mut self, candidate: Candidate) -> Result<(), CoreError> {
        let id = self.schedule.origin_of(candidate.origin());
        self.shadow.accepted(candidate.key, candidate.depth);
        self.frontier.push(self.schedule.origin(id).queue, candidate)?;
        self.schedule.origin_mut(id).unclaimed += 1;
        self.schedule.refresh(id);
        self.counters.unique += 1;
        Ok(())
    }

    /// Counts a candidate that is known.
    pub(super) fn repeat(&mut self, key: UrlKey, depth: u32) {
        self.counters.repeats += 1;
        self.counters.depth_shadowed += u64::from(self.shadow.met_again(key, depth));
    }

    /// Makes the filter larger where it is full. That there is no memory for a larger one is no
    /// failure: a full filter costs time, not pages.
    pub(super) fn grow_filter(&mut self) -> Result<(), CoreError> {
        match self.visited.grow_if_full(&self.settings.largest_filter) {
            Ok(None) => Ok(()),
            Ok(Some(sizing)) => {
                self.events.push(Event::FilterGrew { urls: sizing.urls });
                Ok(())
            }
            Err(GrowError::Exact(error)) => Err(error.into()),
            Err(_) => {
                self.settings.largest_filter = *self.visited.sizing();
                Ok(())
            }
        }
    }

    /// Decides every doubt exactly.
    pub(crate) fn settle(&mut self) -> Result<(), CoreError> {
        let doubts = std::mem::take(&mut self.doubts);
        let keys: Vec<UrlKey> = doubts.iter().map(|candidate| candidate.key).collect();
        let new = self.visited.settle(&keys)?;
        for (candidate, new) in doubts.into_iter().zip(new) {
            self.counters.doubts_settled += 1;
            if new {
                self.counters.rescued += 1;
                self.accept(candidate)?;
            } else {
                self.repeat(candidate.key, candidate.depth);
            }
        }
        Ok(())
    }

    /// Takes note of rules that are held from now on; where all of them are more than their share
    /// of memory, those of origins that have nothing to do are let go, and fetched again when needed.
    pub(super) fn hold_rules(&mut self, id: OriginId, rules: &RobotsRules) {
        let bytes = rules.memory_bytes() as u64;
        self.rules_bytes += bytes;
        self.rules_held.push_back((id, bytes));
        for _ in 0..self.rules_held.len().min(EVICTIONS_AT_A_TIME) {
            if self.rules_bytes <= self.settings.rules_bytes {
                break;
            }
            let Some((id, bytes)) = self.rules_held.pop_front() else { break };
            let origin = self.schedule.origin_mut(id);
            if origin.has_work() || !matches!(origin.robots, RobotsState::Known { .. }) {
                self.rules_held.push_back((id, bytes));
                continue;
            }
            origin.robots = RobotsState::Unknown;
            self.rules_bytes -= bytes;
        }
    }

    pub(super) fn scope_generation(&self) -> u64 {
        self.scope.read().unwrap_or_else(PoisonError::into_inner).generation()
    }
}
