//! How exact t-digests are.

use proptest::prelude::*;

use super::sizes::{Random, size, tell};
use crate::sketch::Quantiles;

/// The share asked for, and by how much the rank of the answer may be off.
const ALLOWED: [(f64, f64); 4] = [(0.5, 0.005), (0.9, 0.005), (0.99, 0.001), (0.999, 0.0005)];

/// How numbers are spread: its name, and how one is drawn.
type Spread = (&'static str, fn(&mut Random) -> f64);

/// How latencies, sizes and the like are spread.
const SPREADS: [Spread; 5] = [
    ("log-normal", |random| (4.0 + 1.2 * random.normal()).exp()),
    ("log-normal, in whole numbers", |random| (6.0 + 1.2 * random.normal()).exp().round()),
    ("even", Random::share),
    ("a few that are a thousand times as slow", |random| {
        (if random.share() < 0.97 { 20.0 } else { 30_000.0 }) + random.normal()
    }),
    ("Pareto", |random| random.share().powf(-1.0 / 1.1)),
];

fn feed(sketch: &mut Quantiles, numbers: &[f64]) {
    for number in numbers {
        sketch.add(*number);
    }
}

/// By how much the rank of an answer is off: the share of numbers that it does not exceed, where several are alike any
/// of their ranks.
fn off_by(sorted: &[f64], share: f64, answer: f64) -> f64 {
    let rank = |end: usize| end as f64 / sorted.len() as f64;
    let from = rank(sorted.partition_point(|number| *number < answer));
    let to = rank(sorted.partition_point(|number| *number <= answer));
    (from - share).max(share - to).max(0.0)
}

/// The greatest errors of the four shares over some trials.
fn worst(name: &str, numbers: usize, trials: u64, parts: usize, draw: fn(&mut Random) -> f64) -> [f64; 4] {
    let mut worst = [0.0_f64; 4];
    for trial in 0..trials {
        let mut random = Random::of(name, trial);
        let mut drawn: Vec<f64> = (0..numbers).map(|_| draw(&mut random)).collect();
        let mut whole = Quantiles::default();
        for part in drawn.chunks(numbers.div_ceil(parts)) {
            let mut sketch = Quantiles::default();
            feed(&mut sketch, part);
            whole.merge(&sketch).expect("few enough");
        }
        drawn.sort_unstable_by(f64::total_cmp);
        for (worst, (share, _)) in worst.iter_mut().zip(ALLOWED) {
            *worst = worst.max(off_by(&drawn, share, whole.quantile(share).expect("there were numbers")));
        }
        assert_eq!((whole.min(), whole.max()), (drawn.first().copied(), drawn.last().copied()));
        assert_eq!(whole.count(), numbers as u64);
    }
    worst
}

#[test]
fn ranks_are_nearly_right() {
    let (numbers, trials) = size((1_000_000, 5), (50_000, 2));
    for (name, draw) in SPREADS {
        for parts in [1, 24] {
            let worst = worst(name, numbers, trials, parts, draw);
            let percent = worst.map(|error| format!("{:.4} %", error * 100.0));
            tell(&format!(
                "t-digest, {name}, {numbers} numbers in {parts} parts: ranks of p50, p90, p99, p999 off by {}",
                percent.join(", ")
            ));
            for (worst, (share, allowed)) in worst.iter().zip(ALLOWED) {
                assert!(*worst <= allowed, "{name}, {parts} parts, {share}: off by {worst}");
            }
        }
    }
}

/// Where few different numbers come again and again an answer may lie between two of them, and then its rank is off
/// by up to what is between the rank asked for and the next one.
#[test]
fn of_few_different_numbers_an_answer_is_between_two() {
    let mut random = Random::of("few", 0);
    let mut drawn: Vec<f64> = (0..20_000).map(|_| (random.below(10) * 10) as f64).collect();
    let mut sketch = Quantiles::default();
    feed(&mut sketch, &drawn);
    drawn.sort_unstable_by(f64::total_cmp);
    for (share, _) in ALLOWED {
        let answer = sketch.quantile(share).expect("there were numbers");
        let exact = |share: f64| drawn[(share * 20_000.0) as usize];
        assert!(
            (exact(share - 0.01)..=exact((share + 0.01).min(0.9999))).contains(&answer),
            "{share}: {answer}"
        );
    }
}

#[test]
fn it_never_takes_more_than_it_says() {
    for (name, draw) in SPREADS {
        let (mut sketch, mut random) = (Quantiles::default(), Random::of(name, 0));
        for _ in 0..20_000 {
            sketch.add(draw(&mut random));
            assert!(sketch.memory_bytes() <= sketch.most_memory_bytes(), "{name}: {}", sketch.memory_bytes());
        }
        let other = sketch.clone();
        sketch.merge(&other).expect("few enough");
        assert!(
            sketch.memory_bytes() <= sketch.most_memory_bytes(),
            "{name}, merged: {}",
            sketch.memory_bytes()
        );
    }
}

/// So many numbers that a single one is a share of nothing: what comes besides is grouped all the same.
#[test]
fn groups_stay_few_after_the_greatest_count() {
    let mut sketch = Quantiles::new(33);
    sketch.add(0.0);
    while sketch.merge(&sketch.clone()).is_ok() {}
    let mut bytes = sketch.encode();
    for number in 0..20_000_u32 {
        sketch.add(f64::from(number));
        if number % 100 == 0 {
            bytes = sketch.encode();
            assert!(Quantiles::decode(&bytes).is_ok(), "{number} numbers more: {} bytes", bytes.len());
        }
    }
    assert_eq!(sketch.count(), 1 << 48);
    // one more in the last group
    let last = bytes.len() - 8;
    let more = u64::from_le_bytes(*bytes[last..].first_chunk().expect("eight bytes")) + 1;
    bytes[last..].copy_from_slice(&more.to_le_bytes());
    assert!(Quantiles::decode(&bytes).is_err());
}

#[test]
fn what_is_no_number_does_not_count() {
    let mut sketch = Quantiles::default();
    feed(&mut sketch, &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!((sketch.count(), sketch.quantile(0.5), sketch.max(), sketch.min()), (0, None, None, None));
    sketch.add(7.0);
    assert_eq!(
        (sketch.quantile(0.0), sketch.quantile(1.0), sketch.quantile(f64::NAN)),
        (Some(7.0), Some(7.0), None)
    );
}

proptest! {
    /// Answers go up with the shares, and stay between the least and the greatest.
    #[test]
    fn answers_are_in_order(numbers in proptest::collection::vec(-1e9..1e9_f64, 1..2000)) {
        let mut sketch = Quantiles::default();
        feed(&mut sketch, &numbers);
        let answers: Vec<f64> = (0..=100).filter_map(|percent| sketch.quantile(f64::from(percent) / 100.0)).collect();
        prop_assert_eq!(answers.len(), 101);
        prop_assert!(answers.is_sorted());
        prop_assert_eq!((Some(answers[0]), Some(answers[100])), (sketch.min(), sketch.max()));
    }
}
