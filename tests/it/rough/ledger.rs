//! What must have been asked and written, by the table, and the comparison with what was.

use super::row::{Outcome, Row, Site};
use super::server::Server;
use crate::harness::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};

/// The books of one crawl.
pub(super) struct Ledger<'a> {
    server: &'a Server,
    rows: Vec<&'a Row>,
    /// How often each page, robots.txt among them, must be asked for, by its URL.
    requests: BTreeMap<String, usize>,
    /// The record of each page: what became of it, and after how many requests.
    records: BTreeMap<String, (Outcome, usize)>,
    /// Why a URL that was met must not be asked.
    skips: BTreeMap<String, String>,
}

/// `scheme://host:port` of a URL.
fn origin(url: &str) -> &str {
    let rest = url.find("//").map_or(0, |at| at + 2);
    &url[..url[rest..].find('/').map_or(url.len(), |at| rest + at)]
}

impl<'a> Ledger<'a> {
    /// The books of the crawl with or without `--allow-private`.
    pub(super) fn new(server: &'a Server, guarded: bool) -> Ledger<'a> {
        let rows = server.rows().iter().filter(|row| row.guarded == guarded).collect();
        let (requests, records, skips) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut ledger = Ledger { server, rows, requests, records, skips };
        ledger.page(server.site().seed(guarded), &Outcome::status(200), 1);
        for row in ledger.rows.clone() {
            ledger.row(row, server.site());
        }
        ledger
    }

    fn row(&mut self, row: &Row, site: Site) {
        self.page(row.after(site), &Outcome::status(200), 1);
        if let Some(witness) = row.leads {
            self.page(site.witness(row.name, witness), &Outcome::status(200), 1);
        }
        self.page(row.url(site), &row.outcome, row.attempts);
        for (url, outcome) in &row.further {
            self.page(url.clone(), outcome, 1);
        }
        for (url, reason) in &row.skipped {
            self.skips.insert(url.clone(), (*reason).to_owned());
        }
        for (path, times) in row.robots_asked.iter().filter(|_| !row.guarded) {
            self.requests.insert(site.url(&row.host(), path), *times);
        }
    }

    fn page(&mut self, url: String, outcome: &Outcome, attempts: usize) {
        match outcome {
            Outcome::Skip(reason) => drop(self.skips.insert(url, (*reason).to_owned())),
            Outcome::Record { .. } => {
                self.requests.entry(format!("{}/robots.txt", origin(&url))).or_insert(1);
                self.requests.insert(url.clone(), attempts);
                let before = self.records.insert(url.clone(), (outcome.clone(), attempts));
                assert_eq!(before, None, "{url} stands in two rows");
            }
        }
    }

    /// Prints the table, and compares.
    pub(super) fn check(&self, run: &Run) {
        let site = self.server.site();
        let mut asked: BTreeMap<String, usize> = BTreeMap::new();
        for one in self.server.log() {
            *asked.entry(site.url(&one.host, &one.path)).or_default() += 1;
        }
        self.print(run, &asked);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let racing = |url: &str| self.rows.iter().any(|row| row.races && url.starts_with(&row.url(site)));
        let records = run.pages.iter().map(|page| {
            let url = text(&page["url"]);
            // what the server never met, its log does not count
            let attempts = if racing(&url) { 1 } else { page["attempts"].as_u64().unwrap() as usize };
            (url, (Outcome::of(page), attempts))
        });
        let records: Vec<_> = records.collect();
        let skips: Vec<_> = run.skipped.iter().map(|row| (text(&row["url"]), text(&row["reason"]))).collect();
        let wrong = [
            differences("requests", &self.requests, &asked.into_iter().collect::<Vec<_>>()),
            differences("records", &self.records, &records),
            differences("skips", &self.skips, &skips),
            self.reused(),
        ]
        .concat();
        assert!(wrong.is_empty(), "{wrong}\n{}", run.stderr);
    }

    /// The rows whose first page was answered over a connection that was used further.
    fn reused(&self) -> String {
        let log = self.server.log();
        let mut wrong = String::new();
        for row in self.rows.iter().filter(|row| row.alone) {
            let first = log.iter().position(|asked| asked.host == row.host() && asked.path == "/");
            let Some(first) = first else { continue };
            let later = &log[first + 1..];
            for further in later.iter().filter(|asked| asked.connection == log[first].connection) {
                let _infallible = writeln!(wrong, "{} went on: {further:?}", row.name);
            }
        }
        wrong
    }

    /// One line for each row: what became of its first page, and what that took.
    #[allow(clippy::print_stdout, reason = "the report of a test, for who asks for it by --nocapture")]
    fn print(&self, run: &Run, asked: &BTreeMap<String, usize>) {
        let site = self.server.site();
        let mut table = format!(
            "{:<28}{:<44}{:>9}{:>10}{:>12}{:>12}\n",
            "row", "outcome", "requests", "witnesses", "bytes sent", "bytes read"
        );
        for row in &self.rows {
            let url = row.url(site);
            let record = run.pages.iter().find(|page| page["url"] == url);
            let outcome = match (record, run.skip_reason(&url)) {
                (Some(record), _) => Outcome::of(record).to_string(),
                (None, Some(reason)) => format!("skip: {reason}"),
                (None, None) => "nothing".to_owned(),
            };
            let witnesses =
                [row.after(site)].into_iter().chain(row.leads.map(|way| site.witness(row.name, way)));
            let reached: usize = witnesses.filter_map(|witness| asked.get(&witness)).sum();
            let requests = self.server.log().iter().filter(|one| row.is_for(&one.host, &one.path)).count();
            let read = record.and_then(|record| record["wire_bytes"].as_u64()).unwrap_or(0);
            let sent = self.server.sent(row);
            let _infallible = writeln!(
                table,
                "{:<28}{outcome:<44}{requests:>9}{reached:>10}{sent:>12}{read:>12}",
                row.name
            );
        }
        let peak = run.number("memory.peak_rss_bytes");
        let (rows, records) = (self.rows.len(), run.pages.len());
        println!("{table}{rows} rows, {records} records, {peak} bytes of memory at most");
    }
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Differences shown of each kind.
const SHOWN: usize = 40;

/// A line for each entry that is missing, too much, doubled or different.
fn differences<Value: PartialEq + Debug>(
    what: &str,
    expected: &BTreeMap<String, Value>,
    found: &[(String, Value)],
) -> String {
    let mut wrong = Vec::new();
    let mut met = BTreeSet::new();
    for (url, value) in found {
        let should = expected.get(url);
        if !met.insert(url) {
            wrong.push(format!("{what}: {url} twice\n"));
        } else if should != Some(value) {
            wrong.push(format!("{what}: {url} is {value:?}, should be {should:?}\n"));
        }
    }
    let missing = expected.iter().filter(|(url, _)| !met.contains(url));
    wrong.extend(missing.map(|(url, value)| format!("{what}: {url} is missing, should be {value:?}\n")));
    let more = wrong.len().saturating_sub(SHOWN);
    wrong.truncate(SHOWN);
    wrong.extend((more > 0).then(|| format!("{what}: and {more} more\n")));
    wrong.concat()
}
