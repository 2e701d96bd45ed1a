//! Where a crawl's results go: the crawl directory, its line files, and the user's own sinks.
//!
//! Knows records and bytes, nothing of how they came about.

mod configuration;
mod directory;
mod files;
mod lines;

use std::io;

pub use configuration::check_configuration;
pub use directory::{CrawlDirectory, DirectoryError, holds_crawl, is_complete};
pub use files::{RecoveringFiles, ResultFile, ResultFiles};
pub use lines::{LineFile, encode_line, pretty_json};

use crate::model::{Record, SkipReason, Via};

/// One finished page, as given to a [`Sink`].
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// What happened.
    pub record: &'a Record,
    /// The record as one line of JSON, newline included.
    pub line: &'a [u8],
    /// The decoded body, where a sink asked for bodies and there is one.
    pub body: Option<&'a [u8]>,
}

/// One URL that is not fetched, as given to a [`Sink`].
#[derive(Debug, Clone, serde::Serialize)]
pub struct Skipped<'a> {
    /// The URL as it would have been requested, or as written where it is not usable.
    pub url: &'a str,
    /// Why.
    pub reason: SkipReason,
    /// The rule, robots line or cap that decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'a str>,
    /// How it was found.
    pub via: Via,
    /// Links followed from a seed.
    pub depth: u32,
    /// The page it was found on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer: Option<&'a str>,
}

/// Takes what a crawl produces, one page at a time, in the order of completion.
///
/// An error ends the crawl at its last good state.
pub trait Sink: Send {
    /// A page is done.
    fn page(&mut self, page: &Page<'_>) -> io::Result<()>;

    /// A URL is not fetched; called only where skipped URLs are logged.
    fn skipped(&mut self, _skipped: &Skipped<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Everything given so far should reach the system.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether this sink wants decoded bodies, which are then held in memory up to `--max-body`.
    fn wants_bodies(&self) -> bool {
        false
    }
}
