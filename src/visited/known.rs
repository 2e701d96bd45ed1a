//! A set of keys that never changes, asked one key at a time: a filter in memory answers first, and its
//! *maybe* is decided on disk. Where there is no memory for the filter, the disk answers all.
//!
//! Knows nothing of what the keys stand for.

use super::fuse::{FuseBuilder, FuseFilter, fuse_bytes};
use super::runs::{SortedKeys, SortedSet};
use super::shelf::{Place, RestoreError};
use crate::model::UrlKey;
use crate::store::StateError;

/// How a set is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownSettings {
    /// Keys of each stretch of the filter; none where there is no filter.
    pub stretch: Option<u64>,
}

impl KnownSettings {
    /// Bytes of memory that a set takes once it is open.
    pub fn memory_bytes(&self, set: SortedSet) -> u64 {
        set.memory_bytes() + self.stretch.map_or(0, |stretch| fuse_bytes(set.keys, stretch))
    }
}

/// See the module's description.
#[derive(Debug)]
pub struct KnownKeys {
    filter: Option<FuseFilter>,
    keys: SortedKeys,
}

impl KnownKeys {
    /// Opens a set: reads and checks all of it, and makes its filter on the way.
    ///
    /// # Errors
    /// Its file is missing or damaged.
    pub fn open(place: &Place, set: SortedSet, settings: KnownSettings) -> Result<Self, RestoreError> {
        let mut builder = settings.stretch.map(|stretch| FuseBuilder::new(set.keys, stretch));
        let keys = SortedKeys::open(place, set, &mut |keys| {
            if let Some(builder) = &mut builder {
                builder.push(keys);
            }
            Ok(())
        })?;
        Ok(Self { filter: builder.map(FuseBuilder::finish), keys })
    }

    /// Whether it holds a key. Reads one block where the filter does not deny it.
    ///
    /// # Errors
    /// The block cannot be read, or is damaged.
    pub fn holds(&mut self, key: UrlKey) -> Result<bool, StateError> {
        Ok(self.filter.as_ref().is_none_or(|filter| filter.may_hold(key)) && self.keys.holds(key)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::KeySorter;
    use super::super::tests::{keys, place};
    use super::*;

    #[test]
    fn members_are_held_and_others_never_with_a_filter_and_without() {
        let directory = tempfile::tempdir().unwrap();
        let place = place(directory.path());
        let mut sorter = KeySorter::create(place.clone(), 64 << 10);
        let members = keys(0, 60_000);
        for key in &members {
            sorter.push(*key).unwrap();
        }
        let set = sorter.end_set().unwrap();
        for stretch in [None, Some(10_000)] {
            let mut known = KnownKeys::open(&place, set, KnownSettings { stretch }).unwrap();
            assert!(members.iter().all(|key| known.holds(*key).unwrap()));
            // some 230 of these pass the filter
            assert!(keys(60_000, 60_000).iter().all(|key| !known.holds(*key).unwrap()));
        }
        let bytes = |stretch| KnownSettings { stretch }.memory_bytes(set);
        assert!(bytes(None) < 40 << 10 && bytes(Some(10_000)) > bytes(None) + 60_000 * 9 / 8);
    }
}
