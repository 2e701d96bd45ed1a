//! Content codings that blow up, pile up, or are unknown.

use crate::rough::bombs::{self, Bomb};
use crate::rough::row::page::raw;
use crate::rough::row::{Row, Site, row, sends};

/// A page that goes on for ten gibibytes once it is decoded.
fn bomb(name: &'static str, coding: &str, bomb: Bomb) -> Row {
    let head = raw(&format!("Content-Encoding: {coding}\r\nConnection: close\r\n"), &bomb.head);
    row(name, move |wire, _| {
        wire.send(&head)?;
        wire.repeat(&bomb.block, bomb.blocks)
    })
}

pub(super) fn rows(site: Site) -> Vec<Row> {
    let cut = |name, coding: &str, make: fn(&[u8]) -> Bomb| {
        bomb(name, coding, make(&site.page(name))).cut("length").within()
    };
    let coded = |name, coding: &str, body: &[u8]| {
        sends(name, raw(&format!("Content-Encoding: {coding}\r\n"), body)).error("decode").cut("disconnect")
    };
    let window = [&bombs::zstd_frame(31)[..], &[1 | 3 << 3, 0, 0], b"abc"].concat();
    vec![
        cut("bomb-gzip", "gzip", bombs::gzip),
        cut("bomb-gzip-in-gzip", "gzip, gzip", bombs::nested_gzip),
        cut("bomb-deflate", "deflate", bombs::deflate),
        cut("bomb-zstd", "zstd", bombs::zstd),
        cut("bomb-brotli", "br", bombs::brotli),
        coded("zstd-with-huge-window", "zstd", &window),
        bomb("many-codings", &["gzip"; 20].join(", "), bombs::gzip(b"x")).error("decode").cut("disconnect"),
        coded("unknown-coding", "snappy", &site.page("unknown-coding")),
    ]
}
