//! The body of the manifest: where a crawl stood when its log began.
//!
//! ```text
//! secret            192 bytes
//! log               number of the log that goes on from here
//! elapsed           microseconds that the crawl has run
//! seeds             seeds taken in · 1 where those were all, else 0 (1 byte) · bytes of their file · its crc32
//! counts            number of pairs · pairs of slot and count
//! sinks             how many · number of each, its bytes that are vouched for, their crc32, that of the last 64 KiB
//! attempts          how many · attempts that wait to be repeated (see `journal`)
//! in flight         how many · tickets
//! suspects          how many · ticket and crashes it was alone in flight at
//! queues            how many · queue, origin and candidates of each that belongs to an open origin
//! in buckets        candidates of hosts that are not open
//! scope · schedule · frontier · visited · traps   each its length and bytes, as their modules write them
//! examples          how many · place of the reason (1 byte) and URL of each
//! earlier crawls    how many · directory, secret (its length and bytes), number of the file of keys, and keys of each
//! ```

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::crawled::EarlierCrawls;
use super::journal::{KeptAttempt, decode_ticket, decode_tries, encode_ticket};
use crate::frontier::{QueueId, Ticket};
use crate::model::SkipReason;
use crate::stats::{Counters, Examples};
use crate::store::{Decoder, Encoder, Malformed, Seal, SinkSeal, StateError};
use crate::url::KeySecret;

/// What a manifest says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CrawlState {
    pub(crate) secret: KeySecret,
    pub(crate) log: u64,
    pub(crate) elapsed: Duration,
    pub(crate) seeds_taken: u64,
    pub(crate) seeds_complete: bool,
    /// What the file of seeds was when the crawl began.
    pub(crate) seeds: Seal,
    pub(crate) counters: Counters,
    /// Numbers of the files of results, and what they held.
    pub(crate) sinks: Vec<(u64, SinkSeal)>,
    pub(crate) attempts: HashMap<Ticket, KeptAttempt>,
    pub(crate) in_flight: Vec<Ticket>,
    pub(crate) suspects: HashMap<Ticket, u32>,
    pub(crate) queues: Vec<OpenQueue>,
    pub(crate) in_buckets: u64,
    pub(crate) scope: Vec<u8>,
    pub(crate) schedule: Vec<u8>,
    pub(crate) frontier: Vec<u8>,
    pub(crate) visited: Vec<u8>,
    pub(crate) traps: Vec<u8>,
    pub(crate) examples: Examples,
    /// What `--skip-crawled` goes by.
    pub(crate) earlier: EarlierCrawls,
}

/// The queue of an open origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenQueue {
    pub(crate) queue: QueueId,
    pub(crate) origin: Box<str>,
    /// Candidates in it that are not acknowledged.
    pub(crate) candidates: u64,
}

impl CrawlState {
    /// A crawl that has not begun.
    pub(crate) fn empty(secret: KeySecret) -> Self {
        Self {
            secret,
            log: 0,
            elapsed: Duration::ZERO,
            seeds_taken: 0,
            seeds_complete: false,
            seeds: Seal::default(),
            counters: Counters::default(),
            sinks: Vec::new(),
            attempts: HashMap::new(),
            in_flight: Vec::new(),
            suspects: HashMap::new(),
            queues: Vec::new(),
            in_buckets: 0,
            scope: Vec::new(),
            schedule: Vec::new(),
            frontier: Vec::new(),
            visited: Vec::new(),
            traps: Vec::new(),
            examples: Examples::default(),
            earlier: EarlierCrawls::default(),
        }
    }

    /// Holds the file of seeds against what it was when the crawl began.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where it is another one.
    pub(crate) fn check_seeds(&self, path: &Path, found: Seal) -> Result<(), StateError> {
        if self.seeds == found {
            return Ok(());
        }
        Err(StateError::damaged(path, 0, "it is not as it was when the crawl began; put it back as it was"))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let parts = [&self.scope, &self.schedule, &self.frontier, &self.visited, &self.traps];
        let mut bytes = Vec::with_capacity(1024 + parts.iter().map(|part| part.len()).sum::<usize>());
        bytes.extend_from_slice(self.secret.as_bytes());
        let mut encoder = Encoder(&mut bytes);
        encoder.number(self.log);
        encoder.number(u64::try_from(self.elapsed.as_micros()).unwrap_or(u64::MAX));
        encoder.number(self.seeds_taken);
        encoder.byte(u8::from(self.seeds_complete));
        self.seeds.encode(&mut encoder);
        self.counters.encode(&mut encoder);
        encoder.number(self.sinks.len() as u64);
        for (number, seal) in &self.sinks {
            encoder.number(*number);
            seal.encode(&mut encoder);
        }
        encoder.number(self.attempts.len() as u64);
        for attempt in self.attempts.values() {
            attempt.encode(&mut encoder);
        }
        encoder.number(self.in_flight.len() as u64);
        for ticket in &self.in_flight {
            encode_ticket(&mut encoder, *ticket);
        }
        encoder.number(self.suspects.len() as u64);
        for (ticket, crashes) in &self.suspects {
            encode_ticket(&mut encoder, *ticket);
            encoder.number(u64::from(*crashes));
        }
        encoder.number(self.queues.len() as u64);
        for OpenQueue { queue, origin, candidates } in &self.queues {
            encoder.number(u64::from(queue.0));
            encoder.text(origin);
            encoder.number(*candidates);
        }
        encoder.number(self.in_buckets);
        for part in parts {
            encoder.bytes(part);
        }
        encoder.number(self.examples.iter().count() as u64);
        for (reason, url) in self.examples.iter() {
            encoder.byte(reason as u8);
            encoder.text(url);
        }
        self.earlier.encode(&mut encoder);
        bytes
    }

    /// # Errors
    /// [`Malformed`] where the bytes are no manifest's body.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let (secret, rest) = body.split_first_chunk::<{ KeySecret::LENGTH }>().ok_or(Malformed)?;
        let mut decoder = Decoder(rest);
        let log = decoder.count()?;
        let elapsed = Duration::from_micros(decoder.number()?);
        let seeds_taken = decoder.count()?;
        let seeds_complete = decoder.byte()? != 0;
        let seeds = Seal::decode(&mut decoder)?;
        let counters = Counters::decode(&mut decoder)?;
        let sinks = list(&mut decoder, |decoder| Ok((decoder.number()?, SinkSeal::decode(decoder)?)))?;
        let attempts = list(&mut decoder, KeptAttempt::decode)?;
        let in_flight = list(&mut decoder, decode_ticket)?;
        let suspects = list(&mut decoder, |decoder| Ok((decode_ticket(decoder)?, decode_tries(decoder)?)))?;
        let queues = list(&mut decoder, |decoder| {
            let queue = QueueId(decoder.small()?);
            Ok(OpenQueue { queue, origin: decoder.text()?.into(), candidates: decoder.count()? })
        })?;
        let in_buckets = decoder.count()?;
        let mut part = || decoder.bytes().map(<[u8]>::to_vec);
        let (scope, schedule, frontier, visited) = (part()?, part()?, part()?, part()?);
        let traps = part()?;
        let mut examples = Examples::default();
        for _ in 0..decoder.number()? {
            let reason = SkipReason::ALL.get(usize::from(decoder.byte()?)).ok_or(Malformed)?;
            examples.note(*reason, decoder.text()?);
        }
        let earlier = EarlierCrawls::decode(&mut decoder)?;
        if !decoder.is_empty() {
            return Err(Malformed);
        }
        Ok(Self {
            secret: KeySecret::from_bytes(*secret),
            log,
            elapsed,
            seeds_taken,
            seeds_complete,
            seeds,
            counters,
            sinks,
            attempts: attempts.into_iter().map(|attempt| (attempt.ticket, attempt)).collect(),
            in_flight,
            suspects: suspects.into_iter().collect(),
            queues,
            in_buckets,
            scope,
            schedule,
            frontier,
            visited,
            traps,
            examples,
            earlier,
        })
    }
}

/// A number, and as many of something.
fn list<'a, T>(
    decoder: &mut Decoder<'a>,
    mut one: impl FnMut(&mut Decoder<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = decoder.number()?;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(one(decoder)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_state_reads_back(
            numbers in any::<[u32; 3]>(),
            seeds_complete: bool,
            sinks in proptest::collection::vec(any::<(u64, u64, [u32; 2])>(), 0..3),
            tickets in proptest::collection::vec((any::<u32>(), 0..16_u8, 0..1_u64 << 50), 0..5),
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 5),
            example in proptest::option::of("[a-zé]{1,300}"),
        ) {
            let tickets: Vec<Ticket> = tickets
                .into_iter()
                .map(|(queue, class, sequence)| Ticket { queue: QueueId(queue), class, sequence })
                .collect();
            let mut counters = Counters::default();
            counters.count(3, 7);
            let mut examples = Examples::default();
            examples.note(SkipReason::SitemapStale, example.as_deref().unwrap_or_default());
            let state = CrawlState {
                traps: parts[4].clone(),
                examples,
                log: u64::from(numbers[0]),
                elapsed: Duration::from_micros(u64::from(numbers[1])),
                seeds_taken: u64::from(numbers[2]),
                seeds_complete,
                counters,
                sinks: sinks.into_iter().map(|(number, length, [crc32, tail_crc32])| {
                    (number, SinkSeal { whole: Seal { length, crc32 }, tail_crc32 })
                }).collect(),
                in_flight: tickets.clone(),
                suspects: tickets.into_iter().map(|ticket| (ticket, 1)).collect(),
                scope: parts[0].clone(),
                schedule: parts[1].clone(),
                frontier: parts[2].clone(),
                visited: parts[3].clone(),
                queues: vec![OpenQueue { queue: QueueId(7), origin: "http://é".into(), candidates: 3 }],
                in_buckets: 9,
                attempts: HashMap::new(),
                ..CrawlState::empty(KeySecret::from_seed(1))
            };
            let bytes = state.encode();
            prop_assert_eq!(CrawlState::decode(&bytes), Ok(state));
            prop_assert!(CrawlState::decode(&bytes[..bytes.len() - 1]).is_err());
        }
    }
}
