//! The synthetic website in a process of its own: it knows every page it has, and counts what it was asked.

use crate::harness::{Run, crawl, dragline, size};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;

/// `dragline demo --serve`, ended when dropped.
pub(crate) struct Demo {
    process: Child,
    authority: String,
}

impl Demo {
    pub(crate) fn serve(pages: u32, hosts: u32) -> Demo {
        let mut process = dragline()
            .args(["demo", "--serve", "--listen", "127.0.0.1:0"])
            .args(["--pages", &pages.to_string(), "--hosts", &hosts.to_string()])
            .spawn()
            .unwrap();
        let mut banner = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut banner).unwrap();
        let url = banner.split("http://").nth(1).unwrap_or_else(|| panic!("no address in {banner}"));
        let authority = url.split('/').next().unwrap().to_owned();
        Demo { process, authority }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.authority.parse().unwrap()
    }

    /// The lines of one of the site's own lists, remarks left out.
    pub(crate) fn list(&self, path: &str) -> Vec<String> {
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.authority).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        body.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// How often each URL was requested, but for robots.txt.
    pub(crate) fn requests(&self) -> BTreeMap<String, u32> {
        let lines = self.list("/_log");
        let counts = lines.iter().filter_map(|line| line.split_once('\t'));
        counts
            .filter(|(_, url)| !url.ends_with("/robots.txt"))
            .map(|(count, url)| (url.to_owned(), count.parse().unwrap()))
            .collect()
    }

    fn crawl(&self, further: &[&str]) -> Run {
        let seeds = self.list("/_seeds");
        let mut arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
        arguments.extend(["--resolve", "*.site.test:127.0.0.1"]);
        arguments.extend(further);
        crawl(&arguments)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

#[test]
fn every_page_is_requested_once_whatever_decides() {
    for mode in [
        &["--dedup", "two-stage"][..],
        &["--dedup", "two-stage", "--filter", "classic"],
        // a filter far too small costs time, not pages
        &["--dedup", "two-stage", "--bits-per-url", "1", "--expected-urls", "1000"],
        &["--dedup", "two-stage", "--bits-per-url", "2", "--expected-urls", "1000", "--memory", "24MiB"],
        &["--dedup", "exact"],
    ] {
        let pages = size(1500, 100_000);
        let site = Demo::serve(pages, 5);
        let truth: BTreeSet<String> = site.list("/_truth").into_iter().collect();
        assert_eq!(truth.len(), pages as usize);
        let run = site.crawl(mode);
        let requests = site.requests();
        let again: Vec<_> = requests.iter().filter(|(_, times)| **times > 1).collect();
        assert!(again.is_empty(), "{mode:?}: requested more than once: {again:?}");
        let missing = truth.iter().filter(|url| !requests.contains_key(*url)).count();
        assert_eq!(missing, 0, "{mode:?}: {}", run.summary);
        assert_eq!(run.pages.len(), requests.len(), "{mode:?}: a record for each request");
        assert_eq!(run.number("pages.failed"), 0, "{mode:?}: {}", run.summary);
        assert!(run.skips("robots_denied") > 0, "the forbidden part is linked");
        run.check_no_traps();
    }
}

#[test]
fn a_filter_that_is_believed_says_what_it_loses() {
    let site = Demo::serve(3000, 1);
    let run = site.crawl(&["--dedup", "bloom", "--bits-per-url", "4", "--expected-urls", "1000"]);
    let requests = site.requests();
    run.check_no_traps();
    let missed = site.list("/_truth").iter().filter(|url| !requests.contains_key(*url)).count();
    let expected = run.summary["filter"]["expected_pages_missed"].as_f64().unwrap();
    assert!(
        missed > 0 && expected > 0.0,
        "missed {missed}, expected {expected}: a filter of a third the size"
    );
    assert_eq!(run.summary["filter"]["health"], "overfull", "{}", run.summary["filter"]);
}
