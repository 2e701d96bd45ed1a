//! SVG and MathML inside HTML: whether a tag is HTML's or theirs.
//!
//! It matters because `title`, `style` and `script` hold markup there, `/>` closes,
//! CDATA sections exist, and neither `base` nor `iframe` does anything.
//! Source: HTML standard 13.2.6 (dispatcher) and 13.2.6.5 (foreign content).
//!
//! The standard asks the whole stack of open elements. Here the stack begins at the
//! outermost `svg` or `math` and has a limit, so two things are guessed, and counted:
//! an end tag that nothing inside fits is taken to close something outside, and HTML
//! within an integration point (`foreignObject` and the like) nests as its tags say.

use super::attributes::{Attribute, Attributes};
use super::names::{Element, NameBuffer};

/// Elements followed at most; what nests deeper is read as plain HTML.
const MAX_DEPTH: usize = 256;

/// Start tags that end foreign content wherever they come.
#[rustfmt::skip]
const BREAKING_OUT: [&str; 44] = [
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em",
    "embed", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu",
    "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub",
    "sup", "table", "tt", "u", "ul", "var",
];

/// Elements of HTML without content.
#[rustfmt::skip]
const VOID: [&str; 19] = [
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img",
    "input", "keygen", "link", "meta", "param", "source", "track", "wbr",
];

/// What an open element means for the tags inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    /// `foreignObject`, `desc`, `title`: HTML inside.
    SvgIntegration,
    Math,
    /// `mi`, `mo`, `mn`, `ms`, `mtext`: HTML inside, with two exceptions.
    MathText,
    /// `annotation-xml`: only `svg` is let in.
    Annotation,
    /// `annotation-xml` that says it holds HTML.
    AnnotationHtml,
    Html,
    Template,
}

impl Kind {
    fn is_html(self) -> bool {
        matches!(self, Kind::Html | Kind::Template)
    }

    /// A foreign element with HTML inside.
    fn is_integration(self) -> bool {
        matches!(self, Kind::SvgIntegration | Kind::MathText | Kind::AnnotationHtml)
    }

    /// Whether a start tag of this name is foreign in it.
    fn takes_foreign(self, name: &[u8]) -> bool {
        match self {
            Kind::Svg | Kind::Math => true,
            Kind::Annotation => name != b"svg",
            Kind::MathText => matches!(name, b"mglyph" | b"malignmark"),
            Kind::SvgIntegration | Kind::AnnotationHtml | Kind::Html | Kind::Template => false,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Open {
    name: u64,
    kind: Kind,
}

/// The open elements from the outermost `svg` or `math` on.
#[derive(Debug, Clone, Default)]
pub(super) struct ForeignContent {
    open: Vec<Open>,
    /// The tag at hand is a foreign element's.
    tag_is_foreign: bool,
    guesses: u32,
}

impl ForeignContent {
    pub(super) fn reset(&mut self) {
        self.open.clear();
        self.tag_is_foreign = false;
        self.guesses = 0;
    }

    #[cfg(test)]
    pub(super) fn guesses(&self) -> u32 {
        self.guesses
    }

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the innermost element is one of SVG or MathML.
    pub(super) fn is_current(&self) -> bool {
        self.open.last().is_some_and(|inner| !inner.kind.is_html())
    }

    /// Whether `/>` closes the element of the tag at hand.
    pub(super) fn takes_self_closing(&self, element: Element) -> bool {
        self.open.is_empty() || self.tag_is_foreign || matches!(element, Element::Svg | Element::Math)
    }

    /// What a start tag of this name is here; one that ends foreign content does so.
    pub(super) fn element_of(&mut self, name: &NameBuffer, resources: bool) -> Element {
        let name = name.known();
        self.tag_is_foreign = self.open.last().is_some_and(|inner| inner.kind.takes_foreign(name));
        if self.tag_is_foreign && is_one_of(name, &BREAKING_OUT) {
            self.leave();
        }
        if !self.tag_is_foreign {
            return Element::of_html(name, resources);
        }
        match (self.namespace(), name) {
            (_, b"font") => Element::Font,
            (_, b"annotation-xml") => Element::AnnotationXml,
            (Kind::Svg, name) => Element::of_svg(name, resources),
            _ => Element::Other,
        }
    }

    /// Closes foreign elements up to the next HTML around or inside them.
    fn leave(&mut self) {
        self.tag_is_foreign = false;
        while self.open.last().is_some_and(|inner| !inner.kind.is_html() && !inner.kind.is_integration()) {
            self.open.pop();
        }
    }

    /// The namespace of the innermost element, told by its plain kind.
    fn namespace(&self) -> Kind {
        match self.open.last().map(|inner| inner.kind) {
            Some(Kind::Svg | Kind::SvgIntegration) => Kind::Svg,
            Some(Kind::Math | Kind::MathText | Kind::Annotation | Kind::AnnotationHtml) => Kind::Math,
            _ => Kind::Html,
        }
    }

    /// A start tag has ended; `closed` where it stands for the end tag as well.
    pub(super) fn open_element(
        &mut self,
        name: &NameBuffer,
        element: Element,
        attributes: &Attributes,
        closed: bool,
    ) {
        if element == Element::Font && attributes.has(Attribute::Presentation) {
            self.leave();
        }
        if closed {
            return;
        }
        let is_foreign = self.tag_is_foreign && self.is_open();
        let kind = match (element, self.namespace()) {
            (Element::Svg, _) => Kind::Svg,
            (Element::Math, _) => Kind::Math,
            (_, namespace) if is_foreign => foreign_kind(name.known(), namespace, attributes),
            _ => {
                self.open_html(name, element);
                return;
            }
        };
        self.push(name, kind);
    }

    fn open_html(&mut self, name: &NameBuffer, element: Element) {
        if self.open.is_empty() || is_one_of(name.known(), &VOID) {
            return;
        }
        self.guesses += 1;
        self.push(name, if element == Element::Template { Kind::Template } else { Kind::Html });
    }

    fn push(&mut self, name: &NameBuffer, kind: Kind) {
        if self.open.len() < MAX_DEPTH {
            self.open.push(Open { name: name.identity(), kind });
        } else {
            self.guesses += 1;
            self.open.clear();
        }
    }

    /// An end tag; returns whether it is one that may close a `template` of HTML.
    pub(super) fn close_element(&mut self, name: &NameBuffer, in_template: bool) -> bool {
        let identity = name.identity();
        if self.is_current() {
            if matches!(name.known(), b"br" | b"p") {
                self.leave();
            } else if let Some(depth) = self.foreign_match(identity) {
                self.open.truncate(depth);
                return false;
            }
        }
        if name.known() == b"template" {
            self.close_template(in_template);
        } else {
            self.close_html(name.known(), identity);
        }
        true
    }

    /// The innermost element of this name with only foreign ones above it.
    fn foreign_match(&self, identity: u64) -> Option<usize> {
        let foreign = self.open.iter().rev().take_while(|one| !one.kind.is_html());
        foreign.zip((0..self.open.len()).rev()).find(|(one, _)| one.name == identity).map(|(_, depth)| depth)
    }

    fn close_template(&mut self, in_template: bool) {
        match self.open.iter().rposition(|one| one.kind == Kind::Template) {
            Some(depth) => self.open.truncate(depth),
            None if in_template => self.open.clear(),
            None => {}
        }
    }

    fn close_html(&mut self, name: &[u8], identity: u64) {
        for depth in (0..self.open.len()).rev() {
            let one = self.open[depth];
            if one.kind == Kind::Html && one.name == identity {
                self.open.truncate(depth);
                return;
            }
            if one.kind == Kind::Template {
                return;
            }
            if one.kind.is_integration() {
                // the standard stops here; html5ever, which the tests compare with, looks on
                self.guesses += 1;
                return;
            }
        }
        if self.is_open() && !matches!(name, b"body" | b"html") {
            self.guesses += 1;
            self.open.clear();
        }
    }
}

/// What a foreign element of this name is.
fn foreign_kind(name: &[u8], namespace: Kind, attributes: &Attributes) -> Kind {
    match (namespace, name) {
        (Kind::Svg, b"foreignobject" | b"desc" | b"title") => Kind::SvgIntegration,
        (Kind::Math, b"mi" | b"mo" | b"mn" | b"ms" | b"mtext") => Kind::MathText,
        (Kind::Math, b"annotation-xml") => {
            let encoding = attributes.get(Attribute::Encoding).unwrap_or_default();
            let is_html = encoding.eq_ignore_ascii_case(b"text/html")
                || encoding.eq_ignore_ascii_case(b"application/xhtml+xml");
            if is_html { Kind::AnnotationHtml } else { Kind::Annotation }
        }
        (namespace, _) => namespace,
    }
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|one| one.as_bytes() == name)
}
