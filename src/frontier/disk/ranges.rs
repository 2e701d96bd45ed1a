//! Sets of sequence numbers, as the ranges they form.

/// A set of numbers that come mostly in runs: 16 bytes a run, whatever its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    /// First and one past the last of each run, ascending; runs do not touch.
    runs: Vec<(u64, u64)>,
}

impl Ranges {
    pub(super) fn contains(&self, number: u64) -> bool {
        let after = self.runs.partition_point(|(first, _)| *first <= number);
        after.checked_sub(1).is_some_and(|run| number < self.runs[run].1)
    }

    /// Adds a number; whether it was not there.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let after = self.runs.partition_point(|(first, _)| *first <= number);
        let joins_next = self.runs.get(after).is_some_and(|(first, _)| number + 1 == *first);
        let Some(before) = after.checked_sub(1).filter(|before| number <= self.runs[*before].1) else {
            if joins_next {
                self.runs[after].0 = number;
            } else {
                self.runs.insert(after, (number, number + 1));
            }
            return true;
        };
        if number < self.runs[before].1 {
            return false;
        }
        self.runs[before].1 = if joins_next { self.runs.remove(after).1 } else { number + 1 };
        true
    }

    /// Where the first run begins exactly there: takes it out and gives one past its last.
    pub(super) fn take_from(&mut self, number: u64) -> Option<u64> {
        let (first, end) = *self.runs.first()?;
        (first == number).then(|| {
            self.runs.remove(0);
            end
        })
    }

    /// How many numbers are in it.
    pub(super) fn count(&self) -> u64 {
        self.runs.iter().map(|(first, end)| end - first).sum()
    }

    /// The runs, ascending, as first and one past the last.
    pub(super) fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }

    /// Appends a run that lies above all others and does not touch them; whether it does.
    pub(super) fn append(&mut self, first: u64, end: u64) -> bool {
        let above = self.runs.last().is_none_or(|(_, last)| *last < first);
        if above && first < end {
            self.runs.push((first, end));
            return true;
        }
        false
    }

    /// Bytes beside the value itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_a_set_holds(numbers in proptest::collection::vec(0..60_u64, 0..80)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(ranges.insert(number), set.insert(number));
                prop_assert_eq!(ranges.count(), set.len() as u64);
                prop_assert!(ranges.runs().windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
            for number in 0..61 {
                prop_assert_eq!(ranges.contains(number), set.contains(&number));
            }
            if let Some(first) = set.first() {
                let end = ranges.take_from(*first).expect("the first run");
                prop_assert!((*first..end).all(|number| set.contains(&number)));
                prop_assert!(!set.contains(&end) && !ranges.contains(*first));
            }
        }
    }
}
