//! Lengths that are none, and chunks that are broken.

use crate::rough::row::page::raw;
use crate::rough::row::{ATTEMPTS, Row, Site, Witness, page, row, sends};
use crate::rough::server::Then;

/// A page behind a length that is too short for what comes at once behind it: an answer to what is
/// asked next, with a link that nobody may follow. It comes in the same write, or in one of its own.
fn forging(site: Site, name: &'static str, apart: bool) -> Row {
    let own = |path| site.url(&format!("{name}.test"), path);
    let links = [site.witness(name, Witness::Within), own("/2"), own("/3")];
    let page = page::whole("200 OK", page::HTML, &page::of(&links));
    let forged = page::whole("200 OK", page::HTML, &page::of(&[site.url("good.test", "/forged")]));
    row(name, move |wire, asked| {
        if asked.path != "/" {
            return wire.whole("200 OK", page::HTML, b"<title>true</title>");
        }
        if apart {
            wire.send(&page)?;
            wire.send(&forged)?;
        } else {
            wire.send([&page[..], &forged].concat())?;
        }
        Ok(Then::Keep)
    })
    .within()
    .further(own("/2"), 200)
    .further(own("/3"), 200)
    .alone()
}

/// The surplus may still be on its way when the page is done: only a crawl that lets its
/// connections rest can tell.
pub(in super::super) fn late_surplus(site: Site) -> Vec<Row> {
    vec![forging(site, "surplus-comes-late", true)]
}

pub(super) fn lengths(site: Site) -> Vec<Row> {
    let of = |name, headers: &str| sends(name, raw(headers, &site.page(name)));
    let page = site.page("length-agrees");
    let (length, agreeing) = (page.len(), site.page("length-in-a-list"));
    vec![
        forging(site, "length-short", false),
        of("length-long", "Content-Length: 4000\r\n")
            .error("incomplete")
            .cut("disconnect")
            .attempts(ATTEMPTS)
            .within(),
        of("length-negative", "Content-Length: -5\r\n").unanswered("protocol"),
        of("length-overflows", "Content-Length: 99999999999999999999999\r\n").unanswered("protocol"),
        of("length-of-64-bits", "Content-Length: 18446744073709551615\r\n").unanswered("protocol"),
        of("length-with-plus", "Content-Length: +20\r\n").unanswered("protocol"),
        of("length-disagrees", "Content-Length: 10\r\nContent-Length: 20\r\n").unanswered("protocol"),
        sends(
            "length-agrees",
            raw(&format!("Content-Length: {length}\r\nContent-Length: {length}\r\n"), &page),
        )
        .within(),
        sends("length-in-a-list", raw(&format!("Content-Length: {0}, {0}\r\n", agreeing.len()), &agreeing))
            .within(),
        of("transfer-identity", "Transfer-Encoding: identity\r\n").within(),
    ]
}

/// A body in chunks of its own making, as a page with these headers.
fn chunked(name: &'static str, headers: &str, chunks: impl AsRef<[u8]>) -> Row {
    sends(name, raw(headers, chunks.as_ref()))
}

/// One sound chunk, and the end.
fn sound(body: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
}

pub(super) fn chunks(site: Site) -> Vec<Row> {
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
    let broken = |name, chunks: &str| chunked(name, CHUNKED, chunks).error("protocol").cut("disconnect");
    let ends = |name, chunks: &str| {
        chunked(name, CHUNKED, chunks).error("incomplete").cut("disconnect").attempts(ATTEMPTS)
    };
    let refused = |name, coding: &str, body: &[u8]| {
        let headers = format!("Transfer-Encoding: {coding}\r\n");
        chunked(name, &headers, sound(body)).error("protocol").cut("disconnect")
    };
    let both = |name: &'static str, headers: &'static str| {
        let links = [site.witness(name, Witness::Within), "/2".into()];
        let bytes = raw(headers, &sound(&page::of(&links)));
        row(name, move |wire, _| wire.send(&bytes).map(|()| Then::Keep))
            .within()
            .further(site.url(&format!("{name}.test"), "/2"), 200)
            .alone()
    };
    vec![
        chunked("chunks-sound", CHUNKED, sound(&site.page("chunks-sound"))).within(),
        both("length-then-chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
        both("chunks-then-length", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
        refused("transfer-gzip", "gzip, chunked", &crate::server::gzip(&site.page("transfer-gzip"))),
        refused("transfer-chunked-twice", "chunked, chunked", b"hello"),
        broken("chunk-size-is-no-number", "zz\r\nhello\r\n0\r\n\r\n"),
        broken("chunk-size-negative", "-5\r\nhello\r\n0\r\n\r\n"),
        broken("chunk-size-overflows", "ffffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
        broken("chunk-without-line-end", "5\r\nhelloXX5\r\nworld\r\n0\r\n\r\n"),
        broken("chunk-with-bare-line-feeds", "5\nhello\n0\n\n"),
        ends("chunk-short", "50\r\nhello"),
        ends("chunk-last-missing", "5\r\nhello\r\n"),
        ends("chunk-end-missing", "5\r\nhello\r\n0\r\n"),
    ]
}
