//! What a filter of the visited set is, whatever its layout.
//!
//! A filter answers "new" for sure and "maybe seen" with an error it can state.
//! It knows keys, never URLs, and nothing of what a crawl does with the answer.

use std::io;

use super::blocked::BlockedFilter;
use super::classic::ClassicFilter;
use super::sizing::Sizing;
use crate::config::FilterKind;
use crate::model::UrlKey;

/// A set of keys with false positives and without false negatives.
pub trait Filter: Send {
    /// Inserts every key, in order. `new` is emptied and then holds, for each key, whether it
    /// was certainly not there before; a key that occurs twice is new at most the first time.
    fn test_and_set_batch(&mut self, keys: &[UrlKey], new: &mut Vec<bool>);

    /// Whether the key may have been inserted; `false` is certain.
    fn contains(&self, key: UrlKey) -> bool;

    /// Inserts keys whose answers nobody needs, as when a filter is rebuilt.
    fn insert_batch(&mut self, keys: &[UrlKey]);

    /// Empties the filter.
    fn clear(&mut self);

    /// Its layout.
    fn kind(&self) -> FilterKind;

    /// Its size in bits.
    fn bits(&self) -> u64;

    /// Bits set for one key.
    fn hashes(&self) -> u32;

    /// Keys that were new when they were inserted.
    fn items(&self) -> u64;

    /// Bits that are set, in constant time.
    fn bits_set(&self) -> u64;

    /// The false-positive rate as known now, in constant time.
    fn estimate(&self) -> RateEstimate;

    /// Looks at up to `lines` further cache lines of the array for a more exact estimate;
    /// `true` where that completed a pass over all of it. For idle time.
    fn refresh(&mut self, lines: usize) -> bool;

    /// Part of its bits that are set.
    fn fill_ratio(&self) -> f64 {
        self.bits_set() as f64 / self.bits() as f64
    }
}

/// A false-positive rate and how fresh the look at the array is that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEstimate {
    /// Probability that a key never inserted is answered "maybe".
    pub rate: f64,
    /// Keys accepted since the array was last looked at as a whole; all of them where it never was.
    pub age: u64,
}

/// An empty filter of this size; an error where its memory cannot be had.
pub fn build(sizing: &Sizing) -> io::Result<Box<dyn Filter>> {
    Ok(match sizing.kind {
        FilterKind::Blocked => Box::new(BlockedFilter::new(sizing.bits, sizing.hashes)?),
        FilterKind::Classic => Box::new(ClassicFilter::new(sizing.bits, sizing.hashes)?),
    })
}
