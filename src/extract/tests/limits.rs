//! Bounds hold, and what is beyond them is counted.

use super::*;

fn limited(max_links: usize, max_link_bytes: usize) -> PageContext<'static> {
    PageContext { limits: ExtractLimits { max_links, max_link_bytes }, ..utf8_html() }
}

#[test]
fn links_past_the_limits_are_dropped_and_counted() {
    let html = "<a href=/a><a href=/b><a href=/a><a href=/c><a href=/c><a href=/b>";
    let page = read(&limited(2, 1000), html.as_bytes());
    assert_eq!(page.text, "/a/b");
    assert_eq!((page.links_dropped, page.repeated_references, page.links_found()), (2, 2, 6));
    let page = read(&limited(10, 3), html.as_bytes());
    assert_eq!(page.text, "/a");
    assert_eq!(page.links_dropped, 4);
}

#[test]
fn equal_links_are_folded_and_counted() {
    let page = read(&utf8_html(), b"<a href=/a#1><a href=/a rel=nofollow><a href='/a#2'><iframe src=/a>");
    let seen: Vec<_> = page.links().map(|(one, text)| (text, one.via, one.nofollow, one.repeats)).collect();
    assert_eq!(seen, [("/a", Via::Link, false, 1), ("/a", Via::Link, true, 0), ("/a", Via::Frame, false, 0)]);
    let context = PageContext { keep_fragments: true, ..utf8_html() };
    assert_eq!(read(&context, b"<a href=/a#1><a href=/a#2>").text, "/a#1/a#2");
}

#[test]
fn an_overlong_value_is_passed_over_and_the_next_is_found() {
    let long = "z".repeat(70_000);
    for (html, dropped) in [
        (format!("<a href='/{long}'><a href=/ok>"), 1),
        (format!("<a href=/{long} rel=nofollow><a href=/ok>"), 1),
        (format!("<a {long}=/no href=/ok>"), 0),
        (format!("<a title='{long}' href=/ok>"), 0),
        (format!("<{long} href=/no><a href=/ok>"), 0),
        (format!("<!--{long}--><title>{long}</title><a href=/ok>"), 0),
        (format!("<base href='/{long}'><base href=/no/><a href=/ok>"), 0),
    ] {
        for size in [999, usize::MAX] {
            let page = read_in_pieces(&utf8_html(), html.as_bytes(), size);
            assert_eq!((page.text.as_str(), page.links_dropped), ("/ok", dropped));
            assert_eq!(page.base.as_deref().unwrap_or_default(), "");
        }
    }
}

#[test]
fn a_title_is_cut_at_a_character() {
    let page = read(&utf8_html(), format!("<title>{}</title>", "é".repeat(1000)).as_bytes());
    assert_eq!(page.title.as_deref(), Some("é".repeat(256).as_str()));
    let page = read(&utf8_html(), format!("<title>x{}</title>", "é".repeat(1000)).as_bytes());
    assert_eq!(page.title.map(|title| title.len()), Some(511));
}

#[test]
fn deep_nesting_of_any_kind_ends_well() {
    for tag in ["<div>", "<svg>", "<svg><g>", "<template>", "<svg><foreignObject>", "<math><mi>", "<svg></p>"]
    {
        let html = format!("{}<a href=/deep>", tag.repeat(50_000));
        let expected: &[&str] = if tag == "<template>" { &[] } else { &["/deep"] };
        assert_eq!(texts(&html), expected, "{tag}");
    }
}

#[test]
fn many_different_links_stay_apart() {
    let html = (0..50_000).map(|number| format!("<a href=/{number}>")).collect::<Vec<_>>().concat();
    let page = read(&utf8_html(), html.repeat(2).as_bytes());
    assert_eq!((page.references.len(), page.repeated_references), (50_000, 50_000));
}

#[test]
fn a_reader_forgets_the_last_page() {
    let mut reader = PageReader::new(&utf8_html());
    reader.feed(b"<base href=/b/><title>t<a href=/1></title><a href=/2><meta name=robots content=none><template><svg>");
    reader.finish();
    reader.reset(&utf8_html());
    reader.feed(b"<a href=/3>");
    assert_eq!(reader.finish(), read(&utf8_html(), b"<a href=/3>"));
}
