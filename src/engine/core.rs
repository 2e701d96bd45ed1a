//! The owner's core: it alone decides what is new, what is fetched next and when the crawl is over.
//!
//! Plain synchronous code: no network, no tasks, no clock (`now` is an
//! argument). The invariant it keeps: whatever the visited set holds is
//! queued, in flight, in doubt, recorded or counted as skipped.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::best_first::BestFirst;
use super::buckets::Buckets;
use super::canonical::ReadPages;
use super::crawled::Crawled;
use super::job::Buffers;
use super::journal::{Journal, KeptAttempt};
use super::keeper::Keeper;
use super::names::AsksDns;
use super::observer::Event;
use super::shadow::DepthShadow;
use super::state::CrawlState;
use super::traps::Traps;
use crate::frontier::{Attempt, DrainReason, Frontier, FrontierError, Moment, OriginId, Schedule, Ticket};
use crate::model::{Record, UrlKey};
use crate::scope::Scope;
use crate::sink::{Page, ResultFiles, Sink};
use crate::stats::{Counters, CrawlSketches, EndReason, Examples, ObservedLinks};
use crate::store::{Seal, StateError};
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
    /// What is wrong with a file of the state, where it is that.
    pub fn state(&self) -> Option<&StateError> {
        match self {
            CoreError::State(error)
            | CoreError::Frontier(FrontierError::State(error))
            | CoreError::Exact(ExactError(error)) => Some(error),
            CoreError::Frontier(_) | CoreError::Sink(_) => None,
        }
    }

    /// Whether what is on disk is not what was written.
    pub fn is_damage(&self) -> bool {
        match self {
            CoreError::Frontier(FrontierError::Inconsistent { .. } | FrontierError::Manifest(_)) => true,
            error => error.state().is_some_and(|error| !matches!(error, StateError::Io { .. })),
        }
    }

    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        match self {
            CoreError::Sink(source) => matches!(source.kind(), StorageFull | QuotaExceeded),
            error => error.state().is_some_and(StateError::is_disk_full),
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
    /// What robots.txt names as a sitemap is read as one.
    pub(crate) sitemaps: bool,
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
    /// What a sitemap says was last changed before this is left out.
    pub(crate) sitemap_since: Option<String>,
}

/// How long rules hold (RFC 9309 section 2.4).
pub(super) const ROBOTS_VALIDITY: Duration = Duration::from_secs(24 * 60 * 60);
/// The share of the time that settling doubts may take while there is other work.
const SETTLING_SHARE: f64 = 0.25;
/// The longest pause before a repetition that nobody asked for.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
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
    /// Look-ups of names among them.
    pub(super) lookups_in_flight: usize,
    /// Which names are looked up ahead; none where absent.
    pub(super) asks_dns: Option<AsksDns>,
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
    /// Bytes of the statistics beside them, which others write.
    pub(super) statistics_bytes: u64,
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
    pub(super) seeds: Seal,
    /// Seeds taken in.
    pub(super) seeds_taken: u64,
    /// Those were all.
    pub(super) seeds_complete: bool,
    /// Something of a host has changed that another process would have to know.
    pub(super) host_changed: bool,
    /// Candidates skipped since the loop last had a turn.
    pub(super) skipped_at_once: usize,
    pub(super) buckets: Buckets,
    /// What is counted to notice traps.
    pub(super) traps: Traps,
    /// What earlier crawls fetched.
    pub(super) crawled: Crawled,
    /// Pages whose links are in, as far as `--canonical` wants to know.
    pub(super) read_pages: ReadPages,
    /// A skipped URL for each reason.
    pub(super) examples: Examples,
    /// In which order the candidates of a host come, where that is not the one in which they were found.
    pub(super) order: Option<BestFirst>,
    /// What is told in estimates.
    pub(super) sketches: CrawlSketches,
    /// Links that were met last; kept for its memory.
    pub(super) observed: ObservedLinks,
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
        (traps, sketches): (Traps, CrawlSketches),
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
            lookups_in_flight: 0,
            asks_dns: None,
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
            statistics_bytes: 0,
            kept_attempts: HashMap::new(),
            revived: HashSet::new(),
            away: HashMap::new(),
            tickets_in_flight: HashMap::new(),
            suspects: HashMap::new(),
            seeds: Seal::default(),
            seeds_taken: 0,
            seeds_complete: false,
            host_changed: false,
            skipped_at_once: 0,
            buckets,
            traps,
            crawled: Crawled::default(),
            read_pages: ReadPages::default(),
            examples: Examples::default(),
            order: None,
            sketches,
            observed: ObservedLinks::default(),
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
        self.examples = state.examples;
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

    /// Takes note that a candidate of one origin's queue is asked at another: the queue is needed
    /// as long as it is not acknowledged.
    pub(super) fn go_away(&mut self, attempt: &Attempt, from: OriginId, to: OriginId) {
        if from != to && !self.away.contains_key(&attempt.ticket) {
            self.schedule.pin(from);
            self.away.insert(attempt.ticket, from);
        }
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

    pub(super) fn write_record(
        &mut self,
        id: OriginId,
        record: &Record,
        line: &[u8],
        body: Option<&[u8]>,
    ) -> Result<(), CoreError> {
        self.counters.record(record);
        self.note_record(record);
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
