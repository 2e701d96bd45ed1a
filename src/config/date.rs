//! Dates and times as sitemaps and feeds write them, and as `--sitemap-since` is typed.
//!
//! Owns the two grammars (W3C Date and Time Formats, which is a profile of ISO 8601; RFC 822 section
//! 5 with the years of RFC 1123 section 5.2.14) and the calendar. A date that names no time of
//! day may mean any moment of it, so what is read is a range.

use std::ops::RangeInclusive;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The seconds since 1970 that a date may mean, its first and its last; none where it is no date.
///
/// Without an offset a time is taken for UTC. Names of zones other than UTC are not known, and
/// are taken for UTC as well.
pub fn moments(text: &str) -> Option<RangeInclusive<i64>> {
    let text = text.trim();
    w3c(text).or_else(|| rfc822(text))
}

/// A time in W3C form, UTC, from seconds since 1970.
pub fn to_text(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / DAY as u64);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of the proleptic Gregorian calendar from days since 1970-01-01.
/// Years begin in March here, so that the leap day is the last of its year; the era is 400 years.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// Days since 1970-01-01: the inverse of [`civil`], for years from 0 on.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, and behind the latter `Thh:mm`, `:ss`, a fraction, an offset.
fn w3c(text: &str) -> Option<RangeInclusive<i64>> {
    let (year, rest) = digits(text, 4)?;
    let whole = |start: i64, end: i64| Some(start * DAY..=end * DAY - 1);
    if rest.is_empty() {
        return whole(days_of(year, 1, 1), days_of(year + 1, 1, 1));
    }
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    if !(1..=12).contains(&month) {
        return None;
    }
    let first = days_of(year, month, 1);
    let next = days_of(year + month / 12, month % 12 + 1, 1);
    if rest.is_empty() {
        return whole(first, next);
    }
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    if !(1..=next - first).contains(&day) {
        return None;
    }
    let today = first + day - 1;
    if rest.is_empty() {
        return whole(today, today + 1);
    }
    let (range, rest) = clock(rest.strip_prefix(['T', 't', ' '])?)?;
    let shift = today * DAY - offset(rest.trim_start())?;
    Some(range.start() + shift..=range.end() + shift)
}

/// `Sun, 06 Nov 1994 08:49:37 +0100`; the day of the week, the seconds and the zone may be absent.
fn rfc822(text: &str) -> Option<RangeInclusive<i64>> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let date = text.split_once(',').map_or(text, |(_, date)| date);
    let mut words = date.split_ascii_whitespace();
    let day: i64 = words.next()?.parse().ok()?;
    let name = words.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    let year = words.next().filter(|year| year.len() <= 4)?;
    let short = year.len() == 2;
    let year: i64 = year.parse().ok()?;
    let year = if short { year + if year < 70 { 2000 } else { 1900 } } else { year };
    if !(1..=31).contains(&day) || year < 0 {
        return None;
    }
    let today = days_of(year, month, day) * DAY;
    let Some(time) = words.next() else { return Some(today..=today + DAY - 1) };
    let (range, rest) = clock(time)?;
    let zone = words.next().unwrap_or_default();
    let zone = if zone.starts_with(['+', '-']) { offset(zone)? } else { 0 };
    rest.is_empty().then(|| range.start() + today - zone..=range.end() + today - zone)
}

/// `hh:mm`, `hh:mm:ss`, with a fraction or not, as seconds of a day; and what follows.
fn clock(text: &str) -> Option<(RangeInclusive<i64>, &str)> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let begun = hour * HOUR + minute * MINUTE;
    if hour > 24 || minute > 59 {
        return None;
    }
    let Some(rest) = rest.strip_prefix(':') else { return Some((begun..=begun + MINUTE - 1, rest)) };
    // the sixtieth is a leap second
    let (second, rest) = digits(rest, 2).filter(|(second, _)| *second <= 60)?;
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.trim_start_matches(|character: char| character.is_ascii_digit()),
        None => rest,
    };
    Some((begun + second..=begun + second, rest))
}

/// Seconds that local time is ahead of UTC: nothing, `Z`, `+hh:mm`, `+hhmm` or `+hh`.
fn offset(text: &str) -> Option<i64> {
    if text.is_empty() || text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
    let minutes = if rest.is_empty() { "00" } else { rest.strip_prefix(':').unwrap_or(rest) };
    let (minutes, rest) = digits(minutes, 2)?;
    (rest.is_empty() && minutes < 60).then_some(sign * (hours * HOUR + minutes * MINUTE))
}

/// A number of just so many digits, and what follows.
fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let head = text.get(..count)?;
    let all = head.bytes().all(|byte| byte.is_ascii_digit());
    Some((head.parse().ok().filter(|_| all)?, &text[count..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_mean_all_moments_they_may() {
        let second = 784_111_777;
        for (text, first, last) in [
            ("1970", 0, 365 * DAY - 1),
            ("2024-02", 1_706_745_600, 1_706_745_600 + 29 * DAY - 1),
            ("1999-12", 944_006_400, 946_684_799),
            ("1994-11-06", 784_080_000, 784_166_399),
            ("1994-11-06T08:49Z", 784_111_740, 784_111_799),
            ("1994-11-06T08:49:37Z", second, second),
            (" 1994-11-06T09:49:37.25+01:00 ", second, second),
            ("1994-11-06T03:19:37-0530", second, second),
            ("1994-11-06 08:49:37", second, second),
            ("Sun, 06 Nov 1994 08:49:37 GMT", second, second),
            ("6 Nov 94 09:49:37 +0100", second, second),
            ("Sun, 06 November 1994 08:49 UT", 784_111_740, 784_111_799),
            ("1969-12-31T23:59:59Z", -1, -1),
        ] {
            assert_eq!(moments(text), Some(first..=last), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_means_nothing() {
        for text in [
            "",
            "yesterday",
            "30d",
            "94",
            "1994-1",
            "1994-13",
            "1994-00-01",
            "2023-02-29",
            "1994-11-06T",
            "1994-11-06T8:49Z",
            "1994-11-06T08:60Z",
            "1994-11-06T08:49:37+1",
            "1994-11-06T08:49:37 GMT",
            "+994-11-06",
            "Sun, 06 Foo 1994",
            "Sun, 99 Nov 1994",
            "1é94",
        ] {
            assert_eq!(moments(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(seconds in 0..253_402_300_800_u64) {
            let seconds_again = moments(&to_text(seconds)).expect("a date");
            prop_assert_eq!(seconds_again, seconds as i64..=seconds as i64);
        }

        #[test]
        fn no_text_panics(text in "\\PC*|[0-9TZ:+. -]{0,30}|[0-9A-Za-z, +:]{0,40}") {
            let _ = moments(&text);
        }
    }
}
