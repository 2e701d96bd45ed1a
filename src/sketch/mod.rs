//! Sketches: small summaries, bounded in memory, of what is too much to keep.
//!
//! What is decided by them must not cost a page: [`HeavyHitters`] and [`Faces`] never count
//! too much, [`SeenOnce`] never takes what it has seen for new. [`SimHasher`] makes of a page's
//! text a fingerprint that changes little where the text does.
//!
//! The module must not know of URLs, hosts or pages, nor what a count leads to.

mod faces;
mod heavy;
mod letters;
mod seen;
mod simhash;
#[cfg(test)]
mod tests;

pub use faces::{Faces, NEAR};
pub use heavy::HeavyHitters;
pub use seen::SeenOnce;
pub use simhash::{LEAST_WORDS, SimHasher, TEXT_BYTES, distance};
