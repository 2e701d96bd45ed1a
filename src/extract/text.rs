//! The visible text of a page, for whoever listens.

use super::collect::Collector;
use super::tokenizer::{Attributes, Element, TagSink};

/// Who is given the visible text of a page: what stands between tags, in UTF-8, as written
/// (character references are not decoded), in pieces of any size, cut anywhere.
///
/// Each tag, comment and the like is told by one `<`, so that what it parts is not taken for one
/// word. Not given are title, scripts, style sheets, `textarea`, `iframe`, `noframes`, `noembed`,
/// `xmp`, `plaintext`, what is in a `template`, and sections of CDATA.
pub trait TextSink {
    /// Whether it wants any of it; where not, text is passed over at the speed of memory.
    const LISTENS: bool = true;

    /// Takes the next piece.
    fn text(&mut self, bytes: &[u8]);
}

/// Wants no text.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoText;

impl TextSink for NoText {
    const LISTENS: bool = false;

    fn text(&mut self, _: &[u8]) {}
}

/// Tags go to the collector, text to another one.
pub(super) struct Listening<'a, Text> {
    pub(super) collector: &'a mut Collector,
    pub(super) text: &'a mut Text,
}

impl<Text: TextSink> TagSink for Listening<'_, Text> {
    const LISTENS: bool = Text::LISTENS;

    fn start_tag(&mut self, element: Element, attributes: &Attributes) {
        self.collector.start_tag(element, attributes);
    }

    fn title_text(&mut self, bytes: &[u8]) {
        self.collector.title_text(bytes);
    }

    fn end_title(&mut self) {
        self.collector.end_title();
    }

    #[inline]
    fn text(&mut self, bytes: &[u8]) {
        self.text.text(bytes);
    }
}
