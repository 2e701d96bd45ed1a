//! The slow path: any reference at all, by the `url` crate, and what makes a URL crawlable.

use std::borrow::Cow;

use ::url::{ParseError, Url};
use encoding_rs::{EncoderResult, Encoding};

use super::fast::trim;
use super::parts::Parts;

/// Why a reference cannot be crawled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// It is no URL. The text says what is wrong.
    #[error("not a usable URL: {0}")]
    Unparsable(String),
    /// Its scheme (given here, without the colon) is not http or https.
    #[error("the scheme '{0}' is not crawled, only http and https are")]
    OtherScheme(String),
}

impl From<ParseError> for Reject {
    fn from(error: ParseError) -> Self {
        Self::Unparsable(match error {
            ParseError::RelativeUrlWithoutBase => {
                "no scheme and host; write it in full, as in http://example.com/".to_owned()
            }
            ParseError::EmptyHost => "no host name".to_owned(),
            ParseError::InvalidPort => "the port is not a number up to 65535".to_owned(),
            other => other.to_string(),
        })
    }
}

/// Parses a reference, against a base where there is one.
pub(super) fn parse(
    reference: &str,
    base: Option<&Url>,
    encoding: Option<&'static Encoding>,
) -> Result<Url, Reject> {
    let reference = trim(reference);
    // before the parser, so that a `data:` of many megabytes is not read to its end
    if let Some(scheme) = scheme(reference)
        && !is_crawled(&scheme)
    {
        return Err(Reject::OtherScheme(scheme));
    }
    let reference = without_needless_slashes(reference);
    let options = Url::options().base_url(base);
    let url = match encoding {
        Some(encoding) => {
            options.encoding_override(Some(&|query| encode_query(query, encoding))).parse(&reference)
        }
        None => options.parse(&reference),
    }?;
    if is_crawled(url.scheme()) { Ok(url) } else { Err(Reject::OtherScheme(url.scheme().to_owned())) }
}

/// Appends what is requested for a URL: all of it but userinfo and fragment.
pub(super) fn write_requested(url: &Url, out: &mut String) -> Result<Parts, Reject> {
    let host = url.host_str().ok_or(ParseError::EmptyHost)?;
    out.push_str(url.scheme());
    out.push_str("://");
    let host_start = out.len();
    out.push_str(host);
    let host = host_start..out.len();
    if let Some(port) = url.port() {
        out.push(':');
        out.push_str(&port.to_string());
    }
    let origin_length = u16::try_from(out.len())
        .map_err(|_| Reject::Unparsable("the host name has more than 65,000 bytes".to_owned()))?;
    push_path(url.path(), out);
    if let Some(query) = url.query() {
        out.push('?');
        out.push_str(query);
    }
    Ok(Parts { origin_length, host })
}

/// Appends a path with `^` encoded: it is in the standard's path
/// percent-encode set, but not in that of the `url` crate.
fn push_path(path: &str, out: &mut String) {
    let mut pieces = path.split('^');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push_str("%5E");
        out.push_str(piece);
    }
}

fn is_crawled(scheme: &str) -> bool {
    matches!(scheme, "http" | "https")
}

/// The scheme that a trimmed reference begins with, in lower case; a very long one is cut.
fn scheme(reference: &str) -> Option<String> {
    const SHOWN: usize = 40;
    let mut scheme = String::new();
    for byte in reference.bytes().filter(|byte| !is_ignored(*byte)) {
        match byte {
            b':' if !scheme.is_empty() => return Some(scheme),
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if !scheme.is_empty() => {}
            _ => return None,
        }
        if scheme.len() < SHOWN {
            scheme.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    None
}

/// Tabs and line ends stand for nothing anywhere in a URL.
fn is_ignored(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r')
}

/// A reference with two slashes where it begins with more: the standard ignores
/// the others ("special authority ignore slashes state"), the `url` crate
/// takes them for an empty host.
fn without_needless_slashes(reference: &str) -> Cow<'_, str> {
    if !reference.starts_with(['/', '\\']) {
        return Cow::Borrowed(reference);
    }
    let cleaned = if reference.bytes().any(is_ignored) {
        Cow::Owned(reference.replace(['\t', '\n', '\r'], ""))
    } else {
        Cow::Borrowed(reference)
    };
    let rest = cleaned.trim_start_matches(['/', '\\']);
    if cleaned.len() - rest.len() > 2 { Cow::Owned(format!("//{rest}")) } else { cleaned }
}

/// A query in the encoding of its document. A character that the encoding lacks
/// is sent as its number, as the standard has it: `%26%23`, number, `%3B`.
fn encode_query<'q>(query: &'q str, encoding: &'static Encoding) -> Cow<'q, [u8]> {
    if query.is_ascii() || encoding.output_encoding() == encoding_rs::UTF_8 {
        return Cow::Borrowed(query.as_bytes());
    }
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query;
    loop {
        // enough for any encoding's next character, should the estimate be short
        let wanted =
            encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len());
        bytes.reserve(wanted.max(16));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return Cow::Owned(bytes),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => {
                bytes.extend_from_slice(format!("%26%23{}%3B", u32::from(character)).as_bytes());
            }
        }
    }
}
