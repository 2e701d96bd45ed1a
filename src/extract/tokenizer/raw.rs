//! Elements that hold text: up to their own end tag nothing in them is markup.
//!
//! Source: HTML standard 13.2.5.2 to 13.2.5.4 and 13.2.5.9 to 13.2.5.31. Where a
//! candidate for an end tag fails, the standard reads on through letters that can
//! no longer matter; here it fails at the first that does not fit.

use super::names::{Element, NameBuffer, is_space};
use super::tag::TagState;
use super::{State, TagSink, Tokenizer};
use memchr::{memchr, memchr3};

const SCRIPT: &[u8] = b"script";

/// Where in the text the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawState {
    Text,
    /// Behind a `<`.
    Less,
    /// Behind `</` and some letters of the element's name.
    EndName,
    /// In a script, behind `<!`.
    EscapeStart,
    /// In a script, behind `<!-`.
    EscapeStartDash,
    /// In an escaped script, behind `<` and some letters of `script`.
    DoubleEscapeStart,
    /// In a doubly escaped script, behind `</` and some letters of `script`.
    DoubleEscapeEnd,
}

/// How far `<!--` hides the end of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    /// Within `<!--`: an inner `<script` would hide the next `</script`.
    Single,
    /// Within `<!-- <script`: the next `</script` is hidden.
    Double,
}

/// The element whose text is being read.
#[derive(Debug, Clone)]
pub(super) struct RawContent {
    name: NameBuffer,
    element: Element,
    /// The sink is given the text.
    reported: bool,
    escape: Escape,
    /// Dashes directly in front, two at most.
    dashes: u8,
    /// Letters of a name matched so far.
    matched: u8,
    /// Those letters of `title` as they were written.
    letters: [u8; 5],
}

impl RawContent {
    pub(super) const fn new() -> RawContent {
        RawContent {
            name: NameBuffer::new(),
            element: Element::Other,
            reported: false,
            escape: Escape::None,
            dashes: 0,
            matched: 0,
            letters: [0; 5],
        }
    }

    pub(super) fn begin(&mut self, name: NameBuffer, element: Element, counts: bool) {
        let reported = counts && element == Element::Title;
        *self = RawContent { name, element, reported, ..RawContent::new() };
    }
}

impl Tokenizer {
    pub(super) fn raw<S: TagSink>(
        &mut self,
        state: RawState,
        bytes: &[u8],
        at: usize,
        sink: &mut S,
    ) -> usize {
        let byte = bytes[at];
        match state {
            RawState::Text => self.raw_text(bytes, at, sink),
            RawState::Less => self.raw_less(byte, at, sink),
            RawState::EndName => self.raw_end_name(byte, at, sink),
            RawState::EscapeStart if byte == b'-' => self.raw_go(RawState::EscapeStartDash, at + 1),
            RawState::EscapeStartDash if byte == b'-' => {
                self.raw.escape = Escape::Single;
                self.raw.dashes = 2;
                self.raw_go(RawState::Text, at + 1)
            }
            RawState::EscapeStart | RawState::EscapeStartDash => self.raw_go(RawState::Text, at),
            RawState::DoubleEscapeStart => self.raw_double(byte, at, Escape::Double),
            RawState::DoubleEscapeEnd => self.raw_double(byte, at, Escape::Single),
        }
    }

    fn raw_go(&mut self, state: RawState, at: usize) -> usize {
        self.state = State::Raw(state);
        at
    }

    fn raw_text<S: TagSink>(&mut self, bytes: &[u8], at: usize, sink: &mut S) -> usize {
        let rest = &bytes[at..];
        let found = match self.raw.escape {
            Escape::None => memchr(b'<', rest),
            Escape::Single | Escape::Double => memchr3(b'<', b'-', b'>', rest),
        };
        let length = found.unwrap_or(rest.len());
        if length > 0 {
            self.report_raw(&rest[..length], sink);
            self.raw.dashes = 0;
        }
        match rest.get(length) {
            None => bytes.len(),
            Some(b'<') => {
                self.raw.dashes = 0;
                self.raw_go(RawState::Less, at + length + 1)
            }
            Some(b'-') => {
                self.raw.dashes = (self.raw.dashes + 1).min(2);
                at + length + 1
            }
            Some(_) => {
                if self.raw.dashes == 2 {
                    self.raw.escape = Escape::None;
                }
                self.raw.dashes = 0;
                at + length + 1
            }
        }
    }

    fn raw_less<S: TagSink>(&mut self, byte: u8, at: usize, sink: &mut S) -> usize {
        self.raw.matched = 0;
        let is_script = self.raw.element == Element::Script;
        match (byte, self.raw.escape) {
            (b'/', Escape::Double) => self.raw_go(RawState::DoubleEscapeEnd, at + 1),
            (b'/', _) => self.raw_go(RawState::EndName, at + 1),
            (b'!', Escape::None) if is_script => self.raw_go(RawState::EscapeStart, at + 1),
            (b's' | b'S', Escape::Single) => self.raw_go(RawState::DoubleEscapeStart, at),
            _ => {
                self.report_raw(b"<", sink);
                self.raw_go(RawState::Text, at)
            }
        }
    }

    fn raw_end_name<S: TagSink>(&mut self, byte: u8, at: usize, sink: &mut S) -> usize {
        let matched = usize::from(self.raw.matched);
        let name = self.raw.name.known();
        if name.get(matched) == Some(&byte.to_ascii_lowercase()) {
            if let Some(letter) = self.raw.letters.get_mut(matched) {
                *letter = byte;
            }
            self.raw.matched += 1;
            return at + 1;
        }
        if matched == name.len() && (is_space(byte) || matches!(byte, b'/' | b'>')) {
            self.begin_tag(true);
            self.tag.name = self.raw.name;
            self.finish_tag_name();
            self.state = State::Tag(TagState::BeforeAttributeName);
            return at;
        }
        self.report_failed_end(sink);
        self.raw_go(RawState::Text, at)
    }

    /// What looked like the beginning of an end tag is text.
    fn report_failed_end<S: TagSink>(&self, sink: &mut S) {
        let letters = &self.raw.letters[..usize::from(self.raw.matched).min(self.raw.letters.len())];
        self.report_raw(b"</", sink);
        self.report_raw(letters, sink);
    }

    /// The document ends in this state: what waited to become an end tag is text after all.
    pub(super) fn finish_raw<S: TagSink>(&self, state: RawState, sink: &mut S) {
        match state {
            RawState::Less => self.report_raw(b"<", sink),
            RawState::EndName => self.report_failed_end(sink),
            _ => {}
        }
    }

    fn raw_double(&mut self, byte: u8, at: usize, then: Escape) -> usize {
        let matched = usize::from(self.raw.matched);
        if SCRIPT.get(matched) == Some(&byte.to_ascii_lowercase()) {
            self.raw.matched += 1;
            return at + 1;
        }
        if matched == SCRIPT.len() && (is_space(byte) || matches!(byte, b'/' | b'>')) {
            self.raw.escape = then;
            return self.raw_go(RawState::Text, at + 1);
        }
        self.raw_go(RawState::Text, at)
    }

    fn report_raw<S: TagSink>(&self, bytes: &[u8], sink: &mut S) {
        if self.raw.reported {
            sink.title_text(bytes);
        }
    }
}
