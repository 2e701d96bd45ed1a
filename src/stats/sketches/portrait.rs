//! What sketches say, as it is written and shown: figures with their bounds. The nesting here is that of
//! `summary.json` and `stats.jsonl`.

use serde::Serialize;

use super::CrawlSketches;
use crate::sketch::{Estimate, FrequentItem, FrequentKey, Quantiles};

/// Items of a table that are told.
const TOLD: usize = 10;

/// What a crawl says of itself in estimates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Portrait {
    /// How many different ones there are, with bounds that hold for 95 of 100.
    pub distinct: Distincts,
    /// How slow and how large pages are.
    pub spread: Spreads,
    /// How often URLs and hosts were linked can be asked for with `explain`.
    pub link_counts: LinkCounts,
    /// What is frequent; in the summary only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_frequent: Option<MostFrequent>,
}

/// How many different ones there are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distincts {
    /// URLs that were linked or named, in scope or not.
    pub urls_discovered: Estimate,
    /// URLs that were answered for.
    pub urls_fetched: Estimate,
    /// Hosts of URLs that were accepted.
    pub hosts: Estimate,
    /// Registrable domains of these.
    pub domains: Estimate,
    /// Bodies, told apart by their digest.
    pub contents: Estimate,
}

/// How values are spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Half of all are below.
    pub p50: f64,
    /// Nine of ten are below.
    pub p90: f64,
    /// 99 of 100 are below.
    pub p99: f64,
    /// The largest; no estimate.
    pub max: f64,
}

/// How values of pages that were answered for are spread; `None` where there is none yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spreads {
    /// Milliseconds of the last attempt.
    pub latency_ms: Option<Spread>,
    /// Milliseconds until the head of the answer was there.
    pub first_byte_ms: Option<Spread>,
    /// Bytes of the body, decoded.
    pub size_bytes: Option<Spread>,
    /// Links.
    pub links: Option<Spread>,
}

/// What counts of links are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LinkCounts {
    /// Links that were counted, those of hosts among them.
    pub counted: u64,
    /// What a count may be too high by.
    pub off_by: u64,
}

/// One item of a table of what is frequent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frequency {
    /// What it is.
    pub item: String,
    /// It was met so often at least …
    pub at_least: u64,
    /// … and so often at most.
    pub at_most: u64,
    /// Its place; none where the bounds do not tell it from that of another.
    pub rank: Option<usize>,
}

/// What is frequent, the most frequent first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MostFrequent {
    /// Hosts, by pages that were answered for.
    pub hosts: Vec<Frequency>,
    /// Registrable domains, by the same.
    pub domains: Vec<Frequency>,
    /// Templates of URLs that were accepted.
    pub path_templates: Vec<Frequency>,
    /// Names of parameters of URLs that were accepted.
    pub query_parameters: Vec<Frequency>,
    /// URLs, by links to them.
    pub link_targets: Vec<Frequency>,
}

impl CrawlSketches {
    /// What they say; with tables of what is frequent where `whole`.
    pub fn portrait(&self, whole: bool) -> Portrait {
        Portrait {
            distinct: Distincts {
                urls_discovered: self.discovered.estimate(),
                urls_fetched: self.fetched.estimate(),
                hosts: self.hosts.estimate(),
                domains: self.domains.estimate(),
                contents: self.contents.estimate(),
            },
            spread: Spreads {
                latency_ms: spread(&self.latency),
                first_byte_ms: spread(&self.first_byte),
                size_bytes: spread(&self.size),
                links: spread(&self.page_links),
            },
            link_counts: LinkCounts {
                counted: self.link_counts.total(),
                off_by: self.link_counts.estimate(0).off_by,
            },
            most_frequent: whole.then(|| self.most_frequent()),
        }
    }

    fn most_frequent(&self) -> MostFrequent {
        MostFrequent {
            hosts: told(self.frequent_hosts.top(TOLD)),
            domains: told(self.frequent_domains.top(TOLD)),
            path_templates: told(self.templates.top(TOLD)),
            query_parameters: told(self.parameters.top(TOLD)),
            link_targets: self.targets.top(TOLD).into_iter().map(target).collect(),
        }
    }
}

fn told(items: Vec<FrequentItem>) -> Vec<Frequency> {
    let row =
        |FrequentItem { item, lower, upper, rank }| Frequency { item, at_least: lower, at_most: upper, rank };
    items.into_iter().map(row).collect()
}

/// The text of a target is not known where it was met before the crawl was resumed, and not since.
fn target(target: FrequentKey) -> Frequency {
    let FrequentKey { key, text, lower, upper, rank } = target;
    let item = text.unwrap_or_else(|| format!("a URL of fingerprint {key:016x}"));
    Frequency { item, at_least: lower, at_most: upper, rank }
}

fn spread(values: &Quantiles) -> Option<Spread> {
    Some(Spread {
        p50: values.quantile(0.5)?,
        p90: values.quantile(0.9)?,
        p99: values.quantile(0.99)?,
        max: values.max()?,
    })
}
