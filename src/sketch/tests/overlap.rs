//! How exact Theta sketches are about what two sets have in common, and that they are those of the library.

use datasketches::common::NumStdDev;
use datasketches::theta::{CompactThetaSketch, ThetaIntersection, ThetaSketchBuilder};
use proptest::prelude::*;

use super::sizes::{Random, size, tell};
use crate::sketch::{Comparison, Estimate, Overlap};

fn of(lg_k: u8, keys: impl IntoIterator<Item = u64>) -> Overlap {
    let mut sketch = Overlap::new(lg_k);
    keys.into_iter().for_each(|key| sketch.add(key));
    sketch
}

/// Two sets of so many keys, of which so many are in both.
fn compared(random: &mut Random, keys: u64, both: u64) -> Comparison {
    let (mut first, mut second) = (Overlap::new(14), Overlap::new(14));
    for place in 0..2 * keys - both {
        let key = random.number();
        if place < keys {
            first.add(key);
        }
        if place >= keys - both {
            second.add(key);
        }
    }
    Overlap::compare(&first, &second)
}

#[test]
fn bounds_hold_the_truth() {
    let (keys, trials) = size((1_000_000, 200), (60_000, 30));
    for percent in [1, 10, 90] {
        let both = keys * percent / 100;
        let alone = keys - both;
        let share = both as f64 / keys as f64;
        let mut held = [0; 8];
        for trial in 0..trials {
            let mut random = Random::of("overlap", trial * 100 + percent);
            let compared = compared(&mut random, keys, both);
            let answers = [
                (compared.both, both as f64),
                (compared.union, (keys + alone) as f64),
                (compared.only_first, alone as f64),
                (compared.only_second, alone as f64),
                (compared.first, keys as f64),
                (compared.second, keys as f64),
                (compared.share_of_first, share),
                (compared.share_of_second, share),
            ];
            for (held, (estimate, truth)) in held.iter_mut().zip(answers) {
                *held += u64::from(estimate.holds(truth));
            }
        }
        tell(&format!(
            "theta, two sets of {keys}, {percent} % in both: the truth is within the bounds of both, union, only first, \
             only second, first, second and the two shares in {held:?} of {trials} trials"
        ));
        // nine in ten; of few trials two fewer, for chance
        let least = trials * 9 / 10 - size(0, 2);
        assert!(held.iter().all(|held| *held >= least), "{percent} %: {held:?} of {trials}");
    }
}

#[test]
fn few_keys_are_compared_exactly() {
    let compared = Overlap::compare(&of(12, 0..2000), &of(14, 1500..4000));
    let exact = Estimate::exact;
    assert_eq!((compared.first, compared.second), (exact(2000.0), exact(2500.0)));
    assert_eq!((compared.union, compared.both), (exact(4000.0), exact(500.0)));
    assert_eq!((compared.only_first, compared.only_second), (exact(1500.0), exact(2000.0)));
    assert_eq!((compared.share_of_first, compared.share_of_second), (exact(0.25), exact(0.2)));
    let nothing = Overlap::compare(&Overlap::new(12), &Overlap::new(12));
    assert_eq!((nothing.union, nothing.share_of_first), (exact(0.0), exact(0.0)));
}

#[test]
fn it_never_takes_more_than_it_says() {
    for lg_k in 5..=14 {
        let mut sketch = Overlap::new(lg_k);
        let mut random = Random::of("overlap memory", u64::from(lg_k));
        for _ in 0..100_000 {
            sketch.add(random.below(60_000));
            assert!(sketch.memory_bytes() <= sketch.most_memory_bytes(), "2^{lg_k}");
        }
    }
}

/// What the library says of a sketch that it reads from our bytes: it is what one of its own says that is trimmed.
#[test]
fn the_library_reads_it_and_agrees() {
    for keys in [0, 1, 50, 4096, 4097, 100_000_u64] {
        let (ours, mut theirs) =
            (of(12, 0..keys), ThetaSketchBuilder::default().lg_k(12).build().expect("a sketch"));
        (0..keys).for_each(|key| theirs.update(key));
        theirs.trim();
        let read = CompactThetaSketch::deserialize(&ours.encode()[1..]).expect("a compact sketch");
        let hashes =
            |sketch: &CompactThetaSketch| sketch.iter().map(|entry| entry.hash()).collect::<Vec<_>>();
        let theirs = theirs.compact(true);
        assert_eq!((read.theta64(), hashes(&read)), (theirs.theta64(), hashes(&theirs)));
        let estimate = ours.estimate();
        assert!((estimate.value - read.estimate()).abs() <= 1e-9 * estimate.value);
        // their bounds are of another formula
        let bounds = [
            (estimate.lower, read.lower_bound(NumStdDev::Two)),
            (estimate.upper, read.upper_bound(NumStdDev::Two)),
        ];
        assert!(
            bounds.iter().all(|(one, other)| (one - other).abs() <= 0.001 * estimate.value),
            "{bounds:?}"
        );
    }
}

#[test]
fn the_library_finds_the_same_in_common() {
    let (first, second) = (of(10, 0..40_000), of(10, 30_000..90_000));
    let read =
        |sketch: &Overlap| CompactThetaSketch::deserialize(&sketch.encode()[1..]).expect("a compact sketch");
    let mut both = ThetaIntersection::default();
    both.update(&read(&first)).and_then(|()| both.update(&read(&second))).expect("two sketches of one seed");
    let theirs = both.to_sketch(true).expect("two were taken in").estimate();
    assert!((Overlap::compare(&first, &second).both.value - theirs).abs() < 1e-6 * theirs);
}

proptest! {
    /// What it retains depends on which keys there were, not on their order or how often they came, nor on how they
    /// were spread over several.
    #[test]
    fn it_retains_the_least_hashes(mut keys in proptest::collection::vec(0..3000_u64, 0..6000), parts in 1..5_usize) {
        let whole = of(6, keys.iter().copied());
        let mut merged = Overlap::new(6);
        for part in 0..parts {
            merged.merge(&of(6, keys.iter().copied().skip(part).step_by(parts))).expect("of one size");
        }
        prop_assert_eq!(&merged, &whole);
        keys.sort_unstable();
        keys.dedup();
        let mut hashes: Vec<u64> = of(13, keys).retained();
        hashes.truncate(64);
        prop_assert_eq!(whole.retained(), hashes);
    }
}
