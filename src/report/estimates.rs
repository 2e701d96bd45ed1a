//! Estimates as a person reads them: each with a mark that it is one, and its bounds.

use crate::human::{self, grouped};
use crate::sketch::Estimate;
use crate::stats::{Frequency, Portrait, Spread};

/// Items of a table that are shown.
const SHOWN: usize = 3;
/// Bytes of an item that are shown.
const SHOWN_BYTES: usize = 60;

/// An estimate: `~1,234 (1,220 to 1,250)`, or `1,234` where it is exact.
pub fn estimate(estimate: &Estimate) -> String {
    let [value, lower, upper] = [estimate.value.round(), estimate.lower.floor(), estimate.upper.ceil()]
        .map(|value| grouped(value.max(0.0) as u64));
    if lower == upper { value } else { format!("~{value} ({lower} to {upper})") }
}

/// Rows of a name and a text.
pub(super) fn rows(portrait: &Portrait) -> Vec<(&'static str, String)> {
    let distinct = &portrait.distinct;
    let mut rows = vec![("estimates", "with bounds that hold for 95 of 100".to_owned())];
    for (name, value) in [
        ("  discovered", &distinct.urls_discovered),
        ("  fetched", &distinct.urls_fetched),
        ("  hosts", &distinct.hosts),
        ("  domains", &distinct.domains),
        ("  contents", &distinct.contents),
    ] {
        rows.push((name, format!("{} different", estimate(value))));
    }
    let milliseconds = |value: f64| format!("{}ms", grouped(value.round() as u64));
    let spread = &portrait.spread;
    let plain = |value: f64| grouped(value.round() as u64);
    rows.extend(spread.latency_ms.map(|values| ("  latency", spread_of(&values, milliseconds))));
    rows.extend(spread.first_byte_ms.map(|values| ("  first byte", spread_of(&values, milliseconds))));
    let size = |value: f64| human::bytes(value.round() as u64);
    rows.extend(spread.size_bytes.map(|values| ("  size", spread_of(&values, size))));
    rows.extend(spread.links.map(|values| ("  links", spread_of(&values, plain))));
    if let Some(most) = &portrait.most_frequent {
        for (name, table) in [
            ("  top hosts", &most.hosts),
            ("  top domains", &most.domains),
            ("  top paths", &most.path_templates),
            ("  top queries", &most.query_parameters),
            ("  top targets", &most.link_targets),
        ] {
            if !table.is_empty() {
                rows.push((name, frequencies(table)));
            }
        }
    }
    rows
}

fn spread_of(values: &Spread, shown: impl Fn(f64) -> String) -> String {
    let [half, nine, most, all] = [values.p50, values.p90, values.p99, values.max].map(shown);
    format!("half below ~{half}, 90 % below ~{nine}, 99 % below ~{most}, at most {all}")
}

/// `1. a.test 9,990 to 10,002, 2. b.test 17`; those without a place cannot be told apart.
fn frequencies(table: &[Frequency]) -> String {
    let shown = table.iter().take(SHOWN).map(|row| {
        let (least, most) = (grouped(row.at_least), grouped(row.at_most));
        let count = if least == most { least } else { format!("{least} to {most}") };
        let rank = row.rank.map_or(String::new(), |rank| format!("{rank}. "));
        format!("{rank}{} {count}", shortened(&row.item))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// What is from outside is escaped, and cut where it is long.
fn shortened(item: &str) -> String {
    let text: String = item.escape_default().take(SHOWN_BYTES + 1).collect();
    if text.len() <= SHOWN_BYTES { text } else { format!("{}…", &text[..SHOWN_BYTES]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_marked_and_has_its_bounds() {
        let told = |value, lower, upper| estimate(&Estimate { value, lower, upper });
        assert_eq!(told(1234.4, 1220.5, 1250.1), "~1,234 (1,220 to 1,251)");
        assert_eq!(told(3.0, 3.0, 3.0), "3");
    }

    #[test]
    fn items_are_escaped_cut_and_told_with_their_bounds() {
        let row =
            |item: &str, at_least, at_most, rank| Frequency { item: item.into(), at_least, at_most, rank };
        let table = [
            row("a\u{1b}", 9, 9, Some(1)),
            row(&"é".repeat(99), 1, 1200, None),
            row("c", 1, 2, None),
            row("d", 1, 1, None),
        ];
        let text = frequencies(&table);
        assert!(text.starts_with("1. a\\u{1b} 9, \\u{e9}"), "{text}");
        assert!(text.contains("… 1 to 1,200, c 1 to 2"), "{text}");
        assert!(!text.contains(" d "), "{text}");
    }
}
