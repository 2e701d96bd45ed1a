//! What a crawl counts, and the form in which it is told.

mod counters;
mod examples;
mod snapshot;

pub use counters::{Counters, SkipCounts};
pub use examples::Examples;
pub use snapshot::{Bytes, EndReason, FilterState, Memory, Notes, Pages, Requests, Snapshot, Summary, Urls};
