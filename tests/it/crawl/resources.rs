//! `--resources`: what pages embed is fetched with them.

use crate::harness::{Run, crawl};
use crate::server::{Answer, Script, Server};

const FRONT: &str = "<link rel=stylesheet href=/c.css><script src=/s.js></script><a href=/page>x</a>\
    <img src=/i.png srcset='/i1.png 1x, /i,2.png 2x'><img src='data:image/png;base64,AA=='>\
    <video src=/v.mp4 poster=/p.jpg></video><object data=/o.html></object><embed src=/e.svg>\
    <img src=/private/i.png><img src=http://other.test/i.png><meta name=robots content=nofollow>";

/// A page that embeds things, one of which is a page itself.
fn site() -> Server {
    let object = "<a href=/from-object>x</a><img src=/of-object.png>";
    let script = Script::new()
        .on("/", Answer::html(FRONT))
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /private/"))
        .on(
            "/c.css",
            Answer::status(200).header("Content-Type", "text/css").content("a{background:url(/no.png)}"),
        )
        .on("/o.html", Answer::html(object))
        .on("/page", Answer::html("<img src=/of-page.png>"));
    Server::start(script.rule(|request| {
        let leaf = [".png", ".jpg", ".js", ".mp4", ".svg", "/from-object", "/both"];
        leaf.iter().any(|end| request.path.ends_with(end)).then(|| Answer::text("leaf"))
    }))
}

const EMBEDDED: [&str; 9] =
    ["/c.css", "/e.svg", "/i,2.png", "/i.png", "/i1.png", "/o.html", "/p.jpg", "/s.js", "/v.mp4"];

fn requested(server: &Server, arguments: &[&str]) -> (Vec<String>, Run) {
    let seed = server.url("/");
    let run = crawl(&[&[seed.as_str()], arguments].concat());
    (server.pages(), run)
}

#[test]
fn they_are_left_alone_unless_asked_for() {
    assert_eq!(requested(&site(), &[]).0, ["/"]);
}

#[test]
fn they_are_fetched_with_their_page_however_deep_and_whatever_nofollow_says() {
    let server = site();
    let (pages, run) = requested(&server, &["--resources", "--depth", "0"]);
    assert_eq!(pages, [&["/"], &EMBEDDED[..]].concat());
    let image = run.page(&server.url("/i,2.png"));
    assert_eq!((&image["via"], &image["depth"]), (&"resource".into(), &0.into()));
    assert_eq!(image["referrer"], server.url("/"));
    assert_eq!(run.skip_reason(&server.url("/private/i.png")), Some("robots_denied"));
    assert_eq!(run.skip_reason("http://other.test/i.png"), Some("out_of_scope"));
    assert_eq!(run.skip_reason(&server.url("/page")), Some("nofollow"));
    assert_eq!(run.skips("other_scheme"), 0, "what stands in the page as data: is no link");
    // an embedded page is a page, but what it embeds is a step further
    assert_eq!(run.skip_reason(&server.url("/from-object")), Some("too_deep"));
    assert_eq!(run.skip_reason(&server.url("/of-object.png")), Some("too_deep"));
}

#[test]
fn those_of_every_page_are_fetched() {
    let (pages, _) = requested(&site(), &["--resources", "--follow-nofollow"]);
    let further = ["/from-object", "/of-object.png", "/of-page.png", "/page"];
    let mut expected = [&["/"], &EMBEDDED[..], &further[..]].concat();
    expected.sort_unstable();
    assert_eq!(pages, expected);
}

/// Pages that embed pages without end are bounded by the depth, as links are.
#[test]
fn a_chain_of_embedded_pages_ends_at_the_depth() {
    let server = Server::start(Script::new().rule(|request| {
        let number = request.path.strip_prefix("/o/")?.parse::<u32>().ok()?;
        Some(Answer::html(format!("<object data=/o/{}></object>", number + 1)))
    }));
    crawl(&[&server.url("/o/0"), "--resources", "--depth", "2"]);
    assert_eq!(server.pages(), ["/o/0", "/o/1", "/o/2", "/o/3"]);
}

#[test]
fn what_is_linked_too_deep_and_embedded_as_well_is_fetched() {
    let html = "<a href=/both>x</a><img src=/both><a rel=nofollow href=/a.png>x</a><img src=/a.png>";
    let script = Script::new()
        .on("/", Answer::html(html))
        .rule(|request| matches!(request.path.as_str(), "/both" | "/a.png").then(|| Answer::text("leaf")));
    let server = Server::start(script);
    let (pages, run) = requested(&server, &["--resources", "--depth", "0"]);
    assert_eq!(pages, ["/", "/a.png", "/both"]);
    assert_eq!(run.page(&server.url("/both"))["via"], "resource");
}
