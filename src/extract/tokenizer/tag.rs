//! The states inside a tag: name, attributes, end.

use super::attributes::AttributeSet;
use super::names::{Element, is_space, may_matter};
use super::{State, TagSink, Tokenizer};
use memchr::memchr;

/// Where in a tag the next byte stands; the names follow HTML standard 13.2.5.8 and 13.2.5.32 to 13.2.5.40.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagState {
    Name,
    BeforeAttributeName,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    /// In a value within this quote.
    Quoted(u8),
    Unquoted,
    AfterQuoted,
    SelfClosing,
}

/// Whether it ends a tag name (and, with `=`, an attribute name).
const fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

impl Tokenizer {
    pub(super) fn begin_tag(&mut self, is_end: bool) {
        self.tag.name.clear();
        self.tag.is_end = is_end;
        self.state = State::Tag(TagState::Name);
    }

    pub(super) fn tag<S: TagSink>(
        &mut self,
        state: TagState,
        bytes: &[u8],
        at: usize,
        sink: &mut S,
    ) -> usize {
        match state {
            TagState::Name => self.tag_name(bytes, at, sink),
            TagState::BeforeAttributeName => {
                let at = self.plain_attributes(bytes, at);
                self.before_attribute_name(bytes[at], at, sink)
            }
            TagState::AttributeName => self.attribute_name(bytes, at, sink),
            TagState::AfterAttributeName => self.after_attribute_name(bytes[at], at, sink),
            TagState::BeforeValue => self.before_value(bytes[at], at, sink),
            TagState::Quoted(quote) => self.quoted(quote, bytes, at),
            TagState::Unquoted => self.unquoted(bytes, at, sink),
            TagState::AfterQuoted => self.after_quoted(bytes[at], at, sink),
            TagState::SelfClosing => self.self_closing(bytes[at], at, sink),
        }
    }

    fn tag_name<S: TagSink>(&mut self, bytes: &[u8], at: usize, sink: &mut S) -> usize {
        for (offset, &byte) in bytes[at..].iter().enumerate() {
            if ends_name(byte) {
                self.finish_tag_name();
                return self.after_name(bytes, at + offset, sink);
            }
            self.tag.name.push(byte);
        }
        bytes.len()
    }

    /// What the tag is follows from its name and from where it stands.
    pub(super) fn finish_tag_name(&mut self) {
        let name = &self.tag.name;
        self.tag.self_closing = false;
        self.tag.element = if self.foreign.is_open() && !self.tag.is_end {
            self.foreign.element_of(name, self.resources)
        } else {
            Element::of_html(name.known(), self.resources)
        };
        self.tag.wanted = if self.tag.is_end {
            AttributeSet::default()
        } else {
            self.tag.element.attributes(self.resources)
        };
        self.attributes.clear();
    }

    /// At the byte that ended a name: most tags that do not matter are passed over from here in one go.
    fn after_name<S: TagSink>(&mut self, bytes: &[u8], at: usize, sink: &mut S) -> usize {
        let slash_matters =
            self.xhtml || self.foreign.is_open() || matches!(self.tag.element, Element::Svg | Element::Math);
        if self.tag.wanted.is_empty()
            && !slash_matters
            && let Some(length) = end_of_tag(&bytes[at..])
        {
            return self.end_tag_at(at + length, sink);
        }
        self.state = State::Tag(TagState::BeforeAttributeName);
        at
    }

    fn end_tag_at<S: TagSink>(&mut self, at: usize, sink: &mut S) -> usize {
        self.finish_tag(sink);
        at + 1
    }

    /// Takes attributes of the common form ` name="value"` that end in this piece, each in one go.
    ///
    /// Returns where the first other one begins, or white space in front of it.
    fn plain_attributes(&mut self, bytes: &[u8], mut at: usize) -> usize {
        if self.tag.wanted.is_empty() {
            return at;
        }
        while let Some((name, value, length)) = plain_attribute(&bytes[at..]) {
            self.attribute_name.clear();
            for &byte in name {
                self.attribute_name.push(byte);
            }
            self.attributes.begin(self.attribute_name.known(), self.tag.wanted);
            self.attributes.append(value);
            at += length;
        }
        at
    }

    fn before_attribute_name<S: TagSink>(&mut self, byte: u8, at: usize, sink: &mut S) -> usize {
        match byte {
            b'/' => self.state = State::Tag(TagState::SelfClosing),
            b'>' => return self.end_tag_at(at, sink),
            _ if is_space(byte) => {}
            _ => {
                // the first byte of a name may be `=`, which ends it anywhere else
                self.attribute_name.clear();
                self.attribute_name.push(byte);
                self.state = State::Tag(TagState::AttributeName);
            }
        }
        at + 1
    }

    fn attribute_name<S: TagSink>(&mut self, bytes: &[u8], at: usize, sink: &mut S) -> usize {
        for (offset, &byte) in bytes[at..].iter().enumerate() {
            if byte == b'=' || ends_name(byte) {
                self.attributes.begin(self.attribute_name.known(), self.tag.wanted);
                return self.after_attribute_name(byte, at + offset, sink);
            }
            self.attribute_name.push(byte);
        }
        bytes.len()
    }

    fn after_attribute_name<S: TagSink>(&mut self, byte: u8, at: usize, sink: &mut S) -> usize {
        if byte == b'=' {
            self.state = State::Tag(TagState::BeforeValue);
            return at + 1;
        }
        if is_space(byte) {
            self.state = State::Tag(TagState::AfterAttributeName);
            return at + 1;
        }
        self.before_attribute_name(byte, at, sink)
    }

    fn before_value<S: TagSink>(&mut self, byte: u8, at: usize, sink: &mut S) -> usize {
        match byte {
            b'"' | b'\'' => self.state = State::Tag(TagState::Quoted(byte)),
            b'>' => return self.end_tag_at(at, sink),
            _ if is_space(byte) => {}
            _ => {
                self.state = State::Tag(TagState::Unquoted);
                return at;
            }
        }
        at + 1
    }

    fn quoted(&mut self, quote: u8, bytes: &[u8], at: usize) -> usize {
        let rest = &bytes[at..];
        if let Some(length) = memchr(quote, rest) {
            self.attributes.append(&rest[..length]);
            self.state = State::Tag(TagState::AfterQuoted);
            at + length + 1
        } else {
            self.attributes.append(rest);
            bytes.len()
        }
    }

    fn unquoted<S: TagSink>(&mut self, bytes: &[u8], at: usize, sink: &mut S) -> usize {
        let rest = &bytes[at..];
        let length = rest.iter().position(|&byte| byte == b'>' || is_space(byte));
        self.attributes.append(&rest[..length.unwrap_or(rest.len())]);
        match length {
            Some(length) if rest[length] == b'>' => self.end_tag_at(at + length, sink),
            Some(length) => {
                self.state = State::Tag(TagState::BeforeAttributeName);
                at + length + 1
            }
            None => bytes.len(),
        }
    }

    fn after_quoted<S: TagSink>(&mut self, byte: u8, at: usize, sink: &mut S) -> usize {
        // a name may follow without white space between
        self.state = State::Tag(TagState::BeforeAttributeName);
        self.before_attribute_name(byte, at, sink)
    }

    fn self_closing<S: TagSink>(&mut self, byte: u8, at: usize, sink: &mut S) -> usize {
        if byte == b'>' {
            self.tag.self_closing = true;
            return self.end_tag_at(at, sink);
        }
        self.state = State::Tag(TagState::BeforeAttributeName);
        at
    }
}

/// The length of a tag that does not matter in HTML, given what follows its `<`; none where that is not plain to see.
///
/// `RESOURCES`: whether tags that only embed something matter.
pub(super) fn plain_tag<const RESOURCES: bool>(rest: &[u8]) -> Option<usize> {
    let is_end = rest.first() == Some(&b'/');
    let start = usize::from(is_end);
    let first = rest.get(start).filter(|byte| byte.is_ascii_alphabetic())?;
    let length = rest[start..].iter().position(|&byte| ends_name(byte))?;
    if may_matter::<RESOURCES>(*first, length, is_end) {
        return None;
    }
    end_of_tag(&rest[start + length..]).map(|end| start + length + end + 1)
}

/// Name, value and whole length of an attribute in quotes, white space in front included,
/// that something follows which cannot change it; none where it has any other form.
fn plain_attribute(rest: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let start = rest.iter().position(|&byte| !is_space(byte))?;
    let name = start..start + rest[start..].iter().position(|&byte| !is_plain(byte))?;
    let quote = *rest.get(name.end + 1)?;
    if name.is_empty() || rest[name.end] != b'=' || !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let value = name.end + 2;
    let value = value..value + memchr(quote, &rest[value..])?;
    let follows = *rest.get(value.end + 1)?;
    (is_space(follows) || follows == b'>').then(|| (&rest[name], &rest[value.clone()], value.end + 1))
}

/// Bytes that the names of known attributes are made of.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':')
}

/// Where the `>` of a tag is, given what follows its name; none where that is not plain to see.
///
/// It gives up on what is rare (and where the piece ends first) rather than repeat every state.
fn end_of_tag(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += rest.get(at..)?.iter().position(|&byte| matches!(byte, b'=' | b'>'))?;
        if rest[at] == b'>' {
            return Some(at);
        }
        // anything but the last letter of a name in front, and this `=` may begin a name
        if !rest.get(at.checked_sub(1)?)?.is_ascii_alphanumeric() {
            return None;
        }
        at += 1;
        match *rest.get(at)? {
            quote @ (b'"' | b'\'') => at += memchr(quote, &rest[at + 1..])? + 2,
            byte if is_space(byte) => return None,
            _ => {
                at += rest[at..].iter().position(|&byte| byte == b'>' || is_space(byte))?;
            }
        }
    }
}
