//! From tags to what a page says: its links, base, title, canonical URL and rules for robots.
//!
//! It must not know how bytes become tags, nor resolve a URL.

use super::PageContext;
use super::character_references::{Place, decode_into};
use super::charset;
use super::directives::{Directives, has_token};
use super::links::Links;
use super::refresh;
use super::srcset;
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
    /// What the page embeds is wanted.
    resources: bool,
    body_has_background: bool,
    title: Vec<u8>,
    title_state: TitleState,
}

impl Collector {
    /// Ready for another page; buffers are kept.
    pub(super) fn reset(&mut self, context: &PageContext<'_>) {
        self.links.reset(context.limits, context.keep_fragments);
        if self.agent != context.robots_agent {
            context.robots_agent.clone_into(&mut self.agent);
        }
        self.resources = context.resources;
        self.body_has_background = false;
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
        let target = if attributes.has(Attribute::Href) { Attribute::Href } else { fallback };
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
        } else if self.resources && leads_to_resource(rel.as_bytes()) {
            self.resource(attributes, Attribute::Href);
            self.candidates(attributes, Attribute::ImageSrcset);
        }
    }

    /// One resource. Of a value too long to be kept nothing is counted, since all that is so long
    /// is a `data:` URL.
    fn resource(&mut self, attributes: &Attributes, attribute: Attribute) {
        if let Some(raw) = attributes.get(attribute) {
            self.links.add(raw, Via::Resource, false);
        }
    }

    /// All resources of a `srcset`.
    fn candidates(&mut self, attributes: &Attributes, attribute: Attribute) {
        if let Some(list) = value(attributes, attribute) {
            srcset::urls(&list).for_each(|url| self.links.add_decoded(url, Via::Resource, false));
        }
    }

    /// What an element embeds that is there for nothing else.
    fn embedding(&mut self, element: Element, attributes: &Attributes) {
        let is_image_button =
            || value(attributes, Attribute::Type).is_some_and(|kind| kind.eq_ignore_ascii_case("image"));
        match element {
            Element::Embed => self.resource(attributes, Attribute::Src),
            Element::Script if self.resources => self.resource(attributes, Attribute::Src),
            Element::Input if is_image_button() => self.resource(attributes, Attribute::Src),
            Element::Object => self.resource(attributes, Attribute::Data),
            Element::Background => self.resource(attributes, Attribute::Background),
            Element::Body => self.body(attributes),
            Element::Image | Element::Source => {
                self.resource(attributes, Attribute::Src);
                self.candidates(attributes, Attribute::Srcset);
            }
            Element::Video => {
                self.resource(attributes, Attribute::Src);
                self.resource(attributes, Attribute::Poster);
            }
            Element::SvgEmbed if attributes.has(Attribute::Href) => {
                self.resource(attributes, Attribute::Href);
            }
            Element::SvgEmbed => self.resource(attributes, Attribute::XlinkHref),
            _ => {}
        }
    }

    /// A second `body` tag adds to the first what that lacks (HTML standard 13.2.6.4.7).
    fn body(&mut self, attributes: &Attributes) {
        if !self.body_has_background && attributes.has(Attribute::Background) {
            self.body_has_background = true;
            self.resource(attributes, Attribute::Background);
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
            _ => self.embedding(element, attributes),
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

/// Whether a `link` of these types names something that the page needs to be shown.
pub(super) fn leads_to_resource(rel: &[u8]) -> bool {
    let embeds: [&[u8]; 8] = [
        b"stylesheet",
        b"icon",
        b"preload",
        b"modulepreload",
        b"manifest",
        b"apple-touch-icon",
        b"apple-touch-icon-precomposed",
        b"mask-icon",
    ];
    embeds.iter().any(|token| has_token(rel, token))
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
