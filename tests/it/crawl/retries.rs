//! What is worth asking again is asked again, as often as was allowed, and ends in a record.

use crate::harness::{Run, crawl};
use crate::server::{Answer, Body, Script, Server, page};
use serde_json::Value;

/// Crawls `/` of a server whose `/x` behaves as given; returns the record of `/x` and its requests.
fn ask(answers: Vec<Answer>, further: &[&str]) -> (Value, usize, Run) {
    let server = Server::start(Script::new().on("/", page(&["/x"])).in_turn("/x", answers));
    let seed = server.url("/");
    let limits = ["--timeout", "2s", "--connect-timeout", "2s"];
    let run = crawl(&[&[seed.as_str()][..], &limits[..], further].concat());
    (run.page(&server.url("/x")).clone(), server.count("/x"), run)
}

#[test]
fn a_fault_that_passes_leaves_no_trace_but_the_attempts() {
    for fault in [Body::Close, Body::Reset, Body::Short, Body::Never] {
        let (page, requests, run) =
            ask(vec![Answer::html("<title>half").body(fault.clone()), page(&["/y"])], &["--retries", "3"]);
        assert_eq!(page["status"], 200, "{fault:?}: {page}");
        assert!(page["error"].is_null(), "{fault:?}: {page}");
        assert!(page["truncated"].is_null(), "{fault:?}: {page}");
        assert_eq!((&page["attempts"], requests), (&2.into(), 2), "{fault:?}: {page}");
        assert_eq!(run.number("pages.fetched"), 3, "{fault:?}: the links of the second answer count");
    }
}

#[test]
fn a_fault_that_stays_ends_in_a_record_of_its_kind() {
    for (fault, kind) in [(Body::Close, "disconnected"), (Body::Never, "timeout")] {
        let (page, requests, run) = ask(vec![Answer::html("").body(fault.clone())], &["--retries", "2"]);
        assert_eq!(page["error"]["kind"], kind, "{page}");
        assert!(page["status"].is_null(), "{page}");
        assert_eq!((&page["attempts"], requests), (&3.into(), 3), "{page}");
        assert_eq!(run.number(&format!("pages.by_error.{kind}")), 1);
    }
}

#[test]
fn no_retries_means_one_request() {
    let (page, requests, _) = ask(vec![Answer::html("").body(Body::Close)], &["--retries", "0"]);
    assert_eq!((&page["attempts"], requests), (&1.into(), 1), "{page}");
}

#[test]
fn a_body_that_stays_short_is_kept_and_said_to_be_short() {
    for fault in [Body::Short, Body::Reset] {
        let (page, requests, _) =
            ask(vec![Answer::html("<title>half</title>").body(fault.clone())], &["--retries", "1"]);
        assert_eq!(page["status"], 200, "{fault:?}: {page}");
        assert_eq!(page["truncated"], "disconnect", "{fault:?}: {page}");
        assert_eq!(requests, 2, "{fault:?}: {page}");
    }
}

#[test]
fn chunks_without_a_last_one_are_short_too() {
    let cut =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<p>hi\r\n";
    let (page, requests, _) = ask(vec![Answer::raw(cut)], &["--retries", "1"]);
    assert_eq!((&page["truncated"], requests), (&"disconnect".into(), 2), "{page}");
}

#[test]
fn what_is_not_http_is_a_record_and_not_asked_again() {
    let garbage: Vec<u8> = (0..4096_u32).map(|i| ((i * 7919) >> 3) as u8).collect();
    for bytes in [garbage, b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), b"HTTP/1.1 abc Nonsense\r\n\r\n".to_vec()] {
        let (page, requests, _) = ask(vec![Answer::raw(bytes)], &["--retries", "2"]);
        assert_eq!(page["error"]["kind"], "protocol", "{page}");
        assert_eq!(requests, 1, "{page}");
    }
}

#[test]
fn a_head_without_end_is_refused() {
    let mut bytes = b"HTTP/1.1 200 OK\r\n".to_vec();
    for index in 0..40_000 {
        bytes.extend_from_slice(format!("X-{index}: {}\r\n", "v".repeat(40)).as_bytes());
    }
    let (page, _, _) = ask(vec![Answer::raw(bytes)], &["--retries", "0"]);
    assert!(page["error"]["kind"] == "header_too_large" || page["error"]["kind"] == "protocol", "{page}");
}

#[test]
fn a_port_where_nobody_listens_is_given_up() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let links: Vec<String> = (0..5).map(|i| format!("{closed}/{i}")).collect();
    let server = Server::start(Script::new().on("/", page(&links)));
    let run = crawl(&[server.url("/").as_str(), "--retries", "1"]);
    let asked = run.number("pages.by_error.connect") + run.number("pages.by_error.host_unreachable");
    let skipped = run.skips("host_unreachable") + run.skips("robots_unreachable");
    assert_eq!(asked + skipped, 5, "{}", run.summary);
}

#[test]
fn a_broken_body_does_not_hide_what_the_head_says() {
    for status in [429, 500, 503, 404] {
        let first = Answer::status(status).header("Retry-After", "0").content("sorry").body(Body::Short);
        let script = Script::new()
            .on("/", page(&["/%7Ex"]))
            .in_turn("/%7Ex", vec![first, Answer::html("x")])
            .on("/~x", Answer::html("x"));
        let server = Server::start(script);
        let run = crawl(&[server.url("/")]);
        assert_eq!(server.count("/~x"), usize::from(status == 404), "{status}");
        assert_eq!(
            (run.number("pages.by_status.200"), run.number("pages.failed")),
            (2, 0),
            "{}",
            run.summary
        );
    }
}

#[test]
fn the_last_answer_stands_without_its_body() {
    let broken = Answer::status(500).content("sorry").body(Body::Short);
    let server = Server::start(Script::new().on("/", broken));
    let run = crawl(&[server.url("/").as_str(), "--retries", "0"]);
    let page = &run.pages[0];
    assert_eq!((&page["status"], &page["truncated"]), (&500.into(), &"disconnect".into()), "{page}");
    assert!(page["error"].is_null(), "{page}");
}
