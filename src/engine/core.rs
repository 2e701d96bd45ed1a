//! The owner's core: it alone decides what is new, what is fetched next and when the crawl is over.
//!
//! Plain synchronous code: no network, no tasks, no clock (`now` is an
//! argument). The invariant it keeps: whatever the visited set holds is
//! queued, in flight, in doubt, recorded or counted as skipped.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::buckets::Buckets;
use super::job::{Buffers, Job, PageJob};
use super::journal::{Journal, KeptAttempt};
use super::keeper::Keeper;
use super::observer::Event;
use super::settle::SettleTurn;
use super::shadow::DepthShadow;
use super::state::{CrawlState, SeedsSeal};
use super::worker::new_outcome;
use crate::frontier::{
    Attempt, DrainReason, Frontier, FrontierError, Moment, OriginId, Pick, RobotsState, Schedule, Ticket,
};
use crate::model::{Candidate, ErrorKind, PageError, Record, SkipReason, UrlKey};
use crate::scope::Scope;
use crate::sink::{Page, ResultFiles, Sink, Skipped, encode_line};
use crate::stats::{Counters, EndReason};
use crate::store::StateError;
use crate::visited::{Answer, ExactError, GrowError, Pace, Sizing, Visited};

/// The crawl cannot go on: what it would decide next could no longer be kept.
#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    /// The frontier failed.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The exact stage failed.
    #[error(transparent)]
    Exact(#[from] ExactError),
    /// The state of the crawl failed.
    #[error("the state of the crawl cannot be kept: {0}")]
    State(#[from] StateError),
    /// A sink failed.
    #[error("cannot write results: {0}")]
    Sink(#[from] std::io::Error),
}

impl CoreError {
    /// Whether what is on disk is not what was written.
    pub fn is_damage(&self) -> bool {
        match self {
            CoreError::State(error)
            | CoreError::Frontier(FrontierError::State(error))
            | CoreError::Exact(ExactError(error)) => !matches!(error, StateError::Io { .. }),
            CoreError::Frontier(FrontierError::Inconsistent { .. } | FrontierError::Manifest(_)) => true,
            CoreError::Frontier(FrontierError::Failed) | CoreError::Sink(_) => false,
        }
    }

    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            CoreError::State(error)
            | CoreError::Frontier(FrontierError::State(error))
            | CoreError::Exact(ExactError(error)) => error.is_disk_full(),
            CoreError::Frontier(_) => false,
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
    /// Doubts that may gather before settling them comes before all else.
    pub(crate) most_doubts: u64,
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

/// How long rules hold (RFC 9309 section 2.4).
pub(super) const ROBOTS_VALIDITY: Duration = Duration::from_secs(24 * 60 * 60);
/// The share of the time that settling doubts may take while there is other work.
const SETTLING_SHARE: f64 = 0.25;
/// The longest pause before a repetition that nobody asked for.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Crashes at which a page was alone in flight, after which it is not asked for again.
const CRASHES: u32 = 2;
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
    /// Page jobs in flight.
    pub(super) pages_in_flight: u64,
    /// All jobs in flight.
    pub(super) in_flight: usize,
    /// Candidates claimed or waiting for their time.
    pub(super) held: u64,
    pub(super) events: Vec<Event>,
    pub(super) stop: Option<EndReason>,
    // Kept between calls for their memory.
    pub(super) keys: Vec<UrlKey>,
    pub(super) answers: Vec<Answer>,
    pub(super) buffers: Vec<Buffers>,
    pub(super) shadow: DepthShadow,
    /// Holds settling to its share of the time.
    pub(super) pace: Pace,
    /// What has changed since the last record of the log.
    pub(super) journal: Journal,
    /// Keeps the state on disk, where there is a crawl directory.
    pub(super) keeper: Option<Keeper>,
    /// The files of results in the crawl directory.
    pub(super) files: Option<ResultFiles>,
    /// Attempts that an earlier process left, until they wait again.
    pub(super) kept_attempts: HashMap<Ticket, KeptAttempt>,
    /// Those of them that wait again, and stand in the frontier as if nobody had claimed them.
    pub(super) revived: HashSet<Ticket>,
    /// Candidates that are asked at another origin than that of their queue, and the latter.
    pub(super) away: HashMap<Ticket, OriginId>,
    /// Pages in flight, with what happened to them before; after a crash, those that were.
    pub(super) tickets_in_flight: HashMap<Ticket, Option<Box<KeptAttempt>>>,
    /// Pages that were alone in flight when the process died, and how often.
    pub(super) suspects: HashMap<Ticket, u32>,
    /// What the file of seeds is.
    pub(super) seeds: SeedsSeal,
    /// Seeds taken in.
    pub(super) seeds_taken: u64,
    /// Those were all.
    pub(super) seeds_complete: bool,
    /// Something of a host has changed that another process would have to know.
    pub(super) host_changed: bool,
    /// Candidates skipped since the loop last had a turn.
    skipped_at_once: usize,
    pub(super) buckets: Buckets,
    /// The latest moment it was told of.
    pub(super) now: Moment,
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
        let pace = Pace::new(SETTLING_SHARE, settings.most_doubts);
        let shadow = DepthShadow::new(settings.caps.depth);
        let buckets = Buckets::of(&*frontier);
        Self {
            settings,
            frontier,
            visited,
            schedule,
            scope,
            sinks,
            counters: Counters::default(),
            pages_in_flight: 0,
            in_flight: 0,
            held: 0,
            events: Vec::new(),
            stop: None,
            keys: Vec::new(),
            answers: Vec::new(),
            buffers: Vec::new(),
            shadow,
            pace,
            journal: Journal::default(),
            keeper: None,
            files: None,
            kept_attempts: HashMap::new(),
            revived: HashSet::new(),
            away: HashMap::new(),
            tickets_in_flight: HashMap::new(),
            suspects: HashMap::new(),
            seeds: SeedsSeal::default(),
            seeds_taken: 0,
            seeds_complete: false,
            host_changed: false,
            skipped_at_once: 0,
            buckets,
            now: Moment::START,
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

    /// Jobs in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Candidates that wait to be fetched.
    pub(crate) fn queued(&self) -> u64 {
        self.frontier.len() + self.held - self.revived.len() as u64
    }

    /// Goes on with what another process left.
    pub(super) fn restore(&mut self, state: CrawlState) {
        self.counters = state.counters;
        self.kept_attempts = state.attempts;
        self.tickets_in_flight = state.in_flight.into_iter().map(|ticket| (ticket, None)).collect();
        self.suspects = state.suspects;
        self.seeds = state.seeds;
        self.seeds_taken = state.seeds_taken;
        self.seeds_complete = state.seeds_complete;
    }

    /// Page jobs in flight.
    pub(crate) fn pages_in_flight(&self) -> u64 {
        self.pages_in_flight
    }

    /// Candidates of which it is not known yet whether they are new.
    pub(crate) fn doubts_pending(&self) -> u64 {
        self.visited.doubts().len()
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
        self.now = self.now.max(now);
        self.schedule.close_expired(now);
        loop {
            if let Some(reason) = self.stop {
                return Ok(if self.in_flight == 0 { Next::Done(reason) } else { Next::Blocked });
            }
            if self.settle_when_due(now, false)? == SettleTurn::Taken && self.has_much_to_write() {
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
                    self.schedule.resolving(origin);
                    self.in_flight += 1;
                    let name = self.schedule.origin(origin).name.clone();
                    return Ok(Next::Ready(Job::Address { origin, name }));
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
        let settling = match self.settle_when_due(now, true)? {
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
        self.held += self.schedule.claim(id, &mut *self.frontier)?;
        if !self.revived.is_empty() {
            let revived = &mut self.revived;
            self.held -= self.schedule.retain_claimed(id, |ticket| !revived.remove(&ticket));
        }
        Ok(self.schedule.take_claimed(id).map(|claimed| {
            self.held -= 1;
            Attempt::new(claimed)
        }))
    }

    /// Takes note that a candidate of one origin's queue is asked at another: the queue is needed
    /// as long as it is not acknowledged.
    pub(super) fn go_away(&mut self, attempt: &Attempt, from: OriginId, to: OriginId) {
        if from != to && !self.away.contains_key(&attempt.ticket) {
            self.schedule.pin(from);
            self.away.insert(attempt.ticket, from);
        }
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

    /// Nothing more will come of a candidate.
    pub(super) fn acknowledge(&mut self, ticket: Ticket) -> Result<(), CoreError> {
        self.journal.acknowledge(ticket);
        self.forget(ticket);
        self.revived.remove(&ticket);
        if let Some(id) = self.away.remove(&ticket) {
            self.schedule.unpin(id);
        }
        Ok(self.frontier.acknowledge(ticket)?)
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

    /// Ends a candidate without (another) request: what was asked before ends in its
    /// record, what was never asked is a counted skip.
    pub(super) fn skip_attempt(
        &mut self,
        id: OriginId,
        mut attempt: Attempt,
        reason: SkipReason,
    ) -> Result<(), CoreError> {
        if let Some(record) = attempt.fallback.take() {
            self.skipped_at_once += 1;
            let mut line = Vec::new();
            encode_line(&*record, &mut line)?;
            self.write_record(id, &record, &line, None)?;
        } else {
            self.skip_candidate(&attempt.candidate, reason)?;
        }
        self.acknowledge(attempt.ticket)
    }

    /// Counts a candidate that was never asked, and writes its row.
    pub(super) fn skip_candidate(
        &mut self,
        candidate: &Candidate,
        reason: SkipReason,
    ) -> Result<(), CoreError> {
        self.skipped_at_once += 1;
        self.counters.skipped_after_queue.add(reason, 1);
        if !self.settings.log_skipped {
            return Ok(());
        }
        let detail = match reason {
            SkipReason::RobotsDenied => self.rule_that_denies(candidate),
            SkipReason::RobotsUnreachable | SkipReason::HostUnreachable | SkipReason::PrivateAddress => {
                self.last_error(candidate.origin())
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
        Self::write_skipped(&mut self.files, &mut self.sinks, &row)
    }

    /// Gives a row to every sink.
    pub(super) fn write_skipped(
        files: &mut Option<ResultFiles>,
        sinks: &mut [Box<dyn Sink>],
        row: &Skipped<'_>,
    ) -> Result<(), CoreError> {
        if let Some(files) = files {
            files.skipped(row)?;
        }
        for sink in sinks {
            sink.skipped(row)?;
        }
        Ok(())
    }

    fn rule_that_denies(&mut self, candidate: &Candidate) -> Option<String> {
        let id = self.schedule.find(candidate.origin())?;
        let RobotsState::Known { rules, .. } = &self.schedule.origin(id).robots else { return None };
        let verdict = rules.verdict(&candidate.url[usize::from(candidate.origin_length)..]);
        verdict.line.zip(verdict.rule).map(|(line, rule)| format!("robots.txt line {line}: {rule}"))
    }

    /// What an origin, or else its host, failed of last.
    pub(super) fn last_error(&mut self, origin: &str) -> Option<String> {
        if let Some(id) = self.schedule.find(origin) {
            let of_origin = self.schedule.origin(id).last_error.as_deref();
            return of_origin.or(self.schedule.host(id).last_error.as_deref()).map(describe);
        }
        self.schedule.standing(origin).and_then(|(_, error)| error).as_ref().map(describe)
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
        if let Some(files) = &mut self.files {
            files.page(line)?;
        }
        for sink in &mut self.sinks {
            sink.page(&Page { record, line, body })?;
        }
        let last = self.schedule.recorded(id);
        if self.settings.caps.max_pages_per_host.is_some() {
            self.host_changed = true;
            self.note_host_state(id);
        }
        if last {
            let host = self.schedule.host(id).name.clone();
            self.events.push(Event::Drained { name: host, reason: DrainReason::HostLimit, error: None });
        }
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

    pub(super) fn scope_generation(&self) -> u64 {
        self.scope.read().unwrap_or_else(PoisonError::into_inner).generation()
    }
}

/// What is told of a host or an origin that was given up.
pub(super) fn describe(error: &PageError) -> String {
    if error.detail.is_empty() {
        return error.kind.name().to_owned();
    }
    format!("{}: {}", error.kind.name(), error.detail)
}

pub(super) fn skip_reason(reason: DrainReason) -> SkipReason {
    match reason {
        DrainReason::RobotsUnreachable => SkipReason::RobotsUnreachable,
        DrainReason::HostUnreachable => SkipReason::HostUnreachable,
        DrainReason::HostLimit => SkipReason::HostLimit,
        DrainReason::PrivateAddress => SkipReason::PrivateAddress,
    }
}
