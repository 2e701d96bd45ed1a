//! What sketches are fed with, and what they answer with.
//!
//! It must not know how any of them comes to its answer.

use xxhash_rust::xxh3::xxh3_64;

/// Weight that a sketch counts at most; what is added past it is left out. Sums of two never overflow.
pub(super) const MOST_WEIGHT: u64 = 1 << 62;

/// The fingerprint under which a text is counted: XXH3 of its bytes, 64 bits, with seed 0.
///
/// It is the same in every crawl, whatever the crawl's secret, so that sketches of different crawls can be
/// merged and compared. That makes it guessable, too: nothing that must withstand an attack may rest on it.
pub fn fingerprint(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

/// An estimate with the 95 % (two standard deviations) bounds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The likeliest value.
    pub value: f64,
    /// The truth is below it in one case of forty.
    pub lower: f64,
    /// The truth is above it in one case of forty.
    pub upper: f64,
}

impl Estimate {
    /// What is known exactly.
    pub fn exact(value: f64) -> Self {
        Self { value, lower: value, upper: value }
    }

    /// Whether a value lies within the bounds.
    pub fn holds(&self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }
}

/// Two sketches that cannot become one.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum MergeError {
    /// They were made otherwise.
    #[error("{sketch} sketches of unlike {parameter}, {ours} and {theirs}, cannot be merged")]
    Unlike {
        /// The kind of sketch.
        sketch: &'static str,
        /// What they differ in.
        parameter: &'static str,
        /// That of the one which was to take the other in.
        ours: String,
        /// That of the other.
        theirs: String,
    },
    /// Together they counted more than one can count.
    #[error("{sketch} sketches that counted too much to be added up cannot be merged")]
    TooMuch {
        /// The kind of sketch.
        sketch: &'static str,
    },
}

impl MergeError {
    /// Refuses two sketches whose parameter is not the same.
    pub(super) fn unless_equal<T: PartialEq + std::fmt::Display>(
        sketch: &'static str,
        parameter: &'static str,
        ours: &T,
        theirs: &T,
    ) -> Result<(), Self> {
        if ours == theirs {
            return Ok(());
        }
        Err(Self::Unlike { sketch, parameter, ours: ours.to_string(), theirs: theirs.to_string() })
    }

    /// Refuses two sketches that counted more than this together.
    pub(super) fn unless_countable(
        sketch: &'static str,
        most: u64,
        ours: u64,
        theirs: u64,
    ) -> Result<(), Self> {
        let is_countable = ours.checked_add(theirs).is_some_and(|together| together <= most);
        if is_countable { Ok(()) } else { Err(Self::TooMuch { sketch }) }
    }
}
