//! A filter that is believed misses as many pages as it says, whatever its secret.

use crate::harness::{crawl_into, full_sizes, size};
use crate::server::{Answer, Script, Server, page};
use std::collections::BTreeSet;
use tempfile::TempDir;

/// Crawls, each of which has a random secret of its own.
const SECRETS: u32 = 10;
/// Pages that one index page leads to.
const LINKED: u32 = 500;

/// The path of a page. Most of them robots.txt forbids, unless the full size is asked for: that they were
/// found is known then without a request for each.
fn path(number: u32) -> String {
    let place = if full_sizes() || number.is_multiple_of(50) { "open" } else { "closed" };
    format!("/{place}/{number}")
}

/// Index pages that lead to all pages, each page on one of them: who is missed hides nobody else.
fn site(pages: u32) -> Server {
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /closed/\n"))
        .rule(move |request| {
            let index: u32 = request.path.strip_prefix("/index")?.parse().ok()?;
            let links: Vec<String> = (index * LINKED..(index + 1) * LINKED).map(path).collect();
            Some(page(&links))
        })
        .rule(|request| request.path.starts_with("/open/").then(|| Answer::html("x")));
    assert_eq!(pages % LINKED, 0, "whole index pages");
    Server::start(script)
}

/// Pages missed by one crawl, by the server's log, and how many it expected to miss.
fn missed(pages: u32, bits_per_url: u32) -> (u64, f64) {
    let server = site(pages);
    let directory = TempDir::new().unwrap();
    let list = directory.path().join("seeds");
    let seeds: Vec<String> = (0..pages / LINKED).map(|index| server.url(&format!("/index{index}"))).collect();
    std::fs::write(&list, seeds.join("\n")).unwrap();
    let (bits, urls) = (bits_per_url.to_string(), (pages + pages / LINKED).to_string());
    let given = ["-i", list.to_str().unwrap(), "--delay", "0s", "--allow-private", "--dedup", "bloom"];
    let filter = ["--bits-per-url", &bits, "--expected-urls", &urls];
    let run = crawl_into(&directory.path().join("crawl"), &[&given[..], &filter].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let requested: BTreeSet<String> = server.pages().into_iter().collect();
    let index = requested.iter().filter(|path| path.starts_with("/index")).count();
    assert_eq!(index, seeds.len(), "an index page was missed, and all that it leads to");
    let found = (requested.len() - index) as u64 + run.skips("robots_denied");
    assert_eq!(run.pages.len(), requested.len(), "each page once");
    let expected = run.summary["filter"]["expected_pages_missed"].as_f64().unwrap();
    (u64::from(pages) - found, expected)
}

/// The share is that of the sum over all secrets: one secret alone is lucky or not.
fn as_many_as_expected(pages: u32, bits_per_url: u32) {
    let all: Vec<(u64, f64)> = (0..SECRETS).map(|_| missed(pages, bits_per_url)).collect();
    let missed: u64 = all.iter().map(|(missed, _)| missed).sum();
    let expected: f64 = all.iter().map(|(_, expected)| expected).sum();
    assert!(missed > 1000, "too few to tell anything: {all:?}");
    let ratio = missed as f64 / expected;
    assert!((0.85..1.15).contains(&ratio), "{missed} missed, {expected} expected: {all:?}");
}

#[test]
fn at_four_bits_per_url_a_filter_misses_what_it_expects_to() {
    as_many_as_expected(size(10_000, 100_000), 4);
}

#[test]
fn at_eight_bits_per_url_a_filter_misses_what_it_expects_to() {
    as_many_as_expected(size(40_000, 100_000), 8);
}
