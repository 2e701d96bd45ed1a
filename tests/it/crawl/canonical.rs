//! `--canonical`: a page that names another one as canonical hands its place to that one.

use crate::harness::{Run, crawl};
use crate::server::{Answer, Script, Server, page};

/// A page that names another one as canonical, and links to the others.
fn naming(canonical: &str, links: &[&str]) -> Answer {
    let links: Vec<String> = links.iter().map(|link| format!("<a href={link}>x</a>")).collect();
    Answer::html(format!("<link rel=canonical href={canonical}>{}", links.concat()))
}

/// Crawls from the front page; what was requested, and what the crawl left.
fn requested(script: Script, arguments: &[&str]) -> (Vec<String>, Run, Server) {
    let script = script.rule(|request| request.path.starts_with("/from-").then(|| Answer::text("leaf")));
    let server = Server::start(script);
    let seed = server.url("/");
    let run = crawl(&[&[seed.as_str(), "--canonical"], arguments].concat());
    (server.pages(), run, server)
}

#[test]
fn the_links_of_copies_are_skipped_and_those_of_the_page_are_read() {
    let script = Script::new()
        .on("/", page(&["/p?s=1", "/p?s=2"]))
        .on("/p?s=1", naming("/p", &["/from-1", "/from-p"]))
        .on("/p?s=2", naming("/p", &["/from-2"]))
        .on("/p", naming("/p", &["/from-p"]));
    let (pages, run, server) = requested(script, &[]);
    assert_eq!(pages, ["/", "/from-p", "/p", "/p?s=1", "/p?s=2"]);
    assert_eq!(run.skips("not_canonical"), 3);
    assert_eq!(run.skip_reason(&server.url("/from-2")), Some("not_canonical"));
    let named = run.page(&server.url("/p"));
    assert_eq!((&named["via"], &named["depth"]), (&"canonical".into(), &1.into()));
    assert_eq!(run.page(&server.url("/p?s=2"))["rel_canonical"], server.url("/p"));
}

/// Whichever of two is met first, and if both are: one keeps its links.
#[test]
fn of_two_that_name_each_other_one_keeps_its_links() {
    for (links, expected) in [
        (&["/a"][..], ["/", "/a", "/b", "/from-b"]),
        (&["/b"][..], ["/", "/a", "/b", "/from-a"]),
        (&["/a", "/b"][..], ["/", "/a", "/b", "/from-a"]),
        (&["/b", "/a"][..], ["/", "/a", "/b", "/from-a"]),
    ] {
        let script = Script::new()
            .on("/", page(links))
            .on("/a", naming("/b", &["/from-a"]))
            .on("/b", naming("/a", &["/from-b"]));
        let (pages, run, _) = requested(script, &[]);
        assert_eq!(pages, expected, "{links:?}");
        assert_eq!(run.skips("not_canonical"), 1);
    }
}

#[test]
fn a_chain_is_followed_as_far_as_redirects_would_be() {
    let script = Script::new()
        .on("/", page(&["/1"]))
        .on("/1", naming("/2", &["/from-1"]))
        .on("/2", naming("/3", &["/from-2"]))
        .on("/3", naming("/4", &["/from-3"]))
        .on("/4", naming("/4", &["/from-4"]));
    let (pages, run, server) = requested(script, &["--max-redirects", "2"]);
    assert_eq!(pages, ["/", "/1", "/2", "/3", "/from-2", "/from-3"]);
    assert_eq!(run.skip_reason(&server.url("/4")), Some("too_many_redirects"));
    assert_eq!(run.skip_reason(&server.url("/from-1")), Some("not_canonical"));
}

#[test]
fn a_missing_canonical_page_has_its_record_and_the_skips_are_counted() {
    let script = Script::new().on("/", page(&["/p"])).on("/p", naming("/gone", &["/from-p"]));
    let (pages, run, server) = requested(script, &[]);
    assert_eq!(pages, ["/", "/gone", "/p"]);
    assert_eq!(run.page(&server.url("/gone"))["status"], 404);
    assert_eq!(run.skips("not_canonical"), 1);
}

#[test]
fn one_that_is_out_of_scope_or_only_a_spelling_changes_nothing() {
    for other in
        ["http://elsewhere.test/p", "http://www.127.0.0.1.test/p", "/%70", "/p#x", "data:,", "http://["]
    {
        let script = Script::new().on("/", page(&["/p"])).on("/p", naming(other, &["/from-p"]));
        let (pages, run, _) = requested(script, &[]);
        assert_eq!(pages, ["/", "/from-p", "/p"], "{other}");
        assert_eq!(run.skips("not_canonical"), 0);
    }
    // most often such a page leads back by a redirect, and then neither would be read
    let server = Server::start(Script::new().rule(|request| {
        let host = request.header("host")?;
        match request.path.as_str() {
            "/" if host.starts_with("www.") => {
                Some(Answer::redirect(301, &format!("http://{}/", &host[4..])))
            }
            "/" => Some(naming(&format!("http://www.{host}/"), &["/from-p"])),
            "/from-p" => Some(Answer::text("leaf")),
            _ => None,
        }
    }));
    let seed = server.url_of("a.test", "/");
    crawl(&[&seed, "--canonical", "--resolve", "*.test:127.0.0.1"]);
    assert_eq!(server.pages(), ["/", "/from-p"]);
}

#[test]
fn without_the_option_it_is_only_recorded() {
    let script = Script::new().on("/", naming("/true", &["/leaf"])).on("/leaf", Answer::text("leaf"));
    let server = Server::start(script);
    crawl(&[server.url("/")]);
    assert_eq!(server.pages(), ["/", "/leaf"]);
}
