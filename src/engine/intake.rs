//! What the owner makes of links, wherever they were found: which are skipped and why, which are known, which
//! are new.

use std::sync::{Arc, PoisonError};

use super::core::{Core, CoreError};
use super::observer::Event;
use super::sitemap::MOST_STEPS;
use super::skip::skip_reason;
use crate::frontier::DrainReason;
use crate::model::{Candidate, Link, LinkBatch, SkipReason, Via};
use crate::scope::Scope;
use crate::sink::Skipped;
use crate::url::Parts;
use crate::visited::Answer;

/// Where a batch of links was found.
pub(super) struct Found<'a> {
    pub(super) url: Option<&'a str>,
    pub(super) depth: u32,
    /// Redirects that led there; steps that lead to the sitemaps found there.
    pub(super) hops: u32,
    pub(super) carries_scope: bool,
    pub(super) scope_generation: u64,
    /// The page is what another one embeds.
    pub(super) is_resource: bool,
}

impl Found<'_> {
    /// The depth of what was found there in this way. Links add a step; redirects, seeds, canonical
    /// pages and what sitemaps name add none. What a page embeds belongs to it, but what that embeds in turn does not, or
    /// `--depth` would not bound a chain of such.
    fn depth_of(&self, via: Via) -> u32 {
        let adds = match via {
            Via::Redirect | Via::Seed | Via::Canonical | Via::SitemapFile | Via::Sitemap => false,
            Via::Resource => self.is_resource,
            _ => true,
        };
        self.depth + u32::from(adds)
    }
}

impl Core {
    /// Takes in a batch of seeds, with which `taken` are taken in; `carries_scope`: they move it.
    pub(crate) fn add_seeds(
        &mut self,
        seeds: &LinkBatch,
        taken: u64,
        carries_scope: bool,
    ) -> Result<(), CoreError> {
        let found = Found {
            url: None,
            depth: 0,
            hops: 0,
            carries_scope,
            scope_generation: self.scope_generation(),
            is_resource: false,
        };
        self.take_in(seeds, &found)?;
        self.seeds_taken = taken;
        self.journal.seeds(taken);
        self.commit()
    }

    /// All seeds are taken in.
    pub(crate) fn finish_seeds(&mut self) -> Result<(), CoreError> {
        self.settle_all()?;
        self.seeds_complete = true;
        self.journal.seeds_complete();
        self.commit()
    }

    /// Queues what is new among links that belong to no record.
    pub(super) fn take_in(&mut self, batch: &LinkBatch, found: &Found<'_>) -> Result<(), CoreError> {
        for candidate in self.ask(batch, found)? {
            self.accept(&candidate)?;
        }
        Ok(())
    }

    /// Asks the visited set about the links of a page; returns those that are new.
    pub(super) fn ask(&mut self, batch: &LinkBatch, found: &Found<'_>) -> Result<Vec<Candidate>, CoreError> {
        self.counters.discovered += batch.links.len() as u64 + batch.repeats + batch.dropped;
        self.counters.repeats += batch.repeats;
        self.count_dropped(batch.dropped, found)?;
        self.note_links(batch);
        let mut keys = std::mem::take(&mut self.keys);
        let mut wanted: Vec<Link> = Vec::with_capacity(batch.links.len());
        keys.clear();
        for link in &batch.links {
            match self.why_skipped(batch, link, found) {
                None => {
                    keys.push(link.key);
                    wanted.push(*link);
                }
                Some(reason) => self.skip_link(batch, link, found, reason)?,
            }
        }
        let mut answers = std::mem::take(&mut self.answers);
        self.visited.ask(&keys, &mut answers)?;
        self.grow_filter()?;
        let mut accepted = Vec::new();
        let mut referrer: Option<Arc<str>> = None;
        for (link, answer) in wanted.iter().zip(&answers) {
            if *answer == Answer::Repeat {
                self.repeat(link.key, found.depth_of(link.via));
                continue;
            }
            let referrer = match (&referrer, found.url) {
                (None, Some(url)) => referrer.insert(url.into()).clone().into(),
                (shared, _) => shared.clone(),
            };
            let candidate = new_candidate(batch, link, found, referrer);
            if *answer == Answer::New {
                accepted.push(candidate);
                continue;
            }
            // the settlement tells no more than how many were repeats
            let shadowed = self.shadow.met_again(candidate.key, candidate.depth);
            self.counters.depth_shadowed += u64::from(shadowed);
            let number = self.visited.doubt(&candidate)?;
            self.journal.doubt(number, &candidate);
        }
        self.keys = keys;
        self.answers = answers;
        Ok(accepted)
    }

    /// Links past the limits of one page are not kept; one row stands for them.
    fn count_dropped(&mut self, dropped: u64, found: &Found<'_>) -> Result<(), CoreError> {
        self.counters.skipped_before_queue.add(SkipReason::TooManyLinks, dropped);
        if dropped == 0 {
            return Ok(());
        }
        self.note_example(SkipReason::TooManyLinks, found.url.unwrap_or_default());
        if !self.settings.log_skipped {
            return Ok(());
        }
        let detail = format!("{dropped} links past --max-links-per-page, or past what --memory affords");
        let row = Skipped {
            url: found.url.unwrap_or_default(),
            reason: SkipReason::TooManyLinks,
            detail: Some(&detail),
            via: Via::Link,
            depth: found.depth,
            referrer: found.url,
        };
        Self::write_skipped(&mut self.files, &mut self.sinks, &row)
    }

    /// The reason not to queue a link, where there is one; the scope may have moved since the worker looked.
    fn why_skipped(&mut self, batch: &LinkBatch, link: &Link, found: &Found<'_>) -> Option<SkipReason> {
        if link.skip == Some(SkipReason::OutOfScope) {
            if matches!(link.via, Via::Redirect | Via::SitemapFile) && found.carries_scope {
                self.move_scope(found.url.unwrap_or_default(), batch.url(link));
                // of a sitemap the rest was looked at where it was found
                if link.via == Via::Redirect
                    && let Some(reason) = self.out_of_scope(batch.url(link))
                {
                    return Some(reason);
                }
            } else if found.scope_generation == self.scope_generation() {
                return link.skip;
            } else if let Some(reason) = self.out_of_scope(batch.url(link)) {
                return Some(reason);
            }
        } else if link.skip.is_some() {
            return link.skip;
        }
        if !self.schedule.any_drained() {
            return None;
        }
        // Those past the limit of a host are skipped when their turn comes, which counts them as queued.
        let origin = batch.url(link).get(..usize::from(link.origin_length))?;
        let reason = self.schedule.standing(origin).map(|(reason, _)| reason);
        reason.filter(|reason| *reason != DrainReason::HostLimit).map(skip_reason)
    }

    /// The scope, to be changed.
    pub(super) fn scope_mut(&self) -> std::sync::RwLockWriteGuard<'_, Scope> {
        self.scope.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn out_of_scope(&self, url: &str) -> Option<SkipReason> {
        self.scope.read().unwrap_or_else(PoisonError::into_inner).check(url, &Parts::of(url)).err()
    }

    pub(super) fn move_scope(&mut self, from: &str, to: &str) {
        self.scope_mut().add_moved_seed(to);
        self.journal.scope(to);
        self.counters.scope_moves += 1;
        self.events.push(Event::ScopeMoved { from: from.into(), to: to.into() });
    }

    fn skip_link(
        &mut self,
        batch: &LinkBatch,
        link: &Link,
        found: &Found<'_>,
        reason: SkipReason,
    ) -> Result<(), CoreError> {
        self.counters.skipped_before_queue.add(reason, 1);
        self.note_example(reason, batch.url(link));
        if !self.settings.log_skipped {
            return Ok(());
        }
        let detail = self.why_link_skipped(batch, link, reason);
        let row = Skipped {
            url: batch.url(link),
            reason,
            detail: detail.as_deref(),
            via: link.via,
            depth: found.depth_of(link.via),
            referrer: found.url,
        };
        Self::write_skipped(&mut self.files, &mut self.sinks, &row)
    }

    /// What a link's row says beyond the reason.
    fn why_link_skipped(&mut self, batch: &LinkBatch, link: &Link, reason: SkipReason) -> Option<String> {
        let url = batch.url(link);
        let unreachable =
            [SkipReason::HostUnreachable, SkipReason::RobotsUnreachable, SkipReason::PrivateAddress];
        if unreachable.contains(&reason) {
            return self.last_error(url.get(..usize::from(link.origin_length))?);
        }
        let is_step = matches!(reason, SkipReason::TooDeep | SkipReason::TooManyRedirects);
        if link.via == Via::SitemapFile && is_step {
            return Some(format!("more than {MOST_STEPS} steps from sitemap to sitemap"));
        }
        let by = link.nofollow.filter(|_| reason == SkipReason::Nofollow);
        by.map(|by| by.describe().to_owned()).or_else(|| self.rule_behind(url, reason))
    }
}

fn new_candidate(batch: &LinkBatch, link: &Link, found: &Found<'_>, referrer: Option<Arc<str>>) -> Candidate {
    Candidate {
        url: batch.url(link).into(),
        origin_length: link.origin_length,
        key: link.key,
        depth: found.depth_of(link.via),
        via: link.via,
        hops: match link.via {
            Via::Redirect | Via::Canonical => found.hops + 1,
            Via::SitemapFile => found.hops,
            _ => 0,
        },
        carries_scope: found.carries_scope
            && matches!(link.via, Via::Redirect | Via::Seed | Via::SitemapFile),
        referrer,
    }
}
