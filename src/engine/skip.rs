//! Candidates that end without a request: counted, with the reason and what it is owed to.

use std::sync::PoisonError;

use super::core::{Core, CoreError};
use crate::frontier::{Attempt, DrainReason, OriginId, RobotsState};
use crate::model::{Candidate, ErrorKind, PageError, SkipReason};
use crate::sink::{ResultFiles, Sink, Skipped, encode_line};

impl Core {
    /// Ends a candidate without (another) request: what was asked before ends in its
    /// record, what was never asked is a counted skip.
    pub(super) fn skip_attempt(
        &mut self,
        id: OriginId,
        mut attempt: Attempt,
        reason: SkipReason,
    ) -> Result<(), CoreError> {
        if let Some(record) = attempt.fallback.take() {
            self.skipped_at_once += 1;
            let mut line = Vec::new();
            encode_line(&*record, &mut line)?;
            self.write_record(id, &record, &line, None)?;
        } else {
            self.skip_candidate(&attempt.candidate, reason)?;
        }
        self.acknowledge(attempt.ticket)
    }

    /// Counts a new candidate that is not queued, and writes its row.
    pub(super) fn skip_found(&mut self, candidate: &Candidate, reason: SkipReason) -> Result<(), CoreError> {
        self.counters.skipped_before_queue.add(reason, 1);
        self.write_skip(candidate, reason)
    }

    /// Counts a candidate that was never asked, and writes its row.
    pub(super) fn skip_candidate(
        &mut self,
        candidate: &Candidate,
        reason: SkipReason,
    ) -> Result<(), CoreError> {
        self.skipped_at_once += 1;
        self.counters.skipped_after_queue.add(reason, 1);
        self.write_skip(candidate, reason)
    }

    /// Keeps an example of each reason.
    pub(super) fn note_example(&mut self, reason: SkipReason, url: &str) {
        if let Some(kept) = self.examples.note(reason, url) {
            self.journal.example(reason, kept);
        }
    }

    fn write_skip(&mut self, candidate: &Candidate, reason: SkipReason) -> Result<(), CoreError> {
        self.note_example(reason, &candidate.url);
        if !self.settings.log_skipped {
            return Ok(());
        }
        let detail = match reason {
            SkipReason::RobotsDenied => self.rule_that_denies(candidate),
            SkipReason::RobotsUnreachable | SkipReason::HostUnreachable | SkipReason::PrivateAddress => {
                self.last_error(candidate.origin())
            }
            _ => self.rule_behind(&candidate.url, reason),
        };
        let row = Skipped {
            url: &candidate.url,
            reason,
            detail: detail.as_deref(),
            via: candidate.via,
            depth: candidate.depth,
            referrer: candidate.referrer.as_deref(),
        };
        Self::write_skipped(&mut self.files, &mut self.sinks, &row)
    }

    /// Gives a row to every sink.
    pub(super) fn write_skipped(
        files: &mut Option<ResultFiles>,
        sinks: &mut [Box<dyn Sink>],
        row: &Skipped<'_>,
    ) -> Result<(), CoreError> {
        if let Some(files) = files {
            files.skipped(row)?;
        }
        for sink in sinks {
            sink.skipped(row)?;
        }
        Ok(())
    }

    fn rule_that_denies(&mut self, candidate: &Candidate) -> Option<String> {
        let id = self.schedule.find(candidate.origin())?;
        let RobotsState::Known { rules, .. } = &self.schedule.origin(id).robots else { return None };
        let verdict = rules.verdict(&candidate.url[usize::from(candidate.origin_length)..]);
        verdict.line.zip(verdict.rule).map(|(line, rule)| format!("robots.txt line {line}: {rule}"))
    }

    /// What an origin, or else its host, failed of last.
    pub(super) fn last_error(&mut self, origin: &str) -> Option<String> {
        if let Some(id) = self.schedule.find(origin) {
            let of_origin = self.schedule.origin(id).last_error.as_deref();
            return of_origin.or(self.schedule.host(id).last_error.as_deref()).map(describe);
        }
        self.schedule.standing(origin).and_then(|(_, error)| error).as_ref().map(describe)
    }

    /// The option that a skip is owed to, as a person would type it.
    pub(super) fn rule_behind(&self, url: &str, reason: SkipReason) -> Option<String> {
        let caps = &self.settings.caps;
        match reason {
            SkipReason::TooDeep => caps.depth.map(|depth| format!("--depth {depth}")),
            SkipReason::TooManyRedirects => Some(format!("--max-redirects {}", caps.max_redirects)),
            SkipReason::SitemapStale => {
                caps.sitemap_since.as_ref().map(|since| format!("--sitemap-since {since}"))
            }
            SkipReason::HostLimit => {
                caps.max_pages_per_host.map(|most| format!("--max-pages-per-host {most}"))
            }
            SkipReason::AlreadyCrawled => self.crawled.rule(),
            SkipReason::QueryVariants | SkipReason::TooManySubdomains | SkipReason::Trap => {
                self.traps.rule(url, reason)
            }
            _ => self.scope.read().unwrap_or_else(PoisonError::into_inner).rule(url, reason),
        }
    }
}

/// What is told of a host or an origin that was given up.
pub(super) fn describe(error: &PageError) -> String {
    match (error.kind, error.detail.as_str()) {
        // The reason of the skip has the same name, and need not be told twice.
        (ErrorKind::PrivateAddress, "") => "--allow-private allows it".to_owned(),
        (ErrorKind::PrivateAddress, detail) => detail.to_owned(),
        (kind, "") => kind.name().to_owned(),
        (kind, detail) => format!("{}: {detail}", kind.name()),
    }
}

pub(super) fn skip_reason(reason: DrainReason) -> SkipReason {
    match reason {
        DrainReason::RobotsUnreachable => SkipReason::RobotsUnreachable,
        DrainReason::HostUnreachable => SkipReason::HostUnreachable,
        DrainReason::HostLimit => SkipReason::HostLimit,
        DrainReason::PrivateAddress => SkipReason::PrivateAddress,
    }
}
