//! What a server sees: headers, cookies, connections.

use std::time::Duration;

use super::server::{Server, Step, answer, send};
use super::{config, fetch, fetch_url, fetcher, fetcher_for, plenty, rule};
use crate::config::{Config, HeaderScope};
use crate::fetch::{FetchRequest, Fetcher, SeedHost};

fn has(head: &str, line: &str) -> bool {
    head.lines().any(|present| present.eq_ignore_ascii_case(line))
}

#[tokio::test]
async fn a_request_says_who_asks_for_what() {
    let server = Server::start(vec![answer("", b"")]).await;
    let url = server.url("/a%20b/?q=ü&x=%zz");
    let url = ::url::Url::parse(&url).expect("a URL");
    let request = FetchRequest {
        headers: &[("Accept", "text/plain"), ("bad name", "x")],
        ..FetchRequest::new(url.as_str())
    };
    fetch(&fetcher(&config()), &request).await.expect("an answer");
    let head = &server.requests()[0];
    assert!(head.starts_with("GET /a%20b/?q=%C3%BC&x=%zz HTTP/1.1\r\n"), "{head}");
    assert!(has(head, &format!("host: {}", server.address)));
    assert!(has(head, "user-agent: dragline-test/1.0") && has(head, "accept: text/plain"));
    assert!(has(head, "accept-encoding: gzip, deflate, br, zstd"));
    assert!(!head.to_ascii_lowercase().contains("referer") && !head.contains("bad name"));
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_any() {
    let server = Server::start(vec![send(
        "HTTP/1.1 302 Found\r\nLocation: /caf\u{e9}\r\nContent-Length: 0\r\nX: 1\r\nX: 2\r\n\r\n",
    )])
    .await;
    let url = server.url("/");
    let response = fetcher(&config()).get(&FetchRequest::new(&url)).await.expect("an answer");
    assert_eq!(response.status(), 302);
    assert_eq!(response.header("Location").as_deref(), Some("/café"));
    assert_eq!(response.header_values("x").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(response.headers().count(), 4);
    assert_eq!((response.content_type(), response.content_length()), (None, Some(0)));
    assert_eq!(server.requests().len(), 1);
    let latin = Server::start(vec![send(b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9\r\n\r\n")]).await;
    let response = fetcher(&config()).get(&FetchRequest::new(&latin.url("/"))).await.expect("an answer");
    assert_eq!(response.header("location").as_deref(), Some("/café"));
}

#[tokio::test]
async fn headers_of_the_user_stay_with_the_seeds() {
    let server = Server::start(vec![answer("", b""), Step::Again]).await;
    let headers = vec![
        ("Authorization".to_owned(), "Bearer secret".to_owned()),
        ("User-Agent".to_owned(), "mine".to_owned()),
    ];
    let config = Config { headers, resolve: vec![rule("*.test", None, 1)], ..config() };
    let seeds = [("seed.test", server.port())];
    let at = |host: &str| format!("http://{host}:{}/", server.port());
    let fetcher = fetcher_for(&config, &seeds);
    for host in ["seed.test", "other.test", "sub.seed.test", "127.0.0.1"] {
        fetch_url(&fetcher, &at(host)).await.expect("an answer");
    }
    fetch_url(&fetcher_for(&Config { header_scope: HeaderScope::Any, ..config }, &seeds), &at("other.test"))
        .await
        .expect("an answer");
    let seen: Vec<bool> =
        server.requests().iter().map(|head| has(head, "authorization: Bearer secret")).collect();
    assert_eq!(seen, [true, false, false, false, true]);
    assert!(has(&server.requests()[0], "user-agent: mine") && !server.requests()[0].contains("dragline"));
}

#[tokio::test]
async fn cookies_come_back_and_changes_are_noticed() {
    let server = Server::start(vec![
        answer("Set-Cookie: k=v; Path=/\r\nSet-Cookie: fixed=theirs\r\n", b""),
        Step::Again,
    ])
    .await;
    let headers = vec![("Cookie".to_owned(), "fixed=mine".to_owned())];
    let config = Config { headers, ..config() };
    let fetcher = fetcher_for(&config, &[("127.0.0.1", server.port())]);
    let url = server.url("/");
    let mut changed = Vec::new();
    for _ in 0..2 {
        let response = fetcher.get(&FetchRequest::new(&url)).await.expect("an answer");
        changed.push(response.set_new_cookie());
    }
    assert_eq!(changed, [true, false]);
    let heads = server.requests();
    assert!(has(&heads[0], "cookie: fixed=mine") && has(&heads[1], "cookie: fixed=mine; k=v"), "{heads:?}");
    assert_eq!(fetcher.cookies_dropped(), 0);
}

#[tokio::test]
async fn connections_are_kept_where_that_is_of_use() {
    let script = vec![answer("", b"x"), Step::Again];
    let server = Server::start(script.clone()).await;
    let fetcher = fetcher(&config());
    for _ in 0..5 {
        fetch_url(&fetcher, &server.url("/")).await.expect("an answer");
    }
    assert_eq!(server.connections(), 1);
    let url = server.url("/");
    let once = FetchRequest { keep_alive: false, ..FetchRequest::new(&url) };
    for _ in 0..2 {
        fetch(&fetcher, &once).await.expect("an answer");
    }
    assert_eq!(server.connections(), 3);
    let slow = super::fetcher(&Config { delay: Duration::from_secs(60), ..config() });
    for _ in 0..2 {
        fetch_url(&slow, &server.url("/")).await.expect("an answer");
    }
    assert_eq!(server.connections(), 5);
}

#[tokio::test]
async fn a_connection_that_went_stale_is_replaced() {
    let server = Server::start(vec![answer("", b"x")]).await;
    let fetcher = fetcher(&config());
    for _ in 0..5 {
        assert_eq!(fetch_url(&fetcher, &server.url("/")).await.expect("an answer").body, b"x");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.requests().len(), 5);
}

#[test]
fn settings_that_cannot_be_used_name_the_option() {
    let failure = |config: Config| {
        Fetcher::new(&config, Vec::<SeedHost>::new(), plenty()).expect_err("unusable").to_string()
    };
    assert!(failure(Config { user_agent: "a\nb".to_owned(), ..config() }).contains("--user-agent"));
    assert!(failure(Config { proxy: Some("gopher://x".to_owned()), ..config() }).contains("--proxy"));
    assert!(
        failure(Config { ca_file: Some("/no/such/file".into()), ..config() })
            .contains("--ca-file /no/such/file")
    );
    assert!(
        failure(Config { headers: vec![("Host".to_owned(), "x".to_owned())], ..config() })
            .contains("--header Host")
    );
}
