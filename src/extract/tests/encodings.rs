//! Every encoding of the Encoding Standard, from the bytes of a page to the URL that is requested.

use super::*;
use crate::url::Canonicalizer;
use encoding_rs::*;
use std::fmt::Write as _;

/// All 40 but `replacement`, whose labels are passed over.
#[rustfmt::skip]
const ENCODINGS: [&Encoding; 39] = [
    BIG5, EUC_JP, EUC_KR, GB18030, GBK, IBM866, ISO_2022_JP, ISO_8859_2, ISO_8859_3, ISO_8859_4, ISO_8859_5,
    ISO_8859_6, ISO_8859_7, ISO_8859_8, ISO_8859_8_I, ISO_8859_10, ISO_8859_13, ISO_8859_14, ISO_8859_15,
    ISO_8859_16, KOI8_R, KOI8_U, MACINTOSH, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_874, WINDOWS_1250,
    WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257,
    WINDOWS_1258, X_MAC_CYRILLIC, X_USER_DEFINED,
];

/// Characters that are no part of any sample; most encodings lack them.
const LACKING: &str = "\u{2603}\u{1F980}";

/// Characters of an encoding: every one of a table of 8 bits, some of a larger one.
fn sample(encoding: &'static Encoding) -> String {
    if !encoding.is_single_byte() {
        let samples = ["日本語表示ソ十ー", "中文國語", "한국어", "Größe\u{20AC}"];
        let fits = |text: &&&str| !encoding.output_encoding().encode(text).2;
        return (*samples.iter().find(fits).unwrap()).to_owned();
    }
    let upper: Vec<u8> = (0x80..=0xFF).collect();
    let (text, _) = encoding.decode_without_bom_handling(&upper);
    let is_visible = |c: &char| !c.is_control() && !c.is_whitespace() && *c != '\u{FFFD}';
    text.chars().filter(is_visible).collect()
}

/// The bytes of a text, characters that are lacking as numeric references.
fn encoded(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    match encoding {
        _ if encoding == UTF_16LE => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ if encoding == UTF_16BE => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => encoding.encode(text).0.into_owned(),
    }
}

/// Percent-encoded, but for what `keeps` says stands for itself.
fn percent(bytes: &[u8], keeps: impl Fn(u8) -> bool) -> String {
    let mut out = String::new();
    for &byte in bytes {
        if keeps(byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").unwrap();
        }
    }
    out
}

/// The query of a special URL: WHATWG URL 1.3, "percent-encode after encoding" with the special-query set.
fn query(encoding: &'static Encoding, text: &str) -> String {
    let keeps = |byte: u8| matches!(byte, 0x21..=0x7E) && !b"\"#<>'".contains(&byte);
    let output = encoding.output_encoding();
    let mut out = percent(&output.encode(text).0, keeps);
    for lacking in LACKING.chars() {
        let mut buffer = [0; 4];
        let (bytes, _, is_lacking) = output.encode(lacking.encode_utf8(&mut buffer));
        if is_lacking {
            write!(out, "%26%23{}%3B", u32::from(lacking)).unwrap();
        } else {
            out += &percent(&bytes, keeps);
        }
    }
    out
}

fn path(text: &str) -> String {
    percent(text.as_bytes(), |byte| byte.is_ascii_alphanumeric())
}

/// Title, path, and query of a page in this encoding.
fn check(encoding: &'static Encoding, content_type: &str, meta: &str) {
    let sample = sample(encoding);
    assert!(sample.chars().count() >= 4, "{}", encoding.name());
    // a character that is lacking can only stand in the page as a reference
    let lacking: String =
        LACKING.chars().fold(String::new(), |text, c| text + &format!("&#{};", u32::from(c)));
    let html = format!("{meta}<title>{sample}</title><a href='/{sample}?q={sample}{lacking}&amp;z'>x</a>");
    let body = encoded(encoding, &html);
    let context = context(Some(content_type));
    for size in [1, 3, usize::MAX] {
        let page = read_in_pieces(&context, &body, size);
        assert_eq!(page.encoding, encoding, "{content_type} {meta}");
        assert_eq!(page.title.as_deref(), Some(sample.as_str()), "{}", encoding.name());
        let base = Url::parse("http://a.test/").unwrap();
        let canonicalizer = Canonicalizer::default();
        let resolver = canonicalizer.resolver(&base, Some(page.encoding));
        let (_, href) = page.links().next().unwrap();
        let expected = format!("http://a.test/{}?q={}&z", path(&sample), query(encoding, &sample));
        assert_eq!(resolver.target(href).unwrap().requested, expected, "{}", encoding.name());
    }
}

#[test]
fn every_encoding_is_read_by_the_header() {
    for encoding in ENCODINGS {
        check(encoding, &format!("text/html; charset={}", encoding.name()), "");
    }
}

/// A `meta` cannot declare UTF-16, nor `x-user-defined`: both mean something else there (`charsets`).
#[test]
fn every_encoding_is_read_by_meta() {
    for encoding in ENCODINGS {
        if ![UTF_16BE, UTF_16LE, X_USER_DEFINED].contains(&encoding) {
            check(encoding, "text/html", &format!("<meta charset={}>", encoding.name()));
        }
    }
}

#[test]
fn the_table_is_complete() {
    let names: BTreeSet<&str> = ENCODINGS.iter().map(|encoding| encoding.name()).collect();
    assert_eq!(names.len(), ENCODINGS.len());
    // one label of each encoding in the standard's list
    let labels = "utf-8 866 latin2 latin3 latin4 cyrillic arabic greek hebrew logical l6 iso8859-13 iso8859-14 l9 \
        iso-8859-16 koi koi8-ru mac dos-874 cp1250 cp1251 ascii cp1253 latin5 cp1255 cp1256 cp1257 cp1258 \
        x-mac-ukrainian gb2312 gb18030 big5-hkscs euc-jp csiso2022jp sjis ksc5601 hz-gb-2312 unicodefffe \
        unicode x-user-defined";
    for label in labels.split_whitespace() {
        let encoding = Encoding::for_label(label.as_bytes()).unwrap();
        assert!(names.contains(encoding.name()) || encoding == REPLACEMENT, "{label}");
    }
    assert_eq!(labels.split_whitespace().count(), ENCODINGS.len() + 1);
}
