//! What a crawl counts, and the form in which it is told.

mod snapshot;

pub use snapshot::{Bytes, EndReason, FilterHealth, FilterState, Memory, Pages, Snapshot, Summary, Urls};
