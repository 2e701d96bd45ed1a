//! Which encoding a page declares: byte order mark, header, the first bytes' `meta`.
//!
//! Source: HTML standard 13.2.3.2 (the encoding sniffing algorithm, prescan, "get an
//! attribute", "get an XML encoding") and 4.2.5.4 ("extracting a character encoding
//! from a meta element"). One exception: labels of encodings that the Encoding
//! standard only lets replace the whole page by one U+FFFD (`hz-gb-2312`,
//! `iso-2022-kr` …) are passed over, since the links of such a page are readable.

use super::mime::MimeType;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::{memchr, memmem};

/// First bytes of a page that are searched for a declaration.
pub(super) const PRESCAN_BYTES: usize = 1024;

/// The encoding that the header names.
pub(super) fn of_header(content_type: &MimeType<'_>) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(content_type.charset.as_ref()?.as_bytes())
}

/// The encoding that a `meta` means by a label: it can be read, so it is not UTF-16.
fn of_meta_label(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label_no_replacement(label)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

/// What one `meta` element declares, from its attributes.
pub(super) fn of_meta(
    charset: Option<&[u8]>,
    http_equiv: Option<&[u8]>,
    content: Option<&[u8]>,
) -> Option<&'static Encoding> {
    if let Some(label) = charset {
        return of_meta_label(label);
    }
    let is_pragma = http_equiv?.eq_ignore_ascii_case(b"content-type");
    content.filter(|_| is_pragma).and_then(label_in_content).and_then(of_meta_label)
}

/// The label behind `charset=` in a `content` attribute.
fn label_in_content(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let at = rest.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[at + 7..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            return value_of_label(value.trim_ascii_start());
        }
    }
}

fn value_of_label(value: &[u8]) -> Option<&[u8]> {
    let quote = *value.first()?;
    if matches!(quote, b'"' | b'\'') {
        let quoted = &value[1..];
        return memchr(quote, quoted).map(|end| &quoted[..end]);
    }
    let end = value.iter().position(|&byte| byte == b';' || byte.is_ascii_whitespace());
    Some(&value[..end.unwrap_or(value.len())])
}

/// Searches the first bytes of a page for a declaration ("prescan a byte stream").
pub(super) fn prescan(first_bytes: &[u8]) -> Option<&'static Encoding> {
    let bytes = &first_bytes[..first_bytes.len().min(PRESCAN_BYTES)];
    if bytes.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let meta = Scanner { bytes, at: 0 }.find_meta();
    meta.ok().or_else(|| of_xml_declaration(bytes))
}

/// The encoding of an XML declaration at the very start.
fn of_xml_declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    let declaration = &bytes.strip_prefix(b"<?xml")?[..memchr(b'>', bytes)?.checked_sub(5)?];
    let behind = &declaration[memmem::find(declaration, b"encoding")? + 8..];
    let value = behind.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let label = &value[1..];
    let label = &label[..memchr(quote, label)?];
    if label.iter().any(|&byte| byte <= b' ') {
        return None;
    }
    of_meta_label(label)
}

/// The bytes ended before an answer.
struct OutOfBytes;

/// An attribute as written.
type NameAndValue<'a> = (&'a [u8], &'a [u8]);

/// The prescan's position in the bytes.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn find_meta(mut self) -> Result<&'static Encoding, OutOfBytes> {
        loop {
            self.advance(|rest| memchr(b'<', rest))?;
            let rest = self.rest();
            if rest.starts_with(b"<!--") {
                // the dashes of the beginning may be those of the end
                self.advance(|rest| memmem::find(&rest[2..], b"-->").map(|at| at + 5))?;
            } else if is_meta(rest) {
                self.at += 5;
                if let Some(encoding) = self.meta()? {
                    return Ok(encoding);
                }
            } else if is_tag(rest) {
                self.advance(|rest| {
                    rest.iter().position(|&byte| byte == b'>' || byte.is_ascii_whitespace())
                })?;
                while self.attribute()?.is_some() {}
            } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
                self.advance(|rest| memchr(b'>', rest))?;
            } else {
                self.at += 1;
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Moves by as many bytes as `distance` finds, and returns those.
    fn advance(&mut self, distance: impl Fn(&[u8]) -> Option<usize>) -> Result<&'a [u8], OutOfBytes> {
        let rest = self.rest();
        let length = distance(rest).ok_or(OutOfBytes)?;
        self.at += length;
        rest.get(..length).ok_or(OutOfBytes)
    }

    /// Moves to the next byte that is no white space, and returns it.
    fn next_byte(&mut self) -> Result<u8, OutOfBytes> {
        self.advance(|rest| rest.iter().position(|byte| !byte.is_ascii_whitespace()))?;
        self.rest().first().copied().ok_or(OutOfBytes)
    }

    /// What a `meta` declares by its attributes; of two with one name the first counts.
    fn meta(&mut self) -> Result<Option<&'static Encoding>, OutOfBytes> {
        let mut found: [Option<&[u8]>; 3] = [None; 3];
        while let Some((name, value)) = self.attribute()? {
            let names = ["charset", "http-equiv", "content"];
            if let Some(place) = names.iter().position(|one| name.eq_ignore_ascii_case(one.as_bytes())) {
                found[place].get_or_insert(value);
            }
        }
        Ok(of_meta(found[0], found[1], found[2]))
    }

    /// The next attribute of a tag, none at its `>`.
    fn attribute(&mut self) -> Result<Option<NameAndValue<'a>>, OutOfBytes> {
        while self.next_byte()? == b'/' {
            self.at += 1;
        }
        if self.next_byte()? == b'>' {
            return Ok(None);
        }
        let ends = |(index, &byte): (usize, &u8)| {
            byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>') || (byte == b'=' && index > 0)
        };
        let name = self.advance(|rest| rest.iter().enumerate().position(ends))?;
        if self.next_byte()? != b'=' {
            return Ok(Some((name, &[])));
        }
        self.at += 1;
        Ok(Some((name, self.value()?)))
    }

    fn value(&mut self) -> Result<&'a [u8], OutOfBytes> {
        let first = self.next_byte()?;
        if matches!(first, b'"' | b'\'') {
            self.at += 1;
            let value = self.advance(|rest| memchr(first, rest))?;
            self.at += 1;
            return Ok(value);
        }
        self.advance(|rest| rest.iter().position(|&byte| byte == b'>' || byte.is_ascii_whitespace()))
    }
}

/// Whether these bytes begin a start or an end tag.
fn is_tag(rest: &[u8]) -> bool {
    let name = rest.strip_prefix(b"</").or(rest.strip_prefix(b"<")).unwrap_or_default();
    name.first().is_some_and(u8::is_ascii_alphabetic)
}

/// Whether these bytes begin a `meta` tag.
fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"<meta"))
        && rest.get(5).is_some_and(|&byte| byte == b'/' || byte.is_ascii_whitespace())
}
