//! The arithmetic of false-positive rates: what to expect of a filter from its
//! size and load, by the layout it really has. Pure functions, no filter in sight.
//!
//! A *rate* is the probability that a key never inserted is answered "maybe".
//! *Bits per key* is the filter's size over the number of distinct keys in it.

/// Bits of one block of the blocked filter.
pub const BLOCK_BITS: u64 = 512;

/// Hashes of a blocked filter at most: one for each word of a block.
pub const BLOCKED_HASHES_MAX: u32 = 8;

/// Hashes of a classic filter at most; more would not pay below 44 bits per URL.
pub const CLASSIC_HASHES_MAX: u32 = 30;

/// Weights below this part of the largest add nothing that a double could show.
const NEGLIGIBLE: f64 = 1e-18;

/// Below this the alternating sum of [`split_rate`] has lost its digits.
const SUM_HOLDS_TO: f64 = 1e-9;

/// The expected rate of the split blocked layout at `load` keys per block on average.
///
/// The keys of one block are Poisson distributed (Putze, Sanders, Singler, "Cache-, Hash- and
/// Space-Efficient Bloom Filters", 2007, section 3). A key leaves a given bit of each word in a
/// set S unset with probability 63/64 for each word of S that lies in its run, so that with
/// `a(S)`, the mean over the starts of `(63/64)^|S ∩ run|`, inclusion and exclusion over the
/// words of the asked run give the exact expectation
/// `Σ_S (−1)^|S| · e^(−load · (1 − a(S)))`.
/// It differs from [`mixture_rate`] by a per cent or so, since runs cover neighbours together.
pub fn split_rate(hashes: u32, load: f64) -> f64 {
    if load.is_nan() || load <= 0.0 {
        return 0.0;
    }
    let hashes = hashes.clamp(1, BLOCKED_HASHES_MAX);
    let asked = u8::MAX >> (8 - hashes);
    let sum: f64 =
        (0..=asked).map(|words| sign(words) * (-load * (1.0 - left_unset(words, asked))).exp()).sum();
    if sum < SUM_HOLDS_TO { mixture_rate(hashes, load) } else { sum }
}

/// The mean over the starts of `(63/64)^(words in the run)`: how likely a key leaves them as they are.
fn left_unset(words: u8, run: u8) -> f64 {
    let power = |start| (63.0_f64 / 64.0).powi((words & run.rotate_left(start)).count_ones() as i32);
    (0..8).map(power).sum::<f64>() / 8.0
}

fn sign(words: u8) -> f64 {
    if words.count_ones() % 2 == 0 { 1.0 } else { -1.0 }
}

/// The same as if the words of a block filled independently:
/// `Σ_i Poisson(i; load) · (1 − (1 − k/512)^i)^k`. A sum of positive terms, exact to the last
/// digit however small; within 2 % of the truth.
pub fn mixture_rate(hashes: u32, load: f64) -> f64 {
    if load.is_nan() || load <= 0.0 {
        return 0.0;
    }
    let keep = 1.0 - f64::from(hashes) / BLOCK_BITS as f64;
    let term = |keys: f64| (1.0 - keep.powf(keys)).powi(hashes as i32);
    // outwards from the most likely count, so that no weight under- or overflows
    let mode = load.floor();
    let (mut weights, mut sum) = (1.0, term(mode));
    let (mut weight, mut keys) = (1.0, mode);
    while weight > NEGLIGIBLE {
        keys += 1.0;
        weight *= load / keys;
        weights += weight;
        sum += weight * term(keys);
    }
    (weight, keys) = (1.0, mode);
    while keys > 0.0 && weight > NEGLIGIBLE {
        weight *= keys / load;
        keys -= 1.0;
        weights += weight;
        sum += weight * term(keys);
    }
    sum / weights
}

/// The expected rate of a filter whose bits lie anywhere: `fill^k`
/// with the expected fill `1 − e^(−k/b)` at `b` bits per key.
pub fn classic_rate(hashes: u32, bits_per_key: f64) -> f64 {
    expected_fill(hashes, bits_per_key).powi(hashes as i32)
}

/// The expected part of bits set, of either layout: `1 − e^(−k/b)`.
///
/// In the split layout a block with Poisson(λ) keys has the expected fill
/// `1 − E[(1 − k/512)^i] = 1 − e^(−λk/512)`, which is the same.
pub fn expected_fill(hashes: u32, bits_per_key: f64) -> f64 {
    if bits_per_key.is_nan() || bits_per_key <= 0.0 {
        return 1.0;
    }
    1.0 - (-f64::from(hashes) / bits_per_key).exp()
}

/// The number of distinct keys that explains a fill: the inverse of [`expected_fill`].
pub fn keys_from_fill(hashes: u32, bits: u64, fill: f64) -> f64 {
    // a full filter is explained by any large number; one bit short of full is the largest told apart
    let empty = (1.0 - fill).max(0.5 / bits.max(1) as f64);
    -empty.ln() * bits as f64 / f64::from(hashes.max(1))
}

/// The expected rate of the split blocked layout at so many bits per key.
pub fn blocked_rate(hashes: u32, bits_per_key: f64) -> f64 {
    split_rate(hashes, BLOCK_BITS as f64 / bits_per_key)
}

/// The number of hashes with the lowest expected rate of a blocked filter, and that rate.
pub fn best_blocked(bits_per_key: f64) -> (u32, f64) {
    best(1..=BLOCKED_HASHES_MAX, |hashes| blocked_rate(hashes, bits_per_key))
}

/// The number of hashes with the lowest expected rate of a classic filter, and that rate.
pub fn best_classic(bits_per_key: f64) -> (u32, f64) {
    best(1..=CLASSIC_HASHES_MAX, |hashes| classic_rate(hashes, bits_per_key))
}

/// The lowest rate; among equals the fewest hashes.
fn best(hashes: std::ops::RangeInclusive<u32>, rate: impl Fn(u32) -> f64) -> (u32, f64) {
    hashes
        .map(|hashes| (hashes, rate(hashes)))
        .fold((1, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
}

/// The fewest bits per key (to within a thousandth) whose best rate is at most `rate`;
/// `None` where that takes more than `most` bits per key.
pub fn bits_for_rate(rate: f64, most: f64, best_rate: impl Fn(f64) -> f64) -> Option<f64> {
    const STEP: f64 = 0.001;
    // the best rate over all numbers of hashes falls with the bits: bisect
    let (mut low, mut high) = (0, (most / STEP) as u64);
    if rate.is_nan() || best_rate(most) > rate {
        return None;
    }
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if best_rate(middle as f64 * STEP) <= rate {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high as f64 * STEP)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The sizing table of the documentation: bits per URL, hashes, rate in per cent.
    const BLOCKED: [(f64, u32, f64); 7] = [
        (8.0, 5, 2.34),
        (9.0, 6, 1.50),
        (10.0, 6, 0.975),
        (11.0, 7, 0.635),
        (12.0, 7, 0.42),
        (14.0, 8, 0.187),
        (16.0, 8, 0.091),
    ];

    #[test]
    fn the_sizing_table_holds() {
        for (bits, hashes, percent) in BLOCKED {
            let (best, rate) = best_blocked(bits);
            assert_eq!(
                best,
                hashes,
                "{bits} bits: {:?}",
                (4..9).map(|k| blocked_rate(k, bits)).collect::<Vec<_>>()
            );
            assert!((rate * 100.0 / percent - 1.0).abs() < 0.012, "{bits} bits: {rate}");
        }
        for (bits, hashes) in (1..=7).zip([1, 1, 2, 3, 3, 4, 5]) {
            assert_eq!(best_blocked(f64::from(bits)).0, hashes, "{bits} bits");
        }
        for (bits, percent) in
            [(8.0, 2.16), (9.0, 1.33), (10.0, 0.82), (11.0, 0.51), (12.0, 0.31), (14.0, 0.12)]
        {
            assert!((best_classic(bits).1 * 100.0 / percent - 1.0).abs() < 0.03, "{bits} bits");
        }
    }

    #[test]
    fn the_mixture_is_a_mean_whatever_the_load() {
        for load in [1e-9, 0.1, 1.0, 51.2, 400.0, 5000.0] {
            for hashes in 1..=8 {
                let rate = split_rate(hashes, load);
                assert!((0.0..=1.0).contains(&rate), "{hashes} at {load}: {rate}");
            }
        }
        assert_eq!(split_rate(5, 0.0).to_bits(), 0.0_f64.to_bits());
        assert_eq!(split_rate(5, f64::NAN).to_bits(), 0.0_f64.to_bits());
        for load in [5.0, 25.6, 51.2, 102.4, 400.0] {
            for hashes in 1..=8 {
                let quotient = split_rate(hashes, load) / mixture_rate(hashes, load);
                assert!((0.9..1.02).contains(&quotient), "{hashes} at {load}: {quotient}");
            }
        }
        // with one hash the rate is the fill itself
        assert!((split_rate(1, 51.2) - expected_fill(1, 10.0)).abs() < 1e-12);
    }

    #[test]
    fn keys_are_found_again_from_the_fill() {
        for bits_per_key in [1.0, 4.0, 10.0, 16.0] {
            let bits = 1 << 20;
            let keys = keys_from_fill(6, bits, expected_fill(6, bits_per_key));
            assert!((keys * bits_per_key / bits as f64 - 1.0).abs() < 1e-9);
        }
        assert!(keys_from_fill(6, 512, 1.0).is_finite());
    }

    #[test]
    fn bits_for_a_rate_reach_it_and_no_less_does() {
        let blocked = |bits: f64| best_blocked(bits).1;
        let bits = bits_for_rate(0.008_2, 64.0, blocked).unwrap();
        assert!((10.3..10.6).contains(&bits), "{bits}");
        assert!(blocked(bits) <= 0.008_2 && blocked(bits - 0.002) > 0.008_2);
        assert_eq!(bits_for_rate(1e-30, 64.0, blocked), None);
        assert_eq!(bits_for_rate(f64::NAN, 64.0, blocked), None);
    }
}
