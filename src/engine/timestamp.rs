//! The time of day in RFC 3339 form (UTC, milliseconds).

use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::date::to_text;

/// Now.
pub(crate) fn now() -> String {
    format(SystemTime::now())
}

fn format(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = since.subsec_millis();
    let text = to_text(since.as_secs());
    format!("{}.{milliseconds:03}Z", text.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_times_are_written_as_calendars_have_them() {
        let at = |seconds, milliseconds| {
            format(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(milliseconds))
        };
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400, 1), "2000-02-29T00:00:00.001Z");
        assert_eq!(at(1_709_251_199, 0), "2024-02-29T23:59:59.000Z");
        assert_eq!(at(4_102_444_800, 0), "2100-01-01T00:00:00.000Z");
    }
}
