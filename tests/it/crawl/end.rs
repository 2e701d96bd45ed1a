//! A crawl ends when nothing is left to do: not sooner, and not never.

use crate::harness::{crawl, crawl_into, size};
use crate::server::{Answer, Body, Script, Server, page};
use std::time::Duration;
use tempfile::TempDir;

#[test]
fn a_slow_answer_whose_links_come_last_is_waited_for() {
    let script = Script::new()
        .on("/", page(&["/quick", "/slow"]))
        .on("/quick", Answer::html("quick"))
        .on("/slow", page(&["/1", "/2", "/3"]).after(Duration::from_millis(1500)))
        .on("/1", Answer::html("1"))
        .on("/2", Answer::html("2").after(Duration::from_millis(500)))
        .on("/3", page(&["/4"]).body(Body::Drip(10, Duration::from_millis(50))))
        .on("/4", Answer::html("4"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.pages(), ["/", "/1", "/2", "/3", "/4", "/quick", "/slow"]);
    assert_eq!(run.number("pages.ok"), 7);
    assert_eq!((run.number("urls.queued"), run.number("urls.doubts_pending")), (0, 0));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn a_chain_is_followed_to_its_end() {
    let script = Script::new().rule(|request| {
        let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
        Some(if n < 300 { page(&[format!("/c{}", n + 1)]) } else { Answer::html("end") })
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/c0")]);
    assert_eq!(run.number("pages.ok"), 301);
    assert_eq!(run.page(&server.url("/c300"))["depth"], 300);
}

#[test]
fn a_chain_is_followed_to_its_end_with_a_filter_far_too_small() {
    for dedup in ["two-stage", "exact"] {
        let script = Script::new().rule(|request| {
            let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
            Some(page(&[format!("/c{}", (n + 1) % 2000), format!("/c{}", n * 7 % 2000)]))
        });
        let server = Server::start(script);
        let seed = server.url("/c0");
        let small: &[&str] =
            if dedup == "exact" { &[] } else { &["--expected-urls", "1000", "--bits-per-url", "1"] };
        let run = crawl(&[&[seed.as_str(), "--dedup", dedup], small].concat());
        assert_eq!(run.number("pages.ok"), 2000, "{dedup}: {}", run.summary);
        assert_eq!(server.pages().len(), 2000, "{dedup}: each page is requested once");
    }
}

/// Each page of a chain links to the next alone, so that nothing is ready while a doubt waits and each is
/// settled by itself. More URLs than memory has exact keys for come first: robots.txt forbids them.
#[test]
fn a_chain_of_doubts_is_followed_to_its_end() {
    let length: u32 = size(2000, 100_000);
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /closed/\n"))
        .rule(|request| {
            let n: u32 = request.path.strip_prefix("/i")?.parse().ok()?;
            let closed = n * 1400..(n + 1) * 1400;
            Some(page(&closed.map(|number| format!("/closed/{number}")).collect::<Vec<_>>()))
        })
        .rule(move |request| {
            let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
            Some(page(&if n < length { vec![format!("/c{}", n + 1)] } else { Vec::new() }))
        });
    let server = Server::start(script);
    let mut arguments: Vec<String> = (0..70).map(|n| server.url(&format!("/i{n}"))).collect();
    arguments.push(server.url("/c0"));
    arguments.extend(["--bits-per-url", "2", "--expected-urls", "1000", "--memory", "17MiB"].map(Into::into));
    let directory = TempDir::new().unwrap();
    arguments.extend(["--delay", "0s", "--allow-private"].map(Into::into));
    let run = crawl_into(&directory.path().join("crawl"), &arguments);
    let pages = u64::from(length) + 1 + 70;
    assert_eq!((run.number("pages.ok"), run.code), (pages, Some(0)), "{}: {}", run.stderr, run.summary);
    assert_eq!(server.pages().len() as u64, pages, "each page is requested once");
    assert_eq!(run.skips("robots_denied"), 98_000, "{}", run.summary);
    assert!(run.number("urls.doubts_settled") > 1000, "{}", run.summary);
    assert_eq!(run.number("urls.doubts_pending"), 0, "{}", run.summary);
}

#[test]
fn hosts_that_are_silent_do_not_keep_the_crawl_from_ending() {
    let silent = Server::start_at(
        [127, 0, 0, 2].into(),
        Script::new().rule(|_| Some(Answer::html("").body(Body::Never))),
    );
    let links: Vec<String> = (0..20).map(|i| silent.url(&format!("/{i}"))).collect();
    let server = Server::start(Script::new().on("/", page(&links)));
    let run = crawl(&[server.url("/").as_str(), "--scope", "any", "--timeout", "1s", "--retries", "1"]);
    assert_eq!(run.number("pages.ok"), 1);
    assert_eq!(run.number("urls.queued"), 0, "{}", run.summary);
}
