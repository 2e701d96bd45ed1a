//! Answers without end, or with an end that nobody waits for.

use crate::rough::row::page::raw;
use crate::rough::row::{Row, Site, row, sends};
use crate::rough::server::Then;

/// Some filler, in one write.
fn filler() -> Vec<u8> {
    vec![b'x'; 64 << 10]
}

pub(super) fn rows(site: Site) -> Vec<Row> {
    let body = raw("", &site.page("endless-body"));
    let gibibyte = raw("Content-Length: 1073741824\r\n", &site.page("gibibyte-page"));
    let chunk = [&b"10000\r\n"[..], &filler(), b"\r\n"].concat();
    let page = site.page("endless-chunks");
    let first = [format!("{:x}\r\n", page.len()).as_bytes(), &page, b"\r\n"].concat();
    let first = raw("Transfer-Encoding: chunked\r\n", &first);
    vec![
        row("endless-body", move |wire, _| {
            wire.send(&body)?;
            wire.endlessly(&filler())
        })
        .cut("length")
        .within(),
        row("endless-chunks", move |wire, _| {
            wire.send(&first)?;
            wire.endlessly(&chunk)
        })
        .cut("length")
        .within(),
        row("gibibyte-page", move |wire, _| {
            wire.send(&gibibyte)?;
            wire.repeat(&filler(), 16_384)
        })
        .cut("length")
        .within(),
    ]
    .into_iter()
    .chain(heads())
    .chain(between_the_chunks())
    .collect()
}

/// No end before the body begins.
fn heads() -> Vec<Row> {
    let open = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    let headers = |number: usize| "X-A: b\r\n".repeat(number);
    let long = |length| format!("X-A: {}\r\nContent-Length: 2\r\n", "b".repeat(length));
    let interim = b"HTTP/1.1 102 Processing\r\n\r\n";
    vec![
        row("endless-headers", move |wire, _| {
            wire.send(open)?;
            wire.endlessly(&b"X-A: bbbbbbbbbbbbbbbbb\r\n".repeat(100))
        })
        .unanswered("header_too_large"),
        row("endless-header-line", move |wire, _| {
            wire.send(open)?;
            wire.send("X-A: ")?;
            wire.endlessly(&filler())
        })
        .unanswered("header_too_large"),
        sends("headers-of-10-mb", raw(&long(10_000_000), b"ok")).unanswered("header_too_large"),
        sends("headers-100000", raw(&headers(100_000), b"")).unanswered("header_too_large"),
        sends("headers-300", raw(&headers(300), b"")).unanswered("header_too_large"),
        sends("header-of-20-kb", raw(&long(20_000), b"ok")),
        row("endless-interim", |wire, _| wire.endlessly(&interim.repeat(100))).unanswered("protocol"),
        row("some-interim", |wire, _| {
            wire.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n".repeat(3))?;
            wire.send(raw("Content-Length: 2\r\n", b"ok"))?;
            Ok(Then::Keep)
        }),
    ]
}

/// Chunks that never come to their content.
fn between_the_chunks() -> Vec<Row> {
    let endless = |name, begin: &'static [u8], more: &'static [u8]| {
        row(name, move |wire, _| {
            wire.send(raw("Transfer-Encoding: chunked\r\n", begin))?;
            wire.endlessly(&more.repeat(2000))
        })
        .error("protocol")
        .cut("disconnect")
    };
    vec![
        endless("endless-chunk-size", b"", b"00000000000000000000"),
        endless("endless-chunk-extension", b"5;", b"yyyyyyyyyyyyyyyyyyyy"),
        endless("endless-trailers", b"5\r\nhello\r\n0\r\n", b"X-T: yyyyyyyyyyyyy\r\n"),
    ]
}
