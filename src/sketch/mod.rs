//! Sketches: small summaries, bounded in memory, of what is too much to keep.
//!
//! What is decided by them must not cost a page: [`HeavyHitters`] and [`Faces`] never count
//! too much, [`SeenOnce`] never takes what it has seen for new. [`SimHasher`] makes of a page's
//! text a fingerprint that changes little where the text does, and [`Fingerprint`] one of what does
//! not repeat over a place; [`near_pairs`] finds which of many are near to each other.
//!
//! Others answer a question about a whole crawl, with bounds: how many different things there were ([`Distinct`]),
//! how much two crawls have in common ([`Overlap`]), what was frequent ([`Frequent`], [`FrequentKeys`]), how often
//! this one was met ([`CountMin`]) and how much more often than before ([`CountSketch`]), and what most numbers do
//! not exceed ([`Quantiles`]). They take [`fingerprint`]s, the same in every crawl, so that those of
//! several crawls can be merged and compared; [`mod@file`] writes them down.
//!
//! The module must not know of URLs, hosts or pages, nor what a count leads to.

mod blocks;
#[cfg(test)]
mod blocks_tests;
mod count_min;
mod count_sketch;
mod distinct;
mod estimate;
mod faces;
pub mod file;
mod frequent;
mod heavy;
mod letters;
mod near;
mod overlap;
mod quantiles;
mod repeated;
mod rows;
mod seen;
mod simhash;
#[cfg(test)]
mod tests;

pub use blocks::{Block, MOST_BLOCKS, decode_blocks, encode_blocks};
pub use count_min::{CountEstimate, CountMin, Update};
pub use count_sketch::CountSketch;
pub use distinct::Distinct;
pub use estimate::{Estimate, MergeError, fingerprint};
pub use faces::{Faces, NEAR};
pub use frequent::{Frequent, FrequentItem, FrequentKey, FrequentKeys, MOST_TEXT, MOST_TEXTS};
pub use heavy::HeavyHitters;
pub use near::{Groups, MOST_DISTANCE, SEARCH_BYTES, near_pairs};
pub use overlap::{Comparison, Overlap};
pub use quantiles::Quantiles;
pub use repeated::{BlockCounter, Fingerprint, MOST_PLACES, REPEATED_LEAST, RepeatedBlocks, counting_step};
pub use seen::SeenOnce;
pub use simhash::{LEAST_WORDS, SimHasher, TEXT_BYTES, distance};
