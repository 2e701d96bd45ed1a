//! What became of a URL, and why: from what the crawl has written, beside it or after it.
//!
//! Only reads, and takes no lock. What counts is what the state vouches for: lines that no record of
//! the log names are not looked at, since they would be cut off. So a running crawl is told of as it
//! stood a moment ago, and one whose process died as it will go on.
//!
//! In order: the record of the page; its place in queue, in flight or among the doubts; the rows of
//! skipped URLs; and where none of them tells, what the rules say, worked out anew.
//!
//! **Memory**: a line at a time, a block of the frontier at a time, and what a crawl holds of its
//! queues and hosts. **Time** grows with the files of results, and with the frontier on disk.

mod deduce;
mod ledger;
mod lines;

use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;

use self::deduce::{Rules, before_queue, once_queued, uncertain};
use self::ledger::Ledger;
use self::lines::each_line;
use super::journal::KeptAttempt;
use crate::config::{Config, ConfigError, Dedup, Options};
use crate::model::{Candidate, LinkBatch, PageError, Record, SkipReason, Via};
use crate::scope::canonical_rules;
use crate::sink::ResultFile;
use crate::store::{StateError, lock_holder};
use crate::url::{Canonicalizer, Reject, Target, without_userinfo};

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// There is no crawl in the directory.
    #[error("{}: holds no crawl; name the --output of one", .0.display())]
    NoCrawl(PathBuf),
    /// Its configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its state cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Where a URL was found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Found {
    /// The URL as it is requested.
    pub url: String,
    /// How it was found.
    pub via: Via,
    /// Links followed from a seed.
    pub depth: u32,
    /// The page it was found on.
    pub referrer: Option<String>,
}

impl From<&Candidate> for Found {
    fn from(candidate: &Candidate) -> Self {
        Self {
            url: candidate.url.to_string(),
            via: candidate.via,
            depth: candidate.depth,
            referrer: candidate.referrer.as_deref().map(str::to_owned),
        }
    }
}

/// Why a URL is not fetched.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Cause {
    /// The reason.
    pub reason: SkipReason,
    /// What decided it: the option and its value, the line of robots.txt, the host's last error.
    pub detail: Option<String>,
}

/// Requests that were made for a page that is to be asked again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Tried {
    /// How many.
    pub requests: u32,
    /// The status code of the last answer, where one came.
    pub status: Option<u16>,
    /// What went wrong last, where something did.
    pub error: Option<PageError>,
}

impl From<&KeptAttempt> for Tried {
    fn from(attempt: &KeptAttempt) -> Self {
        let last = attempt.fallback.as_deref();
        Self {
            requests: attempt.requests,
            status: last.and_then(|record| record.status),
            error: last.and_then(|record| record.error.clone()),
        }
    }
}

/// What became of a URL.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is no URL that could be requested; what is wrong with it.
    Unusable(Cause),
    /// It was asked, and this came of it.
    Recorded(Box<Record>),
    /// It is being asked; or it was when the process ended, and is to be asked again.
    InFlight {
        /// Where it was found.
        found: Found,
        /// What happened to it before.
        tried: Option<Tried>,
    },
    /// It waits for its turn.
    Queued {
        /// Where it was found.
        found: Found,
        /// What happened to it before.
        tried: Option<Tried>,
        /// Why it will not be fetched when its turn comes, as far as that is known.
        ahead: Option<Cause>,
    },
    /// It is not decided whether it was met before.
    Doubted(Found),
    /// It is not fetched, by a row of `skipped.jsonl`.
    Skipped {
        /// Where it was found last.
        found: Found,
        /// Why it is not fetched, by the last row.
        cause: Cause,
        /// How many rows there are.
        rows: u64,
    },
    /// It was queued, and skipped when its turn came; nobody wrote down why.
    Dropped {
        /// What the rules say, worked out anew.
        cause: Option<Cause>,
    },
    /// It was never queued, and could not have been, by what the rules say, worked out anew.
    Refused(Cause),
    /// It was never queued, and no rule that is known speaks against it.
    Unmet {
        /// Reasons for which links were left out in this crawl, of which nobody wrote down the URLs.
        uncertain: Vec<SkipReason>,
        /// The filter alone decides what is new, and errs.
        filter_decides: bool,
        /// Why it would not be fetched, were it met.
        ahead: Option<Cause>,
    },
}

/// What can be said of a URL.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Explanation {
    /// The URL as it would be requested; as it was given, where it cannot be.
    pub requested: String,
    /// Its canonical form: all spellings with the same one are one page.
    pub canonical: String,
    /// What became of it.
    pub fate: Fate,
    /// A page that redirects to it.
    pub redirected_from: Option<String>,
    /// Whether a process is at the crawl.
    pub running: bool,
    /// Why the crawl ended last, where it ended in order.
    pub end_reason: Option<String>,
    /// `--max-body`, which may have cut its body.
    pub max_body: u64,
}

impl Explanation {
    /// Says what became of a URL in the crawl of a directory.
    ///
    /// # Errors
    /// [`ExplainError`] where there is no crawl, or its configuration or state cannot be read.
    pub fn of(url: &str, directory: &Path) -> Result<Self, ExplainError> {
        let configuration = directory.join("crawl.toml");
        if !configuration.is_file() {
            return Err(ExplainError::NoCrawl(directory.into()));
        }
        let config = Options::read(&configuration)?.resolve()?;
        let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
        let lock = directory.join("state/lock");
        let running = lock_holder(&lock).map_err(StateError::io(&lock))?.is_some();
        let (requested, canonical, fate, redirected_from) = match canonicalizer.parse(url) {
            Err(reject) => {
                let text = without_userinfo(url.trim()).into_owned();
                (text.clone(), text, Fate::Unusable(unusable(reject)), None)
            }
            Ok(target) => {
                let search =
                    Search { directory, config: &config, canonicalizer: &canonicalizer, target: &target };
                let (fate, from) = search.fate()?;
                (target.requested, target.canonical, fate, from)
            }
        };
        let end_reason = if running { None } else { end_reason(directory) };
        Ok(Self {
            requested,
            canonical,
            fate,
            redirected_from,
            running,
            end_reason,
            max_body: config.max_body,
        })
    }

    /// Whether anything is known of the URL beyond what anybody could guess.
    pub fn is_known(&self) -> bool {
        !matches!(self.fate, Fate::Unmet { .. })
    }
}

fn unusable(reject: Reject) -> Cause {
    match reject {
        Reject::OtherScheme(scheme) => {
            Cause { reason: SkipReason::OtherScheme, detail: Some(format!("scheme {scheme}")) }
        }
        Reject::Unparsable(problem) => Cause { reason: SkipReason::BadUrl, detail: Some(problem) },
    }
}

fn end_reason(directory: &Path) -> Option<String> {
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("summary.json")).ok()?).ok()?;
    summary["end_reason"].as_str().map(str::to_owned)
}

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
struct Search<'a> {
    directory: &'a Path,
    config: &'a Config,
    canonicalizer: &'a Canonicalizer,
    target: &'a Target,
}

impl Search<'_> {
    fn fate(&self) -> Result<(Fate, Option<String>), ExplainError> {
        let ledger = Ledger::read(self.directory, self.config, self.canonicalizer, self.target)?;
        let (record, redirected_from) = self.record(&ledger)?;
        let fate = match record {
            Some(record) => Fate::Recorded(Box::new(record)),
            None => self.without_record(&ledger)?,
        };
        Ok((fate, redirected_from))
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
        if ledger.accepted {
            return Ok(Fate::Dropped { cause: once_queued(ledger, &self.rules(ledger)?, self.config) });
        }
        Ok(match before_queue(ledger, self.target) {
            Some(cause) => Fate::Refused(cause),
            None => Fate::Unmet {
                uncertain: uncertain(&ledger.counters, self.config.log_skipped),
                filter_decides: self.config.dedup == Dedup::Bloom,
                ahead: once_queued(ledger, &self.rules(ledger)?, self.config),
            },
        })
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
            if *record.canonical.as_ref().unwrap_or(&record.url) == self.target.canonical {
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
