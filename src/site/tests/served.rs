//! The site behind a socket, asked with an HTTP client.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::{Client, Method, redirect};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;

/// A served site, a client that knows its hosts, and the end of it.
struct Served {
    site: Site,
    address: SocketAddr,
    client: Client,
    stop: oneshot::Sender<()>,
    report: JoinHandle<std::io::Result<SiteReport>>,
}

impl Served {
    async fn start(site: Site) -> Served {
        // another test may have installed it already
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback can be bound");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (stop, stopped) = oneshot::channel();
        let mut client = Client::builder().no_proxy().redirect(redirect::Policy::none());
        for host in 0..site.host_count() {
            client = client.resolve(&format!("h{host}.site.test"), address);
        }
        let client = client.build().expect("the client is plain");
        let report = tokio::spawn(serve(Arc::new(site), listener, stopped));
        Served { site, address, client, stop, report }
    }

    fn naming(&self) -> Naming {
        Naming::by_name(self.address.port())
    }

    async fn get(&self, url: &str) -> (u16, String) {
        let response = self.client.get(url).send().await.expect("the site answers");
        (response.status().as_u16(), response.text().await.expect("bodies are whole"))
    }

    /// The lines of a listing, asked by plain address.
    async fn listing(&self, path: &str) -> Vec<String> {
        let (status, text) = self.get(&format!("http://{}{path}", self.address)).await;
        assert_eq!(status, 200);
        text.lines().map(str::to_owned).collect()
    }

    async fn finish(self) -> SiteReport {
        self.stop.send(()).expect("the server is running");
        self.report.await.expect("the server does not panic").expect("the listener is good")
    }
}

#[tokio::test]
async fn every_url_is_answered_and_counted() {
    let served = Served::start(site(120, 3, 4)).await;
    let naming = served.naming();
    for kind in Kind::ALL {
        for place in served.site.places(kind) {
            let url = served.site.url(place, &naming);
            let expected = served.site.answer(place, &naming);
            let (status, body) = served.get(&url).await;
            assert_eq!((status, body.into_bytes()), (expected.status, expected.body), "{url}");
        }
    }
    let all = |kind| served.site.places(kind).map(|place| served.site.url(place, &naming));
    let expected: Vec<String> = Kind::ALL.into_iter().flat_map(all).map(|url| format!("1\t{url}")).collect();
    assert_eq!(served.listing("/_log").await, expected);
    let report = served.finish().await;
    assert_eq!((report.page_requests, report.distinct_pages, report.robots_requests), (120, 120, 3));
    assert_eq!((report.redirect_requests, report.missing_requests, report.disallowed_requests), (3, 3, 3));
    assert_eq!((report.unknown_requests, report.requests), (0, 132));
}

#[tokio::test]
async fn the_listings_say_what_there_is() {
    let served = Served::start(site(3_000, 2, 4)).await;
    let truth: Vec<String> = served.site.truth(&served.naming()).collect();
    assert_eq!(served.listing("/_truth").await, truth);
    let seeds = served.listing("/_seeds").await;
    let (comments, urls): (Vec<String>, Vec<String>) =
        seeds.into_iter().partition(|line| line.starts_with('#'));
    assert_eq!(urls, served.site.seed_urls(served.address.port()));
    let flag = format!("# --resolve *.site.test:{}:127.0.0.1", served.address.port());
    assert!(comments.contains(&flag), "{comments:?}");
    assert!(served.listing("/_log").await.is_empty());
    assert_eq!(served.finish().await, SiteReport::default());
}

#[tokio::test]
async fn repeats_and_strangers_are_counted_by_url() {
    let served = Served::start(site(10, 1, 4)).await;
    let base = format!("http://{}", served.address);
    for path in ["/", "/", "/favicon.ico", "/?page=2", "/"] {
        served.get(&format!("{base}{path}")).await;
    }
    let expected = [format!("3\t{base}/"), format!("1\t{base}/?page=2"), format!("1\t{base}/favicon.ico")];
    assert_eq!(served.listing("/_log").await, expected);
    let by_name = served.get(&format!("http://h0.site.test:{}/_log", served.address.port())).await.1;
    assert!(
        by_name.starts_with(&format!("3\thttp://h0.site.test:{}/\n", served.address.port())),
        "{by_name}"
    );
    let report = served.finish().await;
    assert_eq!((report.page_requests, report.distinct_pages, report.unknown_requests), (3, 1, 2));
}

#[tokio::test]
async fn a_site_of_several_hosts_has_no_pages_at_its_plain_address() {
    let served = Served::start(site(10, 2, 4)).await;
    let url = format!("http://{}/", served.address);
    assert_eq!(served.get(&url).await.0, 404);
    assert_eq!(served.listing("/_log").await, [format!("1\t{url}")]);
}

#[tokio::test]
async fn only_get_and_head_are_answered() {
    let served = Served::start(site(10, 1, 4)).await;
    let url = format!("http://{}/", served.address);
    let head = served.client.head(&url).send().await.expect("the site answers");
    let length = served.get(&url).await.1.len();
    assert_eq!(head.headers()["content-length"], length.to_string().as_str());
    let post = served.client.request(Method::POST, &url).send().await.expect("the site answers");
    assert_eq!(post.status().as_u16(), 405);
    assert_eq!(served.finish().await.page_requests, 2);
}

#[tokio::test]
async fn a_request_line_with_a_host_goes_before_the_header() {
    let served = Served::start(site(10, 2, 4)).await;
    let proxy = reqwest::Proxy::http(format!("http://{}", served.address)).expect("the address is a URL");
    let client = Client::builder().proxy(proxy).build().expect("the client is plain");
    let response = client.get("http://h1.site.test/").send().await.expect("the site answers");
    assert_eq!(response.status().as_u16(), 200);
    assert!(response.text().await.expect("bodies are whole").contains("page 0 of host 1"));
}

#[tokio::test]
async fn what_is_not_http_ends_its_connection_only() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let served = Served::start(site(10, 1, 4)).await;
    let mut stream = tokio::net::TcpStream::connect(served.address).await.expect("the site listens");
    stream.write_all(b"\x16\x03\x01\x00\xff\r\n\r\n").await.expect("the site reads");
    let mut answer = Vec::new();
    // it may be told so, or cut off
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    assert_eq!(served.get(&format!("http://{}/", served.address)).await.0, 200);
}
