//! How exact counts by key are: Count-Min, Count-Sketch and the most frequent items.

use std::collections::HashMap;

use proptest::prelude::*;

use super::key;
use super::sizes::{Random, Zipf, size, tell};
use crate::sketch::{CountMin, CountSketch, Frequent, FrequentKeys, MOST_TEXT, Update};

/// The defaults.
const EPSILON: f64 = 5e-4;
const DELTA: f64 = 1e-2;

/// So many draws from so many items, and how often each was drawn.
struct Stream {
    draws: Vec<u32>,
    counts: Vec<u64>,
}

impl Stream {
    fn zipf(exponent: f64, items: u64) -> Self {
        let (zipf, mut random) = (Zipf::new(items, exponent), Random::of("zipf", items));
        let draws: Vec<u32> = (0..items).map(|_| zipf.draw(&mut random) as u32).collect();
        let mut counts = vec![0; items as usize + 1];
        for item in &draws {
            counts[*item as usize] += 1;
        }
        Self { draws, counts }
    }

    fn keys(&self) -> impl Iterator<Item = u64> {
        self.draws.iter().map(|item| key(u64::from(*item)))
    }

    /// Items that were drawn: the key and how often.
    fn truth(&self) -> impl Iterator<Item = (u64, u64)> {
        let items = self.counts.iter().enumerate();
        items.filter(|(_, count)| **count > 0).map(|(item, count)| (key(item as u64), *count))
    }
}

/// By how much counts are too high on average, and the share of keys of which that is more than it may be.
fn excess(sketch: &CountMin, stream: &Stream) -> (f64, f64) {
    let (mut keys, mut sum, mut too_high) = (0_u64, 0_u64, 0_u64);
    let allowed = EPSILON * stream.draws.len() as f64;
    for (key, count) in stream.truth() {
        let estimate = sketch.estimate(key);
        assert!(estimate.at_most >= count, "{} of {count}", estimate.at_most);
        let excess = estimate.at_most - count;
        keys += 1;
        sum += excess;
        too_high += u64::from(excess as f64 > allowed);
        assert!(estimate.off_by as f64 <= allowed.ceil());
    }
    (sum as f64 / keys as f64, too_high as f64 / keys as f64)
}

#[test]
fn count_min_is_never_too_low_and_seldom_much_too_high() {
    let stream = Stream::zipf(1.1, size(10_000_000, 300_000));
    let sketches = [Update::Conservative, Update::Plain].map(|update| {
        let mut sketch = CountMin::new(EPSILON, DELTA, update);
        stream.keys().for_each(|key| sketch.add(key, 1));
        sketch
    });
    assert_eq!((sketches[0].width(), sketches[0].depth()), (5437, 5));
    let [conservative, plain] = sketches.each_ref().map(|sketch| excess(sketch, &stream));
    tell(&format!(
        "Count-Min, {} draws: conservative too high by {:.1} on average, plain by {:.1} (ratio {:.3}); by more than it may \
         be for {} and {} of the keys",
        stream.draws.len(),
        conservative.0,
        plain.0,
        conservative.0 / plain.0,
        conservative.1,
        plain.1
    ));
    assert!(conservative.1 <= DELTA && plain.1 <= DELTA, "{} {}", conservative.1, plain.1);
    assert!(conservative.0 <= 0.6 * plain.0, "{} {}", conservative.0, plain.0);
}

/// The hundred most frequent ones; the last of them may be as frequent as others.
#[test]
fn the_most_frequent_items_are_found() {
    let stream = Stream::zipf(1.1, size(10_000_000, 300_000));
    let mut sketch = FrequentKeys::new(1024);
    for (key, item) in stream.keys().zip(&stream.draws) {
        sketch.add(key, 1, Some(&item.to_string()));
    }
    let truth: HashMap<u64, u64> = stream.truth().collect();
    let mut counts: Vec<u64> = truth.values().copied().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    for item in sketch.top(usize::MAX) {
        assert!((item.lower..=item.upper).contains(&truth[&item.key]));
        if let Some(rank) = item.rank {
            assert_eq!(truth[&item.key], counts[rank - 1], "of rank {rank}");
        }
    }
    let top = sketch.top(100);
    let found = top.iter().filter(|item| truth[&item.key] >= counts[99]).count();
    let text =
        |item: &crate::sketch::FrequentKey| item.text.as_ref().and_then(|text| text.parse().ok()).map(key);
    let with_text = top.iter().filter(|item| text(item) == Some(item.key)).count();
    let ranked = top.iter().filter(|item| item.rank.is_some()).count();
    tell(&format!(
        "frequent keys, {} held, {} draws: {found} of the top 100 found, {with_text} with their text, {ranked} ranked; bounds \
         {} apart, {} bytes",
        sketch.most_items(),
        stream.draws.len(),
        sketch.most_unseen(),
        sketch.memory_bytes()
    ));
    assert!(found >= 99 && with_text >= 99, "{found} found, {with_text} with text");
    assert!(sketch.memory_bytes() <= sketch.most_memory_bytes());
}

#[test]
fn bounds_of_count_sketch_hold_the_truth() {
    let (trials, mut held, mut asked, mut widths) = (size(20, 2), 0, 0, Vec::new());
    for trial in 0..trials {
        let mut random = Random::of("count-sketch", trial);
        let zipf = Zipf::new(100_000, 1.1);
        let mut sums: HashMap<u64, i64> = HashMap::new();
        let (mut before, mut after) = (CountSketch::new(1024, 5), CountSketch::new(1024, 5));
        for place in 0..200_000 {
            let item = zipf.draw(&mut random);
            let (sketch, weight) = if place % 3 == 0 { (&mut before, -1) } else { (&mut after, 1) };
            sketch.add(key(item), 1);
            *sums.entry(item).or_default() += weight;
        }
        let grown = after.subtract(&before).expect("of one size");
        let off_by = grown.off_by();
        widths.push(off_by);
        for (item, sum) in sums {
            asked += 1;
            held += u64::from(grown.estimate_within(key(item), off_by).holds(sum as f64));
        }
    }
    tell(&format!(
        "Count-Sketch: the truth is within the bounds of {held} of {asked} keys, {:.0} to either side",
        widths[0]
    ));
    assert!(held * 100 >= asked * 95, "{held} of {asked}");
}

#[test]
fn what_grew_most_is_found() {
    let (mut before, mut after) = (CountSketch::new(1024, 5), CountSketch::new(1024, 5));
    for host in 0..5_000_u64 {
        before.add(key(host), 20);
        after.add(key(host), if host == 7 { 3_000 } else { 20 });
    }
    let grown = after.subtract(&before).expect("of one size");
    // all that did not change has gone
    assert!((grown.estimate(key(7)).value - 2_980.0).abs() < 1e-9);
    assert!(grown.estimate(key(7)).lower > 2_900.0);
    assert!(grown.estimate(key(8)).holds(0.0));
}

#[test]
fn rare_keys_are_known_for_noise() {
    let mut sketch = CountMin::new(0.01, 0.01, Update::Conservative);
    (0..10_000_u64).for_each(|item| sketch.add(key(item), 1));
    sketch.add(key(1), 5_000);
    assert!(sketch.estimate(key(2)).is_noise() && !sketch.estimate(key(1)).is_noise());
    assert!(sketch.estimate(key(1)).at_least() <= 5_001 && sketch.estimate(key(1)).at_most >= 5_001);
    assert_eq!(CountMin::new(0.01, 0.01, Update::Plain).estimate(key(2)).at_most, 0);
}

#[test]
fn full_cells_stay_full_and_say_nothing() {
    for update in [Update::Conservative, Update::Plain] {
        let mut sketch = CountMin::new(0.01, 0.01, update);
        (0..3).for_each(|_| sketch.add(key(1), u32::MAX));
        assert_eq!(sketch.estimate(key(1)).at_most, 3 * u64::from(u32::MAX));
    }
    let mut sums = CountSketch::new(64, 3);
    sums.add(key(1), i64::MIN);
    sums.add(key(1), i64::MAX);
    sums.add(key(1), i64::MIN);
    assert!(sums.estimate(key(1)).value.abs() <= f64::from(i32::MAX) + 1.0);
}

#[test]
fn long_texts_are_cut_and_few_are_kept() {
    let long = "ä".repeat(300);
    let mut items = Frequent::new(64);
    items.add(&long, 2);
    items.add("short", 1);
    let top = items.top(9);
    assert_eq!(top[0].item, format!("{}…", "ä".repeat(MOST_TEXT / 2)));
    assert_eq!((top[0].rank, top[1].rank), (Some(1), Some(2)));
    items.add("short", 1);
    assert!(items.top(9).iter().all(|item| item.rank.is_none()), "two that are alike have no order");
    let mut keys = FrequentKeys::new(2048);
    for item in (0..2_000_u64).flat_map(|item| [item; 3]) {
        keys.add(key(item), 1, Some(&long));
        assert!(keys.memory_bytes() <= keys.most_memory_bytes());
    }
    let with_text = keys.top(2_000).iter().filter(|item| item.text.is_some()).count();
    assert!((128..=256).contains(&with_text), "{with_text}");
}

proptest! {
    /// However unlike the weights are, what was counted is written so that it is read.
    #[test]
    fn frequent_keys_of_any_weights_come_back(
        stream in proptest::collection::vec((0..40_u64, 0..56_u32), 0..600), merges in 0..4_u32,
    ) {
        let mut sketch = FrequentKeys::new(1);
        for (item, size) in stream {
            sketch.add(item, 1 << size, None);
        }
        for _ in 0..merges {
            let _too_much = sketch.merge(&sketch.clone());
        }
        let again = FrequentKeys::decode(&sketch.encode());
        prop_assert_eq!(again.map(|again| again.top(99)), Ok(sketch.top(99)));
    }
}

#[test]
fn merged_keys_take_no_more_than_they_say() {
    let long = "long ".repeat(99);
    let fed = |items: std::ops::Range<u64>| {
        let mut keys = FrequentKeys::new(512);
        for item in items.flat_map(|item| [item; 3]) {
            keys.add(key(item), 1, Some(&long));
        }
        keys
    };
    let mut keys = fed(0..250);
    keys.merge(&fed(250..500)).expect("of one size");
    for item in (500..760_u64).flat_map(|item| [item; 9]) {
        keys.add(key(item), 1, Some(&long));
        assert!(keys.memory_bytes() <= keys.most_memory_bytes(), "{} bytes", keys.memory_bytes());
    }
}

proptest! {
    #[test]
    fn bounds_of_frequent_items_are_true(
        stream in proptest::collection::vec((prop_oneof![0..6_u64, 0..400_u64], 0..4_u64), 0..2000),
        parts in 1..4_usize,
    ) {
        let (mut texts, mut keys) = (Frequent::new(8), FrequentKeys::new(8));
        let mut truth: HashMap<u64, u64> = HashMap::new();
        for part in 0..parts {
            let (mut some_texts, mut some_keys) = (Frequent::new(8), FrequentKeys::new(8));
            for (item, weight) in stream.iter().skip(part).step_by(parts) {
                some_texts.add(&item.to_string(), *weight);
                some_keys.add(*item, *weight, Some(&item.to_string()));
                *truth.entry(*item).or_default() += weight;
            }
            texts.merge(&some_texts).expect("of one size");
            keys.merge(&some_keys).expect("of one size");
        }
        truth.retain(|_, count| *count > 0);
        let mut counts: Vec<u64> = truth.values().copied().collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        prop_assert_eq!((texts.total(), keys.total()), (counts.iter().sum(), counts.iter().sum()));
        let of_texts = texts.top(99).into_iter().map(|item| (item.item.parse().expect("a number"), item.lower, item.upper, item.rank));
        let of_keys = keys.top(99).into_iter().map(|item| (item.key, item.lower, item.upper, item.rank));
        let mut held = std::collections::HashSet::new();
        for (item, lower, upper, rank) in of_texts.chain(of_keys) {
            let count = truth[&item];
            held.insert(item);
            prop_assert!(lower <= count && count <= upper);
            if let Some(rank) = rank {
                prop_assert_eq!(count, counts[rank - 1]);
                prop_assert!(counts.iter().filter(|other| **other == count).count() == 1);
            }
        }
        prop_assert!(texts.memory_bytes() <= texts.most_memory_bytes());
        prop_assert!(keys.memory_bytes() <= keys.most_memory_bytes());
        let unseen = texts.most_unseen().max(keys.most_unseen());
        prop_assert!(truth.iter().all(|(item, count)| held.contains(item) || *count <= unseen));
        for item in keys.top(99) {
            prop_assert!(item.text.is_none_or(|text| text == item.key.to_string()));
        }
    }

    #[test]
    fn count_min_is_never_too_low(
        stream in proptest::collection::vec((0..300_u64, 0..5_u32), 0..500), is_plain: bool, parts in 1..4_usize,
    ) {
        let update = if is_plain { Update::Plain } else { Update::Conservative };
        let new = || CountMin::new(0.05, 0.1, update);
        let (mut whole, mut merged) = (new(), new());
        let mut truth: HashMap<u64, u64> = HashMap::new();
        for part in 0..parts {
            let mut some = new();
            for (item, weight) in stream.iter().skip(part).step_by(parts) {
                some.add(key(*item), *weight);
                whole.add(key(*item), *weight);
                *truth.entry(*item).or_default() += u64::from(*weight);
            }
            merged.merge(&some).expect("of one size");
        }
        prop_assert_eq!(merged.total(), truth.values().sum::<u64>());
        if is_plain {
            prop_assert_eq!(&merged, &whole);
        }
        for (item, count) in truth {
            prop_assert!(merged.estimate(key(item)).at_most >= count && whole.estimate(key(item)).at_most >= count);
        }
    }

    /// Sums of parts are sums of the whole, and what is subtracted again leaves nothing.
    #[test]
    fn count_sketch_is_linear(stream in proptest::collection::vec((0..300_u64, -9..9_i64), 0..300)) {
        let (mut whole, mut one, mut other) = (CountSketch::new(37, 4), CountSketch::new(37, 4), CountSketch::new(37, 4));
        for (place, (item, weight)) in stream.iter().enumerate() {
            whole.add(key(*item), *weight);
            if place % 2 == 0 { &mut one } else { &mut other }.add(key(*item), *weight);
        }
        prop_assert_eq!(&whole.subtract(&one), &Ok(other.clone()));
        one.merge(&other).expect("of one size");
        prop_assert_eq!(one, whole);
    }
}
