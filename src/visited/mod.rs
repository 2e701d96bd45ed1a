//! Which URLs were seen: filter, exact keys and what stands between them.

mod blocked;
mod classic;
mod filter;
mod memory;
pub mod rates;
mod simd;
mod sizing;

pub use blocked::BlockedFilter;
pub use classic::ClassicFilter;
pub use filter::{Filter, RateEstimate, build};
pub use memory::{LINE_BYTES, Line, Lines};
pub use simd::InstructionSet;
pub use sizing::{MOST_BITS, MOST_BITS_PER_URL, Sizing, SizingError, bits_for_rate};
