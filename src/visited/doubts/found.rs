//! The verdicts of a look-up: one bit for each doubt.

use std::ops::Range;

/// Which doubts of a range were found to be new.
#[derive(Debug)]
pub(in crate::visited) struct Found {
    range: Range<u64>,
    words: Vec<u64>,
}

impl Found {
    pub(in crate::visited) fn none(range: Range<u64>) -> Self {
        let words = vec![0; (range.end - range.start).div_ceil(64) as usize];
        Found { range, words }
    }

    pub(in crate::visited) fn range(&self) -> &Range<u64> {
        &self.range
    }

    pub(in crate::visited) fn insert(&mut self, number: u64) {
        let place = number.wrapping_sub(self.range.start);
        if let Some(word) = self.words.get_mut((place / 64) as usize) {
            *word |= 1 << (place % 64);
        }
    }

    pub(in crate::visited) fn contains(&self, number: u64) -> bool {
        let place = number.wrapping_sub(self.range.start);
        self.words.get((place / 64) as usize).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// The first one from this number on.
    pub(in crate::visited) fn next(&self, from: u64) -> Option<u64> {
        let place = from.checked_sub(self.range.start)?;
        let mut index = (place / 64) as usize;
        let mut word = self.words.get(index)? & (u64::MAX << (place % 64));
        while word == 0 {
            index += 1;
            word = *self.words.get(index)?;
        }
        Some(self.range.start + index as u64 * 64 + u64::from(word.trailing_zeros()))
    }

    /// Bytes of memory.
    pub(in crate::visited) fn bytes(&self) -> u64 {
        (self.words.capacity() * size_of::<u64>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_holds_what_was_inserted(first in 0..1000_u64, places in proptest::collection::btree_set(0..300_u64, 0..40)) {
            let mut found = Found::none(first..first + 300);
            let numbers: BTreeSet<u64> = places.iter().map(|place| first + place).collect();
            for number in &numbers {
                found.insert(*number);
            }
            for number in first..first + 300 {
                prop_assert_eq!(found.contains(number), numbers.contains(&number));
                prop_assert_eq!(found.next(number), numbers.range(number..).next().copied());
            }
            prop_assert!(!found.contains(first.wrapping_sub(1)) && !found.contains(first + 400));
        }
    }
}
