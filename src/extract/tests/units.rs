//! The rules one by one.

use super::super::{character_references, directives, refresh};
use super::*;
use character_references::{Place, decode_into};
use directives::Directives;

use crate::model::Nofollow;

fn decoded(raw: &str, place: Place) -> String {
    let mut out = String::new();
    decode_into(raw.as_bytes(), place, &mut out);
    out
}

#[test]
fn character_references_follow_the_rules_of_their_place() {
    let rows = [
        ("&amp;&lt;&quot;&#38;&#x26;&#X26", "&<\"&&&", "&<\"&&&"),
        ("&copy=1&copy2&copy;&copy", "&copy=1&copy2©©", "©=1©2©©"),
        ("&notin;&notit;&not", "∉&notit;¬", "∉¬it;¬"),
        ("&CounterClockwiseContourIntegral;&nGt;", "∳≫⃒", "∳≫⃒"),
        ("&#0;&#xD800;&#x110000;&#99999999999;&#128;&#x81;", "���\u{FFFD}€\u{81}", "���\u{FFFD}€\u{81}"),
        ("&;&#;&#x;&#xg;& &bogus;&é", "&;&#;&#x;&#xg;& &bogus;&é", "&;&#;&#x;&#xg;& &bogus;&é"),
        ("a\r\nb\rc\0", "a\nb\nc\u{FFFD}", "a\nb\nc\u{FFFD}"),
    ];
    for (raw, in_attribute, in_text) in rows {
        assert_eq!(decoded(raw, Place::Attribute), in_attribute);
        assert_eq!(decoded(raw, Place::Text), in_text);
    }
    let mut out = String::new();
    decode_into(b"a\xF0\x9F&amp;\xFFz", Place::Attribute, &mut out);
    assert_eq!(out, "a\u{FFFD}&\u{FFFD}z");
}

#[test]
fn refresh_targets() {
    let rows = [
        ("0; url=/a", Some("/a")),
        ("  5 ,URL = '/b' x", Some("/b")),
        ("0;/c", Some("/c")),
        (".5 /d", Some("/d")),
        ("0;url=\"/e", Some("/e")),
        ("0;'/f'", Some("/f")),
        ("1.5.2;url /g", Some("url /g")),
        ("0;ur=/h", Some("ur=/h")),
        ("0; url=  /i ", Some("/i ")),
        ("0", None),
        ("0;", None),
        ("", None),
        ("x;url=/no", None),
        ("0url=/no", None),
        ("-1;url=/no", None),
    ];
    for (content, target) in rows {
        assert_eq!(refresh::target(content), target, "{content}");
    }
}

#[test]
fn x_robots_tag() {
    let rows = [
        ("noindex, nofollow", true),
        ("none", true),
        ("dragline: nofollow", true),
        ("DragLine : NoFollow", true),
        ("otherbot: noindex, nofollow", false),
        ("otherbot: noindex, dragline: nofollow", true),
        ("dragline: noarchive, otherbot: none", false),
        ("unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, nofollow", true),
        ("otherbot: unavailable_after: 25 Jun 2031 15:00:00 GMT, nofollow", false),
        ("max-snippet: 0, max-image-preview:large, noindex", false),
        ("follow, nofollower, index", false),
        (": nofollow, ,", false),
    ];
    for (value, nofollow) in rows {
        let mut directives = Directives::default();
        directives.add_header(value, "dragline");
        let nofollow = nofollow.then_some(Nofollow::Header);
        assert_eq!(directives, Directives { nofollow }, "{value}");
    }
}

#[test]
fn headers_speak_for_the_page() {
    let tags = ["otherbot: none", "nofollow"];
    let page = read(&PageContext { x_robots_tag: &tags, ..utf8_html() }, b"<a href=/x>");
    assert_eq!((page.page_nofollow, page.references[0].nofollow), (Some(Nofollow::Header), false));
}

#[test]
fn meta_robots_and_rel() {
    let page =
        read(&utf8_html(), b"<META NAME=DRAGLINE CONTENT=' NoFollow ,x'><meta name=robots content=noindex>");
    assert_eq!(page.page_nofollow, Some(Nofollow::Meta));
    let page = read(&utf8_html(), b"<a rel='x NOFOLLOW' href=/1><a rel='ugc sponsored nofollower' href=/2>");
    assert_eq!(page.references.iter().map(|one| one.nofollow).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn every_kind_of_link() {
    let html = "<a href=1><area href=2><frame src=3><iframe src=4></iframe><link rel='x Next' href=5>\
        <link rel=prev href=6><link rel=alternate href=7><link rel='alternate stylesheet' href=no>\
        <link rel=canonical href=can><link rel=canonical href=no><link rel=icon href=no>\
        <meta http-equiv=refresh content='1;8'><svg><a xlink:href=9></a></svg>";
    let page = read(&utf8_html(), html.as_bytes());
    let found: Vec<_> = page.links().map(|(one, text)| (text, one.via)).collect();
    let expected = [
        ("1", Via::Link),
        ("2", Via::Link),
        ("3", Via::Frame),
        ("4", Via::Frame),
        ("5", Via::Rel),
        ("6", Via::Rel),
        ("7", Via::Rel),
        ("8", Via::Refresh),
        ("9", Via::Link),
    ];
    assert_eq!(found, expected);
    assert_eq!(page.rel_canonical.as_deref(), Some("can"));
}

/// In a page with a `frameset` a browser drops all but frames; the reference does, this reader does not.
#[test]
fn links_beside_a_frameset_are_found() {
    let html = "<frameset><frame src=1><a href=2></frameset><a href=3><noframes><a href=no></noframes>";
    assert_eq!(texts(html), ["1", "2", "3"]);
    let reference = reference::read(&utf8_html(), html.as_bytes(), encoding_rs::UTF_8);
    assert_eq!(reference.text, "1");
}

#[test]
fn scripts_end_where_browsers_end_them() {
    let rows: [(&str, &[&str]); 8] = [
        ("<script><!--</script><a href=1>", &["1"]),
        ("<script><!--<script></script><a href=1>", &[]),
        ("<script><!--<script></script></script><a href=1>", &["1"]),
        ("<script><!--<script>--></script><a href=1>", &["1"]),
        ("<script><!--<script x</script ></script><a href=1>", &["1"]),
        ("<script><!--<scripty></script><a href=1>", &["1"]),
        ("<script></scripty></SCRIPT a='>'><a href=1>", &["1"]),
        ("<script><!-><script></script><a href=1>", &["1"]),
    ];
    for (html, expected) in rows {
        assert_eq!(texts(html), expected, "{html}");
    }
}

#[test]
fn foreign_content_is_markup_even_in_title_and_style() {
    let rows: [(&str, &[&str]); 8] = [
        ("<svg><style><a href=1></style>", &["1"]),
        ("<svg><title><style><a href=no></style><a href=1>", &["1"]),
        ("<svg><script/><a href=1>", &["1"]),
        ("<svg><base href=x><iframe src=no></iframe><link rel=next href=no></svg><a href=1>", &["1"]),
        ("<svg><p><style><a href=no></style><a href=1>", &["1"]),
        ("<svg><![CDATA[<a href=no>]]><a href=1>", &["1"]),
        ("<p><![CDATA[<a href=no>]]><a href=1>", &["1"]),
        ("<math><annotation-xml encoding=text/html><style><a href=no></style><a href=1>", &["1"]),
    ];
    for (html, expected) in rows {
        assert_eq!(texts(html), expected, "{html}");
    }
}

#[test]
fn xhtml_closes_any_element_at_once() {
    let html = "<script src='x'/><a href='1'/><title/><iframe src='2'/><template/><![CDATA[<a href='no'>]]><a href='3'/>";
    let page = read(&context(Some("application/xhtml+xml; charset=utf-8")), html.as_bytes());
    assert_eq!(page.text, "123");
    assert_eq!(texts(html), Vec::<String>::new());
}

#[test]
fn titles() {
    let rows = [
        ("<title>\n a  &amp;\tb </title>", Some("a & b")),
        ("<svg><title>no</title></svg><title>yes</title><title>no</title>", Some("yes")),
        ("<template><title>no</title></template>", None),
        ("<title></title><title>no</title>", None),
        ("<title>a</titl b</TITLE>", Some("a</titl b")),
        ("<title>a < b </ c</title >", Some("a < b </ c")),
        ("<title>open", Some("open")),
    ];
    for (html, title) in rows {
        assert_eq!(read(&utf8_html(), html.as_bytes()).title.as_deref(), title, "{html}");
        assert_eq!(read_in_pieces(&utf8_html(), html.as_bytes(), 1).title.as_deref(), title, "{html}");
    }
}

#[test]
fn what_counts_as_html() {
    assert!(is_html(Some("text/html"), b"GIF89a"));
    assert!(is_html(Some(" Text/HTML ; charset=x"), b""));
    assert!(is_html(Some("application/xhtml+xml"), b""));
    assert!(!is_html(Some("text/plain"), b"<html>"));
    assert!(!is_html(Some("application/pdf"), b"<html>"));
    assert!(is_html(None, b"\n <!DocType html>"));
    assert!(is_html(Some(""), b"<a href=x>"));
    assert!(is_html(None, b"\xEF\xBB\xBF<p>"));
    assert!(!is_html(None, b"<abbr>"));
    assert!(!is_html(None, b"%PDF-1.7 <html>"));
    assert!(!is_html(None, b""));
    let page = read(&context(Some("text/plain")), b"<a href=x>");
    assert!(!page.is_html && page.references.is_empty());
}

#[test]
fn base_urls_fall_back_to_the_page() {
    let page_url = Url::parse("http://a.test/d/p").unwrap();
    let base_of = |base: &str| {
        let html = format!("<base href='{base}'>");
        read(&utf8_html(), html.as_bytes()).base_url(&page_url).to_string()
    };
    assert_eq!(base_of("/x/"), "http://a.test/x/");
    for unusable in ["http://[", "data:,", " JavaScript:x", ""] {
        assert_eq!(base_of(unusable), "http://a.test/d/p");
    }
}
