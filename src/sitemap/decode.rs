//! Bytes into text: the encoding of a sitemap, and its decoder.
//!
//! The order is that of RFC 7303 section 3: a byte order mark, the header, then what XML 1.0
//! (appendix F) finds out from the first bytes; UTF-8 otherwise.

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes in which an XML declaration must end.
const PRESCAN: usize = 1024;
/// Bytes of text decoded at a time.
const PIECE: usize = 4 << 10;

/// See the module's description.
pub(super) struct TextDecoder {
    /// What the header says, as an encoding.
    declared: Option<&'static Encoding>,
    /// The first bytes, as long as they do not tell the encoding.
    head: Vec<u8>,
    decoder: Option<Decoder>,
    piece: String,
}

impl TextDecoder {
    /// For a body whose `Content-Type` is this.
    pub(super) fn new(content_type: Option<&str>) -> Self {
        let declared = content_type.and_then(charset).and_then(|label| Encoding::for_label(label.as_bytes()));
        Self { declared, head: Vec::new(), decoder: None, piece: String::new() }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.head.capacity() + self.piece.capacity()
    }

    /// Decodes some more; `last`: nothing follows.
    pub(super) fn feed(&mut self, bytes: &[u8], last: bool, mut text: impl FnMut(&str)) {
        if self.decoder.is_some() {
            return self.decode(bytes, last, &mut text);
        }
        let taken = bytes.len().min(PRESCAN - self.head.len());
        self.head.extend_from_slice(&bytes[..taken]);
        let told = self.declared.is_some() || self.head.len() == PRESCAN || declaration_is_over(&self.head);
        if !last && !told {
            return;
        }
        let encoding = self.declared.or_else(|| encoding_of(&self.head)).unwrap_or(UTF_8);
        self.decoder = Some(encoding.new_decoder());
        let head = std::mem::take(&mut self.head);
        let rest = &bytes[taken..];
        self.decode(&head, last && rest.is_empty(), &mut text);
        if !rest.is_empty() {
            self.decode(rest, last, &mut text);
        }
    }

    fn decode(&mut self, mut bytes: &[u8], last: bool, text: &mut impl FnMut(&str)) {
        let Some(decoder) = &mut self.decoder else { return };
        self.piece.reserve(PIECE);
        loop {
            self.piece.clear();
            let (result, read, _) = decoder.decode_to_string(bytes, &mut self.piece, last);
            if !self.piece.is_empty() {
                text(&self.piece);
            }
            bytes = &bytes[read..];
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}

/// The `charset` of a media type (RFC 9110 section 8.3.1).
fn charset(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let value = parameters
        .filter_map(|one| one.split_once('='))
        .find_map(|(name, value)| name.trim().eq_ignore_ascii_case("charset").then_some(value))?;
    Some(value.trim().trim_matches('"'))
}

/// Whether the first bytes hold the whole XML declaration, or can hold none.
fn declaration_is_over(head: &[u8]) -> bool {
    const DECLARATION: &[u8] = b"<?xml";
    let compared = head.len().min(DECLARATION.len());
    // the marks of UTF-8 and UTF-16 are among what is not this
    let is_none = head.len() >= 4 && head[..compared] != DECLARATION[..compared];
    is_none || head.contains(&b'>')
}

/// What the first bytes say of the encoding.
fn encoding_of(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [b'<', 0, next, 0, ..] if *next != 0 => return Some(UTF_16LE),
        [0, b'<', 0, next, ..] if *next != 0 => return Some(UTF_16BE),
        _ => {}
    }
    let declaration = &head[..head.iter().position(|byte| *byte == b'>')?];
    let declaration = std::str::from_utf8(declaration.strip_prefix(b"<?xml")?).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let label = value[1..].split(quote).next()?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // whoever could read this far reads no UTF-16
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(content_type: Option<&str>, bytes: &[u8], size: usize) -> String {
        let (mut decoder, mut out) = (TextDecoder::new(content_type), String::new());
        bytes.chunks(size).for_each(|piece| decoder.feed(piece, false, |text| out.push_str(text)));
        decoder.feed(&[], true, |text| out.push_str(text));
        out
    }

    #[test]
    fn the_encoding_is_found_in_the_standards_order() {
        let latin = Some("text/xml; charset=\"ISO-8859-1\"");
        let utf16 =
            |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let little = utf16("<a>é</a>", u16::to_le_bytes);
        let big = utf16("\u{feff}<a>é</a>", u16::to_be_bytes);
        for (content_type, bytes, expected) in [
            (None, "é".as_bytes(), "é"),
            (None, "\u{feff}é".as_bytes(), "é"),
            (latin, &b"\xE9"[..], "é"),
            (latin, "\u{feff}é".as_bytes(), "é"),
            (latin, b"<?xml encoding='utf-8'?>\xE9", "<?xml encoding='utf-8'?>é"),
            (None, b"<?xml encoding = 'ISO-8859-1' ?>\xE9", "<?xml encoding = 'ISO-8859-1' ?>é"),
            (None, b"<?xml encoding='UTF-16'?>\xC3\xA9", "<?xml encoding='UTF-16'?>é"),
            (None, b"<?xml encoding='nonsense'?>\xC3\xA9", "<?xml encoding='nonsense'?>é"),
            (None, &little, "<a>é</a>"),
            (None, &big, "<a>é</a>"),
            (None, b"a\xF1b", "a\u{fffd}b"),
            (None, b"", ""),
        ] {
            for size in [1, 2, 1 << 20] {
                assert_eq!(decoded(content_type, bytes, size), expected, "{content_type:?} {bytes:?}");
            }
        }
    }

    #[test]
    fn long_bodies_come_in_pieces() {
        let text = "é".repeat(1 << 16);
        assert_eq!(decoded(None, text.as_bytes(), 1 << 20), text);
        let mut decoder = TextDecoder::new(None);
        decoder.feed(text.as_bytes(), true, |piece| assert!(piece.len() <= 4 * PIECE));
        assert!(decoder.held_bytes() <= 4 * PIECE);
    }
}
