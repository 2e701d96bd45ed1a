//! Dragline crawls the web from a list of seed URLs inside one memory budget.
//!
//! Layers, lowest first; a module imports downwards only, and modules of one
//! row do not import each other (a test reads the sources and holds them to it):
//!
//! | row | modules |
//! |---|---|
//! | 6 | [`report`] |
//! | 5 | [`engine`] |
//! | 4 | [`frontier`], [`fetch`], [`sink`], [`stats`], [`site`] |
//! | 3 | [`visited`], [`robots`], [`scope`], [`extract`], [`sitemap`], [`sketch`] |
//! | 2 | [`store`] |
//! | 1 | [`url`], [`model`], [`config`] |
//! | 0 | [`budget`], [`cache`], [`human`] |
pub mod budget;
pub mod cache;
pub mod config;
pub mod engine;
pub mod extract;
pub mod fetch;
pub mod frontier;
pub mod human;
pub mod model;
pub mod report;
pub mod robots;
pub mod scope;
pub mod sink;
pub mod site;
pub mod sitemap;
pub mod sketch;
pub mod stats;
pub mod store;
pub mod url;
pub mod visited;

/// The README, whose examples are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub use config::Options;
pub use engine::{Crawl, CrawlBuilder, CrawlError, Event, Observer, SetupError, Silent, StopHandle, Urgency};
pub use sink::{Page, Sink, Skipped};
pub use stats::{EndReason, Snapshot, Summary};
