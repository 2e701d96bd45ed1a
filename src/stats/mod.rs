//! What a crawl counts, and the form in which it is told.

mod counters;
mod examples;
mod sketches;
mod snapshot;

pub use counters::{Counters, SkipCounts};
pub use examples::Examples;
pub use sketches::{
    CrawlPart, CrawlSketches, Distincts, Frequency, HostChange, KeptSketches, KeptSketchesError, LinkCounts,
    MostFrequent, ObservedLinks, Portrait, SketchSizes, Spread, Spreads, encode as encode_sketches,
};
pub use snapshot::{Bytes, EndReason, FilterState, Memory, Notes, Pages, Requests, Snapshot, Summary, Urls};
