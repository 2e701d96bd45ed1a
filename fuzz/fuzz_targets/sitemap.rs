//! Any bytes as a sitemap, whole and in pieces: the same entries and the same report, within bounded memory.
#![no_main]

use dragline::sitemap::{Report, SitemapReader};
use dragline_fuzz::{Input, Pieces, input, lay, reports, rows};
use libfuzzer_sys::fuzz_target;

/// What a reader may hold while small pieces come, by its module's description, and room for its tables.
const READER_BYTES: usize = 384 << 10;

#[derive(Debug, PartialEq)]
struct Read {
    entries: Vec<(String, bool, bool, Option<i64>)>,
    report: Report,
}

fn take(reader: &mut SitemapReader, read: &mut Vec<(String, bool, bool, Option<i64>)>) {
    read.extend(
        reader.entries().map(|one| (one.url.to_owned(), one.usable, one.is_sitemap, one.last_modified)),
    );
    reader.clear();
}

fn read<'a>(content_type: Option<&str>, pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let (mut reader, mut entries) = (SitemapReader::new(content_type), Vec::new());
    for piece in pieces {
        reader.feed(piece);
        take(&mut reader, &mut entries);
        let bound = READER_BYTES + 4 * piece.len();
        assert!(reader.held_bytes() <= bound, "{} bytes are held", reader.held_bytes());
    }
    let report = reader.finish();
    take(&mut reader, &mut entries);
    assert_eq!(reader.finish(), report);
    assert_eq!(report.entries, entries.len() as u64);
    assert!(report.form.is_some() || report.broken);
    Read { entries, report }
}

fn seeds() -> Vec<Vec<u8>> {
    let rows = rows("sitemaps.jsonl");
    let of_case =
        rows.iter().map(|row| input(&[1, 9, 0x20], &[row.header("content-type")], &row.body("body")));
    let of_report =
        reports(&["sitemap"]).into_iter().map(|text| input(&[0, 9, 0x10], &[""], text.as_bytes()));
    let feeds = [
        "<rss><channel><link>/no</link><item><link> /a </link></item><item><link><![CDATA[/b?x=1&y=2]]></link></item>",
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link rel='alternate' href='/a'/></entry></feed>",
        "http://a.test/\r\n\nhttp://a.test/b\n",
        "<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'><s:url><s:loc>/a</s:loc>\
         <s:lastmod>2026-01-31T00:00:00Z</s:lastmod></s:url></s:urlset>",
    ];
    let of_feed = feeds.map(|text| input(&[0, 9, 0x10], &[""], text.as_bytes()));
    of_case.chain(of_report).chain(of_feed).collect()
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let (declared, cuts, content_type) = (input.byte() & 1 != 0, input.number(), input.text());
    let content_type = declared.then_some(content_type);
    let whole = read(content_type, std::iter::once(input.0));
    assert_eq!(read(content_type, Pieces::new(cuts).of(input.0)), whole);
});
