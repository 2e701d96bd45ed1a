//! The owner's core with nobody around it: for measuring what one candidate costs, and for fuzzing
//! what is read of headers and of the state on disk.

mod kept;

pub use kept::{Answered, KeptProbe};

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::core::{Caps, Core, CoreSettings};
use super::hashes::hashes;
use super::job::{Job, Outcome, PageOutcome};
use super::next::Next;
use super::plan;
use super::traps::Traps;
use super::worker::new_outcome;
use crate::config::{Options, ScopeKind};
use crate::frontier::{HostShare, MemoryFrontier, Moment, Politeness, Schedule};
use crate::model::{LinkBatch, Via};
use crate::scope::Scope;
use crate::url::{KeySecret, Parts};

/// The pause that a `Retry-After` header asks for.
pub fn retry_after(value: &str) -> Option<Duration> {
    super::judge::pause_of(value)
}

/// A core whose pages are answered by the caller, at once.
pub struct OwnerProbe {
    core: Core,
    secret: KeySecret,
    flying: Vec<PageOutcome>,
    now: Moment,
}

impl OwnerProbe {
    /// A core with one seed, made for `urls` URLs.
    ///
    /// # Errors
    /// Where its memory cannot be had.
    pub fn new(urls: u64) -> Result<Self, Box<dyn std::error::Error>> {
        let options = Options {
            scope: Some(ScopeKind::Any),
            expected_urls: Some(crate::config::Count(urls)),
            memory: Some(crate::config::Size(1 << 30)),
            ..Options::default()
        };
        let config = options.resolve()?;
        let (plan, filter) = plan::plan(&config)?;
        let visited = plan::visited(&config, &plan, &filter)?;
        let politeness = Politeness {
            delay: Duration::ZERO,
            random_wait: false,
            address_delay: Duration::ZERO,
            max_crawl_delay: Duration::ZERO,
            per_host: usize::MAX,
            concurrency: usize::MAX,
            host_failures: 5,
            max_pages_per_host: None,
            seed: 1,
        };
        let settings = CoreSettings {
            retries: 0,
            max_pages: None,
            max_retry_after: Duration::ZERO,
            obey_robots: false,
            sitemaps: false,
            log_skipped: false,
            largest_filter: filter.largest,
            most_doubts: 4096,
            caps: Caps::default(),
        };
        let scope = Arc::new(RwLock::new(Scope::new(&config)?));
        scope.write().unwrap_or_else(PoisonError::into_inner).add_seed("http://seed.test/");
        let share = HostShare {
            open_bytes: plan.caches / 2,
            residue_bytes: plan.caches / 4,
            closed_rules_bytes: 0,
            secret: 1,
        };
        let schedule = Schedule::new(politeness, share, false);
        let traps = Traps::new(&config, plan.traps, 1);
        let sketches = plan::sketches(&config, &plan);
        let frontier = Box::new(MemoryFrontier::new());
        let core = Core::new(settings, frontier, visited, schedule, scope, Vec::new(), (traps, sketches));
        let mut probe =
            Self { core, secret: KeySecret::from_seed(1), flying: Vec::new(), now: Moment::START };
        let seeds = probe.batch(["http://seed.test/"].into_iter(), Via::Seed);
        probe.core.add_seeds(&seeds, 1, true)?;
        Ok(probe)
    }

    /// The links of a page, as a worker would hand them over.
    pub fn batch<'a>(&self, urls: impl Iterator<Item = &'a str>, via: Via) -> LinkBatch {
        let mut batch = LinkBatch::default();
        for url in urls {
            batch.push(url, Parts::of(url).origin_length, hashes(&self.secret, url), via, None);
        }
        batch
    }

    /// Takes the next page off the frontier; whether there was one.
    ///
    /// # Errors
    /// Where the core fails, which in memory it does not.
    pub fn start(&mut self) -> Result<bool, Box<dyn std::error::Error>> {
        self.now = self.now.after(Duration::from_micros(1));
        match self.core.next(self.now)? {
            Next::Ready(Job::Page(job)) => {
                self.flying.push(new_outcome(*job));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Ends the page that was taken last, with these links on it.
    ///
    /// # Errors
    /// Where the core fails, which in memory it does not.
    pub fn finish(&mut self, links: LinkBatch) -> Result<(), Box<dyn std::error::Error>> {
        if let Some(mut outcome) = self.flying.pop() {
            outcome.links = links;
            outcome.record.status = Some(200);
            self.core.apply(Outcome::Page(Box::new(outcome)), self.now)?;
        }
        Ok(())
    }

    /// Candidates that were new and those that were not.
    pub fn counts(&self) -> (u64, u64) {
        (self.core.counters().unique, self.core.counters().repeats)
    }
}
