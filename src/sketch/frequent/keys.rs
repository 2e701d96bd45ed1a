//! Which keys occur most often, with the texts of those that stay.
//!
//! For streams in which most keys occur once: no text is copied for them.

use std::collections::HashMap;

use datasketches::frequencies::FrequentItemsSketch;

use super::{CUT, MOST_TEXT, cut, empty, merge, ranks, rows};
use crate::model::KeyHash;
use crate::sketch::MergeError;
use crate::sketch::estimate::MOST_WEIGHT;
use crate::store::{Decoder, Encoder, Malformed};

/// Texts that are kept at most.
pub const MOST_TEXTS: usize = 256;

/// A key, and how often it occurred.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FrequentKey {
    /// The fingerprint.
    pub key: u64,
    /// Its text; of a long one the beginning, and `…`. None where it was not told since the key is frequent.
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
/// The text of one is kept from the second time on that it comes, as long as it is among the [`MOST_TEXTS`] / 2 most
/// frequent ones.
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
    /// The count from which on the text of one is kept.
    level: u64,
}

impl FrequentKeys {
    /// Room for at least so many keys; memory is taken as they come.
    pub fn new(items: usize) -> Self {
        Self { sketch: empty(items), texts: HashMap::default(), level: 1 }
    }

    /// How many keys it holds at most.
    pub fn most_items(&self) -> usize {
        self.sketch.maximum_map_capacity()
    }

    /// Counts a fingerprint so often. The text may be left out where it is not at hand.
    pub fn add(&mut self, key: u64, weight: u64, text: Option<&str>) {
        if let Some(text) = text
            && !self.texts.contains_key(&key)
            && self.sketch.lower_bound(&key) >= self.level
        {
            self.texts.insert(key, cut(text).into());
            self.thin();
        }
        let weight = weight.min(MOST_WEIGHT.saturating_sub(self.total()));
        let before = self.most_unseen();
        self.sketch.update_with_count(key, weight);
        let counted_down = self.most_unseen() - before;
        if counted_down > 0 {
            self.forget(counted_down);
        }
    }

    /// Forgets the texts of those that were pushed out when all were counted down.
    fn forget(&mut self, counted_down: u64) {
        self.level = self.level.saturating_sub(counted_down).max(1);
        self.texts.retain(|key, _| self.sketch.lower_bound(key) > 0);
    }

    /// Forgets the texts of the less frequent half where there are too many.
    fn thin(&mut self) {
        if self.texts.len() <= MOST_TEXTS {
            return;
        }
        let counts = self.texts.keys().map(|key| (self.sketch.lower_bound(key), *key));
        let mut counts: Vec<(u64, u64)> = counts.collect();
        counts.sort_unstable();
        let dropped = counts.len() - MOST_TEXTS / 2;
        self.level = counts[dropped].0;
        for (_, key) in &counts[..dropped] {
            self.texts.remove(key);
        }
    }

    /// The keys that occurred most often, so many of them, the first one most often.
    pub fn top(&self, most: usize) -> Vec<FrequentKey> {
        let rows = rows(&self.sketch);
        let ranks = ranks::of(&rows, self.sketch.maximum_error());
        let keys = rows.into_iter().zip(ranks).map(|(row, rank)| FrequentKey {
            key: *row.item(),
            text: self.texts.get(row.item()).map(ToString::to_string),
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
        self.forget(0);
        self.thin();
        // those of both were held together
        self.texts.shrink_to_fit();
        Ok(())
    }

    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        let texts: usize = self.texts.values().map(|text| text.len()).sum();
        size_of::<Self>() + self.sketch.estimated_size() + table_bytes(self.texts.capacity()) + texts
    }

    /// Bytes that it takes at most, whatever keys it meets.
    pub fn most_memory_bytes(&self) -> usize {
        // one more, before the less frequent half of them goes
        let texts = (MOST_TEXTS + 1).min(self.most_items());
        size_of::<Self>()
            + self.sketch.max_map_size() * (size_of::<Option<u64>>() + 10)
            + table_bytes(texts)
            + texts * (MOST_TEXT + CUT.len())
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
            let is_room = texts.len() < MOST_TEXTS;
            let is_held = sketch.lower_bound(&key) > 0 && text.len() <= MOST_TEXT + CUT.len();
            if !is_room || !is_held || texts.insert(key, text.into()).is_some() {
                return Err(Malformed);
            }
        }
        if decoder.is_empty() { Ok(Self { sketch, texts, level: 1 }) } else { Err(Malformed) }
    }
}

/// Bytes of a table for so many texts: a power of two of places, seven eighths full, each with a byte of control.
fn table_bytes(texts: usize) -> usize {
    if texts == 0 {
        0
    } else {
        (texts * 8).div_ceil(7).next_power_of_two() * (size_of::<(u64, Box<str>)>() + 1)
    }
}
