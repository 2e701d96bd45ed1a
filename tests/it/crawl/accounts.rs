//! One page is one request and one record, and everything else is accounted for.

use crate::harness::{crawl, crawl_guarded};
use crate::server::{Answer, Body, Script, Server, page};

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
        if dedup != "exact" {
            assert_eq!(
                run.number("filter.items"),
                run.number("urls.unique"),
                "{dedup}: two counts of one thing"
            );
        }
    }
}

#[test]
fn each_skip_has_a_row_with_its_reason_and_the_rule_behind_it() {
    let links = [
        "http://[::1/",
        "mailto:x@a.test",
        "http://other.test/",
        "/no/1",
        "/not.pdf",
        "/ok",
        "/by-meta",
        "/by-header",
        "http://127.9.9.9/",
    ];
    let rel = "<a rel=nofollow href=/unwanted>x</a>";
    let meta = "<meta name=robots content=nofollow><a href=/below-meta>x</a>";
    let header = Answer::html("<a href=/below-header>x</a>").header("X-Robots-Tag", "nofollow");
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /no\n"))
        .on("/", page(&links))
        .on("/ok", Answer::html(rel))
        .on("/by-meta", Answer::html(meta))
        .on("/by-header", header);
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--exclude", "[.]pdf$"]);
    assert_eq!(run.number("pages.ok"), 4);
    for (reason, named, detail) in [
        ("bad_url", "http://[::1/", "invalid IPv6 address"),
        ("other_scheme", "mailto:x@a.test", "scheme mailto"),
        ("out_of_scope", "http://other.test/", "--scope host: only 127.0.0.1"),
        ("out_of_scope", "http://127.9.9.9/", "--scope host: only 127.0.0.1"),
        ("robots_denied", "/no/1", "robots.txt line 2: Disallow: /no"),
        ("excluded", "/not.pdf", "--exclude [.]pdf$"),
        ("nofollow", "/unwanted", "the link's rel=nofollow"),
        ("nofollow", "/below-meta", "the page's meta robots"),
        ("nofollow", "/below-header", "the answer's X-Robots-Tag"),
    ] {
        let ends = |row: &&serde_json::Value| row["url"].as_str().is_some_and(|url| url.ends_with(named));
        let rows: Vec<_> = run.skipped.iter().filter(ends).collect();
        assert_eq!(rows.len(), 1, "{named}: {:?}", run.skipped);
        assert_eq!((&rows[0]["reason"], &rows[0]["detail"]), (&reason.into(), &detail.into()), "{named}");
    }
    assert_eq!(run.skipped.len(), 9, "{:?}", run.skipped);
}

#[test]
fn a_skip_for_a_private_address_names_it() {
    let script = Script::new().rule(|request| {
        let host = request.header("host")?;
        let port = host.rsplit_once(':')?.1;
        (request.path == "/").then(|| page(&[format!("http://inner.test:{port}/a")]))
    });
    let server = Server::start(script);
    for robots in ["obey", "ignore"] {
        let seed = server.url("/");
        let run = crawl_guarded(&[
            &seed,
            "--scope",
            "any",
            "--resolve",
            "inner.test:127.0.0.1",
            "--robots",
            robots,
        ]);
        let row = run.skipped.iter().find(|row| row["reason"] == "private_address");
        let detail = row.and_then(|row| row["detail"].as_str()).unwrap_or_default();
        assert!(
            detail.contains("127.0.0.1, the address of inner.test, is a loopback address"),
            "{robots}: {:?}",
            run.skipped
        );
    }
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

/// Of what never answered it is told all the same which page it is.
#[test]
fn a_record_without_an_answer_has_its_canonical_form() {
    let close = || Answer::status(0).body(Body::Close);
    let script = Script::new()
        .on("/", page(&["/%7ejoe", "/x?b&a", "/~plain"]))
        .on("/%7ejoe", close())
        .on("/x?b&a", close())
        .on("/~plain", close());
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--retries", "1", "--sort-query"]);
    for (path, canonical) in [("/%7ejoe", Some("/~joe")), ("/x?b&a", Some("/x?a&b")), ("/~plain", None)] {
        let record = run.page(&server.url(path));
        assert!(record["status"].is_null() && record["error"]["kind"] == "disconnected", "{record}");
        let expected = canonical.map(|path| server.url(path));
        assert_eq!(record["canonical"].as_str(), expected.as_deref(), "{record}");
    }
}
