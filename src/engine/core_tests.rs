//! The core against a simulated web: no network, and a clock that jumps.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use proptest::prelude::*;

#[path = "core_tests/share.rs"]
mod share;

use super::core::{Core, CoreSettings};
use super::job::{Job, Outcome, PageOutcome, RobotsAnswer, Verdict};
use super::next::Next;
use super::traps::Traps;
use super::worker::new_outcome;
use crate::config::{Dedup, Options, ScopeKind};
use crate::frontier::{HostShare, MemoryFrontier, Moment, Politeness, Schedule};
use crate::model::{ErrorKind, LinkBatch, PageError, SkipReason, Via};
use crate::robots::RobotsRules;
use crate::scope::Scope;
use crate::sink::{Page, Sink, encode_line};
use crate::stats::EndReason;
use crate::url::{Canonicalizer, KeySecret, Rules};

/// How a simulated URL answers, one entry a request; the last one stays.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Links(Vec<String>),
    Redirect(String),
    Status(u16),
    Fails(ErrorKind),
    SlowDown(Option<Duration>),
    /// Redirects to another spelling of itself.
    Same(String),
    /// Is gone under this spelling.
    Gone(String),
}

#[derive(Debug, Default, Clone)]
pub(super) struct Web {
    pub(super) pages: HashMap<String, Vec<Answer>>,
    /// Origin to what its robots.txt answers, in turn.
    pub(super) robots: HashMap<String, Vec<Result<&'static str, ErrorKind>>>,
    pub(super) latency: Duration,
}

impl Web {
    pub(super) fn page(&mut self, url: &str, links: &[&str]) -> &mut Self {
        self.answers(url, vec![Answer::Links(links.iter().map(ToString::to_string).collect())])
    }

    pub(super) fn answers(&mut self, url: &str, answers: Vec<Answer>) -> &mut Self {
        self.pages.insert(url.to_owned(), answers);
        self
    }
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) url: String,
    pub(super) host: String,
    pub(super) from: Moment,
    pub(super) to: Moment,
}

#[derive(Clone, Default)]
pub(super) struct Records(Arc<Mutex<Vec<crate::model::Record>>>);

impl Sink for Records {
    fn page(&mut self, page: &Page<'_>) -> std::io::Result<()> {
        self.0.lock().expect("not poisoned").push(page.record.clone());
        Ok(())
    }
}

pub(super) struct Simulation {
    pub(super) core: Core,
    pub(super) web: Web,
    pub(super) scope: Arc<RwLock<Scope>>,
    pub(super) canonicalizer: Canonicalizer,
    pub(super) secret: KeySecret,
    pub(super) concurrency: usize,
    pub(super) now: Moment,
    pub(super) flying: Vec<(Moment, Outcome)>,
    pub(super) log: Vec<Request>,
    pub(super) asked: HashMap<String, usize>,
    pub(super) records: Records,
    pub(super) depth: Option<u32>,
    /// The most hosts that were open at a time, and the most bytes they took.
    pub(super) most_open: usize,
    pub(super) most_bytes: u64,
}

pub(super) struct Setup {
    pub(super) options: Options,
    pub(super) table_bytes: u64,
    pub(super) concurrency: usize,
    pub(super) delay: Duration,
    pub(super) doubts: usize,
    pub(super) filter_grows: bool,
    pub(super) share: HostShare,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            options: Options { scope: Some(ScopeKind::Any), ..Options::default() },
            table_bytes: 1 << 20,
            concurrency: 8,
            delay: Duration::ZERO,
            doubts: 64,
            filter_grows: false,
            share: HostShare { open_bytes: 1 << 20, residue_bytes: 1 << 18, secret: 3 },
        }
    }
}

pub(super) fn simulation(web: Web, seeds: &[&str], setup: &Setup) -> Simulation {
    let config = setup.options.resolve().expect("valid options");
    let scope = Arc::new(RwLock::new(Scope::new(&config).expect("valid scope")));
    let politeness = Politeness {
        delay: setup.delay,
        random_wait: false,
        address_delay: Duration::ZERO,
        max_crawl_delay: config.max_crawl_delay,
        per_host: if setup.delay.is_zero() { setup.concurrency } else { 1 },
        concurrency: setup.concurrency,
        host_failures: 5,
        max_pages_per_host: config.max_pages_per_host,
        seed: 1,
    };
    let (plan, filter) = super::plan::plan(&config).expect("enough memory");
    let plan = crate::budget::Plan { exact_table: setup.table_bytes, ..plan };
    let largest_filter = if setup.filter_grows { filter.largest } else { filter.first };
    let settings = CoreSettings {
        retries: config.retries,
        max_pages: config.max_pages,
        max_retry_after: config.max_retry_after,
        obey_robots: true,
        sitemaps: true,
        log_skipped: false,
        largest_filter,
        most_doubts: setup.doubts as u64,
        caps: super::core::Caps::default(),
    };
    let visited = super::plan::visited(&config, &plan, &filter).expect("memory");
    let records = Records::default();
    let core = Core::new(
        settings,
        Box::new(MemoryFrontier::new()),
        visited,
        Schedule::new(politeness, setup.share, true),
        scope.clone(),
        vec![Box::new(records.clone())],
        Traps::new(&config, plan.sketches, 1),
    );
    let mut simulation = Simulation {
        core,
        web,
        scope,
        canonicalizer: Canonicalizer::new(Rules::default()),
        secret: KeySecret::from_seed(7),
        concurrency: setup.concurrency,
        now: Moment::START,
        flying: Vec::new(),
        log: Vec::new(),
        asked: HashMap::new(),
        records,
        depth: config.depth,
        most_open: 0,
        most_bytes: 0,
    };
    for seed in seeds {
        simulation.scope.write().expect("not poisoned").add_seed(seed);
    }
    let seeds: Vec<String> = seeds.iter().map(ToString::to_string).collect();
    let batch = simulation.batch(&seeds, Via::Seed, false);
    simulation.core.add_seeds(&batch, seeds.len() as u64, true).expect("in memory");
    simulation.core.settle_all().expect("in memory");
    simulation
}

impl Simulation {
    pub(super) fn batch(&self, urls: &[String], via: Via, too_deep: bool) -> LinkBatch {
        let mut batch = LinkBatch::default();
        let mut seen = BTreeSet::new();
        for url in urls {
            let target = self.canonicalizer.parse(url).expect("a crawlable URL");
            let key = self.secret.key(&target.canonical);
            if !seen.insert(key) {
                batch.repeats += 1;
                continue;
            }
            let scope = self.scope.read().expect("not poisoned");
            let skip = match scope.check(&target.requested, &target.parts) {
                Err(reason) if via != Via::Seed => Some(reason),
                _ => too_deep.then_some(SkipReason::TooDeep),
            };
            batch.push(&target.requested, target.parts.origin_length, key, via, skip);
        }
        batch
    }

    pub(super) fn start(&mut self, job: Job) {
        let ends = self.now.after(self.web.latency);
        let outcome = match job {
            Job::Robots { origin, url, .. } => {
                let turn = self.turn(&url);
                let name = url.trim_end_matches("/robots.txt");
                let answers = self.web.robots.get(name).cloned().unwrap_or_else(|| vec![Ok("")]);
                let answer = match answers[turn.min(answers.len() - 1)] {
                    Ok(text) => {
                        RobotsAnswer::Rules(Arc::new(RobotsRules::parse(text.as_bytes(), "dragline")))
                    }
                    Err(kind) => RobotsAnswer::Failed {
                        retry_after: None,
                        error: PageError { kind, detail: String::new() },
                    },
                };
                self.note(&url, ends);
                Outcome::Robots { origin, answer, sitemaps: LinkBatch::default() }
            }
            Job::Page(job) => {
                let mut outcome = new_outcome(*job);
                self.answer(&mut outcome);
                encode_line(&outcome.record, &mut outcome.line).expect("JSON");
                self.note(&outcome.record.url.clone(), ends);
                Outcome::Page(Box::new(outcome))
            }
            Job::Address { .. } => unreachable!("no address delay here"),
        };
        self.flying.push((ends, outcome));
    }

    fn turn(&mut self, url: &str) -> usize {
        let turn = self.asked.entry(url.to_owned()).or_default();
        *turn += 1;
        *turn - 1
    }

    fn note(&mut self, url: &str, to: Moment) {
        let host = crate::url::host_of(url).to_owned();
        self.log.push(Request { url: url.to_owned(), host, from: self.now, to });
    }

    fn answer(&mut self, outcome: &mut PageOutcome) {
        let url = outcome.record.url.clone();
        let turn = self.turn(&url);
        let answers = self.web.pages.get(&url).cloned().unwrap_or_else(|| vec![Answer::Status(404)]);
        outcome.scope_generation = self.scope.read().expect("not poisoned").generation();
        let depth = outcome.job.attempt.candidate.depth;
        match answers[turn.min(answers.len() - 1)].clone() {
            Answer::Links(links) => {
                outcome.record.status = Some(200);
                let too_deep = self.depth.is_some_and(|most| depth >= most);
                outcome.links = self.batch(&links, Via::Link, too_deep);
            }
            Answer::Redirect(to) => {
                outcome.record.status = Some(302);
                outcome.links = self.batch(&[to], Via::Redirect, false);
            }
            Answer::Status(status) => {
                outcome.record.status = Some(status);
                if matches!(status, 500 | 502 | 504) {
                    outcome.verdict = Verdict::Retry;
                }
            }
            Answer::SlowDown(retry_after) => {
                outcome.record.status = Some(429);
                outcome.retry_after = retry_after;
                outcome.verdict = Verdict::SlowDown;
            }
            Answer::Same(to) => {
                outcome.record.status = Some(302);
                let hops = outcome.job.attempt.candidate.hops;
                if hops < 10 {
                    let origin_length = crate::url::Parts::of(&to).origin_length;
                    outcome.verdict = Verdict::SamePage { url: to.into(), origin_length };
                }
            }
            Answer::Gone(canonical) => {
                outcome.record.status = Some(404);
                if !outcome.job.attempt.respelled {
                    let origin_length = crate::url::Parts::of(&canonical).origin_length;
                    outcome.verdict = Verdict::Respell { url: canonical.into(), origin_length };
                }
            }
            Answer::Fails(kind) => {
                outcome.record.error = Some(PageError { kind, detail: String::new() });
                outcome.verdict = super::judge::verdict_of(kind);
            }
        }
    }

    /// What the visited set has counted is what the crawl has counted.
    fn check_agreement(&mut self) {
        let visited = *self.core.visited().counters();
        let crawl = self.core.counters();
        // What is in a trap is known, and not queued.
        let reasons = [SkipReason::QueryVariants, SkipReason::TooManySubdomains, SkipReason::Trap];
        let trapped: u64 = reasons.into_iter().map(|reason| crawl.skipped_before_queue.of(reason)).sum();
        assert_eq!(
            (visited.unique(), visited.settled, visited.rescued, visited.pending()),
            (crawl.unique + trapped, crawl.doubts_settled, crawl.rescued, self.core.doubts_pending()),
        );
        // Repeats within one page never reach the visited set.
        assert!(visited.repeats <= crawl.repeats);
    }

    /// Runs to the end, holding the laws after every step.
    pub(super) fn run(&mut self) -> EndReason {
        for _ in 0..1_000_000 {
            assert!(self.core.adds_up(), "the counts do not add up: {:?}", self.core.counters());
            self.most_open = self.most_open.max(self.core.schedule.open_hosts());
            self.most_bytes = self.most_bytes.max(self.core.schedule.memory_bytes());
            let wake = if self.flying.len() < self.concurrency {
                match self.core.next(self.now).expect("in memory") {
                    Next::Ready(job) => {
                        self.start(job);
                        continue;
                    }
                    Next::Done(reason) => {
                        self.check_agreement();
                        return reason;
                    }
                    Next::NotBefore(at) => Some(at),
                    Next::Again => continue,
                    Next::Blocked => None,
                }
            } else {
                None
            };
            let first = (0..self.flying.len()).min_by_key(|index| self.flying[*index].0);
            let arrives = first.map(|index| self.flying[index].0);
            match (arrives, wake) {
                (Some(arrives), wake) if wake.is_none_or(|wake| arrives <= wake) => {
                    let (at, outcome) = self.flying.swap_remove(first.expect("there is one"));
                    self.now = self.now.max(at);
                    self.core.apply(outcome, self.now).expect("in memory");
                }
                (_, Some(wake)) => {
                    assert!(wake > self.now, "asked to wait for a moment that has passed");
                    self.now = wake;
                }
                (_, None) => panic!("blocked with nothing in flight"),
            }
        }
        panic!("the crawl does not end");
    }

    fn requests(&self) -> BTreeMap<String, usize> {
        let mut requests = BTreeMap::new();
        for request in &self.log {
            *requests.entry(request.url.clone()).or_default() += 1;
        }
        requests
    }

    fn recorded(&self) -> Vec<String> {
        let mut urls: Vec<String> =
            self.records.0.lock().expect("not poisoned").iter().map(|record| record.url.clone()).collect();
        urls.sort();
        urls
    }

    fn skipped(&self, reason: SkipReason) -> u64 {
        self.core.counters().skipped_after_queue.of(reason)
            + self.core.counters().skipped_before_queue.of(reason)
    }
}

fn with(change: impl FnOnce(&mut Options)) -> Setup {
    let mut setup = Setup::default();
    change(&mut setup.options);
    setup
}

#[test]
fn every_reachable_page_is_asked_once_after_its_robots_txt() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/1", "http://a.test/2", "http://b.test/"])
        .page("http://a.test/1", &["http://a.test/", "http://a.test/2"])
        .page("http://a.test/2", &["http://a.test/1#part", "http://a.test/1"])
        .page("http://b.test/", &["http://a.test/"]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert!(simulation.requests().values().all(|times| *times == 1));
    assert_eq!(
        simulation.recorded(),
        ["http://a.test/", "http://a.test/1", "http://a.test/2", "http://b.test/"]
    );
    assert_eq!(simulation.log[0].url, "http://a.test/robots.txt");
}

#[test]
fn what_robots_txt_denies_is_skipped_and_counted() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/private/x", "http://a.test/open"])
        .page("http://a.test/open", &[])
        .robots
        .insert("http://a.test".into(), vec![Ok("User-agent: *\nDisallow: /private/\n")]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/", "http://a.test/open"]);
    assert_eq!(simulation.core.counters().skipped_after_queue.of(SkipReason::RobotsDenied), 1);
}

#[test]
fn a_robots_txt_that_cannot_be_reached_is_tried_thrice_and_closes_the_origin() {
    let mut web = Web::default();
    web.page("http://a.test/", &[]).robots.insert("http://a.test".into(), vec![Err(ErrorKind::Timeout)]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.requests().get("http://a.test/robots.txt"), Some(&3));
    assert_eq!(simulation.skipped(SkipReason::RobotsUnreachable), 1);
    assert!(simulation.recorded().is_empty());
}

#[test]
fn a_robots_txt_that_comes_late_opens_the_origin() {
    let mut web = Web::default();
    web.page("http://a.test/", &[])
        .robots
        .insert("http://a.test".into(), vec![Err(ErrorKind::Timeout), Err(ErrorKind::Timeout), Ok("")]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/"]);
}

#[test]
fn a_dead_host_is_given_up_and_what_was_never_asked_is_a_skip() {
    let mut web = Web::default();
    let dead: Vec<String> = (0..50).map(|n| format!("http://dead.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(dead.clone())]);
    for url in &dead {
        web.answers(url, vec![Answer::Fails(ErrorKind::Connect)]);
    }
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    let asked =
        simulation.requests().keys().filter(|url| url.starts_with("http://dead.test/")).count() as u64;
    let asked = asked - 1; // robots.txt
    let skipped = simulation.skipped(SkipReason::HostUnreachable);
    assert_eq!(asked + skipped, 50);
    assert_eq!(simulation.core.counters().failed, asked);
    assert!(asked < 20, "{asked} URLs of a dead host were asked");
}

#[test]
fn a_failed_page_is_tried_again_and_recorded_once() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/flaky", "http://a.test/broken"])
        .answers(
            "http://a.test/flaky",
            vec![Answer::Fails(ErrorKind::Timeout), Answer::Status(500), Answer::Links(vec![])],
        )
        .answers("http://a.test/broken", vec![Answer::Fails(ErrorKind::Timeout)]);
    let mut simulation = simulation(web, &["http://a.test/"], &with(|o| o.retries = Some(2)));
    simulation.run();
    assert_eq!(simulation.requests()["http://a.test/flaky"], 3);
    assert_eq!(simulation.requests()["http://a.test/broken"], 3);
    assert_eq!(simulation.recorded().len(), 3);
    assert_eq!((simulation.core.counters().ok, simulation.core.counters().failed), (2, 1));
}

#[test]
fn a_host_that_asks_to_slow_down_rests_as_a_whole() {
    let mut web = Web::default();
    let many: Vec<String> = (0..20).map(|n| format!("http://a.test/{n}")).collect();
    let mut first = many.clone();
    first.push("http://b.test/".to_owned());
    web.answers("http://a.test/", vec![Answer::Links(first)]).page("http://b.test/", &[]);
    for url in &many {
        web.page(url, &[]);
    }
    let wait = Duration::from_secs(7);
    web.answers("http://a.test/0", vec![Answer::SlowDown(Some(wait)), Answer::Links(vec![])]);
    let setup = Setup { delay: Duration::from_millis(10), ..Setup::default() };
    let mut simulation = simulation(web, &["http://a.test/"], &setup);
    simulation.run();
    let slowed = simulation.log.iter().position(|request| request.url == "http://a.test/0").expect("asked");
    let until = simulation.log[slowed].to.after(wait);
    for request in simulation.log[slowed + 1..].iter().filter(|request| request.host == "a.test") {
        assert!(request.from >= until, "{} was asked during the pause", request.url);
    }
    assert_eq!(simulation.recorded().len(), 22);
}

#[test]
fn a_redirect_is_a_link_and_a_loop_of_redirects_ends() {
    let mut web = Web::default();
    web.answers("http://a.test/a", vec![Answer::Redirect("http://a.test/b".into())])
        .answers("http://a.test/b", vec![Answer::Redirect("http://a.test/a".into())]);
    let mut simulation = simulation(web, &["http://a.test/a"], &Setup::default());
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/a", "http://a.test/b"]);
    assert_eq!(simulation.core.counters().repeats, 1);
}

#[test]
fn a_seed_that_redirects_moves_its_scope_along() {
    let mut web = Web::default();
    web.answers("http://a.test/", vec![Answer::Redirect("http://www.a.test/".into())])
        .page("http://www.a.test/", &["http://www.a.test/1", "http://c.test/"])
        .page("http://www.a.test/1", &[]);
    let mut simulation = simulation(web, &["http://a.test/"], &with(|o| o.scope = Some(ScopeKind::Host)));
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/", "http://www.a.test/", "http://www.a.test/1"]);
    assert_eq!(simulation.skipped(SkipReason::OutOfScope), 1);
    assert_eq!(simulation.core.counters().scope_moves, 1);
}

#[test]
fn the_page_limit_is_never_exceeded_and_what_is_left_stays_queued() {
    let mut web = Web::default();
    let many: Vec<String> = (0..100).map(|n| format!("http://a.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for url in &many {
        web.page(url, &[]);
    }
    web.latency = Duration::from_millis(5);
    let mut simulation =
        simulation(web, &["http://a.test/"], &with(|o| o.max_pages = Some(crate::config::Count(10))));
    assert_eq!(simulation.run(), EndReason::PageLimit);
    assert_eq!(simulation.recorded().len(), 10);
    assert_eq!(simulation.core.queued() + simulation.core.doubts_pending(), 91);
}

#[test]
fn the_limit_of_a_host_is_kept_and_the_others_go_on() {
    let mut web = Web::default();
    let many: Vec<String> =
        (0..30).flat_map(|n| [format!("http://a.test/{n}"), format!("http://b.test/{n}")]).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for url in &many {
        web.page(url, &[]);
    }
    let mut simulation =
        simulation(web, &["http://a.test/"], &with(|o| o.max_pages_per_host = Some(crate::config::Count(5))));
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 10);
    assert_eq!(simulation.skipped(SkipReason::HostLimit), 51);
}

#[test]
fn a_slow_host_does_not_hold_up_the_others() {
    let mut web = Web::default();
    let slow: Vec<String> = (0..200).map(|n| format!("http://slow.test/{n}")).collect();
    let mut first = slow.clone();
    first.extend((0..20).map(|n| format!("http://h{n}.test/")));
    web.answers("http://slow.test/", vec![Answer::Links(first.clone())]);
    for url in &first {
        web.page(url, &[]);
    }
    web.robots.insert("http://slow.test".into(), vec![Ok("User-agent: *\nCrawl-delay: 10\n")]);
    let mut simulation = simulation(web, &["http://slow.test/"], &Setup::default());
    simulation.run();
    let last = simulation.log.iter().filter(|request| request.host != "slow.test").map(|request| request.to);
    let slow = simulation.log.iter().filter(|request| request.host == "slow.test").map(|request| request.to);
    assert!(last.max().expect("asked") < Moment::START.after(Duration::from_secs(30)));
    assert!(slow.max().expect("asked") >= Moment::START.after(Duration::from_secs(2000)));
}

#[test]
fn a_host_that_is_away_for_a_moment_loses_no_page() {
    let mut web = Web { latency: Duration::from_millis(5), ..Web::default() };
    let many: Vec<String> = (0..200).map(|n| format!("http://a.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for (number, url) in many.iter().enumerate() {
        // The first 32 to be asked are all in flight when the host goes away.
        let first = if number < 32 { vec![Answer::Fails(ErrorKind::Connect)] } else { vec![] };
        web.answers(url, [first, vec![Answer::Links(vec![])]].concat());
    }
    let setup = Setup { concurrency: 32, ..Setup::default() };
    let mut simulation = simulation(web, &["http://a.test/"], &setup);
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.core.counters().ok, 201);
    assert_eq!(simulation.core.counters().failed, 0);
}

#[test]
fn pages_that_answer_500_do_not_cost_the_rest_of_their_site() {
    let mut web = Web::default();
    let many: Vec<String> = (0..120).map(|n| format!("http://a.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for (number, url) in many.iter().enumerate() {
        let answer = if number < 20 { Answer::Status(500) } else { Answer::Links(vec![]) };
        web.answers(url, vec![answer]);
    }
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 121);
}

#[test]
fn spellings_that_lead_to_each_other_end_after_a_respelling_too() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/%7Ea"])
        .answers("http://a.test/%7Ea", vec![Answer::Gone("http://a.test/~a".into())])
        .answers("http://a.test/~a", vec![Answer::Same("http://a.test/%7ea".into())])
        .answers("http://a.test/%7ea", vec![Answer::Same("http://a.test/~a".into())]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 2);
    assert!(simulation.log.len() < 20, "{} requests", simulation.log.len());
}

#[test]
fn pages_that_fail_at_the_limits_do_not_exceed_them() {
    for (max_pages, max_pages_per_host) in [(Some(5), None), (None, Some(5))] {
        let mut web = Web { latency: Duration::from_millis(3), ..Web::default() };
        let many: Vec<String> = (0..40).map(|n| format!("http://a.test/{n}")).collect();
        web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
        for (number, url) in many.iter().enumerate() {
            let fails = number % 2 == 0;
            web.answers(url, vec![if fails { Answer::Status(500) } else { Answer::Links(vec![]) }]);
        }
        let setup = with(|o| {
            o.max_pages = max_pages.map(crate::config::Count);
            o.max_pages_per_host = max_pages_per_host.map(crate::config::Count);
        });
        let mut simulation = simulation(web, &["http://a.test/"], &setup);
        let end = simulation.run();
        assert_eq!(simulation.recorded().len(), 5);
        assert_eq!(end, if max_pages.is_some() { EndReason::PageLimit } else { EndReason::Done });
    }
}

#[test]
fn what_is_excluded_is_not_fetched_even_where_a_seed_leads_there() {
    let mut web = Web::default();
    web.answers("http://a.test/", vec![Answer::Redirect("http://b.test/logout".into())])
        .page("http://b.test/logout", &[]);
    let setup = with(|o| {
        o.scope = Some(ScopeKind::Host);
        o.exclude = vec!["logout".to_owned()];
    });
    let mut simulation = simulation(web, &["http://a.test/"], &setup);
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/"]);
}

/// A random web of up to `n` pages on a few hosts.
fn webs() -> impl Strategy<Value = (Vec<Vec<usize>>, u64, Dedup, bool, bool, bool)> {
    let links = prop::collection::vec(prop::collection::vec(0_usize..60, 0..12), 2..60);
    (
        links,
        0_u64..40,
        prop::sample::select(vec![Dedup::TwoStage, Dedup::Exact]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
}

fn address(page: usize) -> String {
    format!("http://h{}.test/{page}", page % 5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the web and however small the filter, the table and the share of hosts: every reachable page
    /// once, the counts add up at every step, and no host is asked before its delay has passed.
    #[test]
    fn nothing_is_lost_doubled_or_hurried((links, delay, dedup, tiny, filter_grows, cramped) in webs()) {
        let mut web = Web { latency: Duration::from_millis(3), ..Web::default() };
        for (page, targets) in links.iter().enumerate() {
            let targets = targets.iter().map(|target| address(target % links.len())).collect();
            web.answers(&address(page), vec![Answer::Links(targets)]);
        }
        let mut setup = Setup { delay: Duration::from_millis(delay), ..Setup::default() };
        setup.options.dedup = Some(dedup);
        if tiny {
            setup.options.bits_per_url = Some(1.0);
            setup.options.expected_urls = Some(crate::config::Count(8));
            setup.table_bytes = 64;
            setup.doubts = 3;
            setup.filter_grows = filter_grows;
        }
        if cramped {
            setup.share = HostShare { open_bytes: 5000, residue_bytes: 0, secret: delay };
        }
        let mut simulation = simulation(web, &[&address(0)], &setup);
        prop_assert_eq!(simulation.run(), EndReason::Done);

        let mut reachable = BTreeSet::from([0]);
        let mut todo = vec![0];
        while let Some(page) = todo.pop() {
            for target in &links[page] {
                let target = target % links.len();
                if reachable.insert(target) {
                    todo.push(target);
                }
            }
        }
        let mut expected: Vec<String> = reachable.into_iter().map(address).collect();
        expected.sort();
        prop_assert_eq!(simulation.recorded(), expected);
        let again = |url: &str| cramped && url.ends_with("/robots.txt");
        prop_assert!(simulation.requests().iter().all(|(url, times)| *times == 1 || again(url)));

        let last: Rc<RefCell<HashMap<String, Moment>>> = Rc::default();
        for request in &simulation.log {
            if let Some(ended) = last.borrow().get(&request.host) {
                prop_assert!(delay == 0 || request.from >= ended.after(Duration::from_millis(delay)));
            }
            last.borrow_mut().insert(request.host.clone(), request.to);
        }
    }
}
