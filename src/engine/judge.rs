//! What an answer means for its page, by its head alone: a record, a repetition, a redirect.

use std::sync::PoisonError;
use std::time::Duration;

use super::hashes::hashes;
use super::job::{PageOutcome, Verdict};
use super::sitemap;
use super::worker::Shared;
use crate::fetch::Response;
use crate::model::{ErrorKind, FailureClass, PageError, SkipReason, Via};
use crate::url::{Canonicalizer, Parts, Reject, Target};

pub(super) fn verdict_of(kind: ErrorKind) -> Verdict {
    match kind.class() {
        FailureClass::Transient => Verdict::Retry,
        FailureClass::Permanent => Verdict::Final,
        FailureClass::Host => Verdict::HostFailure,
    }
}

/// What `Retry-After` asks for (RFC 9110 section 10.2.3: seconds or a date).
pub(super) fn retry_after(response: &Response) -> Option<Duration> {
    pause_of(&response.header("retry-after")?)
}

/// The pause that a value of `Retry-After` names.
pub(super) fn pause_of(value: &str) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Too many digits are a long time too; the clamp is the owner's.
        return Some(value.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    date.duration_since(std::time::SystemTime::now()).ok()
}

/// Where a redirect leads; `None` without a `Location`.
pub(super) fn redirect_target(
    canonicalizer: &Canonicalizer,
    url: &str,
    response: &Response,
) -> Option<Result<Target, Reject>> {
    let location = response.header("location")?;
    let base = ::url::Url::parse(url).ok()?;
    Some(canonicalizer.resolver(&base, None).target(&location))
}

pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Statuses from here on are of no class, and mean what 500 does (RFC 9110 section 15).
const NO_CLASS: u16 = 600;

/// Whether the head alone says what is to be done; a damaged body changes nothing then.
pub(super) fn told_by_head(status: u16) -> bool {
    is_redirect(status) || matches!(status, 400 | 404 | 408 | 410 | 425 | 429 | 500..=599 | NO_CLASS..)
}

/// Whether an answer with this status says that there may be another one later.
pub(super) fn is_for_now(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502..=504 | NO_CLASS..)
}

/// What is to be done about an answer, by its head.
pub(super) fn judge(shared: &Shared, outcome: &mut PageOutcome, status: u16, response: &Response) {
    match status {
        _ if is_redirect(status) => judge_redirect(shared, outcome, response),
        429 | 503 => {
            outcome.retry_after = retry_after(response);
            outcome.verdict = Verdict::SlowDown;
        }
        408 | 425 | 500 | 502 | 504 | NO_CLASS.. => outcome.verdict = Verdict::Retry,
        400 | 404 | 410 if !outcome.job.attempt.respelled => {
            if let Some((url, origin_length)) = other_spelling(shared, &outcome.record.url) {
                outcome.verdict = Verdict::Respell { url, origin_length };
            }
        }
        _ => {}
    }
}

fn judge_redirect(shared: &Shared, outcome: &mut PageOutcome, response: &Response) {
    let candidate = &outcome.job.attempt.candidate;
    let target = match redirect_target(&shared.canonicalizer, &candidate.url, response) {
        Some(Ok(target)) => target,
        Some(Err(reject)) => {
            outcome.record.error =
                Some(PageError { kind: ErrorKind::BadRedirect, detail: reject.to_string() });
            return;
        }
        None => {
            let detail = "redirect without a location".to_owned();
            outcome.record.error = Some(PageError { kind: ErrorKind::BadRedirect, detail });
            return;
        }
    };
    outcome.record.redirect_to = Some(target.requested.clone());
    let hashes = hashes(&shared.secret, &target.canonical);
    let is_sitemap = candidate.via == Via::SitemapFile;
    let most = if is_sitemap { sitemap::MOST_STEPS } else { shared.config.max_redirects };
    let too_many = candidate.hops >= most;
    if too_many {
        let what =
            if is_sitemap { "steps from sitemap to sitemap, redirects among them" } else { "redirects" };
        let detail = format!("more than {most} {what} in a row");
        outcome.record.error = Some(PageError { kind: ErrorKind::TooManyRedirects, detail });
    }
    let scope = shared.scope.read().unwrap_or_else(PoisonError::into_inner);
    outcome.scope_generation = scope.generation();
    let mut wanted = if is_sitemap {
        let most = shared.config.max_url_length;
        sitemap::wanted(&scope, most, &target.requested, &target.parts, candidate.carries_scope)
    } else {
        scope.check(&target.requested, &target.parts)
    };
    // the scope moves along with a seed, what the user excludes does not
    let moves = candidate.carries_scope && wanted == Err(SkipReason::OutOfScope);
    if moves
        && !is_sitemap
        && let Err(reason) = scope.check_unmoved(&target.requested)
    {
        wanted = Err(reason);
    }
    let moves = moves && wanted == Err(SkipReason::OutOfScope);
    if hashes.key == candidate.key && (wanted.is_ok() || moves) {
        if target.requested == *candidate.url && !response.set_new_cookie() {
            let detail = "redirects to itself".to_owned();
            outcome.record.error = Some(PageError { kind: ErrorKind::RedirectLoop, detail });
        } else if !too_many {
            let origin_length = target.parts.origin_length;
            outcome.verdict = Verdict::SamePage { url: target.requested.into(), origin_length };
        }
        return;
    }
    let skip = if too_many { Some(SkipReason::TooManyRedirects) } else { wanted.err() };
    let via = if is_sitemap { Via::SitemapFile } else { Via::Redirect };
    outcome.links.push(&target.requested, target.parts.origin_length, hashes, via, skip);
}

pub(super) fn canonical_of(shared: &Shared, url: &str) -> Option<String> {
    let mut canonical = String::new();
    shared.canonicalizer.canonicalize(url, &Parts::of(url), &mut canonical);
    (canonical != url).then_some(canonical)
}

/// The canonical spelling of a URL, as it can be requested, where that is another one.
fn other_spelling(shared: &Shared, url: &str) -> Option<(Box<str>, u16)> {
    let canonical = canonical_of(shared, url)?;
    let target = shared.canonicalizer.parse(&canonical).ok()?;
    let scope = shared.scope.read().unwrap_or_else(PoisonError::into_inner);
    scope.check(&target.requested, &target.parts).ok()?;
    (target.requested != url).then(|| (target.requested.into_boxed_str(), target.parts.origin_length))
}
