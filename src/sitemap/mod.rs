//! Sitemaps: from the bytes of one to the URLs it names.
//!
//! Owns the forms that the protocol (<https://www.sitemaps.org/protocol.html>) allows, which are
//! a list of URLs in XML, an index of sitemaps, a text with one URL a line, RSS and Atom, in any
//! encoding; how little of them must be right for something to come out; and the bounds of memory
//! of all that. Must not know where a sitemap came from, nor what becomes of a URL: resolving, scope
//! and limits are the caller's.
//!
//! ```text
//! bytes ─▶ decode ─▶ form? ─┬─▶ markup (tags, text) ─▶ document (entries) ─┬─▶ Entry
//!                           └─▶ lines ──────────────────────────────────────┘
//! ```
//!
//! Everything is pushed through as it arrives. No document type is read, so no entity but the five
//! of XML is known and nothing outside the sitemap is ever opened. Where XML breaks, what stood
//! before counts; where it can be guessed how it was meant, reading goes on, and the report says that
//! it was broken.

mod decode;
mod document;
mod document_type;
mod elements;
mod lines;
mod markup;
mod namespaces;
mod reader;
mod references;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]
mod tests;

pub use reader::{Report, SitemapReader};

/// Entries that the protocol allows one sitemap to have.
pub const MOST_ENTRIES: u64 = 50_000;
/// Bytes that the protocol allows one sitemap to have, not compressed.
pub const MOST_BYTES: u64 = 50 << 20;

/// Bytes of a tag, of a text of interest, or of a line at most.
const LONGEST: usize = 64 << 10;

/// What a sitemap is, by its content alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `urlset`: pages.
    Pages,
    /// `sitemapindex`: sitemaps.
    Index,
    /// RSS or Atom: pages.
    Feed,
    /// One URL a line.
    Text,
}

/// One URL that a sitemap names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The URL as written, character references decoded and white space around it gone.
    pub url: &'a str,
    /// Whether that can be a URL at all: not where it was cut off, where bytes of it were not of
    /// the sitemap's encoding, where elements stand in it, or entities that nobody knows.
    pub usable: bool,
    /// Whether it names a sitemap and not a page.
    pub is_sitemap: bool,
    /// The last second, since 1970, at which the page may have been changed last, where that is said.
    pub last_modified: Option<i64>,
}

/// The entries read and not yet taken, their texts in one buffer.
#[derive(Debug, Default)]
struct Found {
    text: String,
    entries: Vec<Place>,
    count: u64,
}

/// One entry of [`Found`]; its URL ends here and begins where the one before ends.
#[derive(Debug)]
struct Place {
    end: usize,
    usable: bool,
    is_sitemap: bool,
    last_modified: Option<i64>,
}

impl Found {
    fn push(&mut self, url: &str, usable: bool, is_sitemap: bool, last_modified: Option<i64>) {
        self.text.push_str(url);
        // what is not of the encoding was decoded to this
        let usable = usable && !url.contains('\u{fffd}');
        self.entries.push(Place { end: self.text.len(), usable, is_sitemap, last_modified });
        self.count += 1;
    }

    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |place| {
            let url = &self.text[start..place.end];
            start = place.end;
            let Place { usable, is_sitemap, last_modified, .. } = *place;
            Entry { url, usable, is_sitemap, last_modified }
        })
    }

    fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
    }

    fn held_bytes(&self) -> usize {
        self.text.capacity() + self.entries.capacity() * size_of::<Place>()
    }
}
