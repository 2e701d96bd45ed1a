//! What the `Content-Type` header says, and what to take a body for where there is none.
//!
//! Source: MIME Sniffing standard, sections 4.4 (parsing) and 7.1 (unknown types), as far as HTML is meant.

/// First bytes of a body that suffice to tell what it is (MIME Sniffing, section 5.2).
pub(super) const SNIFF_BYTES: usize = 1445;

/// Beginnings that a tag-terminating byte must follow.
const TAGS: [&[u8]; 16] = [
    b"<!DOCTYPE HTML",
    b"<HTML",
    b"<HEAD",
    b"<SCRIPT",
    b"<IFRAME",
    b"<H1",
    b"<DIV",
    b"<FONT",
    b"<TABLE",
    b"<A",
    b"<STYLE",
    b"<TITLE",
    b"<B",
    b"<BODY",
    b"<BR",
    b"<P",
];

/// The languages that links are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Markup {
    Html,
    Xhtml,
}

/// What a header alone decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    Markup(Markup),
    /// Some other type.
    Other,
    /// No type, or one that means none.
    Unknown,
}

/// What the header's value says, none where it is missing.
pub(super) fn declared(content_type: Option<&str>) -> Declared {
    let essence = content_type.unwrap_or_default().split([';', ',']).next().unwrap_or_default().trim();
    let is = |name: &str| essence.eq_ignore_ascii_case(name);
    if is("text/html") {
        Declared::Markup(Markup::Html)
    } else if is("application/xhtml+xml") {
        Declared::Markup(Markup::Xhtml)
    } else if !essence.contains('/') || is("unknown/unknown") || is("application/unknown") || is("*/*") {
        Declared::Unknown
    } else {
        Declared::Other
    }
}

/// Whether a body is HTML: its `Content-Type` says so, or there is none and its first bytes look like it.
///
/// `text/html` and `application/xhtml+xml` are. Every other type is not, whatever the
/// body looks like. The first 1,445 bytes suffice.
pub fn is_html(content_type: Option<&str>, first_bytes: &[u8]) -> bool {
    match declared(content_type) {
        Declared::Markup(_) => true,
        Declared::Other => false,
        Declared::Unknown => looks_like_html(first_bytes),
    }
}

/// Whether a browser that is told no type would take these bytes for HTML.
pub(super) fn looks_like_html(first_bytes: &[u8]) -> bool {
    // the standard knows no byte order mark here, but pages that have one exist
    let bytes = first_bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first_bytes);
    let bytes = bytes.trim_ascii_start();
    bytes.starts_with(b"<!--") || TAGS.iter().any(|tag| begins_with_tag(bytes, tag))
}

fn begins_with_tag(bytes: &[u8], tag: &[u8]) -> bool {
    bytes.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
        && matches!(bytes.get(tag.len()), Some(b' ' | b'>' | b'\t' | b'\n' | 0x0C | b'\r'))
}

/// The value of the header's `charset` parameter; the first counts.
pub(super) fn charset_parameter(content_type: &str) -> Option<&str> {
    let (_, parameters) = content_type.split_once(';')?;
    parameters.split([';', ',']).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })
}
