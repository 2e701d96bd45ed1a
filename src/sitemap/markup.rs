//! XML into tags and text, as a stream: where they begin and end, and nothing of what they mean.
//!
//! Comments, instructions and the document type are passed over without being kept. What is not
//! well-formed is taken for what it was most likely meant to be, and noted.

use memchr::memchr;

use super::LONGEST;
use super::document_type::DocumentType;

/// Who is told of tags and text.
pub(super) trait Events {
    /// A start tag; `empty`: it is its own end tag too.
    fn open(&mut self, name: &str, attributes: &str, empty: bool);
    /// An end tag.
    fn close(&mut self, name: &str);
    /// A piece of text as it is written; `literal`: references in it are none (CDATA).
    fn text(&mut self, piece: &str, literal: bool);
}

/// Where the next character belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// Behind a `<`.
    Less,
    /// In a tag, perhaps in a quoted value.
    Tag(Option<u8>),
    /// Behind `<!`, too few characters to tell what it is.
    Bang,
    /// In a comment, behind so many dashes (two at most are counted).
    Comment(u8),
    /// In a CDATA section, behind so many brackets.
    Cdata(usize),
    /// In a processing instruction, perhaps behind its question mark.
    Instruction(bool),
    DocumentType(DocumentType),
    /// Something that nothing sound has: no more is read.
    Over,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Lexer {
    state: State,
    /// What there is of a tag, or behind `<!`.
    token: String,
    broken: bool,
}

impl Lexer {
    pub(super) fn new() -> Self {
        Self { state: State::Text, token: String::new(), broken: false }
    }

    /// Whether something was not well-formed so far.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether the input may end here.
    pub(super) fn is_between(&self) -> bool {
        self.state == State::Text
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.token.capacity()
    }

    pub(super) fn feed(&mut self, mut text: &str, events: &mut impl Events) {
        while !text.is_empty() {
            let used = match self.state {
                State::Text => self.in_text(text, events),
                State::Less => self.at_less(text, events),
                State::Tag(quote) => self.in_tag(text, quote, events),
                State::Bang => self.at_bang(text),
                State::Comment(dashes) => self.in_comment(text, dashes),
                State::Cdata(brackets) => self.in_cdata(text, brackets, events),
                State::Instruction(question) => self.in_instruction(text, question),
                State::DocumentType(place) => self.in_document_type(text, place),
                State::Over => text.len(),
            };
            text = &text[used..];
        }
    }

    fn in_text(&mut self, text: &str, events: &mut impl Events) -> usize {
        let less = memchr(b'<', text.as_bytes());
        let end = less.unwrap_or(text.len());
        if end > 0 {
            events.text(&text[..end], false);
        }
        if less.is_none() {
            return end;
        }
        self.state = State::Less;
        end + 1
    }

    /// Decides by the first character what begins here.
    fn at_less(&mut self, text: &str, events: &mut impl Events) -> usize {
        self.token.clear();
        let Some(first) = text.chars().next() else { return 0 };
        match first {
            '!' => self.state = State::Bang,
            '?' => self.state = State::Instruction(false),
            '/' | '_' | ':' => self.state = State::Tag(None),
            name if name.is_alphabetic() => self.state = State::Tag(None),
            _ => {
                self.broken = true;
                events.text("<", true);
                self.state = State::Text;
            }
        }
        match self.state {
            State::Bang | State::Instruction(_) => 1,
            _ => 0,
        }
    }

    fn in_tag(&mut self, text: &str, mut quote: Option<u8>, events: &mut impl Events) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), close) => quote = (open != close).then_some(open),
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'>') => {
                    if self.keep(&text[..at]) {
                        self.state = State::Text;
                        self.emit_tag(events);
                    }
                    return at + 1;
                }
                (None, b'<') => {
                    // the tag before was never closed
                    self.broken = true;
                    self.state = State::Less;
                    return at + 1;
                }
                (None, _) => {}
            }
        }
        if self.keep(text) {
            self.state = State::Tag(quote);
        }
        text.len()
    }

    /// Adds to the token; ends all where it is too long.
    fn keep(&mut self, piece: &str) -> bool {
        if self.token.len() + piece.len() > LONGEST {
            self.broken = true;
            self.state = State::Over;
            return false;
        }
        self.token.push_str(piece);
        true
    }

    fn emit_tag(&mut self, events: &mut impl Events) {
        let space = |character: char| character.is_ascii_whitespace();
        if let Some(name) = self.token.strip_prefix('/') {
            events.close(name.trim_end_matches(space));
            return;
        }
        let (tag, empty) = match self.token.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (self.token.as_str(), false),
        };
        let (name, attributes) = tag.split_once(space).unwrap_or((tag, ""));
        events.open(name, attributes, empty);
    }

    /// Takes one character at a time until it is clear what `<!` begins.
    fn at_bang(&mut self, text: &str) -> usize {
        const CDATA: &str = "[CDATA[";
        let Some(next) = text.chars().next() else { return 0 };
        self.token.push(next);
        let token = self.token.as_str();
        if token == "--" {
            self.state = State::Comment(0);
        } else if token == CDATA {
            self.state = State::Cdata(0);
        } else if !"--".starts_with(token) && !CDATA.starts_with(token) {
            // DOCTYPE, or what has no business here: up to its end it says nothing
            self.state = State::DocumentType(DocumentType::default());
            // the character may be of importance there
            return 0;
        }
        next.len_utf8()
    }

    fn in_comment(&mut self, text: &str, mut dashes: u8) -> usize {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'-' => dashes = (dashes + 1).min(2),
                b'>' if dashes == 2 => {
                    self.state = State::Text;
                    return at + 1;
                }
                _ => {
                    dashes = 0;
                    let Some(further) = memchr(b'-', &bytes[at..]) else { break };
                    at += further;
                    continue;
                }
            }
            at += 1;
        }
        self.state = State::Comment(dashes);
        bytes.len()
    }

    fn in_cdata(&mut self, text: &str, brackets: usize, events: &mut impl Events) -> usize {
        if brackets == 0 {
            let bracket = memchr(b']', text.as_bytes());
            let end = bracket.unwrap_or(text.len());
            if end > 0 {
                events.text(&text[..end], true);
            }
            self.state = State::Cdata(usize::from(bracket.is_some()));
            return end + usize::from(bracket.is_some());
        }
        match text.as_bytes()[0] {
            b']' if brackets == 1 => self.state = State::Cdata(2),
            b']' => events.text("]", true),
            b'>' if brackets == 2 => self.state = State::Text,
            _ => {
                events.text(if brackets == 1 { "]" } else { "]]" }, true);
                self.state = State::Cdata(0);
                return 0;
            }
        }
        1
    }

    fn in_instruction(&mut self, text: &str, mut question: bool) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'>' && question {
                self.state = State::Text;
                return at + 1;
            }
            question = byte == b'?';
        }
        self.state = State::Instruction(question);
        text.len()
    }

    fn in_document_type(&mut self, text: &str, mut place: DocumentType) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            if place.step(byte) {
                self.state = State::Text;
                return at + 1;
            }
        }
        self.state = State::DocumentType(place);
        text.len()
    }
}

/// Name and value, as written, of each attribute of a tag. What has no value in quotes ends it.
pub(super) fn attributes(mut text: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        let (name, rest) = text.split_once('=')?;
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let (value, rest) = rest[1..].split_once(quote)?;
        text = rest;
        Some((name.trim(), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Heard(String);

    impl Events for Heard {
        fn open(&mut self, name: &str, attributes: &str, empty: bool) {
            let end = if empty { "/" } else { "" };
            self.0.extend(["<", name, "|", attributes, end, ">"]);
        }

        fn close(&mut self, name: &str) {
            self.0.extend(["</", name, ">"]);
        }

        fn text(&mut self, piece: &str, literal: bool) {
            // what CDATA holds is shown in capitals
            self.0.push_str(&if literal { piece.to_uppercase() } else { piece.to_owned() });
        }
    }

    fn heard(pieces: &[&str]) -> (String, bool, bool) {
        let (mut lexer, mut heard) = (Lexer::new(), Heard::default());
        for piece in pieces {
            lexer.feed(piece, &mut heard);
        }
        (heard.0, lexer.is_broken(), lexer.is_between())
    }

    #[test]
    fn markup_is_told_apart() {
        for (text, expected) in [
            ("a<b>c</b >d", "a<b|>c</b>d"),
            ("<b x='>' y=\"/>\"/>", "<b|x='>' y=\"/>\"/>"),
            ("<b\nx='1'\n>", "<b|x='1'\n>"),
            ("<?xml version='1.0'?>a<?x ?y>?>b", "ab"),
            ("a<!-- <b> - -- > -->c<!----->d", "ac d".replace(' ', "").as_str()),
            ("<![CDATA[a]b]]c]]]>d", "A]B]]C]d"),
            ("<!DOCTYPE a [<!ENTITY b \"]>\"><!-- ' ]> -->]>c", "c"),
            ("<!doctype html>c", "c"),
            ("<é>", "<é|>"),
        ] {
            assert_eq!(heard(&[text]), (expected.to_owned(), false, true), "{text}");
        }
    }

    #[test]
    fn what_is_broken_is_guessed_at_and_noted() {
        for (text, expected) in [("1 < 2 <b>", "1 < 2 <b|>"), ("<a <b>", "<b|>"), ("<<b>", "<<b|>")] {
            assert_eq!(heard(&[text]), (expected.to_owned(), true, true), "{text}");
        }
        for cut in ["<", "<a", "<a x='>", "<!", "<!--", "<!-- --", "<![CDATA[a]]", "<?", "<!DOCTYPE a ["] {
            assert!(!heard(&[cut]).2, "{cut}");
        }
        let long = format!("<a x='{}'>b<c>", "x".repeat(LONGEST));
        assert_eq!(heard(&[&long]), (String::new(), true, false));
    }

    #[test]
    fn attributes_are_read_up_to_what_is_none() {
        let all: Vec<_> = attributes(" a='1' b:c = \"2'\"\nd='' e f='3' g=4 h='5'").collect();
        assert_eq!(all, [("a", "1"), ("b:c", "2'"), ("d", ""), ("e f", "3")]);
    }

    proptest! {
        #[test]
        fn pieces_are_read_like_the_whole(
            text in "([<>a!?/\\[\\]'\"é -]|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<\\?|\\?>|<!D|<b>|</b>){0,30}",
            at in any::<proptest::sample::Index>(),
        ) {
            let mut places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            places.push(text.len());
            let (one, other) = text.split_at(places[at.index(places.len())]);
            prop_assert_eq!(heard(&[one, other]), heard(&[&text]));
            let characters: Vec<String> = text.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            prop_assert_eq!(heard(&characters), heard(&[&text]));
        }
    }
}
