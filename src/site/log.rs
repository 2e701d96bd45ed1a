//! What was requested, and how often.
//!
//! The URLs of the site are counted by number, four bytes each, so that a site of
//! a million pages takes a few megabytes; all others share a small table with a
//! bound. It must not know of sockets or answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::listing::Naming;
use super::{Kind, Place, Site};

/// Different URLs counted that are not of the site.
const UNKNOWN_URLS: usize = 4_096;

/// Bytes of such a URL at most.
const UNKNOWN_LENGTH: usize = 2_048;

/// What was requested from a served site, listings aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SiteReport {
    /// Requests answered.
    pub requests: u64,
    /// Requests for pages.
    pub page_requests: u64,
    /// Different pages requested.
    pub distinct_pages: u64,
    /// Requests for robots.txt.
    pub robots_requests: u64,
    /// Requests for redirects.
    pub redirect_requests: u64,
    /// Requests for missing URLs that the site links to.
    pub missing_requests: u64,
    /// Requests for URLs that robots.txt forbids.
    pub disallowed_requests: u64,
    /// Requests for anything else.
    pub unknown_requests: u64,
}

/// A counter for every URL of a site, and some for others.
#[derive(Debug)]
pub(super) struct RequestLog {
    counters: [Box<[AtomicU32]>; Kind::ALL.len()],
    unknown: Mutex<BTreeMap<String, u64>>,
    beyond: AtomicU64,
}

impl RequestLog {
    /// All counters at zero.
    pub(super) fn new(site: &Site) -> RequestLog {
        RequestLog {
            counters: Kind::ALL.map(|kind| (0..site.total(kind)).map(|_| AtomicU32::new(0)).collect()),
            unknown: Mutex::new(BTreeMap::new()),
            beyond: AtomicU64::new(0),
        }
    }

    /// Counts a request for a place of the site.
    pub(super) fn count(&self, site: &Site, place: Place) {
        if let Some(counter) = self.of_kind(place.kind).get(site.number(place) as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a request for a URL that is not of the site.
    pub(super) fn count_unknown(&self, url: String) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = unknown.get_mut(&url) {
            *count += 1;
        } else if unknown.len() < UNKNOWN_URLS && url.len() <= UNKNOWN_LENGTH {
            unknown.insert(url, 1);
        } else {
            self.beyond.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The lines of `/_log`: `count<TAB>URL` for every URL requested at least once. If there were
    /// more unknown URLs than are kept, a last line counts them under `*`.
    pub(super) fn lines(self: Arc<Self>, site: Site, naming: Naming) -> impl Iterator<Item = String> + Send {
        let unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let beyond = self.beyond.load(Ordering::Relaxed);
        let known = Kind::ALL.into_iter().flat_map(move |kind| {
            let (log, naming) = (Arc::clone(&self), naming.clone());
            site.places(kind).enumerate().filter_map(move |(number, place)| {
                let count = log.of_kind(kind).get(number)?.load(Ordering::Relaxed);
                (count > 0).then(|| format!("{count}\t{}", site.url(place, &naming)))
            })
        });
        let unknown = unknown.into_iter().map(|(url, count)| format!("{count}\t{url}"));
        let rest = (beyond > 0).then(|| format!("{beyond}\t*"));
        known.chain(unknown).chain(rest)
    }

    /// The sums of all counters.
    pub(super) fn report(&self) -> SiteReport {
        let unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner).values().sum::<u64>();
        let mut report = SiteReport {
            page_requests: self.sum(Kind::Page),
            distinct_pages: self.of_kind(Kind::Page).iter().filter(|count| loaded(count) > 0).count() as u64,
            robots_requests: self.sum(Kind::Robots),
            redirect_requests: self.sum(Kind::Redirect),
            missing_requests: self.sum(Kind::Missing),
            disallowed_requests: self.sum(Kind::Disallowed),
            unknown_requests: unknown + self.beyond.load(Ordering::Relaxed),
            requests: 0,
        };
        report.requests =
            Kind::ALL.into_iter().map(|kind| self.sum(kind)).sum::<u64>() + report.unknown_requests;
        report
    }

    fn of_kind(&self, kind: Kind) -> &[AtomicU32] {
        &self.counters[kind as usize]
    }

    fn sum(&self, kind: Kind) -> u64 {
        self.of_kind(kind).iter().map(loaded).sum()
    }
}

fn loaded(counter: &AtomicU32) -> u64 {
    u64::from(counter.load(Ordering::Relaxed))
}
