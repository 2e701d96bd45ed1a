//! Links as pages really write them, from the markup to the request line.

use crate::harness::crawl;
use crate::server::{Answer, Script, Server, page};

/// The paths requested beyond the page itself, when `/dir/p.html` is this HTML.
fn requested(html: impl Into<Vec<u8>>) -> Vec<String> {
    requested_from(Answer::html(html))
}

fn requested_from(answer: Answer) -> Vec<String> {
    let script = Script::new().on("/dir/p.html", answer).rule(|request| {
        let other = request.path != "/dir/p.html" && request.path != "/robots.txt";
        other.then(|| Answer::text("leaf"))
    });
    let server = Server::start(script);
    crawl(&[server.url("/dir/p.html")]);
    let mut pages = server.pages();
    pages.retain(|path| path != "/dir/p.html");
    pages
}

#[test]
fn white_space_and_line_breaks_around_a_link_are_no_part_of_it() {
    assert_eq!(requested("<a href=\"\n\t /feeds/at\nom.xml\n \">x</a>"), ["/feeds/atom.xml"]);
}

#[test]
fn other_schemes_are_no_paths() {
    let html = "<a href='C:\\pics\\a.png'>x</a><a href='MAILTO:x@a.test'>x</a><a href='tel:+1'>x</a>\
        <a href='javascript:;'>x</a><a href=' JavaScript:go()'>x</a><a href='data:text/html,x'>x</a>";
    assert_eq!(requested(html), Vec::<String>::new());
}

#[test]
fn the_base_counts_and_an_unusable_one_does_not() {
    assert_eq!(requested("<base href='/forum/'><a href='t/5'>x</a>"), ["/forum/t/5"]);
    assert_eq!(requested("<base href='javascript:void 0'><a href='p'>x</a>"), ["/dir/p"]);
    assert_eq!(requested("<base href='/one/'><base href='/two/'><a href='x'>x</a>"), ["/one/x"]);
}

#[test]
fn character_references_are_decoded() {
    let html = "<a href='?a=1&amp;b=2'>x</a><a href='?a=1&#38;c=3'>x</a><a href='?a=1&#x26;d=4'>x</a>";
    assert_eq!(requested(html), ["/dir/p.html?a=1&b=2", "/dir/p.html?a=1&c=3", "/dir/p.html?a=1&d=4"]);
}

#[test]
fn every_element_that_leads_somewhere_is_followed() {
    let html = "<link rel=next href=/next><link rel='alternate nofoo' href=/alternate><link rel=stylesheet href=/css>\
        <meta http-equiv=refresh content='0; url=/refresh'><map><area href=/area></map><iframe src=/iframe></iframe>\
        <script>t(\"./guess\")</script><!-- <a href=/comment>x</a> --><template></template><a name=/name>x</a>";
    assert_eq!(requested(html), ["/alternate", "/area", "/iframe", "/next", "/refresh"]);
    assert_eq!(requested("<frameset><frame src=/frame></frameset>"), ["/frame"]);
}

#[test]
fn what_is_requested_is_the_link_as_written() {
    let html = "<a href='/index.php?/topic/5/&a'>x</a><a href='/ci.lesson study'>x</a><a href='/a%2fb'>x</a>\
        <a href='/%url%/'>x</a><a href='//'>x</a><a href='/detail#overview'>x</a><a href='/x/../y'>x</a>";
    let expected = ["/%url%/", "/a%2fb", "/ci.lesson%20study", "/detail", "/index.php?/topic/5/&a", "/y"];
    assert_eq!(requested(html), expected);
}

#[test]
fn a_query_is_coded_in_the_page_s_own_charset() {
    let answer = Answer::status(200)
        .header("Content-Type", "text/html; charset=windows-1252")
        .content(b"<a href='/\xe9?q=\xe9'>x</a>".to_vec());
    assert_eq!(requested_from(answer), ["/%C3%A9?q=%E9"]);
}

#[test]
fn nofollow_is_heeded_wherever_it_stands() {
    assert_eq!(requested("<a rel='noopener NoFollow' href=/a>x</a><a href=/b>x</a>"), ["/b"]);
    assert_eq!(
        requested("<meta name=ROBOTS content='noindex, NoFollow'><a href=/a>x</a>"),
        Vec::<String>::new()
    );
    let both_ways =
        "<a rel=nofollow href=/a>x</a><a href=/a>x</a><a href=/b>x</a><a rel=nofollow href=/b>x</a>";
    assert_eq!(requested(both_ways), ["/a", "/b"], "one link that may be followed is enough");
    let with_header = |value: &str| Answer::html("<a href=/a>x</a>").header("X-Robots-Tag", value);
    assert_eq!(requested_from(with_header("none")), Vec::<String>::new());
    assert_eq!(requested_from(with_header("otherbot: nofollow")), ["/a"]);
    assert_eq!(requested_from(with_header("dragline: nofollow")), Vec::<String>::new());
}

#[test]
fn nofollow_is_overruled_on_request_and_robots_txt_is_not() {
    let html =
        "<meta name=robots content=nofollow><a rel=nofollow href=/a>x</a><a href=/b>x</a><a href=/c>x</a>";
    let script = Script::new()
        .on("/", Answer::html(html).header("X-Robots-Tag", "none"))
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /c"))
        .rule(|request| matches!(request.path.as_str(), "/a" | "/b").then(|| Answer::text("leaf")));
    let server = Server::start(script);
    let run = crawl(&[&server.url("/"), "--follow-nofollow"]);
    assert_eq!(server.pages(), ["/", "/a", "/b"]);
    assert_eq!((run.skips("nofollow"), run.skips("robots_denied")), (0, 1));
}

#[test]
fn of_several_types_the_last_one_counts() {
    let of_types = |types: &[&str]| {
        let answer = types.iter().fold(Answer::status(200), |answer, one| answer.header("Content-Type", one));
        requested_from(answer.content("<a href=/x>x</a>"))
    };
    assert_eq!(of_types(&["text/plain", "text/html"]), ["/x"]);
    assert_eq!(of_types(&["text/html", "text/plain"]), Vec::<String>::new());
    assert_eq!(of_types(&["text/html;charset=utf-8", "nonsense"]), ["/x"]);
    assert_eq!(of_types(&["text/plain, text/html"]), ["/x"]);
}

#[test]
fn what_a_page_says_of_itself_is_recorded() {
    let html = "<head><title> A &amp; B\n </title><link rel=canonical href=/true></head><a href=/x>x</a><a href=/x>y</a>";
    let server = Server::start(Script::new().on("/", Answer::html(html)).on("/x", page::<&str>(&[])));
    let run = crawl(&[server.url("/")]);
    let record = run.page(&server.url("/"));
    assert_eq!(record["title"], "A & B");
    assert_eq!(record["rel_canonical"], server.url("/true"));
    assert_eq!(record["charset"], "UTF-8");
    assert_eq!(record["via"], "seed");
    assert_eq!(server.count("/true"), 0, "rel=canonical is recorded, not followed");
    let found = run.page(&server.url("/x"));
    assert_eq!((&found["via"], &found["depth"]), (&"link".into(), &1.into()));
    assert_eq!(found["referrer"], server.url("/"));
}
