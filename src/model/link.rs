//! Candidates, and the links of a page.

use std::borrow::Cow;
use std::sync::Arc;

use super::{SkipReason, UrlHashes, UrlKey};

/// How a URL was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// Given by the user.
    Seed,
    /// An element that a reader can follow: `a`, `area`.
    Link,
    /// A `frame` or `iframe`.
    Frame,
    /// A `link` element with `rel` next, prev or alternate.
    Rel,
    /// A `meta` refresh.
    Refresh,
    /// The `Location` of a redirect.
    Redirect,
    /// Something that a page embeds: an image, a script, a style sheet.
    Resource,
    /// A sitemap, named by robots.txt, by the user or by another sitemap.
    SitemapFile,
    /// An entry of a sitemap.
    Sitemap,
    /// What a page's `rel=canonical` names.
    Canonical,
}

impl Via {
    /// Every way. Only ever appended to, for their places stand in files.
    pub const ALL: [Via; 10] = [
        Via::Seed,
        Via::Link,
        Via::Frame,
        Via::Rel,
        Via::Refresh,
        Via::Redirect,
        Via::Resource,
        Via::SitemapFile,
        Via::Sitemap,
        Via::Canonical,
    ];
}

/// A URL that may be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What is requested: the WHATWG serialization of the URL as written, without fragment and userinfo.
    pub url: Box<str>,
    /// Bytes of `url` that are its origin: `scheme://host[:port]`.
    pub origin_length: u16,
    /// The key of its canonical form.
    pub key: UrlKey,
    /// Links followed from a seed; redirects add none.
    pub depth: u32,
    /// How it was found.
    pub via: Via,
    /// Redirects that led here, one after another; to a sitemap, other sitemaps among them.
    pub hops: u32,
    /// It is a seed, or what a seed redirected to: its redirects move the scope along.
    pub carries_scope: bool,
    /// The page it was found on.
    pub referrer: Option<Arc<str>>,
}

impl Candidate {
    /// `scheme://host[:port]`, the unit that robots.txt speaks for.
    pub fn origin(&self) -> &str {
        &self.url[..usize::from(self.origin_length)]
    }
}

/// The links of one page: their text in one buffer, so that a page costs two
/// allocations and not one per link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkBatch {
    /// The URLs, one after another.
    pub text: String,
    /// Where each stands in `text`, and what is known of it. No key twice, but for the 0 of
    /// links that are not usable.
    pub links: Vec<Link>,
    /// Links to a URL that stands in the batch already.
    pub repeats: u64,
    /// Links that are not kept: past the limits of one page.
    pub dropped: u64,
}

/// One link of a [`LinkBatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// First byte in the batch's text.
    pub start: u32,
    /// Bytes.
    pub length: u32,
    /// Bytes of the URL that are its origin; 0 where the URL is not usable.
    pub origin_length: u16,
    /// The key of its canonical form.
    pub key: UrlKey,
    /// The fingerprint of its canonical form; 0 where the URL is not usable.
    pub fingerprint: u64,
    /// How it was found.
    pub via: Via,
    /// Why it is not to be queued, where it is not.
    pub skip: Option<SkipReason>,
    /// Who asked that it be not followed, where somebody did.
    pub nofollow: Option<Nofollow>,
}

impl Link {
    /// Both hashes of its canonical form.
    pub fn hashes(&self) -> UrlHashes {
        UrlHashes { key: self.key, fingerprint: self.fingerprint }
    }
}

impl LinkBatch {
    /// Bytes of text at most, so that a page whose short references resolve to long URLs
    /// stays bounded; a place in the text fits in 32 bits.
    pub const MAX_TEXT: usize = 16 << 20;
    /// Bytes kept of a URL that can never be requested: enough to recognize it by.
    pub const MAX_UNUSABLE: usize = 256;

    /// Adds a link; whether there was room for it. One without room is counted as dropped.
    ///
    /// Of a URL that is refused for what it is (unparsable, of another scheme, too long) only
    /// the beginning is kept, and an ellipsis.
    pub fn push(
        &mut self,
        url: &str,
        origin_length: u16,
        hashes: UrlHashes,
        via: Via,
        skip: Option<SkipReason>,
    ) -> bool {
        let (url, origin_length) = match skip {
            Some(SkipReason::BadUrl | SkipReason::OtherScheme | SkipReason::UrlTooLong) => (shown(url), 0),
            _ => (Cow::Borrowed(url), origin_length),
        };
        let place = (u32::try_from(self.text.len()), u32::try_from(url.len()));
        let (Ok(start), Ok(length)) = place else {
            self.dropped += 1;
            return false;
        };
        if url.len() > Self::MAX_TEXT.saturating_sub(self.text.len()) {
            self.dropped += 1;
            return false;
        }
        self.text.push_str(&url);
        let UrlHashes { key, fingerprint } = hashes;
        self.links.push(Link { start, length, origin_length, key, fingerprint, via, skip, nofollow: None });
        true
    }

    /// The URL of a link.
    pub fn url(&self, link: &Link) -> &str {
        let start = link.start as usize;
        self.text.get(start..start.saturating_add(link.length as usize)).unwrap_or_default()
    }
}

/// What is kept of a URL that can never be requested.
fn shown(url: &str) -> Cow<'_, str> {
    if url.len() <= LinkBatch::MAX_UNUSABLE {
        return Cow::Borrowed(url);
    }
    let end = (0..=LinkBatch::MAX_UNUSABLE).rev().find(|end| url.is_char_boundary(*end)).unwrap_or(0);
    Cow::Owned(format!("{}…", &url[..end]))
}

/// Who asked that links be not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nofollow {
    /// The link itself, by its `rel`.
    Link,
    /// The page, by a `meta` element for robots.
    Meta,
    /// The answer, by its `X-Robots-Tag`.
    Header,
}

impl Nofollow {
    /// What is shown beside a link that was not followed.
    pub fn describe(self) -> &'static str {
        match self {
            Nofollow::Link => "the link's rel=nofollow",
            Nofollow::Meta => "the page's meta robots",
            Nofollow::Header => "the answer's X-Robots-Tag",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_that_cannot_be_used_the_beginning_is_kept() {
        for reason in [SkipReason::BadUrl, SkipReason::OtherScheme, SkipReason::UrlTooLong] {
            let mut batch = LinkBatch::default();
            assert!(batch.push(&"é".repeat(60_000), 9, UrlHashes::NONE, Via::Link, Some(reason)));
            assert!(batch.push("mailto:a", 0, UrlHashes::NONE, Via::Link, Some(reason)));
            let urls: Vec<&str> = batch.links.iter().map(|link| batch.url(link)).collect();
            assert_eq!(urls, [format!("{}…", "é".repeat(128)).as_str(), "mailto:a"]);
            assert_eq!(batch.links[0].origin_length, 0);
        }
    }

    #[test]
    fn a_batch_has_a_bound_and_counts_what_is_beyond() {
        let mut batch = LinkBatch::default();
        let url = "x".repeat(1 << 20);
        let kept = (0..20)
            .filter(|_| batch.push(&url, 0, UrlHashes::NONE, Via::Link, Some(SkipReason::OutOfScope)))
            .count();
        assert_eq!((kept, batch.links.len(), batch.dropped), (16, 16, 4));
        assert_eq!(batch.text.len(), LinkBatch::MAX_TEXT);
        assert!(batch.links.iter().all(|link| batch.url(link) == url));
    }

    #[test]
    fn a_link_of_another_batch_has_no_url() {
        let link = Link {
            start: u32::MAX,
            length: u32::MAX,
            origin_length: 0,
            key: 0,
            fingerprint: 0,
            via: Via::Link,
            skip: None,
            nofollow: None,
        };
        assert_eq!(LinkBatch::default().url(&link), "");
    }
}
