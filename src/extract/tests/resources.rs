//! What a page embeds, found where it is asked for.

use super::*;

fn resources(html: &str) -> Vec<String> {
    let page = read(&with_resources(utf8_html()), html.as_bytes());
    assert_eq!(read_in_pieces(&with_resources(utf8_html()), html.as_bytes(), 1), page, "{html}");
    assert!(read(&utf8_html(), html.as_bytes()).links().all(|(one, _)| one.via != Via::Resource));
    page.links().filter(|(one, _)| one.via == Via::Resource).map(|(_, text)| text.to_owned()).collect()
}

#[test]
fn every_kind_of_resource() {
    let rows: &[(&str, &[&str])] = &[
        ("<img src=1 srcset='2 1x, 3 2x'><IMAGE SRC=4>", &["1", "2", "3", "4"]),
        ("<picture><source srcset='1 1w'><img src=2></picture>", &["1", "2"]),
        ("<script src=1><img src=no></script><script>x</script>", &["1"]),
        (
            "<video src=1 poster=2><source src=3><track src=4></video><audio src=5>",
            &["1", "2", "3", "4", "5"],
        ),
        ("<embed src=1><object data=2></object><object src=no>", &["1", "2"]),
        ("<input type=image src=1><input src=no><input type=Image src='&#50;'>", &["1", "2"]),
        (
            "<body background=1><body background=no><table background=2><td background=3><th background=4>",
            &["1", "2", "3", "4"],
        ),
        (
            "<link rel='x StyleSheet' href=1><link rel='shortcut icon' href=2><link rel=manifest href=3>",
            &["1", "2", "3"],
        ),
        (
            "<link rel=preload href=1 imagesrcset='2, 3 2x'><link rel=modulepreload href=4>",
            &["1", "2", "3", "4"],
        ),
        (
            "<link rel=apple-touch-icon href=1><link rel=mask-icon href=2><link rel='alternate stylesheet' href=3>",
            &["1", "2", "3"],
        ),
        (
            "<link rel=prefetch href=no><link rel=preconnect href=no><link rel=next href=no><link href=no>",
            &[],
        ),
        (
            "<svg><image href=1 xlink:href=no /><image xlink:href=2 /><use href='3#a'/><feImage href=4 /></svg>",
            &["1", "2", "3", "4"],
        ),
        ("<svg><script href=1></script><video src=no /><use href='#a'/></svg><feImage href=no>", &["1"]),
        ("<template><img src=no></template><!-- <img src=no> --><title><img src=no></title>", &[]),
        ("<noscript><img src=1></noscript>", &["1"]),
        (
            "<img src=''><img src=' '><img src='#a'><img src=' DATA:,x'><img srcset='data:,x 1x, 1 2x'>",
            &["1"],
        ),
        ("<img alt=x><object><script></script><body><video>", &[]),
    ];
    for (html, expected) in rows {
        assert_eq!(resources(html), *expected, "{html}");
    }
}

/// A picture of a megabyte within the page is neither a link nor one too many.
#[test]
fn a_large_picture_in_the_page_is_none_of_its_links() {
    let picture = format!("data:image/png;base64,{}", "A".repeat(1 << 20));
    let html = format!("<img src='{picture}'><img srcset='{picture} 1x'><a href=/1><img src=/2>");
    let page = read(&with_resources(utf8_html()), html.as_bytes());
    assert_eq!((page.text.as_str(), page.links_found()), ("/1/2", 2));
}

#[test]
fn nofollow_is_said_of_links_alone() {
    let html = "<meta name=robots content=nofollow><img src=/1><a rel=nofollow href=/2>";
    let page = read(&with_resources(utf8_html()), html.as_bytes());
    let found: Vec<_> = page.links().map(|(one, text)| (text, one.nofollow)).collect();
    assert_eq!((page.page_nofollow, found), (Some(Nofollow::Meta), vec![("/1", false), ("/2", true)]));
}
