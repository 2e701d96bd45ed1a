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

use crate::harness::{crawl, crawl_guarded};
use ledger::Ledger;
use rows::{CAPS, MOST_REDIRECTS};
use server::Server;

#[test]
fn whatever_servers_do_the_crawl_ends_with_every_page_that_is_in_order() {
    let server = Server::start(rows::all);
    let seed = server.site().seed(false);
    let redirects = MOST_REDIRECTS.to_string();
    let run = crawl(
        &[
            &[seed.as_str(), "--scope", "any", "--resolve", "*.test:127.0.0.1", "--memory", "48MiB"][..],
            &["--timeout", "3s", "--connect-timeout", "2s", "--max-retry-after", "1s", "--max-body", "1MiB"],
            &["--max-redirects", &redirects],
            CAPS,
        ]
        .concat(),
    );
    Ledger::new(&server, false).check(&run);
    let peak = run.number("memory.peak_rss_bytes");
    assert!((1..=48 << 20).contains(&peak), "{peak} bytes of memory at most: {}", run.summary);
}

#[test]
fn redirects_into_private_networks_are_not_followed() {
    let server = Server::start(rows::all);
    let seed = server.site().seed(true);
    let run = crawl_guarded(&[&seed, "--scope", "any", "--resolve", "*.test:127.0.0.1"]);
    Ledger::new(&server, true).check(&run);
}
