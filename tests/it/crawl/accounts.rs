//! One page is one request and one record, and everything else is accounted for.

use crate::harness::crawl;
use crate::server::{Answer, Script, Server, page};

#[test]
fn a_page_is_requested_once_under_all_its_spellings() {
    let server = Server::start(Script::new().on("/~u/%C3%A9", Answer::html("x")).rule(|request| {
        let host = request.header("host")?.to_owned();
        (request.path == "/").then(|| {
            page(&[
                "/~u/%C3%A9".to_owned(),
                "/%7Eu/%c3%a9".to_owned(),
                "/~u/é".to_owned(),
                "/./~u/x/../%C3%A9#part".to_owned(),
                format!("http://{}/~u/é", host.to_uppercase()),
                format!("HTTP://me@{host}/~u/%C3%A9"),
                format!("http://{host}"),
                "?".to_owned(),
            ])
        })
    }));
    let seed = server.url_of("a.test", "/");
    let run = crawl(&[&seed, "--resolve", "a.test:127.0.0.1"]);
    let spelled: Vec<String> = server.pages().into_iter().filter(|path| path.contains('u')).collect();
    assert_eq!(spelled.len(), 1, "{spelled:?}");
    assert_eq!(server.count("/"), 1);
    assert_eq!(run.number("urls.repeats"), 6, "{}", run.summary);
}

#[test]
fn different_pages_stay_different() {
    let links =
        ["/d", "/d/", "/D", "/a%2Fb", "/a/b", "/q?a=1&b=2", "/q?b=2&a=1", "/q?a=1&b=2&utm_source=x", "/q?"];
    let script = Script::new()
        .on("/", page(&links))
        .rule(|request| (request.path != "/" && request.path != "/robots.txt").then(|| Answer::html("x")));
    let server = Server::start(script);
    crawl(&[server.url("/")]);
    assert_eq!(server.pages().len(), 10, "{:?}", server.pages());
}

#[test]
fn every_dedup_mode_and_filter_fetches_a_site_once() {
    for (dedup, filter) in [
        ("two-stage", Some("blocked")),
        ("two-stage", Some("classic")),
        ("bloom", Some("blocked")),
        ("exact", None),
    ] {
        let script = Script::new().rule(|request| {
            let n: u32 = request.path.strip_prefix("/p")?.parse().ok()?;
            let links: Vec<String> = (1..=12).map(|k| format!("/p{}", (n * 12 + k) % 400)).collect();
            Some(page(&links))
        });
        let server = Server::start(script);
        let seed = server.url("/p0");
        let mut arguments = vec![seed.as_str(), "--dedup", dedup];
        arguments.extend(filter.into_iter().flat_map(|kind| ["--filter", kind]));
        let run = crawl(&arguments);
        assert_eq!(server.pages().len(), 400, "{dedup} {filter:?}: {}", run.summary);
        assert_eq!(run.number("pages.ok"), 400);
        assert_eq!(run.number("urls.discovered"), 1 + 400 * 12);
    }
}

#[test]
fn each_skip_has_a_row_with_its_reason_and_the_rule_behind_it() {
    let links = ["http://[::1/", "mailto:x@a.test", "http://other.test/", "/no/1", "/not.pdf", "/ok"];
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /no\n"))
        .on("/", page(&links))
        .on("/ok", Answer::html("ok"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--exclude", "[.]pdf$"]);
    assert_eq!(run.number("pages.ok"), 2);
    for (reason, named, rule) in [
        ("bad_url", "http://[::1/", None),
        ("other_scheme", "mailto:x@a.test", None),
        ("out_of_scope", "http://other.test/", None),
        ("robots_denied", "/no/1", Some("/no")),
        ("excluded", "/not.pdf", Some("[.]pdf$")),
    ] {
        let rows: Vec<_> = run.skipped.iter().filter(|row| row["reason"] == reason).collect();
        assert_eq!(rows.len(), 1, "{reason}: {:?}", run.skipped);
        assert!(rows[0]["url"].as_str().is_some_and(|url| url.ends_with(named)), "{reason}: {}", rows[0]);
        if let Some(rule) = rule {
            assert!(rows[0].to_string().contains(rule), "{reason} does not name {rule}: {}", rows[0]);
        }
    }
    assert_eq!(run.skipped.len(), 5, "{:?}", run.skipped);
}

#[test]
fn what_the_summary_promises_is_there() {
    let server = Server::start(Script::new().on("/", page(&["/a"])).on("/a", Answer::html("a")));
    let run = crawl(&[server.url("/")]);
    for (object, names) in [
        ("pages", &["fetched", "ok", "failed", "by_status", "by_error"][..]),
        (
            "urls",
            &["discovered", "unique", "repeats", "doubts_pending", "doubts_settled", "rescued", "queued"],
        ),
        ("urls", &["in_flight", "skipped_before_queue", "skipped_after_queue"]),
        ("filter", &["kind", "bits", "bits_per_url", "hashes", "items", "fill_ratio", "estimated_fpr"]),
        ("filter", &["expected_pages_missed", "health"]),
        ("memory", &["budget_bytes", "peak_rss_bytes", "plan"]),
        ("bytes", &["wire", "decoded"]),
    ] {
        for name in names {
            assert!(run.summary[object].get(name).is_some(), "{object}.{name} is absent: {}", run.summary);
        }
    }
    assert!(run.summary["end_reason"].is_string() && run.summary["elapsed_s"].is_number(), "{}", run.summary);
    let record = run.page(&server.url("/a"));
    for name in
        ["depth", "via", "wire_bytes", "decoded_bytes", "links", "fetched_at", "elapsed_ms", "attempts"]
    {
        assert!(record.get(name).is_some(), "{name} is absent: {record}");
    }
}
