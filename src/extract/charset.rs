//! Which encoding a page declares: byte order mark, header, the first bytes' `meta`.
//!
//! Source: HTML standard 13.2.3.2 (the encoding sniffing algorithm, prescan, "get an
//! attribute", "get an XML encoding") and 4.2.5.4 ("extracting a character encoding
//! from a meta element"). One exception: labels of encodings that the Encoding
//! standard only lets replace the whole page by one U+FFFD (`hz-gb-2312`,
//! `iso-2022-kr` …) are passed over, since the links of such a page are readable.

use super::mime;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::{memchr, memmem};

/// First bytes of a page that are searched for a declaration.
pub(super) const PRESCAN_BYTES: usize = 1024;

/// The encoding that the header names.
pub(super) fn of_header(content_type: Option<&str>) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(mime::charset_parameter(content_type?)?.as_bytes())
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
    match value.first()? {
        quote @ (b'"' | b'\'') => {
            let quoted = &value[1..];
            memchr(*quote, quoted).map(|end| &quoted[..end])
        }
        _ => {
            let end = value.iter().position(|&byte| byte == b';' || byte.is_ascii_whitespace());
            Some(&value[..end.unwrap_or(value.len())])
        }
    }
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
    Scanner { bytes, at: 0 }.find_meta().or_else(|| of_xml_declaration(bytes))
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

/// The prescan's position in the bytes. Every method returns none where the bytes end.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn find_meta(mut self) -> Option<&'static Encoding> {
        loop {
            self.at += memchr(b'<', self.bytes.get(self.at..)?)?;
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"<!--") {
                // the dashes of the beginning may be those of the end
                self.at += 2 + memmem::find(&rest[2..], b"-->")? + 3;
            } else if is_meta(rest) {
                self.at += 5;
                if let Some(encoding) = self.meta()? {
                    return Some(encoding);
                }
            } else if rest.strip_prefix(b"</").or(rest.strip_prefix(b"<"))?.first()?.is_ascii_alphabetic() {
                self.at += rest.iter().position(|&byte| byte == b'>' || byte.is_ascii_whitespace())?;
                while self.attribute()?.is_some() {}
                self.at += 1;
            } else if matches!(rest.get(1)?, b'!' | b'/' | b'?') {
                self.at += memchr(b'>', rest)? + 1;
            } else {
                self.at += 1;
            }
        }
    }

    /// The attributes of a `meta`, and what they declare.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        let mut found: [Option<Vec<u8>>; 3] = [None, None, None];
        while let Some((name, value)) = self.attribute()? {
            let place = match name.to_ascii_lowercase().as_slice() {
                b"charset" => 0,
                b"http-equiv" => 1,
                b"content" => 2,
                _ => continue,
            };
            found[place].get_or_insert_with(|| value.to_vec());
        }
        let [charset, http_equiv, content] = &found;
        Some(of_meta(charset.as_deref(), http_equiv.as_deref(), content.as_deref()))
    }

    fn skip_spaces(&mut self) -> Option<u8> {
        while self.bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// The next attribute of a tag, or none (inside) at its `>`.
    fn attribute(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        while matches!(self.skip_spaces()?, b'/') {
            self.at += 1;
        }
        if self.bytes[self.at] == b'>' {
            return Some(None);
        }
        let rest = &self.bytes[self.at..];
        let ends = |(index, &byte): (usize, &u8)| {
            byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>') || (byte == b'=' && index > 0)
        };
        let length = rest.iter().enumerate().position(ends)?;
        let name = &rest[..length];
        self.at += length;
        if self.skip_spaces()? != b'=' {
            return Some(Some((name, &[])));
        }
        self.at += 1;
        Some(Some((name, self.value()?)))
    }

    fn value(&mut self) -> Option<&'a [u8]> {
        let first = self.skip_spaces()?;
        if matches!(first, b'"' | b'\'') {
            self.at += 1;
            let rest = &self.bytes[self.at..];
            let length = memchr(first, rest)?;
            self.at += length + 1;
            return Some(&rest[..length]);
        }
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'>' || byte.is_ascii_whitespace())?;
        self.at += length;
        Some(&rest[..length])
    }
}

/// Whether these bytes begin a `meta` tag.
fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"<meta"))
        && rest.get(5).is_some_and(|&byte| byte == b'/' || byte.is_ascii_whitespace())
}
