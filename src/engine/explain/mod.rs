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
mod search;

use std::fs;
use std::path::{Path, PathBuf};

use self::search::Search;
use super::inspect;
use super::journal::KeptAttempt;
use crate::config::{ConfigError, Options};
use crate::model::{Candidate, PageError, Record, SkipReason, Via};
use crate::scope::canonical_rules;
use crate::sink::holds_crawl;
use crate::sketch::CountEstimate;
use crate::store::StateError;
use crate::url::{Canonicalizer, Reject, without_userinfo};

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

/// How often links were met, as counts of links that hardly take memory tell it: never too few.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Linked {
    /// To the URL, each page counted once.
    pub url: CountEstimate,
    /// To any URL of its host.
    pub host: CountEstimate,
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
    /// How often it was linked; absent where it cannot be requested.
    pub linked: Option<Linked>,
    /// A page that redirects to it.
    pub redirected_from: Option<String>,
    /// What is damaged in the crawl directory, and where; the rest may be wrong then.
    pub damage: Option<String>,
    /// Whether a process is at the crawl.
    pub running: bool,
    /// Why the crawl ended last, where it ended in order.
    pub end_reason: Option<String>,
    /// `--max-body`, which may have cut its body.
    pub max_body: u64,
}

impl Explanation {
    /// Says what became of a URL in the crawl of a directory. Where no process is at it, all that it
    /// stands on is held against its checksums.
    ///
    /// # Errors
    /// [`ExplainError`] where there is no crawl, or its configuration or state cannot be read.
    pub fn of(url: &str, directory: &Path) -> Result<Self, ExplainError> {
        if !holds_crawl(directory)? {
            return Err(ExplainError::NoCrawl(directory.into()));
        }
        let running = inspect::is_running(directory)?;
        let damage = if running { None } else { inspect::damage(directory)?.map(|damage| damage.error) };
        match Self::told(url, directory, running) {
            Ok(explanation) => Ok(Self { damage: damage.map(|error| error.to_string()), ..explanation }),
            // Whatever went wrong, it is no wonder.
            Err(error) => Err(damage.map_or(error, ExplainError::State)),
        }
    }

    fn told(url: &str, directory: &Path, running: bool) -> Result<Self, ExplainError> {
        let config = Options::read(&directory.join("crawl.toml"))?.resolve()?;
        let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
        let (requested, canonical, fate, redirected_from, linked) = match canonicalizer.parse(url) {
            Err(reject) => {
                let text = without_userinfo(url.trim()).into_owned();
                (text.clone(), text, Fate::Unusable(unusable(reject)), None, None)
            }
            Ok(target) => {
                let search =
                    Search { directory, config: &config, canonicalizer: &canonicalizer, target: &target };
                let (fate, from, linked) = search.fate()?;
                (target.requested, target.canonical, fate, from, Some(linked))
            }
        };
        let end_reason = if running { None } else { end_reason(directory) };
        Ok(Self {
            requested,
            canonical,
            fate,
            linked,
            redirected_from,
            damage: None,
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
