//! `--canonical`: a page that names another one as canonical hands its place to that one.
//!
//! What it names (`rel=canonical`, RFC 6596) is asked for, and the page's own links are counted
//! skips. Two pages may name each other, and so may many in a ring, and none of them may lose its
//! links because each relies on the next. So a page keeps its links
//!
//! - where it was reached as somebody's canonical page, or by a redirect;
//! - where what it names had been met before and is not the simpler one of the two (shorter, or
//!   of one length and first in order): of every ring one page has no simpler one to point to;
//! - where what it names is refused (scope, `--max-redirects`), or differs in no more than scheme
//!   and `www.`: most often that only leads back by a redirect.
//!
//! A canonical page that turns out to be missing does cost the links of those that named it.
//!
//! It must not know how pages are fetched or kept.

use super::worker::Shared;
use crate::model::{Candidate, LinkBatch, SkipReason, Via};
use crate::scope::Scope;
use crate::url::Target;

/// A batch of one link, to what a page names as canonical; none where that is no other page in scope.
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

/// What became of the request for a canonical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It will be fetched because of this page.
    Queued,
    /// It was met before, or that is in doubt.
    Met,
    /// It will not be fetched.
    Refused,
}

/// Whether a page gives up its links in favour of the one that it names.
pub(super) fn hands_over(page: &Candidate, named: &str, fate: Fate) -> bool {
    let is_sure_to_be_read = matches!(page.via, Via::Canonical | Via::Redirect);
    let is_simpler = || (named.len(), named) < (page.url.len(), &*page.url);
    !is_sure_to_be_read
        && match fate {
            Fate::Queued => true,
            Fate::Met => is_simpler(),
            Fate::Refused => false,
        }
}

/// Marks the links of a page that has given them up.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(url: &str, via: Via) -> Candidate {
        Candidate {
            url: url.into(),
            origin_length: 0,
            key: 1,
            depth: 0,
            via,
            hops: 0,
            carries_scope: false,
            referrer: None,
        }
    }

    #[test]
    fn the_rules_one_by_one() {
        let long = page("http://a.test/long", Via::Link);
        let short = "http://a.test/s";
        assert!(hands_over(&long, short, Fate::Queued) && hands_over(&long, short, Fate::Met));
        assert!(!hands_over(&long, short, Fate::Refused));
        let longer = "http://a.test/longer";
        assert!(hands_over(&long, longer, Fate::Queued) && !hands_over(&long, longer, Fate::Met));
        for via in [Via::Canonical, Via::Redirect] {
            assert!(!hands_over(&page("http://a.test/long", via), short, Fate::Queued));
        }
        assert_eq!(place("https://www.a.test/x"), place("http://a.test/x"));
        assert_ne!(place("https://a.test/x"), place("https://a.test/x/"));
    }

    proptest! {
        /// Whatever names whatever, and in whatever order pages are met: of the pages from which one
        /// gets round in a ring, one at least keeps its links.
        #[test]
        fn no_ring_loses_all_its_links(
            names in prop::collection::vec(0..6_usize, 6),
            seeds in prop::collection::vec(0..6_usize, 1..6),
        ) {
            let urls: Vec<String> = (0..6).map(|number| format!("http://a.test/{}", "x".repeat(number / 2) + &number.to_string())).collect();
            let mut reads = [None; 6];
            let mut queue: Vec<(usize, Via)> = Vec::new();
            for seed in seeds {
                if !queue.iter().any(|(other, _)| *other == seed) {
                    queue.push((seed, Via::Link));
                }
            }
            let mut next = 0;
            while let Some(&(number, via)) = queue.get(next) {
                next += 1;
                let named = names[number];
                if named == number {
                    reads[number] = Some(true);
                    continue;
                }
                let is_met = queue.iter().any(|(other, _)| *other == named);
                if !is_met {
                    queue.push((named, Via::Canonical));
                }
                let fate = if is_met { Fate::Met } else { Fate::Queued };
                reads[number] = Some(!hands_over(&page(&urls[number], via), &urls[named], fate));
            }
            for start in (0..6).filter(|number| reads[*number].is_some()) {
                let mut at = start;
                let kept = (0..12).any(|_| {
                    let here = at;
                    at = names[at];
                    reads[here] == Some(true)
                });
                prop_assert!(kept, "from {} with {:?}", start, names);
            }
        }
    }
}
