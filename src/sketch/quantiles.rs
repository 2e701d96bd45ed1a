//! What a half, nine tenths, ninety-nine hundredths of all numbers do not exceed: a t-digest.
//!
//! Source: T. Dunning and O. Ertl, Computing Extremely Accurate Quantiles Using t-Digests (2019). Apache's
//! `datasketches`, whose bytes its libraries in Java and C++ read, too.

use std::ops::RangeInclusive;

use datasketches::tdigest::TDigestMut;

use super::MergeError;
use crate::store::Malformed;

/// What is said of it in an error.
const NAME: &str = "quantile";

/// How finely it may divide the numbers.
const COMPRESSIONS: RangeInclusive<u16> = 20..=200;
/// Numbers that are counted at most. Of many more the share that a few make up is lost in rounding, and the library
/// would no longer group those at the ends.
const MOST_NUMBERS: u64 = 1 << 48;
/// Numbers that wait to be grouped. The library lets four times as many wait as there are groups, which is
/// quicker and no more exact, and takes most of the memory.
const WAITING: usize = 128;

/// The header of the library's bytes: words, version, family, and flags.
const VERSION: u8 = 1;
const FAMILY: u8 = 20;
const IS_EMPTY: u8 = 1;
const IS_ONE: u8 = 2;
const IS_REVERSED: u8 = 4;

/// Holds numbers in groups, smaller ones towards both ends, so that it is most exact there.
///
/// Where few different numbers come again and again, an answer may lie between two of them.
///
/// ```
/// use dragline::sketch::Quantiles;
///
/// let mut latency = Quantiles::default();
/// (1..=1000).for_each(|milliseconds| latency.add(f64::from(milliseconds)));
/// assert!((latency.quantile(0.99).unwrap() - 990.0).abs() < 2.0);
/// assert_eq!(latency.max(), Some(1000.0));
/// ```
#[derive(Debug, Clone)]
pub struct Quantiles {
    digest: TDigestMut,
    waiting: usize,
}

impl Quantiles {
    /// One without numbers, which divides them as finely as this, 20 to 200: groups of them, about twice as many at
    /// most, are what it holds.
    pub fn new(compression: u16) -> Self {
        Self { digest: empty(compression), waiting: 0 }
    }

    /// How finely it divides the numbers.
    pub fn compression(&self) -> u16 {
        self.digest.k()
    }

    /// Takes note of a number. What is no number, or infinite, is left out.
    pub fn add(&mut self, number: f64) {
        if self.count() >= MOST_NUMBERS {
            return;
        }
        self.digest.update(number);
        self.waiting += 1;
        if self.waiting == WAITING {
            self.waiting = 0;
            // whoever asks has those that wait grouped; and a copy has no room left over, of which the library would
            // make four times as much
            let _ = self.digest.quantile(0.5);
            self.digest = self.digest.clone();
        }
    }

    /// How many numbers there were.
    pub fn count(&self) -> u64 {
        self.digest.total_weight()
    }

    /// The number that a share of all (0 to 1) does not exceed. Nothing where there were none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.digest.clone().quantile(share.clamp(0.0, 1.0)).ok().flatten()
    }

    /// The greatest number.
    pub fn max(&self) -> Option<f64> {
        self.digest.max_value()
    }

    /// The least number.
    pub fn min(&self) -> Option<f64> {
        self.digest.min_value()
    }

    /// Takes in the numbers of another one.
    ///
    /// # Errors
    /// [`MergeError`] where they were divided otherwise, or the numbers are too many to be counted.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        MergeError::unless_equal(NAME, "compression", &self.compression(), &other.compression())?;
        MergeError::unless_countable(NAME, MOST_NUMBERS, self.count(), other.count())?;
        self.digest.merge(&other.digest);
        // gives back what both took together
        self.digest = self.digest.clone();
        self.waiting = 0;
        Ok(())
    }

    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.digest.estimated_size()
    }

    /// Bytes that it takes at most, however many numbers it meets.
    pub fn most_memory_bytes(&self) -> usize {
        size_of::<Self>() + (most_groups(self.compression()) + WAITING) * 16
    }

    /// Its bytes, as `datasketches` lays out a t-digest.
    pub fn encode(&self) -> Vec<u8> {
        self.digest.clone().serialize()
    }

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        check(bytes)?;
        let digest = TDigestMut::deserialize(bytes).map_err(|_| Malformed)?;
        if digest.total_weight() > MOST_NUMBERS { Err(Malformed) } else { Ok(Self { digest, waiting: 0 }) }
    }
}

fn empty(compression: u16) -> TDigestMut {
    let compression = compression.clamp(*COMPRESSIONS.start(), *COMPRESSIONS.end());
    TDigestMut::new(compression).expect("a compression within the library's limits")
}

/// Groups of numbers that are held at most, of 16 bytes each.
///
/// The library aims at ten more than twice the compression. Of two neighbours it leaves alone what is together more than
/// one group may be, so that merging like ones makes up to twice as many groups as are needed: 4 ln *N* / ln(1 + *z*/2*k*)
/// of *N* numbers, with *z* = 4 ln(*N*/2*k*) + 24; up to the most numbers and for all compressions that is below this.
fn most_groups(compression: u16) -> usize {
    2 * usize::from(compression) + 10 + WAITING
}

impl Default for Quantiles {
    fn default() -> Self {
        Self::new(*COMPRESSIONS.end())
    }
}

/// Refuses other layouts that the library reads, and more groups than there may be. The library looks at the numbers.
fn check(bytes: &[u8]) -> Result<(), Malformed> {
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(Malformed)?;
    let [words, version, family, low, high, flags, 0, 0] = *header else { return Err(Malformed) };
    let compression = u16::from_le_bytes([low, high]);
    let is_known = version == VERSION && family == FAMILY && COMPRESSIONS.contains(&compression);
    let is_sized = match (words, flags & !IS_REVERSED, rest.split_first_chunk::<8>()) {
        (1, IS_EMPTY, None) => rest.is_empty(),
        (1, IS_ONE, Some((_, rest))) => rest.is_empty(),
        (2, 0, Some((counts, rest))) => {
            // none waits
            let groups = u64::from_le_bytes(*counts) as usize;
            (1..=most_groups(compression)).contains(&groups) && rest.len() == 16 + 16 * groups
        }
        _ => false,
    };
    if is_known && is_sized { Ok(()) } else { Err(Malformed) }
}
