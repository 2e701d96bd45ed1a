//! What the rules say of a page of which nothing is written down, worked out anew.

use std::path::Path;

use super::super::lines::each_line;
use super::super::robots_kept::KeptAnswer;
use super::super::skip::{describe, skip_reason};
use super::Cause;
use super::ledger::Ledger;
use crate::config::{Config, RobotsPolicy};
use crate::frontier::DrainReason;
use crate::model::SkipReason;
use crate::robots::RobotsRules;
use crate::stats::Counters;
use crate::store::StateError;
use crate::url::Target;

/// What the robots.txt of a page's origin says of it, as it was kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// The line that disallows the page, and whose it is.
    pub(super) denied: Option<String>,
}

impl Rules {
    /// Reads the last rules that were kept for the origin of a page.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn read(path: &Path, length: u64, target: &Target) -> Result<Self, StateError> {
        let wanted = format!("{{\"origin\":\"{}\",", target.origin());
        let mut last: Option<KeptAnswer> = None;
        each_line(path, length, |line| {
            if line.starts_with(wanted.as_bytes())
                && let Ok(answer) = serde_json::from_slice::<KeptAnswer>(line)
                && answer.rules.is_some()
            {
                last = Some(answer);
            }
        })?;
        Ok(last.map_or_else(Self::default, |answer| Self::of(&answer, target)))
    }

    fn of(answer: &KeptAnswer, target: &Target) -> Self {
        let rules = RobotsRules::from_kept(answer.rules.as_deref().unwrap_or_default());
        let verdict = rules.verdict(&target.requested[target.origin_length()..]);
        let line = verdict.line.zip(verdict.rule).filter(|_| !verdict.allowed);
        let denied = line.map(|(line, rule)| {
            let cut = if answer.cut { "; its further rules were not kept" } else { "" };
            format!("{} of {}, line {line}: {rule}{cut}", answer.url, answer.fetched_at)
        });
        Self { denied }
    }
}

/// Why a page that is queued, or was, is not fetched.
pub(super) fn once_queued(ledger: &Ledger, rules: &Rules, config: &Config) -> Option<Cause> {
    let obeyed = config.robots == RobotsPolicy::Obey;
    if let Some(denied) = rules.denied.as_ref().filter(|_| obeyed) {
        return Some(Cause { reason: SkipReason::RobotsDenied, detail: Some(denied.clone()) });
    }
    let (reason, error) = ledger.standing.as_ref()?;
    let detail = match reason {
        DrainReason::HostLimit => {
            config.max_pages_per_host.map(|most| format!("--max-pages-per-host {most}"))
        }
        _ => error.as_ref().map(describe),
    };
    Some(Cause { reason: skip_reason(*reason), detail })
}

/// Why a page that was never queued could not have been.
pub(super) fn before_queue(ledger: &Ledger, target: &Target) -> Option<Cause> {
    if let Err(reason) = ledger.scope.check(&target.requested, &target.parts) {
        return Some(Cause { reason, detail: ledger.scope.rule(&target.requested, reason) });
    }
    // Links past the limit of a host are queued all the same.
    let (reason, error) = ledger.standing.as_ref().filter(|(reason, _)| *reason != DrainReason::HostLimit)?;
    Some(Cause { reason: skip_reason(*reason), detail: error.as_ref().map(describe) })
}

/// Whether some that were new were refused by a cap before they were queued.
pub(super) fn may_be_capped(counters: &Counters) -> bool {
    let caps = [SkipReason::QueryVariants, SkipReason::TooManySubdomains, SkipReason::Trap];
    caps.into_iter().any(|reason| counters.skipped_before_queue.of(reason) > 0)
}

/// The reasons that depend on where a link was found, and for which some were left out whose URLs
/// nobody wrote down.
pub(super) fn uncertain(counters: &Counters, rows_kept: bool) -> Vec<SkipReason> {
    let by_link = [
        SkipReason::TooDeep,
        SkipReason::Nofollow,
        SkipReason::TooManyRedirects,
        SkipReason::QueryVariants,
        SkipReason::TooManySubdomains,
        SkipReason::Trap,
        SkipReason::NotCanonical,
        SkipReason::SitemapStale,
    ];
    let by_link = by_link.into_iter().filter(|_| !rows_kept);
    // Of these no row names the URL.
    let all = by_link.chain([SkipReason::TooManyLinks]);
    all.filter(|reason| counters.skipped_before_queue.of(*reason) > 0).collect()
}
