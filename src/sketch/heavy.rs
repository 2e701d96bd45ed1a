//! The keys that occur most often in an endless stream, counted from below.
//!
//! Source: J. Misra and D. Gries, Finding Repeated Elements (1982). With room for *k* keys, a key
//! that occurred *n* times among *N* is counted with at least *n* − *N*/(*k* + 1) and at most *n*.

use std::collections::HashMap;

use crate::model::KeyHash;
use crate::store::{Decoder, Encoder, Malformed};

/// One key's count, and what else is kept of it as long as it is held.
#[derive(Debug, Clone, PartialEq)]
struct Entry<Value> {
    count: u32,
    value: Value,
}

/// Counts keys, as many as it has room for: those that occur too often to be pushed out.
///
/// Keys are hashes already. A count is a lower bound, never too large.
///
/// ```
/// use dragline::sketch::HeavyHitters;
///
/// let mut keys = HeavyHitters::<()>::new(2);
/// for key in [7, 1, 7, 2, 7, 3, 7] {
///     keys.meet(key);
/// }
/// assert!((2..=4).contains(&keys.count(7)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HeavyHitters<Value> {
    entries: HashMap<u64, Entry<Value>, KeyHash>,
    most: usize,
}

impl<Value: Default> HeavyHitters<Value> {
    /// Room for `most` keys; memory is taken as they come.
    pub fn new(most: usize) -> Self {
        Self { entries: HashMap::default(), most: most.max(1) }
    }

    /// How many keys fit into so many bytes: tables grow by doubling, up to seven eighths full.
    pub fn most_within(bytes: usize) -> usize {
        // a place takes its entry and a byte of control
        let places = bytes / (size_of::<(u64, Entry<Value>)>() + 1);
        let rounded = if places.is_power_of_two() { places } else { places.next_power_of_two() / 2 };
        (rounded / 8 * 7).max(1)
    }

    /// How often a key was met, at least.
    pub fn count(&self, key: u64) -> u64 {
        self.entries.get(&key).map_or(0, |entry| u64::from(entry.count))
    }

    /// Counts a key. Its count and what is kept of it, where there is room for it.
    ///
    /// Where there is none it cancels one of each of the others, so all of it costs constant time
    /// on average.
    pub fn meet(&mut self, key: u64) -> Option<(u64, &mut Value)> {
        if self.entries.len() >= self.most && !self.entries.contains_key(&key) {
            self.entries.retain(|_, entry| {
                entry.count -= 1;
                entry.count > 0
            });
            return None;
        }
        let entry = self.entries.entry(key).or_insert_with(|| Entry { count: 0, value: Value::default() });
        entry.count = entry.count.saturating_add(1);
        Some((u64::from(entry.count), &mut entry.value))
    }

    /// Appends all it holds, for [`restore`](Self::restore): how many keys, then of each the key,
    /// its count, and what `value` writes.
    pub fn encode(&self, encoder: &mut Encoder<'_>, value: impl Fn(&mut Encoder<'_>, &Value)) {
        encoder.number(self.entries.len() as u64);
        for (key, entry) in &self.entries {
            encoder.key(*key);
            encoder.number(u64::from(entry.count));
            value(encoder, &entry.value);
        }
    }

    /// Takes over what another one held; keys past its own room are left out, which counts less.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn restore(
        &mut self,
        decoder: &mut Decoder<'_>,
        value: impl Fn(&mut Decoder<'_>) -> Result<Value, Malformed>,
    ) -> Result<(), Malformed> {
        self.entries.clear();
        for _ in 0..decoder.number()? {
            let (key, count) = (decoder.key()?, decoder.small::<u32>()?);
            let value = value(decoder)?;
            if count > 0 && self.entries.len() < self.most {
                self.entries.insert(key, Entry { count, value });
            }
        }
        Ok(())
    }
}
