//! The fetcher against real servers on loopback, most of them ill-behaved.

mod bodies;
mod errors;
mod guard;
mod requests;
mod secure;
mod server;
mod through_proxy;

use std::time::Duration;

use super::{BodyReport, FetchError, FetchRequest, Fetcher, SeedHost};
use crate::budget::{FetchMemory, InFlight};
use crate::config::{Config, ResolveRule};

/// A configuration for loopback, without delays.
fn config() -> Config {
    Config {
        memory: 256 << 20,
        delay: Duration::ZERO,
        concurrency: 8,
        per_host: 8,
        timeout: Duration::from_secs(20),
        retries: 0,
        user_agent: "dragline-test/1.0".to_owned(),
        allow_private: true,
        cookies: true,
        ..Config::default()
    }
}

/// Memory that nothing here fills.
fn plenty() -> FetchMemory {
    let in_flight = InFlight { pool: 64 << 20, one: 64 << 20 };
    FetchMemory { in_flight, answers: 1 << 20, lookups: 64, cookies: 4 << 20 }
}

fn rule(host: &str, port: Option<u16>, last: u8) -> ResolveRule {
    ResolveRule { host: host.to_owned(), port, address: [127, 0, 0, last].into() }
}

/// A fetcher that looks at no environment and asks no DNS server but itself.
fn fetcher(config: &Config) -> Fetcher {
    fetcher_for(config, &[])
}

fn fetcher_for(config: &Config, seeds: &[(&str, u16)]) -> Fetcher {
    let seeds: Vec<_> =
        seeds.iter().map(|(host, port)| SeedHost { host: (*host).to_owned(), port: *port }).collect();
    Fetcher::with_sources(config, &seeds, plenty(), false, Some(server::no_dns())).expect("a fetcher")
}

/// Everything about one fetch.
#[derive(Debug)]
struct Fetched {
    status: u16,
    body: Vec<u8>,
    error: Option<FetchError>,
    report: BodyReport,
}

async fn fetch(fetcher: &Fetcher, request: &FetchRequest<'_>) -> Result<Fetched, FetchError> {
    let mut response = fetcher.get(request).await?;
    let mut body = Vec::new();
    let error = loop {
        match response.chunk().await {
            Ok(Some(piece)) => {
                assert!(!piece.is_empty() && piece.len() <= 64 * 1024);
                body.extend_from_slice(piece);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert_eq!(response.chunk().await, Ok(None), "nothing comes after the end");
    Ok(Fetched { status: response.status(), body, error, report: response.finish() })
}

async fn fetch_url(fetcher: &Fetcher, url: &str) -> Result<Fetched, FetchError> {
    fetch(fetcher, &FetchRequest::new(url)).await
}

#[test]
fn a_fetcher_travels_between_threads() {
    fn travels<T: Send + Sync + Clone>() {}
    fn moves<T: Send>(_: &T) {}
    travels::<Fetcher>();
    let fetcher = fetcher(&config());
    let whole = fetch_url(&fetcher, "http://127.0.0.1/");
    moves(&whole);
    drop(whole);
}
