//! How large a filter is to be: the arithmetic from URLs, bits, rate and memory to
//! a filter, and back. What `dragline plan` prints. No filter is made here.

use super::rates::{self, BLOCK_BITS};
use crate::config::FilterKind;

/// Bits of a filter at most (32 GiB): past it a 64-bit key no longer chooses block and bits independently.
pub const MOST_BITS: u64 = 1 << 38;

/// Bits per URL at most; past it no layout gains anything worth having.
pub const MOST_BITS_PER_URL: f64 = 64.0;

/// Bits per URL beyond which a blocked filter no longer pays.
pub const BLOCKED_PAYS_TO: f64 = 16.0;

/// Why no filter can be made as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SizingError {
    /// Bits per URL are no number, not above zero or absurdly many.
    #[error("{0} bits per url make no filter: give a number above 0 and up to {MOST_BITS_PER_URL}")]
    BitsPerUrl(f64),
    /// The rate is no probability.
    #[error("a false-positive rate of {0} is none: give a number above 0 and below 1")]
    Rate(f64),
    /// The rate is below what the layout reaches.
    #[error("a {kind} filter reaches no false-positive rate of {rate} within {most} bits per url: {remedy}")]
    RateUnreachable {
        /// `blocked` or `classic`.
        kind: &'static str,
        /// The rate asked for.
        rate: f64,
        /// The most bits per URL that were tried.
        most: f64,
        /// What to do instead.
        remedy: &'static str,
    },
    /// More bits than a filter may have.
    #[error(
        "{urls} urls at {bits_per_url} bits each make a filter above 32 GiB: expect fewer urls or give them fewer bits"
    )]
    TooLarge {
        /// The URLs expected.
        urls: u64,
        /// The bits for each.
        bits_per_url: f64,
    },
    /// Not even one block fits.
    #[error("{0} bytes hold no filter: give it 64 bytes at least")]
    NoMemory(u64),
    /// No URL is expected.
    #[error("a filter for 0 urls makes no sense: expect 1 at least")]
    NoUrls,
}

/// A filter's size and what is to be expected of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// The layout.
    pub kind: FilterKind,
    /// URLs it is made for, its *design load*.
    pub urls: u64,
    /// Its size in bits, whole blocks or words.
    pub bits: u64,
    /// Bits set for one URL.
    pub hashes: u32,
    /// The false-positive rate to expect at design load.
    pub rate: f64,
}

impl Sizing {
    /// A filter for `urls` URLs with `bits_per_url` bits for each.
    pub fn from_bits_per_url(kind: FilterKind, urls: u64, bits_per_url: f64) -> Result<Self, SizingError> {
        check_bits_per_url(bits_per_url)?;
        if urls == 0 {
            return Err(SizingError::NoUrls);
        }
        let wanted = (urls as f64 * bits_per_url).ceil();
        if wanted > MOST_BITS as f64 {
            return Err(SizingError::TooLarge { urls, bits_per_url });
        }
        Ok(Self::new(kind, urls, (wanted as u64).div_ceil(unit(kind)) * unit(kind), bits_per_url))
    }

    /// A filter for `urls` URLs whose rate at that load is at most `rate`.
    pub fn from_rate(kind: FilterKind, urls: u64, rate: f64) -> Result<Self, SizingError> {
        Self::from_bits_per_url(kind, urls, bits_for_rate(kind, rate)?)
    }

    /// The filter that fits into `bytes` with `bits_per_url` bits for each URL: how many URLs, at which rate.
    pub fn from_memory(kind: FilterKind, bytes: u64, bits_per_url: f64) -> Result<Self, SizingError> {
        check_bits_per_url(bits_per_url)?;
        let bits = bytes.saturating_mul(8).min(MOST_BITS) / unit(kind) * unit(kind);
        if bits == 0 {
            return Err(SizingError::NoMemory(bytes));
        }
        let urls = ((bits as f64 / bits_per_url) as u64).max(1);
        Ok(Self::new(kind, urls, bits, bits_per_url))
    }

    /// The filter that fits into `bytes` and holds as many URLs as it may at a rate of at most `rate`.
    pub fn from_memory_and_rate(kind: FilterKind, bytes: u64, rate: f64) -> Result<Self, SizingError> {
        Self::from_memory(kind, bytes, bits_for_rate(kind, rate)?)
    }

    fn new(kind: FilterKind, urls: u64, bits: u64, bits_per_url: f64) -> Self {
        // by the bits asked for, not those rounded up to: a tiny filter gets the hashes of its load
        let hashes = best(kind, bits_per_url).0;
        let mut sizing = Sizing { kind, urls, bits, hashes, rate: 0.0 };
        sizing.rate = sizing.rate_at(urls);
        sizing
    }

    /// Bits for each URL at design load.
    pub fn bits_per_url(&self) -> f64 {
        self.bits as f64 / self.urls as f64
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bits / 8
    }

    /// The false-positive rate to expect with so many distinct URLs in it.
    pub fn rate_at(&self, urls: u64) -> f64 {
        if urls == 0 {
            return 0.0;
        }
        let bits_per_url = self.bits as f64 / urls as f64;
        match self.kind {
            FilterKind::Blocked => rates::blocked_rate(self.hashes, bits_per_url),
            FilterKind::Classic => rates::classic_rate(self.hashes, bits_per_url),
        }
    }

    /// The part of its bits to be set at design load.
    pub fn design_fill(&self) -> f64 {
        rates::expected_fill(self.hashes, self.bits_per_url())
    }

    /// What a person should know about this choice, where there is something.
    pub fn note(&self) -> Option<&'static str> {
        // rounding up to whole blocks must not raise the note at 16 itself
        let beyond = self.bits > self.urls.saturating_mul(BLOCKED_PAYS_TO as u64) + BLOCK_BITS;
        (self.kind == FilterKind::Blocked && beyond).then_some(
            "beyond 16 bits per url a blocked filter gains little: --filter classic has a far lower rate at this size, \
             and is slower",
        )
    }
}

/// The fewest bits per URL whose rate is at most `rate`.
pub fn bits_for_rate(kind: FilterKind, rate: f64) -> Result<f64, SizingError> {
    if !(rate > 0.0 && rate < 1.0) {
        return Err(SizingError::Rate(rate));
    }
    let found = rates::bits_for_rate(rate, MOST_BITS_PER_URL, |bits| best(kind, bits).1);
    found.ok_or(SizingError::RateUnreachable {
        kind: match kind {
            FilterKind::Blocked => "blocked",
            FilterKind::Classic => "classic",
        },
        rate,
        most: MOST_BITS_PER_URL,
        remedy: match kind {
            FilterKind::Blocked => "use --filter classic or a higher rate",
            FilterKind::Classic => "use a higher rate",
        },
    })
}

fn best(kind: FilterKind, bits_per_url: f64) -> (u32, f64) {
    match kind {
        FilterKind::Blocked => rates::best_blocked(bits_per_url),
        FilterKind::Classic => rates::best_classic(bits_per_url),
    }
}

/// Bits that a filter's size is a multiple of.
fn unit(kind: FilterKind) -> u64 {
    match kind {
        FilterKind::Blocked => BLOCK_BITS,
        FilterKind::Classic => 64,
    }
}

fn check_bits_per_url(bits_per_url: f64) -> Result<(), SizingError> {
    if bits_per_url > 0.0 && bits_per_url <= MOST_BITS_PER_URL {
        Ok(())
    } else {
        Err(SizingError::BitsPerUrl(bits_per_url))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KINDS: [FilterKind; 2] = [FilterKind::Blocked, FilterKind::Classic];

    #[test]
    fn both_ways_meet() {
        for kind in KINDS {
            for bits_per_url in [1.0, 2.5, 8.0, 10.0, 12.7, 16.0, 24.0] {
                let there = Sizing::from_bits_per_url(kind, 1_000_000, bits_per_url).unwrap();
                let back = Sizing::from_memory(kind, there.bytes(), bits_per_url).unwrap();
                assert_eq!((there.bits, there.hashes), (back.bits, back.hashes));
                assert!(back.urls.abs_diff(there.urls) <= 512);
                let by_rate = Sizing::from_rate(kind, 1_000_000, there.rate * 1.000_1).unwrap();
                assert!((by_rate.bits_per_url() / bits_per_url - 1.0).abs() < 0.002, "{by_rate:?} {there:?}");
            }
        }
    }

    #[test]
    fn ten_million_urls_at_ten_bits_take_12_5_mb() {
        let sizing = Sizing::from_bits_per_url(FilterKind::Blocked, 10_000_000, 10.0).unwrap();
        assert_eq!(sizing.bytes(), 12_500_032);
        assert_eq!(sizing.hashes, 6);
        assert!((sizing.rate - 0.009_75).abs() < 0.000_1);
        assert_eq!(sizing.note(), None);
        assert!(sizing.rate_at(20_000_000) > 5.0 * sizing.rate);
        assert!((0.44..0.46).contains(&sizing.design_fill()));
    }

    #[test]
    fn beyond_sixteen_bits_the_classic_filter_is_suggested() {
        let at = |kind, bits| Sizing::from_bits_per_url(kind, 100_000, bits).unwrap().note().is_some();
        assert!(
            !at(FilterKind::Blocked, 16.0) && at(FilterKind::Blocked, 16.5) && !at(FilterKind::Classic, 24.0)
        );
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        for kind in KINDS {
            for bits in [0.0, -1.0, f64::NAN, f64::INFINITY, 65.0] {
                assert!(matches!(Sizing::from_bits_per_url(kind, 10, bits), Err(SizingError::BitsPerUrl(_))));
            }
            for rate in [0.0, 1.0, -0.1, f64::NAN] {
                assert!(matches!(Sizing::from_rate(kind, 10, rate), Err(SizingError::Rate(_))));
            }
            assert_eq!(Sizing::from_bits_per_url(kind, 0, 10.0), Err(SizingError::NoUrls));
            assert!(matches!(
                Sizing::from_bits_per_url(kind, u64::MAX, 10.0),
                Err(SizingError::TooLarge { .. })
            ));
            assert_eq!(Sizing::from_memory(kind, 3, 10.0), Err(SizingError::NoMemory(3)));
            assert!(Sizing::from_memory(kind, u64::MAX, 10.0).unwrap().bits <= MOST_BITS);
        }
        assert!(matches!(
            Sizing::from_rate(FilterKind::Blocked, 10, 1e-12),
            Err(SizingError::RateUnreachable { .. })
        ));
    }
}
