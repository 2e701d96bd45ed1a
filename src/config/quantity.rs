//! Sizes, spans of time and counts as people write them, for flags and files alike.
//!
//! Owns their grammar and their exact spelling (what is printed parses back to
//! the same value). Knows nothing of any option; the rounded forms for reading
//! are `human`'s.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// The longest span of time that is accepted: a year.
pub const LONGEST_SPAN: Duration = Duration::from_secs(365 * 86_400);

/// A number of bytes: `64MiB`, `1.5GB`, `10k`, `4096`.
///
/// `k`, `M`, `G`, `T` (and `kB` …) are powers of 1000, `Ki`, `Mi`, `Gi`, `Ti`
/// (and `KiB` …) powers of 1024; letter case does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A span of time: `250ms`, `2m`, `1h30m`, `0s`; a bare number means seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// A whole number of things: `1M`, `10_000`, `2.5k`; the letters are powers of 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

/// A text that is no size, span or count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// The text does not follow the grammar of [`Size`], or is larger than 2^64 bytes.
    #[error("not a size (write 64MiB, 1.5GB, 10k or plain bytes)")]
    Size,
    /// The text does not follow the grammar of [`Span`], or is longer than [`LONGEST_SPAN`].
    #[error("not a duration of at most a year (write 250ms, 2m, 1h30m or plain seconds)")]
    Span,
    /// The text does not follow the grammar of [`Count`], is larger than 2^64, or comes to no whole number.
    #[error("not a whole number (write 1M, 2.5k or 10_000)")]
    Count,
}

/// Units of a size, without the `b` that may follow.
const SIZE_UNITS: [(&str, u64); 9] = [
    ("", 1),
    ("k", 1000),
    ("m", 1000_u64.pow(2)),
    ("g", 1000_u64.pow(3)),
    ("t", 1000_u64.pow(4)),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
    ("ti", 1 << 40),
];

/// Units of a count.
const COUNT_UNITS: [(&str, u64); 6] = [
    ("", 1),
    ("k", 1000),
    ("m", 1000_u64.pow(2)),
    ("g", 1000_u64.pow(3)),
    ("b", 1000_u64.pow(3)),
    ("t", 1000_u64.pow(4)),
];

/// Units of a span in nanoseconds, the largest first, as they are printed.
const SPAN_UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];

impl FromStr for Size {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = split(text);
        let short = unit.strip_suffix('b').unwrap_or(&unit);
        let factor = factor(&SIZE_UNITS, short).ok_or(QuantityError::Size)?;
        scaled(number, factor).map(Size).ok_or(QuantityError::Size)
    }
}

impl FromStr for Count {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = split(text);
        let factor = factor(&COUNT_UNITS, &unit).ok_or(QuantityError::Count)?;
        match divided(number, factor) {
            Some((whole, 0)) => Ok(Count(whole)),
            // Half a page is a slip of the pen, and whoever rounds it guesses.
            _ => Err(QuantityError::Count),
        }
    }
}

impl FromStr for Span {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim().to_ascii_lowercase();
        let nanoseconds = span_nanoseconds(&text).ok_or(QuantityError::Span)?;
        let span = Duration::from_nanos(nanoseconds);
        if span > LONGEST_SPAN {
            return Err(QuantityError::Span);
        }
        Ok(Span(span))
    }
}

/// The sum of `number unit` pairs, or one bare number of seconds.
fn span_nanoseconds(text: &str) -> Option<u64> {
    if text.bytes().all(is_numeric) {
        return scaled(text, 1_000_000_000);
    }
    let mut rest = text;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let number_end = rest.bytes().position(|byte| !is_numeric(byte))?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.bytes().position(is_numeric).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let part = scaled(number, factor(&SPAN_UNITS, unit.trim())?)?;
        sum = sum.checked_add(part)?;
        rest = after;
    }
    Some(sum)
}

fn is_numeric(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.' || byte == b'_'
}

/// Number and unit (lower case) of a text.
fn split(text: &str) -> (&str, String) {
    let text = text.trim();
    let end = text.bytes().position(|byte| !is_numeric(byte)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start().to_ascii_lowercase())
}

fn factor(units: &[(&str, u64)], name: &str) -> Option<u64> {
    units.iter().find(|unit| unit.0 == name).map(|unit| unit.1)
}

/// `number` times `factor`, rounded down.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    divided(number, factor).map(|(whole, _)| whole)
}

/// `number` times `factor`: the whole part, and what is left of it in the smallest places of `number`.
/// In whole-number arithmetic, so that `0.3GB` is exactly 300,000,000.
fn divided(number: &str, factor: u64) -> Option<(u64, u128)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) {
        return None;
    }
    let factor = u128::from(factor);
    let whole = digits(whole)?.checked_mul(factor)?;
    let (fraction, rest) = match fraction {
        "" => (0, 0),
        text if text.len() > 12 => return None,
        text => {
            let (product, places) = (digits(text)? * factor, 10_u128.pow(u32::try_from(text.len()).ok()?));
            (product / places, product % places)
        }
    };
    Some((u64::try_from(whole.checked_add(fraction)?).ok()?, rest))
}

/// A run of digits, single underscores between them allowed.
fn digits(text: &str) -> Option<u128> {
    let well_formed = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    if !well_formed || text.len() > 30 {
        return None;
    }
    text.replace('_', "").parse().ok()
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        for (name, factor) in units {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return write!(formatter, "{}{name}", self.0 / factor);
            }
        }
        write!(formatter, "{}", self.0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_nanos();
        if rest == 0 {
            return formatter.write_str("0s");
        }
        for (name, factor) in SPAN_UNITS {
            let factor = u128::from(factor);
            if rest >= factor {
                write!(formatter, "{}{name}", rest / factor)?;
                rest %= factor;
            }
        }
        Ok(())
    }
}

/// Text in files, so that what was written stays readable and exact.
macro_rules! serialize_as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

serialize_as_text!(Size, Span, Count);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(text: &str) -> Option<u64> {
        text.parse::<Size>().ok().map(|size| size.0)
    }

    fn milliseconds(text: &str) -> Option<u128> {
        text.parse::<Span>().ok().map(|span| span.0.as_millis())
    }

    fn count(text: &str) -> Option<u64> {
        text.parse::<Count>().ok().map(|count| count.0)
    }

    #[test]
    fn sizes() {
        let rows = [
            ("64MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("64Mi", 64 << 20),
            ("1.5GB", 1_500_000_000),
            ("0.3GB", 300_000_000),
            ("10k", 10_000),
            ("10kB", 10_000),
            ("1 MiB", 1 << 20),
            (" 4096 ", 4096),
            ("4096b", 4096),
            ("10_000", 10_000),
            ("0", 0),
        ];
        for (text, bytes) in rows {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn no_sizes() {
        let rows = [
            "",
            "MiB",
            "-1",
            "1.",
            ".5",
            "1..5",
            "1x",
            "1MiBB",
            "1bb",
            "1e9",
            "_1",
            "1_",
            "1__0",
            "99999999999999TiB",
            "0x10",
            "1 000",
            "NaN",
            "１",
        ];
        for text in rows {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn spans() {
        let rows = [
            ("250ms", 250),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("0s", 0),
            ("1.5s", 1500),
            ("10", 10_000),
            ("0.5", 500),
            ("1d", 86_400_000),
        ];
        for (text, expected) in rows {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        for text in ["", "s", "1x", "-1s", "1s2", "1h-5m", "400d", "1.s", "ms", "99999999999999999999s"] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    #[test]
    fn counts() {
        let rows = [
            ("1M", 1_000_000),
            ("10_000", 10_000),
            ("2.5k", 2500),
            ("0", 0),
            ("2.0", 2),
            ("1b", 1_000_000_000),
        ];
        for (text, expected) in rows {
            assert_eq!(count(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "M",
            "-5",
            "1Mi",
            "1,000",
            "1.5.5",
            "18446744073709551616",
            "1.5",
            "0.9",
            "1.0005k",
            "2.5001k",
        ] {
            assert_eq!(count(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(bytes: u64, nanoseconds in 0..=31_536_000_000_000_000_u64) {
            prop_assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
            prop_assert_eq!(Count(bytes).to_string().parse(), Ok(Count(bytes)));
            let span = Span(Duration::from_nanos(nanoseconds));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }

        #[test]
        fn no_text_panics(text in "\\PC*|[0-9._a-zA-Z ]{0,40}") {
            let _ = (size(&text), milliseconds(&text), count(&text));
        }
    }
}
