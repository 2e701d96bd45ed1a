//! Figures for reading: rounded, short, of bounded width.
//!
//! What must parse back is `config::quantity`'s.

use std::time::Duration;

/// Bytes in binary units with one decimal: `1.2 GiB`, `512 B`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = [" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];
    if count < 1024 { format!("{count} B") } else { scaled(count, 1024.0, UNITS) }
}

/// A count with at most four digits: `999`, `12.3k`, `4.5M`.
pub fn count(number: u64) -> String {
    const UNITS: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
    if number < 1000 { number.to_string() } else { scaled(number, 1000.0, UNITS) }
}

/// A number with one decimal in the unit that leaves it below `step`.
fn scaled(number: u64, step: f64, units: [&str; 6]) -> String {
    let mut value = number as f64 / step;
    let mut unit = 0;
    // 1023.95 would be rounded to "1024.0".
    while value >= step - 0.05 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{value:.1}{}", units[unit])
}

/// A count in full with separators: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of a thing that is counted, in full: `1 page`, `1,234 pages`.
pub fn of(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

/// A span of time in its two largest units: `850ms`, `12.3s`, `3m 20s`, `2h 05m`, `3d 04h`.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.subsec_millis()),
        1..=59 => format!("{}.{}s", seconds, time.subsec_millis() / 100),
        60..=3599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// A ratio as a percentage with three significant digits: `0.975 %`, `42.0 %`; tiny ones as `1.2e-5 %`.
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    match value {
        value if !value.is_finite() => "unknown".to_owned(),
        0.0 => "0 %".to_owned(),
        value if value < 0.001 => format!("{value:.1e} %"),
        value if value < 0.9995 => format!("{value:.3} %"),
        value if value < 9.995 => format!("{value:.2} %"),
        value => format!("{value:.1} %"),
    }
}

/// A rate per second: `0.4/s`, `12.3/s`, `4.5k/s`.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second < 0.0 {
        return "-/s".to_owned();
    }
    if per_second < 999.95 { format!("{per_second:.1}/s") } else { format!("{}/s", count(per_second as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_and_counts() {
        let rows = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_048_575, "1.0 MiB"),
            (1_288_490_189, "1.2 GiB"),
        ];
        for (number, text) in rows {
            assert_eq!(bytes(number), text);
        }
        let rows = [
            (0, "0"),
            (999, "999"),
            (1000, "1.0k"),
            (12_345, "12.3k"),
            (999_960, "1.0M"),
            (4_500_000, "4.5M"),
        ];
        for (number, text) in rows {
            assert_eq!(count(number), text);
        }
        let rows = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in rows {
            assert_eq!(grouped(number), text);
        }
        let rows = [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (1000, "1,000 pages")];
        for (number, text) in rows {
            assert_eq!(of(number, "page"), text);
        }
    }

    #[test]
    fn spans_rates_and_percentages() {
        let rows = [
            (850, "850ms"),
            (12_340, "12.3s"),
            (200_000, "3m 20s"),
            (7_500_000, "2h 05m"),
            (273_600_000, "3d 04h"),
        ];
        for (milliseconds, text) in rows {
            assert_eq!(span(Duration::from_millis(milliseconds)), text);
        }
        let rows = [
            (0.0, "0 %"),
            (0.00975, "0.975 %"),
            (0.0125, "1.25 %"),
            (0.42, "42.0 %"),
            (1e-7, "1.0e-5 %"),
            (f64::NAN, "unknown"),
        ];
        for (ratio, text) in rows {
            assert_eq!(percent(ratio), text);
        }
        for (value, text) in [(0.44, "0.4/s"), (4500.0, "4.5k/s"), (f64::INFINITY, "-/s")] {
            assert_eq!(rate(value), text);
        }
    }

    proptest! {
        #[test]
        fn widths_are_bounded(number: u64, ratio in 0.0..1.0_f64) {
            prop_assert!(bytes(number).len() <= 10);
            prop_assert!(count(number).len() <= 6);
            prop_assert!(span(Duration::from_secs(number % 100_000_000)).len() <= 9);
            prop_assert!(percent(ratio).len() <= 10);
        }
    }
}
