//! What the owner makes of an outcome: ask, sink, frontier, in that order.

use std::time::Duration;

use super::canonical::{gives_links, withhold};
use super::core::{Core, CoreError, ROBOTS_VALIDITY};
use super::intake::Found;
use super::job::{Buffers, Outcome, PageOutcome, RobotsAnswer, Verdict};
use super::journal::KeptAttempt;
use super::observer::Event;
use crate::frontier::{Attempt, DrainReason, FIRST_PAUSE, Failed, Moment, OriginId, RobotsState, doubled};
use crate::model::{ErrorKind, FailureClass, PageError, Record, SkipReason, Via};

/// Failures in a row that are nobody's fault in particular, after which they count as the host's.
const TRANSIENT_IN_A_ROW: u32 = 10;

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
            if named.links.iter().any(|link| self.read_pages.has(link.key, candidate.depth)) {
                withhold(&mut links);
            }
        }
        if gives_links(&record, &links) {
            self.read_pages.add(candidate.key, candidate.depth);
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

    /// Bytes of an answer that does not end in the record: they were received all the same.
    fn count_bytes(&mut self, record: &Record) {
        self.counters.wire_bytes += record.wire_bytes;
        self.counters.decoded_bytes += record.decoded_bytes;
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

/// Whether the connection broke before any answer.
fn lost_connection(record: &Record) -> bool {
    record.status.is_none()
        && record.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Disconnected)
}
