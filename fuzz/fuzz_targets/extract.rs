//! Any bytes as a page, fed whole and in pieces: the same answer, and no panic.
#![no_main]

use dragline::extract::{PageContext, PageReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (declared, size, body) = input;
    let content_type = declared.then_some("text/html");
    let context = PageContext { content_type, robots_agent: "dragline", ..PageContext::default() };
    let (mut whole, mut pieces) = (PageReader::new(&context), PageReader::new(&context));
    whole.feed(body);
    body.chunks(usize::from(size).max(1)).for_each(|piece| pieces.feed(piece));
    assert_eq!(whole.finish(), pieces.finish());
});
