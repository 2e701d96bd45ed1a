//! What is counted, and the laws the counts obey.
//!
//! `discovered = repeats + skipped before queueing + unique + doubts pending` and
//! `unique = pages with a record + skipped after queueing + queued + in flight`.

use crate::model::{ErrorKind, Record, SkipReason};
use std::collections::BTreeMap;

/// A count per reason for not fetching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SkipCounts([u64; SkipReason::ALL.len()]);

impl SkipCounts {
    /// Counts `n` more.
    pub fn add(&mut self, reason: SkipReason, n: u64) {
        self.0[reason as usize] += n;
    }

    /// The count of one reason.
    pub fn of(&self, reason: SkipReason) -> u64 {
        self.0[reason as usize]
    }

    /// All reasons together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Reason and count, for those that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (SkipReason, u64)> + '_ {
        SkipReason::ALL.into_iter().map(|reason| (reason, self.of(reason))).filter(|(_, n)| *n > 0)
    }
}

/// The running counts of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Seeds, links and redirect targets met.
    pub discovered: u64,
    /// Of these, known to be seen.
    pub repeats: u64,
    /// Of these, new, and queued.
    pub unique: u64,
    /// Doubts settled so far.
    pub doubts_settled: u64,
    /// Of these, new after all.
    pub rescued: u64,
    /// Skipped when found.
    pub skipped_before_queue: SkipCounts,
    /// Skipped when due.
    pub skipped_after_queue: SkipCounts,
    /// Records with an answer.
    pub ok: u64,
    /// Records with an error.
    pub failed: u64,
    /// Records by status code.
    pub by_status: BTreeMap<u16, u64>,
    /// Records by kind of error.
    pub by_error: BTreeMap<ErrorKind, u64>,
    /// Requests for robots.txt, each of its redirects counted.
    pub robots_requests: u64,
    /// Requests for pages, repeated ones included.
    pub page_requests: u64,
    /// Page requests that were repetitions after a failure.
    pub retries: u64,
    /// Bytes of bodies received, as coded.
    pub wire_bytes: u64,
    /// Bytes of bodies after decoding.
    pub decoded_bytes: u64,
    /// Records whose body was not read to its end.
    pub truncated: u64,
    /// Bodies that were not coded as their header said.
    pub mislabelled_encodings: u64,
    /// Pages accepted at the depth limit and later met nearer to a seed.
    pub depth_shadowed: u64,
    /// `Crawl-delay` values that were clamped.
    pub crawl_delays_clamped: u64,
    /// Seeds whose redirect moved the scope.
    pub scope_moves: u64,
}

impl Counters {
    /// Records written.
    pub fn records(&self) -> u64 {
        self.ok + self.failed
    }

    /// Counts a record that is being written.
    pub fn record(&mut self, record: &Record) {
        match &record.error {
            Some(error) => {
                self.failed += 1;
                *self.by_error.entry(error.kind).or_default() += 1;
            }
            None => self.ok += 1,
        }
        if let Some(status) = record.status {
            *self.by_status.entry(status).or_default() += 1;
        }
        self.wire_bytes += record.wire_bytes;
        self.decoded_bytes += record.decoded_bytes;
        self.truncated += u64::from(record.truncated.is_some());
    }

    /// Whether the two laws hold, given what is pending, queued and in flight.
    pub fn add_up(&self, doubts_pending: u64, queued: u64, in_flight: u64) -> bool {
        self.discovered == self.repeats + self.skipped_before_queue.total() + self.unique + doubts_pending
            && self.unique == self.records() + self.skipped_after_queue.total() + queued + in_flight
    }
}
