//! A bounded table of exact keys in memory: what it holds was seen, for certain.
//!
//! Owns 8 bytes a key in buckets of one cache line each. As long as it never had to
//! refuse a key it is *complete*: what it does not hold was never inserted either.
//! Once its memory is used up it keeps going as a cache: new keys push out those that
//! were not asked for lately, and only "seen" remains certain.

use std::io;

use super::memory::{LINE_BYTES, Lines};
use super::simd::{block_of, prefetch};
use crate::model::UrlKey;

/// Slots of a bucket.
const SLOTS: usize = 8;

/// An empty slot; the key 0 itself is kept beside the array.
const EMPTY: u64 = 0;

/// Buckets of a table that has just been made …
const FIRST_BUCKETS: usize = 64;
/// … unless it may never have more than these (2 MiB): it has them at once then, and takes as much
/// memory for the first keys as for the last.
const SMALL_BUCKETS: usize = (2 << 20) / LINE_BYTES as usize;

/// Part of the slots that may be taken: 9.4 bytes a key at the bound.
const FULL: f64 = 0.85;

/// Buckets that are moved between two releases of memory while the table grows.
const RELEASE_EVERY: usize = (4 << 20) / LINE_BYTES as usize;

/// A set of keys that takes at most so much memory.
#[derive(Debug)]
pub struct KeyTable {
    buckets: Lines,
    holds_zero: bool,
    keys: usize,
    most_buckets: usize,
    complete: bool,
}

/// What [`KeyTable::insert`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// It was there already.
    Present,
    /// It was not there and is now.
    Added,
    /// It was not there, and its memory is used up: nothing was changed.
    Refused,
}

impl KeyTable {
    /// An empty table that will take at most `bytes` (one bucket at least); an error where not
    /// even its beginning can be had.
    pub fn new(bytes: u64) -> io::Result<Self> {
        let most_buckets = usize::try_from(bytes / LINE_BYTES).unwrap_or(usize::MAX).max(1);
        let first = if most_buckets <= SMALL_BUCKETS { most_buckets } else { FIRST_BUCKETS };
        let buckets = Lines::zeroed(first)?;
        Ok(KeyTable { buckets, holds_zero: false, keys: 0, most_buckets, complete: true })
    }

    /// Whether it holds every key that was ever inserted.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Keys in it.
    pub fn len(&self) -> usize {
        self.keys
    }

    /// Whether no key is in it.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// Bytes of its array now.
    pub fn bytes(&self) -> u64 {
        self.buckets.len() as u64 * LINE_BYTES
    }

    /// Brings the buckets of keys near that will be asked for soon.
    pub fn prefetch(&self, keys: &[UrlKey]) {
        for key in keys {
            prefetch(&self.buckets[block_of(*key, self.buckets.len())]);
        }
    }

    /// Whether it holds the key. `true` is certain; `false` is while the table is complete.
    pub fn contains(&self, key: UrlKey) -> bool {
        if key == EMPTY {
            return self.holds_zero;
        }
        if self.complete {
            return matches!(self.find(key), Found::At);
        }
        self.buckets[block_of(key, self.buckets.len())].0.contains(&key)
    }

    /// As [`KeyTable::contains`]; a key that is there is kept longer when others push in.
    pub fn touch(&mut self, key: UrlKey) -> bool {
        if key == EMPTY || self.complete {
            return self.contains(key);
        }
        let index = block_of(key, self.buckets.len());
        let bucket = &mut self.buckets[index].0;
        let Some(slot) = bucket.iter().position(|slot| *slot == key) else {
            return false;
        };
        // the back half is where newcomers push through; a second visit leads out of it
        if slot >= SLOTS / 2 {
            bucket.swap(slot, slot / 2);
        }
        true
    }

    /// Inserts a key into a complete table; refused (with no change) where its memory is used up
    /// or the system has no more. A table that is not complete refuses always.
    pub fn insert(&mut self, key: UrlKey) -> Inserted {
        if !self.complete {
            return Inserted::Refused;
        }
        if key == EMPTY {
            let present = std::mem::replace(&mut self.holds_zero, true);
            self.keys += usize::from(!present);
            return if present { Inserted::Present } else { Inserted::Added };
        }
        match self.find(key) {
            Found::At => return Inserted::Present,
            Found::Room(index) if self.has_room() => self.put(index, key),
            Found::Room(_) | Found::Full => {
                if !self.grow() {
                    return Inserted::Refused;
                }
                self.place(key);
            }
        }
        self.keys += 1;
        Inserted::Added
    }

    /// Turns it into a cache: from now on it is not complete.
    pub fn give_up_completeness(&mut self) {
        self.complete = false;
    }

    /// Puts a key into a table that is not complete, pushing out another one where there is no room.
    pub fn push(&mut self, key: UrlKey) {
        if key == EMPTY {
            self.keys += usize::from(!std::mem::replace(&mut self.holds_zero, true));
            return;
        }
        let index = block_of(key, self.buckets.len());
        let bucket = &mut self.buckets[index].0;
        if bucket.contains(&key) {
            return;
        }
        if let Some(slot) = bucket.iter().position(|slot| *slot == EMPTY) {
            bucket[slot] = key;
            self.keys += 1;
            return;
        }
        bucket.copy_within(SLOTS / 2..SLOTS - 1, SLOTS / 2 + 1);
        bucket[SLOTS / 2] = key;
    }

    /// Every key in it, in groups, in no particular order.
    pub fn for_each<E>(&self, mut visit: impl FnMut(&[UrlKey]) -> Result<(), E>) -> Result<(), E> {
        if self.holds_zero {
            visit(&[EMPTY])?;
        }
        let mut group = Vec::with_capacity(1024);
        for buckets in self.buckets.chunks(128) {
            group.clear();
            group.extend(buckets.iter().flat_map(|bucket| bucket.0).filter(|slot| *slot != EMPTY));
            visit(&group)?;
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        (self.keys as f64) < (self.buckets.len() * SLOTS) as f64 * FULL
    }

    /// Buckets are probed one after another from the key's own, up to the first with an empty slot.
    fn find(&self, key: UrlKey) -> Found {
        let mut index = block_of(key, self.buckets.len());
        for _ in 0..self.buckets.len() {
            let bucket = &self.buckets[index].0;
            if bucket.contains(&key) {
                return Found::At;
            }
            if bucket.contains(&EMPTY) {
                return Found::Room(index);
            }
            index = if index + 1 == self.buckets.len() { 0 } else { index + 1 };
        }
        Found::Full
    }

    /// Puts a key that is not there where [`KeyTable::find`] will find it.
    fn place(&mut self, key: UrlKey) {
        if let Found::Room(index) = self.find(key) {
            self.put(index, key);
        }
    }

    /// Puts a key into the empty slot of a bucket.
    fn put(&mut self, index: usize, key: UrlKey) {
        if let Some(slot) = self.buckets[index].0.iter_mut().find(|slot| **slot == EMPTY) {
            *slot = key;
        }
    }

    /// Doubles it within its bound; `false` where the bound is reached or memory cannot be had.
    ///
    /// A bucket's number rises with the key, so old and new array are walked in the same
    /// direction: the old one is given back behind the walk, and the two together
    /// never hold more memory than the new one alone will.
    fn grow(&mut self) -> bool {
        let buckets = self.buckets.len().saturating_mul(2).min(self.most_buckets);
        if buckets <= self.buckets.len() {
            return false;
        }
        let Ok(new) = Lines::zeroed(buckets) else {
            return false;
        };
        let mut old = std::mem::replace(&mut self.buckets, new);
        for index in 0..old.len() {
            for key in old[index].0.into_iter().filter(|slot| *slot != EMPTY) {
                self.place(key);
            }
            if (index + 1) % RELEASE_EVERY == 0 {
                old.release(index + 1 - RELEASE_EVERY, index + 1);
            }
        }
        true
    }
}

/// Where the search for a key ended.
enum Found {
    /// At the key.
    At,
    /// At the first bucket with an empty slot.
    Room(usize),
    /// Nowhere: every slot is taken by another key.
    Full,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn all(table: &KeyTable) -> Vec<u64> {
        let mut keys = Vec::new();
        table
            .for_each(|group| {
                keys.extend_from_slice(group);
                Ok::<_, ()>(())
            })
            .unwrap();
        keys.sort_unstable();
        keys
    }

    proptest! {
        #[test]
        fn a_complete_table_is_a_set(keys in prop::collection::vec(prop_oneof![any::<u64>(), 0..50_u64, Just(u64::MAX)], 0..3000)) {
            let mut table = KeyTable::new(1 << 30).unwrap();
            let mut model = HashSet::new();
            for key in &keys {
                let expected = if model.insert(*key) { Inserted::Added } else { Inserted::Present };
                prop_assert_eq!(table.insert(*key), expected);
            }
            prop_assert!(table.is_complete());
            prop_assert_eq!(table.len(), model.len());
            for key in keys.iter().chain(&[1, 2, 3, u64::MAX - 1]) {
                prop_assert_eq!(table.contains(*key), model.contains(key));
            }
            let mut model: Vec<u64> = model.into_iter().collect();
            model.sort_unstable();
            prop_assert_eq!(all(&table), model);
        }

        #[test]
        fn seen_is_certain_in_a_cache(keys in prop::collection::vec(prop_oneof![any::<u64>(), 0..9_u64], 0..2000), bytes in 0..4096_u64) {
            let mut table = KeyTable::new(bytes).unwrap();
            let mut model = HashSet::new();
            for key in &keys {
                prop_assert!(!table.touch(*key) || model.contains(key));
                match table.insert(*key) {
                    Inserted::Refused => {
                        table.give_up_completeness();
                        table.push(*key);
                        prop_assert!(table.touch(*key));
                    }
                    Inserted::Added => prop_assert!(!model.contains(key)),
                    Inserted::Present => prop_assert!(model.contains(key)),
                }
                model.insert(*key);
            }
            prop_assert!(table.bytes() <= bytes.max(64));
            let held = all(&table);
            prop_assert_eq!(held.len(), table.len());
            prop_assert!(held.iter().all(|key| model.contains(key)));
        }
    }

    #[test]
    fn at_its_bound_a_key_takes_less_than_eleven_bytes() {
        let mut table = KeyTable::new(1 << 16).unwrap();
        let mut key = 1_u64;
        while table.insert(key) == Inserted::Added {
            key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        }
        assert_eq!(table.bytes(), 1 << 16);
        assert!((1 << 16) < table.len() * 10);
    }

    #[test]
    fn what_is_asked_for_again_stays() {
        let mut table = KeyTable::new(64).unwrap();
        table.give_up_completeness();
        table.push(1);
        for key in 2..1000 {
            table.push(key);
            assert!(table.touch(1), "pushed out by {key}");
        }
    }
}
