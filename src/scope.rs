//! Scope: which discovered URLs are wanted.
//!
//! A crawl's scope is what its seeds span (by page, directory, host name or
//! registrable domain), narrowed by bounds on the shape of a URL and by regular
//! expressions. Seeds that redirect move their scope along.
//!
//! Of the seeds only 64-bit fingerprints are kept, about 10 to 20 bytes each,
//! so that a million seeds need some 20 MB at most. They are hashed under a
//! seed drawn at start: that a URL out of scope looks like one in scope has
//! odds of (seeds)/2^64.
//!
//! The module must not know what becomes of a URL: depth, robots, limits and
//! addresses are judged elsewhere.

mod patterns;
mod seed;
mod shape;
mod span;
#[cfg(test)]
mod tests;

use crate::config::{Canonicalization, Config, ConfigError, ScopeKind};
use crate::model::SkipReason;
use crate::store::{Decoder, Encoder, Malformed};
use crate::url::{Canonicalizer, Parts, Reject, Rules};

use patterns::Patterns;
use span::Span;

pub use seed::{SeedJudge, SeedRefusal};
pub use shape::Shape;
pub use span::registrable_domain;

/// Which URLs a crawl wants.
///
/// Hosts are compared by name, whatever scheme or port. Under `--fold-www` a
/// name with `www.` in front is the same host: the rule says that the two serve
/// the same pages, so a crawl of one may not stop at the other.
#[derive(Debug)]
pub struct Scope {
    span: Span,
    include: Patterns,
    exclude: Patterns,
    shape: Shape,
    max_url_length: usize,
    moved_count: u64,
}

impl Scope {
    /// A scope without seeds, in which nothing is (unless it is `any`).
    ///
    /// # Errors
    /// An expression of `--include` or `--exclude` that is none.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            span: Span::new(config.scope, canonical_rules(&config.canonicalization)),
            include: Patterns::new("include", &config.include)?,
            exclude: Patterns::new("exclude", &config.exclude)?,
            shape: Shape::of(config),
            max_url_length: config.max_url_length,
            moved_count: 0,
        })
    }

    /// Widens the scope by a seed, given as requested.
    pub fn add_seed(&mut self, requested: &str) {
        self.span.add(requested, &Parts::of(requested));
    }

    /// Widens the scope by the URL that a seed redirects to, given as requested.
    pub fn add_moved_seed(&mut self, requested: &str) {
        self.add_seed(requested);
        self.moved_count += 1;
    }

    /// Which state of the scope this is: it changes whenever a seed moves it.
    pub fn generation(&self) -> u64 {
        self.moved_count
    }

    /// Whether a URL is wanted, by its length, by what the seeds span, by its shape, by
    /// `--exclude` and by `--include`, in this order; the expressions are
    /// searched for in the URL as requested.
    ///
    /// A fragment plays no part, even where it tells pages apart.
    pub fn check(&self, requested: &str, parts: &Parts) -> Result<(), SkipReason> {
        if requested.len() > self.max_url_length {
            return Err(SkipReason::UrlTooLong);
        }
        if !self.span.contains(requested, parts) {
            return Err(SkipReason::OutOfScope);
        }
        self.check_unmoved(requested)
    }

    /// Whether an `--exclude` matches.
    pub fn excludes(&self, requested: &str) -> bool {
        self.exclude.matches(requested)
    }

    /// Whether a robots.txt, given by its URL, may name a sitemap on a host: it may name any where its own
    /// host has pages in scope. Of directories it is not known on which hosts they are, so that each
    /// robots.txt may name those of its own host; single pages need no sitemap.
    pub fn lets_name_sitemap(&self, robots: &str, host: &str) -> bool {
        let parts = Parts::of(robots);
        match self.span.kind() {
            ScopeKind::Page => false,
            ScopeKind::Prefix => robots[parts.host] == *host,
            ScopeKind::Host | ScopeKind::Domain | ScopeKind::Any => self.span.contains(robots, &parts),
        }
    }

    /// The part of [`check`](Self::check) that no seed moves: shape, `--exclude` and `--include`.
    pub fn check_unmoved(&self, requested: &str) -> Result<(), SkipReason> {
        self.shape.check(requested)?;
        if self.exclude.matches(requested) {
            return Err(SkipReason::Excluded);
        }
        if !self.include.is_empty() && !self.include.matches(requested) {
            return Err(SkipReason::NotIncluded);
        }
        Ok(())
    }
}

impl Scope {
    /// Appends what the seeds span, for [`restore`](Self::restore): 8 bytes for each member.
    pub fn encode(&self, encoder: &mut Encoder<'_>) {
        self.span.encode(encoder);
        encoder.number(self.moved_count);
    }

    /// Takes over what the seeds of the same crawl spanned in another process.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn restore(&mut self, decoder: &mut Decoder<'_>) -> Result<(), Malformed> {
        self.span.restore(decoder)?;
        self.moved_count = decoder.number()?;
        Ok(())
    }

    /// The option that made [`check`](Self::check) refuse a URL, as a person would type it.
    pub fn rule(&self, requested: &str, reason: SkipReason) -> Option<String> {
        match reason {
            SkipReason::UrlTooLong => Some(format!("--max-url-length {}", self.max_url_length)),
            SkipReason::Excluded => {
                self.exclude.first_match(requested).map(|pattern| format!("--exclude {pattern}"))
            }
            SkipReason::NotIncluded => Some(format!("no match of {}", self.include.named("--include"))),
            SkipReason::OutOfScope => Some(self.span.told()),
            SkipReason::OtherScheme | SkipReason::BadUrl => refusal(requested),
            _ => self.shape.rule(reason),
        }
    }
}

/// What the parser says of a reference as it was written.
///
/// What it is relative to plays no part: a base that can be crawled spoils no reference. Of one
/// whose end was not kept the reason may be lost.
fn refusal(written: &str) -> Option<String> {
    let base = ::url::Url::parse("http://base.invalid/").ok()?;
    match Canonicalizer::default().resolver(&base, None).target(written) {
        Err(Reject::OtherScheme(scheme)) => Some(format!("scheme {scheme}")),
        Err(Reject::Unparsable(reason)) => Some(reason),
        Ok(_) => None,
    }
}

/// The rules of the canonical form, as the user set them.
pub fn canonical_rules(options: &Canonicalization) -> Rules {
    Rules {
        sort_query: options.sort_query,
        strip_params: options.strip_params.clone(),
        strip_tracking: options.strip_tracking,
        strip_session_ids: options.strip_session_ids,
        fold_www: options.fold_www,
        fold_https: options.fold_https,
        strip_trailing_slash: options.strip_trailing_slash,
        keep_fragments: options.keep_fragments,
    }
}
