//! `tests/cases/sitemaps.jsonl`, every row, whole and byte by byte; what users of other crawlers met
//! (area `sitemap` of `report_cases.jsonl`), as far as it is the reader's; and its laws.

use super::*;
use crate::url::{Canonicalizer, Rules};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

const ROWS: &str = include_str!("../../tests/cases/sitemaps.jsonl");

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut out = Vec::new();
    for (index, byte) in text.bytes().filter(|&byte| byte != b'=').enumerate() {
        bits = bits << 6 | ALPHABET.iter().position(|&one| one == byte).unwrap() as u32;
        if index % 4 != 0 {
            out.push((bits >> (6 - index % 4 * 2)) as u8);
        }
    }
    out
}

/// The pieces of a body; a generated one is never joined to the whole.
fn pieces(row: &Value, mut feed: impl FnMut(&[u8])) {
    if let Some(text) = row["body_b64"].as_str() {
        return feed(&decode_base64(text));
    }
    if let Some(text) = row["body"].as_str() {
        return feed(text.as_bytes());
    }
    for part in row["body_gen"].as_array().unwrap() {
        let (text, times) = (part[0].as_str().unwrap(), part[1].as_u64().unwrap());
        for number in 0..times {
            match text.strip_prefix("@seq:") {
                Some(format) => feed(format.replace("%d", &number.to_string()).as_bytes()),
                None => feed(text.as_bytes()),
            }
        }
    }
}

/// gzip undone as often as it was applied; what is cut gives what stands before the cut.
fn unpacked(mut body: Vec<u8>) -> Vec<u8> {
    use std::io::Read as _;
    while body.starts_with(&[0x1f, 0x8b]) {
        let mut out = Vec::new();
        let _cut = flate2::read::MultiGzDecoder::new(body.as_slice()).read_to_end(&mut out);
        body = out;
    }
    body
}

/// What comes out as a crawl of the sitemap's host would take it: pages, sitemaps, and a report.
#[derive(Debug, PartialEq)]
struct Taken {
    pages: BTreeSet<String>,
    sitemaps: BTreeSet<String>,
    report: Report,
}

struct Taker<'a> {
    reader: SitemapReader,
    location: &'a str,
    pages: BTreeSet<String>,
    sitemaps: BTreeSet<String>,
}

impl<'a> Taker<'a> {
    fn new(content_type: Option<&str>, location: &'a str) -> Self {
        let reader = SitemapReader::new(content_type);
        Self { reader, location, pages: BTreeSet::new(), sitemaps: BTreeSet::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.reader.feed(bytes);
        self.take();
    }

    fn take(&mut self) {
        let canonicalizer = Canonicalizer::new(Rules::default());
        let base = ::url::Url::parse(self.location).unwrap();
        let host = base.host_str().unwrap();
        for entry in self.reader.entries().filter(|entry| entry.usable) {
            let Ok(target) = canonicalizer.resolver(&base, None).target(entry.url) else { continue };
            if target.host() == host && target.requested != self.location {
                let set = if entry.is_sitemap { &mut self.sitemaps } else { &mut self.pages };
                set.insert(target.canonical);
            }
        }
        self.reader.clear();
    }

    fn finish(mut self) -> Taken {
        let report = self.reader.finish();
        self.take();
        Taken { pages: self.pages, sitemaps: self.sitemaps, report }
    }
}

fn taken(content_type: Option<&str>, location: &str, body: &[u8], size: usize) -> Taken {
    let mut taker = Taker::new(content_type, location);
    body.chunks(size).for_each(|piece| taker.feed(piece));
    taker.finish()
}

/// A body at `http://a.test/d/s.xml`, read whole and byte by byte.
fn read(body: &[u8]) -> Taken {
    let whole = taken(None, "http://a.test/d/s.xml", body, usize::MAX);
    assert_eq!(taken(None, "http://a.test/d/s.xml", body, 1), whole);
    whole
}

fn strings(row: &Value, key: &str) -> BTreeSet<String> {
    row[key].as_array().into_iter().flatten().map(|one| one.as_str().unwrap().to_owned()).collect()
}

fn check(row: &Value, taken: &Taken) {
    let name = format!("{} ({})", row["id"], row["why"]);
    assert_eq!(taken.sitemaps, strings(row, "sitemaps"), "{name}");
    assert!(taken.pages.is_disjoint(&strings(row, "never")), "{name}");
    let counts: Vec<u64> = match &row["url_count"] {
        Value::Array(either) => either.iter().filter_map(Value::as_u64).collect(),
        one => one.as_u64().into_iter().collect(),
    };
    if !counts.is_empty() {
        assert!(counts.contains(&(taken.pages.len() as u64)), "{name}: {}", taken.pages.len());
    } else if row["id"] == "sm-25" {
        assert!(taken.pages.is_superset(&strings(row, "urls")) && taken.report.broken, "{name}");
    } else {
        assert_eq!(taken.pages, strings(row, "urls"), "{name}");
    }
}

#[test]
fn every_row_comes_out_as_it_must() {
    let rows: Vec<Value> = ROWS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 28);
    for row in &rows {
        let (location, content_type) =
            (row["location"].as_str().unwrap(), row["headers"]["content-type"].as_str());
        if row["body_gen"].is_array() {
            let mut taker = Taker::new(content_type, location);
            pieces(row, |piece| taker.feed(piece));
            assert!(taker.reader.held_bytes() < 256 << 10, "{}", row["id"]);
            check(row, &taker.finish());
            continue;
        }
        let mut body = Vec::new();
        pieces(row, |piece| body.extend_from_slice(piece));
        let body = unpacked(body);
        let whole = taken(content_type, location, &body, usize::MAX);
        check(row, &whole);
        assert_eq!(taken(content_type, location, &body, 1), whole, "{}, byte by byte", row["id"]);
    }
}

#[test]
fn what_stands_before_a_cut_counts() {
    // C109
    let whole = [0, 1, 2, 3].map(|n| format!("<url><loc>http://a.test/{n}</loc></url>")).concat();
    let text = format!("<urlset>{}", &whole[..whole.len() - 20]);
    let taken = read(text.as_bytes());
    assert_eq!((taken.pages.len(), taken.report.broken, taken.report.entries), (3, true, 3));
    // at every single place: what is whole, and nothing that is not
    for end in 0..text.len() {
        let loc_ends = text[..end].matches("</loc>").count();
        let taken = read(&text.as_bytes()[..end]);
        assert_eq!(taken.pages.len(), loc_ends, "cut at {end}");
        assert!(taken.pages.iter().all(|url| url.len() == "http://a.test/0".len()));
    }
}

#[test]
fn forms_are_told_by_content_alone() {
    for (body, form, pages) in [
        ("<urlset/>", Some(Form::Pages), &[][..]),
        ("<sitemapindex></sitemapindex>", Some(Form::Index), &[]),
        (
            " \n<?xml version='1.0'?>\n<urlset><url><loc>\n a \n</loc></url></urlset>",
            Some(Form::Pages),
            &["/d/a"],
        ),
        ("http://a.test/a", Some(Form::Text), &["/a"]),
        ("<html><body><url><loc>/no</loc></url></body></html>", None, &[]),
        ("no sitemap at all", None, &[]),
        ("{\"url\": \"http://a.test/no\"}", None, &[]),
        (" ", None, &[]),
        ("", None, &[]),
    ] {
        let taken = read(body.as_bytes());
        let expected: BTreeSet<String> = pages.iter().map(|path| format!("http://a.test{path}")).collect();
        assert_eq!((taken.report.form, taken.pages), (form, expected), "{body}");
        assert_eq!(taken.report.broken, form.is_none(), "{body}");
    }
}

#[test]
fn feeds_name_their_pages() {
    for body in [
        "<rss><channel><link>/no</link><image><link>/no</link></image>\
         <item xmlns:atom='http://www.w3.org/2005/Atom'><atom:link href='/no'/><link> /a </link>\
         <guid>/no</guid></item><item><link><![CDATA[/b?x=1&y=2]]></link></item></channel></rss>",
        "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/no'/>\
         <entry><link rel='self' href='/no'/><link rel=\"alternate\" href='/a'/><link href='/no'/>\
         <source><link href='/no'/></source></entry>\
         <entry><link href='/b?x=1&amp;y=2'></link><content><link href='/no'/></content></entry></feed>",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>\
         <channel><link>/no</link></channel><item><link>/a</link></item>\
         <item><link>/b?x=1&#38;y=2</link></item></rdf:RDF>",
    ] {
        let taken = read(body.as_bytes());
        let expected: BTreeSet<String> =
            ["http://a.test/a", "http://a.test/b?x=1&y=2"].map(String::from).into();
        assert_eq!((taken.pages, taken.report.form), (expected, Some(Form::Feed)), "{body}");
        assert!(!taken.report.broken, "{body}");
    }
}

#[test]
fn extensions_are_not_pages() {
    let body = "<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='urn:image' \
                xmlns='urn:other'><s:url><image:image><image:loc>/no</image:loc></image:image>\
                <loc>/no</loc><video:loc>/no</video:loc><s:loc>/a</s:loc></s:url></s:urlset>";
    assert_eq!(read(body.as_bytes()).pages, BTreeSet::from(["http://a.test/a".to_owned()]));
}

#[test]
fn when_a_page_changed_is_read_wherever_it_stands() {
    let body = "<urlset><url><lastmod>2026-01-31</lastmod><loc>/a</loc></url>\
                <url><loc>/b</loc><lastmod> 2026-01-31T00:00:00Z </lastmod></url>\
                <url><loc>/c</loc><lastmod>lately</lastmod></url><url><loc>/d</loc></url>\
                <sitemap><loc>/e</loc><lastmod>2026</lastmod></sitemap></urlset>";
    let mut reader = SitemapReader::new(None);
    reader.feed(body.as_bytes());
    let entries: Vec<_> = reader.entries().map(|one| (one.url, one.is_sitemap, one.last_modified)).collect();
    let january = 1_769_817_600;
    assert_eq!(
        entries,
        [
            ("/a", false, Some(january + 86_399)),
            ("/b", false, Some(january)),
            ("/c", false, None),
            ("/d", false, None),
            ("/e", true, Some(1_798_761_599)),
        ]
    );
}

#[test]
fn what_is_not_well_formed_is_guessed_at() {
    for (body, pages) in [
        // an end tag that is missing, or one too many
        ("<urlset><url><loc>/a</loc><url><loc>/b</loc></url></urlset>", &["/a", "/b"][..]),
        ("<urlset><url><loc>/a</url><url><loc>/b</loc></url></urlset>", &["/a", "/b"]),
        ("<urlset><url><x><loc>/no</loc></url><url></x><loc>/b</loc></url></urlset>", &["/b"]),
        // two in one entry
        ("<urlset><url><loc>/a</loc><loc>/b</loc></url></urlset>", &["/a", "/b"]),
        // two documents in one
        (
            "<urlset><url><loc>/a</loc></url></urlset><?xml version='1.0'?><urlset><url><loc>/b</loc></url></urlset>",
            &["/a", "/b"],
        ),
    ] {
        let expected: BTreeSet<String> = pages.iter().map(|path| format!("http://a.test{path}")).collect();
        assert_eq!(read(body.as_bytes()).pages, expected, "{body}");
    }
}

#[test]
fn memory_is_bounded_whatever_comes() {
    for (begin, again) in [
        ("<urlset><url><loc>", "x"),
        ("<urlset><url><loc>", "&amp;"),
        ("<urlset><url><loc>", "<![CDATA[x]]>"),
        ("<urlset>", "<url>"),
        ("<urlset>", "<x xmlns:n='urn:x'>"),
        ("<urlset ", "x='y' "),
        ("<urlset x='", "y"),
        ("<!DOCTYPE x [", "<!ENTITY y 'z'>"),
        ("<![CDATA[", "]"),
        ("<!--", "-"),
        ("http://", "x"),
        (" ", " "),
        ("<?xml ", " "),
    ] {
        let mut reader = SitemapReader::new(None);
        reader.feed(begin.as_bytes());
        let piece = again.repeat(4096 / again.len());
        for _ in 0..256 {
            reader.feed(piece.as_bytes());
            reader.clear();
            assert!(reader.held_bytes() < 384 << 10, "{begin} {again}: {}", reader.held_bytes());
        }
        reader.finish();
    }
}

proptest! {
    #[test]
    fn pieces_are_read_like_the_whole(
        body in "(<urlset>|</urlset>|<url>|</url>|<loc>|</loc>|<loc/>|<lastmod>|</lastmod>|<x:loc xmlns:x='y'>|</x:loc>|/[a-d]|&amp;|&|&#6;|<!--|-->|<!\\[CDATA\\[|\\]\\]>|é| ){0,40}",
        size in 1..9_usize,
    ) {
        let location = "http://a.test/d/s.xml";
        prop_assert_eq!(taken(None, location, body.as_bytes(), size), taken(None, location, body.as_bytes(), usize::MAX));
    }

    #[test]
    fn no_bytes_panic(body in proptest::collection::vec(any::<u8>(), 0..200), begin in 0..4_usize) {
        let mut reader = SitemapReader::new(Some("text/xml; charset"));
        reader.feed(["", "<urlset><url>", "http://", "<?xml encoding='"][begin].as_bytes());
        reader.feed(&body);
        let report = reader.finish();
        prop_assert!(report.entries >= reader.entries().count() as u64);
    }
}
