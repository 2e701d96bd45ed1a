//! What a page says: its links, base, title, canonical URL and rules for robots, read as it arrives.
//!
//! [`PageReader`] takes the bytes of a body (content coding removed) in pieces of any
//! size and holds back only what it needs to tell the charset. Links are kept as
//! written, character references decoded; resolving them is the caller's part, with
//! [`Extracted::base_url`]. Memory is bounded whatever comes: see [`ExtractLimits`].
//!
//! It must not know the frontier, scopes, or how a URL is made canonical.
//!
//! Decisions that are not the HTML standard's:
//! - A `frame` counts wherever it stands, and so do links in a page that has a
//!   `frameset`: a browser would ignore them, but a crawler had better miss none.
//! - `noscript` is markup; `template` is inert; `noframes`, `noembed` and the content
//!   of `iframe` are text.
//! - XHTML is read by the same tokenizer, so that a mistake in it does not lose the rest
//!   of the page; there `/>` closes any element (`<script/>`) and CDATA sections may
//!   stand anywhere.
//! - What a page embeds ([`Via::Resource`](crate::model::Via::Resource)) is left alone unless it is
//!   asked for. What style sheets name by `url()` is never found, for nothing here reads them; of
//!   what scripts would load nothing is known. `data:` URLs are part of the page already.
//! - The `background` of a table's cell counts wherever the cell stands.
//! - Of `rel`, `next`, `prev` (`previous`) and `alternate` of `link` count as links, unless
//!   for a style sheet; `nofollow` marks a link, `ugc` and `sponsored` do not.

mod character_references;
mod charset;
mod collect;
mod directives;
mod links;
mod mime;
mod reader;
#[doc(hidden)]
pub mod reference;
mod refresh;
mod srcset;
#[cfg(test)]
mod tests;
mod text;
mod tokenizer;

pub use links::{ExtractLimits, Reference};
pub use mime::is_html;
pub use reader::{PageContext, PageReader};
pub use text::{NoText, TextSink};

use ::url::Url;
use encoding_rs::Encoding;

use crate::model::Nofollow;

/// What one page says.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// The body was taken for HTML or XHTML; where not, nothing was read from it.
    pub is_html: bool,
    /// The encoding it was read in. A link's query is sent in its output encoding.
    pub encoding: &'static Encoding,
    /// Every link once, in the order of first appearance.
    pub references: Vec<Reference>,
    /// The text of all links, which the references point into: as written, character
    /// references decoded, white space kept, fragments cut unless they are wanted.
    pub text: String,
    /// The `href` of the first `base` that has one. It applies to all links, earlier ones too.
    pub base: Option<String>,
    /// The first title: white space collapsed, 512 bytes at most.
    pub title: Option<String>,
    /// The `href` of the first `link rel=canonical`.
    pub rel_canonical: Option<String>,
    /// Who asks, the page or its header, that none of its links be followed.
    pub page_nofollow: Option<Nofollow>,
    /// Links past the limits.
    pub links_dropped: u64,
    /// Links equal to an earlier one (same text, kind of element and `nofollow`), the sum of all `repeats`.
    pub repeated_references: u64,
}

impl Extracted {
    /// The text of a link.
    ///
    /// A reference of another page yields the empty string or other text, never a panic.
    pub fn text_of(&self, reference: &Reference) -> &str {
        let start = reference.start as usize;
        self.text.get(start..start + reference.length as usize).unwrap_or_default()
    }

    /// Every link with its text.
    pub fn links(&self) -> impl Iterator<Item = (&Reference, &str)> {
        self.references.iter().map(|reference| (reference, self.text_of(reference)))
    }

    /// Bytes that its links take.
    pub fn held_bytes(&self) -> usize {
        self.text.capacity() + self.references.capacity() * size_of::<Reference>()
    }

    /// Links found on the page, before any was folded or dropped.
    pub fn links_found(&self) -> u64 {
        self.references.len() as u64 + self.repeated_references + self.links_dropped
    }

    /// What the page's links are relative to.
    ///
    /// The page's own URL, where there is no `base`, or one that does not parse or is a
    /// `data:` or `javascript:` URL (HTML standard 4.2.3, "set the frozen base URL").
    pub fn base_url(&self, page_url: &Url) -> Url {
        self.base
            .as_deref()
            .and_then(|base| Url::options().base_url(Some(page_url)).parse(base).ok())
            .filter(|base| !matches!(base.scheme(), "data" | "javascript"))
            .unwrap_or_else(|| page_url.clone())
    }
}
