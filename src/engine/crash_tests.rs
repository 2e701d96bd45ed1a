//! Power cuts and kills at every operation of storage, against a simulated web and a simulated
//! disk: whatever was on it, the crawl goes on, loses no page and writes no record twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use super::core::{Caps, CoreError, CoreSettings};
use super::core_tests::{Answer, Records, Simulation, Web};
use super::crawl::SetupError;
use super::crawled::{CRAWLED, EarlierCrawls};
use super::job::Outcome;
use super::keeper::Pace;
use super::next::Next;
use super::seed_file::Taking;
use super::setup::Parts;
use super::shutdown::{StopHandle, Urgency};
use super::sitemap::Part;
use crate::config::{Config, CrawlStrategy, Options, ScopeKind};
use crate::frontier::{Moment, Politeness};
use crate::model::{ErrorKind, LinkBatch, SkipReason, Via};
use crate::scope::Scope;
use crate::stats::EndReason;
use crate::store::simulated::{Cuts, SimulatedDisk};
use crate::store::{Seal, Storage};
use crate::url::{Canonicalizer, KeySecret, Rules};
use crate::visited::{KeySorter, KnownSettings, Place};

const DIRECTORY: &str = "crawl";
const SITEMAP: &str = "http://h0.test/s.xml";

/// Some hosts full of links, with redirects, failures, refusals and a host that is down.
fn web() -> Web {
    let mut web = Web { latency: Duration::from_millis(70), ..Web::default() };
    let url = |host: u32, n: u32| format!("http://h{host}.test/{n}");
    for host in 0..3 {
        for n in 0..12 {
            let links: Vec<String> = (0..6)
                .map(|step| url((host + step) % 3, (n * 5 + step * 7 + 1) % 12))
                .chain((n == 3).then(|| url(9, n)))
                .chain((n == 4).then(|| format!("http://h{host}.test/private/{n}")))
                .collect();
            web.answers(&url(host, n), vec![Answer::Links(links)]);
        }
        web.answers(&url(host, 5), vec![Answer::Redirect(url(host, 6))]);
        web.answers(&url(host, 7), vec![Answer::Status(500), Answer::Links(vec![url(host, 11)])]);
        web.answers(&url(host, 8), vec![Answer::Status(503)]);
        web.robots.insert(format!("http://h{host}.test"), vec![Ok("User-agent: *\nDisallow: /private/\n")]);
    }
    // another spelling of itself, where http and https are one; else a page of another host
    web.answers(&url(1, 2), vec![Answer::Same("https://h1.test/2".into())]);
    web.page("https://h1.test/2", &["http://h2.test/3"]);
    web.answers("http://h3.test/0", vec![Answer::Redirect("http://moved.example/".into())]);
    web.page("http://moved.example/", &["http://moved.example/a", "http://h0.test/1"]);
    web.page("http://moved.example/a", &[]);
    web.answers(&url(9, 3), vec![Answer::Fails(ErrorKind::Connect)]);
    let named: Vec<String> =
        (0..9).flat_map(|n| [url(n % 3, n), format!("http://h{}.test/s{n}", n % 2)]).collect();
    web.answers(SITEMAP, vec![Answer::Links(named)]);
    web
}

fn seeds() -> impl Iterator<Item = String> {
    ["http://h0.test/0", "http://h1.test/0", "http://h2.test/0", "http://h3.test/0"]
        .into_iter()
        .map(str::to_owned)
}

/// What kind of crawl it is that crashes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Strict,
    /// Hardly any host fits into memory, each has a limit, a seed redirects out of scope, and http
    /// and https are one.
    Cramped,
    /// An earlier crawl fetched some of the pages.
    Skipping,
    /// Candidates are put off.
    BestFirst,
}

/// Records of one host in a cramped crawl.
const HOST_LIMIT: u64 = 9;

fn options(kind: Kind) -> Options {
    let cramped = kind == Kind::Cramped;
    Options {
        scope: Some(if cramped { ScopeKind::Domain } else { ScopeKind::Any }),
        strict: Some(kind == Kind::Strict),
        strategy: (kind == Kind::BestFirst).then_some(CrawlStrategy::BestFirst),
        fold_https: Some(cramped),
        max_pages_per_host: cramped.then_some(crate::config::Count(HOST_LIMIT)),
        log_skipped: Some(cramped || kind == Kind::Skipping),
        expected_urls: Some(crate::config::Count(10)),
        bits_per_url: Some(2.0),
        ..Options::default()
    }
}

/// A crawl on this disk: begun, or gone on with where one has begun.
fn open(disk: &SimulatedDisk, kind: Kind) -> Result<Simulation, SetupError> {
    open_until(disk, kind, &StopHandle::default())
}

/// Seeds taken in at a time, fewer than there are.
const SEEDS_AT_A_TIME: u64 = 2;

/// The same where somebody may have asked to stop, so that only the first of the seeds are taken in.
fn open_until(disk: &SimulatedDisk, kind: Kind, stop: &StopHandle) -> Result<Simulation, SetupError> {
    let config: Arc<Config> = Arc::new(options(kind).resolve().expect("valid options"));
    let scope = Arc::new(RwLock::new(Scope::new(&config).expect("valid scope")));
    let (mut plan, filter) = super::plan::plan(&config).expect("enough memory");
    // so small that all of it spills
    (plan.frontier, plan.exact_table, plan.doubts) = (4 << 10, 64, 2 << 10);
    plan.sketches = config.budget_inputs().sketches.least;
    if kind == Kind::Cramped {
        plan.caches = 4 << 10;
    }
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let canonicalizer = Canonicalizer::new(Rules { fold_https: kind == Kind::Cramped, ..Rules::default() });
    let mut parts = Parts {
        settings: settings(&config, &filter),
        plan,
        filter,
        politeness: politeness(&config),
        scope: scope.clone(),
        sinks: Vec::new(),
        storage: storage.clone(),
        seeds: Seal::default(),
        pace: Pace {
            sync_every: Duration::from_millis(100),
            beside: false,
            checkpoint_every: Duration::from_millis(700),
            checkpoint_bytes: 1 << 20,
        },
        canonicalizer: canonicalizer.clone(),
        config: config.clone(),
        earlier: EarlierCrawls::default(),
        known: KnownSettings { stretch: Some(2) },
    };
    let directory = Path::new(DIRECTORY);
    let sealed = directory.join("crawl.toml");
    let (mut core, secret) = if storage.open(&sealed).is_ok() {
        parts.resumed(directory, seeds().map(Ok), true)?
    } else {
        let secret = KeySecret::from_seed(7);
        clear(&*storage);
        storage.create_directory(&directory.join("state")).map_err(fault)?;
        if kind == Kind::Skipping {
            parts.earlier = earlier(&storage)?;
        }
        let core = parts.begun(directory, &secret)?;
        storage.create(&sealed).and_then(|file| file.sync()).map_err(fault)?;
        storage.sync_directory(directory).map_err(fault)?;
        (core, secret)
    };
    let sitemaps = if kind == Kind::Cramped { Vec::new() } else { vec![SITEMAP.to_owned()] };
    let taking = Taking {
        canonicalizer: &canonicalizer,
        secret: &secret,
        at_a_time: SEEDS_AT_A_TIME,
        stop,
        most_disk: None,
    };
    taking.take(&mut core, seeds().map(Ok), &sitemaps)?;
    Ok(Simulation {
        core,
        web: web(),
        scope,
        canonicalizer,
        secret,
        concurrency: 4,
        now: Moment::START,
        flying: Vec::new(),
        log: Vec::new(),
        asked: HashMap::new(),
        records: Records::default(),
        depth: None,
        most_open: 0,
        most_bytes: 0,
    })
}

/// Pages that an earlier crawl fetched, among them one that is a seed, and one that is in doubt at first.
const FETCHED: [&str; 5] =
    ["http://h0.test/0", "http://h0.test/9", "http://h1.test/10", "http://h2.test/7", "http://h0.test/s0"];

fn earlier(storage: &Arc<dyn Storage>) -> Result<EarlierCrawls, SetupError> {
    let directory = Path::new(DIRECTORY).join("state").join(CRAWLED);
    storage.create_directory(&directory).map_err(fault)?;
    // so small a batch that runs are merged
    let mut sorter = KeySorter::create(Place { storage: storage.clone(), directory }, 16);
    let secret = KeySecret::from_seed(99);
    FETCHED.iter().try_for_each(|url| sorter.push(secret.key(url)))?;
    let earlier = EarlierCrawls::one("earlier", secret, sorter.end_set()?);
    sorter.finish()?;
    Ok(earlier)
}

/// Deletes what a crawl left that had not begun.
fn clear(storage: &dyn Storage) {
    for folder in ["", "state", "state/frontier", "state/visited", "state/crawled"] {
        let folder = Path::new(DIRECTORY).join(folder);
        for name in storage.names(&folder).unwrap_or_default() {
            drop(storage.remove(&folder.join(name)));
        }
    }
}

fn fault(error: std::io::Error) -> SetupError {
    SetupError::Core(CoreError::Sink(error))
}

impl Simulation {
    /// As the loop does: outcomes in, everything written down, jobs out; until the end or a fault.
    fn drive(&mut self, most: usize) -> Result<Option<EndReason>, CoreError> {
        for _ in 0..most {
            assert!(self.core.adds_up(), "the counts do not add up: {:?}", self.core.counters());
            self.core.commit()?;
            self.core.keep(self.now)?;
            let wake = if self.flying.len() < self.concurrency {
                match self.core.next(self.now)? {
                    Next::Ready(job) => {
                        self.start(job);
                        continue;
                    }
                    Next::Done(reason) => {
                        self.core.finish(self.now)?;
                        return Ok(Some(reason));
                    }
                    Next::NotBefore(at) => Some(at),
                    Next::Again => continue,
                    Next::Blocked => None,
                }
            } else {
                None
            };
            let first = (0..self.flying.len()).min_by_key(|index| self.flying[*index].0);
            match (first.map(|index| (index, self.flying[index].0)), wake) {
                (Some((index, arrives)), wake) if wake.is_none_or(|wake| arrives <= wake) => {
                    let (at, mut outcome) = self.flying.swap_remove(index);
                    self.now = self.now.max(at);
                    self.send_parts(&mut outcome)?;
                    self.core.apply(outcome, self.now)?;
                }
                (_, Some(wake)) => self.now = wake,
                (_, None) => panic!("blocked with nothing in flight"),
            }
        }
        Ok(None)
    }
}

impl Simulation {
    /// As the worker that reads a sitemap does: its entries go ahead, two at a time, and anything may be
    /// written between two parts.
    fn send_parts(&mut self, outcome: &mut Outcome) -> Result<(), CoreError> {
        let Outcome::Page(page) = outcome else { return Ok(()) };
        if page.job.attempt.candidate.via != Via::SitemapFile {
            return Ok(());
        }
        let named = std::mem::take(&mut page.links);
        for some in named.links.chunks(2) {
            let mut links = LinkBatch::default();
            for link in some {
                links.push(named.url(link), link.origin_length, link.hashes(), Via::Sitemap, link.skip);
            }
            let (from, scope_generation) = (SITEMAP.into(), page.scope_generation);
            let taken = tokio::sync::oneshot::channel().0;
            self.core.apply_part(Part { from, hops: 1, scope_generation, links, taken }, self.now)?;
            self.core.commit()?;
            self.now = self.now.after(Duration::from_millis(50));
            self.core.keep(self.now)?;
        }
        Ok(())
    }
}

/// How often each URL has a record.
fn records(disk: &SimulatedDisk) -> BTreeMap<String, u32> {
    let bytes = disk.content(&Path::new(DIRECTORY).join("pages.jsonl")).expect("there are records");
    let mut records = BTreeMap::new();
    for line in String::from_utf8(bytes).expect("Unicode").lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        *records.entry(row["url"].as_str().expect("a URL").to_owned()).or_default() += 1;
    }
    records
}

/// Answers for robots.txt that were kept.
fn robots_lines(disk: &SimulatedDisk) -> usize {
    let bytes = disk.content(&Path::new(DIRECTORY).join("robots.jsonl")).expect("there are answers");
    let text = String::from_utf8(bytes).expect("Unicode");
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    lines.filter(|line| line["origin"].is_string()).count()
}

/// What a crawl that nothing disturbs leaves.
struct Expected {
    urls: BTreeSet<String>,
    /// What its sketches have met.
    sets: ([f64; 5], Vec<u64>),
}

fn expected(kind: Kind) -> Expected {
    let disk = SimulatedDisk::new();
    let mut simulation = open(&disk, kind).expect("nothing fails");
    assert_eq!(simulation.drive(100_000).expect("nothing fails"), Some(EndReason::Done));
    let records = records(&disk);
    assert!(records.values().all(|times| *times == 1), "{records:?}");
    assert!(records.len() > 30, "{records:?}");
    assert!(simulation.core.counters().doubts_settled > 0, "nothing was ever in doubt");
    let skipped = simulation.core.counters().skipped_before_queue.of(SkipReason::AlreadyCrawled);
    let fetched = if kind == Kind::Skipping { FETCHED.len() as u64 - 1 } else { 0 };
    assert_eq!(skipped, fetched, "all of them but the seed");
    Expected { urls: records.into_keys().collect(), sets: simulation.core.sketches.sets() }
}

/// Goes on with what is on a disk, to the end, and holds the result to the promises.
fn recover(disk: &SimulatedDisk, kind: Kind, expected: &Expected) {
    let mut simulation = open(disk, kind).unwrap_or_else(|error| panic!("cannot be resumed: {error}"));
    let end = simulation.drive(100_000).unwrap_or_else(|error| panic!("cannot go on: {error}"));
    assert_eq!(end, Some(EndReason::Done));
    assert!(simulation.core.adds_up(), "the counts do not add up: {:?}", simulation.core.counters());
    let records = records(disk);
    assert!(records.values().all(|times| *times == 1), "recorded twice: {records:?}");
    let recorded: BTreeSet<String> = records.into_keys().collect();
    assert_eq!(recorded, expected.urls, "lost: {:?}", expected.urls.difference(&recorded));
    assert_eq!(simulation.core.sketches.sets(), expected.sets, "sketches have met something else");
    assert_eq!(simulation.core.counters().records(), recorded.len() as u64);
    let lines = robots_lines(disk);
    assert_eq!(lines as u64, simulation.core.counters().robots_requests, "one line for each answer");
}

fn cut_everywhere(kind: Kind, power_cuts: u64) -> u64 {
    let expected = expected(kind);
    let cuts = Cuts { outcomes: power_cuts, seed: 11, ..Cuts::default() };
    cuts.for_each(
        |disk| {
            if let Ok(mut simulation) = open(disk, kind) {
                drop(simulation.drive(100_000));
            }
        },
        |disk, (), _| recover(disk, kind, &expected),
    )
}

/// Cuts in a whole crawl, at every operation of storage, before, in and after it.
#[test]
fn no_cut_loses_or_doubles_a_page() {
    for kind in [Kind::Plain, Kind::Strict, Kind::Skipping, Kind::BestFirst] {
        let checked = cut_everywhere(kind, 3);
        assert!(checked > 2000, "only {checked} cuts, {kind:?}");
    }
}

/// Cuts in a crawl whose hosts hardly fit, with limits, moving seeds, and pages that go on at
/// another origin; in mid-flight it is stopped in order, too.
#[test]
fn no_cut_in_a_cramped_crawl_breaks_a_limit_or_leaves_a_page_behind() {
    let kind = Kind::Cramped;
    let cuts = Cuts { outcomes: 2, seed: 3, ..Cuts::default() };
    let checked = cuts.for_each(
        |disk| {
            if let Ok(mut simulation) = open(disk, kind)
                && let Ok(None) = simulation.drive(60)
                && simulation.core.finish(simulation.now).is_ok()
                && let Ok(mut again) = open(disk, kind)
            {
                drop(again.drive(100_000));
            }
        },
        |disk, (), _| {
            let mut simulation =
                open(disk, kind).unwrap_or_else(|error| panic!("cannot be resumed: {error}"));
            let end = simulation.drive(100_000).unwrap_or_else(|error| panic!("cannot go on: {error}"));
            assert_eq!(end, Some(EndReason::Done));
            assert!(simulation.core.adds_up(), "the counts do not add up: {:?}", simulation.core.counters());
            assert_eq!(simulation.core.queued(), 0, "a candidate was left behind");
            let records = records(disk);
            let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
            let mut pages: BTreeMap<String, u32> = BTreeMap::new();
            for (url, times) in &records {
                *hosts.entry(crate::url::host_of(url)).or_default() += u64::from(*times);
                *pages.entry(url.replace("https:", "http:")).or_default() += times;
            }
            assert!(pages.values().all(|times| *times == 1), "recorded twice: {records:?}");
            assert!(hosts.values().all(|records| *records <= HOST_LIMIT), "past the limit: {hosts:?}");
            assert!(hosts.len() >= 4, "hosts are missing: {hosts:?}");
        },
    );
    assert!(checked > 2000, "only {checked} cuts");
}

/// A second cut in the recovery from the first.
#[test]
fn no_cut_in_a_recovery_loses_or_doubles_a_page() {
    let expected = expected(Kind::Plain);
    let disk = SimulatedDisk::new();
    let mut simulation = open(&disk, Kind::Plain).expect("nothing fails");
    simulation.drive(150).expect("nothing fails");
    let cuts = Cuts { start: disk.after_power_cut(3), outcomes: 2, every: 1, seed: 5 };
    cuts.for_each(
        |disk| drop(open(disk, Kind::Plain).map(|mut simulation| simulation.drive(20))),
        |disk, (), _| recover(disk, Kind::Plain, &expected),
    );
}

/// Cuts while a crawl is stopped after the first seeds, and goes on with the others.
#[test]
fn no_cut_in_a_stop_between_seeds_loses_any() {
    let expected = expected(Kind::Plain);
    let stop = StopHandle::default();
    stop.request(Urgency::Finish);
    let stopped = |disk: &SimulatedDisk| {
        let mut simulation = open_until(disk, Kind::Plain, &stop)?;
        assert_eq!((simulation.core.seeds_taken, simulation.core.seeds_complete), (SEEDS_AT_A_TIME, false));
        simulation.core.finish(simulation.now).map_err(SetupError::Core)
    };
    let cuts = Cuts { outcomes: 2, seed: 9, ..Cuts::default() };
    let checked = cuts.for_each(
        |disk| {
            if stopped(disk).is_ok()
                && let Ok(mut again) = open(disk, Kind::Plain)
            {
                drop(again.drive(20));
            }
        },
        |disk, (), _| recover(disk, Kind::Plain, &expected),
    );
    assert!(checked > 200, "only {checked} cuts");
}

/// A disk that is full, and has room again.
#[test]
fn a_full_disk_loses_nothing() {
    let expected = expected(Kind::Plain);
    for operation in (0..400).step_by(7) {
        let disk = SimulatedDisk::new();
        disk.fail_from(operation, std::io::ErrorKind::StorageFull);
        let ended = match open(&disk, Kind::Plain) {
            Ok(mut simulation) => simulation.drive(100_000).is_ok(),
            Err(_) => false,
        };
        let left = disk.after_kill();
        if ended {
            continue;
        }
        if left.content(&Path::new(DIRECTORY).join("crawl.toml")).is_err() {
            continue;
        }
        recover(&left, Kind::Plain, &expected);
    }
}

fn settings(config: &Config, filter: &super::plan::FilterPlan) -> CoreSettings {
    CoreSettings {
        retries: config.retries,
        max_pages: None,
        max_retry_after: config.max_retry_after,
        obey_robots: true,
        sitemaps: true,
        log_skipped: config.log_skipped,
        largest_filter: filter.largest,
        most_doubts: 40,
        caps: Caps { max_pages_per_host: config.max_pages_per_host, ..Caps::default() },
    }
}

fn politeness(config: &Config) -> Politeness {
    Politeness {
        delay: Duration::ZERO,
        random_wait: false,
        address_delay: Duration::ZERO,
        max_crawl_delay: config.max_crawl_delay,
        per_host: 4,
        concurrency: 4,
        host_failures: 5,
        max_pages_per_host: config.max_pages_per_host,
        seed: 1,
    }
}
