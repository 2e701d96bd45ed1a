//! Pages that are fine, behind a robots.txt that is not.

use crate::rough::bombs;
use crate::rough::row::page::{self, HTML, whole};
use crate::rough::row::{Row, Site, Witness, answers, row};
use crate::rough::server::{Then, Wire};

/// Requests for one that cannot be read, whatever `--retries` says of pages.
const REQUESTS: usize = 3;
/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const HOPS: usize = 5;
const RULES: &[u8] = b"User-agent: *\nDisallow: /closed\n";

pub(super) fn rows(site: Site) -> Vec<Row> {
    let found = |name| answers(name, "200 OK", HTML, &site.page(name)).within();
    // the rules at the beginning hold, whatever comes behind them
    let closed = |name: &'static str| {
        let links = [site.witness(name, Witness::Within), "/closed".to_owned()];
        answers(name, "200 OK", HTML, &page::of(&links))
            .within()
            .skipping(site.url(&format!("{name}.test"), "/closed"), "robots_denied")
    };
    let shut = |name| row(name, |wire, _| wire.whole("200 OK", HTML, b"")).skip("robots_unreachable");
    let status = |line: &'static str| move |wire: &mut Wire<'_>, _: &_| wire.whole(line, "", b"");
    let hops = found("robots-moves-on").robots(1, |wire, asked| {
        let hop = asked.path["/robots.txt".len()..].parse().unwrap_or(0) + 1;
        wire.whole("302 Found", &format!("Location: /robots.txt{hop}\r\n"), b"")
    });
    vec![
        found("robots-404").robots(1, status("404 Not Found")),
        found("robots-403").robots(1, status("403 Forbidden")),
        shut("robots-500").robots(REQUESTS, status("500 Internal Server Error")),
        shut("robots-stalls").robots(REQUESTS, |wire, _| wire.stall()),
        shut("robots-resets").robots(REQUESTS, |wire, _| wire.reset()),
        closed("robots-of-a-gigabyte").robots(1, |wire, _| {
            wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")?;
            wire.send(RULES)?;
            wire.endlessly(&b"# abcdefghijklm\n".repeat(4096))
        }),
        closed("robots-bomb").robots(1, |wire, _| {
            let bomb = bombs::gzip(RULES);
            wire.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")?;
            wire.send(&bomb.head)?;
            wire.repeat(&bomb.block, bomb.blocks)
        }),
        found("robots-is-a-page").robots(1, |wire, _| {
            wire.send(whole("200 OK", HTML, b"<!doctype html><title>no robots</title>\nDisallow: /\n"))?;
            Ok(Then::Keep)
        }),
        (1..=HOPS).fold(hops, |row, hop| row.robots_moves_to(format!("/robots.txt{hop}"))),
    ]
}
