//! The reference reader: the same answers from a whole document tree, for tests and benches only.
//!
//! It stands on `scraper`, whose tree `html5ever` builds as the HTML standard says.
//! Slow, unbounded and simple; what it and [`PageReader`](super::PageReader) say must
//! agree. The charset is told to it: only tags are compared.

use super::character_references::{Place, decode_into};
use super::directives::{Directives, has_token};
use super::links::Links;
use super::{Extracted, PageContext, collect, mime, refresh, srcset};
use crate::model::Via;
use encoding_rs::Encoding;
use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{QualName, ns};
use scraper::node::Element;
use scraper::{Html, HtmlTreeSink, Node};

/// Reads a whole body.
pub fn read(context: &PageContext<'_>, body: &[u8], encoding: &'static Encoding) -> Extracted {
    let mut page = Page::new(context, encoding);
    if mime::is_html(context.content_type, body) {
        let (text, _, _) = encoding.decode(body);
        page.extracted.is_html = true;
        page.read(&parse(&text));
    }
    page.finish()
}

/// The targets of `a` elements inside of `template`, which are no links of the page.
///
/// Where a `template` ends with an `object` or a table cell open in it, the standard makes
/// a copy of an `a` outside; the streaming reader does not.
pub fn inert_targets(text: &str) -> Vec<String> {
    let html = parse(text);
    let inert =
        html.tree.nodes().filter(|node| node.ancestors().any(|one| matches!(one.value(), Node::Fragment)));
    inert.filter_map(|node| node.value().as_element()?.attr("href").map(str::to_owned)).collect()
}

/// An attribute's value with its character references decoded, for readers that leave that to others.
pub fn decoded(value: &str) -> String {
    let mut decoded = String::with_capacity(value.len());
    decode_into(value.as_bytes(), Place::Attribute, &mut decoded);
    decoded
}

/// The document's tree, as a browser without scripting builds it.
fn parse(text: &str) -> Html {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    parse_document(HtmlTreeSink::new(Html::new_document()), options).one(text)
}

struct Page<'a> {
    agent: &'a str,
    resources: bool,
    directives: Directives,
    links: Links,
    extracted: Extracted,
}

impl<'a> Page<'a> {
    fn new(context: &PageContext<'a>, encoding: &'static Encoding) -> Page<'a> {
        let mut links = Links::default();
        links.reset(context.limits, context.keep_fragments);
        let mut directives = Directives::default();
        for value in context.x_robots_tag {
            directives.add_header(value, context.robots_agent);
        }
        let extracted = Extracted {
            is_html: false,
            encoding,
            references: Vec::new(),
            text: String::new(),
            base: None,
            title: None,
            rel_canonical: None,
            page_nofollow: None,
            links_dropped: 0,
            repeated_references: 0,
        };
        Page { agent: context.robots_agent, resources: context.resources, directives, links, extracted }
    }

    /// Every element that is part of the document, in the order in which they were made.
    fn read(&mut self, html: &Html) {
        for node in html.tree.nodes() {
            let Node::Element(element) = node.value() else {
                continue;
            };
            let is_wanted = matters(element) || (self.resources && embeds(element));
            if !is_wanted {
                continue;
            }
            let is_part = node.ancestors().all(|one| !matches!(one.value(), Node::Fragment))
                && node.ancestors().last().is_some_and(|one| matches!(one.value(), Node::Document));
            if !is_part {
                continue;
            }
            if element.name() == "title" && self.extracted.title.is_none() {
                let text: String =
                    node.children().filter_map(|child| Some(&**child.value().as_text()?)).collect();
                self.extracted.title = Some(text);
            }
            self.element(element);
        }
    }

    fn element(&mut self, element: &Element) {
        let is_svg = element.name.ns == ns!(svg);
        if embeds(element) {
            self.embedding(element);
            return;
        }
        let rel = element.attr("rel").unwrap_or_default();
        let nofollow = has_token(rel.as_bytes(), b"nofollow");
        match element.name() {
            "a" | "area" => {
                let fallback = if is_svg { xlink_href(element) } else { None };
                self.link(element.attr("href").or(fallback), Via::Link, nofollow);
            }
            "frame" | "iframe" => self.link(element.attr("src"), Via::Frame, false),
            "base" if self.extracted.base.is_none() => {
                self.extracted.base = element.attr("href").map(str::to_owned);
            }
            "link" => {
                if self.extracted.rel_canonical.is_none() && has_token(rel.as_bytes(), b"canonical") {
                    self.extracted.rel_canonical = element.attr("href").map(str::to_owned);
                }
                if collect::leads_to_page(rel.as_bytes()) {
                    self.link(element.attr("href"), Via::Rel, nofollow);
                } else if self.resources && collect::leads_to_resource(rel.as_bytes()) {
                    self.link(element.attr("href"), Via::Resource, false);
                    self.candidates(element.attr("imagesrcset"));
                }
            }
            "meta" => self.meta(element),
            _ => {}
        }
    }

    fn embedding(&mut self, element: &Element) {
        let mut resource = |name: &str| self.link(element.attr(name), Via::Resource, false);
        match element.name() {
            "object" => resource("data"),
            "body" | "table" | "td" | "th" => resource("background"),
            "video" => ["src", "poster"].into_iter().for_each(resource),
            "img" | "source" => {
                resource("src");
                self.candidates(element.attr("srcset"));
            }
            "input" if element.attr("type").is_none_or(|kind| !kind.eq_ignore_ascii_case("image")) => {}
            _ if element.name.ns == ns!(svg) => {
                self.link(element.attr("href").or(xlink_href(element)), Via::Resource, false);
            }
            _ => resource("src"),
        }
    }

    fn candidates(&mut self, list: Option<&str>) {
        srcset::urls(list.unwrap_or_default()).for_each(|url| self.link(Some(url), Via::Resource, false));
    }

    fn meta(&mut self, element: &Element) {
        let Some(content) = element.attr("content") else {
            return;
        };
        if element.attr("http-equiv").is_some_and(|pragma| pragma.eq_ignore_ascii_case("refresh")) {
            self.link(refresh::target(content), Via::Refresh, false);
        }
        if let Some(name) = element.attr("name") {
            self.directives.add_meta(name, content, self.agent);
        }
    }

    fn link(&mut self, target: Option<&str>, via: Via, nofollow: bool) {
        if let Some(target) = target {
            self.links.add_decoded(target, via, nofollow);
        }
    }

    fn finish(self) -> Extracted {
        Extracted {
            title: self.extracted.title.as_deref().and_then(collect::collapsed_title),
            references: self.links.references,
            text: self.links.text,
            page_nofollow: self.directives.nofollow,
            links_dropped: self.links.dropped,
            repeated_references: self.links.repeated,
            ..self.extracted
        }
    }
}

/// Whether it is an element of HTML (or `a` of SVG) that anything is read from.
fn matters(element: &Element) -> bool {
    let name = element.name();
    let is_html = element.name.ns == ns!(html);
    (is_html && matches!(name, "a" | "area" | "frame" | "iframe" | "base" | "link" | "meta" | "title"))
        || (element.name.ns == ns!(svg) && name == "a")
}

/// Whether it is an element that is there to embed something.
fn embeds(element: &Element) -> bool {
    let name = element.name();
    let of_html = "audio body embed img input object script source table td th track video";
    let of_svg = "image feImage use script";
    let names = match () {
        () if element.name.ns == ns!(html) => of_html,
        () if element.name.ns == ns!(svg) => of_svg,
        () => return false,
    };
    names.split(' ').any(|one| one == name)
}

fn xlink_href(element: &Element) -> Option<&str> {
    let is_xlink_href = |name: &QualName| name.ns == ns!(xlink) && &*name.local == "href";
    element.attrs.iter().find(|(name, _)| is_xlink_href(name)).map(|(_, value)| &**value)
}
