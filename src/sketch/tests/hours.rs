//! Sketches of 24 hours, merged in any order and some of them twice, against one of the whole day.

use super::key;
use super::sizes::{Random, Zipf, size};
use crate::sketch::{CountMin, Distinct, FrequentKeys, MergeError, Overlap, Quantiles, Update};

const HOURS: usize = 24;

/// All sketches of one stretch of time.
struct Hour {
    distinct: Distinct,
    overlap: Overlap,
    plain: CountMin,
    conservative: CountMin,
    frequent: FrequentKeys,
    quantiles: Quantiles,
}

impl Hour {
    fn new() -> Self {
        Self {
            distinct: Distinct::new(14),
            overlap: Overlap::new(12),
            plain: CountMin::new(5e-4, 1e-2, Update::Plain),
            conservative: CountMin::new(5e-4, 1e-2, Update::Conservative),
            frequent: FrequentKeys::new(512),
            quantiles: Quantiles::default(),
        }
    }

    fn add(&mut self, item: u64, number: f64) {
        self.distinct.add(key(item));
        self.overlap.add(key(item));
        self.plain.add(key(item), 1);
        self.conservative.add(key(item), 1);
        self.frequent.add(key(item), 1, None);
        self.quantiles.add(number);
    }

    /// What may be taken in as often as one likes.
    fn merge_sets(&mut self, other: &Self) -> Result<(), MergeError> {
        self.distinct.merge(&other.distinct)?;
        self.overlap.merge(&other.overlap)
    }

    /// What counts again if it is taken in again.
    fn merge_counts(&mut self, other: &Self) -> Result<(), MergeError> {
        self.plain.merge(&other.plain)?;
        self.conservative.merge(&other.conservative)?;
        self.frequent.merge(&other.frequent)?;
        self.quantiles.merge(&other.quantiles)
    }
}

/// So many items a day; hours are unlike, and some are empty or nearly so.
fn day(items: u64) -> (Hour, Vec<Hour>, Vec<u64>, Vec<f64>) {
    let (mut whole, mut hours) = (Hour::new(), Vec::new());
    hours.resize_with(HOURS, Hour::new);
    let (zipf, mut random) = (Zipf::new(items, 1.1), Random::of("hours", items));
    let (mut counts, mut numbers) = (vec![0; items as usize + 1], Vec::new());
    for place in 0..items {
        // half of the items are met once, and the others as they are frequent
        let item = if place % 2 == 0 { place } else { zipf.draw(&mut random) };
        let number = (4.0 + random.normal()).exp();
        let hour =
            (random.below(HOURS as u64 - 1) * random.below(HOURS as u64) / (HOURS as u64 - 1)) as usize;
        whole.add(item, number);
        hours[hour].add(item, number);
        counts[item as usize] += 1;
        numbers.push(number);
    }
    numbers.sort_unstable_by(f64::total_cmp);
    (whole, hours, counts, numbers)
}

fn shuffled(random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..HOURS).collect();
    for place in (1..HOURS).rev() {
        order.swap(place, random.below(place as u64 + 1) as usize);
    }
    order
}

/// The estimate by registers is a number of which no bit depends on the order: all sums are exact.
fn has_the_same_sets(merged: &Hour, whole: &Hour) {
    assert_eq!(merged.distinct.composite().to_bits(), whole.distinct.composite().to_bits());
    assert_eq!(merged.overlap.retained(), whole.overlap.retained());
    assert_eq!(merged.overlap.estimate(), whole.overlap.estimate());
}

#[test]
fn sets_are_those_of_the_whole_in_any_order_and_twice() {
    for items in size([100, 30_000, 2_000_000], [100, 5_000, 100_000]) {
        let (whole, hours, ..) = day(items);
        for trial in 0..size(20, 4) {
            let mut random = Random::of("orders", trial);
            let (mut merged, order) = (Hour::new(), shuffled(&mut random));
            for hour in &order {
                merged.merge_sets(&hours[*hour]).expect("of one size");
                if random.below(3) == 0 {
                    merged
                        .merge_sets(&hours[order[random.below(HOURS as u64) as usize]])
                        .expect("of one size");
                }
            }
            for hour in order {
                merged.merge_sets(&hours[hour]).expect("of one size");
            }
            has_the_same_sets(&merged, &whole);
        }
    }
}

#[test]
fn counts_are_within_their_bounds_in_any_order() {
    let (whole, hours, counts, numbers) = day(size(2_000_000, 100_000));
    for trial in 0..size(10, 2) {
        let mut merged = Hour::new();
        for hour in shuffled(&mut Random::of("orders of counts", trial)) {
            merged.merge_counts(&hours[hour]).expect("of one size");
        }
        assert_eq!(merged.plain, whole.plain);
        let mut too_high = 0;
        for (item, count) in counts.iter().enumerate() {
            let estimate = merged.conservative.estimate(key(item as u64));
            assert!(estimate.at_most >= *count);
            assert!(estimate.at_most <= merged.plain.estimate(key(item as u64)).at_most);
            too_high += usize::from(estimate.at_least() > *count);
        }
        assert!(too_high * 100 <= counts.len(), "{too_high} of {}", counts.len());
        for item in merged.frequent.top(usize::MAX) {
            // keys are hashes; of those that are frequent the items are the first ones
            let found = (0..counts.len() as u64).find(|item_of| key(*item_of) == item.key);
            let count = counts[found.expect("an item that was met") as usize];
            assert!((item.lower..=item.upper).contains(&count), "{count} not in {item:?}");
        }
        for (share, allowed) in [(0.5, 0.005), (0.9, 0.005), (0.99, 0.001), (0.999, 0.0005)] {
            let answer = merged.quantiles.quantile(share).expect("there were numbers");
            let rank = numbers.partition_point(|number| *number <= answer) as f64 / numbers.len() as f64;
            assert!((rank - share).abs() <= allowed, "{share}: {rank}");
        }
    }
}

#[test]
fn unlike_ones_are_refused_by_name() {
    let refused = |result: Result<(), MergeError>| result.expect_err("they are unlike").to_string();
    let said = [
        refused(Distinct::new(14).merge(&Distinct::new(12))),
        refused(Overlap::new(14).merge(&Overlap::new(12))),
        refused(FrequentKeys::new(64).merge(&FrequentKeys::new(128))),
        refused(CountMin::new(0.01, 0.1, Update::Plain).merge(&CountMin::new(0.02, 0.1, Update::Plain))),
        refused(CountMin::new(0.01, 0.1, Update::Plain).merge(&CountMin::new(0.01, 0.01, Update::Plain))),
        refused(CountMin::new(0.01, 0.1, Update::Plain).merge(&CountMin::new(
            0.01,
            0.1,
            Update::Conservative,
        ))),
    ];
    assert_eq!(
        said,
        [
            "distinct sketches of unlike lg_k, 14 and 12, cannot be merged",
            "overlap sketches of unlike lg_k, 14 and 12, cannot be merged",
            "frequent-items sketches of unlike items, 96 and 192, cannot be merged",
            "Count-Min sketches of unlike width, 272 and 136, cannot be merged",
            "Count-Min sketches of unlike depth, 3 and 5, cannot be merged",
            "Count-Min sketches of unlike update, plain and conservative, cannot be merged",
        ]
    );
    let mut much = FrequentKeys::new(8);
    much.add(1, u64::MAX, None);
    assert_eq!(much.total(), 1 << 62);
    assert!(refused(much.clone().merge(&much)).contains("counted too much"));
}
