//! The blocked filter: one cache line per key, so one memory access per question.
//!
//! Owns the array of blocks, its counters and the estimate of its false-positive
//! rate. The inner loops are in [`super::simd`].

use std::io;

use super::filter::{Filter, RateEstimate};
use super::memory::{Line, Lines};
use super::rates::{BLOCK_BITS, BLOCKED_HASHES_MAX, keys_from_fill, split_rate};
use super::simd::{self, InstructionSet, Tally};
use crate::config::FilterKind;
use crate::model::UrlKey;

/// A Bloom filter of 512-bit blocks in the split layout.
#[derive(Debug)]
pub struct BlockedFilter {
    blocks: Lines,
    hashes: u32,
    set: InstructionSet,
    items: u64,
    bits_set: u64,
    scan: Scan,
}

/// A look at the array in progress, and what the last complete one found.
#[derive(Debug, Default)]
struct Scan {
    next: usize,
    began_at: u64,
    exact: f64,
    model: f64,
    /// Exact rate ÷ what the mixture says at the same fill; 1 until a scan has ended.
    correction: Option<f64>,
    items: u64,
}

impl BlockedFilter {
    /// An empty filter of `bits` (rounded up to whole blocks) with `hashes` bits per key
    /// (held to 1 to 8); an error where the memory cannot be had.
    pub fn new(bits: u64, hashes: u32) -> io::Result<Self> {
        Self::with_instruction_set(bits, hashes, InstructionSet::detect())
    }

    /// As [`BlockedFilter::new`], with the inner loop of a given instruction set;
    /// the portable one where the processor lacks it. The answers are the same.
    pub fn with_instruction_set(bits: u64, hashes: u32, set: InstructionSet) -> io::Result<Self> {
        let blocks = usize::try_from(bits.div_ceil(BLOCK_BITS).max(1)).map_err(io::Error::other)?;
        Ok(BlockedFilter {
            blocks: Lines::zeroed(blocks)?,
            hashes: hashes.clamp(1, BLOCKED_HASHES_MAX),
            set: if InstructionSet::available().contains(&set) { set } else { InstructionSet::Portable },
            items: 0,
            bits_set: 0,
            scan: Scan::default(),
        })
    }

    /// The instruction set in use.
    pub fn instruction_set(&self) -> InstructionSet {
        self.set
    }

    /// The blocks as words, for tests and for tools that look inside.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.blocks.iter().flat_map(|block| block.0)
    }

    /// Inserts one key; whether it was certainly not there before. Batches are several times faster.
    #[inline]
    pub fn test_and_set(&mut self, key: UrlKey) -> bool {
        let index = simd::block_of(key, self.blocks.len());
        let fresh = simd::set_one(&mut self.blocks[index], self.hashes, key);
        self.items += u64::from(fresh > 0);
        self.bits_set += u64::from(fresh);
        fresh > 0
    }

    /// Inserts the keys of an iterator, in order; `new` as in [`Filter::test_and_set_batch`].
    ///
    /// The quickest way for one who still has to make the keys: an iterator that hashes URLs
    /// is advanced while the blocks of earlier keys are on their way and being probed.
    #[inline]
    pub fn test_and_set_all(&mut self, keys: impl Iterator<Item = UrlKey>, new: &mut Vec<bool>) {
        new.clear();
        let answer = |bits: &[u8]| new.extend(bits.iter().map(|bits| *bits != 0));
        let tally = simd::test_and_set(self.set, &mut self.blocks, self.hashes, keys, answer);
        self.count(tally);
    }

    /// Brings the key's block near, for a caller that has something else to do meanwhile.
    #[inline]
    pub fn prefetch(&self, key: UrlKey) {
        simd::prefetch(&self.blocks[simd::block_of(key, self.blocks.len())]);
    }

    fn count(&mut self, tally: Tally) {
        self.items += tally.new_keys;
        self.bits_set += tally.new_bits;
    }

    /// The Poisson mixture at the load that explains the fill.
    fn model_rate(&self) -> f64 {
        let keys = keys_from_fill(self.hashes, self.bits(), self.fill_ratio());
        split_rate(self.hashes, keys / self.blocks.len() as f64)
    }
}

impl Filter for BlockedFilter {
    fn test_and_set_batch(&mut self, keys: &[UrlKey], new: &mut Vec<bool>) {
        self.test_and_set_all(keys.iter().copied(), new);
    }

    fn contains(&self, key: UrlKey) -> bool {
        simd::holds(&self.blocks[simd::block_of(key, self.blocks.len())], self.hashes, key)
    }

    fn insert_batch(&mut self, keys: &[UrlKey]) {
        let keys = keys.iter().copied();
        let tally = simd::test_and_set(self.set, &mut self.blocks, self.hashes, keys, |_| ());
        self.count(tally);
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.items = 0;
        self.bits_set = 0;
        self.scan = Scan::default();
    }

    fn kind(&self) -> FilterKind {
        FilterKind::Blocked
    }

    fn bits(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK_BITS
    }

    fn hashes(&self) -> u32 {
        self.hashes
    }

    fn items(&self) -> u64 {
        self.items
    }

    fn bits_set(&self) -> u64 {
        self.bits_set
    }

    fn estimate(&self) -> RateEstimate {
        let rate = (self.model_rate() * self.scan.correction.unwrap_or(1.0)).min(1.0);
        RateEstimate { rate, age: self.items - self.scan.items }
    }

    /// The exact rate of the array as it stands, block by block: for each of the eight starts
    /// the product of the fill of the words in its run, averaged over starts and blocks.
    /// What is kept is its quotient to the mixture, so that the estimate stays right while
    /// keys keep coming.
    fn refresh(&mut self, lines: usize) -> bool {
        if self.scan.next == 0 {
            (self.scan.exact, self.scan.model, self.scan.began_at) = (0.0, 0.0, self.items);
        }
        let end = self.scan.next.saturating_add(lines).min(self.blocks.len());
        let part = &self.blocks[self.scan.next..end];
        let exact: f64 = part.iter().map(|block| block_rate(block, self.hashes)).sum();
        let model = self.model_rate() * part.len() as f64;
        self.scan.exact += exact;
        self.scan.model += model;
        self.scan.next = end;
        if end < self.blocks.len() {
            return false;
        }
        self.scan.next = 0;
        self.scan.items = self.scan.began_at;
        self.scan.correction = (self.scan.model > 0.0).then(|| self.scan.exact / self.scan.model);
        true
    }
}

/// The rate of one block: the mean over its starts of the product of its run's fill ratios.
fn block_rate(block: &Line, hashes: u32) -> f64 {
    let fill = block.0.map(|word| f64::from(word.count_ones()) / 64.0);
    let product =
        |start: usize| -> f64 { (0..hashes as usize).map(|step| fill[(start + step) & 7]).product() };
    (0..8).map(product).sum::<f64>() / 8.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_block_by_hand() {
        let mut block = Line::default();
        assert!(block_rate(&block, 3).abs() < 1e-12);
        block.0 = [u64::MAX; 8];
        assert!((block_rate(&block, 8) - 1.0).abs() < 1e-12);
        // one word half full, its neighbours full: of the 8 runs of 2 words, those over word 0 count half
        block.0[0] = 0xFFFF_FFFF;
        assert!((block_rate(&block, 2) - (6.0 + 2.0 * 0.5) / 8.0).abs() < 1e-12);
        assert!((block_rate(&block, 8) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_scan_in_parts_is_a_scan() {
        let mut filter = BlockedFilter::new(512 * 100, 6).unwrap();
        let keys: Vec<u64> = (1..5000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        filter.insert_batch(&keys);
        assert_eq!(filter.estimate().age, filter.items());
        assert!(filter.refresh(usize::MAX));
        let whole = filter.estimate();
        assert_eq!(whole.age, 0);
        assert!(!filter.refresh(33) && !filter.refresh(66) && filter.refresh(1));
        assert!((filter.estimate().rate / whole.rate - 1.0).abs() < 1e-9);
        filter.clear();
        assert!(filter.refresh(100));
        assert!(filter.estimate().rate < 1e-9);
    }
}
