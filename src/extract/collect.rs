//! From tags to what a page says: its links, base, title, canonical URL and rules for robots.
//!
//! It must not know how bytes become tags, nor resolve a URL.

use super::character_references::{Place, decode_into};
use super::charset;
use super::directives::{Directives, has_token};
use super::links::{ExtractLimits, Links};
use super::refresh;
use super::tokenizer::{Attribute, Attributes, Element, TagSink};
use crate::model::Via;
use encoding_rs::Encoding;

/// Bytes of a title at most, after white space is collapsed.
const MAX_TITLE_BYTES: usize = 512;

/// Bytes of a title that are kept as written; enough for [`MAX_TITLE_BYTES`] of any sensible one.
const MAX_RAW_TITLE_BYTES: usize = 8 << 10;

/// How much of the document's title has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TitleState {
    #[default]
    Awaited,
    Open,
    Done,
}

/// What has been gathered from the tags so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) links: Links,
    pub(super) agent: String,
    pub(super) directives: Directives,
    /// The first `base` with an `href`; empty where that was too long.
    pub(super) base: Option<String>,
    pub(super) canonical: Option<String>,
    /// The first encoding that a `meta` declared.
    pub(super) charset: Option<&'static Encoding>,
    title: Vec<u8>,
    title_state: TitleState,
}

impl Collector {
    /// Ready for another page; buffers are kept.
    pub(super) fn reset(&mut self, agent: &str, limits: ExtractLimits, keep_fragments: bool) {
        self.links.reset(limits, keep_fragments);
        if self.agent != agent {
            agent.clone_into(&mut self.agent);
        }
        self.directives = Directives::default();
        self.base = None;
        self.canonical = None;
        self.charset = None;
        self.title.clear();
        self.title_state = TitleState::Awaited;
    }

    /// The document's title.
    pub(super) fn title(&self) -> Option<String> {
        let mut decoded = String::new();
        decode_into(&self.title, Place::Text, &mut decoded);
        collapsed_title(&decoded)
    }

    /// The document's title begins; a second one does not count.
    fn open_title(&mut self) {
        if self.title_state == TitleState::Awaited {
            self.title_state = TitleState::Open;
        }
    }

    fn base(&mut self, attributes: &Attributes) {
        if self.base.is_none() {
            let too_long = attributes.is_too_long(Attribute::Href).then(String::new);
            self.base = value(attributes, Attribute::Href).or(too_long);
        }
    }

    /// `a` and its like: the target may stand in either of two attributes.
    fn hyperlink(&mut self, attributes: &Attributes, fallback: Attribute) {
        let is_there = attributes.get(Attribute::Href).is_some() || attributes.is_too_long(Attribute::Href);
        let target = if is_there { Attribute::Href } else { fallback };
        let nofollow =
            value(attributes, Attribute::Rel).is_some_and(|rel| has_token(rel.as_bytes(), b"nofollow"));
        self.target(attributes, target, Via::Link, nofollow);
    }

    fn target(&mut self, attributes: &Attributes, attribute: Attribute, via: Via, nofollow: bool) {
        if let Some(raw) = attributes.get(attribute) {
            self.links.add(raw, via, nofollow);
        } else if attributes.is_too_long(attribute) {
            self.links.drop_one();
        }
    }

    fn link(&mut self, attributes: &Attributes) {
        let Some(rel) = value(attributes, Attribute::Rel) else {
            return;
        };
        if self.canonical.is_none() && has_token(rel.as_bytes(), b"canonical") {
            self.canonical = value(attributes, Attribute::Href);
        }
        if leads_to_page(rel.as_bytes()) {
            let nofollow = has_token(rel.as_bytes(), b"nofollow");
            self.target(attributes, Attribute::Href, Via::Rel, nofollow);
        }
    }

    fn meta(&mut self, attributes: &Attributes) {
        let pragma = value(attributes, Attribute::HttpEquiv);
        let content = value(attributes, Attribute::Content);
        if self.charset.is_none() {
            let label = value(attributes, Attribute::Charset);
            self.charset = charset::of_meta(
                label.as_deref().map(str::as_bytes),
                pragma.as_deref().map(str::as_bytes),
                content.as_deref().map(str::as_bytes),
            );
        }
        let Some(content) = content else { return };
        if pragma.is_some_and(|pragma| pragma.eq_ignore_ascii_case("refresh"))
            && let Some(target) = refresh::target(&content)
        {
            self.links.add_decoded(target, Via::Refresh, false);
        }
        if let Some(name) = value(attributes, Attribute::Name) {
            self.directives.add_meta(&name, &content, &self.agent);
        }
    }
}

impl TagSink for Collector {
    fn start_tag(&mut self, element: Element, attributes: &Attributes) {
        match element {
            Element::Anchor | Element::Area => self.hyperlink(attributes, Attribute::Href),
            Element::SvgAnchor => self.hyperlink(attributes, Attribute::XlinkHref),
            Element::Frame | Element::InlineFrame => {
                self.target(attributes, Attribute::Src, Via::Frame, false);
            }
            Element::Base => self.base(attributes),
            Element::Link => self.link(attributes),
            Element::Meta => self.meta(attributes),
            Element::Title => self.open_title(),
            _ => {}
        }
    }

    fn title_text(&mut self, bytes: &[u8]) {
        if self.title_state == TitleState::Open {
            let room = MAX_RAW_TITLE_BYTES - self.title.len();
            self.title.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end_title(&mut self) {
        if self.title_state == TitleState::Open {
            self.title_state = TitleState::Done;
        }
    }
}

/// An attribute's value, decoded.
fn value(attributes: &Attributes, attribute: Attribute) -> Option<String> {
    let raw = attributes.get(attribute)?;
    let mut decoded = String::with_capacity(raw.len());
    decode_into(raw, Place::Attribute, &mut decoded);
    Some(decoded)
}

/// Whether a `link` of these types leads to a page: next, prev (once previous), alternate, unless a style sheet.
pub(super) fn leads_to_page(rel: &[u8]) -> bool {
    let leads: [&[u8]; 4] = [b"next", b"prev", b"previous", b"alternate"];
    leads.iter().any(|token| has_token(rel, token)) && !has_token(rel, b"stylesheet")
}

/// A title with white space collapsed, cut at a character's boundary; none where it is empty.
pub(super) fn collapsed_title(text: &str) -> Option<String> {
    let mut title = String::new();
    for character in text.chars() {
        if title.len() + character.len_utf8() > MAX_TITLE_BYTES {
            break;
        }
        match character {
            _ if !character.is_ascii_whitespace() => title.push(character),
            _ if !title.is_empty() && !title.ends_with(' ') => title.push(' '),
            _ => {}
        }
    }
    title.truncate(title.trim_end_matches(' ').len());
    (!title.is_empty()).then_some(title)
}

/// A sink that listens for a declaration of charset and nothing else.
#[derive(Debug, Default)]
pub(super) struct CharsetProbe {
    pub(super) charset: Option<&'static Encoding>,
}

impl TagSink for CharsetProbe {
    fn start_tag(&mut self, element: Element, attributes: &Attributes) {
        if element == Element::Meta && self.charset.is_none() {
            let get = |attribute| attributes.get(attribute);
            self.charset =
                charset::of_meta(get(Attribute::Charset), get(Attribute::HttpEquiv), get(Attribute::Content));
        }
    }

    fn title_text(&mut self, _: &[u8]) {}

    fn end_title(&mut self) {}
}
