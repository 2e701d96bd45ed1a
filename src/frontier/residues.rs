//! What is remembered of hosts and origins that are not open: at most 24 bytes each beside the
//! hash of the name, and only where there is something to remember.
//!
//! Nothing here knows names, queues or what is open; [`Schedule`](super::Schedule) asks when it
//! opens a host and tells when it closes one.
//!
//! Where the table is full, what has nothing to say any more goes first; then, oldest first, what
//! costs requests and breaks no promise when it is forgotten (that a host was given up, how often
//! it failed), and that is counted. A time that has not come yet is never forgotten: the
//! table says that it has no room, and its host stays open until then. How many records a host has
//! is never forgotten either; that table is not bounded.

use std::collections::BTreeMap;

use super::{DrainReason, Host, Moment, Origin, RobotsState};
use crate::model::ErrorKind;
use crate::store::{Decoder, Encoder, Malformed};

/// What is remembered of one host or origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Residue {
    /// Not to be asked before.
    pub(super) until: Moment,
    stamp: u32,
    /// Seconds, rounded up.
    pub(super) crawl_delay: u16,
    /// Why it was given up, and its last error, as codes; 0 for none.
    drained: u8,
    error: u8,
    pub(super) failures: u8,
    pub(super) transient_failures: u8,
    pub(super) slow_downs: u8,
    pub(super) unanswered: u8,
}

/// Bytes of an entry in the table, which is a B-tree: it has no larger copy to grow into, and keys
/// in random order fill its nodes to some 69 % (Yao 1978). Four more are for sorting out the oldest.
const ENTRY_BYTES: u64 = (8 + size_of::<Residue>() as u64) * 100 / 60 + 4;
/// Bytes of an entry in the table of counts.
const COUNT_BYTES: u64 = (8 + 4) * 100 / 54;
/// Entries there is room for, whatever the share.
const LEAST: usize = 7;

/// By their codes, less 1; only ever appended to, for the codes stand in files.
const REASONS: [DrainReason; 4] = [
    DrainReason::RobotsUnreachable,
    DrainReason::HostUnreachable,
    DrainReason::HostLimit,
    DrainReason::PrivateAddress,
];

fn code<T: PartialEq>(all: &[T], value: Option<&T>) -> u8 {
    value.and_then(|value| all.iter().position(|one| one == value)).map_or(0, |place| place as u8 + 1)
}

fn value<T: Copy>(all: &[T], code: u8) -> Option<T> {
    usize::from(code).checked_sub(1).and_then(|place| all.get(place)).copied()
}

impl Residue {
    /// What must outlive a host.
    pub(super) fn of(host: &Host) -> Residue {
        let byte = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let seconds = host.crawl_delay.as_millis().div_ceil(1000);
        let mut residue = Residue {
            until: host.next_allowed,
            crawl_delay: u16::try_from(seconds).unwrap_or(u16::MAX),
            failures: byte(host.failures),
            transient_failures: byte(host.transient_failures),
            slow_downs: byte(host.slow_downs),
            unanswered: byte(host.unanswered),
            ..Residue::default()
        };
        residue.set_drained(host.drained, host.last_error.as_ref().map(|error| error.kind));
        residue
    }

    /// What must outlive an origin.
    pub(super) fn of_origin(origin: &Origin) -> Option<Residue> {
        let RobotsState::Drained(reason) = origin.robots else { return None };
        let mut residue = Residue::default();
        residue.set_drained(Some(reason), origin.last_error.as_ref().map(|error| error.kind));
        Some(residue)
    }

    /// That something was given up, and why.
    fn set_drained(&mut self, reason: Option<DrainReason>, error: Option<ErrorKind>) {
        self.drained = code(&REASONS, reason.as_ref());
        self.error = code(&ErrorKind::ALL, error.as_ref());
    }

    pub(super) fn drained(&self) -> Option<DrainReason> {
        value(&REASONS, self.drained)
    }

    pub(super) fn error(&self) -> Option<ErrorKind> {
        value(&ErrorKind::ALL, self.error)
    }

    /// Whether it says anything at this moment.
    pub(super) fn tells(&self, now: Moment) -> bool {
        self.until > now || self.drained != 0 || self.counters() != [0; 4]
    }

    fn counters(&self) -> [u8; 4] {
        [self.failures, self.transient_failures, self.slow_downs, self.unanswered]
    }
}

/// What is remembered, by the hash of the name.
#[derive(Debug)]
pub(super) struct Residues {
    table: BTreeMap<u64, Residue>,
    counts: BTreeMap<u64, u32>,
    most: usize,
    stamp: u32,
    /// There will be no room before this moment.
    full_until: Moment,
    dropped: u64,
    /// Any of them was given up.
    any_drained: bool,
}

impl Residues {
    /// A table that takes this many bytes at most.
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            table: BTreeMap::new(),
            counts: BTreeMap::new(),
            most: usize::try_from(bytes / ENTRY_BYTES).unwrap_or(usize::MAX).max(LEAST),
            stamp: 0,
            full_until: Moment::START,
            dropped: 0,
            any_drained: false,
        }
    }

    pub(super) fn get(&self, key: u64) -> Option<&Residue> {
        self.table.get(&key)
    }

    pub(super) fn take(&mut self, key: u64) -> Option<Residue> {
        self.full_until = Moment::START;
        self.table.remove(&key)
    }

    /// Keeps something; to be called after [`Residues::make_room`] only, or when restoring.
    pub(super) fn put(&mut self, key: u64, mut residue: Residue) {
        self.stamp = self.stamp.wrapping_add(1);
        residue.stamp = self.stamp;
        self.any_drained |= residue.drained != 0;
        self.table.insert(key, residue);
    }

    /// Records of a host, counted so far.
    pub(super) fn count(&self, key: u64) -> u64 {
        self.counts.get(&key).map_or(0, |count| u64::from(*count))
    }

    /// Keeps the number of a host's records.
    pub(super) fn set_count(&mut self, key: u64, records: u64) {
        if records == 0 {
            self.counts.remove(&key);
        } else {
            self.counts.insert(key, u32::try_from(records).unwrap_or(u32::MAX));
        }
    }

    /// Whether there is room for so many more; makes it where it can be made.
    pub(super) fn make_room(&mut self, more: usize, now: Moment) -> bool {
        if self.table.len() + more <= self.most {
            return true;
        }
        if now < self.full_until {
            return false;
        }
        self.table.retain(|_, residue| residue.tells(now));
        self.drop_oldest(self.table.len().saturating_sub(self.most / 4 * 3), now);
        if self.table.len() + more <= self.most {
            return true;
        }
        self.full_until = self.first_until(now).unwrap_or(Moment::START);
        false
    }

    /// When the first of the times to come that keep an entry from being forgotten will have passed.
    pub(super) fn first_until(&self, now: Moment) -> Option<Moment> {
        self.table.values().map(|residue| residue.until).filter(|until| *until > now).min()
    }

    /// Forgets up to so many whose time has passed, the oldest first.
    fn drop_oldest(&mut self, most: usize, now: Moment) {
        if most == 0 {
            return;
        }
        let harmless = self.table.values().filter(|residue| residue.until <= now);
        let mut stamps: Vec<u32> = harmless.map(|residue| residue.stamp).collect();
        let before = self.table.len();
        let last = if stamps.len() > most { *stamps.select_nth_unstable(most - 1).1 } else { u32::MAX };
        self.table.retain(|_, residue| residue.until > now || residue.stamp > last);
        self.dropped += (before - self.table.len()) as u64;
    }

    /// How many were forgotten that had something to say, since it was last asked.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    pub(super) fn any_drained(&self) -> bool {
        self.any_drained
    }

    /// Bytes of the table, and of the counts.
    pub(super) fn memory_bytes(&self) -> (u64, u64) {
        (self.table.len() as u64 * ENTRY_BYTES, self.counts.len() as u64 * COUNT_BYTES)
    }

    /// Every entry; those of which nothing but the number of records is known too.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        let known = self.table.iter();
        let known =
            known.map(|(key, residue)| Entry { key: *key, residue: *residue, records: self.count(*key) });
        let counted = self.counts.iter().filter(|(key, _)| !self.table.contains_key(key));
        let counted = counted.map(|(key, count)| (*key, u64::from(*count)));
        known.chain(counted.map(|(key, records)| Entry { key, residue: Residue::default(), records }))
    }
}

/// What is kept of a host or an origin in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The hash of its name.
    pub(super) key: u64,
    pub(super) residue: Residue,
    pub(super) records: u64,
}

const HAS_UNTIL: u8 = 1;
const HAS_CRAWL_DELAY: u8 = 2;
const IS_DRAINED: u8 = 4;
const HAS_COUNTERS: u8 = 8;
const HAS_RECORDS: u8 = 16;

/// Appends an entry: its key (8 bytes), a byte that says what follows, then what is not nothing of:
/// the time as microseconds since 1970 (`epoch` is when the process's own time began), the seconds
/// of the crawl-delay, the codes of reason and error, the four counters, the number of records.
/// Of one that is `sparse` and says nothing at all nothing is written. Returns how many were.
pub(super) fn encode(entry: &Entry, sparse: bool, epoch: u64, buffer: &mut Vec<u8>) -> u64 {
    let Entry { key, residue, records } = entry;
    let mut flags = 0;
    for (flag, holds) in [
        (HAS_UNTIL, residue.until > Moment::START),
        (HAS_CRAWL_DELAY, residue.crawl_delay > 0),
        (IS_DRAINED, residue.drained > 0),
        (HAS_COUNTERS, residue.counters() != [0; 4]),
        (HAS_RECORDS, *records > 0),
    ] {
        flags |= if holds { flag } else { 0 };
    }
    if sparse && flags == 0 {
        return 0;
    }
    let mut encoder = Encoder(buffer);
    encoder.key(*key);
    encoder.byte(flags);
    if flags & HAS_UNTIL != 0 {
        encoder.number(residue.until.0.saturating_add(epoch));
    }
    if flags & HAS_CRAWL_DELAY != 0 {
        encoder.number(u64::from(residue.crawl_delay));
    }
    if flags & IS_DRAINED != 0 {
        encoder.byte(residue.drained);
        encoder.byte(residue.error);
    }
    if flags & HAS_COUNTERS != 0 {
        residue.counters().into_iter().for_each(|counter| encoder.byte(counter));
    }
    if flags & HAS_RECORDS != 0 {
        encoder.number(*records);
    }
    1
}

/// Takes an entry; times that passed while nobody was there have passed.
pub(super) fn decode(decoder: &mut Decoder<'_>, epoch: u64) -> Result<Entry, Malformed> {
    let key = decoder.key()?;
    let flags = decoder.byte()?;
    let mut residue = Residue::default();
    if flags & HAS_UNTIL != 0 {
        residue.until = Moment(decoder.number()?.saturating_sub(epoch));
    }
    if flags & HAS_CRAWL_DELAY != 0 {
        residue.crawl_delay = decoder.small()?;
    }
    if flags & IS_DRAINED != 0 {
        residue.drained = decoder.byte()?;
        residue.error = decoder.byte()?;
        residue.drained().ok_or(Malformed)?;
    }
    if flags & HAS_COUNTERS != 0 {
        residue.failures = decoder.byte()?;
        residue.transient_failures = decoder.byte()?;
        residue.slow_downs = decoder.byte()?;
        residue.unanswered = decoder.byte()?;
    }
    let records = if flags & HAS_RECORDS != 0 { decoder.count()? } else { 0 };
    Ok(Entry { key, residue, records })
}

#[cfg(test)]
#[path = "residues_tests.rs"]
mod tests;
