//! Any bytes as a page, whole and in pieces: the same links, title and likeness; a reader that has read other pages
//! before says the same as a new one; memory is bounded.
#![no_main]

use dragline::extract::{ExtractLimits, Extracted, PageContext, PageReader, TextSink};
use dragline::sketch::{Block, SimHasher};
use dragline_fuzz::{Input, Pieces, input, lay, peak_of, reports, rows};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

/// Limits that small pages reach.
const TIGHT: ExtractLimits = ExtractLimits { max_links: 6, max_link_bytes: 64 };

/// What a reader may hold beside what it gives out: 64 KiB for detection, as much for a value, and tables.
const READER_BYTES: usize = 512 << 10;

#[derive(Default)]
struct Likeness(SimHasher);

impl TextSink for Likeness {
    fn text(&mut self, text: &[u8]) {
        self.0.feed(text);
    }
}

thread_local! {
    static USED: RefCell<PageReader> = RefCell::new(PageReader::new(&PageContext::default()));
}

fn read<'a>(reader: &mut PageReader, pieces: impl Iterator<Item = &'a [u8]>) -> (Extracted, Option<(u64, Vec<Block>)>) {
    let mut likeness = Likeness::default();
    pieces.for_each(|piece| reader.feed_with(piece, &mut likeness));
    let page = reader.finish_with(&mut likeness);
    (page, likeness.0.finish_with_blocks())
}

fn seeds() -> Vec<Vec<u8>> {
    let of_case = rows("html_links.jsonl").into_iter().flat_map(|row| {
        let texts = [row.header("content-type"), row.header("x-robots-tag")];
        let body = row.body("html");
        [0b0001, 0b0011].map(|switches| input(&[switches, 7, 0x20], &texts, &body))
    });
    let of_report = reports(&["html-links", "body"]).into_iter();
    of_case.chain(of_report.map(|page| input(&[0b0010, 7, 0x10], &["", ""], page.as_bytes()))).collect()
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let (switches, cuts) = (input.byte(), input.number());
    let on = |bit: u8| switches & 1 << bit != 0;
    let (content_type, robots_tag) = (input.text(), input.text());
    let robots_tags = [robots_tag];
    let context = PageContext {
        content_type: on(0).then_some(content_type),
        x_robots_tag: &robots_tags[..usize::from(!robots_tag.is_empty())],
        robots_agent: "dragline",
        top_level_domain: on(4).then_some("jp"),
        keep_fragments: on(2),
        resources: on(1),
        limits: if on(3) { TIGHT } else { ExtractLimits::default() },
    };
    let body = input.0;
    let whole = read(&mut PageReader::new(&context), std::iter::once(body));
    let (pieces, peak) = peak_of(|| read(&mut PageReader::new(&context), Pieces::new(cuts).of(body)));
    assert_eq!(whole, pieces);
    assert!(peak <= READER_BYTES + 64 * body.len(), "{peak} bytes for a page of {}", body.len());
    let reused = USED.with_borrow_mut(|reader| {
        reader.reset(&context);
        read(reader, std::iter::once(body))
    });
    assert_eq!(whole, reused);
    let (page, _) = whole;
    assert!(page.references.len() <= context.limits.max_links && page.text.len() <= context.limits.max_link_bytes);
    assert!(page.title.as_ref().is_none_or(|title| title.len() <= 512));
    for (reference, text) in page.links() {
        assert_eq!(text.len(), reference.length as usize);
    }
    if !page.is_html {
        assert_eq!(page.links_found(), 0);
    }
    USED.with_borrow_mut(|reader| reader.recycle(page));
});
