//! Settling: finding out which doubts were new after all.
//!
//! Owns the look-up under way and the arithmetic of its steps; the doubts themselves, the exact
//! keys and the filter belong to the set. Knows no clock: work is counted by what it costs.
//!
//! A settlement takes the oldest doubts, a range of numbers, and goes through the keys from the
//! lowest to the highest, a slice of key space at a time: the keys of doubts in the slice are
//! gathered from memory and from every file (where they stand sorted), sorted, rid of doublets
//! (the lowest number wins), and held against the exact keys as they are *now*. What is not among
//! them is found, and marked in a bitmap. Each slice is one step, so the owner gets its turns.
//! Then the candidates that were found are read, in order of number, and handed out in [`Slice`]s.
//!
//! **Nobody else can accept a key that was found.** It is set in filter and table in the step that
//! finds it, so asked again it is a repeat or a further doubt. What was accepted *before* that step
//! is among the exact keys, because the step looks at them as they are. So a commit need not look
//! again. For the same reason the filter does not grow while a settlement is under way.
//!
//! **What it costs** (measured on keys that the system has in its cache): some [`DOUBT`] for each
//! doubt, and [`BLOCK`] for each block of exact keys read. With *d* doubts against *r* runs of *b* blocks in
//! all, the smaller of *d · r* and *b* blocks are read. See [`worth_settling`](super::worth_settling).

use std::ops::Range;
use std::time::Duration;

use super::doubts::{Doubts, Found, Rescued};
use super::exact::{ExactError, ExactKeys, LookupCost};
use super::pace::{BLOCK, DOUBT};
use crate::model::UrlKey;

/// Doubts found that one slice holds, about.
const SLICE: usize = 256;
/// What reading and decoding a block of candidates takes.
const CANDIDATES: Duration = Duration::from_micros(100);

/// Doubts that are decided, to be committed: all that are numbered below `up_to`, those in
/// `rescued` as new and the others as repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// One past the last doubt that is decided.
    pub up_to: u64,
    /// Doubts it decides.
    pub decided: u64,
    /// Those that are new, in order of number.
    pub rescued: Vec<Rescued>,
}

/// What came of a step of settling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settling {
    /// No settlement is under way.
    Idle,
    /// The look-up went on, at about this cost.
    LookedUp(Duration),
    /// A part is decided. It is under way until it is committed.
    Decided(Slice, Duration),
}

/// A settlement under way.
#[derive(Debug)]
pub(super) struct Settlement {
    found: Found,
    /// The lowest key that was not looked up; none where all were.
    low: Option<UrlKey>,
    /// Entries that are looked up in one step at most.
    most: u64,
    asked: Vec<(UrlKey, u64)>,
}

impl Settlement {
    /// Begins to settle the oldest doubts, with so much memory; none where no doubt is pending.
    pub(super) fn begin(doubts: &mut Doubts, bytes: u64) -> Option<Self> {
        if doubts.is_empty() {
            return None;
        }
        doubts.rewind();
        let range = doubts.oldest()..doubts.next_number().min(doubts.oldest() + most_doubts(bytes));
        // half of the memory for the bitmap, half for keys with their numbers, which may come double
        let most = (bytes / 2 / size_of::<(UrlKey, u64)>() as u64 / 2).max(256);
        Some(Settlement { found: Found::none(range), low: Some(0), most, asked: Vec::new() })
    }

    /// The doubts it settles.
    pub(super) fn range(&self) -> &Range<u64> {
        self.found.range()
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.found.bytes() + (self.asked.capacity() * size_of::<(UrlKey, u64)>()) as u64
    }

    /// Whether every key was looked up.
    pub(super) fn is_looked_up(&self) -> bool {
        self.low.is_none()
    }

    /// Looks up the next slice of key space, as large as costs about `budget`; the keys that were
    /// found, which must be set in filter and table at once, and the cost.
    pub(super) fn look_up(
        &mut self,
        doubts: &mut Doubts,
        exact: &mut dyn ExactKeys,
        budget: Duration,
    ) -> Result<(Vec<UrlKey>, Duration), ExactError> {
        let Some(low) = self.low else { return Ok((Vec::new(), Duration::ZERO)) };
        let range = self.found.range().clone();
        let all = range.end - range.start;
        let cost = exact.lookup_cost();
        let mut high = slice_end(low, all, self.most.min(affordable(all, cost, budget)));
        doubts.load((low, &mut high), range.end, self.most as usize, &mut self.asked)?;
        let asked = self.asked.len() as u64;
        exact.remove_seen(&mut self.asked)?;
        for (_, number) in &self.asked {
            self.found.insert(*number);
        }
        self.low = high.checked_add(1);
        let part = cost.blocks as f64 * (high - low) as f64 / u64::MAX as f64;
        let blocks = ((asked * cost.runs) as f64).min(part + cost.runs as f64);
        let spent = DOUBT * asked as u32 + BLOCK.mul_f64(blocks);
        Ok((self.asked.iter().map(|(key, _)| *key).collect(), spent))
    }

    /// Gathers the next doubts found, in order of number.
    pub(super) fn slice(
        &self,
        doubts: &mut Doubts,
        budget: Duration,
    ) -> Result<(Slice, Duration), ExactError> {
        let (mut rescued, mut spent) = (Vec::new(), Duration::ZERO);
        let oldest = doubts.oldest();
        let mut up_to = oldest;
        while up_to < self.range().end && rescued.len() < SLICE && (spent < budget || spent.is_zero()) {
            let (next, read) = doubts.collect(&self.found, up_to, &mut rescued)?;
            up_to = next;
            spent += if read { CANDIDATES } else { Duration::from_micros(1) };
        }
        Ok((Slice { up_to, decided: up_to - oldest, rescued }, spent))
    }
}

/// Doubts that one settlement decides at most, with so much memory: half of it is a bitmap.
pub(super) fn most_doubts(bytes: u64) -> u64 {
    (bytes / 2 * 8).max(4096)
}

/// Of `all` doubts in a settlement, how many a step may look up. Spread evenly they read the
/// smaller of one block of every run each, and their share of all blocks.
fn affordable(all: u64, cost: LookupCost, budget: Duration) -> u64 {
    let blocks_each = (cost.runs as f64).min(cost.blocks as f64 / all.max(1) as f64);
    let each = DOUBT.as_secs_f64() + BLOCK.as_secs_f64() * blocks_each;
    ((budget.as_secs_f64() / each) as u64).max(1)
}

/// The last key of a slice that holds about `most` of `all` keys, spread evenly.
fn slice_end(low: UrlKey, all: u64, most: u64) -> UrlKey {
    if most >= all {
        return UrlKey::MAX;
    }
    low.saturating_add((u128::from(u64::MAX) * u128::from(most) / u128::from(all)) as u64)
}
