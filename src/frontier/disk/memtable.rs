//! Candidates that were pushed last, as bytes in one buffer, before they go to a segment.
//!
//! Each lane's entries form a list through the table, so that neither a push nor a claim moves
//! anything, and writing them out in order needs only the lanes sorted.

use std::sync::Arc;

use super::parts::{Parts, encode_parts};
use crate::model::Candidate;
use crate::store::{Decoder, Encoder, Malformed};

/// No entry, no referrer.
const NONE: u32 = u32::MAX;

/// A lane's entries in the memtable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    first: u32,
    last: u32,
    /// The one to be claimed next, and its sequence; both are brought up to date when needed.
    next: u32,
    next_sequence: u64,
}

impl Default for Listed {
    fn default() -> Self {
        Self { first: NONE, last: NONE, next: NONE, next_sequence: 0 }
    }
}

impl Listed {
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    length: u32,
    /// Where its referrer's text stands, with its length before it.
    referrer: u32,
    /// The next of its lane.
    next: u32,
}

/// The memtable. Its size is fixed when it is made.
#[derive(Debug)]
pub(super) struct Memtable {
    /// Candidates and referrers, one after another.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The referrer of the last push, and where it stands.
    referrer: Option<(Arc<str>, u32)>,
    most_bytes: usize,
    most_entries: usize,
}

/// A candidate, and the text of its referrer before it.
pub(super) type Referred<'a> = (Option<&'a [u8]>, Parts<'a>);

/// Decodes entries of the memtable one after another; they share their referrers.
#[derive(Debug, Default)]
pub(super) struct Reading {
    referrer: Option<(u32, Arc<str>)>,
}

impl Memtable {
    /// A memtable of about so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        // Places are 32-bit numbers. An entry with its candidate takes about eight times its own size.
        let bytes = bytes.clamp(4 << 10, 1 << 30);
        let most_entries = bytes / 8 / size_of::<Entry>();
        let most_bytes = bytes - bytes / 8;
        Self {
            bytes: Vec::with_capacity(most_bytes),
            entries: Vec::with_capacity(most_entries),
            referrer: None,
            most_bytes,
            most_entries,
        }
    }

    /// Whether a candidate does not fit any more, and something would be gained by writing out.
    pub(super) fn is_full_for(&self, candidate: &Candidate) -> bool {
        // Longer than what numbers and lengths around the two texts can take.
        const AROUND: usize = 64;
        let referrer = candidate.referrer.as_ref().map_or(0, |referrer| referrer.len());
        let needed = candidate.url.len() + referrer + AROUND;
        !self.entries.is_empty()
            && (self.entries.len() >= self.most_entries || self.bytes.len() + needed > self.most_bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds the next candidate of a lane; gives the bytes it took.
    pub(super) fn push(&mut self, candidate: &Candidate, sequence: u64, listed: &mut Listed) -> usize {
        let before = self.bytes.len();
        let referrer = self.place_referrer(candidate.referrer.as_ref());
        let start = self.bytes.len();
        encode_parts(candidate, &mut self.bytes);
        let index = self.entries.len() as u32;
        let length = (self.bytes.len() - start) as u32;
        self.entries.push(Entry { start: start as u32, length, referrer, next: NONE });
        match self.entries.get_mut(listed.last as usize) {
            Some(last) if !listed.is_empty() => last.next = index,
            _ => *listed = Listed { first: index, last: index, next: index, next_sequence: sequence },
        }
        listed.last = index;
        if listed.next == NONE {
            (listed.next, listed.next_sequence) = (index, sequence);
        }
        self.bytes.len() - before + size_of::<Entry>()
    }

    fn place_referrer(&mut self, referrer: Option<&Arc<str>>) -> u32 {
        let Some(referrer) = referrer else { return NONE };
        match &self.referrer {
            Some((last, place)) if Arc::ptr_eq(last, referrer) || last == referrer => *place,
            _ => {
                let place = self.bytes.len() as u32;
                Encoder(&mut self.bytes).text(referrer);
                self.referrer = Some((Arc::clone(referrer), place));
                place
            }
        }
    }

    fn entry(&self, index: u32) -> Option<Entry> {
        self.entries.get(index as usize).copied()
    }

    fn referrer(&self, place: u32) -> Result<&[u8], Malformed> {
        Decoder(self.bytes.get(place as usize..).unwrap_or_default()).bytes()
    }

    /// Moves on to the lane's entry with this sequence or, where there is none, past the end; decodes it.
    pub(super) fn take(
        &self,
        listed: &mut Listed,
        sequence: u64,
        reading: &mut Reading,
    ) -> Result<Candidate, Malformed> {
        while listed.next_sequence < sequence {
            listed.next = self.entry(listed.next).ok_or(Malformed)?.next;
            listed.next_sequence += 1;
        }
        let entry = self.entry(listed.next).ok_or(Malformed)?;
        listed.next = entry.next;
        listed.next_sequence += 1;
        let referrer = match (&reading.referrer, entry.referrer) {
            (_, NONE) => None,
            (Some((place, referrer)), wanted) if *place == wanted => Some(Arc::clone(referrer)),
            (_, wanted) => {
                let text = str::from_utf8(self.referrer(wanted)?).map_err(|_| Malformed)?;
                let referrer: Arc<str> = Arc::from(text);
                reading.referrer = Some((wanted, Arc::clone(&referrer)));
                Some(referrer)
            }
        };
        self.parts(entry)?.candidate(referrer)
    }

    fn parts(&self, entry: Entry) -> Result<Parts<'_>, Malformed> {
        let start = entry.start as usize;
        Parts::decode(self.bytes.get(start..start + entry.length as usize).ok_or(Malformed)?)
    }

    /// The entries of a lane, oldest first, with their referrers.
    pub(super) fn entries(&self, listed: &Listed) -> impl Iterator<Item = Result<Referred<'_>, Malformed>> {
        let mut next = listed.first;
        std::iter::from_fn(move || {
            let entry = self.entry(next)?;
            next = entry.next;
            Some(self.referred(entry))
        })
    }

    fn referred(&self, entry: Entry) -> Result<Referred<'_>, Malformed> {
        let referrer = if entry.referrer == NONE { None } else { Some(self.referrer(entry.referrer)?) };
        Ok((referrer, self.parts(entry)?))
    }

    /// Forgets all entries.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.referrer = None;
        // A single candidate larger than the whole table may have made it grow.
        self.bytes.shrink_to(self.most_bytes);
    }

    /// Bytes that it takes when it is full.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }
}
