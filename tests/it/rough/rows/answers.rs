//! Content types that are wrong, missing or lies, and parts of pages.

use crate::rough::row::{Row, Site, answers, page};

pub(super) fn rows(site: Site) -> Vec<Row> {
    let typed = |name, headers: &str| answers(name, "200 OK", headers, &site.page(name));
    let partial = format!("{}Content-Range: bytes 0-99/200\r\n", page::HTML);
    vec![
        typed("type-missing", "").within(),
        // the declared type counts, as in a browser
        typed("type-lies", "Content-Type: image/png\r\n"),
        answers("type-lies-about-an-image", "200 OK", page::HTML, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        typed("type-garbage", "Content-Type: ;;;/\r\n").within(),
        typed("type-twice", "Content-Type: text/plain\r\nContent-Type: text/html\r\n").within(),
        answers("partial", "206 Partial Content", &partial, &site.page("partial")).status(206).within(),
    ]
}
