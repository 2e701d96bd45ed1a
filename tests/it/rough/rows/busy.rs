//! Servers that ask for patience, in earnest or not, and such that fail now and then.

use crate::rough::row::{ATTEMPTS, Row, answers, page, row};
use std::time::{Duration, SystemTime};

/// Answers so at first, and well from then on.
fn once(
    name: &'static str,
    status: &'static str,
    headers: impl Fn() -> String + Send + Sync + 'static,
) -> Row {
    row(name, move |wire, asked| match asked.times {
        1 => wire.whole(status, &headers(), b""),
        _ => wire.whole("200 OK", page::HTML, b"ok"),
    })
    .attempts(2)
}

pub(super) fn rows() -> Vec<Row> {
    let busy = "429 Too Many Requests";
    let retry_after = |value: &str| format!("Retry-After: {value}\r\n");
    let soon = move || {
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(2));
        retry_after(&date)
    };
    vec![
        once("busy-for-a-second", busy, move || retry_after("1")),
        once("busy-until-a-date", "503 Service Unavailable", soon),
        once("busy-in-words", busy, move || retry_after("soon")),
        once("busy-until-a-date-past", busy, move || retry_after("Thu, 01 Jan 1970 00:00:00 GMT")),
        answers("busy-for-ages", busy, &retry_after("99999999999999999999"), b"")
            .status(429)
            .attempts(ATTEMPTS),
        answers("busy-for-ever", "503 Service Unavailable", "", b"").status(503).attempts(ATTEMPTS),
        answers("broken", "500 Internal Server Error", "", b"oh").status(500).attempts(ATTEMPTS),
        row("flapping", |wire, asked| match asked.times % 2 {
            1 => wire.whole("502 Bad Gateway", "", b""),
            _ => wire.whole("200 OK", page::HTML, b"ok"),
        })
        .attempts(2),
    ]
}
