//! Which URLs were seen: the filter, the exact keys and the set made of them.
//!
//! Owns every decision between "new", "repeat" and "doubt", the doubts until they are
//! decided, the arithmetic of filters and the report on their health. Decides by 64-bit keys
//! only: what a URL is, who asks, and what becomes of a candidate is none of its business.
//!
//! ```text
//!  keys ─▶ filter ──certainly new──▶ New
//!             │ maybe
//!             ▼
//!          key table ──holds it──▶ Repeat
//!             │ does not
//!             ├── it is complete ──▶ New (the filter was wrong, and is put right)
//!             └── it is not ──▶ Doubt ──settle, in bulk──▶ exact keys decide
//! ```
//!
//! [`Visited`] is the front; [`Sizing`] the arithmetic; [`Health`] the report. The
//! reasons and formulas are in `docs/FILTER.md`.

mod blocked;
mod classic;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod crash_tests;
mod doubts;
mod durable;
mod exact;
mod filter;
mod fuse;
mod glimpse;
mod health;
mod known;
mod memory;
mod pace;
pub mod rates;
mod runs;
mod set;
mod settling;
mod shelf;
mod simd;
mod sizing;
mod table;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod verdicts;

pub use blocked::BlockedFilter;
pub use classic::ClassicFilter;
pub use doubts::{Doubts, Rescued};
pub use durable::DiskSettings;
pub use exact::{ExactError, ExactKeys, LookupCost, MemoryKeys};
pub use filter::{Filter, RateEstimate, build};
pub use fuse::{FuseBuilder, FuseFilter, fuse_bytes, stretch_within};
pub use glimpse::{Glimpse, verify_state};
pub use health::{Crossing, Health, OVERFULL, Verdict};
pub use known::{KnownKeys, KnownSettings};
pub use memory::{LINE_BYTES, Line, Lines};
pub use pace::{BLOCK, DOUBT, Due, Otherwise, Pace, worth_settling};
pub use runs::{DiskKeys, DiskKeysSettings, KeySorter, SortedKeys, SortedSet};
pub use set::{Answer, Counters, GrowError, Visited, VisitedSettings};
pub use settling::{Settling, Slice};
pub use shelf::{Place, RestoreError};
pub use simd::InstructionSet;
pub use sizing::{BLOCKED_PAYS_TO, MOST_BITS, MOST_BITS_PER_URL, Sizing, SizingError, bits_for_rate};
pub use table::{Inserted, KeyTable};
