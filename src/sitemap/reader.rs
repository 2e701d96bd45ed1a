//! The reader: decides what a body is, and pushes it through.

use super::decode::TextDecoder;
use super::document::Document;
use super::lines::Lines;
use super::markup::Lexer;
use super::{Entry, Form};

/// What reading a sitemap came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// What it is; none where it is no sitemap.
    pub form: Option<Form>,
    /// Whether it broke off, or was not well-formed; and that it is no sitemap at all.
    pub broken: bool,
    /// Entries given out.
    pub entries: u64,
}

/// Reads one sitemap as it arrives.
///
/// ```
/// use dragline::sitemap::SitemapReader;
///
/// let mut reader = SitemapReader::new(Some("application/xml"));
/// reader.feed(b"<urlset><url><loc>http://a.test/?x=1&amp;y=2</loc></url><url><loc>http://b.test");
/// let urls: Vec<String> = reader.entries().map(|entry| entry.url.to_owned()).collect();
/// assert_eq!(urls, ["http://a.test/?x=1&y=2"]);
/// reader.clear();
/// assert!(reader.finish().broken);
/// ```
pub struct SitemapReader {
    decoder: TextDecoder,
    body: Body,
    /// Whether the end was told.
    finished: bool,
}

/// What a body is.
enum Body {
    /// Nothing but white space came so far.
    Unknown,
    Markup(Lexer, Box<Document>),
    Lines(Lines),
}

impl SitemapReader {
    /// For a body whose `Content-Type` is this; only its charset counts.
    pub fn new(content_type: Option<&str>) -> Self {
        Self { decoder: TextDecoder::new(content_type), body: Body::Unknown, finished: false }
    }

    /// Takes in some more, not coded any more. The entries that it completes wait to be taken, so
    /// that memory is bounded by the length of `bytes` and a quarter of a MiB.
    pub fn feed(&mut self, bytes: &[u8]) {
        let body = &mut self.body;
        self.decoder.feed(bytes, false, |text| body.feed(text));
    }

    /// The entries that wait, in their order.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let found = match &self.body {
            Body::Unknown => None,
            Body::Markup(_, document) => Some(&document.found),
            Body::Lines(lines) => Some(&lines.found),
        };
        found.into_iter().flat_map(super::Found::entries)
    }

    /// Lets go of the entries that wait.
    pub fn clear(&mut self) {
        match &mut self.body {
            Body::Unknown => {}
            Body::Markup(_, document) => document.found.clear(),
            Body::Lines(lines) => lines.found.clear(),
        }
    }

    /// No more will come; entries that this completes wait to be taken.
    pub fn finish(&mut self) -> Report {
        if !std::mem::replace(&mut self.finished, true) {
            let body = &mut self.body;
            self.decoder.feed(&[], true, |text| body.feed(text));
        }
        match &mut self.body {
            Body::Unknown => Report { form: None, broken: true, entries: 0 },
            Body::Markup(lexer, document) => {
                let whole = document.finish() && lexer.is_between() && !lexer.is_broken();
                let form = document.form();
                Report { form, broken: !whole || form.is_none(), entries: document.found.count }
            }
            Body::Lines(lines) => {
                lines.finish();
                let entries = lines.found.count;
                let form = (entries > 0).then_some(Form::Text);
                Report { form, broken: form.is_none(), entries }
            }
        }
    }

    /// Bytes of memory that it holds beyond its own size.
    pub fn held_bytes(&self) -> usize {
        let of_body = match &self.body {
            Body::Unknown => 0,
            Body::Markup(lexer, document) => lexer.held_bytes() + document.held_bytes(),
            Body::Lines(lines) => lines.held_bytes(),
        };
        self.decoder.held_bytes() + of_body
    }
}

impl Body {
    fn feed(&mut self, text: &str) {
        if matches!(self, Body::Unknown) {
            *self = match text.trim_start().chars().next() {
                None => return,
                Some('<') => Body::Markup(Lexer::new(), Box::new(Document::new())),
                Some(_) => Body::Lines(Lines::default()),
            };
        }
        match self {
            Body::Unknown => {}
            Body::Markup(lexer, document) => lexer.feed(text, document.as_mut()),
            Body::Lines(lines) => lines.feed(text),
        }
    }
}
