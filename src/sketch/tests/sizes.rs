//! How large the tests of accuracy are, and the numbers that they feed to the sketches.
//!
//! All are drawn with fixed seeds, so that a test says the same each time. The bounds of the small sizes are those
//! of the full ones, and beside them what chance adds where there are fewer trials.

use std::io::Write as _;

/// Whether the tests are to run at their full sizes.
pub(super) fn is_full() -> bool {
    std::env::var("DRAGLINE_FULL_SIZES").is_ok_and(|value| value == "1")
}

/// The full size, if it is wanted.
pub(super) fn size<Size>(full: Size, small: Size) -> Size {
    if is_full() { full } else { small }
}

/// A line of figures for whoever runs the full sizes; not `println!`, which the test harness keeps to itself.
pub(super) fn tell(line: &str) {
    if is_full() {
        let _best_effort = writeln!(std::io::stderr(), "\n{line}");
    }
}

/// Numbers that look random (S. Vigna, SplitMix64, 2015).
#[derive(Debug, Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    /// One for each trial of each test.
    pub(super) fn of(test: &str, trial: u64) -> Self {
        Self(crate::sketch::fingerprint(&format!("{test} {trial}")))
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below a bound.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// Between 0 and 1, neither of them.
    pub(super) fn share(&mut self) -> f64 {
        ((self.number() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// As the normal distribution has it (G. Box and M. Muller, 1958).
    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Ranks from 1 on, rank *r* with a chance proportional to *r*^-exponent. Source: W. Hörmann and G. Derflinger,
/// Rejection-Inversion to Generate Variates from Monotone Discrete Distributions (1996).
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    items: f64,
    exponent: f64,
    from: f64,
    to: f64,
}

impl Zipf {
    pub(super) fn new(items: u64, exponent: f64) -> Self {
        let mut zipf = Self { items: items as f64, exponent, from: 0.0, to: 0.0 };
        (zipf.from, zipf.to) = (zipf.area(1.5) - 1.0, zipf.area(zipf.items + 0.5));
        zipf
    }

    /// Under the curve, up to a rank.
    fn area(&self, rank: f64) -> f64 {
        (rank.powf(1.0 - self.exponent) - 1.0) / (1.0 - self.exponent)
    }

    fn rank_at(&self, area: f64) -> f64 {
        (1.0 + area * (1.0 - self.exponent)).powf(1.0 / (1.0 - self.exponent))
    }

    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.from + random.share() * (self.to - self.from);
            let rank = self.rank_at(area).round().clamp(1.0, self.items);
            if area >= self.area(rank + 0.5) - rank.powf(-self.exponent) {
                return rank as u64;
            }
        }
    }
}

/// What many estimates were off by, as shares of the truth.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Errors {
    trials: u64,
    sum: f64,
    squares: f64,
}

impl Errors {
    pub(super) fn add(&mut self, estimate: f64, truth: f64) {
        let error = estimate / truth - 1.0;
        self.trials += 1;
        self.sum += error;
        self.squares += error * error;
    }

    /// The root of the mean square.
    pub(super) fn rms(&self) -> f64 {
        (self.squares / self.trials as f64).sqrt()
    }

    /// The mean, without its sign.
    pub(super) fn bias(&self) -> f64 {
        (self.sum / self.trials as f64).abs()
    }

    /// By how much a bound on the root of the mean square is to be wider for so few trials, as a factor: three standard
    /// deviations of it, if errors are normal. 1 at the full size.
    pub(super) fn slack(&self) -> f64 {
        size(1.0, 1.0 + 3.0 / (2.0 * self.trials as f64).sqrt())
    }

    /// What chance adds to the bias, to be added to a bound on it. 0 at the full size.
    pub(super) fn chance(&self, deviation: f64) -> f64 {
        size(0.0, 3.0 * deviation / (self.trials as f64).sqrt())
    }
}
