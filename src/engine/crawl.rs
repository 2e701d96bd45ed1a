//! The public face: build a crawl, run it, read its summary.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::builder::CrawlBuilder;
use super::core::{Core, CoreError};
use super::drive::Drive;
use super::observer::{Event, Observer};
use super::plan::PlanError;
use super::pressure::Pressure;
use super::reporter::Reporter;
use super::shutdown::StopHandle;
use super::worker::Shared;
use crate::budget::{Plan, release_unused};
use crate::config::{Config, ConfigError};
use crate::fetch::FetchSetupError;
use crate::frontier::Moment;
use crate::model::SkipReason;
use crate::sink::{CrawlDirectory, DirectoryError};
use crate::stats::{EndReason, Summary};
use crate::store::StateError;
use crate::url::SecretError;

/// Why a crawl could not begin. Nothing was fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// An option is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Too few files may be open.
    #[error(
        "--concurrency {concurrency} needs {needed} open files, and only {limit} are allowed; \
         raise the limit (ulimit -n) or give a lower --concurrency"
    )]
    OpenFiles {
        /// What the system allows.
        limit: u64,
        /// Requests in flight.
        concurrency: usize,
        /// What they need.
        needed: usize,
    },
    /// The memory cannot be had.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Somebody asked to stop before it began.
    #[error("stopped before anything was fetched")]
    Stopped,
    /// There is nothing to begin with.
    #[error("no seeds; name a URL, or a file of URLs with --seeds")]
    NoSeeds,
    /// None of the seeds can be one; how many there were, and what is wrong with the first.
    #[error("no seed is left: {0}")]
    NoSeedLeft(String),
    /// The crawl directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The network client cannot be made.
    #[error(transparent)]
    Fetch(#[from] FetchSetupError),
    /// The system gives no random numbers.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The state of a crawl cannot be kept, or what was kept cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Seeds could not be queued.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// The runtime cannot be made.
    #[error("cannot start the network runtime: {0}")]
    Runtime(std::io::Error),
}

/// Why a crawl ended before its time. What is written is good.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct CrawlError {
    /// How far it got.
    pub summary: Box<Summary>,
    /// What failed.
    pub source: CoreError,
}

/// A crawl, ready to run.
///
/// ```
/// use dragline::{Crawl, Options, Silent};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Nothing listens there, so this crawl gives the host up after a few tries.
/// let options = Options { retries: Some(0), ..Options::default() };
/// let crawl = Crawl::builder().options(options).seed("http://127.0.0.1:9/").build()?;
/// let summary = crawl.run(&mut Silent)?;
/// assert_eq!(summary.totals.pages.ok, 0);
/// # Ok(())
/// # }
/// ```
pub struct Crawl {
    pub(super) core: Core,
    pub(super) shared: Arc<Shared>,
    pub(super) plan: Plan,
    pub(super) directory: Option<CrawlDirectory>,
    pub(super) stop: StopHandle,
    pub(super) notes: Vec<String>,
}

impl Crawl {
    /// Begins with the defaults.
    pub fn builder() -> CrawlBuilder {
        CrawlBuilder::default()
    }

    /// How the memory budget is split.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// What the user should know of how this crawl will be done: that an address guard behind a
    /// proxy sees literals only, and that seeds were left out.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.shared.fetcher.guard_note().into_iter().chain(self.notes.iter().map(String::as_str))
    }

    /// Asks this crawl to stop, from wherever.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Where the results go, if to a crawl directory.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(CrawlDirectory::path)
    }

    /// Runs to the end, on a runtime of its own; not to be called from within another one.
    ///
    /// # Errors
    /// [`CrawlError`] where results could not be written any more.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<Summary, CrawlError> {
        let started = Instant::now();
        let (reason, failure) = match self.drive(observer, started) {
            Ok(reason) => (reason, None),
            Err(error) if error.is_disk_full() => (EndReason::DiskFull, Some(error)),
            Err(error) if error.is_damage() => (EndReason::StateDamaged, Some(error)),
            Err(error) => (EndReason::WriteFailed, Some(error)),
        };
        let reporter = self.reporter(started);
        if let Some(directory) = &mut self.directory {
            // The last line is the crawl's end; where it cannot be written the summary will say so.
            let _ = directory.statistics(&reporter.snapshot(&mut self.core));
        }
        let summary = reporter.summary(&mut self.core, reason);
        debug_assert!(failure.is_some() || self.core.adds_up(), "the counts do not add up");
        let written = match (&self.directory, failure) {
            (directory, Some(error)) => {
                // It is the first failure that is told; a summary beside it is worth the try.
                let _ = directory.as_ref().map(|directory| directory.summary(&summary));
                Err(error)
            }
            (Some(directory), None) => directory.summary(&summary).map_err(CoreError::from),
            (None, None) => Ok(()),
        };
        match written {
            Ok(()) => Ok(summary),
            Err(source) => Err(CrawlError { summary: Box::new(summary), source }),
        }
    }

    fn reporter(&self, started: Instant) -> Reporter {
        Reporter::new(self.shared.clone(), self.plan, started)
    }

    fn drive(&mut self, observer: &mut dyn Observer, started: Instant) -> Result<EndReason, CoreError> {
        // What the beginning needed is needed no more.
        release_unused();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(worker_threads(self.shared.config.memory))
            // nothing here blocks for long
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()?;
        let mut reporter = self.reporter(started);
        let directory = &mut self.directory;
        let mut tick = |core: &mut Core, now: Moment, observer: &mut dyn Observer| {
            reporter.tick(core, now, observer, directory.as_mut())
        };
        let pressure = Pressure::new(self.shared.config.memory, self.shared.fetcher.room());
        let before = Reached::of(&self.core);
        let drive = Drive {
            pressure,
            most_disk: self.shared.config.max_disk.map(|most| most_disk(most, &self.plan)),
            core: &mut self.core,
            shared: self.shared.clone(),
            observer,
            stop: self.stop.subscribe(),
            tick: &mut tick,
            started,
        };
        let end = runtime.block_on(drive.run());
        // What is still in flight is nobody's any more.
        runtime.shutdown_background();
        let end = end?;
        for sink in self.core.sinks() {
            sink.flush()?;
        }
        self.core.finish(Moment::START.after(started.elapsed()))?;
        for event in self.core.take_events() {
            observer.event(&event);
        }
        if end == EndReason::Done
            && let Some(skipped) = Reached::of(&self.core).nobody_since(&before)
        {
            observer.event(&Event::NobodyAnswered { skipped });
        }
        Ok(end)
    }
}

/// How far a crawl reached its hosts.
struct Reached {
    answered: u64,
    unreachable: u64,
}

impl Reached {
    fn of(core: &Core) -> Self {
        let unreachable = core.counters.skipped_after_queue.of(SkipReason::HostUnreachable);
        Self { answered: core.counters.ok, unreachable }
    }

    /// Pages skipped for want of a host, where the crawl had reached some before and none since.
    fn nobody_since(&self, before: &Self) -> Option<u64> {
        let skipped = self.unreachable - before.unreachable;
        (before.answered > 0 && self.answered == before.answered && skipped > 0).then_some(skipped)
    }
}

/// Bytes on disk at which a crawl stops for `--max-disk`: what is in memory then is still to be
/// written, and files are kept until their followers are named.
pub(super) fn most_disk(limit: u64, plan: &Plan) -> u64 {
    limit - (limit / 8 + plan.frontier + plan.doubts).min(limit / 2)
}

/// Threads for what the system can do only while a thread waits for it.
const BLOCKING_THREADS: usize = 4;
/// One thread for so many bytes of budget: each has a stack and buffers of its own.
const MEMORY_PER_THREAD: u64 = 8 << 20;

/// Threads for fetching and reading pages within `memory` bytes; the owner has one of its own.
fn worker_threads(memory: u64) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    processors.min(usize::try_from(memory / MEMORY_PER_THREAD).unwrap_or(usize::MAX)).max(1)
}
