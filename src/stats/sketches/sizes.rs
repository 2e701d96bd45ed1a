//! How large the sketches of a crawl are made: their parameters, by the memory there is.

use crate::budget::{SketchBytes, least_count_error};

/// The parameters of the sketches of one crawl.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SketchSizes {
    /// HyperLogLog registers, as a power of two.
    pub distinct_lg_k: u8,
    /// Hashes that a Theta sketch retains, as a power of two.
    pub overlap_lg_k: u8,
    /// Items of a table of what is frequent …
    pub frequent_items: usize,
    /// … and of one of what there is less of: domains and parameters.
    pub frequent_few: usize,
    /// The same of the targets of links.
    pub frequent_targets: usize,
    /// How finely a t-digest divides.
    pub compression: u16,
    /// Counters in a row of a Count-Sketch.
    pub change_width: usize,
    /// How far a count of links may be off, as a part of all links …
    pub count_error: f64,
    /// … but for so many of all counts.
    pub count_risk: f64,
}

impl SketchSizes {
    /// What fits into so many bytes: the usual sizes or the least ones.
    pub fn within(bytes: u64, count_error: f64, count_risk: f64) -> Self {
        if bytes >= SketchBytes::of(count_error, count_risk).usual {
            return Self {
                distinct_lg_k: 14,
                overlap_lg_k: 14,
                frequent_items: 128,
                frequent_few: 64,
                frequent_targets: 256,
                compression: 200,
                change_width: 1024,
                count_error,
                count_risk,
            };
        }
        Self {
            distinct_lg_k: 10,
            overlap_lg_k: 9,
            frequent_items: 16,
            frequent_few: 8,
            frequent_targets: 16,
            compression: 20,
            change_width: 64,
            count_error: least_count_error(count_error),
            count_risk,
        }
    }
}
