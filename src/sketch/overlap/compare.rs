//! What two samples say of the sets that they were taken from.
//!
//! A hash below a bound is there for each key with the chance that the bound is of all hashes, whoever met
//! the key; so what both hold below the lower of two bounds is a sample of what both met. That is why it is exact about
//! small overlaps, where the sizes of two sets and of their union would say nothing (they are uncertain by more).

use super::{Estimate, MOST_THETA};

/// Standard deviations of the bounds.
const DEVIATIONS: f64 = 2.0;

/// How many keys were met by whom.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// By the first one.
    pub first: Estimate,
    /// By the second one.
    pub second: Estimate,
    /// By either of them.
    pub union: Estimate,
    /// By both of them.
    pub both: Estimate,
    /// By the first one alone.
    pub only_first: Estimate,
    /// By the second one alone.
    pub only_second: Estimate,
    /// The share (0 to 1) of what the first one met that the second one met, too. 0 where it met nothing.
    pub share_of_first: Estimate,
    /// The share (0 to 1) of what the second one met that the first one met, too.
    pub share_of_second: Estimate,
}

impl Comparison {
    /// Of sorted hashes and the bounds that they are below.
    pub(super) fn of((first, bound): (&[u64], u64), (second, other_bound): (&[u64], u64)) -> Self {
        let theta = bound.min(other_bound);
        let below = |hashes: &[u64]| hashes.partition_point(|hash| *hash < theta);
        let (in_first, in_second) = (below(first), below(second));
        let in_both = common(&first[..in_first], &second[..in_second]);
        Self {
            first: of_sample(first.len(), bound),
            second: of_sample(second.len(), other_bound),
            union: of_sample(in_first + in_second - in_both, theta),
            both: of_sample(in_both, theta),
            only_first: of_sample(in_first - in_both, theta),
            only_second: of_sample(in_second - in_both, theta),
            share_of_first: share(in_both, in_first, theta),
            share_of_second: share(in_both, in_second, theta),
        }
    }
}

/// How many hashes stand in both of two sorted lists.
fn common(one: &[u64], other: &[u64]) -> usize {
    let mut others = other.iter().peekable();
    let is_common = |hash: &&u64| {
        while others.next_if(|other| other < hash).is_some() {}
        others.peek() == Some(hash)
    };
    one.iter().filter(is_common).count()
}

/// The size of a set of which so many hashes are below a bound.
///
/// The bounds are those of E. Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927),
/// solved for the number of trials, with the correction for continuity, which matters where there are few.
pub(super) fn of_sample(hashes: usize, bound: u64) -> Estimate {
    let held = hashes as f64;
    if bound == MOST_THETA {
        return Estimate::exact(held);
    }
    let chance = bound as f64 / MOST_THETA as f64;
    let spread = DEVIATIONS * DEVIATIONS * (1.0 - chance) / chance;
    let at = |held: f64, side: f64| {
        let likeliest = held / chance;
        likeliest + spread / 2.0 + side * (spread * (likeliest + spread / 4.0)).sqrt()
    };
    let lower = if hashes == 0 { 0.0 } else { at(held - 0.5, -1.0).max(held) };
    Estimate { value: held / chance, lower, upper: at(held + 0.5, 1.0) }
}

/// The share of some hashes in others; bounds by Wilson (1927), with the correction for continuity.
fn share(some: usize, all: usize, bound: u64) -> Estimate {
    if all == 0 {
        return Estimate { value: 0.0, lower: 0.0, upper: if bound == MOST_THETA { 0.0 } else { 1.0 } };
    }
    let (value, all) = (some as f64 / all as f64, all as f64);
    if bound == MOST_THETA {
        return Estimate::exact(value);
    }
    let squared = DEVIATIONS * DEVIATIONS;
    let at = |value: f64, side: f64| {
        let center = value + squared / (2.0 * all);
        let width = (squared * (value * (1.0 - value) / all + squared / (4.0 * all * all))).sqrt();
        (center + side * width) / (1.0 + squared / all)
    };
    let half = 0.5 / all;
    let lower = at((value - half).max(0.0), -1.0).clamp(0.0, value);
    let upper = at((value + half).min(1.0), 1.0).clamp(value, 1.0);
    Estimate { value, lower, upper }
}
