//! Servers that break every rule: whatever they do, a crawl ends by itself, within its memory, with
//! one record of everything that it asked for, and misses nothing that is in order.
//!
//! [`rows`] is the table: what a server does and what must come of it, a row each. One crawl meets
//! all rows at once, beside pages that are as they should be and that it must still fetch. What is
//! compared is what the server was asked, and what the crawl wrote, each with the whole table:
//! neither may hold more or less.
//!
//! `cargo test --test it rough -- --nocapture` prints what became of each row.

mod bombs;
mod ledger;
mod row;
mod rows;
mod server;

use crate::harness::{Run, crawl, crawl_guarded};
use ledger::Ledger;
use row::ATTEMPTS;
use rows::{CAPS, MOST_REDIRECTS};
use server::Server;

/// Crawls the open rows of a server; times are short, but long enough for a busy machine.
fn crawl_all(server: &Server, further: &[&str]) -> Run {
    let seed = server.site().seed(false);
    let (retries, redirects) = ((ATTEMPTS - 1).to_string(), MOST_REDIRECTS.to_string());
    let given = [
        &[seed.as_str(), "--scope", "any", "--resolve", "*.test:127.0.0.1", "--memory", "48MiB"][..],
        &["--timeout", "4s", "--connect-timeout", "4s", "--max-retry-after", "1s", "--max-body", "256KiB"],
        &["--retries", &retries, "--max-redirects", &redirects],
        CAPS,
        further,
    ];
    let run = crawl(&given.concat());
    Ledger::new(server, false).check(&run);
    run
}

#[test]
fn whatever_servers_do_the_crawl_ends_with_every_page_that_is_in_order() {
    let run = crawl_all(&Server::start(rows::all), &[]);
    let peak = run.number("memory.peak_rss_bytes");
    assert!((1..=48 << 20).contains(&peak), "{peak} bytes of memory at most: {}", run.summary);
}

#[test]
fn bytes_that_come_while_a_connection_rests_answer_nothing() {
    crawl_all(&Server::start(rows::late_surplus), &["--delay", "500ms"]);
}

#[test]
fn redirects_into_private_networks_are_not_followed() {
    let server = Server::start(rows::all);
    let seed = server.site().seed(true);
    let run = crawl_guarded(&[&seed, "--scope", "any", "--resolve", "*.test:127.0.0.1"]);
    Ledger::new(&server, true).check(&run);
}
