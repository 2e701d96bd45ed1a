//! A redirect is a link: each hop is scoped, told apart, counted and recorded.

use crate::harness::crawl;
use crate::server::{Answer, Body, Script, Server, page};
use std::time::Duration;

#[test]
fn each_hop_has_its_own_record_and_its_target_is_fetched_once() {
    let script = Script::new()
        .on("/", page(&["/old", "/new"]))
        .on("/old", Answer::redirect(301, "/older"))
        .on("/older", Answer::redirect(308, "/new"))
        .on("/new", Answer::html("<title>new</title>"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.pages(), ["/", "/new", "/old", "/older"]);
    assert_eq!(run.page(&server.url("/old"))["redirect_to"], server.url("/older"));
    assert_eq!(run.page(&server.url("/old"))["status"], 301);
    assert_eq!(run.page(&server.url("/older"))["via"], "redirect");
    assert_eq!(run.number("pages.ok"), 4);
}

#[test]
fn a_loop_of_two_is_two_records_and_a_repeat() {
    let script = Script::new()
        .on("/", page(&["/a"]))
        .on("/a", Answer::redirect(302, "/b"))
        .on("/b", Answer::redirect(302, "/a"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.pages(), ["/", "/a", "/b"]);
    assert_eq!(run.number("urls.repeats"), 1);
    assert_eq!(run.number("pages.fetched"), 3);
}

#[test]
fn a_redirect_to_the_same_request_is_a_loop() {
    let script = Script::new().on("/", page(&["/self"])).on("/self", Answer::redirect(302, "/self"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.count("/self"), 1);
    assert_eq!(run.page(&server.url("/self"))["error"]["kind"], "redirect_loop");
}

#[test]
fn a_redirect_without_end_ends_at_the_limit() {
    let script = Script::new().on("/", page(&["/n0"])).rule(|request| {
        let n: u32 = request.path.strip_prefix("/n")?.parse().ok()?;
        Some(Answer::redirect(302, &format!("/n{}", n + 1)))
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--max-redirects", "5"]);
    let last = run.page(&server.url("/n5"));
    assert_eq!(last["error"]["kind"], "too_many_redirects", "{last}");
    assert_eq!(server.count("/n5"), 1);
    assert_eq!(server.count("/n6"), 0);
    assert_eq!(run.skips("too_many_redirects"), 1);
    assert_eq!(run.skip_reason(&server.url("/n6")), Some("too_many_redirects"));
}

#[test]
fn a_redirect_out_of_the_scope_is_not_followed() {
    let stranger = Server::start_at([127, 0, 0, 2].into(), Script::new().on("/", Answer::html("stranger")));
    let target = stranger.url("/");
    let server =
        Server::start(Script::new().on("/", page(&["/out"])).on("/out", Answer::redirect(302, &target)));
    let run = crawl(&[server.url("/")]);
    assert_eq!(stranger.log().len(), 0, "not even robots.txt is asked for");
    assert_eq!(run.page(&server.url("/out"))["redirect_to"], target);
    assert_eq!(run.skip_reason(&target), Some("out_of_scope"));
}

#[test]
fn a_seed_that_redirects_moves_its_scope_along() {
    let script = Script::new()
        .on_host("old.test", "/", Answer::redirect(301, "/moved"))
        .on_host("new.test", "/", page(&["/a"]))
        .on_host("new.test", "/a", Answer::html("a"));
    let server = Server::start(script.rule(move |request| {
        // the script does not know its own port until a request names it
        let port = request.header("host")?.rsplit_once(':')?.1;
        let moved = request.host == "old.test" && request.path == "/";
        moved.then(|| Answer::redirect(301, &format!("http://new.test:{port}/")))
    }));
    let (old, resolve) = (server.url_of("old.test", "/"), "*.test:127.0.0.1");
    for scope in ["host", "prefix"] {
        let run = crawl(&[old.as_str(), "--resolve", resolve, "--scope", scope]);
        assert_eq!(run.page(&server.url_of("new.test", "/a"))["status"], 200, "scope {scope}");
        assert_eq!(run.number("pages.ok"), 3, "scope {scope}");
    }
    let run = crawl(&[old.as_str(), "--resolve", resolve, "--scope", "page"]);
    assert_eq!(run.number("pages.ok"), 2, "the seed and its redirect, no link");
}

#[test]
fn a_redirect_adds_no_depth() {
    let script = Script::new()
        .on("/", page(&["/hop"]))
        .on("/hop", Answer::redirect(302, "/hop2"))
        .on("/hop2", Answer::redirect(302, "/target"))
        .on("/target", page(&["/deeper"]))
        .on("/deeper", Answer::html("deeper"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "-d", "1"]);
    assert_eq!(run.page(&server.url("/target"))["depth"], 1);
    assert_eq!(server.count("/deeper"), 0);
    assert_eq!(run.skip_reason(&server.url("/deeper")), Some("too_deep"));
}

#[test]
fn another_spelling_of_the_same_page_continues_the_same_request() {
    let script = Script::new()
        .on("/", page(&["/%7Euser"]))
        .on("/%7Euser", Answer::redirect(301, "/~user"))
        .on("/~user", page(&["/a"]))
        .on("/a", Answer::html("a"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.pages(), ["/", "/%7Euser", "/a", "/~user"]);
    assert_eq!(run.number("pages.fetched"), 3, "one record for the two spellings");
    assert_eq!(run.number("pages.by_status.200"), 3, "{}", run.summary);
}

#[test]
fn a_spelling_that_is_not_there_is_asked_once_in_canonical_form() {
    for status in [400, 404, 410] {
        let script = Script::new()
            .on("/", page(&["/%7Euser", "/%7Enobody"]))
            .on("/%7Euser", Answer::status(status))
            .on("/~user", page(&["/a"]))
            .on("/a", Answer::html("a"))
            .on("/%7Enobody", Answer::status(status))
            .on("/~nobody", Answer::status(status));
        let server = Server::start(script);
        let run = crawl(&[server.url("/")]);
        assert_eq!(server.pages(), ["/", "/%7Enobody", "/%7Euser", "/a", "/~nobody", "/~user"]);
        assert_eq!(run.number("pages.fetched"), 4, "one record each");
        assert_eq!(run.number("pages.by_status.200"), 3);
        assert_eq!(run.number(&format!("pages.by_status.{status}")), 1);
    }
}

#[test]
fn a_redirect_without_a_usable_location_is_an_error_of_its_page() {
    let script = Script::new()
        .on("/", page(&["/none", "/empty", "/bad"]))
        .on("/none", Answer::status(302))
        .on("/empty", Answer::redirect(302, ""))
        .on("/bad", Answer::redirect(302, "http://[::1/"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    for path in ["/none", "/bad"] {
        let page = run.page(&server.url(path));
        assert_eq!(page["error"]["kind"], "bad_redirect", "{page}");
    }
    // an empty reference is the page itself
    assert!(!run.page(&server.url("/empty"))["error"].is_null());
}

#[test]
fn a_location_may_be_relative_and_in_any_characters() {
    let script = Script::new()
        .on("/", page(&["/dir/a", "/dir/b", "/dir/c"]))
        .on("/dir/a", Answer::redirect(302, "caf\u{e9}?q=1#part"))
        .on("/dir/b", Answer::redirect(302, "  ../with space  "))
        .on("/dir/c", Answer::redirect(302, "//127.0.0.1:1/other-port"))
        .rule(|r| {
            ["/dir/caf%C3%A9?q=1", "/with%20space"].contains(&r.path.as_str()).then(|| Answer::html("x"))
        });
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--retries", "0"]);
    assert_eq!(run.page(&server.url("/dir/caf%C3%A9?q=1"))["status"], 200);
    assert_eq!(run.page(&server.url("/with%20space"))["status"], 200);
    assert_eq!(run.page(&server.url("/dir/c"))["redirect_to"], "http://127.0.0.1:1/other-port");
}

#[test]
fn the_rules_of_the_new_host_hold_for_the_same_page_there() {
    let script = Script::new()
        .on_host("a.test", "/robots.txt", Answer::text("User-agent: *\nDisallow: /closed\n"))
        .on_host("a.test", "/open", page(&["/more"]))
        .on("/more", Answer::html("more"))
        .rule(|request| {
            let port = request.header("host")?.rsplit_once(':')?.1;
            let moved = request.host == "www.a.test" && ["/open", "/closed"].contains(&request.path.as_str());
            moved.then(|| Answer::redirect(301, &format!("http://a.test:{port}{}", request.path)))
        })
        .on_host("www.a.test", "/", page(&["/open", "/closed"]));
    let server = Server::start(script);
    let seed = server.url_of("www.a.test", "/");
    let run = crawl(&[&seed, "--fold-www", "--resolve", "*.test:127.0.0.1"]);
    let asked = |host: &str, path: &str| server.requests(path).iter().filter(|r| r.host == host).count();
    assert_eq!((asked("a.test", "/open"), asked("a.test", "/closed")), (1, 0));
    assert_eq!(asked("a.test", "/robots.txt"), 1);
    // asked once, and then forbidden: its record is what was heard
    assert_eq!(run.page(&server.url_of("www.a.test", "/closed"))["status"], 301);
    assert_eq!(run.number("pages.fetched"), 4, "{}", run.summary);
}

#[test]
fn not_modified_and_multiple_choices_are_no_redirects() {
    let script = Script::new()
        .on("/", page(&["/304", "/300"]))
        .on("/304", Answer::status(304))
        .on("/300", page(&["/choice"]))
        .on("/choice", Answer::html("choice"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(run.page(&server.url("/304"))["status"], 304);
    assert_eq!(run.number("pages.failed"), 0, "{}", run.summary);
}

#[test]
fn a_redirect_is_obeyed_whatever_becomes_of_its_body() {
    let to = || Answer::redirect(302, "/new");
    let script = Script::new()
        .on("/", page(&["/short", "/reset", "/damaged", "/unknown", "/endless", "/slow"]))
        .on("/short", to().content("moved").body(Body::Short))
        .on("/reset", to().content("moved").body(Body::Reset))
        .on("/damaged", to().header("Content-Encoding", "gzip").content(&b"\x1f\x8b\x08\0broken"[..]))
        .on("/unknown", to().header("Content-Encoding", "rot13").content("zbirq"))
        .on("/endless", to().body(Body::Gibibyte))
        .on("/slow", to().content("x".repeat(1000)).body(Body::Drip(1, Duration::from_millis(100))))
        .on("/new", Answer::html("new"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--retries", "0"]);
    assert_eq!(run.number("pages.failed"), 0, "{}", run.summary);
    for path in ["/short", "/reset", "/damaged", "/unknown", "/endless", "/slow"] {
        let page = run.page(&server.url(path));
        assert_eq!(
            (&page["status"], &page["redirect_to"]),
            (&302.into(), &server.url("/new").into()),
            "{page}"
        );
        assert!(page["truncated"].is_string(), "{page}");
        assert!(page["decoded_bytes"].as_u64().is_some_and(|bytes| bytes < 256 << 10), "{page}");
    }
    assert_eq!(server.count("/new"), 1);
}

#[test]
fn a_seed_may_redirect_to_another_spelling_of_itself_out_of_the_scope() {
    let script = Script::new()
        .on("/docs/", Answer::redirect(301, "/docs"))
        .on("/docs", Answer::html("<title>docs</title>"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/docs/").as_str(), "--scope", "prefix", "--strip-trailing-slash"]);
    assert_eq!(server.pages(), ["/docs", "/docs/"]);
    assert_eq!(run.number("pages.fetched"), 1, "{}", run.summary);
    assert_eq!(run.pages[0]["title"], "docs");
}

#[test]
fn a_seed_that_redirects_to_what_is_excluded_moves_no_scope() {
    let script = Script::new().rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1;
        let moved = request.host == "old.test" && request.path == "/";
        moved.then(|| Answer::redirect(301, &format!("http://new.test:{port}/private")))
    });
    let server = Server::start(script);
    let (old, new) = (server.url_of("old.test", "/"), server.url_of("new.test", "/private"));
    for (option, pattern, reason) in
        [("--exclude", "private", "excluded"), ("--include", "old", "not_included")]
    {
        let run = crawl(&[&old, "--resolve", "*.test:127.0.0.1", option, pattern]);
        assert_eq!(run.skip_reason(&new), Some(reason), "{}", run.summary);
        assert_eq!(run.number("pages.fetched"), 1);
    }
    assert_eq!(server.count("/private"), 0);
}
