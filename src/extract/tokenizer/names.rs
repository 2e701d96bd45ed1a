//! Names of tags and attributes: which of them the reader acts on.
//!
//! A name is kept in a buffer of fixed size, so that no input can make it grow.

use super::attributes::{Attribute, AttributeSet};

/// Longer than every name that matters in HTML, SVG and MathML.
const CAPACITY: usize = 20;

/// The name of a tag or an attribute in lower case, cut at a length no known name reaches.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameBuffer {
    bytes: [u8; CAPACITY],
    /// The length of the whole name, beyond what is kept.
    length: usize,
}

impl NameBuffer {
    pub(super) const fn new() -> NameBuffer {
        NameBuffer { bytes: [0; CAPACITY], length: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte.to_ascii_lowercase();
        }
        self.length += 1;
    }

    /// The name, or nothing where it is longer than any known one.
    pub(super) fn known(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// What tells names apart: kept bytes and whole length, hashed.
    ///
    /// Two names that agree in both pass for one; no element of SVG or MathML is long enough.
    pub(super) fn identity(&self) -> u64 {
        let kept = &self.bytes[..self.length.min(CAPACITY)];
        xxhash_rust::xxh3::xxh3_64_with_seed(kept, self.length as u64)
    }
}

/// The elements that links, rules or the course of tokenization depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Element {
    /// `a` of HTML.
    Anchor,
    /// `a` of SVG, whose target may stand in `xlink:href`.
    SvgAnchor,
    /// `annotation-xml` of MathML, whose `encoding` decides what its content is.
    AnnotationXml,
    Area,
    /// `table`, `td` and `th`, which may have a `background`; only where resources are wanted.
    Background,
    Base,
    /// Its `background` counts; only where resources are wanted.
    Body,
    /// `audio`, `embed` and `track`; only where resources are wanted.
    Embed,
    /// `font` inside SVG or MathML, where three of its attributes end the foreign content.
    Font,
    Frame,
    /// `img`, which a parser also makes of `image`; only where resources are wanted.
    Image,
    InlineFrame,
    /// Its `src` counts where its `type` is `image`; only where resources are wanted.
    Input,
    Link,
    Math,
    Meta,
    /// Its `data` may be anything; only where resources are wanted.
    Object,
    /// `plaintext`: all that follows is text.
    PlainText,
    /// `style`, `xmp`, `noembed`, `noframes`: text up to their own end tag.
    RawText,
    Script,
    /// Of `audio`, `video` or `picture`; only where resources are wanted.
    Source,
    Svg,
    /// `image`, `feImage`, `use` and `script` of SVG; only where resources are wanted.
    SvgEmbed,
    Template,
    /// Like raw text, but its character references count.
    TextArea,
    Title,
    /// It may have a `poster`; only where resources are wanted.
    Video,
    /// Every other.
    Other,
}

impl Element {
    /// Which element of HTML bears this name.
    ///
    /// `noscript` is absent: a reader that runs no scripts sees its content as markup.
    pub(super) fn of_html(name: &[u8], resources: bool) -> Element {
        match name {
            b"a" => Element::Anchor,
            b"area" => Element::Area,
            b"base" => Element::Base,
            b"frame" => Element::Frame,
            b"iframe" => Element::InlineFrame,
            b"link" => Element::Link,
            b"math" => Element::Math,
            b"meta" => Element::Meta,
            b"plaintext" => Element::PlainText,
            b"style" | b"xmp" | b"noembed" | b"noframes" => Element::RawText,
            b"script" => Element::Script,
            b"svg" => Element::Svg,
            b"template" => Element::Template,
            b"textarea" => Element::TextArea,
            b"title" => Element::Title,
            _ if resources => Element::of_embedding(name),
            _ => Element::Other,
        }
    }

    /// Which element of HTML that only embeds something bears this name.
    fn of_embedding(name: &[u8]) -> Element {
        match name {
            b"img" | b"image" => Element::Image,
            b"source" => Element::Source,
            b"video" => Element::Video,
            b"audio" | b"embed" | b"track" => Element::Embed,
            b"object" => Element::Object,
            b"input" => Element::Input,
            b"body" => Element::Body,
            b"table" | b"td" | b"th" => Element::Background,
            _ => Element::Other,
        }
    }

    /// Which element of SVG bears this name.
    pub(super) fn of_svg(name: &[u8], resources: bool) -> Element {
        match name {
            b"a" => Element::SvgAnchor,
            b"image" | b"feimage" | b"use" | b"script" if resources => Element::SvgEmbed,
            _ => Element::Other,
        }
    }

    /// The attributes worth keeping.
    pub(super) const fn attributes(self, resources: bool) -> AttributeSet {
        use Attribute::{
            Background, Charset, Content, Data, Encoding, Href, HttpEquiv, ImageSrcset, Name, Poster,
            Presentation, Rel, Src, Srcset, Type, XlinkHref,
        };
        match self {
            Element::Link if resources => AttributeSet::of(&[Href, Rel, ImageSrcset]),
            Element::Script if resources => AttributeSet::of(&[Src]),
            Element::Image | Element::Source => AttributeSet::of(&[Src, Srcset]),
            Element::Video => AttributeSet::of(&[Src, Poster]),
            Element::Object => AttributeSet::of(&[Data]),
            Element::Input => AttributeSet::of(&[Src, Type]),
            Element::Background | Element::Body => AttributeSet::of(&[Background]),
            Element::SvgEmbed => AttributeSet::of(&[Href, XlinkHref]),
            Element::Anchor | Element::Area | Element::Link => AttributeSet::of(&[Href, Rel]),
            Element::SvgAnchor => AttributeSet::of(&[Href, XlinkHref, Rel]),
            Element::Base => AttributeSet::of(&[Href]),
            Element::Frame | Element::InlineFrame | Element::Embed => AttributeSet::of(&[Src]),
            Element::Meta => AttributeSet::of(&[Name, Content, HttpEquiv, Charset]),
            Element::Font => AttributeSet::of(&[Presentation]),
            Element::AnnotationXml => AttributeSet::of(&[Encoding]),
            _ => AttributeSet::of(&[]),
        }
    }

    /// Whether its content is text up to its own end tag.
    pub(super) const fn holds_text(self) -> bool {
        matches!(
            self,
            Element::RawText | Element::Script | Element::TextArea | Element::Title | Element::InlineFrame
        )
    }
}

/// Whether a name of HTML that begins with this letter and has this length may be one that matters.
///
/// It says so of a few others too, but is quick: [`Element::of_html`] decides. Where
/// `RESOURCES` are not wanted, elements that only embed something are passed over like any other.
pub(super) const fn may_matter<const RESOURCES: bool>(first: u8, length: usize, is_end: bool) -> bool {
    if RESOURCES && !is_end && length < 16 && embedding_lengths(first | 0x20) >> length & 1 == 1 {
        return true;
    }
    let lengths = match (first | 0x20, is_end) {
        (b'a', false) => 1 << 1 | 1 << 4,
        (b'b' | b'l' | b'm', false) => 1 << 4,
        (b'f', false) => 1 << 5,
        (b'i', false) => 1 << 6,
        (b'n', false) => 1 << 7 | 1 << 8,
        (b'p', false) => 1 << 9,
        (b's', false) => 1 << 3 | 1 << 5 | 1 << 6,
        (b't', _) => 1 << 5 | 1 << 8,
        (b'x', false) => 1 << 3,
        _ => 0,
    };
    length < 16 && lengths >> length & 1 == 1
}

/// The lengths of the names of elements that embed something, by first letter, one bit each.
const fn embedding_lengths(first: u8) -> u16 {
    match first {
        b'a' | b'e' | b'v' => 1 << 5,
        b'b' => 1 << 4,
        b'i' => 1 << 3 | 1 << 5,
        b'o' | b's' => 1 << 6,
        b't' => 1 << 2 | 1 << 5,
        _ => 0,
    }
}

/// White space inside tags; CR stands for the LF that the standard's preprocessing makes of it.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_may_matter() {
        let names = "a area base frame iframe link math meta noembed noframes plaintext script style svg template \
            textarea title xmp";
        for name in names.split_whitespace().map(str::as_bytes) {
            assert_ne!(Element::of_html(name, false), Element::Other);
            for first in [name[0], name[0] & !0x20] {
                assert!(may_matter::<false>(first, name.len(), false));
                assert!(may_matter::<true>(first, name.len(), false));
            }
        }
        assert!(may_matter::<false>(b't', 5, true) && may_matter::<false>(b'T', 8, true));
        for (first, length, is_end) in [(b'd', 3, false), (b's', 4, false), (b'a', 1, true), (b'v', 5, true)]
        {
            assert!(
                !may_matter::<false>(first, length, is_end) && !may_matter::<true>(first, length, is_end)
            );
        }
    }

    #[test]
    fn what_embeds_matters_where_resources_are_wanted() {
        let names = "audio body embed image img input object source table td th track video";
        for name in names.split_whitespace().map(str::as_bytes) {
            assert_eq!(Element::of_html(name, false), Element::Other);
            assert_ne!(Element::of_html(name, true), Element::Other);
            assert!(may_matter::<true>(name[0], name.len(), false));
            assert!(may_matter::<true>(name[0] & !0x20, name.len(), false));
        }
        assert!(!may_matter::<false>(b'i', 3, false) && !may_matter::<false>(b'v', 5, false));
    }
}
