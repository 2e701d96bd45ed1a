//! What the owner writes down of each change, and how it is read back.
//!
//! A log record is a list of changes; what one outcome changes stands in one record, whole or not
//! at all. Each change says what became of something (this candidate got that place, this many
//! were counted), never what to work out again, so that reading back needs no clock, no network
//! and no luck.
//!
//! ```text
//! change = tag (1 byte) · fields, as `store::Encoder` writes them
//!  1 accept       ticket · candidate
//!  2 move         ticket it leaves · ticket it gets · candidate
//!  3 acknowledge  ticket
//!  4 doubt        number · candidate
//!  5 retire       number below which all doubts are decided
//!  6 retry        attempt
//!  7 scope        the URL that a seed redirects to
//!  8 count        number of pairs · pairs of slot and increment
//!  9 sink         number of the sink · offset · length · crc32
//! 10 start        ticket
//! 11 seeds        seeds taken in so far
//! 12 host         bytes, as the schedule writes them
//! 13 seeds complete
//! 14 rescue       ticket · candidate
//! 15 trap         key of what was told (8 bytes)
//! 16 example      place of the reason (1 byte) · URL
//! 17 elapsed      microseconds that the crawl has run
//! 18 observed     links that were met, as `stats::ObservedLinks` writes them
//! ticket  = queue · class (1 byte) · sequence
//! attempt = ticket · requests · failures · flags (1 byte: 1 reconnected, 2 respelled)
//!           · not before (milliseconds since 1970) · candidate · record as JSON, or empty
//! ```
//!
//! A candidate is laid out as in [`encode_candidate`]; its referrer may be that of the candidate
//! before it in the same record.

use std::sync::Arc;
use std::time::Duration;

use crate::frontier::{Attempt, Claimed, QueueId, Ticket};
use crate::model::{Candidate, Record, SkipReason};
use crate::stats::{Counters, ObservedLinks};
use crate::store::{Decoder, Encoder, Malformed, SinkRange, decode_candidate, encode_candidate};

/// Bytes of a record's buffer that are kept for the next one.
const KEPT: usize = 256 << 10;

/// An attempt that waits to be repeated, as kept on disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeptAttempt {
    /// The place of its candidate.
    pub(crate) ticket: Ticket,
    pub(crate) requests: u32,
    pub(crate) failures: u32,
    pub(crate) reconnected: bool,
    pub(crate) respelled: bool,
    /// Milliseconds since 1970.
    pub(crate) not_before: u64,
    /// What is requested next.
    pub(crate) candidate: Candidate,
    /// The record to write if nothing better comes.
    pub(crate) fallback: Option<Box<Record>>,
}

impl KeptAttempt {
    pub(crate) fn new(attempt: &Attempt, not_before: u64) -> Self {
        Self {
            ticket: attempt.ticket,
            requests: attempt.requests,
            failures: attempt.failures,
            reconnected: attempt.reconnected,
            respelled: attempt.respelled,
            not_before,
            candidate: attempt.candidate.clone(),
            fallback: attempt.fallback.clone(),
        }
    }

    /// The attempt, to go on with.
    pub(crate) fn revive(self) -> Attempt {
        let mut attempt = Attempt::new(Claimed { ticket: self.ticket, candidate: self.candidate });
        attempt.requests = self.requests;
        attempt.failures = self.failures;
        attempt.reconnected = self.reconnected;
        attempt.respelled = self.respelled;
        attempt.fallback = self.fallback;
        attempt
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_ticket(encoder, self.ticket);
        encoder.number(u64::from(self.requests));
        encoder.number(u64::from(self.failures));
        encoder.byte(u8::from(self.reconnected) | u8::from(self.respelled) << 1);
        encoder.number(self.not_before);
        encode_candidate(&self.candidate, None, encoder.0);
        let record = self.fallback.as_ref().and_then(|record| serde_json::to_vec(record).ok());
        encoder.bytes(&record.unwrap_or_default());
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let ticket = decode_ticket(decoder)?;
        let (requests, failures) = (decode_tries(decoder)?, decode_tries(decoder)?);
        let flags = decoder.byte()?;
        let not_before = decoder.number()?;
        let candidate = decode_candidate(decoder, &mut None)?;
        let record = decoder.bytes()?;
        let fallback = if record.is_empty() {
            None
        } else {
            Some(Box::new(serde_json::from_slice(record).map_err(|_| Malformed)?))
        };
        Ok(Self {
            ticket,
            requests,
            failures,
            reconnected: flags & 1 != 0,
            respelled: flags & 2 != 0,
            not_before,
            candidate,
            fallback,
        })
    }
}

/// One change, as read back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// A new URL got its place in the frontier.
    Accept(Ticket, Candidate),
    /// A doubt was new after all, and got its place in the frontier; the record retires it as well.
    Rescue(Ticket, Candidate),
    /// A candidate left one queue for another.
    Move(Ticket, Ticket, Candidate),
    /// A candidate needs no more work.
    Acknowledge(Ticket),
    /// It is not known yet whether this one is new.
    Doubt(u64, Candidate),
    /// Doubts with smaller numbers are decided.
    Retire(u64),
    /// An attempt failed and is to be repeated.
    Retry(Box<KeptAttempt>),
    /// A seed moved the scope.
    Scope(Box<str>),
    /// Something was counted.
    Count(u64, u64),
    /// Lines were written.
    Sink(u64, SinkRange),
    /// A request began.
    Start(Ticket),
    /// Seeds were taken in.
    Seeds(u64),
    /// All seeds are taken in, and their doubts settled.
    SeedsComplete,
    /// The state of a host changed.
    Host(Box<[u8]>),
    /// A trap was told, and ended where that is wanted.
    Trap(u64),
    /// The first URL was skipped for a reason.
    Example(SkipReason, Box<str>),
    /// The crawl has run so long, in all processes together.
    Elapsed(Duration),
    /// Links were met, whatever became of them.
    Observed(ObservedLinks),
}

/// Gathers the changes of the next record.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    record: Vec<u8>,
    referrer: Option<Arc<str>>,
    /// What the records before have counted.
    counted: Counters,
    kept: bool,
}

impl Journal {
    /// A journal of a crawl whose state is kept; the default one notes nothing.
    pub(crate) fn kept(counted: Counters) -> Self {
        Self { counted, kept: true, ..Self::default() }
    }

    /// Whether nothing has changed since the last record.
    pub(crate) fn is_empty(&self) -> bool {
        self.record.is_empty()
    }

    /// Bytes gathered.
    pub(crate) fn length(&self) -> usize {
        self.record.len()
    }

    pub(crate) fn accept(&mut self, ticket: Ticket, candidate: &Candidate) {
        if self.kept {
            self.tag(1);
            self.ticket(ticket);
            self.candidate(candidate);
        }
    }

    pub(crate) fn rescue(&mut self, ticket: Ticket, candidate: &Candidate) {
        if self.kept {
            self.tag(14);
            self.ticket(ticket);
            self.candidate(candidate);
        }
    }

    pub(crate) fn move_candidate(&mut self, from: Ticket, to: Ticket, candidate: &Candidate) {
        if self.kept {
            self.tag(2);
            self.ticket(from);
            self.ticket(to);
            self.candidate(candidate);
        }
    }

    pub(crate) fn acknowledge(&mut self, ticket: Ticket) {
        if self.kept {
            self.tag(3);
            self.ticket(ticket);
        }
    }

    pub(crate) fn doubt(&mut self, number: u64, candidate: &Candidate) {
        if self.kept {
            self.tag(4).number(number);
            self.candidate(candidate);
        }
    }

    pub(crate) fn retire(&mut self, below: u64) {
        if self.kept {
            self.tag(5).number(below);
        }
    }

    pub(crate) fn retry(&mut self, attempt: &KeptAttempt) {
        if self.kept {
            attempt.encode(&mut self.tag(6));
        }
    }

    pub(crate) fn scope(&mut self, url: &str) {
        if self.kept {
            self.tag(7).text(url);
        }
    }

    pub(crate) fn start(&mut self, ticket: Ticket) {
        if self.kept {
            self.tag(10);
            self.ticket(ticket);
        }
    }

    pub(crate) fn seeds(&mut self, taken: u64) {
        if self.kept {
            self.tag(11).number(taken);
        }
    }

    pub(crate) fn seeds_complete(&mut self) {
        if self.kept {
            self.tag(13);
        }
    }

    pub(crate) fn host(&mut self, state: &[u8]) {
        if self.kept {
            self.tag(12).bytes(state);
        }
    }

    pub(crate) fn trap(&mut self, key: u64) {
        if self.kept {
            self.tag(15).key(key);
        }
    }

    pub(crate) fn example(&mut self, reason: SkipReason, url: &str) {
        if self.kept {
            let mut encoder = self.tag(16);
            encoder.byte(reason as u8);
            encoder.text(url);
        }
    }

    pub(crate) fn elapsed(&mut self, elapsed: Duration) {
        if self.kept {
            self.tag(17).number(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
        }
    }

    pub(crate) fn observed(&mut self, observed: &ObservedLinks) {
        if self.kept {
            observed.encode(&mut self.tag(18));
        }
    }

    /// Ends the record with what was counted and what the sinks were given; hands out its bytes.
    pub(crate) fn finish(&mut self, counters: &mut Counters, ranges: &[(u64, SinkRange)]) -> &[u8] {
        for (sink, range) in ranges {
            let mut encoder = self.tag(9);
            encoder.number(*sink);
            encoder.number(range.offset);
            encoder.number(range.length);
            encoder.number(u64::from(range.crc32));
        }
        let mut pairs: Vec<(u64, u64)> = Vec::new();
        counters.since(&mut self.counted, |slot, n| pairs.push((slot, n)));
        if !pairs.is_empty() {
            let mut encoder = self.tag(8);
            encoder.number(pairs.len() as u64);
            for (slot, n) in pairs {
                encoder.number(slot);
                encoder.number(n);
            }
        }
        &self.record
    }

    /// A manifest holds these counts: the next record tells what comes on top of them.
    pub(crate) fn counted(&mut self, counters: &Counters) {
        self.counted.clone_from(counters);
    }

    /// Begins the next record.
    pub(crate) fn clear(&mut self) {
        self.record.clear();
        self.record.shrink_to(KEPT);
        self.referrer = None;
    }

    fn tag(&mut self, tag: u8) -> Encoder<'_> {
        self.record.push(tag);
        Encoder(&mut self.record)
    }

    fn ticket(&mut self, ticket: Ticket) {
        encode_ticket(&mut Encoder(&mut self.record), ticket);
    }

    fn candidate(&mut self, candidate: &Candidate) {
        encode_candidate(candidate, self.referrer.as_ref(), &mut self.record);
        self.referrer.clone_from(&candidate.referrer);
    }
}

pub(super) fn encode_ticket(encoder: &mut Encoder<'_>, ticket: Ticket) {
    encoder.number(u64::from(ticket.queue.0));
    encoder.byte(ticket.class);
    encoder.number(ticket.sequence);
}

pub(super) fn decode_ticket(decoder: &mut Decoder<'_>) -> Result<Ticket, Malformed> {
    Ok(Ticket { queue: QueueId(decoder.small()?), class: decoder.byte()?, sequence: decoder.count()? })
}

/// How often something was tried; so often nothing is, and there is room for more.
const MOST_TRIES: u32 = 1_000_000_000;

pub(super) fn decode_tries(decoder: &mut Decoder<'_>) -> Result<u32, Malformed> {
    decoder.small().and_then(|tries| if tries < MOST_TRIES { Ok(tries) } else { Err(Malformed) })
}

/// Reads a record back, change by change.
///
/// # Errors
/// [`Malformed`] where the bytes are no record, or whatever `apply` says.
pub(crate) fn read_record<E: From<Malformed>>(
    record: &[u8],
    mut apply: impl FnMut(Change) -> Result<(), E>,
) -> Result<(), E> {
    let mut decoder = Decoder(record);
    let mut referrer = None;
    while !decoder.is_empty() {
        let tag = decoder.byte()?;
        if tag == 8 {
            for _ in 0..decoder.number()? {
                apply(Change::Count(decoder.number()?, decoder.count()?))?;
            }
            continue;
        }
        apply(read_change(tag, &mut decoder, &mut referrer)?)?;
    }
    Ok(())
}

fn read_change(
    tag: u8,
    decoder: &mut Decoder<'_>,
    referrer: &mut Option<Arc<str>>,
) -> Result<Change, Malformed> {
    Ok(match tag {
        1 => Change::Accept(decode_ticket(decoder)?, decode_candidate(decoder, referrer)?),
        2 => {
            let (from, to) = (decode_ticket(decoder)?, decode_ticket(decoder)?);
            Change::Move(from, to, decode_candidate(decoder, referrer)?)
        }
        3 => Change::Acknowledge(decode_ticket(decoder)?),
        4 => Change::Doubt(decoder.count()?, decode_candidate(decoder, referrer)?),
        5 => Change::Retire(decoder.count()?),
        6 => Change::Retry(Box::new(KeptAttempt::decode(decoder)?)),
        7 => Change::Scope(decoder.text()?.into()),
        9 => {
            let sink = decoder.number()?;
            let (offset, length) = (decoder.number()?, decoder.number()?);
            Change::Sink(sink, SinkRange { offset, length, crc32: decoder.small()? })
        }
        10 => Change::Start(decode_ticket(decoder)?),
        11 => Change::Seeds(decoder.count()?),
        12 => Change::Host(decoder.bytes()?.into()),
        13 => Change::SeedsComplete,
        14 => Change::Rescue(decode_ticket(decoder)?, decode_candidate(decoder, referrer)?),
        15 => Change::Trap(decoder.key()?),
        16 => {
            let reason = SkipReason::ALL.get(usize::from(decoder.byte()?)).ok_or(Malformed)?;
            Change::Example(*reason, decoder.text()?.into())
        }
        17 => Change::Elapsed(Duration::from_micros(decoder.number()?)),
        18 => Change::Observed(ObservedLinks::decode(decoder)?),
        _ => return Err(Malformed),
    })
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
