//! The state of a crawl in figures: plain data, filled by the engine, written
//! to `stats.jsonl` and `summary.json`, shown by report and display.
//!
//! The nesting here *is* the nesting of those files. Nothing is computed but sums.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::Portrait;
use crate::budget::{Plan, StepCounts};
use crate::config::{Dedup, FilterKind};
use crate::model::{ErrorKind, SkipReason};
use crate::visited::Verdict;

/// Why a crawl ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// Nothing was left to fetch.
    Done,
    /// Stopped by the user.
    Signal,
    /// `--max-pages` was reached.
    PageLimit,
    /// `--max-time` was reached.
    TimeLimit,
    /// A limit of size was reached.
    SizeLimit,
    /// The disk is full.
    DiskFull,
    /// Not one page could be fetched.
    NothingFetched,
    /// A file could not be written; what was written before is good.
    WriteFailed,
    /// A file of the state could be read no more, or is not as it was written.
    StateDamaged,
}

impl EndReason {
    /// The name that `summary.json` shows.
    pub fn name(self) -> &'static str {
        match self {
            EndReason::Done => "done",
            EndReason::Signal => "signal",
            EndReason::PageLimit => "page_limit",
            EndReason::TimeLimit => "time_limit",
            EndReason::SizeLimit => "size_limit",
            EndReason::DiskFull => "disk_full",
            EndReason::NothingFetched => "nothing_fetched",
            EndReason::WriteFailed => "write_failed",
            EndReason::StateDamaged => "state_damaged",
        }
    }

    /// The reason in words.
    pub fn describe(self) -> &'static str {
        match self {
            EndReason::Done => "done: nothing is left to fetch",
            EndReason::Signal => "stopped by a signal",
            EndReason::PageLimit => "stopped at --max-pages",
            EndReason::TimeLimit => "stopped at --max-time",
            EndReason::SizeLimit => "stopped at a size limit",
            EndReason::DiskFull => "stopped: the disk is full",
            EndReason::NothingFetched => "ended without a single page fetched",
            EndReason::WriteFailed => "stopped: a file could not be written",
            EndReason::StateDamaged => "stopped: the state in the crawl directory is damaged",
        }
    }
}

/// Pages with a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pages {
    /// Records written, `ok + failed`.
    pub fetched: u64,
    /// Pages that were answered, whatever the status.
    pub ok: u64,
    /// Pages whose record holds an error.
    pub failed: u64,
    /// Answers by status code.
    pub by_status: BTreeMap<u16, u64>,
    /// Failures by kind.
    pub by_error: BTreeMap<ErrorKind, u64>,
}

/// URLs met, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Urls {
    /// Seeds, links and redirect targets, each time they were met.
    pub discovered: u64,
    /// Those accepted as new.
    pub unique: u64,
    /// Those known to be seen.
    pub repeats: u64,
    /// Those of which that is not decided yet.
    pub doubts_pending: u64,
    /// Doubts that were decided.
    pub doubts_settled: u64,
    /// Doubts that were new after all.
    pub rescued: u64,
    /// Waiting to be fetched.
    pub queued: u64,
    /// Being fetched.
    pub in_flight: u64,
    /// Dropped before they were queued, by reason.
    pub skipped_before_queue: BTreeMap<SkipReason, u64>,
    /// Dropped when their turn came, by reason.
    pub skipped_after_queue: BTreeMap<SkipReason, u64>,
    /// One of those dropped for each reason, 256 bytes at most; in the summary only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<SkipReason, String>,
}

impl Urls {
    /// Dropped before they were queued, in all.
    pub fn skipped_before(&self) -> u64 {
        self.skipped_before_queue.values().sum()
    }

    /// Dropped when their turn came, in all.
    pub fn skipped_after(&self) -> u64 {
        self.skipped_after_queue.values().sum()
    }
}

/// The filter in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilterState {
    /// How the visited set decides, and so what the figures mean; not written.
    #[serde(skip)]
    pub dedup: Dedup,
    /// Which filter.
    pub kind: FilterKind,
    /// Its size.
    pub bits: u64,
    /// Bits for each URL it was made for.
    pub bits_per_url: f64,
    /// Bits set for each URL.
    pub hashes: u32,
    /// URLs in it.
    pub items: u64,
    /// Bits set, of all bits.
    pub fill_ratio: f64,
    /// Rate of false positives among new URLs asked now.
    pub estimated_fpr: f64,
    /// New URLs taken for seen so far, expected; only `--dedup bloom` loses them.
    pub expected_pages_missed: f64,
    /// The verdict.
    pub health: Verdict,
}

/// Memory in figures, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Memory {
    /// `--memory`.
    pub budget_bytes: u64,
    /// Resident now; absent from the summary, and where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Resident at most, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// How often something was done because memory ran short.
    pub steps: StepCounts,
    /// How the budget is split; in the summary only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

/// Bytes of bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// As received, coded.
    pub wire: u64,
    /// After decoding.
    pub decoded: u64,
}

/// Requests that were made; a page may take several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// For pages.
    pub pages: u64,
    /// Of these, repetitions after a failure.
    pub retries: u64,
    /// For robots.txt, each of its redirects counted.
    pub robots: u64,
}

/// What happened that a careful reader of the results wants to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// Records whose body was not read to its end.
    pub truncated: u64,
    /// Bodies that were not coded as their header said, and were read as they came.
    pub mislabelled_encodings: u64,
    /// Pages accepted at the depth limit and met nearer to a seed later: what they link to was
    /// left out though it lies within the limit.
    pub depth_shadowed: u64,
    /// Seeds whose redirect moved the scope.
    pub scope_moves: u64,
    /// `Crawl-delay` values longer than `--max-crawl-delay`.
    pub crawl_delays_clamped: u64,
    /// Closed hosts of which it was forgotten, for want of room, that they were given up or had
    /// failed: they are asked again, as politely as if they were new.
    pub hosts_forgotten: u64,
    /// Sitemaps read.
    pub sitemaps: u64,
    /// Entries found in them.
    pub sitemap_entries: u64,
    /// Sitemaps that broke off or were cut, where what stood before counts, and those that are none.
    pub sitemaps_cut: u64,
    /// Sitemaps with more entries or bytes than the protocol allows; all that was read counts.
    pub sitemaps_too_large: u64,
    /// Traps noticed: branches of near-identical pages, paths and domains at their caps.
    pub traps: u64,
    /// Cookies that were not kept for want of room or because they were not allowed.
    pub cookies_dropped: u64,
}

/// A crawl at one moment: one line of `stats.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// Pages with a record.
    pub pages: Pages,
    /// URLs met.
    pub urls: Urls,
    /// Requests made.
    pub requests: Requests,
    /// What else there is to know.
    pub notes: Notes,
    /// The filter; `null` with `--dedup exact`, which has none.
    pub filter: Option<FilterState>,
    /// Estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimates: Option<Portrait>,
    /// Memory.
    pub memory: Memory,
    /// Bodies.
    pub bytes: Bytes,
    /// Time since the crawl began, in seconds.
    #[serde(rename = "elapsed_s", serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// A crawl at its end: `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Why it ended.
    pub end_reason: EndReason,
    /// Its last figures.
    #[serde(flatten)]
    pub totals: Snapshot,
}

/// Whole milliseconds are enough, and keep the figure short.
fn seconds<S: Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_millis() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_documented_shape() {
        let mut totals = Snapshot { elapsed: Duration::from_micros(1_234_567), ..Snapshot::default() };
        totals.pages.by_status.insert(200, 3);
        totals.pages.by_error.insert(ErrorKind::Dns, 1);
        totals.urls.skipped_before_queue.insert(SkipReason::OutOfScope, 2);
        totals.urls.examples.insert(SkipReason::OutOfScope, "http://other.test/".into());
        totals.filter = Some(FilterState {
            dedup: Dedup::TwoStage,
            kind: FilterKind::Blocked,
            bits: 512,
            bits_per_url: 10.0,
            hashes: 6,
            items: 4,
            fill_ratio: 0.04,
            estimated_fpr: 0.0001,
            expected_pages_missed: 0.0,
            health: Verdict::Good,
        });
        let summary = Summary { end_reason: EndReason::Done, totals };
        let value = serde_json::to_value(&summary).expect("serializable");
        let expected = serde_json::json!({
            "end_reason": "done",
            "pages": {"fetched": 0, "ok": 0, "failed": 0, "by_status": {"200": 3}, "by_error": {"dns": 1}},
            "urls": {
                "discovered": 0, "unique": 0, "repeats": 0, "doubts_pending": 0, "doubts_settled": 0,
                "rescued": 0, "queued": 0, "in_flight": 0,
                "skipped_before_queue": {"out_of_scope": 2}, "skipped_after_queue": {},
                "examples": {"out_of_scope": "http://other.test/"},
            },
            "requests": {"pages": 0, "retries": 0, "robots": 0},
            "notes": {
                "truncated": 0, "mislabelled_encodings": 0, "depth_shadowed": 0, "scope_moves": 0,
                "crawl_delays_clamped": 0, "hosts_forgotten": 0, "sitemaps": 0, "sitemap_entries": 0,
                "sitemaps_cut": 0, "sitemaps_too_large": 0, "traps": 0, "cookies_dropped": 0,
            },
            "filter": {
                "kind": "blocked", "bits": 512, "bits_per_url": 10.0, "hashes": 6, "items": 4,
                "fill_ratio": 0.04, "estimated_fpr": 0.0001, "expected_pages_missed": 0.0, "health": "good",
            },
            "memory": {
                "budget_bytes": 0, "peak_rss_bytes": null,
                "steps": {"shrunk": 0, "spilled": 0, "paused": 0},
            },
            "bytes": {"wire": 0, "decoded": 0},
            "elapsed_s": 1.234,
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn names_are_what_is_written() {
        for reason in [
            EndReason::Done,
            EndReason::Signal,
            EndReason::PageLimit,
            EndReason::TimeLimit,
            EndReason::SizeLimit,
            EndReason::DiskFull,
            EndReason::NothingFetched,
            EndReason::WriteFailed,
            EndReason::StateDamaged,
        ] {
            assert_eq!(serde_json::to_value(reason).expect("serializable"), reason.name());
        }
        for health in [Verdict::Good, Verdict::Full, Verdict::Overfull] {
            assert_eq!(serde_json::to_value(health).expect("serializable"), health.name());
        }
    }
}
