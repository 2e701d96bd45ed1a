//! The streaming tokenizer: markup in, the tags that matter out.
//!
//! Source: HTML standard, section 13.2.5 (tokenization), as far as links need it,
//! with the few rules of tree construction that change tokenization: which
//! elements hold text (13.2.6.4.4, 13.2.6.4.7), `template`, foreign content (13.2.6.5).
//!
//! It takes bytes of UTF-8 in pieces of any size, cut anywhere, and behaves as if
//! they had come in one. Ill-formed sequences pass through: no delimiter is part
//! of one, so whoever keeps a value replaces them there. Memory is bounded whatever
//! comes: nothing outside SVG and MathML is tracked by a stack, and the one there has
//! a limit. It must not know what a link is, nor URLs, nor charsets.

mod attributes;
mod foreign;
mod markup;
mod names;
mod raw;
mod tag;

pub(super) use attributes::{Attribute, Attributes};
pub(super) use names::Element;

use attributes::AttributeSet;
use foreign::ForeignContent;
use markup::MarkupState;
use memchr::memchr;
use names::NameBuffer;
use raw::{RawContent, RawState};
use tag::TagState;

/// Who is told of the tags.
pub(super) trait TagSink {
    /// A start tag that matters, outside of any `template`.
    fn start_tag(&mut self, element: Element, attributes: &Attributes);
    /// Text of a `title`, as written; comes in pieces of any size.
    fn title_text(&mut self, bytes: &[u8]);
    /// The end tag of a `title`.
    fn end_title(&mut self);

    /// Whether it is given the text between tags as well.
    const LISTENS: bool = false;
    /// Text between tags outside of any `template`, as written, with the `<` that ended it; comes
    /// in pieces of any size.
    fn text(&mut self, _: &[u8]) {}
}

/// Where in the grammar the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between tags.
    Data,
    /// After `plaintext`.
    PlainText,
    /// Behind a `<`.
    Open,
    /// Behind `</`.
    EndOpen,
    /// In the name or the attributes of a tag.
    Tag(TagState),
    /// In a comment or its like.
    Markup(MarkupState),
    /// In an element that holds text.
    Raw(RawState),
}

/// What a tag is, known once its name has ended.
#[derive(Debug, Clone)]
struct Tag {
    name: NameBuffer,
    element: Element,
    is_end: bool,
    self_closing: bool,
    wanted: AttributeSet,
}

/// The tokenizer with all that it remembers between pieces.
#[derive(Debug, Clone)]
pub(super) struct Tokenizer {
    state: State,
    /// XHTML: `/>` closes any element, CDATA sections may stand anywhere.
    xhtml: bool,
    /// Tags that embed something matter too.
    resources: bool,
    tag: Tag,
    attribute_name: NameBuffer,
    attributes: Attributes,
    raw: RawContent,
    foreign: ForeignContent,
    /// Open `template` elements; what is in them is no part of the page.
    templates: u32,
}

impl Tokenizer {
    /// For a document in XHTML or HTML; `resources`: the sink wants to know what the page embeds.
    pub(super) fn new(xhtml: bool, resources: bool) -> Tokenizer {
        Tokenizer {
            state: State::Data,
            xhtml,
            resources,
            tag: Tag {
                name: NameBuffer::new(),
                element: Element::Other,
                is_end: false,
                self_closing: false,
                wanted: AttributeSet::default(),
            },
            attribute_name: NameBuffer::new(),
            attributes: Attributes::default(),
            raw: RawContent::new(),
            foreign: ForeignContent::default(),
            templates: 0,
        }
    }

    /// Back to the beginning of a document; buffers are kept.
    pub(super) fn reset(&mut self, xhtml: bool, resources: bool) {
        let attributes = std::mem::take(&mut self.attributes);
        let mut foreign = std::mem::take(&mut self.foreign);
        foreign.reset();
        *self = Tokenizer { attributes, foreign, ..Tokenizer::new(xhtml, resources) };
    }

    /// How often it had to guess what tree construction would do with foreign content.
    #[cfg(test)]
    pub(super) fn guesses(&self) -> u32 {
        self.foreign.guesses()
    }

    /// Takes the next piece of the document.
    pub(super) fn feed<S: TagSink>(&mut self, bytes: &[u8], sink: &mut S) {
        let mut at = 0;
        while at < bytes.len() {
            at = match self.state {
                State::Data => self.data(bytes, at, sink),
                State::PlainText => return,
                State::Open => self.open(bytes[at], at),
                State::EndOpen => self.end_open(bytes[at], at),
                State::Tag(state) => self.tag(state, bytes, at, sink),
                State::Markup(state) => self.markup(state, bytes, at),
                State::Raw(state) => self.raw(state, bytes, at, sink),
            };
        }
    }

    /// The document has ended. A tag that has not is dropped.
    pub(super) fn finish<S: TagSink>(&mut self, sink: &mut S) {
        if let State::Raw(state) = self.state {
            self.finish_raw(state, sink);
        }
    }

    fn data<S: TagSink>(&mut self, bytes: &[u8], at: usize, sink: &mut S) -> usize {
        if self.resources {
            self.pass_text::<S, true>(bytes, at, sink)
        } else {
            self.pass_text::<S, false>(bytes, at, sink)
        }
    }

    /// Passes over text and over tags that do not matter.
    fn pass_text<S: TagSink, const RESOURCES: bool>(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        sink: &mut S,
    ) -> usize {
        let listens = S::LISTENS && self.templates == 0;
        while let Some(offset) = memchr(b'<', &bytes[at..]) {
            if listens {
                sink.text(&bytes[at..=at + offset]);
            }
            at += offset + 1;
            let passed =
                if self.foreign.is_open() { None } else { tag::plain_tag::<RESOURCES>(&bytes[at..]) };
            let Some(length) = passed else {
                self.state = State::Open;
                return at;
            };
            at += length;
        }
        if listens {
            sink.text(&bytes[at..]);
        }
        bytes.len()
    }

    fn open(&mut self, byte: u8, at: usize) -> usize {
        if byte.is_ascii_alphabetic() {
            self.begin_tag(false);
            return at;
        }
        let (state, next) = match byte {
            b'/' => (State::EndOpen, at + 1),
            b'!' => (State::Markup(MarkupState::Declaration), at + 1),
            b'?' => (State::Markup(MarkupState::Bogus), at + 1),
            _ => (State::Data, at),
        };
        self.state = state;
        next
    }

    fn end_open(&mut self, byte: u8, at: usize) -> usize {
        if byte.is_ascii_alphabetic() {
            self.begin_tag(true);
        } else {
            // `</>` is nothing at all, which is what a bogus comment that ends at once is too
            self.state = State::Markup(MarkupState::Bogus);
        }
        at
    }

    /// The tag has ended: tells the sink and decides how to go on.
    fn finish_tag<S: TagSink>(&mut self, sink: &mut S) {
        self.state = State::Data;
        if self.tag.is_end {
            self.close_element(sink);
        } else if self.tag.element != Element::Other || self.foreign.is_open() {
            self.open_element(sink);
        }
    }

    fn open_element<S: TagSink>(&mut self, sink: &mut S) {
        let element = self.tag.element;
        let closed = self.tag.self_closing && self.xhtml;
        if self.foreign.is_open() || matches!(element, Element::Svg | Element::Math) {
            let closed = self.tag.self_closing && (self.xhtml || self.foreign.takes_self_closing(element));
            self.foreign.open_element(&self.tag.name, element, &self.attributes, closed);
        }
        if element == Element::Template {
            self.templates = self.templates.saturating_add(u32::from(!closed));
            return;
        }
        let is_silent = matches!(element, Element::Other | Element::RawText)
            || (element == Element::Script && !self.resources);
        if self.templates == 0 && !is_silent {
            sink.start_tag(element, &self.attributes);
        }
        if closed {
            return;
        }
        if element == Element::PlainText {
            self.state = State::PlainText;
        } else if element.holds_text() {
            self.raw.begin(self.tag.name, element, self.templates == 0);
            self.state = State::Raw(RawState::Text);
        }
    }

    fn close_element<S: TagSink>(&mut self, sink: &mut S) {
        let element = self.tag.element;
        let mut closes_template = element == Element::Template;
        if self.foreign.is_open() {
            closes_template =
                self.foreign.close_element(&self.tag.name, self.templates > 0) && closes_template;
        }
        if closes_template {
            self.templates = self.templates.saturating_sub(1);
        } else if element == Element::Title {
            sink.end_title();
        }
    }
}
