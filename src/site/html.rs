//! The documents of the site: two to eight kilobytes of plausible HTML a page.
//!
//! One buffer per document, filled by hand: at tens of thousands of pages a
//! second the formatting machinery would be most of the work. It must not know
//! of sockets or counters.

use super::graph::Target;
use super::listing::Naming;
use super::words::{mix, push_capitalized, push_number, word};
use super::{Kind, Place, Site};

/// Bytes of a page's document at least and at most.
pub(super) const PAGE_BYTES: (usize, usize) = (2 << 10, 8 << 10);

/// Bytes kept for the longest sentence and the end of the document.
const RESERVE: usize = 256;

/// The document of a page; `naming` says how other hosts of the site are written.
pub(super) fn page(site: &Site, place: Place, naming: &Naming) -> Vec<u8> {
    let mut out = Vec::with_capacity(PAGE_BYTES.1);
    let links = site.links(place.host, place.index);
    let (navigation, listed) = links.pages.split_at(links.navigation);
    write_head(site, place, &mut out);
    out.extend_from_slice(b"<nav>\n");
    for &index in navigation {
        write_link(site, Place { kind: Kind::Page, host: place.host, index }, &mut out);
    }
    out.extend_from_slice(b"</nav>\n<h1>");
    site.write_name(place, &mut out);
    out.extend_from_slice(b"</h1>\n<ul>\n");
    for &index in listed {
        out.extend_from_slice(b"<li>");
        write_link(site, Place { kind: Kind::Page, host: place.host, index }, &mut out);
    }
    out.extend_from_slice(b"</ul>\n<p>");
    for &target in &links.others {
        write_other(site, target, naming, &mut out);
    }
    out.extend_from_slice(b"</p>\n");
    write_text(site.bits(20, place.host, place.index), &mut out);
    out.extend_from_slice(b"</body>\n</html>\n");
    out
}

/// The document of a place without content of its own: a sentence and a link to the seed.
pub(super) fn notice(heading: &str) -> Vec<u8> {
    let pieces = [
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>",
        heading,
        "</title></head>\n<body>\n<h1>",
        heading,
        "</h1>\n<p><a href=\"/\">Home</a></p>\n</body>\n</html>\n",
    ];
    pieces.concat().into_bytes()
}

fn write_head(site: &Site, place: Place, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    site.write_name(place, out);
    out.extend_from_slice(" \u{2013} page ".as_bytes());
    push_number(place.index, 1, out);
    out.extend_from_slice(b" of host ");
    push_number(place.host, 1, out);
    out.extend_from_slice(b"</title>\n</head>\n<body>\n");
}

fn write_link(site: &Site, place: Place, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<a href=\"");
    site.write_path(place, out);
    write_link_end(site, place, out);
}

fn write_link_end(site: &Site, place: Place, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\">");
    site.write_name(place, out);
    out.extend_from_slice(b"</a>\n");
}

fn write_other(site: &Site, target: Target, naming: &Naming, out: &mut Vec<u8>) {
    match target {
        Target::Here(place) => write_link(site, place, out),
        Target::OtherHost(place) => {
            out.extend_from_slice(b"<a href=\"");
            naming.write_origin(place.host, out);
            site.write_path(place, out);
            write_link_end(site, place, out);
        }
        Target::Outside => out.extend_from_slice(b"<a href=\"http://outside.test/\">Elsewhere</a>\n"),
    }
}

/// Appends paragraphs until the document is as long as `bits` choose; none if its links suffice.
fn write_text(mut bits: u64, out: &mut Vec<u8>) {
    let (least, most) = PAGE_BYTES;
    let wanted = least + (bits % (most - least - RESERVE) as u64) as usize;
    while out.len() < wanted {
        out.extend_from_slice(b"<p>");
        for _ in 0..2 {
            bits = mix(bits);
            write_sentence(bits, out);
        }
        out.extend_from_slice(b"</p>\n");
    }
}

/// Appends a sentence of ten words, about eighty bytes.
fn write_sentence(bits: u64, out: &mut Vec<u8>) {
    push_capitalized(word(bits), out);
    for shift in 1..10 {
        out.push(b' ');
        out.extend_from_slice(word(bits >> (6 * shift)).as_bytes());
    }
    out.extend_from_slice(b". ");
}
