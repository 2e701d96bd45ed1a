//! `--canonical`: the links of a page count only as long as the page that it names as canonical
//! (`rel=canonical`, RFC 6596) has not given its own.
//!
//! What a page names is asked for, ahead of what else is as deep. That it names it is a hint: the page named
//! may be missing, denied, or lead back by a redirect. So the links of a page are left out, as counted
//! skips, only where the page it names is known to have been read and to have given links itself,
//! which then stand for its own. That holds for rings of pages that name each other as well: the first of them that is read gives its links.
//!
//! What is known has a bound. Of a page that was forgotten, and after a crawl was resumed, copies give
//! their links once more: that costs requests, never a page.
//!
//! It must not know how pages are fetched or kept.

use super::worker::Shared;
use crate::model::{Candidate, LinkBatch, Record, SkipReason, UrlKey, Via};
use crate::scope::Scope;
use crate::url::Target;

/// A batch of one link, to what a page names as canonical; none where that is no other page in scope,
/// or differs in no more than scheme and `www.`: most often that only leads back by a redirect.
pub(super) fn named(
    shared: &Shared,
    candidate: &Candidate,
    target: &Target,
    scope: &Scope,
) -> Option<LinkBatch> {
    let key = shared.secret.key(&target.canonical);
    let is_other = key != candidate.key && place(&target.requested) != place(&candidate.url);
    let is_short = target.requested.len() <= shared.config.max_url_length;
    if !is_other || !is_short || scope.check(&target.requested, &target.parts).is_err() {
        return None;
    }
    let too_many = candidate.hops >= shared.config.max_redirects;
    let skip = too_many.then_some(SkipReason::TooManyRedirects);
    let mut batch = LinkBatch::default();
    batch.push(&target.requested, target.parts.origin_length, key, Via::Canonical, skip);
    Some(batch)
}

/// Whether the links of a page can stand for those of its copies: it was read to its end, and all that it
/// links to was looked at, and something of it is wanted.
pub(super) fn gives_links(record: &Record, links: &LinkBatch) -> bool {
    let is_there = record.status.is_some_and(|status| (200..300).contains(&status));
    let is_whole = record.error.is_none() && record.truncated.is_none() && links.dropped == 0;
    is_there && is_whole && links.links.iter().any(|link| link.skip.is_none())
}

/// Marks the links of a page as not wanted.
pub(super) fn withhold(links: &mut LinkBatch) {
    for link in links.links.iter_mut().filter(|link| link.skip.is_none()) {
        link.skip = Some(SkipReason::NotCanonical);
    }
}

/// A URL without what most often differs by mistake.
fn place(url: &str) -> &str {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    place.strip_prefix("www.").unwrap_or(place)
}

/// Pages that share a group; of them the one that was asked about or added longest ago gives way.
const GROUP: usize = 4;

/// Pages whose links are in, as many as there is memory for.
///
/// Sure of what it has: a key that it calls known was added.
#[derive(Debug, Default)]
pub(super) struct ReadPages {
    /// Empty until the first page is added. The latest of a group stands first; 0 is no page.
    groups: Vec<[UrlKey; GROUP]>,
    most: usize,
}

impl ReadPages {
    /// Takes so many bytes, once there is something to be kept.
    pub(super) fn new(bytes: u64) -> Self {
        let most = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<[UrlKey; GROUP]>();
        Self { groups: Vec::new(), most }
    }

    /// Adds a page.
    pub(super) fn add(&mut self, key: UrlKey) {
        if self.most == 0 || key == 0 || self.has(key) {
            return;
        }
        if self.groups.is_empty() {
            self.groups = vec![[0; GROUP]; self.most];
        }
        if let Some(group) = self.group(key) {
            group.rotate_right(1);
            group[0] = key;
        }
    }

    /// Whether a page is known to be among them.
    pub(super) fn has(&mut self, key: UrlKey) -> bool {
        let Some(group) = self.group(key).filter(|_| key != 0) else { return false };
        let Some(at) = group.iter().position(|kept| *kept == key) else { return false };
        group[..=at].rotate_right(1);
        true
    }

    fn group(&mut self, key: UrlKey) -> Option<&mut [UrlKey; GROUP]> {
        let at = (u128::from(key) * self.groups.len() as u128) >> 64;
        self.groups.get_mut(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn what_differs_by_mistake_is_one_place() {
        assert_eq!(place("https://www.a.test/x"), place("http://a.test/x"));
        assert_ne!(place("https://a.test/x"), place("https://a.test/x/"));
    }

    #[test]
    fn without_memory_nothing_is_known() {
        let mut pages = ReadPages::new(31);
        pages.add(7);
        assert!(!pages.has(7) && pages.groups.is_empty());
    }

    proptest! {
        /// Against a list for each group, the latest first.
        #[test]
        fn the_latest_of_each_group_are_known(
            steps in prop::collection::vec((any::<bool>(), 0..40_u64), 0..300),
            groups in 1..6_usize,
        ) {
            let mut pages = ReadPages::new((groups * 32 + 5) as u64);
            let mut model: Vec<VecDeque<UrlKey>> = vec![VecDeque::new(); groups];
            for (adds, number) in steps {
                let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let list = &mut model[((u128::from(key) * groups as u128) >> 64) as usize];
                let known = list.iter().position(|kept| *kept == key);
                if let Some(at) = known {
                    list.remove(at);
                }
                // the key 0 stands for an empty place, and is never known
                if (adds || known.is_some()) && key != 0 {
                    list.push_front(key);
                    list.truncate(GROUP);
                }
                if adds {
                    pages.add(key);
                } else {
                    prop_assert_eq!(pages.has(key), known.is_some());
                }
            }
        }
    }
}
