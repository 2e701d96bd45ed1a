//! What a `Content-Type` header says: the type by the Fetch standard, its charset by that of MIME sniffing.

use super::*;
use encoding_rs::{BIG5, Encoding, GBK, UTF_8};

/// A header, whether links are read from a body under it, and the encoding it names.
const HEADERS: &[(&str, bool, Option<&Encoding>)] = &[
    ("text/html", true, None),
    ("text/html;charset=gbk", true, Some(GBK)),
    ("\t TEXT/HTML \t; \r\n CHARSET=GBK ", true, Some(GBK)),
    ("text/html;charset=\"gbk\"", true, Some(GBK)),
    ("text/html;charset=\"gb\\k\"", true, Some(GBK)),
    ("text/html;charset=\"gbk", true, Some(GBK)),
    ("text/html;charset=\"\\ gbk\"", true, Some(GBK)),
    ("text/html;charset=\"gbk\"x", true, Some(GBK)),
    ("text/html;x=\";charset=big5\";charset=gbk", true, Some(GBK)),
    ("text/html;x;charset=gbk;charset=big5", true, Some(GBK)),
    ("text/html;;;charset=gbk", true, Some(GBK)),
    ("text/html;charset=;charset=gbk", true, Some(GBK)),
    // the first counts, whatever it says
    ("text/html;charset=bogus;charset=gbk", true, None),
    ("text/html;charset=\"\";charset=gbk", true, None),
    // single quotes and blanks are part of what they stand in
    ("text/html;charset='gbk'", true, None),
    ("text/html;charset =gbk", true, None),
    ("text/html;charset= gbk", true, Some(GBK)),
    ("text/html;charset=gbk big5", true, None),
    // of several types the last one counts, and takes over the charset of the same type before
    ("text/plain, text/html", true, None),
    ("text/html, text/plain", false, None),
    ("text/html;charset=gbk, text/html", true, Some(GBK)),
    ("text/html;charset=gbk, TEXT/html;x=y", true, Some(GBK)),
    ("text/html;charset=gbk, text/html;charset=big5", true, Some(BIG5)),
    ("text/html;charset=gbk, text/plain, text/html", true, None),
    ("text/html;charset=gbk, x, */*, text/html", true, Some(GBK)),
    ("text/html;x=\", text/plain\"", true, None),
    ("text/html;x=\"\\\", text/plain\"", true, None),
    (",text/html,", true, None),
    // types that say nothing leave it to the body
    ("", true, None),
    ("text", true, None),
    ("text/", true, None),
    ("/html", true, None),
    ("te xt/html", true, None),
    ("*/*", true, None),
    ("unknown/unknown", true, None),
    ("application/unknown", true, None),
    ("text/plain", false, None),
    ("text/html2", false, None),
    ("application/xhtml+xml;charset=gbk", true, Some(GBK)),
];

#[test]
fn headers_are_read_by_the_standards() {
    for (header, is_html, encoding) in HEADERS {
        let page = read(&context(Some(header)), b"<html ><a href=/x>");
        assert_eq!(page.is_html, *is_html, "{header:?}");
        if page.is_html {
            assert_eq!(page.encoding, encoding.unwrap_or(UTF_8), "{header:?}");
            assert_eq!(page.text, "/x");
        }
    }
}
