//! Which keys occur most often, with the texts of those that stay.
//!
//! For streams in which most keys occur once: no text is copied for them.

use std::collections::HashMap;

use datasketches::frequencies::FrequentItemsSketch;

use super::{MOST_TEXT, cut, empty, merge, ranks, rows};
use crate::model::KeyHash;
use crate::sketch::MergeError;
use crate::sketch::estimate::MOST_WEIGHT;
use crate::store::{Decoder, Encoder, Malformed};

/// A key, and how often it occurred.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FrequentKey {
    /// The fingerprint.
    pub key: u64,
    /// Its text; of a long one the beginning, and `…`. None where it was never told while the key was held.
    pub text: Option<String>,
    /// It did not occur less often.
    pub lower: u64,
    /// It did not occur more often.
    pub upper: u64,
    /// Its place among all keys, counted from 1. None where the bounds leave open which of it and another
    /// one occurred more often.
    pub rank: Option<usize>,
}

/// Counts fingerprints, as many as it has room for: those that occur too often to be pushed out.
///
/// The text of one is kept from the second time on that it comes, until it is pushed out.
///
/// ```
/// use dragline::sketch::{FrequentKeys, fingerprint};
///
/// let mut targets = FrequentKeys::new(64);
/// for target in ["/a", "/b", "/a"] {
///     targets.add(fingerprint(target), 1, Some(target));
/// }
/// assert_eq!(targets.top(1)[0].text.as_deref(), Some("/a"));
/// ```
#[derive(Debug, Clone)]
pub struct FrequentKeys {
    sketch: FrequentItemsSketch<u64>,
    /// Only of keys that are held.
    texts: HashMap<u64, Box<str>, KeyHash>,
}

impl FrequentKeys {
    /// Room for at least so many keys; memory is taken as they come.
    pub fn new(items: usize) -> Self {
        Self { sketch: empty(items), texts: HashMap::default() }
    }

    /// How many keys it holds at most.
    pub fn most_items(&self) -> usize {
        self.sketch.maximum_map_capacity()
    }

    /// Counts a fingerprint so often. The text may be left out where it is not at hand.
    pub fn add(&mut self, key: u64, weight: u64, text: Option<&str>) {
        if let Some(text) = text
            && !self.texts.contains_key(&key)
            && self.sketch.lower_bound(&key) > 0
        {
            self.texts.insert(key, cut(text).into());
        }
        let weight = weight.min(MOST_WEIGHT.saturating_sub(self.total()));
        let before = self.sketch.maximum_error();
        self.sketch.update_with_count(key, weight);
        // some were pushed out
        if self.sketch.maximum_error() > before {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.texts.retain(|key, _| self.sketch.lower_bound(key) > 0);
    }

    /// The keys that occurred most often, so many of them, the first one most often.
    pub fn top(&self, most: usize) -> Vec<FrequentKey> {
        let rows = rows(&self.sketch);
        let ranks = ranks::of(&rows, self.sketch.maximum_error());
        let keys = rows.into_iter().zip(ranks).map(|(row, rank)| FrequentKey {
            key: *row.item(),
            text: self.texts.get(row.item()).map(|text| text.to_string()),
            lower: row.lower_bound(),
            upper: row.upper_bound(),
            rank,
        });
        keys.take(most).collect()
    }

    /// How often a key that it does not hold occurred, at most.
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
    /// [`MergeError`] where the other has room for another number of keys, or both counted too much.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        merge(&mut self.sketch, &other.sketch)?;
        for (key, text) in &other.texts {
            self.texts.entry(*key).or_insert_with(|| text.clone());
        }
        self.forget();
        Ok(())
    }

    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        let texts: usize = self.texts.values().map(|text| text.len()).sum();
        size_of::<Self>() + self.sketch.estimated_size() + table_bytes(self.texts.capacity()) + texts
    }

    /// Bytes that it takes at most, whatever keys it meets.
    pub fn most_memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.sketch.max_map_size() * (size_of::<Option<u64>>() + 10)
            + table_bytes(self.most_items())
            + self.most_items() * MOST_TEXT
    }

    /// Its bytes: those of a sketch of frequent longs of `datasketches`, then how many texts, and of each the key and the text.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder(&mut bytes);
        encoder.bytes(&self.sketch.serialize());
        let mut texts: Vec<(&u64, &Box<str>)> = self.texts.iter().collect();
        texts.sort_unstable();
        encoder.number(texts.len() as u64);
        for (key, text) in texts {
            encoder.key(*key);
            encoder.text(text);
        }
        bytes
    }

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut decoder = Decoder(bytes);
        let sketch = super::bytes::decode::<u64>(decoder.bytes()?)?;
        let mut texts = HashMap::default();
        for _ in 0..decoder.number()? {
            let (key, text) = (decoder.key()?, decoder.text()?);
            let is_held = sketch.lower_bound(&key) > 0 && text.len() <= MOST_TEXT + super::CUT.len();
            if !is_held || texts.insert(key, text.into()).is_some() {
                return Err(Malformed);
            }
        }
        if decoder.is_empty() { Ok(Self { sketch, texts }) } else { Err(Malformed) }
    }
}

/// Bytes of a table for so many texts: a power of two of places, seven eighths full, each with a byte of control.
fn table_bytes(texts: usize) -> usize {
    (texts * 8 / 7).next_power_of_two() * (size_of::<(u64, Box<str>)>() + 1)
}
