//! Requests through a proxy.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::server::{Server, Step, answer, no_dns, send};
use super::{config, fetch_url, fetcher, plenty, rule};
use crate::config::Config;
use crate::fetch::Fetcher;
use crate::model::ErrorKind;

fn through(proxy: &str) -> Config {
    Config { proxy: Some(proxy.to_owned()), allow_private: false, ..config() }
}

#[tokio::test]
async fn names_are_the_proxys_business_literals_are_not() {
    let proxy = Server::start(vec![answer("", b"by proxy"), Step::Again]).await;
    let fetcher = fetcher(&through(&format!("http://me:s3cret@{}", proxy.address)));
    assert!(fetcher.guard_note().is_some());
    let outcome = fetch_url(&fetcher, "http://any.name.test/x").await.expect("an answer");
    assert_eq!(outcome.body, b"by proxy");
    let head = &proxy.requests()[0];
    assert!(head.starts_with("GET http://any.name.test/x HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic "), "{head}");
    let error = fetch_url(&fetcher, "http://127.0.0.1/").await.expect_err("refused");
    assert_eq!((error.kind, error.requested), (ErrorKind::PrivateAddress, false));
    assert_eq!(proxy.requests().len(), 1);
}

#[tokio::test]
async fn a_proxy_may_be_named_and_private() {
    let proxy = Server::start(vec![answer("", b"by proxy")]).await;
    let config = Config {
        resolve: vec![rule("proxy.test", None, 1)],
        ..through(&format!("http://proxy.test:{}", proxy.port()))
    };
    assert_eq!(fetch_url(&fetcher(&config), "http://any.test/").await.expect("an answer").body, b"by proxy");
}

#[tokio::test]
async fn a_proxy_that_fails_is_to_blame() {
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let refusing = Server::start(vec![send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")]).await;
    let asking = Server::start(vec![send("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n")]).await;
    for (proxy, url) in [
        (format!("http://me:s3cret@{gone}"), "http://a.test/"),
        (format!("http://me:s3cret@{gone}"), "https://a.test/"),
        (format!("http://me:s3cret@{}", refusing.address), "https://a.test/"),
        (format!("http://me:s3cret@{}", asking.address), "http://a.test/"),
        (format!("http://me:s3cret@{}", asking.address), "https://a.test/"),
        (format!("socks5h://me:s3cret@{gone}"), "http://a.test/"),
    ] {
        let error = fetch_url(&fetcher(&through(&proxy)), url).await.expect_err("no answer");
        assert_eq!((error.kind, error.requested), (ErrorKind::Proxy, false), "{proxy} {url}: {error}");
        assert!(!error.to_string().contains("s3cret") && !error.detail.is_empty());
    }
}

/// What a proxy makes of a wish.
#[derive(Clone, Copy)]
enum Reply {
    Refusal,
    Silence,
}

/// A SOCKS 5 proxy (RFC 1928) that gives the first wishes these replies, grants the one that comes then, and answers
/// in the server's place; gives the wishes.
async fn socks_proxy(
    first: &'static [Reply],
) -> (std::net::SocketAddr, tokio::task::JoinHandle<Vec<Vec<u8>>>) {
    const GRANTED: u8 = 0;
    const CONNECTION_REFUSED: u8 = 5;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (mut wishes, mut kept_waiting) = (Vec::new(), Vec::new());
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut greeting = [0; 2];
            stream.read_exact(&mut greeting).await.expect("a greeting");
            stream.read_exact(&mut vec![0; usize::from(greeting[1])]).await.expect("methods");
            stream.write_all(&[5, 0]).await.expect("open");
            let mut wish = vec![0; 512];
            let length = stream.read(&mut wish).await.expect("a wish");
            wish.truncate(length);
            let code = match first.get(wishes.len()) {
                Some(Reply::Silence) => None,
                Some(Reply::Refusal) => Some(CONNECTION_REFUSED),
                None => Some(GRANTED),
            };
            wishes.push(wish);
            let Some(code) = code else {
                kept_waiting.push(stream);
                continue;
            };
            stream.write_all(&[5, code, 0, 1, 127, 0, 0, 1, 0, 80]).await.expect("open");
            if code == GRANTED {
                let _ = stream.read(&mut [0; 2048]).await.expect("a request");
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsocks").await.expect("open");
                return wishes;
            }
        }
    });
    (address, task)
}

#[tokio::test]
async fn a_socks_proxy_is_given_checked_addresses() {
    let (address, task) = socks_proxy(&[]).await;
    let mut config = through(&format!("socks5://{address}"));
    config.resolve = vec![rule("private.test", None, 7)];
    config.resolve.push(crate::config::ResolveRule {
        host: "public.test".to_owned(),
        port: Some(80),
        address: [9, 9, 9, 9].into(),
    });
    let fetcher = Fetcher::with_sources(&config, &[], plenty(), false, Some(no_dns())).expect("a fetcher");
    assert_eq!(fetcher.guard_note(), None, "names are resolved here");
    let error = fetch_url(&fetcher, "http://private.test/").await.expect_err("refused");
    assert_eq!(error.kind, ErrorKind::PrivateAddress, "{error}");
    assert_eq!(fetch_url(&fetcher, "http://public.test/").await.expect("an answer").body, b"socks");
    assert_eq!(task.await.expect("no panic"), [[5, 1, 0, 1, 9, 9, 9, 9, 0, 80]]);
}

#[tokio::test]
async fn a_socks_proxy_is_given_one_address_after_another() {
    for first in [&[Reply::Refusal, Reply::Silence], &[Reply::Silence, Reply::Refusal]] {
        let (address, task) = socks_proxy(first).await;
        let mut config = through(&format!("socks5://{address}"));
        config.connect_timeout = Duration::from_secs(3);
        for last in 7..=9 {
            let (host, port) = ("public.test".to_owned(), Some(80));
            config.resolve.push(crate::config::ResolveRule { host, port, address: [9, 9, 9, last].into() });
        }
        let fetcher =
            Fetcher::with_sources(&config, &[], plenty(), false, Some(no_dns())).expect("a fetcher");
        assert_eq!(fetch_url(&fetcher, "http://public.test/").await.expect("an answer").body, b"socks");
        let wishes = task.await.expect("no panic");
        assert_eq!(wishes, [7, 8, 9].map(|last| [5, 1, 0, 1, 9, 9, 9, last, 0, 80]));
    }
}
