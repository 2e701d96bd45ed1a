//! What the owner hands to a worker, and what it gets back.

use std::sync::Arc;
use std::time::Duration;

use crate::fetch::{LookedUp, NoAddress};
use crate::frontier::{Attempt, OriginId};
use crate::model::{Link, LinkBatch, PageError, Record};
use crate::robots::RobotsRules;

/// One thing for a worker to do.
#[derive(Debug)]
pub(crate) enum Job {
    /// Fetch a page.
    Page(Box<PageJob>),
    /// Fetch an origin's robots.txt.
    Robots {
        /// The origin.
        origin: OriginId,
        /// What to ask.
        url: Arc<str>,
        /// Redirects that led there.
        hops: u32,
    },
    /// Look up a host's address.
    Address {
        /// An origin of the host.
        origin: OriginId,
        /// `scheme://host[:port]`.
        name: Arc<str>,
        /// Look-ups of it that failed before.
        failures: u32,
    },
}

/// A page to fetch.
#[derive(Debug)]
pub(crate) struct PageJob {
    /// Its origin.
    pub(crate) origin: OriginId,
    /// What to fetch, and what happened to it so far.
    pub(crate) attempt: Attempt,
    /// Empty buffers for what comes of it.
    pub(crate) buffers: Buffers,
}

/// Buffers that go round between owner and workers, so that a page allocates little.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// For the links.
    pub(crate) links: LinkBatch,
    /// For the record as a line.
    pub(crate) line: Vec<u8>,
}

/// Bytes of a buffer up to which it is kept for another page.
pub(crate) const KEPT_BYTES: usize = 16 << 10;

impl Buffers {
    /// Empties them; those of an extraordinary page are let go.
    pub(crate) fn emptied(mut self) -> Option<Buffers> {
        let LinkBatch { text, links, repeats, dropped } = &mut self.links;
        let of_links = links.capacity().saturating_mul(size_of::<Link>());
        if [text.capacity(), of_links, self.line.capacity()].into_iter().any(|bytes| bytes > KEPT_BYTES) {
            return None;
        }
        text.clear();
        links.clear();
        (*repeats, *dropped) = (0, 0);
        self.line.clear();
        Some(self)
    }
}

/// What came of a job.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Of a page.
    Page(Box<PageOutcome>),
    /// Of a robots.txt.
    Robots {
        /// The origin.
        origin: OriginId,
        /// What was learned.
        answer: RobotsAnswer,
        /// What was asked for it.
        asked: Asked,
        /// The sitemaps that it names, to be read.
        sitemaps: LinkBatch,
    },
    /// Of an address look-up.
    Address {
        /// An origin of the host.
        origin: OriginId,
        /// The address that will be connected to, and how long it holds.
        found: Result<LookedUp, NoAddress>,
    },
}

/// A request for robots.txt, for the file that keeps what was answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// What was asked.
    pub(crate) url: Box<str>,
    /// The status code, where an answer came.
    pub(crate) status: Option<u16>,
    /// When, in RFC 3339 form (UTC).
    pub(crate) at: String,
}

/// What a request for robots.txt told.
#[derive(Debug)]
pub(crate) enum RobotsAnswer {
    /// These rules (all allowed where the file is unavailable, RFC 9309 section 2.3.1.3).
    Rules(Arc<RobotsRules>),
    /// It stands elsewhere (section 2.3.1.2).
    Elsewhere {
        /// What to ask next.
        url: Arc<str>,
        /// Redirects that led there.
        hops: u32,
    },
    /// Unreachable for now (section 2.3.1.4).
    Failed {
        /// Wait at least so long, as told by `Retry-After`.
        retry_after: Option<Duration>,
        /// What went wrong.
        error: PageError,
    },
}

/// What came of a page.
#[derive(Debug)]
pub(crate) struct PageOutcome {
    /// The job.
    pub(crate) job: PageJob,
    /// Its record, if this was the last attempt.
    pub(crate) record: Record,
    /// The record as a line of JSON.
    pub(crate) line: Vec<u8>,
    /// What to do with it.
    pub(crate) verdict: Verdict,
    /// How long the server asked to be left alone (429 and 503).
    pub(crate) retry_after: Option<Duration>,
    /// Links found, a redirect's target included.
    pub(crate) links: LinkBatch,
    /// What the page names as canonical, where it may hand its place to that.
    pub(crate) canonical: Option<LinkBatch>,
    /// Which state of the scope the links were held against.
    pub(crate) scope_generation: u64,
    /// The decoded body, where a sink wants it.
    pub(crate) body: Option<Vec<u8>>,
    /// The body was not coded as its header said.
    pub(crate) mislabelled_encoding: bool,
    /// No request was made: the address guard refused.
    pub(crate) refused: bool,
}

/// What a worker makes of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The record stands.
    Final,
    /// Worth another try, if tries are left.
    Retry,
    /// The server asks to slow down (429, 503).
    SlowDown,
    /// The host could not be reached.
    HostFailure,
    /// The same page under another spelling, or the same URL once more after a cookie was set.
    SamePage {
        /// What to request instead.
        url: Box<str>,
        /// Bytes of `url` that are its origin.
        origin_length: u16,
    },
    /// Gone under the spelling as written: ask for the canonical one.
    Respell {
        /// The canonical URL.
        url: Box<str>,
        /// Bytes of `url` that are its origin.
        origin_length: u16,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SkipReason, UrlHashes, Via};

    #[test]
    fn buffers_go_round_unless_any_of_them_is_large() {
        let mut ordinary = Buffers::default();
        ordinary.links.push("http://a.test/", 13, UrlHashes { key: 1, fingerprint: 1 }, Via::Link, None);
        ordinary.links.repeats = 3;
        ordinary.line.extend_from_slice(b"{}");
        let emptied = ordinary.emptied().expect("small buffers are kept");
        assert_eq!((&emptied.links, emptied.line.len()), (&LinkBatch::default(), 0));

        let mut long = Buffers::default();
        long.links.push(
            &"x".repeat(KEPT_BYTES + 1),
            0,
            UrlHashes { key: 1, fingerprint: 1 },
            Via::Link,
            Some(SkipReason::OutOfScope),
        );
        let mut many = Buffers::default();
        many.links.links.reserve(KEPT_BYTES / size_of::<Link>() + 1);
        let wordy = Buffers { line: Vec::with_capacity(KEPT_BYTES + 1), ..Buffers::default() };
        for buffers in [long, many, wordy] {
            assert!(buffers.emptied().is_none());
        }
    }
}
