//! The address guard and `--resolve`, as requests meet them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::server::{Server, Step, answer, dns, dns_in_turn};
use super::{config, fetch_url, fetcher, fetcher_for, plenty, rule};
use crate::config::Config;
use crate::fetch::address::AddressGuard;
use crate::fetch::dns::{Dns, Lifetimes};
use crate::fetch::resolver::HostResolver;
use crate::fetch::{FetchRequest, Fetcher};
use crate::model::{ErrorKind, SkipReason};

fn guarded() -> Config {
    Config { allow_private: false, ..config() }
}

#[tokio::test]
async fn a_private_literal_is_refused_however_it_is_written() {
    let server = Server::start(vec![answer("", b"secret")]).await;
    let port = server.port();
    let fetcher = fetcher(&guarded());
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "0",
        "[::1]",
        "[::]",
        "１２７.0.0.1",
    ] {
        let url = format!("http://{host}:{port}/");
        let error = fetch_url(&fetcher, &url).await.expect_err("a private address");
        assert_eq!((error.kind, error.requested), (ErrorKind::PrivateAddress, false), "{host}: {error}");
        assert_eq!(error.skip_reason(), Some(SkipReason::PrivateAddress));
        assert_eq!(
            fetcher.check_literal(&url).expect_err("a private address").kind,
            ErrorKind::PrivateAddress,
            "{host}"
        );
    }
    for url in [
        "http://a.test/",
        "http://8.8.8.8/",
        "https://[2606:4700::1111]:444/x",
        "http://a.1a/",
        "http://a.test:127/127.0.0.1",
    ] {
        assert_eq!(fetcher.check_literal(url), Ok(()), "{url}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_typed_seed_is_allowed_on_its_own_port() {
    let script = vec![answer("", b"mine"), Step::Again];
    let (typed, other) = (Server::start(script.clone()).await, Server::start(script).await);
    let fetcher = fetcher_for(&guarded(), &[("127.0.0.1", typed.port())]);
    assert_eq!(fetch_url(&fetcher, &typed.url("/")).await.expect("allowed").body, b"mine");
    assert_eq!(
        fetch_url(&fetcher, &other.url("/")).await.expect_err("refused").kind,
        ErrorKind::PrivateAddress
    );
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn answers_of_rules_pass_the_guard_like_any() {
    let script = vec![answer("", b"mine"), Step::Again];
    let (typed, other) = (Server::start(script.clone()).await, Server::start(script).await);
    let config = Config { resolve: vec![rule("*.site.test", None, 1)], ..guarded() };
    let fetcher = fetcher_for(&config, &[("a.site.test", typed.port())]);
    let at = |host: &str, server: &Server| format!("http://{host}:{}/", server.port());
    assert_eq!(fetch_url(&fetcher, &at("a.site.test", &typed)).await.expect("allowed").body, b"mine");
    for url in [at("b.site.test", &typed), at("a.site.test", &other)] {
        let error = fetch_url(&fetcher, &url).await.expect_err("refused");
        assert_eq!((error.kind, error.requested), (ErrorKind::PrivateAddress, false), "{url}: {error}");
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn answers_of_dns_pass_the_guard_one_by_one() {
    let (source, _) = dns(vec![[127, 0, 0, 1], [9, 9, 9, 9], [10, 0, 0, 1]]).await;
    let mixed = Fetcher::with_sources(&guarded(), &[], plenty(), false, source).expect("a fetcher");
    let addresses = mixed.resolve("mixed.test", 80).await.expect("one public address");
    assert_eq!(addresses, [IpAddr::from([9, 9, 9, 9])]);
    let (source, _) = dns(vec![[127, 0, 0, 1], [169, 254, 169, 254]]).await;
    let private = Fetcher::with_sources(&guarded(), &[], plenty(), false, source).expect("a fetcher");
    let error = fetch_url(&private, "http://metadata.test/").await.expect_err("refused");
    assert_eq!((error.kind, error.requested), (ErrorKind::PrivateAddress, false), "{error}");
    assert_eq!(private.resolve("10.1.1.1", 80).await.expect_err("refused").kind, ErrorKind::PrivateAddress);
    assert_eq!(private.resolve("[2606:4700::1111]", 80).await.expect("allowed").len(), 1);
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_from_then_on() {
    let (source, asked) = dns_in_turn(vec![vec![[9, 9, 9, 9]], vec![[127, 0, 0, 1]]]).await;
    // answers hold for no time at all
    let lifetimes =
        Lifetimes { least: Duration::ZERO, most: Duration::ZERO, most_of_nothing: Duration::ZERO };
    let dns = Dns::new(source, Duration::from_secs(20), lifetimes, 4, 1 << 16);
    let guard = Arc::new(AddressGuard::new(false, &[]));
    let resolver = HostResolver::new(&[], guard, false, dns);
    let first = resolver.look_up("turns.test", 80, 0).await.expect("a public address");
    assert_eq!(first.address, Some([9, 9, 9, 9].into()));
    // until it is asked anew, what was checked is what is connected to
    assert_eq!(resolver.resolve("turns.test", Some(80)).await, Ok(vec![[9, 9, 9, 9].into()]));
    let second = resolver.look_up("turns.test", 80, 0).await.expect("an answer");
    assert_eq!(second.address, None);
    let error = resolver.resolve("turns.test", Some(80)).await.expect_err("refused");
    assert_eq!((error.kind, error.requested), (ErrorKind::PrivateAddress, false), "{error}");
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 2);
}

#[tokio::test]
async fn answers_of_dns_are_connected_to() {
    let server = Server::start(vec![answer("Connection: close\r\n", b"named")]).await;
    let (source, asked) = dns(vec![[127, 0, 0, 1]]).await;
    let fetcher = Fetcher::with_sources(&config(), &[], plenty(), false, source).expect("a fetcher");
    let url = format!("http://name.test:{}/", server.port());
    for _ in 0..3 {
        assert_eq!(fetch_url(&fetcher, &url).await.expect("an answer").body, b"named");
    }
    let queries = asked.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(queries, 1, "the answer is remembered");
}

/// The client's resolver is told no port; rules for one must hold under any interleaving.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rules_for_a_port_hold_while_many_requests_run() {
    let mut rules = vec![rule("h.test", None, 9)];
    let mut servers = Vec::new();
    for last in 1..=6 {
        // closing after each answer makes every request connect anew
        let server =
            Server::start_at(&format!("127.0.0.{last}:0"), vec![answer("Connection: close\r\n", &[last])])
                .await;
        rules.push(rule("h.test", Some(server.port()), last));
        servers.push((server, last));
    }
    let config = Config { resolve: rules, ..config() };
    let fetcher = fetcher(&config);
    let mut tasks = Vec::new();
    for round in 0..60 {
        let (server, last) = servers[round % servers.len()].clone();
        let (fetcher, url) = (fetcher.clone(), format!("http://h.test:{}/", server.port()));
        tasks.push(tokio::spawn(async move {
            let request = FetchRequest { keep_alive: round % 2 == 0, ..FetchRequest::new(&url) };
            let mut response = fetcher.get(&request).await.expect("an answer");
            assert_eq!(response.remote_address().map(|address| address.ip()), Some([127, 0, 0, last].into()));
            assert_eq!(response.chunk().await, Ok(Some(&[last][..])));
        }));
    }
    for task in tasks {
        task.await.expect("no panic");
    }
}
