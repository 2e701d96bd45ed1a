//! Words on standard error that nobody has to read: where it is closed or full, the work goes on.

use std::io::Write;

/// Writes a text and a line break.
pub(super) fn line(text: &str) {
    // `eprintln!` would panic, and end a crawl for want of a reader.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a text as it is.
pub(super) fn text(text: &str) {
    let _ = write!(std::io::stderr(), "{text}");
}
