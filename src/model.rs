//! The plain data that flows through a crawl: candidate, links of a page, record.
//!
//! No behaviour beyond construction, so that every layer can share it.

use std::borrow::Cow;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// The 64-bit XXH3 of a canonical URL under the crawl's secret.
pub type UrlKey = u64;

/// For maps and sets of keys.
pub type KeyHash = BuildHasherDefault<KeyHasher>;

/// Takes a number for its own hash: keys and fingerprints are hashes already.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

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
    /// How it was found.
    pub via: Via,
    /// Why it is not to be queued, where it is not.
    pub skip: Option<SkipReason>,
    /// Who asked that it be not followed, where somebody did.
    pub nofollow: Option<Nofollow>,
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
        key: UrlKey,
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
        self.links.push(Link { start, length, origin_length, key, via, skip, nofollow: None });
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

/// Why a URL was not fetched. The name is what files and summaries show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It could not be parsed as a URL.
    BadUrl,
    /// Its scheme is not http or https.
    OtherScheme,
    /// Longer than `--max-url-length`.
    UrlTooLong,
    /// Outside the scope of the crawl.
    OutOfScope,
    /// No `--include` matches.
    NotIncluded,
    /// An `--exclude` matches.
    Excluded,
    /// Further from the seeds than `--depth`.
    TooDeep,
    /// The link, the page or its header said `nofollow`.
    Nofollow,
    /// Past the number or size of links that one page may have.
    TooManyLinks,
    /// Its address, or every address of its host, is private (`--allow-private`).
    PrivateAddress,
    /// robots.txt disallows it.
    RobotsDenied,
    /// robots.txt could not be read.
    RobotsUnreachable,
    /// Its host failed again and again and was given up.
    HostUnreachable,
    /// Its host has reached `--max-pages-per-host`.
    HostLimit,
    /// At the end of a chain of more than `--max-redirects` redirects.
    TooManyRedirects,
    /// Its path has more segments than `--max-path-depth`.
    PathTooDeep,
    /// One segment stands in its path more often than `--max-repeated-segments`.
    RepeatedSegments,
    /// One parameter stands in its query more often than `--max-repeated-parameters`.
    RepeatedParameters,
    /// Its path was met with more queries than `--max-query-variants`.
    QueryVariants,
    /// Its domain was met with more hosts than `--max-subdomains`.
    TooManySubdomains,
    /// In a branch of a host that was found to be a trap (`--stop-traps`).
    Trap,
    /// Linked from a page that names another one as canonical (`--canonical`).
    NotCanonical,
    /// Its sitemap says that it has not changed since `--sitemap-since`.
    SitemapStale,
}

impl SkipReason {
    /// Every reason, in the order of display. Only ever appended to, for their places stand in files.
    pub const ALL: [SkipReason; 23] = [
        SkipReason::BadUrl,
        SkipReason::OtherScheme,
        SkipReason::UrlTooLong,
        SkipReason::OutOfScope,
        SkipReason::NotIncluded,
        SkipReason::Excluded,
        SkipReason::TooDeep,
        SkipReason::Nofollow,
        SkipReason::TooManyLinks,
        SkipReason::PrivateAddress,
        SkipReason::RobotsDenied,
        SkipReason::RobotsUnreachable,
        SkipReason::HostUnreachable,
        SkipReason::HostLimit,
        SkipReason::TooManyRedirects,
        SkipReason::PathTooDeep,
        SkipReason::RepeatedSegments,
        SkipReason::RepeatedParameters,
        SkipReason::QueryVariants,
        SkipReason::TooManySubdomains,
        SkipReason::Trap,
        SkipReason::NotCanonical,
        SkipReason::SitemapStale,
    ];

    /// The name that files and summaries show.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::BadUrl => "bad_url",
            SkipReason::OtherScheme => "other_scheme",
            SkipReason::UrlTooLong => "url_too_long",
            SkipReason::OutOfScope => "out_of_scope",
            SkipReason::NotIncluded => "not_included",
            SkipReason::Excluded => "excluded",
            SkipReason::TooDeep => "too_deep",
            SkipReason::Nofollow => "nofollow",
            SkipReason::TooManyLinks => "too_many_links",
            SkipReason::PrivateAddress => "private_address",
            SkipReason::RobotsDenied => "robots_denied",
            SkipReason::RobotsUnreachable => "robots_unreachable",
            SkipReason::HostUnreachable => "host_unreachable",
            SkipReason::HostLimit => "host_limit",
            SkipReason::TooManyRedirects => "too_many_redirects",
            SkipReason::PathTooDeep => "path_too_deep",
            SkipReason::RepeatedSegments => "repeated_segments",
            SkipReason::RepeatedParameters => "repeated_parameters",
            SkipReason::QueryVariants => "query_variants",
            SkipReason::TooManySubdomains => "too_many_subdomains",
            SkipReason::Trap => "trap",
            SkipReason::NotCanonical => "not_canonical",
            SkipReason::SitemapStale => "sitemap_stale",
        }
    }
}

/// Who is to blame for a failed fetch, and so what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// This request may go better next time.
    Transient,
    /// Asking again would give the same.
    Permanent,
    /// The host as a whole is in trouble.
    Host,
}

/// What went wrong with a fetch. The name is what records and summaries show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The host name has no address.
    Dns,
    /// No connection could be made.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// A time limit passed.
    Timeout,
    /// The connection ended before any answer.
    Disconnected,
    /// The body ended before its declared end.
    Incomplete,
    /// What came back is not HTTP.
    Protocol,
    /// The answer's header is too large.
    HeaderTooLarge,
    /// The body cannot be decoded as its `Content-Encoding` says.
    Decode,
    /// A redirect without a usable `Location`.
    BadRedirect,
    /// A redirect to the very same request.
    RedirectLoop,
    /// More than `--max-redirects` redirects in one chain.
    TooManyRedirects,
    /// The proxy refused or failed.
    Proxy,
    /// The address guard refused an address after a request had been made.
    PrivateAddress,
    /// Its host was given up after this URL had been asked.
    HostUnreachable,
    /// The process died twice while this URL alone was in flight.
    Crashed,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// Every kind, in the order of declaration. Only ever appended to, for their places stand in files.
    pub const ALL: [ErrorKind; 17] = [
        ErrorKind::Dns,
        ErrorKind::Connect,
        ErrorKind::Tls,
        ErrorKind::Timeout,
        ErrorKind::Disconnected,
        ErrorKind::Incomplete,
        ErrorKind::Protocol,
        ErrorKind::HeaderTooLarge,
        ErrorKind::Decode,
        ErrorKind::BadRedirect,
        ErrorKind::RedirectLoop,
        ErrorKind::TooManyRedirects,
        ErrorKind::Proxy,
        ErrorKind::PrivateAddress,
        ErrorKind::HostUnreachable,
        ErrorKind::Crashed,
        ErrorKind::Other,
    ];

    /// The name that records and summaries show.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Dns => "dns",
            ErrorKind::Connect => "connect",
            ErrorKind::Tls => "tls",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Disconnected => "disconnected",
            ErrorKind::Incomplete => "incomplete",
            ErrorKind::Protocol => "protocol",
            ErrorKind::HeaderTooLarge => "header_too_large",
            ErrorKind::Decode => "decode",
            ErrorKind::BadRedirect => "bad_redirect",
            ErrorKind::RedirectLoop => "redirect_loop",
            ErrorKind::TooManyRedirects => "too_many_redirects",
            ErrorKind::Proxy => "proxy",
            ErrorKind::PrivateAddress => "private_address",
            ErrorKind::HostUnreachable => "host_unreachable",
            ErrorKind::Crashed => "crashed",
            ErrorKind::Other => "other",
        }
    }

    /// What waits after it.
    pub fn class(self) -> FailureClass {
        match self {
            ErrorKind::Timeout | ErrorKind::Disconnected | ErrorKind::Incomplete => FailureClass::Transient,
            ErrorKind::Dns | ErrorKind::Connect | ErrorKind::Proxy | ErrorKind::HostUnreachable => {
                FailureClass::Host
            }
            ErrorKind::Tls
            | ErrorKind::Protocol
            | ErrorKind::HeaderTooLarge
            | ErrorKind::Decode
            | ErrorKind::BadRedirect
            | ErrorKind::RedirectLoop
            | ErrorKind::TooManyRedirects
            | ErrorKind::PrivateAddress
            | ErrorKind::Crashed
            | ErrorKind::Other => FailureClass::Permanent,
        }
    }
}

/// What went wrong with a page, as written in its record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageError {
    /// The kind, for counting.
    pub kind: ErrorKind,
    /// What a person needs to know beyond that.
    pub detail: String,
}

/// Why a body was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// `--max-body` was reached, or as much of a redirect's body was read as is worth it.
    Length,
    /// The connection ended early.
    Disconnect,
    /// `--timeout` passed in the middle of the body, or a redirect's body was not worth the wait.
    Time,
}

/// The name of an encoding, as the Encoding Standard spells it.
pub type CharsetName = &'static str;

/// What was found out in reading a sitemap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SitemapNote {
    /// Entries, whatever became of them.
    pub entries: u64,
    /// It broke off, was cut, or is no sitemap.
    pub cut: bool,
    /// It has more entries or bytes than the protocol allows.
    pub too_large: bool,
}

/// One line of `pages.jsonl`: the outcome of one page, failures included.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Record {
    /// The URL as requested.
    pub url: String,
    /// Its canonical form, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The status code, where an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What went wrong, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<PageError>,
    /// Links followed from a seed.
    pub depth: u32,
    /// How it was found.
    pub via: Via,
    /// The page it was found on.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "shared_text",
        deserialize_with = "any_text"
    )]
    pub referrer: Option<Arc<str>>,
    /// Where it redirects to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_to: Option<String>,
    /// The `Content-Type` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The charset it was read in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "charset_name")]
    pub charset: Option<CharsetName>,
    /// Bytes of body received, as coded.
    pub wire_bytes: u64,
    /// Bytes of body after decoding.
    pub decoded_bytes: u64,
    /// Why the body was not read to its end, where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    /// The document's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the page's `rel=canonical` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rel_canonical: Option<String>,
    /// Links found on it, before any was dropped.
    pub links: u64,
    /// What was found out in reading it as a sitemap, where it was, by this request or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitemap: Option<SitemapNote>,
    /// The SimHash of its visible text, in hexadecimal (16 digits), where there is enough of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<String>,
    /// The XXH3-128 of the decoded body, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When the last attempt began, in RFC 3339 form (UTC).
    pub fetched_at: String,
    /// Time of the last attempt.
    pub elapsed_ms: u64,
    /// Requests made for it, its own redirects to itself included.
    pub attempts: u32,
}

#[allow(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn shared_text<S: serde::Serializer>(text: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => serializer.serialize_some(&**text),
        None => serializer.serialize_none(),
    }
}

fn any_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<str>>, D::Error> {
    Ok(<Option<String> as serde::Deserialize>::deserialize(deserializer)?.map(Arc::from))
}

/// The name of an encoding of the Encoding Standard; another is not taken over.
fn charset_name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'static str>, D::Error> {
    let name = <Option<String> as serde::Deserialize>::deserialize(deserializer)?;
    Ok(name
        .and_then(|name| encoding_rs::Encoding::for_label(name.as_bytes()))
        .map(encoding_rs::Encoding::name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_from_its_line() {
        let record = Record {
            url: "http://a.test/".into(),
            canonical: None,
            status: Some(503),
            error: Some(PageError { kind: ErrorKind::Incomplete, detail: "short".into() }),
            depth: 1,
            via: Via::Link,
            referrer: Some("http://b.test/".into()),
            redirect_to: None,
            content_type: Some("text/html".into()),
            charset: Some(encoding_rs::SHIFT_JIS.name()),
            wire_bytes: 7,
            decoded_bytes: 8,
            truncated: Some(Truncation::Time),
            title: Some("é".into()),
            rel_canonical: None,
            links: 3,
            sitemap: None,
            simhash: Some("0123456789abcdef".into()),
            digest: Some("00".into()),
            fetched_at: "2026-01-01T00:00:00Z".into(),
            elapsed_ms: 5,
            attempts: 2,
        };
        let line = serde_json::to_string(&record).expect("serializable");
        assert_eq!(serde_json::from_str::<Record>(&line).expect("a record"), record);
        let least = r#"{"url":"http://a.test/","depth":0,"via":"seed","wire_bytes":0,"decoded_bytes":0,"links":0,"fetched_at":"","elapsed_ms":0,"attempts":1}"#;
        let least: Record = serde_json::from_str(least).expect("what may be absent may be absent");
        assert_eq!((least.status, least.referrer, least.charset), (None, None, None));
    }

    #[test]
    fn of_a_url_that_cannot_be_used_the_beginning_is_kept() {
        for reason in [SkipReason::BadUrl, SkipReason::OtherScheme, SkipReason::UrlTooLong] {
            let mut batch = LinkBatch::default();
            assert!(batch.push(&"é".repeat(60_000), 9, 0, Via::Link, Some(reason)));
            assert!(batch.push("mailto:a", 0, 0, Via::Link, Some(reason)));
            let urls: Vec<&str> = batch.links.iter().map(|link| batch.url(link)).collect();
            assert_eq!(urls, [format!("{}…", "é".repeat(128)).as_str(), "mailto:a"]);
            assert_eq!(batch.links[0].origin_length, 0);
        }
    }

    #[test]
    fn a_batch_has_a_bound_and_counts_what_is_beyond() {
        let mut batch = LinkBatch::default();
        let url = "x".repeat(1 << 20);
        let kept =
            (0..20).filter(|_| batch.push(&url, 0, 0, Via::Link, Some(SkipReason::OutOfScope))).count();
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
            via: Via::Link,
            skip: None,
            nofollow: None,
        };
        assert_eq!(LinkBatch::default().url(&link), "");
    }
}
