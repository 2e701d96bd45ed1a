//! One page looked for in a crawl directory: its record, its place, its rows, and what is left to be
//! worked out anew, in this order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem::Finder;

use super::super::lines::each_line;
use super::deduce::{Rules, before_queue, may_be_capped, once_queued, uncertain};
use super::ledger::Ledger;
use super::{Cause, ExplainError, Fate, Found, Linked, Tried};
use crate::config::{Config, Dedup};
use crate::model::{LinkBatch, Record, SkipReason, Via};
use crate::sink::ResultFile;
use crate::store::{FileSystem, StateError};
use crate::url::{Canonicalizer, Target};

/// A row of `skipped.jsonl`.
#[derive(Debug, serde::Deserialize)]
struct Row {
    url: String,
    reason: SkipReason,
    detail: Option<String>,
    via: Via,
    depth: u32,
    referrer: Option<String>,
}

/// One page that is looked for in a crawl directory.
pub(super) struct Search<'a> {
    pub(super) directory: &'a Path,
    pub(super) config: &'a Config,
    pub(super) canonicalizer: &'a Canonicalizer,
    pub(super) target: &'a Target,
}

impl Search<'_> {
    /// What became of it, the first page that redirects to it, and how often it was linked.
    pub(super) fn fate(&self) -> Result<(Fate, Option<String>, Linked), ExplainError> {
        let ledger = Ledger::read(self.directory, self.config, self.canonicalizer, self.target)?;
        let (record, redirected_from) = self.record(&ledger)?;
        let fate = match record {
            Some(record) => Fate::Recorded(Box::new(record)),
            None => self.without_record(&ledger)?,
        };
        let linked = Linked { url: ledger.links, host: ledger.links_to_host };
        Ok((fate, redirected_from, linked))
    }

    fn without_record(&self, ledger: &Ledger) -> Result<Fate, ExplainError> {
        let tried = ledger.attempt.as_ref().map(Tried::from);
        if let Some(candidate) = &ledger.queued {
            let found = Found::from(candidate);
            if ledger.in_flight {
                return Ok(Fate::InFlight { found, tried });
            }
            let ahead = once_queued(ledger, &self.rules(ledger)?, self.config);
            return Ok(Fate::Queued { found, tried, ahead });
        }
        if let (Some(candidate), false) = (&ledger.doubt, ledger.accepted) {
            return Ok(Fate::Doubted(candidate.into()));
        }
        if let Some(mut skipped) = self.skipped(ledger)? {
            // The row names the line, and not whose it is.
            if let Fate::Skipped { cause: Cause { reason: SkipReason::RobotsDenied, detail }, .. } =
                &mut skipped
            {
                *detail = self.rules(ledger)?.denied.or_else(|| detail.take());
            }
            return Ok(skipped);
        }
        let earlier = self.earlier(ledger)?;
        if ledger.accepted {
            let cause = once_queued(ledger, &self.rules(ledger)?, self.config);
            // A seed has its place whatever an earlier crawl fetched, so what speaks against it comes first.
            if let (None, Some(earlier)) = (&cause, &earlier) {
                return Ok(Fate::Refused(earlier.clone()));
            }
            // What a cap refuses has its key among those of what was queued.
            if cause.is_some() || !may_be_capped(&ledger.counters) {
                return Ok(Fate::Dropped { cause });
            }
        }
        Ok(match before_queue(ledger, self.target) {
            Some(cause) => Fate::Refused(cause),
            None => Fate::Unmet {
                uncertain: uncertain(&ledger.counters, self.config.log_skipped),
                filter_decides: self.config.dedup == Dedup::Bloom,
                ahead: earlier.or(once_queued(ledger, &self.rules(ledger)?, self.config)),
            },
        })
    }

    /// That an earlier crawl fetched it, where one did.
    fn earlier(&self, ledger: &Ledger) -> Result<Option<Cause>, StateError> {
        let state = self.directory.join("state");
        let rule = ledger.earlier.rule(Arc::new(FileSystem), &state, &self.target.canonical)?;
        Ok(rule.map(|rule| Cause { reason: SkipReason::AlreadyCrawled, detail: Some(rule) }))
    }

    fn path(&self, file: ResultFile) -> PathBuf {
        self.directory.join(file.name())
    }

    fn length(ledger: &Ledger, file: ResultFile) -> u64 {
        ledger.lengths.get(&file.number()).copied().unwrap_or(0)
    }

    /// What the robots.txt that were kept say of the page.
    fn rules(&self, ledger: &Ledger) -> Result<Rules, StateError> {
        let length = Self::length(ledger, ResultFile::Robots);
        Rules::read(&self.path(ResultFile::Robots), length, self.target)
    }

    /// The page's record, and the first page that redirects to it.
    fn record(&self, ledger: &Ledger) -> Result<(Option<Record>, Option<String>), ExplainError> {
        let finders = [&self.target.canonical, &self.target.requested]
            .map(|url| Finder::new(url.as_bytes()).into_owned());
        let same = self.target.canonical == self.target.requested;
        let (mut found, mut from): (Option<Record>, Option<String>) = (None, None);
        let length = Self::length(ledger, ResultFile::Pages);
        each_line(&self.path(ResultFile::Pages), length, |line| {
            let [canonical, requested] = &finders;
            if canonical.find(line).is_none() && (same || requested.find(line).is_none()) {
                return;
            }
            let Ok(record) = serde_json::from_slice::<Record>(line) else { return };
            // One that the process gave up does not say its canonical form.
            let canonical = || self.canonicalizer.parse(&record.url).ok().map(|url| url.canonical);
            if record.canonical.clone().or_else(canonical).as_ref() == Some(&self.target.canonical) {
                found.get_or_insert(record);
            } else if from.is_none() && record.redirect_to.as_ref() == Some(&self.target.requested) {
                from = Some(record.url);
            }
        })?;
        Ok((found, from))
    }

    /// What the rows of skipped URLs say of the page.
    fn skipped(&self, ledger: &Ledger) -> Result<Option<Fate>, ExplainError> {
        let (mut last, mut rows) = (None, 0);
        let host = Finder::new(self.target.host()).into_owned();
        let rules = &self.config.canonicalization;
        // Where hosts are folded, the other one stands in the row.
        let any_host = rules.fold_www;
        let length = Self::length(ledger, ResultFile::Skipped);
        each_line(&self.path(ResultFile::Skipped), length, |line| {
            if !any_host && host.find(line).is_none() {
                return;
            }
            let Ok(row) = serde_json::from_slice::<Row>(line) else { return };
            // One row stands for all links that a page has too many of, and names the page.
            let of_page =
                row.reason == SkipReason::TooManyLinks && row.referrer.as_deref() == Some(&*row.url);
            let cut = row.url.len() > LinkBatch::MAX_UNUSABLE && row.url.ends_with('…');
            if !of_page
                && !cut
                && self.canonicalizer.parse(&row.url).is_ok_and(|url| url.canonical == self.target.canonical)
            {
                rows += 1;
                last = Some(row);
            }
        })?;
        Ok(last.map(|Row { url, reason, detail, via, depth, referrer }| Fate::Skipped {
            found: Found { url, via, depth, referrer },
            cause: Cause { reason, detail },
            rows,
        }))
    }
}
