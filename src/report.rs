//! What a person reads during and after a crawl, as text.
//!
//! Owns wording and layout of tables and lines; takes the figures from `stats`
//! as they are, and prints nothing itself.

mod estimates;

use std::fmt::Write;

pub use self::estimates::estimate;
use crate::config::Dedup;
use crate::human;
use crate::stats::{FilterState, Portrait, Snapshot, Summary};

/// How fast a crawl went between two snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Records a second.
    pub pages: f64,
    /// Bytes of body received a second, as coded.
    pub wire_bytes: f64,
}

impl Rates {
    /// The rates from one snapshot to a later one; zero where no time has passed.
    pub fn between(earlier: &Snapshot, later: &Snapshot) -> Rates {
        let seconds = later.elapsed.saturating_sub(earlier.elapsed).as_secs_f64();
        if seconds <= 0.0 {
            return Rates::default();
        }
        let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / seconds;
        Rates {
            pages: rate(earlier.pages.fetched, later.pages.fetched),
            wire_bytes: rate(earlier.bytes.wire, later.bytes.wire),
        }
    }

    /// The rates of a whole crawl.
    pub fn overall(totals: &Snapshot) -> Rates {
        Rates::between(&Snapshot::default(), totals)
    }
}

/// One line for a log: what was done, what waits, how full things are.
pub fn progress_line(snapshot: &Snapshot, rates: &Rates) -> String {
    let Snapshot { pages, urls, .. } = snapshot;
    let mut line = format!(
        "{} | {} ({}), {} failed | {} in flight, {} queued | {} unique, {} | {}/s",
        human::span(snapshot.elapsed),
        human::of(pages.fetched, "page"),
        human::rate(rates.pages),
        human::grouped(pages.failed),
        urls.in_flight,
        human::grouped(urls.queued),
        human::grouped(urls.unique),
        human::of(urls.repeats, "repeat"),
        human::bytes(rates.wire_bytes.max(0.0) as u64),
    );
    if let Some(filter) = &snapshot.filter {
        let fill = human::percent(filter.fill_ratio);
        let fpr = human::percent(filter.estimated_fpr);
        append(&mut line, format_args!(" | filter {} ({fill} of bits set, fpr {fpr})", filter.health.name()));
    }
    append(&mut line, format_args!(" | {}", memory_use(snapshot)));
    line
}

/// Resident memory against the budget.
pub fn memory_use(snapshot: &Snapshot) -> String {
    let memory = &snapshot.memory;
    match memory.rss_bytes.or(memory.peak_rss_bytes) {
        Some(bytes) => format!("{} of {}", human::bytes(bytes), human::bytes(memory.budget_bytes)),
        None => format!("budget {}", human::bytes(memory.budget_bytes)),
    }
}

/// What the state of a filter means now, and what to do about it.
pub fn filter_verdict(filter: &FilterState) -> String {
    let mut text = format!("{}: {}", filter.health.name(), filter.health.meaning(filter.dedup));
    if filter.dedup == Dedup::Bloom {
        let missed = human::count(filter.expected_pages_missed.max(0.0).round() as u64);
        append(&mut text, format_args!(", about {missed} so far"));
    }
    if let Some(remedy) = filter.health.remedy(filter.dedup) {
        append(&mut text, format_args!("; {remedy}"));
    }
    text
}

/// What happened, where it did.
fn note_rows(table: &mut Table, totals: &Snapshot) {
    let notes = &totals.notes;
    for (count, one, many, what) in [
        (notes.truncated, "body", "bodies", "not read to the end"),
        (notes.mislabelled_encodings, "body", "bodies", "not coded as the header said"),
        (notes.depth_shadowed, "page", "pages", "met nearer to a seed once fetched at the depth limit"),
        (notes.scope_moves, "seed", "seeds", "redirected out of the scope, which moved along"),
        (notes.crawl_delays_clamped, "Crawl-delay", "Crawl-delays", "longer than --max-crawl-delay"),
        (
            notes.hosts_forgotten,
            "host",
            "hosts",
            "asked again, for want of room to remember that they had failed",
        ),
        (notes.sitemaps, "sitemap", "sitemaps", "read"),
        (notes.sitemap_entries, "entry", "entries", "found in sitemaps"),
        (notes.sitemaps_cut, "sitemap", "sitemaps", "broken or cut; what stood before counts"),
        (notes.sitemaps_too_large, "sitemap", "sitemaps", "larger than the protocol allows"),
        (
            notes.traps,
            "trap",
            "traps",
            "noticed: queries of one path, hosts of one domain, or pages that are nearly the same, without end",
        ),
        (notes.cookies_dropped, "cookie", "cookies", "not kept"),
    ] {
        if count > 0 {
            let thing = if count == 1 { one } else { many };
            table.row("note", format!("{} {thing} {what}", human::grouped(count)));
        }
    }
}

/// The table of estimates, ending in a line break.
pub fn portrait_table(portrait: &Portrait) -> String {
    let mut table = Table::default();
    for (name, text) in estimates::rows(portrait) {
        table.row(name, text);
    }
    table.text
}

/// The table at the end of a crawl, ending in a line break.
pub fn summary_table(summary: &Summary) -> String {
    let mut table = Table::default();
    table.row("end", summary.end_reason.describe());
    page_rows(&mut table, &summary.totals);
    url_rows(&mut table, &summary.totals);
    let totals = &summary.totals;
    let requests = &totals.requests;
    table.row(
        "requests",
        format!(
            "{} for pages ({} of them repeated), {} for robots.txt",
            human::grouped(requests.pages),
            human::grouped(requests.retries),
            human::grouped(requests.robots)
        ),
    );
    note_rows(&mut table, totals);
    filter_rows(&mut table, totals);
    for (name, text) in totals.estimates.iter().flat_map(estimates::rows) {
        table.row(name, text);
    }
    let memory = &totals.memory;
    let peak = memory.peak_rss_bytes.map_or_else(|| "unknown".to_owned(), human::bytes);
    table.row("memory", format!("peak {peak} of {}", human::bytes(memory.budget_bytes)));
    let Rates { pages, wire_bytes } = Rates::overall(totals);
    let (wire, decoded) = (human::bytes(totals.bytes.wire), human::bytes(totals.bytes.decoded));
    table.row("bytes", format!("{wire} received ({}/s), {decoded} decoded", human::bytes(wire_bytes as u64)));
    table.row(
        "time",
        format!(
            "{} ({} pages a second)",
            human::span(totals.elapsed),
            human::rate(pages).trim_end_matches("/s")
        ),
    );
    table.text
}

fn page_rows(table: &mut Table, totals: &Snapshot) {
    let pages = &totals.pages;
    let [fetched, ok, failed] = [pages.fetched, pages.ok, pages.failed].map(human::grouped);
    table.row("pages", format!("{fetched} fetched: {ok} answered, {failed} failed"));
    table.counts("  by status", pages.by_status.iter().map(|(status, number)| (status.to_string(), *number)));
    table.counts("  by error", pages.by_error.iter().map(|(kind, number)| (kind.name().to_owned(), *number)));
}

fn url_rows(table: &mut Table, totals: &Snapshot) {
    let urls = &totals.urls;
    let [discovered, unique] = [urls.discovered, urls.unique].map(human::grouped);
    let repeats = human::of(urls.repeats, "repeat");
    table.row("URLs", format!("{discovered} discovered: {unique} unique, {repeats}"));
    if urls.doubts_settled + urls.doubts_pending > 0 {
        let [settled, rescued, pending] =
            [urls.doubts_settled, urls.rescued, urls.doubts_pending].map(human::grouped);
        table.row(
            "  doubts",
            format!("{settled} settled, {rescued} of them new after all; {pending} pending"),
        );
    }
    if urls.queued + urls.in_flight > 0 {
        let [queued, in_flight] = [urls.queued, urls.in_flight].map(human::grouped);
        table.row("  left", format!("{queued} queued, {in_flight} in flight"));
    }
    let named = |(reason, number): (&crate::model::SkipReason, &u64)| (reason.name().to_owned(), *number);
    table.counts("  skipped", urls.skipped_before_queue.iter().map(named));
    table.counts("  skipped later", urls.skipped_after_queue.iter().map(named));
    for (place, (reason, url)) in urls.examples.iter().enumerate() {
        // URLs are from outside: whatever could act on a terminal is escaped
        let name = if place == 0 { "  such as" } else { "" };
        table.row(name, format!("{}: {}", reason.name(), url.escape_default()));
    }
}

fn filter_rows(table: &mut Table, totals: &Snapshot) {
    let Some(filter) = &totals.filter else {
        return;
    };
    let size = human::bytes(filter.bits.div_ceil(8));
    let made_for = human::of((filter.bits as f64 / filter.bits_per_url.max(1.0)).round() as u64, "URL");
    let shape = format!("{:.1} bits each, {}", filter.bits_per_url, hashes(filter.hashes));
    table.row("filter", format!("holds {} of {made_for} it is made for", human::grouped(filter.items)));
    table.row("  size", format!("{size}: {shape}"));
    let (fill, fpr) = (human::percent(filter.fill_ratio), human::percent(filter.estimated_fpr));
    table.row("  health", format!("{fill} of its bits set, false positives {fpr}"));
    table.row("", filter_verdict(filter));
}

fn hashes(number: u32) -> String {
    let plural = if number == 1 { "" } else { "es" };
    format!("{number} hash{plural}")
}

/// Rows of a name and a text, the texts aligned.
#[derive(Debug, Default)]
struct Table {
    text: String,
}

impl Table {
    fn row(&mut self, name: &str, text: impl AsRef<str>) {
        append(&mut self.text, format_args!("{name:<15} {}\n", text.as_ref()));
    }

    /// A row `name number, name number`, the largest first; none where there is nothing.
    fn counts(&mut self, name: &str, counts: impl Iterator<Item = (String, u64)>) {
        let mut counts: Vec<_> = counts.filter(|count| count.1 > 0).collect();
        if counts.is_empty() {
            return;
        }
        counts.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        let parts: Vec<_> =
            counts.iter().map(|(name, number)| format!("{name} {}", human::grouped(*number))).collect();
        self.row(name, parts.join(", "));
    }
}

/// Writing to a text cannot fail.
fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FilterKind;
    use crate::model::{ErrorKind, SkipReason};
    use crate::stats::EndReason;
    use crate::visited::Verdict;
    use std::time::Duration;

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot { elapsed: Duration::from_secs(200), ..Snapshot::default() };
        snapshot.pages.fetched = 1200;
        snapshot.pages.ok = 1199;
        snapshot.pages.failed = 1;
        snapshot.pages.by_status.extend([(200, 1100), (404, 99)]);
        snapshot.pages.by_error.insert(ErrorKind::Timeout, 1);
        snapshot.urls.discovered = 40_000;
        snapshot.urls.unique = 1200;
        snapshot.urls.repeats = 38_000;
        snapshot.urls.doubts_settled = 50;
        snapshot.urls.rescued = 2;
        snapshot.urls.skipped_before_queue.insert(SkipReason::OutOfScope, 800);
        snapshot.urls.examples.insert(SkipReason::OutOfScope, "http://b.test/\u{1b}[2J\u{202e}".into());
        snapshot.bytes.wire = 4 << 20;
        snapshot.memory.budget_bytes = 64 << 20;
        snapshot.memory.peak_rss_bytes = Some(40 << 20);
        snapshot.filter = Some(FilterState {
            dedup: Dedup::TwoStage,
            kind: FilterKind::Blocked,
            bits: 8 << 20,
            bits_per_url: 10.0,
            hashes: 6,
            items: 1200,
            fill_ratio: 0.01,
            estimated_fpr: 0.000_012,
            expected_pages_missed: 3.4,
            health: Verdict::Good,
        });
        snapshot
    }

    #[test]
    fn the_line_tells_all_and_is_one_line() {
        let line = progress_line(&snapshot(), &Rates { pages: 6.0, wire_bytes: 20480.0 });
        assert_eq!(
            line,
            "3m 20s | 1,200 pages (6.0/s), 1 failed | 0 in flight, 0 queued | 1,200 unique, 38,000 repeats | \
             20.0 KiB/s | filter good (1.00 % of bits set, fpr 0.001 %) | 40.0 MiB of 64.0 MiB"
        );
    }

    #[test]
    fn the_table_says_what_happened() {
        let table = summary_table(&Summary { end_reason: EndReason::Done, totals: snapshot() });
        for part in [
            "done: nothing is left to fetch",
            "1,200 fetched: 1,199 answered, 1 failed",
            "200 1,100, 404 99",
            "timeout 1",
            "50 settled, 2 of them new after all; 0 pending",
            "out_of_scope 800",
            "out_of_scope: http://b.test/\\u{1b}[2J\\u{202e}",
            "holds 1,200 of 838,861 URLs it is made for",
            "1.0 MiB: 10.0 bits each, 6 hashes",
            "good: no page is missed",
            "peak 40.0 MiB of 64.0 MiB",
            "3m 20s (6.0 pages a second)",
        ] {
            assert!(table.contains(part), "{part} is missing in\n{table}");
        }
    }

    #[test]
    fn only_the_filter_alone_loses_pages() {
        let mut filter = snapshot().filter.expect("has one");
        for health in [Verdict::Good, Verdict::Full, Verdict::Overfull] {
            filter.health = health;
            filter.dedup = Dedup::TwoStage;
            assert!(filter_verdict(&filter).contains("no page is missed"));
            filter.dedup = Dedup::Bloom;
            assert!(filter_verdict(&filter).contains("about 3 so far"));
        }
    }

    #[test]
    fn rates_need_time() {
        let later = snapshot();
        assert_eq!(Rates::between(&later, &later), Rates::default());
        assert!((Rates::overall(&later).pages - 6.0).abs() < 1e-9);
        assert_eq!(Rates::between(&later, &Snapshot::default()), Rates::default());
    }
}
