//! Candidates on their way, and how they wait for their time.

use super::{Claimed, Moment, Ticket};
use crate::model::{Candidate, Record};

/// A candidate on its way, with what has happened to it so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Its place in its queue, for the acknowledgement; its URL may meanwhile be of another origin.
    pub ticket: Ticket,
    /// What to fetch; its URL may have been replaced by another spelling of the same key.
    pub candidate: Candidate,
    /// Requests made so far.
    pub requests: u32,
    /// Requests that failed so far.
    pub failures: u32,
    /// It was asked again at once after its connection broke before any answer.
    pub reconnected: bool,
    /// When the last request began.
    pub started: Moment,
    /// The canonical spelling has been put in place of the one as written.
    pub respelled: bool,
    /// The record to write if nothing better comes.
    pub fallback: Option<Box<Record>>,
}

impl Attempt {
    /// The first attempt at a claimed candidate.
    pub fn new(claimed: Claimed) -> Self {
        Self {
            ticket: claimed.ticket,
            candidate: claimed.candidate,
            requests: 0,
            failures: 0,
            reconnected: false,
            started: Moment::START,
            respelled: false,
            fallback: None,
        }
    }

    /// Bytes it is reckoned with while it waits.
    pub(super) fn memory_bytes(&self) -> u64 {
        let record = self.fallback.as_ref().map_or(0, |record| {
            let texts = [&record.canonical, &record.redirect_to, &record.content_type, &record.title];
            let texts: usize = texts.into_iter().flatten().map(String::len).sum();
            let detail = record.error.as_ref().map_or(0, |error| error.detail.len());
            size_of::<Record>() + record.url.len() + record.fetched_at.len() + texts + detail
        });
        (size_of::<Waiting>() + record) as u64 + text_bytes(&self.candidate)
    }
}

/// Bytes that a claimed candidate is reckoned with. Links of one page share their referrer; it is
/// counted with each, for after a while most have gone and one keeps it.
pub(super) fn claimed_bytes(claimed: &Claimed) -> u64 {
    size_of::<Claimed>() as u64 + text_bytes(&claimed.candidate)
}

fn text_bytes(candidate: &Candidate) -> u64 {
    (candidate.url.len() + candidate.referrer.as_ref().map_or(0, |referrer| referrer.len() + 16)) as u64
}

/// An attempt that waits for its time.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: Moment,
    pub(super) ticket: u64,
    pub(super) attempt: Attempt,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.ticket) == (other.at, other.ticket)
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    // Reversed, so that the heap gives the earliest first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.ticket).cmp(&(self.at, self.ticket))
    }
}
