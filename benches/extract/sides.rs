//! The sides: each reads a page and hands out the absolute URL of every link in it.
//!
//! Links are `a`, `area`, `frame`, `iframe` and `link` of a type that leads to a page. All http(s)
//! URLs are told, without their fragments, in any order and as often as they are found.

use crate::pages::Page;
use dragline::extract::{Extracted, PageContext, PageReader, reference};
use dragline::model::Via;
use dragline::url::Canonicalizer;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use lol_html::{ElementContentHandlers, HtmlRewriter, Selector, Settings};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use url::Url;

/// Who is told of each URL.
type Tell<'a> = &'a mut dyn FnMut(&str);

/// Reads a page and tells its URLs.
type Read = Box<dyn FnMut(&Page, Tell<'_>)>;

/// One side.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    pub(crate) is_ours: bool,
    /// It tells what the page embeds, too.
    pub(crate) with_resources: bool,
    pub(crate) read: Read,
}

/// All sides, ours first.
pub(crate) fn all() -> Vec<Side> {
    let ours =
        |name, with_resources| Side { name, is_ours: true, with_resources, read: ours(with_resources) };
    let peer = |name, read| Side { name, is_ours: false, with_resources: false, read };
    vec![
        ours("ours", false),
        ours("ours, with resources", true),
        peer("lol_html", with_lol_html()),
        peer("html5gum", Box::new(with_html5gum)),
        peer("scraper", with_scraper()),
    ]
}

fn context(resources: bool) -> PageContext<'static> {
    PageContext { content_type: Some("text/html; charset=utf-8"), resources, ..PageContext::default() }
}

/// What a document tree built by the standard yields.
pub(crate) fn by_the_standard(page: &Page) -> BTreeSet<String> {
    let extracted = reference::read(&context(false), &page.body, encoding_rs::UTF_8);
    let mut urls = BTreeSet::new();
    resolve(&extracted, page, &Canonicalizer::default(), &mut |url| {
        urls.insert(url.to_owned());
    });
    urls
}

/// As a crawl does it: the canonical form of each URL is made as well, in buffers that are used again.
fn resolve(extracted: &Extracted, page: &Page, canonicalizer: &Canonicalizer, tell: Tell<'_>) {
    let base = extracted.base_url(&page.url);
    let resolver = canonicalizer.resolver(&base, Some(extracted.encoding));
    let (mut requested, mut canonical) = (String::new(), String::new());
    for (one, href) in extracted.links() {
        // the peers are spared refreshes
        if one.via != Via::Refresh && resolver.resolve(href, &mut requested, &mut canonical).is_ok() {
            tell(&requested);
        }
    }
}

fn ours(resources: bool) -> Read {
    let mut reader = PageReader::new(&context(resources));
    let canonicalizer = Canonicalizer::default();
    Box::new(move |page, tell| {
        reader.reset(&context(resources));
        reader.feed(&page.body);
        let extracted = reader.finish();
        resolve(&extracted, page, &canonicalizer, tell);
        reader.recycle(extracted);
    })
}

/// What a peer has gathered from the tags of one page: references, decoded.
#[derive(Default)]
struct Gathered {
    base: Option<String>,
    references: Vec<String>,
}

impl Gathered {
    fn base(&mut self, href: Option<String>) {
        if self.base.is_none() {
            self.base = href;
        }
    }

    fn link(&mut self, href: Option<String>, rel: Option<&str>) {
        let has = |rel: &str, names: &[&str]| {
            rel.split_ascii_whitespace().any(|one| names.iter().any(|name| one.eq_ignore_ascii_case(name)))
        };
        let leads = |rel| has(rel, &["next", "prev", "previous", "alternate"]) && !has(rel, &["stylesheet"]);
        if rel.is_some_and(leads) {
            self.references.extend(href);
        }
    }

    /// Joins every reference, as the `url` crate does it.
    fn join(&self, page: &Url, tell: Tell<'_>) {
        let own = self.base.as_deref().and_then(|base| page.join(base).ok());
        let base =
            own.as_ref().filter(|base| !matches!(base.scheme(), "data" | "javascript")).unwrap_or(page);
        for reference in &self.references {
            let Ok(mut url) = base.join(reference) else { continue };
            if matches!(url.scheme(), "http" | "https") {
                url.set_fragment(None);
                tell(url.as_str());
            }
        }
    }
}

fn with_scraper() -> Read {
    let names = "base[href], a[href], area[href], link[href], frame[src], iframe[src]";
    let selector = scraper::Selector::parse(names).expect("a selector");
    Box::new(move |page, tell| {
        let html = scraper::Html::parse_document(&String::from_utf8_lossy(&page.body));
        let mut gathered = Gathered::default();
        for element in html.select(&selector) {
            let element = element.value();
            let get = |name| element.attr(name).map(str::to_owned);
            match element.name() {
                "base" => gathered.base(get("href")),
                "link" => gathered.link(get("href"), element.attr("rel")),
                "frame" | "iframe" => gathered.references.extend(get("src")),
                _ => gathered.references.extend(get("href")),
            }
        }
        gathered.join(&page.url, tell);
    })
}

/// `lol_html` tells attributes as written: ours decodes them for it, where there is anything to decode.
fn with_lol_html() -> Read {
    let names = "base[href], a[href], area[href], link[href], frame[src], iframe[src]";
    let selector: Selector = names.parse().expect("a selector");
    Box::new(move |page, tell| {
        let mut gathered = Gathered::default();
        let decoded = |value: Option<String>| {
            value.map(|value| if value.contains('&') { reference::decoded(&value) } else { value })
        };
        let handlers = ElementContentHandlers::default().element(
            |element: &mut lol_html::html_content::Element<'_, '_>| {
                match element.tag_name().as_str() {
                    "base" => gathered.base(decoded(element.get_attribute("href"))),
                    "link" => {
                        let rel = element.get_attribute("rel");
                        gathered.link(decoded(element.get_attribute("href")), rel.as_deref());
                    }
                    "frame" | "iframe" => gathered.references.extend(decoded(element.get_attribute("src"))),
                    _ => gathered.references.extend(decoded(element.get_attribute("href"))),
                }
                Ok(())
            },
        );
        let settings = Settings::new().append_element_content_handler((Cow::Borrowed(&selector), handlers));
        let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
        // what it gives up on is told by the comparison of URLs
        let _told_by_comparison = rewriter.write(&page.body).and_then(|()| rewriter.end());
        gathered.join(&page.url, tell);
    })
}

/// Which attributes of the tag at hand are wanted, and what they hold.
#[derive(Default)]
struct Tag {
    name: Name,
    wanted: Option<Wanted>,
    href: Option<String>,
    rel: Option<String>,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Name {
    Link,
    Anchor,
    Base,
    Frame,
    #[default]
    Other,
}

#[derive(Clone, Copy)]
enum Wanted {
    Href,
    Rel,
}

impl Tag {
    fn begin(&mut self, name: &[u8]) {
        let name = match name {
            b"a" | b"area" => Name::Anchor,
            b"base" => Name::Base,
            b"link" => Name::Link,
            b"frame" | b"iframe" => Name::Frame,
            _ => Name::Other,
        };
        *self = Tag { name, ..Tag::default() };
    }

    fn attribute(&mut self, name: &[u8]) {
        self.wanted = match (self.name, name) {
            (Name::Frame, b"src") | (Name::Anchor | Name::Base | Name::Link, b"href") => Some(Wanted::Href),
            (Name::Link, b"rel") => Some(Wanted::Rel),
            _ => None,
        };
        // an empty value is not told of by itself
        self.value(b"");
    }

    fn value(&mut self, value: &[u8]) {
        let place = match self.wanted {
            Some(Wanted::Href) => &mut self.href,
            Some(Wanted::Rel) => &mut self.rel,
            None => return,
        };
        *place = Some(String::from_utf8_lossy(value).into_owned());
    }

    fn end(&mut self, gathered: &mut Gathered) {
        match self.name {
            Name::Base => gathered.base(self.href.take()),
            Name::Link => gathered.link(self.href.take(), self.rel.as_deref()),
            Name::Anchor | Name::Frame => gathered.references.extend(self.href.take()),
            Name::Other => {}
        }
        self.name = Name::Other;
    }
}

fn with_html5gum(page: &Page, tell: Tell<'_>) {
    let mut gathered = Gathered::default();
    let mut tag = Tag::default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        match event {
            CallbackEvent::OpenStartTag { name } => tag.begin(name),
            CallbackEvent::AttributeName { name } => tag.attribute(name),
            CallbackEvent::AttributeValue { value } => tag.value(value),
            CallbackEvent::CloseStartTag { .. } => tag.end(&mut gathered),
            _ => {}
        }
        None
    });
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(page.body.as_slice(), emitter).for_each(drop);
    gathered.join(&page.url, tell);
}
