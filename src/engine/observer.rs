//! What a crawl tells while it runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::skip::describe;
use crate::budget::{Change, Step};
use crate::frontier::DrainReason;
use crate::human;
use crate::model::PageError;
use crate::stats::Snapshot;
use crate::visited::Verdict;

/// Something that happened and that a person may want to know at once.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A host asked to be left alone, or failed, and waits.
    HostPaused {
        /// The host.
        host: Arc<str>,
        /// For how long.
        pause: Duration,
        /// Because of this status, where it was an answer.
        status: Option<u16>,
    },
    /// Everything left of a host or an origin is skipped from now on.
    Drained {
        /// The host or origin.
        name: Arc<str>,
        /// Why.
        reason: DrainReason,
        /// What happened last.
        error: Option<PageError>,
    },
    /// A `Crawl-delay` longer than `--max-crawl-delay` was clamped.
    CrawlDelayClamped {
        /// The origin.
        origin: Arc<str>,
        /// What its robots.txt asks for, in seconds.
        wanted: f64,
    },
    /// A seed redirected, and the scope followed.
    ScopeMoved {
        /// The seed, or what it had led to so far.
        from: Box<str>,
        /// Where it leads.
        to: String,
    },
    /// The filter was full and has been replaced by a larger one.
    FilterGrew {
        /// URLs it is made for now.
        urls: u64,
    },
    /// The filter's health is no longer what it was.
    FilterHealth {
        /// What it is now.
        verdict: Verdict,
        /// The same as a sentence: what it means, and what to do.
        sentence: String,
    },
    /// Memory runs short, or no longer does.
    MemoryStep(Change),
    /// The log of a crawl that goes on ends in a record that never arrived whole: what it tells of
    /// is asked for again.
    TornTail {
        /// Where in the log.
        offset: u64,
    },
    /// Something that a server can go on with for ever was found.
    Trap(TrapAlarm),
    /// A crawl that went on is over without a single page answered in this run: most likely it is this machine
    /// that has no network.
    NobodyAnswered {
        /// Pages that were skipped in this run since their hosts could not be reached.
        skipped: u64,
    },
    /// The crawl was asked to stop and waits for what is in flight.
    Stopping {
        /// Requests in flight.
        in_flight: usize,
    },
}

/// What kind of trap it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrapKind {
    /// One path with more queries than `--max-query-variants`.
    Queries,
    /// One domain with more hosts than `--max-subdomains`.
    Subdomains,
    /// One branch of a host in which page after page is nearly the same.
    LikePages,
}

/// A trap: told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapAlarm {
    /// What kind it is.
    pub kind: TrapKind,
    /// The path, the domain, or the branch: in it `#` stands for whatever has a digit in it, `*` for any name.
    pub place: String,
    /// How many there were, at least.
    pub count: u64,
    /// A URL in it.
    pub example: String,
    /// What is met of it from now on is skipped.
    pub ended: bool,
}

impl fmt::Display for TrapAlarm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, place, count, example, ended } = self;
        let (found, option) = match kind {
            TrapKind::Queries => (human::of(*count, "variant"), "--max-query-variants"),
            TrapKind::Subdomains => (human::of(*count, "host"), "--max-subdomains"),
            TrapKind::LikePages => (human::of(*count, "page"), "--stop-traps"),
        };
        write!(out, "a trap? {place} has {found}")?;
        match kind {
            TrapKind::Queries => write!(out, " by query")?,
            TrapKind::Subdomains => {}
            TrapKind::LikePages => write!(out, " that are nearly the same")?,
        }
        write!(out, ", such as {example}")?;
        if *ended {
            write!(out, "; further ones are skipped ({option})")
        } else {
            write!(out, "; {option} would end it")
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::HostPaused { host, pause, status } => {
                write!(out, "{host} rests for {:.1} s", pause.as_secs_f64())?;
                match status {
                    Some(status) => write!(out, ": it answered {status}"),
                    None => Ok(()),
                }
            }
            Event::Drained { name, reason, error } => {
                let reason = match reason {
                    DrainReason::RobotsUnreachable => "its robots.txt cannot be read",
                    DrainReason::HostUnreachable => "it cannot be reached",
                    DrainReason::HostLimit => "--max-pages-per-host is reached",
                    DrainReason::PrivateAddress => "its address is private",
                };
                write!(out, "the rest of {name} is skipped: {reason}")?;
                match error {
                    Some(error) => write!(out, " ({})", describe(error)),
                    None => Ok(()),
                }
            }
            Event::CrawlDelayClamped { origin, wanted } => write!(
                out,
                "{origin} asks for a Crawl-delay of {wanted} s; --max-crawl-delay is shorter and holds"
            ),
            Event::ScopeMoved { from, to } => {
                write!(out, "the seed {from} redirects to {to}, and the scope moves along")
            }
            Event::FilterGrew { urls } => {
                write!(out, "the filter has grown: it is made for {} now", human::of(*urls, "URL"))
            }
            Event::FilterHealth { sentence, .. } => write!(out, "the filter is {sentence}"),
            Event::MemoryStep(Change { to, used, limit, .. }) => {
                let words = match to {
                    Step::Free => "all is well again",
                    Step::Shrink => "fewer requests at once",
                    Step::Spill => "what waits goes to disk",
                    Step::Pause => "one request at a time",
                };
                let (used, limit) = (human::bytes(*used), human::bytes(*limit));
                write!(out, "memory: {used} of {limit} are in use: {words}")
            }
            Event::TornTail { offset } => write!(
                out,
                "the last of what the earlier process did had not reached the disk (log, byte {offset}); it is done again"
            ),
            Event::Trap(alarm) => alarm.fmt(out),
            Event::NobodyAnswered { skipped } => write!(
                out,
                "WARNING: not one page was answered since the crawl went on, and {} skipped for hosts that cannot \
                 be reached; they are not asked again. Is there a network here, and are the servers up? If not, \
                 begin anew with 'dragline crawl' and --fresh",
                was(*skipped)
            ),
            Event::Stopping { in_flight } => {
                let requests = human::of(*in_flight as u64, "request");
                write!(out, "stopping: {requests} in flight; interrupt again to save at once")
            }
        }
    }
}

fn was(pages: u64) -> String {
    format!("{} {}", human::of(pages, "page"), if pages == 1 { "was" } else { "were" })
}

/// Is told what happens. Every method has an empty default.
pub trait Observer {
    /// Something happened that a person may want to know.
    fn event(&mut self, _event: &Event) {}

    /// Where things stand; several times a second.
    fn snapshot(&mut self, _snapshot: &Snapshot) {}
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
