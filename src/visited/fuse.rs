//! A static filter over sorted keys: binary fuse filters (Graf and Lemire, 2022) of 8 bits, one for each
//! stretch of keys.
//!
//! It answers *no* with certainty and *maybe* for what it holds and for one in 256 of all others, at about 9
//! bits a key. A stretch is as long as the memory for making its filter allows: the filter of a million keys
//! takes 9.0 bits a key, that of a hundred thousand 9.6. Where no filter can be made of a stretch (which
//! nobody has seen), it answers *maybe* for all of it: more is looked up then, and nothing is wrong.

use xorf::{BinaryFuse8, Filter};

use crate::model::UrlKey;

/// What making a filter takes for each key, in bytes: the key itself, and what `xorf` keeps of it
/// (18 bytes for a key, and 14 for each of some 1.2 places a key).
const MAKING_BYTES: u64 = 36;

/// Keys of a stretch at least and at most: fewer cost bits, more save none.
const STRETCH: std::ops::RangeInclusive<u64> = (8 << 10)..=(1 << 20);

/// What a stretch takes beside its filter, in bytes.
const BYTES_OF_A_STRETCH: u64 = 96;

/// Keys of a stretch where making its filter may take so many bytes of memory.
pub fn stretch_within(bytes: u64) -> u64 {
    (bytes / MAKING_BYTES).clamp(*STRETCH.start(), *STRETCH.end())
}

/// Bytes of memory that a filter of so many keys takes at most.
pub fn fuse_bytes(keys: u64, stretch: u64) -> u64 {
    let (whole, rest) = (keys / stretch, keys % stretch);
    whole * stretch_bytes(stretch) + if rest > 0 { stretch_bytes(rest) } else { 0 }
}

/// The same of one stretch: places by the formulas of the paper's section 3, which `xorf` goes by,
/// rounded up to whole segments, three of which there are at least.
fn stretch_bytes(keys: u64) -> u64 {
    let logarithm = (keys.max(2) as f64).ln();
    let segment = 1_u64 << ((logarithm / 3.33_f64.ln() + 2.25) as u32).min(18);
    let factor = (0.875 + 0.25 * 1_000_000_f64.ln() / logarithm).max(1.125);
    let places = ((keys as f64 * factor).ceil() as u64 + segment).max(3 * segment);
    places + BYTES_OF_A_STRETCH
}

/// One stretch of keys.
#[derive(Debug)]
struct Stretch {
    first: UrlKey,
    last: UrlKey,
    /// None where none could be made.
    filter: Option<BinaryFuse8>,
}

impl Stretch {
    /// `keys` ascend, and none stands there twice.
    fn of(keys: &[UrlKey]) -> Option<Self> {
        let (first, last) = (*keys.first()?, *keys.last()?);
        // That no key is denied is everything, so it is not left to be trusted.
        let holds_all = |filter: &BinaryFuse8| keys.iter().all(|key| filter.contains(key));
        let filter = BinaryFuse8::try_from(keys).ok().filter(holds_all);
        Some(Self { first, last, filter })
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct FuseFilter {
    /// By ascending keys.
    stretches: Vec<Stretch>,
}

impl FuseFilter {
    /// Whether it may hold a key: always true for one that it holds.
    pub fn may_hold(&self, key: UrlKey) -> bool {
        let after = self.stretches.partition_point(|stretch| stretch.first <= key);
        let Some(stretch) = after.checked_sub(1).and_then(|at| self.stretches.get(at)) else { return false };
        key <= stretch.last && stretch.filter.as_ref().is_none_or(|filter| filter.contains(&key))
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        let places = |stretch: &Stretch| stretch.filter.as_ref().map_or(0, |filter| filter.len() as u64);
        let stretches = (self.stretches.capacity() * size_of::<Stretch>()) as u64;
        self.stretches.iter().map(places).sum::<u64>() + stretches
    }
}

/// Makes a filter of ascending keys.
#[derive(Debug)]
pub struct FuseBuilder {
    keys: Vec<UrlKey>,
    stretch: usize,
    filter: FuseFilter,
}

impl FuseBuilder {
    /// For so many keys, in stretches of `stretch`.
    pub fn new(keys: u64, stretch: u64) -> Self {
        let gathered = Vec::with_capacity(stretch.min(keys) as usize);
        Self { keys: gathered, stretch: stretch as usize, filter: FuseFilter::default() }
    }

    /// Adds keys, which ascend and are not below those before.
    pub fn push(&mut self, keys: &[UrlKey]) {
        for key in keys {
            if self.keys.last() == Some(key) {
                continue;
            }
            if self.keys.len() == self.stretch {
                self.end_stretch();
            }
            self.keys.push(*key);
        }
    }

    /// The filter of all of them.
    pub fn finish(mut self) -> FuseFilter {
        self.end_stretch();
        self.filter.stretches.shrink_to_fit();
        self.filter
    }

    fn end_stretch(&mut self) {
        self.filter.stretches.extend(Stretch::of(&self.keys));
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::keys;
    use super::*;
    use proptest::prelude::*;

    fn filter(members: &[UrlKey], stretch: u64) -> FuseFilter {
        let mut builder = FuseBuilder::new(members.len() as u64, stretch);
        members.chunks(1000).for_each(|keys| builder.push(keys));
        builder.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_member_is_denied(
            mut members in prop_oneof![
                proptest::collection::vec(any::<u64>(), 0..3000),
                // close to one another, and the same again
                proptest::collection::vec(0..2000_u64, 0..3000),
            ],
            stretch in 1..1000_u64,
        ) {
            members.extend([0, u64::MAX]);
            members.sort_unstable();
            let filter = filter(&members, stretch);
            prop_assert!(members.iter().all(|key| filter.may_hold(*key)));
        }
    }

    #[test]
    fn of_others_one_in_256_may_be_held() {
        let mut members = keys(0, 200_000);
        members.sort_unstable();
        let filter = filter(&members, 50_000);
        assert!(members.iter().all(|key| filter.may_hold(*key)));
        let maybes = keys(200_000, 400_000).into_iter().filter(|key| filter.may_hold(*key)).count();
        // 1,562 are expected, and the deviation is 39
        assert!((1300..1850).contains(&maybes), "{maybes} of 400,000");
        assert!(!FuseFilter::default().may_hold(7));
    }

    #[test]
    fn a_filter_takes_nine_bits_a_key_and_no_more_than_was_said() {
        for (count, stretch) in
            [(1, 10), (2, 10), (9, 10), (100, 1000), (5000, 1000), (100_001, 8192), (1 << 20, 1 << 20)]
        {
            let mut members = keys(3, count);
            members.sort_unstable();
            let (found, said) = (filter(&members, stretch).memory_bytes(), fuse_bytes(count, stretch));
            assert!(found <= said, "{count} keys in stretches of {stretch}: {found} of {said} bytes");
        }
        let bits = |keys, stretch| fuse_bytes(keys, stretch) as f64 * 8.0 / keys as f64;
        assert!((9.0..9.3).contains(&bits(100 << 20, 1 << 20)), "{}", bits(100 << 20, 1 << 20));
        assert!(bits(1 << 20, stretch_within(3 << 20)) < 10.0);
    }
}
