//! What is counted, and the laws the counts obey.
//!
//! `discovered = repeats + skipped before queueing + unique + doubts pending` and
//! `unique = pages with a record + skipped after queueing + queued + in flight`.

use crate::model::{ErrorKind, Record, SkipReason};
use crate::store::{Decoder, Encoder, Malformed};
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

/// The slot of [`Counters::scope_moves`].
const SCOPE_MOVES: u64 = 31;
/// The first slot of [`Counters::skipped_before_queue`].
const SKIPPED_BEFORE: u64 = 32;
/// The first slot of [`Counters::skipped_after_queue`].
const SKIPPED_AFTER: u64 = 64;
/// The first slot of [`Counters::by_error`].
const BY_ERROR: u64 = 128;
/// The first slot of [`Counters::by_status`].
const BY_STATUS: u64 = 256;

fn step(slot: u64, now: u64, before: &mut u64, changed: &mut impl FnMut(u64, u64)) {
    if now > *before {
        changed(slot, now - *before);
        *before = now;
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
    /// Closed hosts of which it was forgotten, for want of room, that they had failed.
    pub hosts_forgotten: u64,
    /// Sitemaps read.
    pub sitemaps: u64,
    /// Entries found in them.
    pub sitemap_entries: u64,
    /// Sitemaps that broke off or were cut: what stood before counts.
    pub sitemaps_cut: u64,
    /// Sitemaps with more entries or bytes than the protocol allows.
    pub sitemaps_too_large: u64,
    /// Traps noticed: branches of near-identical pages, paths and domains at their caps.
    pub traps: u64,
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
        if let Some(sitemap) = record.sitemap {
            self.sitemaps += 1;
            self.sitemap_entries += sitemap.entries;
            self.sitemaps_cut += u64::from(sitemap.cut);
            self.sitemaps_too_large += u64::from(sitemap.too_large);
        }
    }

    /// The plain counts, in the order in which they are numbered on disk: new ones go to the end.
    fn plain(&mut self) -> [&mut u64; 22] {
        [
            &mut self.discovered,
            &mut self.repeats,
            &mut self.unique,
            &mut self.doubts_settled,
            &mut self.rescued,
            &mut self.ok,
            &mut self.failed,
            &mut self.robots_requests,
            &mut self.page_requests,
            &mut self.retries,
            &mut self.wire_bytes,
            &mut self.decoded_bytes,
            &mut self.truncated,
            &mut self.mislabelled_encodings,
            &mut self.depth_shadowed,
            &mut self.crawl_delays_clamped,
            &mut self.hosts_forgotten,
            &mut self.sitemaps,
            &mut self.sitemap_entries,
            &mut self.sitemaps_cut,
            &mut self.sitemaps_too_large,
            &mut self.traps,
        ]
    }

    /// Hands out what was counted since `before`, by slot, and brings `before` up to date.
    ///
    /// Slots: 0 to 31 plain counts; from `SKIPPED_BEFORE`, `SKIPPED_AFTER` and `BY_ERROR` on
    /// a count per reason or kind, in the order of their declaration; from `BY_STATUS` on a count
    /// per status code.
    pub fn since(&mut self, before: &mut Counters, mut changed: impl FnMut(u64, u64)) {
        for (slot, (now, before)) in (0..).zip(self.plain().into_iter().zip(before.plain())) {
            step(slot, *now, before, &mut changed);
        }
        step(SCOPE_MOVES, self.scope_moves, &mut before.scope_moves, &mut changed);
        for (first, now, before) in [
            (SKIPPED_BEFORE, &self.skipped_before_queue, &mut before.skipped_before_queue),
            (SKIPPED_AFTER, &self.skipped_after_queue, &mut before.skipped_after_queue),
        ] {
            for (slot, (now, before)) in (first..).zip(now.0.iter().zip(&mut before.0)) {
                step(slot, *now, before, &mut changed);
            }
        }
        for (kind, now) in &self.by_error {
            step(BY_ERROR + *kind as u64, *now, before.by_error.entry(*kind).or_default(), &mut changed);
        }
        for (status, now) in &self.by_status {
            let before = before.by_status.entry(*status).or_default();
            step(BY_STATUS + u64::from(*status), *now, before, &mut changed);
        }
    }

    /// Counts what [`since`](Self::since) handed out; whether there is such a slot.
    pub fn count(&mut self, slot: u64, n: u64) -> bool {
        let place = slot as usize;
        let counter = match slot {
            SCOPE_MOVES => Some(&mut self.scope_moves),
            0..SCOPE_MOVES => self.plain().into_iter().nth(place),
            SKIPPED_BEFORE..SKIPPED_AFTER => {
                self.skipped_before_queue.0.get_mut(place - SKIPPED_BEFORE as usize)
            }
            SKIPPED_AFTER..BY_ERROR => self.skipped_after_queue.0.get_mut(place - SKIPPED_AFTER as usize),
            BY_ERROR..BY_STATUS => ErrorKind::ALL
                .get(place - BY_ERROR as usize)
                .map(|kind| self.by_error.entry(*kind).or_default()),
            _ => u16::try_from(slot - BY_STATUS).ok().map(|status| self.by_status.entry(status).or_default()),
        };
        counter.map(|counter| *counter = counter.saturating_add(n)).is_some()
    }

    /// Appends all counts, for [`decode`](Self::decode): number of pairs · pairs of slot and count.
    pub fn encode(&self, encoder: &mut Encoder<'_>) {
        let mut pairs = Vec::new();
        self.clone().since(&mut Counters::default(), |slot, n| pairs.push((slot, n)));
        encoder.number(pairs.len() as u64);
        for (slot, n) in pairs {
            encoder.number(slot);
            encoder.number(n);
        }
    }

    /// Reads them back.
    ///
    /// # Errors
    /// [`Malformed`] where something is counted that there is not.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let mut counters = Counters::default();
        for _ in 0..decoder.number()? {
            let (slot, n) = (decoder.number()?, decoder.count()?);
            if !counters.count(slot, n) {
                return Err(Malformed);
            }
        }
        Ok(counters)
    }

    /// Whether the two laws hold, given what is pending, queued and in flight.
    pub fn add_up(&self, doubts_pending: u64, queued: u64, in_flight: u64) -> bool {
        self.discovered == self.repeats + self.skipped_before_queue.total() + self.unique + doubts_pending
            && self.unique == self.records() + self.skipped_after_queue.total() + queued + in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_counted_since_is_counted_again(steps in proptest::collection::vec((0..900_u64, 1..1000_u64), 0..60)) {
            let (mut now, mut before, mut copy) = (Counters::default(), Counters::default(), Counters::default());
            for (slot, n) in steps {
                now.count(slot, n);
                now.since(&mut before, |slot, n| assert!(copy.count(slot, n)));
                prop_assert_eq!(&copy, &now);
                prop_assert_eq!(&before, &now);
            }
        }
    }

    #[test]
    fn every_count_has_a_slot() {
        let mut counters = Counters::default();
        let slots = (0..700).filter(|slot| counters.count(*slot, 1)).count();
        assert_eq!(slots, 23 + 2 * SkipReason::ALL.len() + ErrorKind::ALL.len() + 444);
        assert!(ErrorKind::ALL.iter().zip(0..).all(|(kind, place)| *kind as usize == place));
        assert!(SkipReason::ALL.iter().zip(0..).all(|(reason, place)| *reason as usize == place));
    }
}
