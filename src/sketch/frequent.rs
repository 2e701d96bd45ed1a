//! Which texts occur most often, with bounds on how often.
//!
//! Source: J. Misra and D. Gries, Finding Repeated Elements (1982), as in D. Anderson, P. Bevin, K. Lang,
//! E. Liberty, L. Rhodes, J. Thaler, A High-Performance Algorithm for Identifying Frequent Items in Data Streams (2017).
//! Apache's `datasketches`, whose bytes its libraries in Java and C++ read, too.

mod bytes;
mod keys;
mod ranks;

use datasketches::frequencies::{ErrorType, FrequentItemValue, FrequentItemsSketch, Row};

use super::MergeError;
use super::estimate::MOST_WEIGHT;
use crate::store::Malformed;

pub use keys::{FrequentKey, FrequentKeys, MOST_TEXTS};

/// What is said of it in an error.
const NAME: &str = "frequent-items";

/// Bytes of a text that are kept.
pub const MOST_TEXT: usize = 96;

/// Ends a text that was cut.
const CUT: &str = "…";

/// Places of a table at least and at most.
const LEAST_PLACES: usize = 1 << 3;
const MOST_PLACES: usize = 1 << 16;

/// A text, and how often it occurred.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FrequentItem {
    /// The text; of a long one the beginning, and `…`.
    pub item: String,
    /// It did not occur less often.
    pub lower: u64,
    /// It did not occur more often.
    pub upper: u64,
    /// Its place among all texts, counted from 1. None where the bounds leave open which of it and another
    /// one occurred more often.
    pub rank: Option<usize>,
}

/// Counts texts, as many as it has room for: those that occur too often to be pushed out.
///
/// Texts of which no more than [`MOST_TEXT`] bytes are the same count as one.
///
/// ```
/// use dragline::sketch::Frequent;
///
/// let mut hosts = Frequent::new(64);
/// for host in ["a.test", "b.test", "a.test"] {
///     hosts.add(host, 1);
/// }
/// let top = hosts.top(1);
/// assert_eq!((top[0].item.as_str(), top[0].lower, top[0].rank), ("a.test", 2, Some(1)));
/// ```
#[derive(Debug, Clone)]
pub struct Frequent {
    sketch: FrequentItemsSketch<String>,
}

impl Frequent {
    /// Room for at least so many texts; memory is taken as they come.
    pub fn new(items: usize) -> Self {
        Self { sketch: empty(items) }
    }

    /// How many texts it holds at most.
    pub fn most_items(&self) -> usize {
        self.sketch.maximum_map_capacity()
    }

    /// Counts a text so often.
    pub fn add(&mut self, item: &str, weight: u64) {
        let weight = weight.min(MOST_WEIGHT.saturating_sub(self.total()));
        if item.len() <= MOST_TEXT {
            self.sketch.update_with_count_ref(item, weight);
        } else {
            self.sketch.update_with_count_ref(cut(item).as_str(), weight);
        }
    }

    /// The texts that occurred most often, so many of them, the first one most often.
    pub fn top(&self, most: usize) -> Vec<FrequentItem> {
        let rows = rows(&self.sketch);
        let ranks = ranks::of(&rows, self.sketch.maximum_error());
        let items = rows.into_iter().zip(ranks).map(|(row, rank)| FrequentItem {
            item: row.item().clone(),
            lower: row.lower_bound(),
            upper: row.upper_bound(),
            rank,
        });
        items.take(most).collect()
    }

    /// How often a text that it does not hold occurred, at most.
    pub fn most_unseen(&self) -> u64 {
        self.sketch.maximum_error()
    }

    /// How much was counted in all.
    pub fn total(&self) -> u64 {
        self.sketch.total_weight()
    }

    /// Adds what another one counted.
    ///
    /// # Errors
    /// [`MergeError`] where the other has room for another number of texts, or both counted too much.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        merge(&mut self.sketch, &other.sketch)
    }

    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        let texts: usize = rows(&self.sketch).iter().map(|row| row.item().capacity()).sum();
        size_of::<Self>() + self.sketch.estimated_size() + texts
    }

    /// Bytes that it takes at most, whatever texts it meets.
    pub fn most_memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.sketch.max_map_size() * (size_of::<String>() + 10)
            + self.most_items() * (MOST_TEXT + CUT.len())
    }

    /// Its bytes, as `datasketches` lays out a sketch of frequent strings.
    pub fn encode(&self) -> Vec<u8> {
        self.sketch.serialize()
    }

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let sketch = bytes::decode::<String>(bytes)?;
        let is_long = |row: &Row<String>| row.item().len() > MOST_TEXT + CUT.len();
        if rows(&sketch).iter().any(is_long) { Err(Malformed) } else { Ok(Self { sketch }) }
    }
}

/// The beginning of a long text, with a mark.
fn cut(text: &str) -> String {
    let mut end = MOST_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mark = if end < text.len() { CUT } else { "" };
    [&text[..end], mark].concat()
}

/// A sketch with room for so many; the table is three quarters full when it has them.
fn empty<Item: Eq + std::hash::Hash>(items: usize) -> FrequentItemsSketch<Item> {
    let places = items.min(MOST_PLACES).saturating_mul(4).div_ceil(3).next_power_of_two();
    FrequentItemsSketch::new(places.clamp(LEAST_PLACES, MOST_PLACES))
        .expect("a number of places within the library's limits")
}

/// All that are held, the most frequent ones first, and those that are alike in their own order.
fn rows<Item: Ord + Clone + std::hash::Hash>(sketch: &FrequentItemsSketch<Item>) -> Vec<Row<Item>> {
    let mut rows = sketch.frequent_items_with_threshold(ErrorType::NoFalseNegatives, 0);
    rows.sort_by(|one, other| {
        other.lower_bound().cmp(&one.lower_bound()).then_with(|| one.item().cmp(other.item()))
    });
    rows
}

fn merge<Item: FrequentItemValue + Clone>(
    ours: &mut FrequentItemsSketch<Item>,
    theirs: &FrequentItemsSketch<Item>,
) -> Result<(), MergeError> {
    MergeError::unless_equal(NAME, "items", &ours.maximum_map_capacity(), &theirs.maximum_map_capacity())?;
    MergeError::unless_countable(NAME, MOST_WEIGHT, ours.total_weight(), theirs.total_weight())?;
    ours.merge(theirs);
    Ok(())
}
