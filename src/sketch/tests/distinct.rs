//! How exact HyperLogLog is, and how small.

use super::sizes::{Errors, Random, size, tell};
use crate::sketch::Distinct;

/// The default.
const LG_K: u8 = 14;

/// √ of the number of registers, by which all errors are divided.
const ROOT: f64 = 128.0;

/// Of so many keys the errors of the running estimate and of the one by registers alone.
#[derive(Clone, Copy, Default)]
struct Point {
    keys: u64,
    running: Errors,
    composite: Errors,
}

fn measure(test: &str, trials: u64, sizes: &[u64]) -> Vec<Point> {
    let mut points: Vec<Point> = sizes.iter().map(|keys| Point { keys: *keys, ..Point::default() }).collect();
    for trial in 0..trials {
        let (mut sketch, mut random) = (Distinct::new(LG_K), Random::of(test, trial));
        let mut added = 0;
        for point in &mut points {
            for _ in added..point.keys {
                sketch.add(random.number());
            }
            added = point.keys;
            point.running.add(sketch.estimate().value, point.keys as f64);
            point.composite.add(sketch.composite(), point.keys as f64);
        }
    }
    points
}

fn is_as_exact_as_theory(test: &str, trials: u64, sizes: &[u64], most_bias: f64) {
    for point in measure(test, trials, sizes) {
        for (name, errors, deviation) in
            [("never merged", point.running, 0.833 / ROOT), ("merged", point.composite, 1.04 / ROOT)]
        {
            let (rms, bias) = (errors.rms(), errors.bias());
            tell(&format!(
                "hyperloglog, {name}, {} keys, {trials} trials: error {:.4} % (theory {:.4} %, ratio {:.3}), bias {:.4} %",
                point.keys,
                rms * 100.0,
                deviation * 100.0,
                rms / deviation,
                bias * 100.0
            ));
            assert!(rms <= 1.10 * deviation * errors.slack(), "{name}, {} keys: {rms}", point.keys);
            assert!(bias < most_bias + errors.chance(deviation), "{name}, {} keys: {bias}", point.keys);
        }
    }
}

#[test]
fn errors_are_those_of_theory() {
    let sizes: &[u64] = size(&[1_000, 10_000, 100_000, 1_000_000], &[1_000, 10_000, 100_000]);
    is_as_exact_as_theory("distinct", size(2_000, 100), sizes, 0.001);
}

#[test]
fn errors_are_those_of_theory_with_many_keys() {
    let (trials, keys) = size((400, 10_000_000), (10, 1_000_000));
    is_as_exact_as_theory("distinct many", trials, &[keys], 0.002);
}

#[test]
fn bounds_hold_the_truth() {
    let (trials, mut held) = (size(2_000, 200), 0);
    for trial in 0..trials {
        let (mut sketch, mut random) = (Distinct::new(LG_K), Random::of("distinct bounds", trial));
        let keys = 2_000 + random.below(60_000);
        (0..keys).for_each(|_| sketch.add(random.number()));
        held += u64::from(sketch.estimate().holds(keys as f64));
    }
    tell(&format!("hyperloglog: the truth is within the bounds in {held} of {trials} trials"));
    assert!(held * 100 >= trials * 92, "{held} of {trials}");
}

#[test]
fn few_keys_take_little() {
    let (mut most_memory, mut most_disk) = (0, 0);
    for trial in 0..size(500, 20) {
        let (mut sketch, mut random) = (Distinct::new(LG_K), Random::of("distinct few", trial));
        for _ in 1..1_000 {
            sketch.add(random.number());
            most_memory = most_memory.max(sketch.memory_bytes());
        }
        most_disk = most_disk.max(sketch.encode().len());
    }
    tell(&format!("hyperloglog, 999 keys: {most_memory} bytes in memory, {most_disk} on disk"));
    assert!(most_memory <= 9 << 10, "{most_memory} bytes in memory");
    assert!(most_disk <= 4 << 10, "{most_disk} bytes on disk");
}

#[test]
fn it_never_takes_more_than_it_says() {
    for lg_k in size(4..=18, 4..=14) {
        let (mut sketch, mut random) = (Distinct::new(lg_k), Random::of("distinct memory", u64::from(lg_k)));
        for _ in 0..size(2_000_000, 100_000) {
            sketch.add(random.number());
        }
        assert!(sketch.memory_bytes() <= sketch.most_memory_bytes(), "2^{lg_k}: {}", sketch.memory_bytes());
    }
}

#[test]
fn what_is_known_exactly_is_said_exactly() {
    let mut sketch = Distinct::new(LG_K);
    assert_eq!(sketch.estimate().value.to_bits(), 0);
    for key in 1..=7_u64 {
        sketch.add(key);
        sketch.add(key);
        assert!((sketch.estimate().value - key as f64).abs() < 0.01, "{}", sketch.estimate().value);
    }
}
