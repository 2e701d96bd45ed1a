//! Every way in which no answer comes, and what it is called.

use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::server::{Server, Step, dns, send};
use super::{config, fetch, fetch_url, fetcher, plenty};
use crate::fetch::{FetchError, FetchRequest, Fetcher};
use crate::model::ErrorKind;

async fn failure(script: Vec<Step>) -> FetchError {
    let server = Server::start(script).await;
    let url = server.url("/");
    let request = FetchRequest { timeout: Some(Duration::from_millis(700)), ..FetchRequest::new(&url) };
    fetch(&fetcher(&config()), &request).await.expect_err("no answer")
}

#[tokio::test]
async fn failures_after_the_request_are_told_apart() {
    let many = "X-Many: y\r\n".repeat(10_000);
    let large = "x".repeat(1 << 20);
    let drip = || Step::Wait(Duration::from_millis(100));
    let slow: Vec<Step> = (0..20).flat_map(|i| [send(format!("X-{i}: y\r\n")), drip()]).collect();
    let cases = [
        ("closes at once", vec![], ErrorKind::Disconnected),
        ("resets", vec![Step::Reset], ErrorKind::Disconnected),
        ("closes within the head", vec![send("HTTP/1.1 200 OK\r\nContent-")], ErrorKind::Disconnected),
        ("never answers", vec![Step::Hang], ErrorKind::Timeout),
        ("drips its head", [vec![send("HTTP/1.1 200 OK\r\n")], slow].concat(), ErrorKind::Timeout),
        ("is no HTTP", vec![send("SSH-2.0-OpenSSH_9.2\r\n\r\n")], ErrorKind::Protocol),
        ("is HTTP/0.9", vec![send("<html>hello</html>\r\n\r\n")], ErrorKind::Protocol),
        ("speaks HTTP/2 unasked", vec![send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")], ErrorKind::Protocol),
        (
            "has two lengths",
            vec![send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")],
            ErrorKind::Protocol,
        ),
        ("has a strange status", vec![send("HTTP/1.1 99 Low\r\n\r\n")], ErrorKind::Protocol),
        (
            "switches protocols unasked",
            vec![send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")],
            ErrorKind::Protocol,
        ),
        (
            "has a length past counting",
            vec![
                send("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"),
                send("page ".repeat(2000)),
            ],
            ErrorKind::Protocol,
        ),
        (
            "has a length past all numbers",
            vec![send("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n")],
            ErrorKind::Protocol,
        ),
        ("has many headers", vec![send(format!("HTTP/1.1 200 OK\r\n{many}\r\n"))], ErrorKind::HeaderTooLarge),
        (
            "has a large header",
            vec![send(format!("HTTP/1.1 200 OK\r\nX: {large}\r\n\r\n"))],
            ErrorKind::HeaderTooLarge,
        ),
    ];
    for (name, script, kind) in cases {
        let error = failure(script).await;
        assert_eq!(error.kind, kind, "{name}: {error}");
        assert!(error.requested, "{name}");
        assert!(!error.detail.is_empty() && error.detail.len() < 400, "{name}: {error}");
        assert_eq!(error.skip_reason(), None);
    }
}

#[tokio::test]
async fn answers_that_never_come_to_the_point_end_early() {
    for interim in [&b"HTTP/1.1 103 Early Hints\r\n\r\n"[..], b"HTTP/1.1 100 \r\nX: y\r\n\r\n"] {
        let server = Server::start(vec![Step::SendForever(interim)]).await;
        let error = fetch_url(&fetcher(&config()), &server.url("/")).await.expect_err("no answer");
        assert_eq!((error.kind, error.requested), (ErrorKind::Protocol, true), "{error}");
        assert_eq!(error.detail, "more framing than content");
        server.wait_for_close().await;
    }
}

#[tokio::test]
async fn what_browsers_forgive_is_forgiven() {
    let heads: [&[u8]; 5] = [
        b"HTTP/1.1 200 OK\r\nGood: 1\r\nbad name: x\r\nno colon here\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nGood : 1\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nFolded: a\r\n b\r\nGood: 1\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\nGood: 1\nContent-Length: 2\n\nok",
        b"HTTP/1.1 200 \xc3\xa9\xff\r\nGood: 1\r\nHigh: \xe9\xff\r\nContent-Length: 2\r\n\r\nok",
    ];
    for head in heads {
        let server = Server::start(vec![send(head)]).await;
        let url = server.url("/");
        let mut response = fetcher(&config()).get(&FetchRequest::new(&url)).await.expect("an answer");
        assert_eq!(response.header("good").as_deref(), Some("1"), "{head:?}");
        assert_eq!(response.chunk().await, Ok(Some(&b"ok"[..])));
    }
}

#[tokio::test]
async fn no_connection_is_no_request() {
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let error = fetch_url(&fetcher(&config()), &format!("http://{free}/")).await.expect_err("nobody listens");
    assert_eq!((error.kind, error.requested), (ErrorKind::Connect, false), "{error}");
}

#[tokio::test]
async fn a_host_that_lets_nobody_in_is_a_failed_connection() {
    // a full queue of waiting connections lets further ones wait
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let listener = socket.listen(1).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(tokio::time::timeout(Duration::from_millis(50), TcpStream::connect(address)).await);
    }
    let mut config = config();
    config.connect_timeout = Duration::from_millis(200);
    let error =
        fetch_url(&fetcher(&config), &format!("http://{address}/")).await.expect_err("nobody is let in");
    assert_eq!((error.kind, error.requested), (ErrorKind::Connect, false), "{error}");
}

#[tokio::test]
async fn names_without_addresses_are_dns_errors() {
    let (none, asked) = dns(Vec::new()).await;
    let fetcher = Fetcher::with_sources(&config(), &[], plenty(), false, none).expect("a fetcher");
    for _ in 0..3 {
        let error = fetch_url(&fetcher, "http://nowhere.test/").await.expect_err("no such host");
        assert_eq!((error.kind, error.requested), (ErrorKind::Dns, false), "{error}");
        assert_eq!(error.detail, "nowhere.test: no such host");
    }
    let queries = asked.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(queries, 1, "the refusal is remembered");
    let error = fetch_url(&super::fetcher(&config()), "http://nowhere.test/").await.expect_err("no server");
    assert_eq!((error.kind, error.requested), (ErrorKind::Dns, false), "{error}");
}

#[tokio::test]
async fn a_look_up_tells_what_is_final_from_what_is_not() {
    let (none, _) = dns(Vec::new()).await;
    let fetcher = Fetcher::with_sources(&config(), &[], plenty(), false, none).expect("a fetcher");
    let failed = fetcher.look_up("nowhere.test", 80, 0).await.expect_err("no such host");
    let bound = Duration::from_secs(300);
    assert!(failed.holds_for.is_some_and(|time| time <= bound && time > Duration::ZERO), "{failed:?}");
    let failed = super::fetcher(&config()).look_up("nowhere.test", 80, 0).await.expect_err("no server");
    assert_eq!(failed.holds_for, None, "{failed:?}");
    assert_eq!(failed.error.kind, ErrorKind::Dns);
    let (server, _) = dns(vec![[127, 0, 0, 9]]).await;
    let fetcher = Fetcher::with_sources(&config(), &[], plenty(), false, server).expect("a fetcher");
    let found = fetcher.look_up("somewhere.test", 80, 0).await.expect("an address");
    assert_eq!(found.address, Some([127, 0, 0, 9].into()));
    assert!((Duration::from_secs(255)..=Duration::from_secs(256)).contains(&found.holds_for), "{found:?}");
}

#[tokio::test]
async fn only_what_dns_must_tell_is_asked_ahead() {
    let config =
        crate::config::Config { resolve: vec![super::rule("*.ruled.test", Some(81), 1)], ..config() };
    let fetcher = fetcher(&config);
    for (host, asks) in [
        ("127.0.0.1", false),
        ("[::1]", false),
        ("a.ruled.test", false),
        ("ruled.test", true),
        ("b.test", true),
    ] {
        assert_eq!(fetcher.asks_dns(host), asks, "{host}");
    }
    let proxied = crate::config::Config { proxy: Some("http://127.0.0.1:9".into()), ..config };
    assert!(!super::fetcher(&proxied).asks_dns("b.test"), "the proxy looks names up");
}

#[tokio::test]
async fn what_is_no_web_address_is_refused() {
    for url in ["ftp://a.test/", "nothing", "http://", "data:text/plain,x", "file:///etc/passwd"] {
        let error = fetch_url(&fetcher(&config()), url).await.expect_err("not to be outcome");
        assert_eq!((error.kind, error.requested), (ErrorKind::Other, false), "{url}");
    }
}
