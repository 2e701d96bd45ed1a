//! What the `Content-Type` header says, and what to take a body for where there is none.
//!
//! Sources: MIME Sniffing standard, sections 4.4 (parsing) and 7.1 (unknown types), as far as HTML
//! is meant; Fetch standard, "extract a MIME type" (several values).

use std::borrow::Cow;

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

/// What a `Content-Type` header names, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MimeType<'a> {
    /// Type and subtype, as written.
    essence: &'a str,
    /// The first `charset` parameter, whatever its value.
    pub(super) charset: Option<Cow<'a, str>>,
}

/// The type that a header's value names; of several, set apart by commas, the last usable one.
///
/// Source: Fetch standard, "extract a MIME type": `*/*` and what cannot be parsed do not count, and
/// a charset carries over to later values of the same type.
pub(super) fn extract(content_type: &str) -> Option<MimeType<'_>> {
    let mut last: Option<MimeType<'_>> = None;
    for mut one in Values(Some(content_type)).filter_map(parse).filter(|one| one.essence != "*/*") {
        if let Some(last) = last.filter(|last| last.essence.eq_ignore_ascii_case(one.essence)) {
            one.charset = one.charset.or(last.charset);
        }
        last = Some(one);
    }
    last
}

/// The values of a list, set apart by commas outside of quotes (Fetch standard, "get, decode, and split").
struct Values<'a>(Option<&'a str>);

impl<'a> Iterator for Values<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.0?;
        let (mut quoted, mut escaped) = (false, false);
        let comma = rest.bytes().position(|byte| {
            let is_plain = !std::mem::take(&mut escaped);
            match byte {
                b'\\' if quoted && is_plain => escaped = true,
                b'"' if is_plain => quoted = !quoted,
                b',' => return !quoted,
                _ => {}
            }
            false
        });
        self.0 = comma.map(|comma| &rest[comma + 1..]);
        Some(&rest[..comma.unwrap_or(rest.len())])
    }
}

/// Type and charset of one value (MIME Sniffing, section 4.4).
fn parse(value: &str) -> Option<MimeType<'_>> {
    let value = value.trim_matches(is_space);
    let (essence, parameters) = value.split_once(';').map_or((value, ""), |(essence, rest)| (essence, rest));
    let essence = essence.trim_end_matches(is_space);
    let (of_type, subtype) = essence.split_once('/')?;
    (is_token(of_type) && is_token(subtype)).then(|| MimeType { essence, charset: charset_of(parameters) })
}

/// The first `charset` among the parameters that follow a type and its `;`.
fn charset_of(mut parameters: &str) -> Option<Cow<'_, str>> {
    loop {
        parameters = parameters.trim_start_matches(is_space);
        let name_end = parameters.find([';', '='])?;
        let is_charset = parameters[..name_end].eq_ignore_ascii_case("charset");
        let rest = &parameters[name_end + 1..];
        if parameters[name_end..].starts_with(';') {
            parameters = rest;
            continue;
        }
        let (value, rest) = parameter_value(rest);
        if is_charset && let Some(value) = value {
            return Some(value);
        }
        parameters = rest?;
    }
}

/// A parameter's value, none where it is empty without quotes, and what follows its `;`.
fn parameter_value(text: &str) -> (Option<Cow<'_, str>>, Option<&str>) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_once(';').map_or((text, None), |(value, rest)| (value, Some(rest)));
        let value = value.trim_end_matches(is_space);
        return ((!value.is_empty()).then_some(Cow::Borrowed(value)), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    let mut rest = "";
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                rest = &quoted[at + 1..];
                break;
            }
            // the one behind it stands for itself, and it does where there is none
            '\\' => value.push(characters.next().map_or('\\', |(_, escaped)| escaped)),
            _ => value.push(character),
        }
    }
    (Some(Cow::Owned(value)), rest.split_once(';').map(|(_, rest)| rest))
}

/// White space of HTTP (Fetch standard).
fn is_space(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' ')
}

/// Whether it is a token of HTTP (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// What the header says of the body, given the type that it names, if any.
pub(super) fn declared(content_type: Option<&MimeType<'_>>) -> Declared {
    let Some(content_type) = content_type else {
        return Declared::Unknown;
    };
    let is = |name: &str| content_type.essence.eq_ignore_ascii_case(name);
    if is("text/html") {
        Declared::Markup(Markup::Html)
    } else if is("application/xhtml+xml") {
        Declared::Markup(Markup::Xhtml)
    } else if is("unknown/unknown") || is("application/unknown") {
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
    match declared(content_type.and_then(extract).as_ref()) {
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
