//! What the sketches of a crawl take: all of them of the usual size, or of the least.

/// Bytes of all sketches of the usual size, but for the counts of links.
const USUAL: u64 = 400 << 10;
/// Bytes of those of the least size, but for the counts of links.
const LEAST: u64 = 44 << 10;

/// The part of all links that a count of links may be off by where memory is short, unless more is allowed.
const LEAST_COUNT_ERROR: f64 = 5e-3;

/// What sketches take, in bytes; there is nothing between the two sizes, so that crawls can be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchBytes {
    /// Those of the least size.
    pub least: u64,
    /// Those of the usual size.
    pub usual: u64,
}

impl SketchBytes {
    /// With counts of links that are off by more than `count_error` of all links for no more than `count_risk` of
    /// all URLs.
    pub fn of(count_error: f64, count_risk: f64) -> Self {
        Self {
            least: LEAST.saturating_add(link_count_bytes(least_count_error(count_error), count_risk)),
            usual: USUAL.saturating_add(link_count_bytes(count_error, count_risk)),
        }
    }
}

/// The error of counts of links among sketches of the least size.
pub fn least_count_error(count_error: f64) -> f64 {
    count_error.max(LEAST_COUNT_ERROR)
}

/// Counters of such counts at most.
pub const MOST_LINK_COUNTERS: u64 = 1 << 22;

/// Counters in a row, and rows, of a Count-Min sketch (Cormode and Muthukrishnan 2005).
pub fn link_count_shape(count_error: f64, count_risk: f64) -> (usize, usize) {
    let width = (std::f64::consts::E / count_error).ceil() as usize;
    let depth = (1.0 / count_risk).ln().ceil().max(1.0) as usize;
    (width, depth)
}

/// All counters of such a sketch.
pub fn link_counters(count_error: f64, count_risk: f64) -> u64 {
    let (width, depth) = link_count_shape(count_error, count_risk);
    (width as u64).saturating_mul(depth as u64)
}

/// Bytes of counters of 32 bits.
fn link_count_bytes(count_error: f64, count_risk: f64) -> u64 {
    4 * link_counters(count_error, count_risk)
}
