//! What the state of a crawl says of one page: manifest first, then the log that follows it.
//!
//! Takes no lock and changes nothing. A running crawl may put another manifest in the place of the
//! one that was read, and delete what only the old one names: then all is read once more.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::super::builder::politeness;
use super::super::crawled::EarlierCrawls;
use super::super::journal::{Change, KeptAttempt, read_record};
use super::super::keeper::{FRONTIER, MANIFEST, VISITED, log_name};
use super::super::recovery::{malformed_manifest, peek_state};
use super::super::seed_file::spanning;
use super::super::setup::name_secret;
use super::super::sketches;
use super::super::state::CrawlState;
use super::ExplainError;
use crate::config::Config;
use crate::frontier::{DiskFrontier, DiskSettings, DrainReason, FrontierError, HostShare, Schedule, Ticket};
use crate::model::{Candidate, PageError, UrlKey};
use crate::scope::Scope;
use crate::sketch::{CountEstimate, fingerprint};
use crate::stats::{Counters, CrawlSketches, KeptSketchesError};
use crate::store::{Decoder, FileSystem, LogReader, Malformed, StateError};
use crate::url::{Canonicalizer, Target, host_of};
use crate::visited::{Glimpse, Place, RestoreError};

/// How often all is read again where the manifest changes in the meantime.
const TRIES: u32 = 8;

/// What the state says of one page, and of the crawl as far as that matters to it.
pub(super) struct Ledger {
    pub(super) scope: Scope,
    pub(super) counters: Counters,
    /// Bytes that are vouched for of each file of results, by its number.
    pub(super) lengths: BTreeMap<u64, u64>,
    /// Why the page's host or origin is asked nothing any more.
    pub(super) standing: Option<(DrainReason, Option<PageError>)>,
    /// It got a place in the frontier once.
    pub(super) accepted: bool,
    /// What was asked and is to be asked again.
    pub(super) attempt: Option<KeptAttempt>,
    pub(super) in_flight: bool,
    /// Where it waits, or is in flight from.
    pub(super) queued: Option<Candidate>,
    /// What earlier crawls fetched, by which pages are skipped.
    pub(super) earlier: EarlierCrawls,
    /// It is not decided whether it is new.
    pub(super) doubt: Option<Candidate>,
    /// Links to it …
    pub(super) links: CountEstimate,
    /// … and to its host.
    pub(super) links_to_host: CountEstimate,
}

impl Ledger {
    /// Reads the state of a crawl directory, with the eyes of one page.
    ///
    /// # Errors
    /// [`ExplainError::State`] where it cannot be read, or is not as it was written.
    pub(super) fn read(
        directory: &Path,
        config: &Config,
        canonicalizer: &Canonicalizer,
        target: &Target,
    ) -> Result<Self, ExplainError> {
        let state = directory.join("state");
        let missing = || StateError::damaged(&state.join(MANIFEST), 0, "it is missing");
        let mut tries = 0;
        loop {
            let (generation, kept) = peek_state(&FileSystem, &state)?.ok_or_else(missing)?;
            let read = Reader::new(&state, config, canonicalizer, target, kept).and_then(Reader::finish);
            tries += 1;
            match read {
                Err(_)
                    if tries < TRIES
                        && peek_state(&FileSystem, &state)?.map(|new| new.0) != Some(generation) => {}
                read => return read,
            }
        }
    }
}

/// Follows one page through the state.
struct Reader<'a> {
    directory: &'a Path,
    config: &'a Config,
    canonicalizer: &'a Canonicalizer,
    key: UrlKey,
    target: &'a Target,
    sketches: CrawlSketches,
    log: u64,
    seeds_taken: u64,
    schedule: Schedule,
    origin: &'a str,
    /// Microseconds since 1970.
    now: u64,
    ledger: Ledger,
    /// Its places in the frontier.
    places: HashMap<Ticket, Candidate>,
    attempts: HashMap<Ticket, KeptAttempt>,
    flying: HashSet<Ticket>,
    doubt: Option<(u64, Candidate)>,
}

impl<'a> Reader<'a> {
    /// Takes what the manifest says, and what stands in the files that it names.
    fn new(
        directory: &'a Path,
        config: &'a Config,
        canonicalizer: &'a Canonicalizer,
        target: &'a Target,
        state: CrawlState,
    ) -> Result<Self, ExplainError> {
        let malformed = |_: Malformed| malformed_manifest(directory);
        let key = state.secret.key(&target.canonical);
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX);
        let share = HostShare {
            open_bytes: 0,
            residue_bytes: u64::MAX,
            closed_rules_bytes: 0,
            secret: name_secret(&state.secret),
        };
        let mut schedule = Schedule::new(politeness(config, 1), share, false);
        schedule.restore(&mut Decoder(&state.schedule), now).map_err(malformed)?;
        let mut scope = Scope::new(config)?;
        scope.restore(&mut Decoder(&state.scope)).map_err(malformed)?;
        let places = places(directory, key, &state.frontier)?;
        let place = Place { storage: Arc::new(FileSystem), directory: directory.join(VISITED) };
        let glimpse = Glimpse::of(key, &place, &state.visited).map_err(|error| visited(directory, error))?;
        let sketches = sketches::read(&FileSystem, directory, state.log)
            .map_err(KeptSketchesError::into_state)?
            .sketches;
        let mine = |attempt: &KeptAttempt| attempt.candidate.key == key;
        Ok(Self {
            directory,
            config,
            canonicalizer,
            key,
            target,
            log: state.log,
            seeds_taken: state.seeds_taken,
            schedule,
            origin: target.origin(),
            now,
            ledger: Ledger {
                scope,
                counters: state.counters,
                lengths: state.sinks.into_iter().map(|(number, seal)| (number, seal.whole.length)).collect(),
                standing: None,
                accepted: glimpse.accepted || !places.is_empty(),
                attempt: None,
                in_flight: false,
                queued: None,
                earlier: state.earlier,
                doubt: None,
                links: sketches.linked(0),
                links_to_host: sketches.linked(0),
            },
            sketches,
            places,
            attempts: state.attempts.into_iter().filter(|(_, attempt)| mine(attempt)).collect(),
            flying: state.in_flight.into_iter().collect(),
            doubt: glimpse.doubt,
        })
    }

    /// Replays the log; what comes out is how things stood at its end.
    fn finish(mut self) -> Result<Ledger, ExplainError> {
        let path = self.directory.join(log_name(self.log));
        let mut log = LogReader::open(&FileSystem, &path)?;
        let mut seeds_taken = self.seeds_taken;
        while let Some(record) = log.next_record()? {
            let offset = record.offset;
            let read = read_record::<Malformed>(record.payload, |change| {
                if let Change::Seeds(taken) = change {
                    seeds_taken = taken;
                }
                self.replay(change)
            });
            read.map_err(|Malformed| StateError::damaged(&path, offset, "a record is malformed"))?;
        }
        self.widen_scope(seeds_taken)?;
        let mut ledger = self.ledger;
        ledger.standing = self.schedule.standing(self.origin);
        ledger.links = self.sketches.linked(fingerprint(&self.target.canonical));
        ledger.links_to_host = self.sketches.linked(fingerprint(host_of(&self.target.requested)));
        ledger.doubt = self.doubt.map(|(_, candidate)| candidate);
        if let Some((ticket, candidate)) = self.places.into_iter().next() {
            ledger.in_flight = self.flying.contains(&ticket);
            ledger.attempt = self.attempts.remove(&ticket);
            ledger.queued = Some(candidate);
        }
        Ok(ledger)
    }

    fn replay(&mut self, change: Change) -> Result<(), Malformed> {
        match change {
            Change::Accept(ticket, candidate) | Change::Rescue(ticket, candidate) => {
                self.place(ticket, candidate);
            }
            Change::Move(from, to, candidate) => {
                self.places.remove(&from);
                self.place(to, candidate);
            }
            Change::Acknowledge(ticket) => {
                self.places.remove(&ticket);
                self.attempts.remove(&ticket);
            }
            Change::Doubt(number, candidate) if candidate.key == self.key => {
                self.doubt.get_or_insert((number, candidate));
            }
            Change::Retire(below) => self.doubt = self.doubt.take().filter(|(number, _)| *number >= below),
            Change::Retry(attempt) if attempt.candidate.key == self.key => {
                self.flying.remove(&attempt.ticket);
                self.attempts.insert(attempt.ticket, *attempt);
            }
            Change::Start(ticket) if self.places.contains_key(&ticket) => {
                self.flying.insert(ticket);
            }
            Change::Scope(url) => self.ledger.scope.add_moved_seed(&url),
            Change::Count(slot, n) => {
                self.ledger.counters.count(slot, n);
            }
            Change::Sink(number, range) => {
                let length = self.ledger.lengths.entry(number).or_default();
                *length = range.end().max(*length);
            }
            Change::Observed(observed) => self.sketches.links(&observed, None),
            Change::Host(state) => self.schedule.restore(&mut Decoder(&state), self.now)?,
            _ => {}
        }
        Ok(())
    }

    fn place(&mut self, ticket: Ticket, candidate: Candidate) {
        if candidate.key == self.key {
            self.ledger.accepted = true;
            self.places.insert(ticket, candidate);
        }
    }

    /// Seeds that were taken in after the manifest.
    fn widen_scope(&mut self, taken: u64) -> Result<(), StateError> {
        let before = self.seeds_taken;
        if taken <= before {
            return Ok(());
        }
        let path = self.directory.join("seeds");
        for seed in spanning(&path, self.config)?.take(taken as usize).skip(before as usize) {
            if let Ok(target) = self.canonicalizer.parse(&seed?) {
                self.ledger.scope.add_seed(&target.requested);
            }
        }
        Ok(())
    }
}

/// The places that a page has in the frontier, as the manifest knows it.
fn places(state: &Path, key: UrlKey, frontier: &[u8]) -> Result<HashMap<Ticket, Candidate>, StateError> {
    let settings = DiskSettings { memtable_bytes: 0, cache_bytes: 0, most_segments: 0 };
    let directory: PathBuf = state.join(FRONTIER);
    let found = DiskFrontier::restore(Arc::new(FileSystem), &directory, settings, &mut Decoder(frontier))
        .and_then(|frontier| frontier.find(key));
    let found = found.map_err(|error| match error {
        FrontierError::State(error) => error,
        _ => malformed_manifest(state),
    })?;
    Ok(found.into_iter().map(|claimed| (claimed.ticket, claimed.candidate)).collect())
}

fn visited(state: &Path, error: RestoreError) -> StateError {
    match error {
        RestoreError::Exact(error) => error.0,
        _ => malformed_manifest(state),
    }
}
