//! What a page looks like: the fingerprint of its visible text, taken while it is read.

use crate::extract::TextSink;
use crate::sketch::SimHasher;

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
    /// The fingerprint of the page that has ended, as its record shows it, where there was enough text.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.0.finish().map(|simhash| format!("{simhash:016x}"))
    }
}
