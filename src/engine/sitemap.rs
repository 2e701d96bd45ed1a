//! Sitemaps in a crawl: where they are named, how one is read, and how its entries reach the owner.
//!
//! A sitemap is a candidate like any other, so robots.txt, delays, retries, and what is kept on
//! disk hold for it; it is told apart by how it was found ([`Via::SitemapFile`]). Its entries are as many
//! as the frontier holds in all, so they go to the owner in *parts* while it is read. The worker
//! waits until its part has been taken in: each has one part on its way at most, and what it holds is
//! covered by the lease of its body. A crash between two parts asks for the sitemap again, and
//! what came before is repeats then.
//!
//! It must not know what a sitemap looks like; that is [`crate::sitemap`]'s.

mod reading;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use tokio::sync::oneshot;

use super::core::{Core, CoreError};
use super::hashes::hashes;
use super::intake::Found;
use super::job::RobotsAnswer;
use super::worker::Shared;
use crate::config::Sitemaps;
use crate::frontier::{Attempt, Moment, OriginId, RobotsState};
use crate::model::{KeyHash, LinkBatch, SkipReason, UrlHashes, UrlKey, Via};
use crate::scope::Scope;
use crate::sitemap::MOST_BYTES;
use crate::url::{Parts, host_of, without_userinfo};

pub(super) use reading::read;

/// Some of the entries of a sitemap, on their way to the owner.
#[derive(Debug)]
pub(crate) struct Part {
    /// The sitemap.
    pub(super) from: Arc<str>,
    /// Steps from the first sitemap to those that this one names.
    pub(super) hops: u32,
    /// Which state of the scope they were held against, the oldest where it changed meanwhile.
    pub(super) scope_generation: u64,
    pub(super) links: LinkBatch,
    /// Told, with the emptied batch, that they were taken in.
    pub(super) taken: oneshot::Sender<LinkBatch>,
}

/// Steps from one sitemap to another, redirects among them, at most: the protocol allows one, an
/// index may lead to indexes without end, and of redirects a robots.txt is allowed as many (RFC 9309
/// section 2.3.1.2).
pub(super) const MOST_STEPS: u32 = 5;

/// Bytes of an answer that are read at most, where it is a sitemap.
pub(super) fn most_bytes(via: Via) -> Option<u64> {
    (via == Via::SitemapFile).then_some(MOST_BYTES)
}

/// The sitemaps that a robots.txt at a URL names, to be queued; none where they are not wanted.
pub(super) fn named(shared: &Shared, url: &str, answer: &RobotsAnswer) -> LinkBatch {
    let mut batch = LinkBatch::default();
    let RobotsAnswer::Rules(rules) = answer else { return batch };
    let Ok(base) = ::url::Url::parse(url) else { return batch };
    if shared.config.sitemaps == Sitemaps::Off {
        return batch;
    }
    let resolver = shared.canonicalizer.resolver(&base, None);
    let scope = shared.scope.read().unwrap_or_else(PoisonError::into_inner);
    let mut seen: HashSet<UrlKey, KeyHash> = HashSet::default();
    batch.dropped = u64::from(rules.sitemaps_dropped());
    for written in rules.sitemaps() {
        let Ok(target) = resolver.target(written) else {
            batch.push(
                &without_userinfo(written),
                0,
                UrlHashes::NONE,
                Via::SitemapFile,
                Some(SkipReason::BadUrl),
            );
            continue;
        };
        let hashes = hashes(&shared.secret, &target.canonical);
        if !seen.insert(hashes.key) {
            batch.repeats += 1;
            continue;
        }
        let most = shared.config.max_url_length;
        let skip = wanted(&scope, most, &target.requested, &target.parts, false).err();
        batch.push(&target.requested, target.parts.origin_length, hashes, Via::SitemapFile, skip);
    }
    batch
}

/// Whether a sitemap may be asked for that a redirect or the user leads to: wherever it stands, but
/// for what the user excludes. Of one whose redirects move the scope it is told where it leaves it.
pub(super) fn wanted(
    scope: &Scope,
    most: usize,
    url: &str,
    parts: &Parts,
    carries_scope: bool,
) -> Result<(), SkipReason> {
    match scope.check(url, parts) {
        _ if url.len() > most => Err(SkipReason::UrlTooLong),
        _ if scope.excludes(url) => Err(SkipReason::Excluded),
        Err(SkipReason::OutOfScope) if carries_scope => Err(SkipReason::OutOfScope),
        _ => Ok(()),
    }
}

impl Core {
    /// Takes in a part of a sitemap.
    pub(crate) fn apply_part(&mut self, part: Part, now: Moment) -> Result<(), CoreError> {
        self.now = self.now.max(now);
        let Part { from, hops, scope_generation, mut links, taken } = part;
        let url = Some(&*from);
        let found = Found { url, depth: 0, hops, carries_scope: false, scope_generation, is_resource: false };
        self.take_in(&links, &found)?;
        links.text.clear();
        links.links.clear();
        (links.repeats, links.dropped) = (0, 0);
        // whoever waited may be gone
        let _ = taken.send(links);
        Ok(())
    }

    /// Queues the sitemaps that the robots.txt of an origin names. They may stand anywhere, since
    /// whoever keeps it speaks for its host (section "Sitemaps & Cross Submits" of the protocol); but
    /// of a host that has no pages in scope nobody wants any.
    pub(super) fn take_named_sitemaps(
        &mut self,
        id: OriginId,
        mut sitemaps: LinkBatch,
    ) -> Result<(), CoreError> {
        if sitemaps.links.is_empty() && sitemaps.dropped == 0 {
            return Ok(());
        }
        let file = format!("{}/robots.txt", self.schedule.origin(id).name);
        let LinkBatch { text, links, .. } = &mut sitemaps;
        let scope_generation = {
            let scope = self.scope.read().unwrap_or_else(PoisonError::into_inner);
            for link in links.iter_mut().filter(|link| link.skip.is_none()) {
                let url = &text[link.start as usize..][..link.length as usize];
                let may = scope.lets_name_sitemap(&file, host_of(url));
                link.skip = (!may).then_some(SkipReason::OutOfScope);
            }
            scope.generation()
        };
        let url = Some(file.as_str());
        self.take_in(
            &sitemaps,
            &Found { url, depth: 0, hops: 0, carries_scope: false, scope_generation, is_resource: false },
        )
    }

    /// Reads a page as a sitemap that was met before its robots.txt named it as one.
    pub(super) fn recognize_sitemap(&self, id: OriginId, attempt: &mut Attempt) {
        let RobotsState::Known { rules, .. } = &self.schedule.origin(id).robots else { return };
        let candidate = &mut attempt.candidate;
        let is_named = |named: &str| {
            let path = candidate.url.get(usize::from(candidate.origin_length)..);
            *named == *candidate.url || path == Some(named)
        };
        if self.settings.sitemaps && rules.sitemaps().any(is_named) {
            candidate.via = Via::SitemapFile;
        }
    }
}
