//! Heads that are none, or strange ones.

use crate::rough::row::{ATTEMPTS, Row, Site, sends};

pub(super) fn heads(site: Site) -> Vec<Row> {
    let headless = |name, head: &str| sends(name, [head.as_bytes(), &site.page(name)].concat());
    let folded = site.page("header-folded");
    let fold = format!(
        "HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nContent-Type: text/html;\r\n\tcharset=utf-8\r\nContent-Length: {}\r\n\r\n",
        folded.len()
    );
    let header = |name, header: &[u8]| {
        sends(name, [b"HTTP/1.1 200 OK\r\n", header, b"\r\nContent-Length: 2\r\n\r\nok"].concat())
    };
    vec![
        headless("status-line-missing", "Content-Type: text/html\r\n\r\n").unanswered("protocol"),
        headless("http-0-9", "").unanswered("protocol"),
        headless("http-1-0", "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n").within(),
        headless("http-2-in-words", "HTTP/2.0 200 OK\r\nContent-Type: text/html\r\n\r\n")
            .unanswered("protocol"),
        headless("icecast", "ICY 200 OK\r\nContent-Type: text/html\r\n\r\n").unanswered("protocol"),
        sends("header-folded", [fold.as_bytes(), &folded].concat()).within(),
        header("header-with-nul", b"X-A: a\0b").unanswered("protocol"),
        header("header-name-in-latin-1", b"X-\xe9: caf\xe9"),
        header("header-value-in-latin-1", b"X-A: caf\xe9"),
        header("header-space-before-colon", b"X-A : b"),
        header("header-without-colon", b"nonsense"),
        headless("bare-line-feeds", "HTTP/1.1 200 OK\nContent-Type: text/html\n\n").within(),
        sends("reason-with-escape", b"HTTP/1.1 200 \x1b[31mOK\r\nContent-Length: 2\r\n\r\nok".to_vec())
            .unanswered("protocol"),
        sends("nothing-but-noise", [0x16, 3, 1, 0, 200, 0, 0xff, b'\n', b'\n'].repeat(50))
            .unanswered("protocol"),
    ]
}

pub(super) fn statuses() -> Vec<Row> {
    let status = |name, line: &str| {
        let head = format!("HTTP/1.1 {line}\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok");
        sends(name, head)
    };
    vec![
        status("status-0", "0 X").unanswered("protocol"),
        status("status-99", "099 X").unanswered("protocol"),
        status("status-1000", "1000 X").unanswered("protocol"),
        status("status-2000", "2000").unanswered("protocol"),
        status("status-negative", "-1 X").unanswered("protocol"),
        status("status-of-letters", "20x OK").unanswered("protocol"),
        status("status-without-reason", "200"),
        // what has no class of its own is taken for a 500 (RFC 9110 section 15)
        status("status-600", "600 X").status(600).attempts(ATTEMPTS),
        status("status-700", "700 X").status(700).attempts(ATTEMPTS),
        status("status-999", "999 X").status(999).attempts(ATTEMPTS),
        sends("switching-protocols", "HTTP/1.1 101 X\r\nUpgrade: foo\r\nConnection: upgrade\r\n\r\nblah")
            .unanswered("protocol"),
        sends("no-content", "HTTP/1.1 204 X\r\n\r\n").status(204),
        sends("no-content-with-content", "HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\nhello").status(204),
        sends("reset-content", "HTTP/1.1 205 X\r\nContent-Length: 0\r\n\r\n").status(205),
        sends("not-modified", "HTTP/1.1 304 X\r\n\r\n").status(304),
    ]
}
