//! From the references of a page to its batch of links: resolved, told apart, held against
//! the scope, and bounded in size and work whatever the page says.
//!
//! It must not know how a page is fetched, nor what has been seen.

use std::collections::hash_map::Entry;
use std::sync::PoisonError;

use super::canonical;
use super::hashes::hashes;
use super::job::PageOutcome;
use super::worker::{Scratch, Shared};
use crate::extract::Extracted;
use crate::model::{LinkBatch, Nofollow, SkipReason, UrlHashes, Via};
use crate::scope::Scope;
use crate::url::{Reject, Resolver, without_userinfo};

/// Resolves, filters and keys what a page refers to.
pub(super) fn take_links(
    shared: &Shared,
    outcome: &mut PageOutcome,
    page: &Extracted,
    scratch: &mut Scratch,
) {
    let candidate = &outcome.job.attempt.candidate;
    outcome.record.title.clone_from(&page.title);
    outcome.record.links = page.links_found();
    if !page.is_html {
        return;
    }
    outcome.record.charset = Some(page.encoding.name());
    let Ok(url) = ::url::Url::parse(&candidate.url) else {
        return;
    };
    let base = page.base_url(&url);
    let resolver = shared.canonicalizer.resolver(&base, Some(page.encoding));
    let named = page.rel_canonical.as_ref().and_then(|href| resolver.target(href).ok());
    let scope = shared.scope.read().unwrap_or_else(PoisonError::into_inner);
    let too_deep = shared.config.depth.is_some_and(|depth| candidate.depth >= depth);
    outcome.scope_generation = scope.generation();
    if let Some(target) = named {
        if shared.config.canonical {
            outcome.canonical = canonical::named(shared, candidate, &target, &scope);
        }
        outcome.record.rel_canonical = Some(target.requested);
    }
    let is_resource = candidate.via == Via::Resource;
    let batch = &mut outcome.links;
    let most_text = shared.batch_text;
    let most = shared.config.max_url_length;
    let base = base.as_str().len();
    let hopeless = (base > most).then(|| Hopeless::of(&resolver, most)).flatten();
    let work = MAX_WORK;
    Gather {
        shared,
        scope: &scope,
        too_deep,
        is_resource,
        batch,
        most_text,
        scratch,
        most,
        hopeless,
        base,
        work,
    }
    .all(&resolver, page);
}

/// Makes the batch of links of one page.
struct Gather<'a> {
    shared: &'a Shared,
    scope: &'a Scope,
    /// The page's links would be further from the seeds than `--depth`.
    too_deep: bool,
    /// The page is what another one embeds, so what it embeds is no longer that one's.
    is_resource: bool,
    batch: &'a mut LinkBatch,
    /// Bytes of text that the batch may hold.
    most_text: usize,
    scratch: &'a mut Scratch,
    /// Bytes of a URL at most.
    most: usize,
    hopeless: Option<Hopeless>,
    /// Bytes of what the references are relative to.
    base: usize,
    /// Bytes that may still be read and written in resolving.
    work: usize,
}

/// Bytes that resolving the references of one page may read and write: a multiple of what a page
/// may hold, since each reference may drag the whole base along.
const MAX_WORK: usize = 64 << 20;

/// A base so long that what is relative to its directory is too long whatever it says.
struct Hopeless {
    directory: String,
}

impl Hopeless {
    fn of(resolver: &Resolver<'_>, most: usize) -> Option<Self> {
        let mut directory = resolver.target("").ok()?.requested;
        let path_end = directory.find('?').unwrap_or(directory.len());
        directory.truncate(directory[..path_end].rfind('/')? + 1);
        (directory.len() > most).then_some(Self { directory })
    }

    /// Whether a reference can only add to the directory: no scheme, no root, nothing that leads up.
    fn covers(href: &str) -> bool {
        let adds = |byte: u8| byte > b' ' && !b":\\%?#".contains(&byte);
        !href.is_empty() && !href.starts_with('/') && !href.contains("..") && href.bytes().all(adds)
    }
}

impl Gather<'_> {
    fn all(mut self, resolver: &Resolver<'_>, page: &Extracted) {
        self.scratch.seen.clear();
        self.batch.text.reserve((page.text.len() + page.references.len() * 32).min(self.most_text));
        self.batch.links.reserve(page.references.len());
        self.batch.dropped = page.links_dropped;
        self.batch.repeats = page.repeated_references;
        let heeded = !self.shared.config.follow_nofollow;
        for (reference, href) in page.links() {
            let own = reference.nofollow.then_some(Nofollow::Link);
            let nofollow = own.or(page.page_nofollow).filter(|_| heeded && reference.via != Via::Resource);
            self.one(resolver, href, reference.via, nofollow);
        }
    }

    fn one(&mut self, resolver: &Resolver<'_>, href: &str, via: Via, nofollow: Option<Nofollow>) {
        // what one link may add would pass the bound
        if self.batch.text.len() + self.most.max(LinkBatch::MAX_UNUSABLE) > self.most_text {
            self.batch.dropped += 1;
            return;
        }
        let Scratch { requested, canonical, seen, .. } = &mut *self.scratch;
        if let Some(hopeless) = self.hopeless.as_ref().filter(|_| Hopeless::covers(href)) {
            self.batch.push(&hopeless.directory, 0, UrlHashes::NONE, via, Some(SkipReason::UrlTooLong));
            return;
        }
        if self.work == 0 {
            self.batch.dropped += 1;
            return;
        }
        let parts = match resolver.resolve(href, requested, canonical) {
            Ok(parts) => parts,
            Err(reject) => {
                self.work = self.work.saturating_sub(self.base + href.len());
                let reason = match reject {
                    Reject::OtherScheme(_) => SkipReason::OtherScheme,
                    Reject::Unparsable(_) => SkipReason::BadUrl,
                };
                self.batch.push(&without_userinfo(href), 0, UrlHashes::NONE, via, Some(reason));
                return;
            }
        };
        self.work = self.work.saturating_sub(href.len() + requested.len());
        let too_long = requested.len() > self.most;
        // the scope may move later on, so what no move can mend comes first
        let too_deep = self.too_deep && (via != Via::Resource || self.is_resource);
        let wanted = || match () {
            () if too_long => Some(SkipReason::UrlTooLong),
            () if too_deep => Some(SkipReason::TooDeep),
            () => self.scope.check(requested, &parts).err(),
        };
        let hashes = hashes(&self.shared.secret, canonical);
        match seen.entry(hashes.key) {
            Entry::Vacant(place) => {
                let nofollow = nofollow.filter(|_| !too_long);
                let skip = if nofollow.is_some() { Some(SkipReason::Nofollow) } else { wanted() };
                let index = self.batch.links.len();
                if self.batch.push(requested, parts.origin_length, hashes, via, skip) {
                    self.batch.links[index].nofollow = nofollow;
                    place.insert(index);
                }
            }
            Entry::Occupied(place) => {
                self.batch.repeats += 1;
                // One link that may be followed outweighs others to the same page that may not.
                if let Some(link) = self.batch.links.get_mut(*place.get())
                    && nofollow.is_none()
                    && (link.skip == Some(SkipReason::Nofollow)
                        || (link.skip == Some(SkipReason::TooDeep) && !too_deep))
                {
                    link.via = via;
                    (link.skip, link.nofollow) = (wanted(), None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Canonicalizer;

    #[test]
    fn what_is_relative_to_a_long_directory_is_known_by_its_look() {
        for adds in ["a", "./a", "a/b.html", "é", "a/."] {
            assert!(Hopeless::covers(adds), "{adds}");
        }
        for other in [
            "",
            "/a",
            "//h/a",
            "\\a",
            "?a",
            "#a",
            "../a",
            "a/../../b",
            "%2e%2E/a",
            "http:a",
            " a",
            ".\t./a",
            "a?b",
        ] {
            assert!(!Hopeless::covers(other), "{other:?}");
        }
    }

    /// What is taken for hopeless without a look is just what resolving finds too long.
    #[test]
    fn a_hopeless_reference_would_be_too_long() {
        let canonicalizer = Canonicalizer::default();
        let base = ::url::Url::parse(&format!("http://u:p@a.test/{}/x/?q", "b".repeat(300))).expect("a URL");
        let resolver = canonicalizer.resolver(&base, None);
        let hopeless = Hopeless::of(&resolver, 200).expect("the base is too long");
        assert!(!hopeless.directory.contains('@'));
        for href in ["a", "./a", "a/.", "é"] {
            let target = resolver.target(href).expect("a URL");
            assert!(target.requested.starts_with(&hopeless.directory), "{href}");
        }
        assert!(Hopeless::of(&resolver, 2000).is_none());
    }
}
