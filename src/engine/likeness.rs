//! What a page looks like: the fingerprint and the blocks of its visible text, taken while it is read.

use crate::extract::TextSink;
use crate::sketch::{SimHasher, encode_blocks};

/// Listens to the text of one page after another.
#[derive(Debug, Default)]
pub(super) struct Likeness(SimHasher);

impl TextSink for Likeness {
    #[inline]
    fn text(&mut self, bytes: &[u8]) {
        self.0.feed(bytes);
    }
}

impl Likeness {
    /// The fingerprint of the page that has ended and its blocks, as its record shows them, where there was
    /// enough text.
    pub(super) fn finish(&mut self) -> Option<(String, String)> {
        let (simhash, blocks) = self.0.finish_with_blocks()?;
        Some((format!("{simhash:016x}"), encode_blocks(&blocks)))
    }
}
