//! Keeps the state of a crawl on disk: writes the log behind every change, and checkpoints.
//!
//! Order is everything here (`docs/ARCHITECTURE.md` tells why): bytes of the sinks before the
//! record that names them; what an outcome changed before anything is asked because of it;
//! everything a manifest names before the manifest; the manifest before anything it no longer names
//! is deleted. What is claimed, moved or rescued on the way to a request is written right after
//! it: a crash between the two asks once more, and loses nothing. After
//! a write or a sync that failed nothing is written any more: the crawl ends, and is resumed from
//! what is on disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Duration;

use super::core::{Core, CoreError};
use super::journal::{Journal, KeptAttempt};
use super::sketches::{self, sketches_name};
use super::state::{CrawlState, OpenQueue};
use crate::frontier::{Moment, Origin};
use crate::sink::ResultFiles;
use crate::store::{
    Encoder, LogWriter, SinkRange, StateError, Storage, SyncHandle, Synced, remove_unnamed, write_manifest,
};
use crate::url::KeySecret;

/// The manifest, in the state directory.
pub(crate) const MANIFEST: &str = "MANIFEST";

/// How often the state is made durable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Time between two syncs of log and sinks.
    pub(crate) sync_every: Duration,
    /// Syncs happen on a thread of their own.
    pub(crate) beside: bool,
    /// Time after which there is a checkpoint …
    pub(crate) checkpoint_every: Duration,
    /// … or bytes of log, whichever comes first.
    pub(crate) checkpoint_bytes: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            sync_every: Duration::from_millis(250),
            beside: true,
            checkpoint_every: Duration::from_secs(30),
            checkpoint_bytes: 64 << 20,
        }
    }
}

/// What merging keys ahead of time may take, several times a second.
const IDLE_WORK: Duration = Duration::from_millis(4);

/// Of the time that a crawl has run no more is lost when its process dies.
const TIME_NOTED_EVERY: Duration = Duration::from_secs(1);

/// Bytes of changes after which they are written, whatever else has come.
const MUCH: usize = 96 << 10;

/// Where in the state directory the frontier is …
pub(crate) const FRONTIER: &str = "frontier";
/// … and the exact keys and doubts.
pub(crate) const VISITED: &str = "visited";

/// The name of a log.
pub(crate) fn log_name(number: u64) -> String {
    format!("log-{number}")
}

/// The number of a log with this name.
pub(crate) fn log_number(name: &str) -> Option<u64> {
    name.strip_prefix("log-")?.parse().ok()
}

/// What is needed to keep a crawl's state.
pub(crate) struct KeeperSettings {
    pub(crate) storage: Arc<dyn Storage>,
    /// The state directory.
    pub(crate) directory: PathBuf,
    pub(crate) secret: KeySecret,
    /// Each record is synced before anything else happens.
    pub(crate) strict: bool,
    /// When there is a sync, and when a checkpoint.
    pub(crate) pace: Pace,
    /// Milliseconds since 1970 at [`Moment::START`].
    pub(crate) started_at: u64,
    /// Time that the crawl ran in earlier processes.
    pub(crate) elapsed_before: Duration,
}

/// See the module's description.
pub(crate) struct Keeper {
    settings: KeeperSettings,
    log: LogWriter,
    number: u64,
    /// The log that was replayed, until a manifest has taken its place.
    replayed: Vec<u64>,
    generation: u64,
    syncing: Syncing,
    synced_at: Moment,
    checkpoint_at: Moment,
    /// When it was last written down how long the crawl has run.
    timed_at: Moment,
    /// Bytes of the last manifest …
    manifest_bytes: u64,
    /// … and of the sketches beside it.
    sketches_bytes: u64,
}

/// Who waits for the disk.
enum Syncing {
    Here,
    Beside { requests: Sender<Vec<SyncHandle>>, answers: Receiver<Result<Synced, StateError>>, waiting: bool },
}

impl Keeper {
    /// Begins with log `number`, which no manifest names yet: a checkpoint has to follow.
    pub(crate) fn new(
        settings: KeeperSettings,
        number: u64,
        replayed: Option<u64>,
        generation: u64,
    ) -> Result<Self, StateError> {
        let path = settings.directory.join(log_name(number));
        let log = LogWriter::create(&*settings.storage, &path)?;
        let syncing = if settings.pace.beside { beside() } else { Syncing::Here };
        Ok(Self {
            settings,
            log,
            number,
            replayed: replayed.into_iter().collect(),
            generation,
            syncing,
            synced_at: Moment::START,
            checkpoint_at: Moment::START,
            timed_at: Moment::START,
            manifest_bytes: 0,
            sketches_bytes: 0,
        })
    }

    /// Milliseconds since 1970 at a moment.
    pub(crate) fn wall_clock(&self, at: Moment) -> u64 {
        self.settings.started_at.saturating_add(at.0 / 1000)
    }

    /// Microseconds since 1970 at [`Moment::START`].
    pub(crate) fn epoch(&self) -> u64 {
        self.settings.started_at.saturating_mul(1000)
    }

    /// How long the crawl has run at a moment, in earlier processes too.
    fn elapsed(&self, at: Moment) -> Duration {
        self.settings.elapsed_before + at.since(Moment::START)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.settings.directory.join(name)
    }

    fn storage(&self) -> &dyn Storage {
        &*self.settings.storage
    }
}

/// A thread that waits for the disk; it ends when the keeper does.
fn beside() -> Syncing {
    let (requests, work) = mpsc::channel::<Vec<SyncHandle>>();
    let (done, answers) = mpsc::channel();
    let wait = move || {
        for handles in work {
            if done.send(sync_all(handles)).is_err() {
                break;
            }
        }
    };
    match std::thread::Builder::new().name("sync".into()).stack_size(64 << 10).spawn(wait) {
        Ok(_) => Syncing::Beside { requests, answers, waiting: false },
        // Without a thread to spare the owner waits itself.
        Err(_) => Syncing::Here,
    }
}

/// Syncs in order; the last is the log, whose answer counts.
fn sync_all(handles: Vec<SyncHandle>) -> Result<Synced, StateError> {
    let mut last = None;
    for handle in handles {
        last = Some(handle.sync()?);
    }
    last.ok_or_else(|| StateError::Io {
        file: PathBuf::new(),
        source: std::io::Error::other("there was nothing to sync"),
    })
}

impl Core {
    /// Writes down everything that has changed: sinks, then log. Nothing is kept where there is no
    /// crawl directory.
    pub(crate) fn commit(&mut self) -> Result<(), CoreError> {
        let (Some(keeper), Some(files)) = (&mut self.keeper, &mut self.files) else {
            return Ok(());
        };
        if self.journal.is_empty() && !files.is_unwritten() {
            return Ok(());
        }
        let mut ranges: Vec<(u64, SinkRange)> = files.write()?;
        ranges.retain(|(_, range)| range.length > 0);
        keeper.log.append(self.journal.finish(&mut self.counters, &ranges))?;
        self.journal.clear();
        keeper.log.write()?;
        if keeper.settings.strict {
            files.sync()?;
            keeper.log.sync()?;
        }
        Ok(())
    }

    /// From here on every change is written down. A checkpoint has to follow.
    pub(crate) fn keep_state(&mut self, keeper: Keeper, files: ResultFiles) {
        self.journal = Journal::kept(self.counters.clone());
        self.keeper = Some(keeper);
        self.files = Some(files);
    }

    /// Time that the crawl ran in earlier processes.
    pub(crate) fn elapsed_before(&self) -> Duration {
        self.keeper.as_ref().map_or(Duration::ZERO, |keeper| keeper.settings.elapsed_before)
    }

    /// Whether so much has gathered that it should be written before more does.
    pub(crate) fn has_much_to_write(&self) -> bool {
        self.journal.length() >= MUCH
    }

    /// Bytes on disk of state, results and statistics: all but configuration and summary, which are small.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let log = self
            .keeper
            .as_ref()
            .map_or(0, |keeper| keeper.log.length() + keeper.manifest_bytes + keeper.sketches_bytes);
        let results = self.files.as_ref().map_or(0, ResultFiles::bytes) + self.statistics_bytes;
        let taken_in = self.seeds.length + self.crawled.earlier().disk_bytes();
        log + taken_in + results + self.frontier.disk_bytes() + self.visited.disk_bytes()
    }

    /// The process is about to end in order: what is in flight is to be asked for again.
    pub(crate) fn finish(&mut self, now: Moment) -> Result<(), CoreError> {
        for (ticket, before) in std::mem::take(&mut self.tickets_in_flight) {
            if let Some(before) = before {
                self.kept_attempts.insert(ticket, *before);
            }
        }
        self.checkpoint(now)?;
        let Some(keeper) = &self.keeper else { return Ok(()) };
        // A merge that was under way goes no further.
        for (place, names) in [(FRONTIER, self.frontier.named_files()), (VISITED, self.visited.named_files())]
        {
            let names: HashSet<String> = names.into_iter().collect();
            remove_unnamed(keeper.storage(), &keeper.path(place), &names)?;
        }
        Ok(())
    }

    /// Lets the next record say how long the crawl has run, where the last one that did is old.
    fn note_time(&mut self, now: Moment) {
        let Some(keeper) = &mut self.keeper else { return };
        if now >= keeper.timed_at.after(TIME_NOTED_EVERY) {
            keeper.timed_at = now;
            self.journal.elapsed(keeper.elapsed(now));
        }
    }

    /// To be called several times a second: syncs what is written, and checkpoints where it is time.
    pub(crate) fn keep(&mut self, now: Moment) -> Result<(), CoreError> {
        self.note_time(now);
        self.commit()?;
        self.visited.idle_work(IDLE_WORK)?;
        let (Some(keeper), Some(files)) = (&mut self.keeper, &mut self.files) else {
            return Ok(());
        };
        if now >= keeper.checkpoint_at || keeper.log.length() >= keeper.settings.pace.checkpoint_bytes {
            return self.checkpoint(now);
        }
        if let Syncing::Beside { answers, waiting, .. } = &mut keeper.syncing
            && *waiting
        {
            match answers.try_recv() {
                Ok(synced) => {
                    *waiting = false;
                    keeper.log.mark(&synced?)?;
                }
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => keeper.syncing = Syncing::Here,
            }
        }
        if now < keeper.synced_at.after(keeper.settings.pace.sync_every) || !keeper.log.has_unmarked() {
            return Ok(());
        }
        keeper.synced_at = now;
        // A mark vouches for the sinks as well: what the log held before theirs was handed over.
        let log = keeper.log.sync_handle()?;
        let mut handles = files.sync_handles()?;
        handles.push(log);
        match &mut keeper.syncing {
            Syncing::Beside { requests, waiting, .. } if requests.send(handles).is_ok() => *waiting = true,
            _ => {
                files.sync()?;
                keeper.log.sync()?;
            }
        }
        Ok(())
    }

    /// Makes everything durable and names it in a new manifest, with a new, empty log to go on from.
    pub(crate) fn checkpoint(&mut self, now: Moment) -> Result<(), CoreError> {
        self.commit()?;
        let (Some(keeper), Some(files)) = (&mut self.keeper, &mut self.files) else {
            return Ok(());
        };
        files.sync()?;
        keeper.log.sync()?;
        let number = keeper.number.saturating_add(1);
        // before the log, whose place in the directory is made durable with its own
        let of = (&keeper.settings.secret, &self.counters);
        let sketches_bytes =
            sketches::write(keeper.storage(), &keeper.settings.directory, number, of, &self.sketches)?;
        let log = LogWriter::create(keeper.storage(), &keeper.path(&log_name(number)))?;
        self.frontier.prepare_checkpoint()?;
        self.visited.prepare_checkpoint()?;
        let sinks = files.seals()?;
        let state = CrawlState { sinks, ..self.state(number, now)? };
        self.journal.counted(&self.counters);
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        let body = state.encode();
        let generation = keeper.generation.saturating_add(1);
        write_manifest(keeper.storage(), &keeper.path(MANIFEST), generation, &body)?;
        keeper.manifest_bytes = body.len() as u64;
        keeper.generation = generation;
        keeper.log = log;
        keeper.sketches_bytes = sketches_bytes;
        let mut old = std::mem::take(&mut keeper.replayed);
        old.push(keeper.number);
        keeper.number = number;
        keeper.checkpoint_at = now.after(keeper.settings.pace.checkpoint_every);
        for number in old {
            remove(keeper.storage(), &keeper.path(&log_name(number)))?;
            remove(keeper.storage(), &keeper.path(&sketches_name(number)))?;
        }
        self.frontier.checkpoint_done()?;
        self.visited.checkpoint_done()?;
        Ok(())
    }

    /// Where the crawl stands, for a manifest that names log `number`.
    fn state(&self, number: u64, now: Moment) -> Result<CrawlState, CoreError> {
        let Some(keeper) = &self.keeper else { return Ok(CrawlState::empty(KeySecret::from_seed(0))) };
        let mut state = CrawlState::empty(keeper.settings.secret.clone());
        state.log = number;
        state.elapsed = keeper.elapsed(now);
        let kept = self.kept_attempts.values().cloned();
        let waiting = self.schedule.origins().flat_map(Origin::attempts);
        let waiting = waiting.map(|(at, attempt)| KeptAttempt::new(attempt, keeper.wall_clock(at)));
        let flying = self.tickets_in_flight.values().flatten().map(|before| (**before).clone());
        let all = kept.chain(waiting).chain(flying);
        state.attempts = all.map(|attempt| (attempt.ticket, attempt)).collect();
        self.schedule.encode_host_state(keeper.epoch(), &mut state.schedule);
        state.seeds = self.seeds;
        (state.seeds_taken, state.seeds_complete) = (self.seeds_taken, self.seeds_complete);
        state.queues = self
            .schedule
            .origins()
            .map(|origin| OpenQueue {
                queue: origin.queue,
                origin: (&*origin.name).into(),
                candidates: origin.unclaimed + origin.held(),
            })
            .collect();
        state.in_buckets = self.buckets.waiting();
        state.counters = self.counters.clone();
        state.in_flight = self.tickets_in_flight.keys().copied().collect();
        state.suspects.clone_from(&self.suspects);
        let scope = self.scope.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        scope.encode(&mut Encoder(&mut state.scope));
        self.frontier.encode_state(&mut Encoder(&mut state.frontier))?;
        self.visited.encode_state(&mut Encoder(&mut state.visited));
        self.traps.encode(&mut Encoder(&mut state.traps));
        state.examples = self.examples.clone();
        state.earlier = self.crawled.earlier().clone();
        Ok(state)
    }
}

/// Deletes a file; one that is not there is as good.
fn remove(storage: &dyn Storage, path: &Path) -> Result<(), StateError> {
    match storage.remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StateError::io(path)(error)),
        _ => Ok(()),
    }
}
