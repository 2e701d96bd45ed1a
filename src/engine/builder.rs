//! From options, seeds and a place for results to a crawl that is ready to run.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use super::core::{Caps, CoreSettings};
use super::crawl::{Crawl, SetupError, most_disk};
use super::crawled::{EarlierCrawls, gather, kept_in, kept_nowhere};
use super::keeper::Pace;
use super::plan::{FilterPlan, PlanError, plan, plan_knowing};
use super::seed_file::{self, SEEDS_AT_A_TIME, SeedList, Taking};
use super::seeds::{LeftOut, SeedRoom, SeedSpool};
use super::setup::Parts;
use super::shutdown::StopHandle;
use super::worker::Shared;
use crate::budget::Plan;
use crate::config::{Config, Options, RobotsPolicy, Sitemaps};
use crate::extract::ExtractLimits;
use crate::fetch::Fetcher;
use crate::frontier::Politeness;
use crate::model::LinkBatch;
use crate::scope::{Scope, SeedJudge, canonical_rules};
use crate::sink::{CrawlDirectory, Sink};
use crate::store::{FileSystem, Seal, StateError};
use crate::url::{Canonicalizer, KeySecret, SecretError};

/// Where the results go.
#[derive(Debug, Default)]
enum Output {
    /// To the sinks only.
    #[default]
    Nowhere,
    Path(PathBuf),
    Claimed(CrawlDirectory),
    Resumed(CrawlDirectory),
}

/// Gathers what a crawl needs. See [`Crawl::builder`].
#[derive(Default)]
pub struct CrawlBuilder {
    options: Options,
    seeds: Vec<Box<dyn Iterator<Item = String>>>,
    output: Output,
    fresh: bool,
    stop: StopHandle,
    sinks: Vec<Box<dyn Sink>>,
    seed: Option<u64>,
}

impl CrawlBuilder {
    /// Sets options; the same that the command line and `crawl.toml` know.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Adds a seed.
    #[must_use]
    pub fn seed(self, url: impl Into<String>) -> Self {
        self.seeds(std::iter::once(url.into()))
    }

    /// Adds seeds. They are read once, as a stream; what [can be none](crate::scope::SeedJudge) is left
    /// out, which [`Crawl::notes`] tells.
    #[must_use]
    pub fn seeds(mut self, urls: impl IntoIterator<Item = String> + 'static) -> Self {
        self.seeds.push(Box::new(urls.into_iter()));
        self
    }

    /// Writes a crawl directory.
    #[must_use]
    pub fn output(mut self, directory: impl Into<PathBuf>) -> Self {
        self.output = Output::Path(directory.into());
        self
    }

    /// Writes into a crawl directory that is claimed already. Seeds that were gathered in
    /// [`CrawlDirectory::incoming_seeds`] are its seeds, by the judgement of whoever gathered them (see
    /// [`SeedJudge`](crate::scope::SeedJudge)), and then those given here are not looked at.
    #[must_use]
    pub fn directory(mut self, directory: CrawlDirectory) -> Self {
        self.output = Output::Claimed(directory);
        self
    }

    /// Goes on with the crawl in a directory that was [reopened](CrawlDirectory::reopen); its seeds
    /// are those it began with.
    #[must_use]
    pub fn resume(mut self, directory: CrawlDirectory) -> Self {
        self.output = Output::Resumed(directory);
        self
    }

    /// Deletes a crawl that stands in the crawl directory.
    #[must_use]
    pub fn fresh(mut self, fresh: bool) -> Self {
        self.fresh = fresh;
        self
    }

    /// Hears through this handle when it is to stop, from [`build`](Self::build) on.
    #[must_use]
    pub fn stop_handle(mut self, stop: StopHandle) -> Self {
        self.stop = stop;
        self
    }

    /// Adds a sink for pages.
    #[must_use]
    pub fn sink(mut self, sink: impl Sink + 'static) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }

    /// Makes the crawl's secret, and so the filter's false positives, repeatable: for tests and
    /// benchmarks only, since whoever knows the secret can aim at the filter.
    #[must_use]
    pub fn secret_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Checks everything and queues the seeds.
    ///
    /// # Errors
    /// [`SetupError`], with nothing fetched.
    pub fn build(self) -> Result<Crawl, SetupError> {
        let config = Arc::new(self.options.resolve()?);
        check_open_files(config.concurrency)?;
        // Refuses what no seeds can mend before any is looked at.
        plan(&config)?;
        let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
        let scope = Arc::new(RwLock::new(Scope::new(&config)?));
        let (politeness, sinks, stop) = (politeness(&config, self.seed.unwrap_or(1)), self.sinks, self.stop);
        let parts = |given: Given<'_>| -> Result<Parts, PlanError> {
            parts(&config, &canonicalizer, &scope, politeness, sinks, given)
        };
        let mut notes = Vec::new();
        let limit = |plan: &Plan| config.max_disk.map(|limit| most_disk(limit, plan));
        let taking = |secret, plan: &Plan| Taking {
            canonicalizer: &canonicalizer,
            secret,
            at_a_time: SEEDS_AT_A_TIME,
            stop: &stop,
            most_disk: limit(plan),
        };
        let given = self.seeds.into_iter().flatten().take_while(|_| !stop.is_requested());
        let (judge, mut left_out) = (SeedJudge::of(&config), LeftOut::default());
        let (mut core, secret, fetcher, directory, plan) = match self.output {
            Output::Nowhere => {
                let seeds: Vec<String> = left_out.sort(given, &judge).collect();
                stop.check()?;
                let list = seeds.iter().cloned().map(Ok);
                let list = seed_list(&left_out, list, &canonicalizer, &config, &stop)?;
                let parts =
                    parts(Given { list: &list, seeds: Seal::default(), earlier: kept_nowhere(&config)? })?;
                let secret = new_secret(self.seed)?;
                let plan = parts.plan;
                let mut core = parts.in_memory(&secret)?;
                let taking = taking(&secret, &plan);
                taking.take(&mut core, seeds.into_iter().map(Ok), &config.sitemap)?;
                (core, secret, Fetcher::new(&config, list.into_hosts(), plan.fetch_memory())?, None, plan)
            }
            output @ (Output::Path(_) | Output::Claimed(_)) => {
                let mut directory = claimed(output, self.fresh)?;
                let incoming = directory.incoming_seeds();
                if !incoming.exists() {
                    let mut spool = SeedSpool::create(&incoming, &config)?;
                    left_out.sort(given, &judge).try_for_each(|seed| spool.add(&seed))?;
                    spool.finish()?;
                }
                // Seeds cut short by it are neither all nor none.
                stop.check()?;
                let lines = seed_file::lines(&incoming)?;
                let list = seed_list(&left_out, lines, &canonicalizer, &config, &stop)?;
                let (own, into) = (directory.path(), directory.incoming_crawled());
                let taken = list.bytes(&config);
                let earlier = gather(&config, &canonicalizer, own, into, taken, &stop)?;
                let parts = parts(Given { list: &list, seeds: seed_file::seal(&incoming)?, earlier })?;
                let plan = parts.plan;
                notes.extend(parts.earlier.notes(parts.known));
                SeedRoom::beside(&config, &plan)
                    .check_with(parts.seeds.length, parts.earlier.disk_bytes())?;
                let fetcher = Fetcher::new(&config, list.into_hosts(), plan.fetch_memory())?;
                let frozen = Options::from(&*config).to_toml()?;
                let secret = new_secret(self.seed)?;
                directory.begin()?;
                let mut core = parts.begun(directory.path(), &secret)?;
                directory.seal(&frozen)?;
                let taking = taking(&secret, &plan);
                taking.take(&mut core, seed_file::lines(&directory.seeds())?, &config.sitemap)?;
                (core, secret, fetcher, Some(directory), plan)
            }
            Output::Resumed(directory) => {
                let path = directory.seeds();
                // That there are none is for their seal to tell.
                let list = SeedList::read(seed_file::lines(&path)?, &canonicalizer, &config, &stop)?;
                let earlier = kept_in(&directory.state(), &config)?;
                let parts = parts(Given { list: &list, seeds: seed_file::seal(&path)?, earlier })?;
                let plan = parts.plan;
                notes.extend(parts.earlier.notes(parts.known));
                let fetcher = Fetcher::new(&config, list.into_hosts(), plan.fetch_memory())?;
                let frozen = Options::from(&*config).to_toml()?;
                let died = !directory.has_summary();
                let spanning = seed_file::spanning(&path, &config)?;
                let (mut core, secret) = parts.resumed(directory.path(), spanning, died)?;
                core.statistics_bytes = directory.statistics_bytes();
                directory.go_on(&frozen)?;
                let taking = taking(&secret, &plan);
                taking.take(&mut core, seed_file::lines(&path)?, &config.sitemap)?;
                (core, secret, fetcher, Some(directory), plan)
            }
        };
        let names = fetcher.clone();
        core.ask_ahead(move |host| names.asks_dns(host));
        let (limits, batch_text) = link_limits(plan.in_flight().one, config.max_links_per_page);
        let shared = Arc::new(Shared {
            config,
            fetcher,
            canonicalizer,
            secret,
            scope,
            keep_bodies: core.sinks().iter().any(|sink| sink.wants_bodies()),
            limits,
            batch_text,
            steps: std::sync::Mutex::default(),
            scratch: std::sync::Mutex::default(),
        });
        notes.extend(left_out.note());
        Ok(Crawl { core, shared, plan, directory, stop, notes })
    }
}

/// The directory that a new crawl goes into.
fn claimed(output: Output, fresh: bool) -> Result<CrawlDirectory, SetupError> {
    match output {
        Output::Path(path) => Ok(CrawlDirectory::claim(&path, fresh)?),
        Output::Claimed(directory) | Output::Resumed(directory) => Ok(directory),
        Output::Nowhere => Err(SetupError::NoSeeds),
    }
}

fn new_secret(seed: Option<u64>) -> Result<KeySecret, SecretError> {
    seed.map_or_else(KeySecret::random, |seed| Ok(KeySecret::from_seed(seed)))
}

/// What a crawl begins with, beside its configuration.
struct Given<'a> {
    list: &'a SeedList,
    /// What the file of seeds is, where there is one.
    seeds: Seal,
    earlier: EarlierCrawls,
}

/// What the core is made of, beside the seeds.
fn parts(
    config: &Arc<Config>,
    canonicalizer: &Canonicalizer,
    scope: &Arc<RwLock<Scope>>,
    politeness: Politeness,
    sinks: Vec<Box<dyn Sink>>,
    given: Given<'_>,
) -> Result<Parts, PlanError> {
    let Given { list, seeds, earlier } = given;
    let sets: Vec<_> = earlier.sets().collect();
    let beside = |seeds| plan_knowing(config, seeds, &sets);
    let planned = beside(list.bytes(config));
    // What fits without them has no room for the seeds.
    let blamed = |error| if beside(0).is_ok() { list.blamed(config, error) } else { error };
    let (plan, filter, known) = planned.map_err(blamed)?;
    Ok(Parts {
        settings: core_settings(config, &filter),
        plan,
        filter,
        politeness,
        scope: scope.clone(),
        sinks,
        storage: Arc::new(FileSystem),
        pace: Pace::default(),
        seeds,
        canonicalizer: canonicalizer.clone(),
        config: config.clone(),
        earlier,
        known,
    })
}

/// Bytes that a link is reckoned with where the budget bounds their number: its place in the reader
/// and in the batch, and in the tables that tell links apart.
const LINK_BYTES: u64 = 256;

/// Bounds on the links of one page, whose body and outcome may take `bytes`: `most` of them, or
/// what fits. And the bytes of all their URLs.
fn link_limits(bytes: u64, most: u64) -> (ExtractLimits, usize) {
    let part = |divisor: u64| usize::try_from(bytes / divisor).unwrap_or(usize::MAX);
    let usual = ExtractLimits::default();
    let limits = ExtractLimits {
        max_links: usize::try_from(most).unwrap_or(usize::MAX).min(part(2 * LINK_BYTES)),
        max_link_bytes: usual.max_link_bytes.min(part(8)),
    };
    (limits, LinkBatch::MAX_TEXT.min(part(4)))
}

/// Goes through the seeds; fails where there is none.
fn seed_list(
    left_out: &LeftOut,
    seeds: impl Iterator<Item = Result<String, StateError>>,
    canonicalizer: &Canonicalizer,
    config: &Config,
    stop: &StopHandle,
) -> Result<SeedList, SetupError> {
    let list = SeedList::read(seeds, canonicalizer, config, stop)?;
    if list.seeds == 0 && config.sitemap.is_empty() {
        return Err(left_out.note().map_or(SetupError::NoSeeds, SetupError::NoSeedLeft));
    }
    Ok(list)
}

/// Files that a crawl has open beside those of its requests: segments of the frontier, twice as
/// many as there may be while they are merged, runs of keys, and what every process has.
const OTHER_FILES: usize = 512;

/// Files that a crawl with so many requests in flight may have open.
pub(super) fn files_needed(concurrency: usize) -> usize {
    // Idle connections are kept beside those in use.
    concurrency.saturating_mul(2).saturating_add(OTHER_FILES)
}

/// Fails where the system lets this process have too few files open for the connections wanted:
/// every host would seem to be down.
fn check_open_files(concurrency: usize) -> Result<(), SetupError> {
    let Some(limit) = crate::budget::most_open_files() else { return Ok(()) };
    let needed = files_needed(concurrency);
    if limit >= needed as u64 {
        return Ok(());
    }
    Err(SetupError::OpenFiles { limit, concurrency, needed })
}

pub(super) fn politeness(config: &Config, seed: u64) -> Politeness {
    Politeness {
        delay: config.delay,
        random_wait: config.random_wait,
        address_delay: config.ip_delay,
        max_crawl_delay: config.max_crawl_delay,
        per_host: config.per_host,
        concurrency: config.concurrency,
        host_failures: HOST_FAILURES,
        max_pages_per_host: config.max_pages_per_host,
        seed,
    }
}

/// Failures of a host in a row after which it is given up; the pauses before are 1, 2, 4 and 8 seconds.
const HOST_FAILURES: u32 = 5;
/// Doubts that may gather on disk, some 40 bytes each, before settling them comes before all else.
const MOST_DOUBTS: u64 = 4_000_000;

pub(super) fn core_settings(config: &Config, filter: &FilterPlan) -> CoreSettings {
    CoreSettings {
        retries: config.retries,
        max_pages: config.max_pages,
        max_retry_after: config.max_retry_after,
        obey_robots: config.robots == RobotsPolicy::Obey,
        sitemaps: config.sitemaps == Sitemaps::Auto,
        log_skipped: config.log_skipped,
        largest_filter: filter.largest,
        most_doubts: MOST_DOUBTS,
        caps: Caps {
            depth: config.depth,
            max_redirects: config.max_redirects,
            max_pages_per_host: config.max_pages_per_host,
            sitemap_since: config.sitemap_since.clone(),
        },
    }
}
