//! `dragline explain URL -o DIR`
//!
//! Owns the sentences; what they tell is found out by the library.

use std::path::PathBuf;

use dragline::config::defaults;
use dragline::engine::{Cause, Explanation, Fate, Found, Tried};
use dragline::human::{bytes, grouped, of};

use dragline::model::{Record, SkipReason, Truncation, Via};
use dragline::sink::pretty_json;
use dragline::sketch::CountEstimate;

use super::{ExitCode, Failure, escape, print};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The URL that is asked about
    #[arg(value_name = "URL")]
    url: String,
    /// The crawl directory
    #[arg(short, long, value_name = "DIR", default_value = defaults::OUTPUT)]
    output: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Tells what became of a URL, beside the crawl or after it.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let explanation = Explanation::of(&arguments.url, &arguments.output)?;
    if arguments.json {
        let text = pretty_json(&explanation);
        print(&text.map_err(|error| Failure::new(ExitCode::Failed, error.to_string()))?)?;
    } else {
        print(&format!("{}\n", told(&explanation)))?;
    }
    match explanation.damage {
        Some(damage) => Err(Failure::new(ExitCode::StateDamaged, damage).with_remedy()),
        None if explanation.is_known() => Ok(ExitCode::Done),
        None => Ok(ExitCode::Failed),
    }
}

/// The whole answer: which URL, what became of it, and which other spellings play a part.
fn told(explanation: &Explanation) -> String {
    let mut sentences = vec![format!("{}: {}.", shown(&explanation.requested), fate(explanation))];
    if let Some(spelling) = other_spelling(explanation) {
        sentences.push(spelling);
    }
    if let Some(from) = &explanation.redirected_from
        && !is_redirect_target(&explanation.fate)
    {
        sentences.push(format!("{} redirects to it.", shown(from)));
    }
    if let Some(linked) = &explanation.linked {
        sentences.push(links("it", &linked.url));
        sentences.push(links("its host", &linked.host));
    }
    if explanation.damage.is_some() {
        sentences.push("The crawl directory is damaged, so this may be wrong.".into());
    }
    sentences.join(" ")
}

/// How often something was linked. What is no more than the counts may be off by is not told as a figure.
fn links(to: &str, linked: &CountEstimate) -> String {
    match linked.at_most {
        0 => format!("No link to {to} was met."),
        most if linked.is_noise() => {
            format!(
                "Links to {to} were met {} times at most (an estimate; fewer are not told apart).",
                grouped(most)
            )
        }
        most => format!(
            "Links to {to} were met ~{} times (an estimate, too high by no more than {} for {:.0} of 100).",
            grouped(most),
            grouped(linked.off_by),
            (linked.confidence * 100.0).floor()
        ),
    }
}

/// Whether it is said already which page redirects here.
fn is_redirect_target(fate: &Fate) -> bool {
    let via = match fate {
        Fate::Recorded(record) => Some(record.via),
        fate => found(fate).map(|found| found.via),
    };
    via == Some(Via::Redirect)
}

/// Where a URL without a record was found.
fn found(fate: &Fate) -> Option<&Found> {
    match fate {
        Fate::InFlight { found, .. }
        | Fate::Queued { found, .. }
        | Fate::Skipped { found, .. }
        | Fate::Doubted(found) => Some(found),
        _ => None,
    }
}

fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    escape::escape(text)
}

fn fate(explanation: &Explanation) -> String {
    let so_far = if explanation.running { " so far" } else { "" };
    match &explanation.fate {
        Fate::Unusable(cause) => format!("cannot be crawled: {}", because(cause)),
        Fate::Recorded(record) => recorded(record, explanation.max_body),
        Fate::InFlight { found, tried } => {
            let state = if explanation.running {
                "being fetched now"
            } else {
                "was being fetched when the crawl stopped, and will be asked again"
            };
            format!("{state}{}; {}", before(tried.as_ref()), place(found))
        }
        Fate::Queued { found, tried, ahead } => queued(explanation, found, tried.as_ref(), ahead.as_ref()),
        Fate::Doubted(found) => format!(
            "met, and not decided yet whether it was met before: the filter says that it may have been; {}",
            place(found)
        ),
        Fate::Skipped { found, cause, rows } => {
            let often = if *rows > 1 {
                format!(" (the last of {} rows of it)", grouped(*rows))
            } else {
                String::new()
            };
            format!("not fetched: {}{often}; {}", because(cause), place(found))
        }
        Fate::Dropped { cause: Some(cause) } => {
            format!("queued, and not fetched when its turn came: {}, worked out anew", because(cause))
        }
        Fate::Dropped { cause: None } => {
            "queued, and not fetched when its turn came; why cannot be known without --log-skipped".into()
        }
        Fate::Refused(cause) => {
            format!("never queued{so_far}, and could not be: {}, worked out anew", because(cause))
        }
        Fate::Unmet { uncertain, filter_decides, ahead } => {
            unmet(so_far, uncertain, *filter_decides, ahead.as_ref())
        }
    }
}

fn recorded(record: &Record, max_body: u64) -> String {
    let status = record.status.map(|status| format!("status {status}"));
    let outcome = match (&record.error, status) {
        (Some(error), status) => {
            let status = status.map_or_else(String::new, |status| format!(" after {status}"));
            let detail =
                if error.detail.is_empty() { String::new() } else { format!(" ({})", shown(&error.detail)) };
            format!("failed{status}: {}{detail}", error.kind.name())
        }
        (None, Some(status)) => format!("fetched: {status}"),
        (None, None) => "fetched".into(),
    };
    let to =
        record.redirect_to.as_ref().map_or_else(String::new, |to| format!(", redirects to {}", shown(to)));
    let cut = match record.truncated {
        Some(Truncation::Length) if record.redirect_to.is_none() => {
            format!(", its body cut at --max-body {}", bytes(max_body))
        }
        Some(Truncation::Disconnect) => ", its body cut off by the server".into(),
        Some(Truncation::Time) => ", its body cut at --timeout".into(),
        _ => String::new(),
    };
    let found = Found {
        url: record.url.clone(),
        via: record.via,
        depth: record.depth,
        referrer: record.referrer.as_deref().map(str::to_owned),
    };
    let requests = of(u64::from(record.attempts), "request");
    format!("{outcome}{to}{cut}, asked last at {} ({requests}); {}", shown(&record.fetched_at), place(&found))
}

fn queued(explanation: &Explanation, found: &Found, tried: Option<&Tried>, ahead: Option<&Cause>) -> String {
    let waits = match (&explanation.end_reason, explanation.running) {
        (_, true) => "waits for its turn".into(),
        (Some(reason), _) => format!("waited for its turn when the crawl stopped ({})", shown(reason)),
        (None, _) => "waited for its turn when the process died; 'dragline resume' goes on".to_owned(),
    };
    let ahead = ahead.map_or_else(String::new, |cause| {
        format!("; it will not be fetched as things stand: {}", because(cause))
    });
    format!("queued: {waits}{}; {}{ahead}", before(tried), place(found))
}

/// What happened to a page before it waits again.
fn before(tried: Option<&Tried>) -> String {
    let Some(tried) = tried else { return String::new() };
    let last = match (&tried.error, tried.status) {
        (Some(error), _) => format!(", the last ended in {}", error.kind.name()),
        (None, Some(status)) => format!(", the last answered by {status}"),
        (None, None) => String::new(),
    };
    format!(", after {}{last}", of(u64::from(tried.requests), "request"))
}

/// Where a URL was found.
fn place(found: &Found) -> String {
    let how = match found.via {
        Via::Seed => return "it is a seed".into(),
        Via::Link => "linked from",
        Via::Frame => "in a frame of",
        Via::Rel => "named by a link element of",
        Via::Refresh => "where a refresh leads, from",
        Via::Redirect => "redirected to from",
        Via::Resource => "embedded in",
        Via::SitemapFile => "a sitemap, named by",
        Via::Sitemap => "an entry of the sitemap",
        Via::Canonical => "named as canonical by",
    };
    let from = found.referrer.as_deref().unwrap_or("a page that is not known");
    format!("{how} {} (depth {})", shown(from), found.depth)
}

fn because(cause: &Cause) -> String {
    let what = words(cause.reason);
    match &cause.detail {
        Some(detail) => format!("{what} ({}: {})", cause.reason.name(), shown(detail)),
        None => format!("{what} ({})", cause.reason.name()),
    }
}

fn words(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::BadUrl => "it is no usable URL",
        SkipReason::OtherScheme => "only http and https are crawled",
        SkipReason::UrlTooLong => "it is too long",
        SkipReason::OutOfScope => "it is outside the scope of the crawl",
        SkipReason::NotIncluded => "no --include matches",
        SkipReason::Excluded => "an --exclude matches",
        SkipReason::TooDeep => "it is too far from the seeds",
        SkipReason::Nofollow => "it was linked with nofollow",
        SkipReason::TooManyLinks => "it stood past the limits of one page",
        SkipReason::PrivateAddress => "its address is private",
        SkipReason::RobotsDenied => "robots.txt disallows it",
        SkipReason::RobotsUnreachable => "the robots.txt of its host could not be read",
        SkipReason::HostUnreachable => "its host was given up",
        SkipReason::HostLimit => "its host has as many pages as it may have",
        SkipReason::TooManyRedirects => "too many redirects in a row lead to it",
        SkipReason::PathTooDeep => "its path has too many segments",
        SkipReason::RepeatedSegments => "its path repeats a segment too often",
        SkipReason::RepeatedParameters => "its query repeats a parameter too often",
        SkipReason::QueryVariants => "its path was met with too many queries",
        SkipReason::TooManySubdomains => "its domain was met with too many hosts",
        SkipReason::Trap => "it lies in what was found to be a trap",
        SkipReason::NotCanonical => "the page that links to it names another one as canonical",
        SkipReason::SitemapStale => "its sitemap says that it has not changed",
        SkipReason::AlreadyCrawled => "an earlier crawl fetched it",
    }
}

fn unmet(so_far: &str, uncertain: &[SkipReason], filter_decides: bool, ahead: Option<&Cause>) -> String {
    let mut parts = vec![format!("not known: no page that was read{so_far} is known to link to it")];
    parts.push(match ahead {
        Some(cause) => format!("; were it met, it would not be fetched: {}", because(cause)),
        None => ", and no rule speaks against it".into(),
    });
    if !uncertain.is_empty() {
        let names: Vec<&str> = uncertain.iter().map(|reason| reason.name()).collect();
        parts.push(format!(
            "; whether a link to it was left out cannot be known: this crawl left out links for {}, \
             and their URLs were not written down",
            names.join(", ")
        ));
        if uncertain != [SkipReason::TooManyLinks] {
            parts.push(" (--log-skipped does)".into());
        }
    }
    if filter_decides {
        parts.push("; with --dedup bloom it may also have been taken for a repeat".into());
    }
    parts.concat()
}

/// That the page was asked under another spelling than the one that was given.
fn other_spelling(explanation: &Explanation) -> Option<String> {
    let asked = match &explanation.fate {
        Fate::Recorded(record) => &record.url,
        fate => &found(fate)?.url,
    };
    (*asked != explanation.requested).then(|| {
        format!(
            "It is a repeat of {}: both have the canonical form {}.",
            shown(asked),
            shown(&explanation.canonical)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation(fate: Fate) -> Explanation {
        Explanation {
            requested: "http://a.test/x".into(),
            canonical: "http://a.test/x".into(),
            fate,
            linked: None,
            redirected_from: Some("http://a.test/\u{202e}".into()),
            damage: None,
            running: false,
            end_reason: Some("page_limit".into()),
            max_body: 4096,
        }
    }

    fn at(url: &str) -> Found {
        Found { url: url.into(), via: Via::Seed, depth: 0, referrer: None }
    }

    #[test]
    fn counts_of_links_are_told_as_far_as_they_are_known() {
        let counted = |at_most, off_by| links("it", &CountEstimate { at_most, off_by, confidence: 0.99 });
        assert_eq!(counted(0, 9), "No link to it was met.");
        assert_eq!(
            counted(9, 9),
            "Links to it were met 9 times at most (an estimate; fewer are not told apart)."
        );
        assert_eq!(
            counted(1200, 9),
            "Links to it were met ~1,200 times (an estimate, too high by no more than 9 for 99 of 100)."
        );
    }

    #[test]
    fn what_is_rare_is_told_as_well() {
        let doubted = told(&explanation(Fate::Doubted(at("http://a.test/X"))));
        assert_eq!(
            doubted,
            "http://a.test/x: met, and not decided yet whether it was met before: the filter says that it may \
             have been; it is a seed. It is a repeat of http://a.test/X: both have the canonical form \
             http://a.test/x. http://a.test/\\u{202e} redirects to it."
        );
        let cause = Cause { reason: SkipReason::HostUnreachable, detail: Some("dns".into()) };
        let tried = Tried { requests: 2, status: Some(503), error: None };
        let ahead = Some(cause.clone());
        let queued = Fate::Queued { found: at("http://a.test/x"), tried: Some(tried), ahead };
        assert_eq!(
            told(&explanation(queued)),
            "http://a.test/x: queued: waited for its turn when the crawl stopped (page_limit), after 2 requests, \
             the last answered by 503; it is a seed; it will not be fetched as things stand: its host was given \
             up (host_unreachable: dns). http://a.test/\\u{202e} redirects to it."
        );
        let skipped = Fate::Skipped { found: at("http://a.test/x"), cause, rows: 1200 };
        assert!(told(&explanation(skipped)).contains("(the last of 1,200 rows of it)"));
        assert!(told(&explanation(Fate::Dropped { cause: None })).contains("without --log-skipped"));
        let unmet =
            Fate::Unmet { uncertain: vec![SkipReason::TooManyLinks], filter_decides: true, ahead: None };
        let unmet = explanation(unmet);
        let text = told(&unmet);
        assert!(
            !unmet.is_known() && text.contains("too_many_links") && text.contains("--dedup bloom"),
            "{text}"
        );
        assert!(!text.contains("--log-skipped"), "{text}");
    }
}
