//! How much two sets have in common: a Theta sketch.
//!
//! Source: A. Dasgupta, K. Lang, L. Rhodes, J. Thaler, A Framework for Estimating Stream Expression
//! Cardinalities (2016); the least hashes of a set are a sample of it, the same one for whoever met the same keys.
//! Its hash and its bytes are those of Apache's `datasketches`, whose libraries read them. The sketch that takes keys
//! is our own: that of the library cannot go on once it was read from disk, and takes twice the memory.

mod compare;
mod hash;

use super::{Estimate, MergeError};
use crate::store::{Decoder, Encoder, Malformed};

pub use compare::Comparison;

/// What is said of it in an error.
const NAME: &str = "overlap";

/// Least and most binary logarithm of how many hashes are held.
const LEAST_LG_K: u8 = 5;
const MOST_LG_K: u8 = 20;

/// Hashes are below it: they have 63 bits.
const MOST_THETA: u64 = i64::MAX as u64;

/// The header of the library's bytes: three words, its third version, the family of Theta sketches; not to be
/// changed, compact and sorted.
const WORDS: u8 = 3;
const VERSION: u8 = 3;
const FAMILY: u8 = 3;
const FLAGS: u8 = 0b1_1010;

/// The 2^k least hashes of all keys.
///
/// ```
/// use dragline::sketch::{Overlap, fingerprint};
///
/// let (mut first, mut second) = (Overlap::new(12), Overlap::new(12));
/// ["/a", "/b"].iter().for_each(|path| first.add(fingerprint(path)));
/// ["/b", "/c"].iter().for_each(|path| second.add(fingerprint(path)));
/// let compared = Overlap::compare(&first, &second);
/// assert_eq!((compared.both.value, compared.union.value), (1.0, 3.0));
/// ```
#[derive(Debug, Clone)]
pub struct Overlap {
    lg_k: u8,
    /// What is not below it is not held.
    theta: u64,
    /// First those that are sorted, each once; behind them what has come since.
    hashes: Vec<u64>,
    settled: usize,
}

impl Overlap {
    /// One that holds 2^`lg_k` hashes, 2^5 to 2^20.
    pub fn new(lg_k: u8) -> Self {
        let lg_k = lg_k.clamp(LEAST_LG_K, MOST_LG_K);
        Self { lg_k, theta: MOST_THETA, hashes: Vec::new(), settled: 0 }
    }

    /// The binary logarithm of how many hashes it holds.
    pub fn lg_k(&self) -> u8 {
        self.lg_k
    }

    fn most(&self) -> usize {
        1 << self.lg_k
    }

    /// How many may wait to be sorted in.
    fn room(&self) -> usize {
        self.most() / 8
    }

    /// Takes note of a fingerprint.
    #[inline]
    pub fn add(&mut self, fingerprint: u64) {
        let hash = hash::of(fingerprint);
        // past the first ones nearly all are
        if hash < self.theta {
            self.insert(hash);
        }
    }

    fn insert(&mut self, hash: u64) {
        if hash == 0 || self.hashes[..self.settled].binary_search(&hash).is_ok() {
            return;
        }
        if self.hashes.len() == self.hashes.capacity() {
            let most = self.most() + self.room();
            self.hashes.reserve_exact(self.hashes.len().max(32).min(most - self.hashes.len()));
        }
        self.hashes.push(hash);
        if self.hashes.len() - self.settled >= self.room() {
            self.settle();
        }
    }

    /// Sorts in what has come, and forgets what is too much.
    fn settle(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        if let Some(past) = self.hashes.get(self.most()) {
            self.theta = *past;
            self.hashes.truncate(self.most());
        }
        self.settled = self.hashes.len();
    }

    /// It, with all sorted in: what it retains is the same for all that met the same keys.
    fn trimmed(&self) -> Self {
        let mut trimmed = self.clone();
        trimmed.settle();
        trimmed
    }

    /// The hashes that it retains, trimmed to 2^`lg_k`, in order.
    pub fn retained(&self) -> Vec<u64> {
        self.trimmed().hashes
    }

    /// How many different keys there were. Takes as much memory again while it is worked out.
    pub fn estimate(&self) -> Estimate {
        let trimmed = self.trimmed();
        compare::of_sample(trimmed.hashes.len(), trimmed.theta)
    }

    /// What two sets have in common, and what not; their sizes may be unlike.
    /// Takes as much memory again while it is worked out.
    pub fn compare(first: &Self, second: &Self) -> Comparison {
        let (first, second) = (first.trimmed(), second.trimmed());
        Comparison::of((&first.hashes, first.theta), (&second.hashes, second.theta))
    }

    /// Takes in what another one met. Keys that both met count once.
    ///
    /// # Errors
    /// [`MergeError`] where the other holds another number of hashes.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        MergeError::unless_equal(NAME, "lg_k", &self.lg_k, &other.lg_k)?;
        self.settle();
        self.theta = self.theta.min(other.theta);
        self.hashes.truncate(self.hashes.partition_point(|hash| *hash < self.theta));
        self.settled = self.hashes.len();
        for hash in &other.hashes {
            if *hash < self.theta {
                self.insert(*hash);
            }
        }
        Ok(())
    }

    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.hashes.capacity() * size_of::<u64>()
    }

    /// Bytes that it takes at most, however much it meets.
    pub fn most_memory_bytes(&self) -> usize {
        size_of::<Self>() + (self.most() + self.room()) * size_of::<u64>()
    }

    /// Its bytes: `lg_k`, then what it retains as `datasketches` lays out a compact Theta sketch.
    pub fn encode(&self) -> Vec<u8> {
        let trimmed = self.trimmed();
        let mut bytes = Vec::with_capacity(25 + trimmed.hashes.len() * 8);
        bytes.extend_from_slice(&[self.lg_k, WORDS, VERSION, FAMILY, 0, 0, FLAGS]);
        bytes.extend_from_slice(&hash::SEED_HASH.to_le_bytes());
        bytes.extend_from_slice(&(trimmed.hashes.len() as u64).to_le_bytes());
        let mut encoder = Encoder(&mut bytes);
        encoder.key(trimmed.theta);
        trimmed.hashes.iter().for_each(|hash| encoder.key(*hash));
        bytes
    }

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut decoder = Decoder(bytes);
        let lg_k = decoder.byte()?;
        let [seed_low, seed_high] = hash::SEED_HASH.to_le_bytes();
        let header = u64::from_le_bytes([WORDS, VERSION, FAMILY, 0, 0, FLAGS, seed_low, seed_high]);
        if !(LEAST_LG_K..=MOST_LG_K).contains(&lg_k) || decoder.key()? != header {
            return Err(Malformed);
        }
        let (count, theta) = (decoder.key()?, decoder.key()?);
        let (hashes, rest) = decoder.0.as_chunks();
        let hashes: Vec<u64> = hashes.iter().map(|hash| u64::from_le_bytes(*hash)).collect();
        // none is missing below theta
        let is_full = hashes.len() == 1 << lg_k;
        let is_whole = theta <= MOST_THETA && (is_full || theta == MOST_THETA && hashes.len() < 1 << lg_k);
        let is_sorted = hashes.is_sorted_by(|one, next| one < next);
        let is_within = hashes.first() != Some(&0) && hashes.last().is_none_or(|last| *last < theta);
        if !rest.is_empty() || count != hashes.len() as u64 || !is_whole || !is_sorted || !is_within {
            return Err(Malformed);
        }
        Ok(Self { lg_k, theta, settled: hashes.len(), hashes })
    }
}

impl PartialEq for Overlap {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.trimmed(), other.trimmed());
        (one.lg_k, one.theta, one.hashes) == (other.lg_k, other.theta, other.hashes)
    }
}
