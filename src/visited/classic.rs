//! The classic filter: bits anywhere in the array, by the `fastbloom` crate.
//!
//! A little better per bit than the blocked filter and, on a large array, several
//! times slower. It is fed the URL key itself as the hash it derives all others from.

use std::io;

use fastbloom::BloomFilter;

use super::filter::{Filter, RateEstimate};
use super::rates::CLASSIC_HASHES_MAX;
use crate::config::FilterKind;
use crate::model::UrlKey;

/// A Bloom filter without blocks.
#[derive(Debug)]
pub struct ClassicFilter {
    filter: BloomFilter,
    items: u64,
    /// Bits set: counted up to item `counted_items`, reckoned from there on.
    bits_set: f64,
    counted_items: u64,
    scan: Scan,
}

/// A count of set bits in progress.
#[derive(Debug, Default)]
struct Scan {
    next: usize,
    bits: u64,
    began_at: u64,
    reckoned_then: f64,
}

impl ClassicFilter {
    /// An empty filter of `bits` (rounded up to whole words) with `hashes` bits per key;
    /// an error where the memory cannot be had.
    pub fn new(bits: u64, hashes: u32) -> io::Result<Self> {
        let words = usize::try_from(bits.div_ceil(64).max(1)).map_err(io::Error::other)?;
        std::alloc::Layout::array::<u64>(words).map_err(io::Error::other)?;
        // reserved first, so that too much is an error and not an abort
        let mut probe: Vec<u64> = Vec::new();
        probe.try_reserve_exact(words).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        drop(probe);
        let hashes = hashes.clamp(1, CLASSIC_HASHES_MAX);
        // `vec!` of zeros is zeroed by the system, page by page as it is used
        let filter = BloomFilter::from_vec(vec![0; words]).hashes(hashes);
        Ok(ClassicFilter { filter, items: 0, bits_set: 0.0, counted_items: 0, scan: Scan::default() })
    }

    /// Inserts one key; whether it was certainly not there before.
    #[inline]
    pub fn test_and_set(&mut self, key: UrlKey) -> bool {
        let new = !self.filter.insert_hash(key);
        self.items += u64::from(new);
        new
    }

    /// Brings the reckoned number of set bits up to date after `accepted` further keys.
    /// A key that was accepted set, of its k bits, at least one: on average
    /// `k (1 − fill) / (1 − fill^k)`.
    fn reckon(&mut self, accepted: u64) {
        let bits = self.bits() as f64;
        let hashes = f64::from(self.hashes());
        // in steps small enough that the fill hardly moves within one
        let step = (self.bits() / 4096).max(1);
        let mut left = accepted;
        while left > 0 {
            let now = left.min(step);
            let fill = (self.bits_set / bits).min(1.0);
            let certain = 1.0 - fill.powf(hashes);
            if certain <= 0.0 {
                break;
            }
            self.bits_set += now as f64 * hashes * (1.0 - fill) / certain;
            left -= now;
        }
        self.bits_set = self.bits_set.min(bits);
    }
}

impl Filter for ClassicFilter {
    fn test_and_set_batch(&mut self, keys: &[UrlKey], new: &mut Vec<bool>) {
        let before = self.items;
        new.clear();
        new.extend(keys.iter().map(|key| !self.filter.insert_hash(*key)));
        self.items += new.iter().filter(|new| **new).count() as u64;
        self.reckon(self.items - before);
    }

    fn contains(&self, key: UrlKey) -> bool {
        self.filter.contains_hash(key)
    }

    fn insert_batch(&mut self, keys: &[UrlKey]) {
        let accepted = keys.iter().filter(|key| !self.filter.insert_hash(**key)).count() as u64;
        self.items += accepted;
        self.reckon(accepted);
    }

    fn clear(&mut self) {
        self.filter.clear();
        self.items = 0;
        self.bits_set = 0.0;
        self.counted_items = 0;
        self.scan = Scan::default();
    }

    fn kind(&self) -> FilterKind {
        FilterKind::Classic
    }

    fn bits(&self) -> u64 {
        self.filter.num_bits() as u64
    }

    fn hashes(&self) -> u32 {
        self.filter.num_hashes()
    }

    fn items(&self) -> u64 {
        self.items
    }

    /// Exact right after a completed [`Filter::refresh`], reckoned from the number of items since.
    fn bits_set(&self) -> u64 {
        self.bits_set.round() as u64
    }

    /// `fill^k`: right for this layout.
    fn estimate(&self) -> RateEstimate {
        let rate = self.fill_ratio().powi(self.hashes() as i32);
        RateEstimate { rate, age: self.items - self.counted_items }
    }

    fn refresh(&mut self, lines: usize) -> bool {
        if self.scan.next == 0 {
            self.scan = Scan { next: 0, bits: 0, began_at: self.items, reckoned_then: self.bits_set };
        }
        let words = self.filter.as_slice();
        let end = self.scan.next.saturating_add(lines.saturating_mul(8)).min(words.len());
        self.scan.bits +=
            words[self.scan.next..end].iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.scan.next = end;
        if end < words.len() {
            return false;
        }
        self.scan.next = 0;
        self.counted_items = self.scan.began_at;
        // about half of what came while the scan went on was seen by it
        let meanwhile = (self.bits_set - self.scan.reckoned_then) / 2.0;
        self.bits_set = (self.scan.bits as f64 + meanwhile).min(self.bits() as f64);
        true
    }
}
