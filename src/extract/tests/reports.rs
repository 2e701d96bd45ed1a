//! `tests/cases/report_cases.jsonl`: what users of other crawlers met, areas `html-links` and `charset`.

use super::*;
use encoding_rs::{Encoding, GBK, SHIFT_JIS, UTF_8};
use serde_json::Value;

const ROWS: &str = include_str!("../../../tests/cases/report_cases.jsonl");

/// Id, page URL, body, the links that must come out; none other may.
const LINKS: &[(&str, &str, &str, &[&str])] = &[
    (
        "C002",
        "http://a.test/dir/p.html",
        "<a href=\"\n\t /feeds/atom.xml\n \">x</a>",
        &["http://a.test/feeds/atom.xml"],
    ),
    ("C002", "http://a.test/dir/p.html", "<a href=\"/fe\r\ned\ts\">x</a>", &["http://a.test/feeds"]),
    ("C004", "http://a.test/", "<a href=\"C:\\pics\\a.png\">x</a>", &[]),
    (
        "C006",
        "https://a.test/s/1/T",
        "<base href=\"https://a.test/\"><link rel=alternate href=\"css/x.css\">",
        &["https://a.test/css/x.css"],
    ),
    (
        "C007",
        "https://a.test/forum/i/mv/1/",
        "<base href=\"/forum/\"><a href=\"t/5\">",
        &["https://a.test/forum/t/5"],
    ),
    ("C009", "http://a.test/d/q", "<base href=\"javascript:void 0\"><a href=\"p\">", &["http://a.test/d/p"]),
    ("C009", "http://a.test/d/q", "<base href=\"DATA:,x\"><a href=\"p\">", &["http://a.test/d/p"]),
    ("C010", "https://a.test/p", "<a href=\"//b.test/q\">", &["https://b.test/q"]),
    (
        "C011",
        "http://a.test/",
        "<a href=\"MAILTO:x@a.test\"> <a href=\"tel:+1\"> <a href=\"javascript:;\"> <a href=\" JavaScript:go()\">",
        &[],
    ),
    ("C012", "http://a.test/x", "<img src=\"data:image/png;base64,/9j/4AAQ\">", &[]),
    ("C014", "http://a.test/d/", "<a href=\"http:/b.test/c\">", &["http://a.test/b.test/c"]),
    ("C014", "https://a.test/d/", "<a href=\"http:/b.test/c\">", &["http://b.test/c"]),
    (
        "C015",
        "http://a.test/",
        "<a href=\"?a=1&amp;b=2\"> <a href=\"?a=1&#38;c=3\"> <a href=\"?a=1&#x26;d=4\">",
        &["http://a.test/?a=1&b=2", "http://a.test/?a=1&c=3", "http://a.test/?a=1&d=4"],
    ),
    ("C018", "http://a.test/", "<map><area href=\"/r.html\"></map>", &["http://a.test/r.html"]),
    ("C023", "http://a.test/", "<script>t(\"./ReactElement\");x(\"11/10/2024/gtm.start\")</script>", &[]),
    (
        "C024",
        "http://a.test/",
        "<html xmlns:og=\"http://ogp.test/ns#\"><svg xmlns=\"http://w3.test/svg\"/>",
        &[],
    ),
];

/// Id, `Content-Type`, body, the encoding it must be read in.
const CHARSETS: &[(&str, &str, &[u8], &Encoding)] = &[
    ("C093", "text/html", b"<script>l='?charset=gbk&b=1'</script>", UTF_8),
    ("C094", "text/html", b"<meta charset=\"Shift_JIS\"><a href='?\x83\x65'>", SHIFT_JIS),
    (
        "C095",
        "text/html",
        b"<meta name=\"a\" content=\"b\"><meta http-equiv=\"Content-Type\" content=\"text/html; charset=gb2312\"><meta charset=\"utf-8\">",
        GBK,
    ),
    ("C096", "text/html; charset=iso-8859-1", b"\xEF\xBB\xBF<a href=x>", UTF_8),
    ("C096", "text/html", b"<meta charset=utf-16><a href=x>", UTF_8),
];

#[test]
fn links_come_out_as_reported_right() {
    for (id, url, body, expected) in LINKS {
        let page = read(&utf8_html(), body.as_bytes());
        let expected: BTreeSet<String> = expected.iter().map(|&one| one.to_owned()).collect();
        assert_eq!(resolved(&page, url).follow, expected, "{id}: {body}");
        let page = read(&with_resources(utf8_html()), body.as_bytes());
        let Resolved { follow, resources, .. } = resolved(&page, url);
        assert_eq!((follow, resources), (expected, BTreeSet::new()), "{id}: {body}");
        // what stands in the page itself as `data:` is no link at all, not even one to be counted
        assert!(!page.text.to_ascii_lowercase().contains("data:"), "{id}: {}", page.text);
    }
}

#[test]
fn charsets_come_out_as_reported_right() {
    for (id, content_type, body, expected) in CHARSETS {
        assert_eq!(read(&context(Some(content_type)), body).encoding, *expected, "{id}");
    }
}

#[test]
fn no_row_is_left_out() {
    let tested: BTreeSet<&str> =
        LINKS.iter().map(|row| row.0).chain(CHARSETS.iter().map(|row| row.0)).collect();
    for row in ROWS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        if matches!(row["area"].as_str(), Some("html-links" | "charset")) {
            assert!(tested.contains(row["id"].as_str().unwrap()), "{}", row["id"]);
        }
    }
}
