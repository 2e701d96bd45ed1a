//! What the live display shows, as lines of plain ASCII.
//!
//! Nothing from the network is among them, so they are as wide as they are long.

use dragline::config::Dedup;
use dragline::human;
use dragline::report::{self, Rates};
use dragline::stats::Snapshot;
use dragline::visited::Verdict;

/// Lines of the display; always as many.
pub(super) const LINES: usize = 7;

/// Cells of a fill bar.
const BAR_CELLS: usize = 18;

/// The lines for a moment of the crawl.
pub(super) fn lines(snapshot: &Snapshot, rates: &Rates, colored: bool) -> [String; LINES] {
    let Snapshot { pages, urls, .. } = snapshot;
    let [fetched, failed, queued] = [pages.fetched, pages.failed, urls.queued].map(human::grouped);
    let (unique, repeats) = (human::grouped(urls.unique), human::of(urls.repeats, "repeat"));
    let skipped = human::grouped(urls.skipped_before() + urls.skipped_after());
    [
        format!("pages    {fetched} fetched ({}), {failed} failed", human::rate(rates.pages)),
        format!("queue    {} in flight, {queued} queued", urls.in_flight),
        format!("URLs     {unique} unique, {repeats}, {} in doubt, {skipped} skipped", urls.doubts_pending),
        format!(
            "wire     {} ({}/s)",
            human::bytes(snapshot.bytes.wire),
            human::bytes(rates.wire_bytes.max(0.0) as u64)
        ),
        filter_line(snapshot, colored),
        format!("memory   {} {}", bar(memory_fill(snapshot)), report::memory_use(snapshot)),
        format!("time     {}, {}", human::span(snapshot.elapsed), errors(snapshot)),
    ]
}

fn filter_line(snapshot: &Snapshot, colored: bool) -> String {
    let Some(filter) = &snapshot.filter else {
        return "filter   none (--dedup exact)".to_owned();
    };
    let (fill, fpr) = (human::percent(filter.fill_ratio), human::percent(filter.estimated_fpr));
    let word = filter.health.name();
    let word = if colored { paint(word, filter.health) } else { word.to_owned() };
    let missed = match filter.dedup {
        Dedup::Bloom => human::count(filter.expected_pages_missed.max(0.0).round() as u64),
        _ => "none".to_owned(),
    };
    format!("filter   {} {fill} set, fpr {fpr}, {word}, {missed} missed", bar(filter.fill_ratio))
}

/// Green, yellow or red, by the verdict.
fn paint(text: &str, health: Verdict) -> String {
    let color = match health {
        Verdict::Good => 32,
        Verdict::Full => 33,
        Verdict::Overfull => 31,
    };
    format!("\u{1b}[{color}m{text}\u{1b}[0m")
}

fn memory_fill(snapshot: &Snapshot) -> f64 {
    let memory = &snapshot.memory;
    memory.rss_bytes.unwrap_or(0) as f64 / memory.budget_bytes.max(1) as f64
}

/// A bar such as `[######------]`.
fn bar(ratio: f64) -> String {
    let ratio = if ratio.is_finite() { ratio.clamp(0.0, 1.0) } else { 0.0 };
    let full = (ratio * BAR_CELLS as f64).round() as usize;
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR_CELLS - full))
}

fn errors(snapshot: &Snapshot) -> String {
    let errors = &snapshot.pages.by_error;
    if errors.is_empty() {
        return "no errors".to_owned();
    }
    let mut errors: Vec<_> = errors.iter().map(|(kind, number)| (*number, kind.name())).collect();
    errors.sort_unstable_by(|left, right| right.cmp(left));
    let parts: Vec<_> =
        errors.iter().map(|(number, name)| format!("{name} {}", human::grouped(*number))).collect();
    format!("errors: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dragline::config::FilterKind;
    use dragline::model::ErrorKind;
    use dragline::stats::FilterState;

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.pages.by_error.extend([(ErrorKind::Dns, 2), (ErrorKind::Timeout, 30)]);
        snapshot.memory.budget_bytes = 100;
        snapshot.memory.rss_bytes = Some(50);
        snapshot.filter = Some(FilterState {
            dedup: Dedup::TwoStage,
            kind: FilterKind::Blocked,
            bits: 1,
            bits_per_url: 10.0,
            hashes: 6,
            items: 1,
            fill_ratio: 0.25,
            estimated_fpr: 0.01,
            expected_pages_missed: 0.0,
            health: Verdict::Good,
        });
        snapshot
    }

    #[test]
    fn lines_are_ascii_without_controls() {
        for line in lines(&snapshot(), &Rates::default(), false) {
            assert!(line.bytes().all(|byte| (b' '..0x7f).contains(&byte)), "{line}");
        }
    }

    #[test]
    fn bars_and_errors() {
        let lines = lines(&snapshot(), &Rates::default(), false);
        assert!(
            lines[4].contains("[#####-------------] 25.0 % set, fpr 1.00 %, good, none missed"),
            "{}",
            lines[4]
        );
        assert!(lines[5].contains("[#########---------]"), "{}", lines[5]);
        assert!(lines[6].ends_with("errors: timeout 30, dns 2"), "{}", lines[6]);
        for ratio in [f64::NAN, -1.0, 2.0, f64::INFINITY] {
            assert_eq!(bar(ratio).len(), BAR_CELLS + 2);
        }
    }

    /// What a terminal of 80 columns shows whole, the four that stay free left out.
    #[test]
    fn bars_rates_and_verdicts_fit_in_80_columns() {
        let mut long = snapshot();
        long.memory.budget_bytes = 1 << 40;
        let filter = long.filter.as_mut().expect("has one");
        (filter.fill_ratio, filter.estimated_fpr, filter.expected_pages_missed) = (0.654, 0.123, 1e13);
        filter.health = Verdict::Overfull;
        let mut young = long.clone();
        let filter = young.filter.as_mut().expect("has one");
        (filter.fill_ratio, filter.estimated_fpr, filter.health) = (0.00314, 7.7e-12, Verdict::Good);
        let bloom = |mut shown: Snapshot| {
            shown.filter.as_mut().expect("has one").dedup = Dedup::Bloom;
            shown
        };
        for long in [bloom(long.clone()), long, bloom(young.clone()), young] {
            for line in &lines(&long, &Rates::default(), false)[..6] {
                assert!(line.len() <= 76, "{line}");
            }
        }
    }

    #[test]
    fn color_only_where_asked_for() {
        assert!(lines(&snapshot(), &Rates::default(), true)[4].contains("\u{1b}[32mgood"));
        let exact = Snapshot { filter: None, ..snapshot() };
        assert!(lines(&exact, &Rates::default(), true)[4].contains("none"));
    }
}
