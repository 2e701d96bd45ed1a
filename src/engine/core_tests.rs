//! The core against a simulated web: no network, and a clock that jumps.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use proptest::prelude::*;

#[path = "core_tests/crawls.rs"]
mod crawls;
#[path = "core_tests/laws.rs"]
mod laws;
#[path = "core_tests/share.rs"]
mod share;

use super::core::{Core, CoreSettings};
use super::hashes::hashes;
use super::job::{Asked, Job, Outcome, PageOutcome, RobotsAnswer, Verdict};
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
            share: HostShare {
                open_bytes: 1 << 20,
                residue_bytes: 1 << 18,
                closed_rules_bytes: 1 << 16,
                secret: 3,
            },
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
        (Traps::new(&config, plan.traps, 1), super::plan::sketches(&config, &plan)),
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
            let hashes = hashes(&self.secret, &target.canonical);
            if !seen.insert(hashes.key) {
                batch.repeats += 1;
                continue;
            }
            let scope = self.scope.read().expect("not poisoned");
            let skip = match scope.check(&target.requested, &target.parts) {
                Err(reason) if via != Via::Seed => Some(reason),
                _ => too_deep.then_some(SkipReason::TooDeep),
            };
            batch.push(&target.requested, target.parts.origin_length, hashes, via, skip);
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
                Outcome::Robots { origin, answer, asked: Asked::default(), sitemaps: LinkBatch::default() }
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
