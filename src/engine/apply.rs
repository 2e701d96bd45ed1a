//! What the owner makes of an outcome: ask, sink, frontier, in that order.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::canonical::{gives_links, withhold};
use super::core::{Core, CoreError, ROBOTS_VALIDITY};
use super::job::{Buffers, Outcome, PageOutcome, RobotsAnswer, Verdict};
use super::journal::KeptAttempt;
use super::observer::Event;
use super::sitemap::MOST_STEPS;
use super::skip::skip_reason;
use crate::frontier::{Attempt, DrainReason, FIRST_PAUSE, Failed, Moment, OriginId, RobotsState, doubled};
use crate::model::{Candidate, ErrorKind, FailureClass, Link, LinkBatch, PageError, Record, SkipReason, Via};
use crate::scope::Scope;
use crate::sink::Skipped;
use crate::url::Parts;
use crate::visited::Answer;

/// Failures in a row that are nobody's fault in particular, after which they count as the host's.
const TRANSIENT_IN_A_ROW: u32 = 10;

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
    /// Takes in what came of a job.
    pub(crate) fn apply(&mut self, outcome: Outcome, now: Moment) -> Result<(), CoreError> {
        self.in_flight -= 1;
        self.now = self.now.max(now);
        match outcome {
            Outcome::Page(page) => {
                let id = page.job.origin;
                self.apply_page(*page, now)?;
                self.note_host_state(id);
                Ok(())
            }
            Outcome::Robots { origin, answer, asked, sitemaps } => {
                self.counters.robots_requests += 1;
                self.keep_robots(origin, &asked, &answer)?;
                let booked = match self.schedule.origin(origin).robots {
                    RobotsState::Fetching { booked, .. } => booked,
                    _ => origin,
                };
                self.apply_robots(origin, answer, now);
                self.schedule.finished(booked, false, now);
                self.schedule.refresh(origin);
                self.note_host_state(origin);
                self.take_named_sitemaps(origin, sitemaps)
            }
            Outcome::Address { origin, found } => {
                self.apply_look_up(origin, found, now);
                Ok(())
            }
        }
    }

    /// Writes down what has changed of a host that another process would have to know.
    pub(super) fn note_host_state(&mut self, id: OriginId) {
        if let Some(keeper) = &self.keeper
            && std::mem::take(&mut self.host_changed)
        {
            let mut state = Vec::new();
            self.schedule.encode_host(id, keeper.epoch(), &mut state);
            self.journal.host(&state);
        }
    }

    fn apply_page(&mut self, mut page: PageOutcome, now: Moment) -> Result<(), CoreError> {
        let id = page.job.origin;
        self.pages_in_flight -= 1;
        self.tickets_in_flight.remove(&page.job.attempt.ticket);
        self.schedule.finished(id, true, now);
        if page.refused {
            self.schedule.origin_mut(id).last_error = page.record.error.clone().map(Box::new);
            return self.skip_attempt(id, page.job.attempt, SkipReason::PrivateAddress);
        }
        self.counters.page_requests += 1;
        self.counters.retries += u64::from(page.job.attempt.failures > 0);
        self.counters.mislabelled_encodings += u64::from(page.mislabelled_encoding);
        page.job.attempt.requests += 1;
        self.note_host(id, &page, now);
        match std::mem::replace(&mut page.verdict, Verdict::Final) {
            Verdict::SamePage { url, origin_length } => {
                page.job.attempt.candidate.hops += 1;
                if page.job.attempt.candidate.carries_scope && self.out_of_scope(&url).is_some() {
                    self.move_scope(&page.job.attempt.candidate.url, &url);
                }
                self.ask_again(id, page.job.attempt, page.record, url, origin_length, now);
                Ok(())
            }
            Verdict::Respell { url, origin_length } => {
                page.job.attempt.respelled = true;
                self.ask_again(id, page.job.attempt, page.record, url, origin_length, now);
                Ok(())
            }
            Verdict::Retry | Verdict::SlowDown | Verdict::HostFailure
                if page.job.attempt.failures < self.settings.retries
                    && self.schedule.drained(id).is_none() =>
            {
                let mut attempt = page.job.attempt;
                attempt.failures += 1;
                let pause = doubled(FIRST_PAUSE, attempt.failures - 1);
                let pause = if lost_connection(&page.record) && !attempt.reconnected {
                    // Most likely a kept connection that the server closed just then: the request
                    // may be repeated at once (RFC 9112 section 9.3.1), on a new connection.
                    attempt.reconnected = true;
                    Duration::ZERO
                } else {
                    pause.max(self.honoured(page.retry_after))
                };
                self.count_bytes(&page.record);
                attempt.fallback = Some(Box::new(page.record));
                self.wait(id, attempt, now.after(pause));
                Ok(())
            }
            _ => self.finish_page(page),
        }
    }

    /// What an outcome says of the host as a whole.
    fn note_host(&mut self, id: OriginId, page: &PageOutcome, now: Moment) {
        let attempt = &page.job.attempt;
        // Whoever answers, whatever it says, can be reached.
        if page.record.status.is_some() {
            self.host_changed |= self.schedule.host(id).failures > 0;
            self.schedule.host_answered(id);
        }
        self.host_changed |= matches!(page.verdict, Verdict::HostFailure | Verdict::SlowDown);
        let host = self.schedule.host_mut(id);
        match page.verdict {
            Verdict::HostFailure => self.fail_host(id, attempt.started, page.record.error.as_ref(), now),
            Verdict::SlowDown => {
                host.slow_downs += 1;
                let slow_downs = host.slow_downs;
                let name = host.name.clone();
                let pause = match page.retry_after {
                    Some(_) => self.honoured(page.retry_after),
                    None => doubled(FIRST_PAUSE, slow_downs - 1),
                };
                self.schedule.pause(id, now.after(pause));
                self.events.push(Event::HostPaused { host: name, pause, status: page.record.status });
            }
            // The first failure of a page: its repetitions would say the same again.
            Verdict::Retry if lost_connection(&page.record) && !attempt.reconnected => {}
            Verdict::Retry if page.record.status.is_none() && attempt.failures == 0 => {
                host.transient_failures += 1;
                if host.transient_failures >= TRANSIENT_IN_A_ROW {
                    host.transient_failures = 0;
                    self.fail_host(id, attempt.started, page.record.error.as_ref(), now);
                }
            }
            Verdict::Retry => {}
            _ => host.slow_downs = 0,
        }
    }

    pub(super) fn fail_host(
        &mut self,
        id: OriginId,
        started: Moment,
        error: Option<&PageError>,
        now: Moment,
    ) {
        self.host_changed = true;
        let failed = self.schedule.host_failed(id, started, now);
        let host = self.schedule.host_mut(id);
        host.last_error = error.cloned().map(Box::new);
        let name = host.name.clone();
        match failed {
            Failed::Known => {}
            Failed::Paused(pause) => self.events.push(Event::HostPaused { host: name, pause, status: None }),
            Failed::GivenUp => {
                let reason = DrainReason::HostUnreachable;
                self.events.push(Event::Drained { name, reason, error: error.cloned() });
            }
        }
    }

    fn honoured(&self, retry_after: Option<Duration>) -> Duration {
        retry_after.unwrap_or_default().min(self.settings.max_retry_after)
    }

    /// The same candidate once more, under another spelling or with another cookie.
    fn ask_again(
        &mut self,
        from: OriginId,
        mut attempt: Attempt,
        record: Record,
        url: Box<str>,
        origin_length: u16,
        now: Moment,
    ) {
        self.count_bytes(&record);
        attempt.fallback = Some(Box::new(record));
        attempt.candidate.url = url;
        attempt.candidate.origin_length = origin_length;
        let to = self.schedule.origin_of(attempt.candidate.origin());
        self.go_away(&attempt, from, to);
        self.wait(to, attempt, now);
    }

    /// Lets an attempt wait until it may be repeated.
    fn wait(&mut self, id: OriginId, attempt: Attempt, at: Moment) {
        if let Some(keeper) = &self.keeper {
            self.journal.retry(&KeptAttempt::new(&attempt, keeper.wall_clock(at)));
        }
        self.held += 1;
        self.schedule.wait(id, attempt, at);
    }

    fn finish_page(&mut self, page: PageOutcome) -> Result<(), CoreError> {
        let PageOutcome { job, record, line, mut links, canonical, body, scope_generation, .. } = page;
        let candidate = &job.attempt.candidate;
        let found = Found {
            url: Some(&candidate.url),
            depth: candidate.depth,
            hops: candidate.hops + u32::from(candidate.via == Via::SitemapFile),
            carries_scope: candidate.carries_scope,
            scope_generation,
            is_resource: candidate.via == Via::Resource,
        };
        let mut accepted = Vec::new();
        if let Some(named) = canonical {
            accepted = self.ask(&named, &found)?;
            if named.links.iter().any(|link| self.read_pages.has(link.key)) {
                withhold(&mut links);
            }
        }
        if gives_links(&record, &links) {
            self.read_pages.add(candidate.key);
        }
        accepted.extend(self.ask(&links, &found)?);
        self.write_record(job.origin, &record, &line, body.as_deref())?;
        self.note_likeness(&record);
        for candidate in accepted {
            self.accept(&candidate)?;
        }
        self.acknowledge(job.attempt.ticket)?;
        self.buffers.extend(Buffers { links, line }.emptied());
        Ok(())
    }

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
    fn ask(&mut self, batch: &LinkBatch, found: &Found<'_>) -> Result<Vec<Candidate>, CoreError> {
        self.counters.discovered += batch.links.len() as u64 + batch.repeats + batch.dropped;
        self.counters.repeats += batch.repeats;
        self.count_dropped(batch.dropped, found)?;
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

    fn out_of_scope(&self, url: &str) -> Option<SkipReason> {
        self.scope.read().unwrap_or_else(PoisonError::into_inner).check(url, &Parts::of(url)).err()
    }

    fn move_scope(&mut self, from: &str, to: &str) {
        self.scope_mut().add_moved_seed(to);
        self.journal.scope(to);
        self.counters.scope_moves += 1;
        self.events.push(Event::ScopeMoved { from: from.into(), to: to.into() });
    }

    /// Bytes of an answer that does not end in the record: they were received all the same.
    fn count_bytes(&mut self, record: &Record) {
        self.counters.wire_bytes += record.wire_bytes;
        self.counters.decoded_bytes += record.decoded_bytes;
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

    fn apply_robots(&mut self, id: OriginId, answer: RobotsAnswer, now: Moment) {
        let (failures, last) = match &mut self.schedule.origin_mut(id).robots {
            RobotsState::Fetching { failures, last, .. } => (*failures, last.take()),
            _ => (0, None),
        };
        match answer {
            RobotsAnswer::Rules(rules) => {
                self.host_changed |= rules.crawl_delay().is_some();
                if let Some(wanted) = rules.crawl_delay()
                    && self.schedule.set_crawl_delay(id, wanted)
                {
                    self.counters.crawl_delays_clamped += 1;
                    let origin = self.schedule.origin(id).name.clone();
                    self.events.push(Event::CrawlDelayClamped { origin, wanted });
                }
                let until = now.after(ROBOTS_VALIDITY);
                self.schedule.host_answered(id);
                self.schedule.set_rules(id, rules, until, now);
            }
            RobotsAnswer::Elsewhere { url, hops } => {
                self.schedule.origin_mut(id).robots =
                    RobotsState::Redirected { to: url, hops, at: now, failures, last };
            }
            RobotsAnswer::Failed { retry_after, error } => {
                let failures = failures + 1;
                let pause = doubled(FIRST_PAUSE, failures - 1).max(self.honoured(retry_after));
                let at = now.after(pause);
                if retry_after.is_some() {
                    self.host_changed = true;
                    self.schedule.pause(id, at);
                }
                let refused = error.kind == ErrorKind::PrivateAddress;
                if failures < self.schedule.robots_failed(id, &error) && !refused {
                    self.schedule.origin_mut(id).robots = RobotsState::Retry { failures, at, last };
                } else if let Some(rules) = last {
                    let until = now.after(ROBOTS_VALIDITY);
                    self.schedule.origin_mut(id).robots = RobotsState::Known { rules, until };
                } else {
                    let reason = match error.kind.class() {
                        _ if refused => DrainReason::PrivateAddress,
                        FailureClass::Host => DrainReason::HostUnreachable,
                        _ => DrainReason::RobotsUnreachable,
                    };
                    self.host_changed = true;
                    self.schedule.give_up_origin(id, reason, &error);
                    let name = self.schedule.origin(id).name.clone();
                    self.events.push(Event::Drained { name, reason, error: Some(error) });
                }
            }
        }
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

/// Whether the connection broke before any answer.
fn lost_connection(record: &Record) -> bool {
    record.status.is_none()
        && record.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Disconnected)
}
