//! What the readers must find, and that both find the same.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod agreement;
mod cases;
mod charsets;
mod encodings;
mod limits;
mod mime_types;
mod reports;
mod resources;
mod soup;
mod units;

use super::*;
use crate::model::Via;
use ::url::Url;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A context as the tests mean it: HTML, robots named dragline.
fn context(content_type: Option<&str>) -> PageContext<'_> {
    PageContext { content_type, robots_agent: "dragline", ..PageContext::default() }
}

fn utf8_html() -> PageContext<'static> {
    context(Some("text/html; charset=utf-8"))
}

/// The same, for a crawl that wants what pages embed.
fn with_resources(context: PageContext<'_>) -> PageContext<'_> {
    PageContext { resources: true, ..context }
}

/// Reads a body fed in pieces of at most `size` bytes.
fn read_in_pieces(context: &PageContext<'_>, body: &[u8], size: usize) -> Extracted {
    let mut reader = PageReader::new(context);
    body.chunks(size).for_each(|piece| reader.feed(piece));
    reader.finish()
}

fn read(context: &PageContext<'_>, body: &[u8]) -> Extracted {
    read_in_pieces(context, body, usize::MAX)
}

/// The texts of all links of an HTML page in UTF-8.
fn texts(html: &str) -> Vec<String> {
    read(&utf8_html(), html.as_bytes()).links().map(|(_, text)| text.to_owned()).collect()
}

/// How a query's characters become bytes.
fn encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |text| encoding.output_encoding().encode(text).0
}

/// What a page refers to by http(s), other than itself, as the engine would resolve it.
#[derive(Debug, Default, PartialEq)]
struct Resolved {
    follow: BTreeSet<String>,
    nofollow: BTreeSet<String>,
    resources: BTreeSet<String>,
}

fn resolved(page: &Extracted, page_url: &str) -> Resolved {
    let page_url = Url::parse(page_url).unwrap();
    let base = page.base_url(&page_url);
    let encode = encoder(page.encoding);
    let options = Url::options().base_url(Some(&base)).encoding_override(Some(&encode));
    let mut found = Resolved::default();
    for (reference, text) in page.links() {
        let Ok(mut url) = options.parse(text) else {
            continue;
        };
        url.set_fragment(None);
        if matches!(url.scheme(), "http" | "https") && url != page_url {
            let set = match () {
                () if reference.via == Via::Resource => &mut found.resources,
                () if reference.nofollow || page.page_nofollow.is_some() => &mut found.nofollow,
                () => &mut found.follow,
            };
            set.insert(url.to_string());
        }
    }
    found
}

/// All that both readers must agree in; links as a set, since a tree may clone and move elements.
#[derive(Debug, PartialEq)]
struct Comparable<'a> {
    links: BTreeSet<(&'a str, String, bool)>,
    base: Option<&'a str>,
    title: Option<&'a str>,
    rel_canonical: Option<&'a str>,
    page_nofollow: Option<Nofollow>,
}

fn comparable(page: &Extracted) -> Comparable<'_> {
    Comparable {
        links: page.links().map(|(one, text)| (text, format!("{:?}", one.via), one.nofollow)).collect(),
        base: page.base.as_deref(),
        title: page.title.as_deref(),
        rel_canonical: page.rel_canonical.as_deref(),
        page_nofollow: page.page_nofollow,
    }
}
