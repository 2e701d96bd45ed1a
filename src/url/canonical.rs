//! From a requested URL to its canonical form.

use ::url::Url;
use encoding_rs::Encoding;

use super::parts::{Parts, Target};
use super::resolve::Resolver;
use super::whatwg::{self, Reject};
use super::{lossy, percent};

/// The lossy rules of the canonical form; each is off unless asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Parameters of the query are compared in the order of their names; those of one name keep theirs.
    pub sort_query: bool,
    /// Names of query parameters that are dropped, decoded, in their own letter case.
    pub strip_params: Vec<String>,
    /// Parameters that only track a click or a campaign are dropped.
    pub strip_tracking: bool,
    /// Session ids in path or query are dropped.
    pub strip_session_ids: bool,
    /// `www.` in front of a host name is dropped.
    pub fold_www: bool,
    /// `http` and `https`, on their default ports, are one; it is spelled
    /// `https`, so that no canonical URL is a step down from a secure one.
    pub fold_https: bool,
    /// A path with and without slashes at its end are one.
    pub strip_trailing_slash: bool,
    /// Fragments tell pages apart (but for text directives, `:~:text=`, which no page gets to see).
    pub keep_fragments: bool,
}

/// Turns spellings of URLs into requests and canonical forms, by the rules of a crawl.
#[derive(Debug, Clone, Default)]
pub struct Canonicalizer {
    rules: Rules,
    /// Some rule changes the origin.
    folds_origin: bool,
    /// Some rule changes path or query.
    edits_path_or_query: bool,
}

impl Canonicalizer {
    /// A canonicalizer with these rules.
    pub fn new(rules: Rules) -> Self {
        Self {
            folds_origin: rules.fold_www || rules.fold_https,
            edits_path_or_query: rules.sort_query
                || !rules.strip_params.is_empty()
                || rules.strip_tracking
                || rules.strip_session_ids
                || rules.strip_trailing_slash,
            rules,
        }
    }

    /// The rules it goes by.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// An absolute URL as someone typed it; blanks around it are ignored.
    pub fn parse(&self, text: &str) -> Result<Target, Reject> {
        self.target(&whatwg::parse(text, None, None)?)
    }

    /// A URL that the `url` crate has parsed already.
    pub fn target(&self, url: &Url) -> Result<Target, Reject> {
        let (mut requested, mut canonical) = (String::new(), String::new());
        let parts = whatwg::write_requested(url, &mut requested)?;
        self.write(&requested, &parts, self.kept_fragment(url), &mut canonical);
        Ok(Target { requested, canonical, parts })
    }

    /// Resolves the references of one page.
    ///
    /// `base` is the URL of the page, or what its `base` element makes of it.
    /// `encoding` is the encoding of the document: queries are sent in it, as
    /// browsers do (WHATWG URL, "percent-encode after encoding"); absent is UTF-8.
    pub fn resolver<'a>(&'a self, base: &'a Url, encoding: Option<&'static Encoding>) -> Resolver<'a> {
        Resolver::new(self, base, encoding)
    }

    /// Fills `out` with the canonical form of a requested URL (which has no fragment).
    pub fn canonicalize(&self, requested: &str, parts: &Parts, out: &mut String) {
        out.clear();
        self.write(requested, parts, None, out);
    }

    /// Whether the canonical form of a URL without `%` and fragment is the URL itself.
    pub(super) fn copies_plain(&self) -> bool {
        !self.folds_origin && !self.edits_path_or_query
    }

    /// The fragment where it counts, as the parser spelled it.
    pub(super) fn kept_fragment<'u>(&self, url: &'u Url) -> Option<&'u str> {
        url.fragment().filter(|_| self.rules.keep_fragments)
    }

    /// Appends the canonical form.
    pub(super) fn write(&self, requested: &str, parts: &Parts, fragment: Option<&str>, out: &mut String) {
        let (origin, rest) = requested.split_at(usize::from(parts.origin_length));
        if self.folds_origin {
            self.write_origin(origin, &requested[parts.host.clone()], out);
        } else {
            out.push_str(origin);
        }
        let path_start = out.len();
        percent::normalize(rest, out);
        if self.edits_path_or_query {
            lossy::edit(&self.rules, out, path_start);
        }
        if let Some(fragment) = fragment {
            write_fragment(fragment, out);
        }
    }

    fn write_origin(&self, origin: &str, host: &str, out: &mut String) {
        let scheme = origin.split(':').next().unwrap_or_default();
        let port = &origin[scheme.len() + "://".len() + host.len()..];
        let secure = self.rules.fold_https && port.is_empty();
        out.push_str(if secure { "https" } else { scheme });
        out.push_str("://");
        out.push_str(if self.rules.fold_www { fold_www(host) } else { host });
        out.push_str(port);
    }
}

/// A host name without `www.` in front, unless a single label would be left.
///
/// ```
/// use dragline::url::fold_www;
/// assert_eq!(fold_www("www.site.test"), "site.test");
/// assert_eq!(fold_www("www.test"), "www.test");
/// ```
pub fn fold_www(host: &str) -> &str {
    let mut folded = host;
    while let Some(rest) = folded.strip_prefix("www.") {
        match rest.split_once('.') {
            Some((label, others)) if !label.is_empty() && !others.is_empty() => folded = rest,
            _ => break,
        }
    }
    folded
}

/// Appends a fragment; one that is empty, but for a directive, is as good as none.
fn write_fragment(fragment: &str, out: &mut String) {
    let end = out.len();
    out.push('#');
    percent::normalize(fragment, out);
    // after decoding, which can bring forth the delimiter
    if let Some(directive) = out[end..].find(":~:") {
        out.truncate(end + directive);
    }
    if out.len() == end + 1 {
        out.truncate(end);
    }
}
