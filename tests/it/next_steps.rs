//! What a person is told to do next, where a crawl did not end as they hoped.

use crate::harness::{crawl_into, dragline, kill, resumed, start, until};
use crate::resume::chain;
use crate::server::{Script, Server};
use tempfile::TempDir;

/// A crawl that goes on where there is no network spends its queue on hosts that it cannot reach.
#[test]
fn a_crawl_that_goes_on_and_reaches_nobody_says_so() {
    let server = chain(100);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let given = [&server.url("/c0"), "--delay", "0s", "--retries", "0", "--max-pages", "5"];
    let first = crawl_into(&output, &given);
    assert_eq!(first.code, Some(11), "{}", first.stderr);
    assert!(!first.stderr.contains("WARNING"), "{}", first.stderr);
    drop(server);
    let run = resumed(&output, &["--max-pages", "50"]);
    assert_eq!(run.number("pages.ok"), 5, "{}", run.summary);
    assert_eq!(run.skips("host_unreachable"), 1, "{}", run.summary);
    assert!(run.stderr.contains("WARNING: not one page was answered"), "{}", run.stderr);
    assert!(run.stderr.contains("1 page was skipped"), "{}", run.stderr);
}

#[test]
fn a_crawl_that_fetched_nothing_says_how_to_begin_again() {
    let gone = Server::start(Script::new());
    let url = gone.url("/");
    drop(gone);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let run = crawl_into(&output, &[url.as_str(), "--delay", "0s", "--retries", "0", "--robots", "ignore"]);
    assert_eq!(run.code, Some(8), "{}", run.stderr);
    assert!(run.stderr.contains("begin again") && run.stderr.contains("--fresh"), "{}", run.stderr);
    let again = resumed(&output, &[]);
    assert_eq!(again.code, Some(5), "{}", again.stderr);
    assert!(again.stderr.contains("--fresh"), "{}", again.stderr);
}

#[test]
fn a_crawl_of_the_first_seconds_has_a_status_that_says_when_figures_come() {
    let server = chain(100_000);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let child = start(&output, &[&server.url("/c0"), "--delay", "0s", "--stats-interval", "1h"]);
    until("the crawl has begun", || server.log().len() >= 5);
    let text = dragline().arg("status").arg(&output).output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("none yet: they come each --stats-interval") && text.contains("disk"), "{text}");
    kill(child);
}
