//! A core whose state is kept in a storage that the caller gives, and whose pages the caller answers:
//! for making the files of a crawl, and for going on from files that are not as they were written.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::config::Options;
use crate::engine::builder::{core_settings, politeness};
use crate::engine::core::{Core, CoreError};
use crate::engine::crawl::SetupError;
use crate::engine::crawled::EarlierCrawls;
use crate::engine::hashes::hashes;
use crate::engine::job::{Job, Outcome, Verdict};
use crate::engine::keeper::Pace;
use crate::engine::next::Next;
use crate::engine::plan;
use crate::engine::seed_file::{SEEDS_AT_A_TIME, Taking};
use crate::engine::setup::Parts;
use crate::engine::shutdown::StopHandle;
use crate::engine::worker::new_outcome;
use crate::frontier::Moment;
use crate::model::{LinkBatch, SkipReason, Via};
use crate::scope::{Scope, canonical_rules};
use crate::sink::encode_line;
use crate::stats::Counters;
use crate::store::{Seal, Storage};
use crate::url::{Canonicalizer, KeySecret};
use crate::visited::KnownSettings;

/// Memory for what is to be on disk: so little that a few pages get there.
const FRONTIER_BYTES: u64 = 4 << 10;
const TABLE_BYTES: u64 = 64;
const DOUBTS_BYTES: u64 = 2 << 10;
const CACHES_BYTES: u64 = 64 << 10;
const TRAPS_BYTES: u64 = 64 << 10;

/// Steps after which a core that asks for none of its pages is given up.
const MOST_STEPS: usize = 10_000;

/// See the module's description.
pub struct KeptProbe {
    core: Core,
    secret: KeySecret,
    canonicalizer: Canonicalizer,
    scope: Arc<RwLock<Scope>>,
    now: Moment,
}

/// What a file of these seeds is, a line feed between each and the next.
fn seal(seeds: &[String]) -> Seal {
    let text = seeds.join("\n");
    Seal { length: text.len() as u64, crc32: crc32fast::hash(text.as_bytes()) }
}

/// How a page is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// With a record that stands.
    Well,
    /// With a failure that is worth another try.
    Badly,
    /// Not at all: the page stays in flight.
    Never,
}

impl KeptProbe {
    /// Begins a crawl, whose directory and its `state` must be there and empty.
    ///
    /// # Errors
    /// Where the options are wrong, or the storage fails.
    pub fn begin(
        storage: Arc<dyn Storage>,
        directory: &Path,
        options: &Options,
        seeds: &[String],
    ) -> Result<Self, SetupError> {
        let secret = KeySecret::from_seed(7);
        Self::over(storage, options, seeds, |parts| Ok((parts.begun(directory, &secret)?, secret)))
    }

    /// Goes on with the crawl in a directory, as if its process had died.
    ///
    /// # Errors
    /// Where the options are wrong, the storage fails, or what is there cannot be used.
    pub fn resume(
        storage: Arc<dyn Storage>,
        directory: &Path,
        options: &Options,
        seeds: &[String],
    ) -> Result<Self, SetupError> {
        let lines = seeds.iter().cloned().map(Ok);
        Self::over(storage, options, seeds, |parts| parts.resumed(directory, lines, true))
    }

    fn over(
        storage: Arc<dyn Storage>,
        options: &Options,
        seeds: &[String],
        open: impl FnOnce(Parts) -> Result<(Core, KeySecret), SetupError>,
    ) -> Result<Self, SetupError> {
        let config = Arc::new(options.resolve()?);
        let (mut plan, filter) = plan::plan(&config)?;
        (plan.frontier, plan.exact_table, plan.doubts) = (FRONTIER_BYTES, TABLE_BYTES, DOUBTS_BYTES);
        (plan.caches, plan.traps) = (CACHES_BYTES, TRAPS_BYTES);
        plan.sketches = config.budget_inputs().sketches.least;
        let scope = Arc::new(RwLock::new(Scope::new(&config)?));
        let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
        let parts = Parts {
            settings: core_settings(&config, &filter),
            plan,
            filter,
            politeness: politeness(&config, 1),
            scope: scope.clone(),
            sinks: Vec::new(),
            storage,
            pace: Pace { beside: false, ..Pace::default() },
            seeds: seal(seeds),
            canonicalizer: canonicalizer.clone(),
            config,
            earlier: EarlierCrawls::default(),
            known: KnownSettings { stretch: None },
        };
        let (mut core, secret) = open(parts)?;
        let (stop, most_disk) = (StopHandle::default(), None);
        let at_a_time = SEEDS_AT_A_TIME;
        let taking =
            Taking { canonicalizer: &canonicalizer, secret: &secret, stop: &stop, most_disk, at_a_time };
        taking.take(&mut core, seeds.iter().cloned().map(Ok), &[])?;
        Ok(Self { core, secret, canonicalizer, scope, now: Moment::START })
    }

    /// Takes the next page off the frontier and answers it, with these links on it; whether there was one.
    ///
    /// # Errors
    /// Where the core or the storage fails.
    pub fn page(&mut self, links: &[String], answered: Answered) -> Result<bool, CoreError> {
        for _ in 0..MOST_STEPS {
            self.core.commit()?;
            match self.core.next(self.now)? {
                Next::Ready(Job::Page(job)) => {
                    if answered != Answered::Never {
                        let mut outcome = new_outcome(*job);
                        outcome.links = self.batch(links);
                        outcome.record.status = Some(200);
                        if answered == Answered::Badly {
                            outcome.record.status = Some(503);
                            outcome.verdict = Verdict::Retry;
                        }
                        encode_line(&outcome.record, &mut outcome.line)?;
                        self.core.apply(Outcome::Page(Box::new(outcome)), self.now)?;
                    }
                    self.core.commit()?;
                    return Ok(true);
                }
                Next::NotBefore(at) => self.now = at,
                Next::Again => {}
                Next::Ready(_) | Next::Done(_) | Next::Blocked => return Ok(false),
            }
        }
        Ok(false)
    }

    fn batch(&self, links: &[String]) -> LinkBatch {
        let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
        let mut batch = LinkBatch::default();
        for target in links.iter().filter_map(|link| self.canonicalizer.parse(link).ok()) {
            let skip: Option<SkipReason> = scope.check(&target.requested, &target.parts).err();
            let hashes = hashes(&self.secret, &target.canonical);
            batch.push(&target.requested, target.parts.origin_length, hashes, Via::Link, skip);
        }
        batch
    }

    /// Makes everything durable and names it in a new manifest.
    ///
    /// # Errors
    /// Where the storage fails.
    pub fn checkpoint(&mut self) -> Result<(), CoreError> {
        self.now = self.now.after(Duration::from_millis(1));
        self.core.checkpoint(self.now)
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        self.core.counters()
    }

    /// Candidates that wait to be fetched, and those of which it is not known whether they are new.
    pub fn waiting(&self) -> [u64; 2] {
        [self.core.queued(), self.core.doubts_pending()]
    }
}
