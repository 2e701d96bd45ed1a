//! The arithmetic of the filter, for `plan`.
//!
//! SEAM: forecasts only, until this is handed on to the sizing of `visited`.

use dragline::config::FilterKind;

/// Bits in one block of the blocked filter.
const BLOCK_BITS: f64 = 512.0;

/// Bits set per URL at so many bits per URL.
pub(super) fn hashes(kind: FilterKind, bits_per_url: f64) -> u32 {
    match kind {
        // Measured best for the split layout; one bit in each of at most eight words.
        FilterKind::Blocked => match bits_per_url as u32 {
            0..=2 => 1,
            3 => 2,
            4..=5 => 3,
            6 => 4,
            7..=8 => 5,
            9..=10 => 6,
            11..=12 => 7,
            _ => 8,
        },
        FilterKind::Classic => ((bits_per_url * std::f64::consts::LN_2).round() as u32).max(1),
    }
}

/// The rate of false positives at design load.
///
/// Blocked: the Poisson mixture over blocks for the split layout (Putze, Sanders,
/// Singler 2007); classic: Bloom's (1970).
pub(super) fn false_positive_rate(kind: FilterKind, bits_per_url: f64) -> f64 {
    let hashes = f64::from(hashes(kind, bits_per_url));
    match kind {
        FilterKind::Classic => (1.0 - (-hashes / bits_per_url).exp()).powf(hashes),
        FilterKind::Blocked => {
            let load = BLOCK_BITS / bits_per_url;
            let last = (load + 20.0 * load.sqrt() + 30.0) as u32;
            let mut probability = (-load).exp();
            let mut rate = 0.0;
            for urls in 1..=last {
                probability *= load / f64::from(urls);
                let fill = 1.0 - (1.0 - hashes / BLOCK_BITS).powi(urls as i32);
                rate += probability * fill.powf(hashes);
            }
            rate
        }
    }
}

/// The fewest bits per URL (in hundredths, up to 64) that keep to a rate; `None` where none do.
pub(super) fn bits_for_rate(kind: FilterKind, rate: f64) -> Option<f64> {
    (100..=6400)
        .map(|hundredths| f64::from(hundredths) / 100.0)
        .find(|bits| false_positive_rate(kind, *bits) <= rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_measured() {
        let rows = [(8.0, 0.0234), (9.0, 0.0150), (10.0, 0.009_75), (12.0, 0.0042), (16.0, 0.000_91)];
        for (bits, measured) in rows {
            let ratio = false_positive_rate(FilterKind::Blocked, bits) / measured;
            assert!((0.98..1.02).contains(&ratio), "{bits}: {ratio}");
        }
        let ratio = false_positive_rate(FilterKind::Classic, 10.0) / 0.0082;
        assert!((0.98..1.02).contains(&ratio));
    }

    #[test]
    fn bits_keep_to_their_rate() {
        for kind in [FilterKind::Blocked, FilterKind::Classic] {
            for rate in [0.5, 0.1, 0.01, 0.001] {
                let bits = bits_for_rate(kind, rate).expect("reachable");
                assert!(false_positive_rate(kind, bits) <= rate);
            }
        }
        assert_eq!(bits_for_rate(FilterKind::Blocked, 1e-9), None);
    }
}
