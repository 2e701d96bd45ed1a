//! From tags and text to entries: sitemaps, their indexes, RSS and Atom.
//!
//! An element counts by its name, its place and its namespace, which must be that of the root or
//! none: so the URLs of images, videos and other extensions are not taken for pages, and a root whose
//! namespace is misspelled is read all the same.

use super::elements::{Closed, Elements};
use super::markup::{Events, attributes};
use super::namespaces::{Namespace, Namespaces};
use super::{Form, Found, LONGEST, references};
use crate::config::date;

/// The namespace of items in RSS 1.0, whose root is of RDF.
const RSS_1: &str = "http://purl.org/rss/1.0/";

/// The part of an entry that text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Url,
    Modified,
}

/// An entry that is open: its depth, and whether it names a sitemap.
#[derive(Debug, Clone, Copy)]
struct Open {
    depth: u64,
    is_sitemap: bool,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Document {
    elements: Elements,
    namespaces: Namespaces,
    /// The namespace of the elements that count.
    home: Namespace,
    /// What the root that is open is.
    root: Option<Form>,
    /// What the first root that is known was.
    form: Option<Form>,
    entry: Option<Open>,
    field: Option<(Field, u64)>,
    /// The field's text so far: as written and not yet decoded, and decoded.
    raw: String,
    value: String,
    /// Whether the field's text is what it seems.
    sound: bool,
    /// What is known of the entry; its URL is empty as long as there is none.
    url: String,
    url_is_sound: bool,
    modified: Option<i64>,
    broken: bool,
    pub(super) found: Found,
}

impl Document {
    pub(super) fn new() -> Self {
        Self {
            elements: Elements::default(),
            namespaces: Namespaces::default(),
            home: Namespace::NONE,
            root: None,
            form: None,
            entry: None,
            field: None,
            raw: String::new(),
            value: String::new(),
            sound: true,
            url: String::new(),
            url_is_sound: true,
            modified: None,
            broken: false,
            found: Found::default(),
        }
    }

    /// What it is, where that was told.
    pub(super) fn form(&self) -> Option<Form> {
        self.form
    }

    /// No more will come: whether it ended, and was well-formed as far as that was looked at.
    pub(super) fn finish(&mut self) -> bool {
        self.field = None;
        self.end_entry();
        !self.broken && self.elements.depth() == 0
    }

    pub(super) fn held_bytes(&self) -> usize {
        let texts = self.raw.capacity() + self.value.capacity() + self.url.capacity();
        texts + self.elements.held_bytes() + self.namespaces.held_bytes() + self.found.held_bytes()
    }

    fn begin(&mut self, namespace: Namespace, name: &str) {
        self.home = namespace;
        self.root = match name {
            "urlset" => Some(Form::Pages),
            "sitemapindex" => Some(Form::Index),
            "rss" | "feed" => Some(Form::Feed),
            "RDF" => {
                self.home = Namespace::named(RSS_1);
                Some(Form::Feed)
            }
            _ => None,
        };
        self.form = self.form.or(self.root);
    }

    fn element(&mut self, root: Form, name: &str, depth: u64, attributes: &str) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let of_entry = self.entry.is_some_and(|entry| entry.depth + 1 == depth);
        let field = match root {
            Form::Feed if is("link") => Some(Field::Url),
            Form::Feed if is("pubDate") || is("updated") => Some(Field::Modified),
            Form::Feed => None,
            _ if is("loc") => Some(Field::Url),
            _ if is("lastmod") => Some(Field::Modified),
            _ => None,
        };
        let is_entry = match root {
            Form::Feed => is("item") || is("entry"),
            _ => is("url") || is("sitemap"),
        };
        match field {
            Some(Field::Url) if of_entry && self.took_href(root, attributes) => {}
            Some(field) if of_entry => {
                self.field = Some((field, depth));
                self.sound = true;
            }
            None if is_entry => {
                // one that lacks its end tag ends where the next begins
                self.broken |= self.entry.is_some();
                self.end_entry();
                self.entry = Some(Open { depth, is_sitemap: is("sitemap") });
            }
            _ => {}
        }
    }

    /// Whether a link has its URL in an attribute, as Atom has it (RFC 4287 section 4.2.7). Of
    /// several the first to a page of its own is taken.
    fn took_href(&mut self, root: Form, text: &str) -> bool {
        let value = |name| attributes(text).find(|(given, _)| *given == name).map(|(_, value)| value);
        let Some(href) = value("href").filter(|_| root == Form::Feed) else { return false };
        if self.url.is_empty() && value("rel").is_none_or(|rel| rel.trim() == "alternate") {
            self.value.clear();
            self.url_is_sound = href.len() <= LONGEST && references::decode(href, &mut self.value);
            self.url.push_str(self.value.trim());
            self.value.clear();
        }
        true
    }

    fn add(&mut self, piece: &str, literal: bool) {
        if self.raw.len() + self.value.len() + piece.len() > LONGEST {
            self.sound = false;
        } else if literal {
            self.decode_raw();
            self.value.push_str(piece);
        } else {
            self.raw.push_str(piece);
        }
    }

    fn decode_raw(&mut self) {
        self.sound &= references::decode(&self.raw, &mut self.value);
        self.raw.clear();
    }

    fn end_field(&mut self, field: Field) {
        self.decode_raw();
        if !self.value.trim().is_empty() {
            match field {
                Field::Url => {
                    // an entry has one; where there are more, none is lost
                    self.push();
                    self.url.push_str(self.value.trim());
                    self.url_is_sound = self.sound;
                }
                Field::Modified => {
                    self.modified = date::moments(&self.value).map(|moments| *moments.end());
                }
            }
        }
        self.value.clear();
    }

    fn end_entry(&mut self) {
        self.push();
        self.entry = None;
        self.modified = None;
    }

    /// Gives out what is known of the entry, if that is enough.
    fn push(&mut self) {
        if let Some(entry) = self.entry
            && !self.url.is_empty()
        {
            self.found.push(&self.url, self.url_is_sound, entry.is_sitemap, self.modified);
        }
        self.url.clear();
    }
}

impl Events for Document {
    fn open(&mut self, name: &str, text: &str, empty: bool) {
        let depth = self.elements.depth() + 1;
        if !text.is_empty() {
            for (attribute, value) in attributes(text) {
                self.namespaces.declare(depth, attribute, value);
            }
        }
        let (namespace, local) = self.namespaces.of(name);
        if depth == 1 {
            self.begin(namespace, local);
        }
        let counts = namespace == self.home || namespace == Namespace::NONE;
        if self.field.is_some() {
            self.sound = false;
        } else if let Some(root) = self.root.filter(|_| counts) {
            self.element(root, local, depth, text);
        }
        self.elements.open(name);
        if empty {
            self.close(name);
        }
    }

    fn close(&mut self, name: &str) {
        let closed = self.elements.close(name);
        self.broken |= closed != Closed::Innermost;
        let depth = self.elements.depth();
        if let Some((field, of_field)) = self.field
            && of_field > depth
        {
            self.field = None;
            self.end_field(field);
        }
        if self.entry.is_some_and(|entry| entry.depth > depth) {
            self.end_entry();
        }
        self.namespaces.leave(depth + 1);
    }

    fn text(&mut self, piece: &str, literal: bool) {
        if self.field.is_some() {
            self.add(piece, literal);
        }
    }
}
