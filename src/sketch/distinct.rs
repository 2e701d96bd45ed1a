//! How many different things were met: HyperLogLog.
//!
//! Source: P. Flajolet, É. Fusy, O. Gandouet, F. Meunier, HyperLogLog (2007); estimated as long as it was
//! never merged by its history (K. Lang, Back to the Future, 2017; D. Ting, Streamed Approximate Counting of
//! Distinct Elements, 2014), with a relative standard error of 0.833/√2^lg_k, and else by its registers, 1.04/√2^lg_k.
//! Apache's `datasketches`, whose bytes its libraries in Java and C++ read, too.

mod bytes;

use datasketches::common::NumStdDev;
use datasketches::hll::{HllSketch, HllType, HllUnion};

use super::{Estimate, MergeError};
use crate::store::Malformed;

/// What is said of it in an error.
const NAME: &str = "distinct";

/// Registers of 4 bits: half the memory of 8 bits, and hardly slower, for most keys change no register.
const REGISTERS: HllType = HllType::Hll4;

/// Counts different keys, in a few kilobytes however many they are.
///
/// As long as there are few (an eighth of its registers, or a tenth) it holds them one by one, in less memory.
///
/// ```
/// use dragline::sketch::{Distinct, fingerprint};
///
/// let mut hosts = Distinct::new(14);
/// for host in ["a.test", "b.test", "a.test"] {
///     hosts.add(fingerprint(host));
/// }
/// assert_eq!(hosts.estimate().value.round(), 2.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Distinct {
    sketch: HllSketch,
}

impl Distinct {
    /// One of 2^`lg_k` registers, 2^4 to 2^21.
    pub fn new(lg_k: u8) -> Self {
        let lg_k = lg_k.clamp(bytes::LEAST_LG_K, bytes::MOST_LG_K);
        Self { sketch: empty(lg_k) }
    }

    /// The binary logarithm of its number of registers.
    pub fn lg_k(&self) -> u8 {
        self.sketch.lg_config_k()
    }

    /// Takes note of a fingerprint.
    #[inline]
    pub fn add(&mut self, fingerprint: u64) {
        self.sketch.update(fingerprint);
    }

    /// How many different ones there were.
    pub fn estimate(&self) -> Estimate {
        let value = self.sketch.estimate();
        Estimate {
            value,
            lower: self.sketch.lower_bound(NumStdDev::Two).min(value),
            upper: self.sketch.upper_bound(NumStdDev::Two).max(value),
        }
    }

    /// The estimate by the registers alone, whatever the history: the same for all that met the same keys,
    /// in whatever order and however merged.
    pub fn composite(&self) -> f64 {
        self.sketch.composite_estimate()
    }

    /// Takes in what another one met. Keys that both met count once.
    ///
    /// # Errors
    /// [`MergeError`] where the other has another number of registers.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        MergeError::unless_equal(NAME, "lg_k", &self.lg_k(), &other.lg_k())?;
        let mut union = empty_union(self.lg_k());
        union.update(&self.sketch);
        union.update(&other.sketch);
        self.sketch = union.to_sketch(REGISTERS);
        Ok(())
    }

    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.sketch.estimated_size()
    }

    /// Bytes that it takes at most, however much it meets.
    pub fn most_memory_bytes(&self) -> usize {
        // registers that stand out have a place more, of four bytes
        size_of::<Self>() + (1 << self.lg_k()) / 2 + (1 << self.lg_k()) / 16
    }

    /// Its bytes, as `datasketches` lays out an HLL sketch.
    pub fn encode(&self) -> Vec<u8> {
        self.sketch.serialize()
    }

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        bytes::check(bytes)?;
        HllSketch::deserialize(bytes).map(|sketch| Self { sketch }).map_err(|_| Malformed)
    }
}

fn empty(lg_k: u8) -> HllSketch {
    HllSketch::new(lg_k, REGISTERS).expect("a number of registers within the library's limits")
}

fn empty_union(lg_k: u8) -> HllUnion {
    HllUnion::new(lg_k).expect("a number of registers within the library's limits")
}
