//! What the seeds span: pages, directories, hosts or domains, as fingerprints.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::config::ScopeKind;
use crate::model::KeyHash;
use crate::store::{Decoder, Encoder, Malformed};
use crate::url::{Canonicalizer, Parts, Rules, fold_www};

/// The registrable domain of a host name, by the public suffix list with its
/// private part (`a.github.io` and `b.github.io` are two). Address literals,
/// single labels and public suffixes themselves have none. A dot at the end
/// is no part of it.
///
/// ```
/// use dragline::scope::registrable_domain;
/// assert_eq!(registrable_domain("www.example.co.uk"), Some("example.co.uk"));
/// assert_eq!(registrable_domain("co.uk"), None);
/// assert_eq!(registrable_domain("127.0.0.1"), None);
/// ```
pub fn registrable_domain(host: &str) -> Option<&str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() {
        return None;
    }
    psl::domain_str(host)
}

/// The set of what the seeds span, in the terms of one kind of scope.
#[derive(Debug)]
pub(super) struct Span {
    kind: ScopeKind,
    folds_www: bool,
    /// The crawl's own rules for pages; for directories those that merge nothing,
    /// since a path without its last slash would be in another directory.
    canonicalizer: Canonicalizer,
    members: HashSet<u64, KeyHash>,
    seed: u64,
    /// What the first seed spans, in words.
    example: Box<str>,
}

impl Span {
    pub(super) fn new(kind: ScopeKind, rules: Rules) -> Self {
        Self {
            kind,
            folds_www: rules.fold_www,
            canonicalizer: Canonicalizer::new(match kind {
                ScopeKind::Page => rules,
                _ => Rules::default(),
            }),
            members: HashSet::default(),
            seed: RandomState::new().hash_one(kind as u8),
            example: Box::default(),
        }
    }

    pub(super) fn kind(&self) -> ScopeKind {
        self.kind
    }

    /// Adds what a seed spans.
    pub(super) fn add(&mut self, requested: &str, parts: &Parts) {
        let member = match self.kind {
            ScopeKind::Any => return,
            ScopeKind::Page => self.page(requested, parts),
            ScopeKind::Host => self.host(requested, parts),
            ScopeKind::Domain => self.domain(requested, parts),
            ScopeKind::Prefix => {
                let mut deepest = 0;
                self.any_directory(requested, parts, |directory| {
                    deepest = directory;
                    false
                });
                deepest
            }
        };
        if self.members.is_empty() {
            self.example = self.in_words(requested, parts).into();
        }
        self.members.insert(member);
    }

    /// What a seed spans, as a person knows it.
    fn in_words<'u>(&self, requested: &'u str, parts: &Parts) -> &'u str {
        let host = &requested[parts.host.clone()];
        match self.kind {
            ScopeKind::Host => host,
            ScopeKind::Domain => registrable_domain(rootless(host)).unwrap_or(host),
            ScopeKind::Page | ScopeKind::Any => requested,
            ScopeKind::Prefix => {
                let path = requested.split('?').next().unwrap_or_default();
                path.rfind('/').map_or(path, |end| &path[..=end])
            }
        }
    }

    /// What all seeds span, by the example of the first.
    pub(super) fn told(&self) -> String {
        let (name, what) = match self.kind {
            ScopeKind::Page => ("page", "seeds"),
            ScopeKind::Prefix => ("prefix", "directories of seeds"),
            ScopeKind::Host => ("host", "hosts of seeds"),
            ScopeKind::Domain => ("domain", "domains of seeds"),
            ScopeKind::Any => ("any", "seeds"),
        };
        let example = &self.example;
        match self.members.len() {
            0 | 1 => format!("--scope {name}: only {example}"),
            all => format!("--scope {name}: only the {all} {what}, {example} and others"),
        }
    }

    /// Appends what it holds, for [`restore`](Self::restore).
    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.key(self.seed);
        encoder.text(&self.example);
        encoder.number(self.members.len() as u64);
        for member in &self.members {
            encoder.key(*member);
        }
    }

    /// Takes over what another process held.
    pub(super) fn restore(&mut self, decoder: &mut Decoder<'_>) -> Result<(), Malformed> {
        self.seed = decoder.key()?;
        self.example = decoder.text()?.into();
        self.members.clear();
        for _ in 0..decoder.number()? {
            self.members.insert(decoder.key()?);
        }
        Ok(())
    }

    /// Whether a URL is in what the seeds span.
    pub(super) fn contains(&self, requested: &str, parts: &Parts) -> bool {
        match self.kind {
            ScopeKind::Any => true,
            ScopeKind::Page => self.members.contains(&self.page(requested, parts)),
            ScopeKind::Host => self.members.contains(&self.host(requested, parts)),
            ScopeKind::Domain => self.members.contains(&self.domain(requested, parts)),
            ScopeKind::Prefix => {
                self.any_directory(requested, parts, |directory| self.members.contains(&directory))
            }
        }
    }

    fn page(&self, requested: &str, parts: &Parts) -> u64 {
        let mut canonical = String::with_capacity(requested.len());
        self.canonicalizer.canonicalize(requested, parts, &mut canonical);
        self.fingerprint(&canonical)
    }

    fn host(&self, requested: &str, parts: &Parts) -> u64 {
        let host = rootless(&requested[parts.host.clone()]);
        self.fingerprint(if self.folds_www { fold_www(host) } else { host })
    }

    /// The registrable domain, or the whole host where it has none.
    fn domain(&self, requested: &str, parts: &Parts) -> u64 {
        let host = rootless(&requested[parts.host.clone()]);
        self.fingerprint(registrable_domain(host).unwrap_or(host))
    }

    /// Whether a test holds for one of the directories that a URL is in, tried from the root down.
    ///
    /// A directory's fingerprint is that of its name, seeded with that of the
    /// directory above, so that a path of many slashes costs no more than one
    /// reading of it.
    fn any_directory(&self, requested: &str, parts: &Parts, mut test: impl FnMut(u64) -> bool) -> bool {
        let origin = usize::from(parts.origin_length);
        let mut canonical = String::new();
        let path_and_query = if requested[origin..].contains('%') {
            self.canonicalizer.canonicalize(requested, parts, &mut canonical);
            &canonical[origin..]
        } else {
            &requested[origin..]
        };
        let path = path_and_query.split('?').next().unwrap_or_default();
        let mut directory = self.host(requested, parts);
        for name in path.split_inclusive('/').filter(|name| name.ends_with('/')) {
            directory = xxh3_64_with_seed(name.as_bytes(), directory);
            if test(directory) {
                return true;
            }
        }
        false
    }

    fn fingerprint(&self, text: &str) -> u64 {
        xxh3_64_with_seed(text.as_bytes(), self.seed)
    }
}

/// A host name without the root's dot, which names the same host (RFC 1034 section 3.1).
fn rootless(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}
