//! Traps: what a server can go on with for ever, noticed by counting.
//!
//! Three things are counted, in sketches of fixed size: the queries that one path was met with,
//! the hosts of one registrable domain, and the pages of one branch of a host that are nearly the
//! same. What passes its cap is told, once, with an example, and the first two are held to it.
//! With `--stop-traps` a branch that is a trap is ended as well.
//!
//! No count is ever too large (see [`crate::sketch`]), so none costs a page below its cap. What
//! the user named, a seed, is neither counted nor cut. Counts follow from what the log says was accepted,
//! and so are rebuilt by replaying it; those of like pages since the last checkpoint are lost
//! with the process. Past [`Traps::MOST_TOLD`] alarms no further one is raised or ends anything.
//!
//! ```text
//! state = queries · domains · hosts · branches · how many alarms · key of each (8 bytes)
//! ```

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::core::{Core, CoreError};
use super::observer::{Event, TrapAlarm, TrapKind};
use crate::config::Config;
use crate::model::{Candidate, KeyHash, Record, SkipReason, Via};
use crate::scope::registrable_domain;
use crate::sketch::{Faces, HeavyHitters, SeenOnce};
use crate::store::{Decoder, Encoder, Malformed};
use crate::url::{Parts, host_of};

/// Pages of one branch that are nearly the same, from which on it is a trap. In the manuals of
/// large programs no directory has so many pages at all but for a few, and those differ.
const LIKE_PAGES: u32 = 1000;

/// What is held to.
#[derive(Debug, Clone)]
struct Caps {
    queries: u64,
    subdomains: u64,
    stop: bool,
}

/// What was counted, and what of it was told.
#[derive(Debug)]
pub(super) struct Traps {
    caps: Caps,
    /// Nobody outside knows it, so nobody can aim at the counts of another.
    seed: u64,
    /// Queries accepted, by path.
    queries: HeavyHitters<()>,
    /// Hosts accepted, by registrable domain.
    domains: HeavyHitters<()>,
    /// Those hosts.
    hosts: SeenOnce,
    /// What pages look like, by branch.
    branches: HeavyHitters<Faces>,
    /// Keys of what was told.
    told: HashSet<u64, KeyHash>,
}

/// Tells the keys of paths, domains and branches apart.
const DOMAIN: u64 = 1;
const BRANCH: u64 = 2;

impl Traps {
    /// Alarms of one crawl at most; the keys of so many are kept.
    const MOST_TOLD: usize = 896;
    /// Counts within so many bytes: half of them for branches, a quarter for paths, an eighth each
    /// for domains and hosts. Tables are rounded down, and what is told fits into the rest.
    pub(super) fn new(config: &Config, bytes: u64, seed: u64) -> Self {
        let eighth = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
        Self {
            caps: Caps {
                queries: config.max_query_variants,
                subdomains: config.max_subdomains,
                stop: config.stop_traps,
            },
            seed,
            queries: HeavyHitters::new(HeavyHitters::<()>::most_within(2 * eighth)),
            domains: HeavyHitters::new(HeavyHitters::<()>::most_within(eighth)),
            hosts: SeenOnce::new(eighth),
            branches: HeavyHitters::new(HeavyHitters::<Faces>::most_within(4 * eighth)),
            told: HashSet::default(),
        }
    }

    /// Why a new candidate is not wanted, where it is not.
    fn refuses(&self, candidate: &Candidate) -> Option<SkipReason> {
        if candidate.via == Via::Seed {
            return None;
        }
        if self.ends(&candidate.url) {
            return Some(SkipReason::Trap);
        }
        if self.query_path(&candidate.url).is_some_and(|path| self.queries.count(path) >= self.caps.queries) {
            return Some(SkipReason::QueryVariants);
        }
        let (domain, host) = self.subdomain(host_of(&candidate.url))?;
        let full = self.domains.count(domain) >= self.caps.subdomains && self.hosts.is_new(host);
        full.then_some(SkipReason::TooManySubdomains)
    }

    /// Counts a candidate that was accepted.
    fn accepted(&mut self, candidate: &Candidate) {
        if candidate.via == Via::Seed {
            return;
        }
        if let Some(path) = self.query_path(&candidate.url) {
            self.queries.meet(path);
        }
        if let Some((domain, host)) = self.subdomain(host_of(&candidate.url))
            && self.hosts.meet(host)
        {
            self.domains.meet(domain);
        }
    }

    /// Counts a page; the pages like it, where they have become too many.
    fn page(&mut self, url: &str, simhash: u64) -> Option<u64> {
        let branch = self.branch(url);
        let (_, faces) = self.branches.meet(branch)?;
        let pages = faces.meet(simhash);
        (pages >= LIKE_PAGES && self.tell(branch)).then_some(u64::from(pages))
    }

    /// Whether a URL is in a branch that was ended.
    fn ends(&self, url: &str) -> bool {
        self.caps.stop && !self.told.is_empty() && self.told.contains(&self.branch(url))
    }

    /// Takes note of an alarm; whether it is one that was not raised before.
    fn tell(&mut self, key: u64) -> bool {
        self.told.len() < Self::MOST_TOLD && self.told.insert(key)
    }

    /// What a refused candidate is too many of: its key, and the alarm.
    fn past_cap(&self, url: &str, reason: SkipReason) -> Option<(u64, TrapAlarm)> {
        let (key, kind, place, count) = match reason {
            SkipReason::QueryVariants => {
                let path = url.split('?').next().unwrap_or_default();
                (self.query_path(url)?, TrapKind::Queries, path, self.caps.queries)
            }
            SkipReason::TooManySubdomains => {
                let host = host_of(url);
                let (domain, _) = self.subdomain(host)?;
                (domain, TrapKind::Subdomains, registrable_domain(host)?, self.caps.subdomains)
            }
            _ => return None,
        };
        let (place, example) = (place.to_owned(), url.to_owned());
        Some((key, TrapAlarm { kind, place, count, example, ended: true }))
    }

    /// The key of the path of a URL that has a query.
    fn query_path(&self, url: &str) -> Option<u64> {
        let (path, _) = without_fragment(url).split_once('?')?;
        Some(xxh3_64_with_seed(path.as_bytes(), self.seed))
    }

    /// The keys of the domain and of the host, where the host is not the domain itself.
    fn subdomain(&self, host: &str) -> Option<(u64, u64)> {
        let domain = registrable_domain(host)?;
        let host = host.strip_suffix('.').unwrap_or(host);
        let below = host.strip_suffix(domain)?;
        if below.is_empty() || below == "www." {
            return None;
        }
        let domain = xxh3_64_with_seed(domain.as_bytes(), self.seed ^ DOMAIN);
        Some((domain, xxh3_64_with_seed(host.as_bytes(), self.seed)))
    }

    fn branch(&self, url: &str) -> u64 {
        let mut key = self.seed ^ BRANCH;
        branch_parts(url, |part| key = xxh3_64_with_seed(part.as_bytes(), key));
        key
    }

    /// The option that a skip is owed to, as a person would type it.
    pub(super) fn rule(&self, url: &str, reason: SkipReason) -> Option<String> {
        match reason {
            SkipReason::QueryVariants => Some(format!("--max-query-variants {}", self.caps.queries)),
            SkipReason::TooManySubdomains => Some(format!("--max-subdomains {}", self.caps.subdomains)),
            SkipReason::Trap => Some(format!("--stop-traps: {}", branch_name(url))),
            _ => None,
        }
    }

    /// Appends what it holds, for [`restore`](Self::restore).
    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) {
        self.queries.encode(encoder, |_, ()| {});
        self.domains.encode(encoder, |_, ()| {});
        self.hosts.encode(encoder);
        self.branches.encode(encoder, |encoder, faces| faces.encode(encoder));
        encoder.number(self.told.len() as u64);
        for key in &self.told {
            encoder.key(*key);
        }
    }

    /// Takes over what another process had counted.
    pub(super) fn restore(&mut self, decoder: &mut Decoder<'_>) -> Result<(), Malformed> {
        self.queries.restore(decoder, |_| Ok(()))?;
        self.domains.restore(decoder, |_| Ok(()))?;
        self.hosts.restore(decoder)?;
        self.branches.restore(decoder, Faces::decode)?;
        self.told.clear();
        for _ in 0..decoder.number()? {
            self.told.insert(decoder.key()?);
        }
        Ok(())
    }
}

impl Core {
    /// Whether a new candidate is in a trap or past a cap, and so is skipped rather than queued.
    pub(super) fn is_trapped(&mut self, candidate: &Candidate) -> Result<bool, CoreError> {
        let Some(reason) = self.traps.refuses(candidate) else {
            self.traps.accepted(candidate);
            return Ok(false);
        };
        self.skip_found(candidate, reason)?;
        if let Some((key, alarm)) = self.traps.past_cap(&candidate.url, reason)
            && self.traps.tell(key)
        {
            self.alarm(key, alarm);
        }
        Ok(true)
    }

    /// Whether a candidate that is due is in a branch that was ended since it was queued.
    pub(super) fn is_ended(&self, candidate: &Candidate) -> bool {
        candidate.via != Via::Seed && self.traps.ends(&candidate.url)
    }

    /// Takes note of what a fetched page looks like.
    pub(super) fn note_likeness(&mut self, record: &Record) {
        let Some(simhash) = record.simhash.as_deref().and_then(|text| u64::from_str_radix(text, 16).ok())
        else {
            return;
        };
        if let Some(pages) = self.traps.page(&record.url, simhash) {
            let alarm = TrapAlarm {
                kind: TrapKind::LikePages,
                place: branch_name(&record.url),
                count: pages,
                example: record.url.clone(),
                ended: self.traps.caps.stop,
            };
            self.alarm(self.traps.branch(&record.url), alarm);
        }
    }

    fn alarm(&mut self, key: u64, alarm: TrapAlarm) {
        self.counters.traps += 1;
        self.journal.trap(key);
        self.events.push(Event::Trap(alarm));
    }

    /// What a log says was accepted.
    pub(super) fn replay_accepted(&mut self, candidate: &Candidate) {
        self.traps.accepted(candidate);
        self.note_unique(candidate);
    }

    /// What a log says was told.
    pub(super) fn replay_trap(&mut self, key: u64) {
        self.traps.tell(key);
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// Hands out the parts that the branch of a URL is told by: its host; then the directories of its
/// path, with `#` for each that has a digit in it; and for its last segment `#` or `*`, with and
/// without a digit, or, where there is a query, `#` or the segment itself, and `?*`.
///
/// So the months of a calendar are one branch, and it is another one than the pages beside it.
fn branch_parts(url: &str, mut part: impl FnMut(&str)) {
    let url = without_fragment(url);
    let parts = Parts::of(url);
    part(&url[parts.host]);
    let (path, query) = match url[usize::from(parts.origin_length)..].split_once('?') {
        Some((path, _)) => (path, true),
        None => (&url[usize::from(parts.origin_length)..], false),
    };
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        part(match () {
            () if has_digit(segment) => "#",
            () if last && !query => "*",
            () => segment,
        });
    }
    if query {
        part("?*");
    }
}

/// Whether a segment has a digit in it that is no part of an escape.
fn has_digit(segment: &str) -> bool {
    let mut pieces = segment.split('%');
    let first = pieces.next().unwrap_or_default();
    let after = pieces.flat_map(|piece| piece.bytes().skip(2));
    first.bytes().chain(after).any(|byte| byte.is_ascii_digit())
}

/// The branch of a URL as a person reads it: `a.test/calendar/#/*`.
fn branch_name(url: &str) -> String {
    let mut name = String::new();
    branch_parts(url, |part| {
        if !name.is_empty() && part != "?*" {
            name.push('/');
        }
        name.push_str(part);
    });
    name
}

#[cfg(test)]
#[path = "traps_tests.rs"]
mod tests;
