//! `--canonical`: the links of a page count as long as the page that it names has not given its own.

use crate::harness::{Run, crawl};
use crate::server::{Answer, Body, Script, Server, page};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A page that names another one as canonical, and links to the others.
fn naming(canonical: &str, links: &[&str]) -> Answer {
    let links: Vec<String> = links.iter().map(|link| format!("<a href={link}>x</a>")).collect();
    Answer::html(format!("<link rel=canonical href={canonical}>{}", links.concat()))
}

/// Crawls from the front page, one page after another; what was requested, and what the crawl left.
fn requested(script: Script, arguments: &[&str]) -> (Vec<String>, Run, Server) {
    let script = script.rule(|request| request.path.starts_with("/from-").then(|| Answer::text("leaf")));
    let server = Server::start(script);
    let seed = server.url("/");
    let run = crawl(&[&[seed.as_str(), "--canonical", "--concurrency", "1"], arguments].concat());
    (server.pages(), run, server)
}

#[test]
fn once_a_page_gave_its_links_those_of_further_copies_are_skipped() {
    let script = Script::new()
        .on("/", page(&["/p?s=1"]))
        .on("/p?s=1", naming("/p", &["/from-1", "/p?s=2"]))
        .on("/p", naming("/p", &["/from-p"]))
        .on("/p?s=2", naming("/p", &["/from-2", "/from-p"]));
    let (pages, run, server) = requested(script, &[]);
    assert_eq!(pages, ["/", "/from-1", "/from-p", "/p", "/p?s=1", "/p?s=2"]);
    assert_eq!(run.skips("not_canonical"), 2);
    assert_eq!(run.skip_reason(&server.url("/from-2")), Some("not_canonical"));
    let named = run.page(&server.url("/p"));
    assert_eq!((&named["via"], &named["depth"]), (&"canonical".into(), &1.into()));
    assert_eq!(run.page(&server.url("/p?s=2"))["rel_canonical"], server.url("/p"));
}

/// Whichever of two is met first, and if both are: one gives its links.
#[test]
fn of_two_that_name_each_other_the_first_gives_its_links() {
    for (links, expected) in [
        (&["/a"][..], ["/", "/a", "/b", "/from-a"]),
        (&["/b"][..], ["/", "/a", "/b", "/from-b"]),
        (&["/a", "/b"][..], ["/", "/a", "/b", "/from-a"]),
        (&["/b", "/a"][..], ["/", "/a", "/b", "/from-b"]),
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
    assert_eq!(pages, ["/", "/1", "/2", "/3", "/from-1", "/from-2", "/from-3"]);
    assert_eq!(run.skip_reason(&server.url("/4")), Some("too_many_redirects"));
    assert_eq!(run.skips("not_canonical"), 0);
}

/// What is named may be no page, or no page with links: it is a hint, and costs nobody's links.
#[test]
fn whatever_becomes_of_the_page_named_no_link_is_lost() {
    for named in
        ["/gone", "/denied", "/back", "/away", "/broken", "/short", "/document", "/quiet", "/list?c=3"]
    {
        let script = Script::new()
            .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /denied\n"))
            .on("/", page(&["/list?c=1", "/list?c=2", "/p?s=1", "/p?s=2"]))
            .on("/p?s=1", naming(named, &["/from-1"]))
            .on("/p?s=2", naming(named, &["/from-2", "/p?s=3"]))
            .on("/p?s=3", naming(named, &["/from-3"]))
            .on("/back", Answer::redirect(301, "/p?s=1"))
            .on("/away", Answer::redirect(301, "http://elsewhere.test/"))
            .on("/broken", Answer::status(0).body(Body::Close))
            .on("/short", page(&["/from-short"]).body(Body::Short))
            .on("/document", Answer::status(200).header("Content-Type", "application/pdf").content("%PDF"))
            .on("/quiet", page(&["/from-quiet"]).header("X-Robots-Tag", "nofollow"));
        let (pages, run, server) = requested(script, &["--retries", "0", "--max-query-variants", "4"]);
        for from in ["/from-1", "/from-2", "/from-3"] {
            assert!(pages.iter().any(|path| path == from), "{named}: {pages:?}");
        }
        assert_eq!(run.skips("not_canonical"), 0, "{named}");
        if named == "/gone" {
            assert_eq!(run.page(&server.url(named))["via"], "canonical");
        }
    }
}

#[test]
fn a_page_named_that_a_cap_refuses_leaves_the_links_in_place() {
    let script = Script::new()
        .on("/", page(&["/list?c=1", "/list?c=2", "/p"]))
        .on("/p", naming("/list?c=3", &["/from-p"]))
        .on("/list?c=1", Answer::text("1"))
        .on("/list?c=2", naming("/deep/deep/deep/deep", &["/from-list"]));
    let given = ["--max-query-variants", "2", "--max-repeated-segments", "3"];
    let (pages, run, server) = requested(script, &given);
    assert_eq!(pages, ["/", "/from-list", "/from-p", "/list?c=1", "/list?c=2", "/p"]);
    assert_eq!(run.skip_reason(&server.url("/list?c=3")), Some("query_variants"));
    assert_eq!(run.skips("not_canonical"), 0);
}

/// Each page is linked under a new session each time. Without the option that has no end.
#[test]
fn session_ids_end_where_pages_name_themselves_without() {
    let next = AtomicUsize::new(0);
    let site = 12;
    let script = Script::new().rule(move |request| {
        let path = request.path.split('?').next()?;
        if path == "/" {
            return Some(page(&["/page0?sid=first"]));
        }
        let number: usize = path.strip_prefix("/page")?.parse().ok()?;
        let links: Vec<String> = (0..site)
            .filter(|other| *other != number)
            .map(|other| format!("/page{other}?sid={}", next.fetch_add(1, Ordering::Relaxed)))
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        Some(naming(path, &links))
    });
    let (pages, run, _) = requested(script, &["--max-pages", "5000"]);
    assert_eq!(run.code, Some(0), "{} pages: {}", pages.len(), run.stderr);
    for number in 0..site {
        assert!(pages.contains(&format!("/page{number}")), "{number}: {pages:?}");
    }
    assert!(run.skips("not_canonical") > 0);
}

/// Levels of four pages, each of which links to all of the next level under sessions of its own. Were copies
/// read before the pages themselves, there would be four times as many from level to level.
#[test]
fn copies_do_not_multiply_from_level_to_level() {
    let next = AtomicUsize::new(0);
    let (levels, wide) = (9, 4);
    let script = Script::new().rule(move |request| {
        let path = request.path.split('?').next()?;
        let level: usize = match path.strip_prefix("/level") {
            Some(rest) => rest.split('-').next()?.parse().ok()?,
            None if path == "/" => 0,
            None => return None,
        };
        let links: Vec<String> = (0..if level < levels { wide } else { 0 })
            .map(|page| format!("/level{}-{page}?sid={}", level + 1, next.fetch_add(1, Ordering::Relaxed)))
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        Some(naming(path, &links))
    });
    let (pages, run, _) = requested(script, &["--max-pages", "5000"]);
    assert_eq!(run.code, Some(0), "{} pages: {}", pages.len(), run.stderr);
    for (level, page) in (1..=levels).flat_map(|level| (0..wide).map(move |page| (level, page))) {
        assert!(pages.contains(&format!("/level{level}-{page}")), "{level} {page}");
    }
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
