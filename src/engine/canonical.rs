//! `--canonical`: the links of a page count only as long as the page that it names as canonical
//! (`rel=canonical`, RFC 6596) has not given its own.
//!
//! What a page names is asked for, ahead of what else is as deep. That it names it is a hint: the page named
//! may be missing, denied, or lead back by a redirect. So the links of a page are left out, as counted
//! skips, only where the page it names is known to have been read, no deeper than this one, and to have given
//! links itself, which then stand for its own. That holds for rings of pages that name each other as well: the
//! first of them that is read gives its links.
//!
//! What is known has a bound. Of a page that was forgotten, and after a crawl was resumed, copies give
//! their links once more: that costs requests, never a page.
//!
//! It must not know how pages are fetched or kept.

use super::hashes::hashes;
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
    let hashes = hashes(&shared.secret, &target.canonical);
    let is_other = hashes.key != candidate.key && place(&target.requested) != place(&candidate.url);
    let is_short = target.requested.len() <= shared.config.max_url_length;
    if !is_other || !is_short || scope.check(&target.requested, &target.parts).is_err() {
        return None;
    }
    let too_many = candidate.hops >= shared.config.max_redirects;
    let skip = too_many.then_some(SkipReason::TooManyRedirects);
    let mut batch = LinkBatch::default();
    batch.push(&target.requested, target.parts.origin_length, hashes, Via::Canonical, skip);
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

/// Some pages, the latest first.
#[derive(Debug, Default, Clone, Copy)]
struct Group {
    /// 0 is no page.
    keys: [UrlKey; GROUP],
    /// How deep each was, 255 and more alike.
    depths: [u8; GROUP],
}

/// Pages whose links are in, as many as there is memory for.
///
/// Sure of what it has: a key that it calls known was added.
#[derive(Debug, Default)]
pub(super) struct ReadPages {
    /// Empty until the first page is added.
    groups: Vec<Group>,
    most: usize,
}

impl ReadPages {
    /// Takes so many bytes, once there is something to be kept.
    pub(super) fn new(bytes: u64) -> Self {
        let most = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<Group>();
        Self { groups: Vec::new(), most }
    }

    /// Adds a page that was read at this depth.
    pub(super) fn add(&mut self, key: UrlKey, depth: u32) {
        // how deep a page is does not change: it is read once
        if self.most == 0 || key == 0 || self.depth_of(key).is_some() {
            return;
        }
        if self.groups.is_empty() {
            self.groups = vec![Group::default(); self.most];
        }
        if let Some(group) = self.group(key) {
            group.keys.rotate_right(1);
            group.depths.rotate_right(1);
            (group.keys[0], group.depths[0]) = (key, capped(depth));
        }
    }

    /// Whether a page is known to be among them, and no deeper than this: one that is deeper may have had
    /// to leave out what a limit of depth lets this one have.
    pub(super) fn has(&mut self, key: UrlKey, at_most: u32) -> bool {
        self.depth_of(key).is_some_and(|depth| depth < u8::MAX && depth <= capped(at_most))
    }

    fn depth_of(&mut self, key: UrlKey) -> Option<u8> {
        let group = self.group(key).filter(|_| key != 0)?;
        let at = group.keys.iter().position(|kept| *kept == key)?;
        group.keys[..=at].rotate_right(1);
        group.depths[..=at].rotate_right(1);
        Some(group.depths[0])
    }

    fn group(&mut self, key: UrlKey) -> Option<&mut Group> {
        let at = (u128::from(key) * self.groups.len() as u128) >> 64;
        self.groups.get_mut(at as usize)
    }
}

fn capped(depth: u32) -> u8 {
    u8::try_from(depth).unwrap_or(u8::MAX)
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
        let mut pages = ReadPages::new(39);
        pages.add(7, 0);
        assert!(!pages.has(7, 9) && pages.groups.is_empty());
    }

    #[test]
    fn a_page_that_is_deeper_stands_for_none() {
        let mut pages = ReadPages::new(400);
        pages.add(7, 3);
        pages.add(7, 1);
        pages.add(8, 300);
        assert!(!pages.has(7, 2) && pages.has(7, 3) && pages.has(7, 400));
        assert!(!pages.has(8, 400), "nobody knows which is deeper");
    }

    proptest! {
        /// Against a list for each group, the latest first.
        #[test]
        fn the_latest_of_each_group_are_known(
            steps in prop::collection::vec((any::<bool>(), 0..40_u64), 0..300),
            groups in 1..6_usize,
        ) {
            let mut pages = ReadPages::new((groups * 40 + 5) as u64);
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
                    pages.add(key, 1);
                } else {
                    prop_assert_eq!(pages.has(key, 1), known.is_some());
                }
            }
        }
    }
}
