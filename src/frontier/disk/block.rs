//! Blocks: a few kilobytes of candidates, compressed as one.
//!
//! ```text
//! block      crc32 of what follows      4 bytes, little endian
//!            bytes of the runs          4 bytes, little endian
//!            entries in all runs        4 bytes, little endian
//!            the key of each            8 bytes, little endian
//!            runs, compressed           LZ4 block format
//! run        queue                      number
//!            class                      1 byte
//!            sequence of the first      number
//!            entries                    number
//!            bytes of all entries       number
//!            entries
//! entry      sequences left out before it, times 2, and 1 if a referrer follows    number
//!            [referrer]                                                            text
//!            bytes that its URL and that of the run's first entry begin with       number
//!            bytes of what follows                                                 number
//!            kind                                                                  see `CandidateKind`
//!            the rest of its URL                                                   up to the end
//! ```
//!
//! Numbers and text are as in [`store`](crate::store). The referrer of an entry is the last one that
//! its run gave.
//!
//! Keys are as good as random: among the rest they would cost the compressor time and shorten what
//! repeats. And what the URLs of a host have in common is cheaper left out than compressed. It is
//! the first URL of the run that the others are held against, not the one before each, so that a
//! claim which goes on within a run need not put together those it passes over.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};

use super::lanes::LaneKey;
use super::parts::Parts;
use crate::frontier::QueueId;
use crate::model::UrlKey;
use crate::store::{CandidateKind, Decoder, Encoder, Malformed};

const KEY_BYTES: usize = size_of::<UrlKey>();

/// Bytes of the number of keys.
const COUNT_BYTES: usize = 4;

/// LZ4 cannot make one byte stand for more than this.
const MOST_EXPANSION: usize = 255;

/// Entries of one lane within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunKey {
    pub(super) lane: LaneKey,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// Gathers entries, in the order of lanes and sequences, until they make a block.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    bytes: Vec<u8>,
    /// The keys of all entries.
    keys: Vec<u8>,
    /// The entries of the run that is open.
    open: Vec<u8>,
    count: u64,
    /// The first URL of the open run.
    first_url: Vec<u8>,
    /// The kind of the entry that is added.
    kind: Vec<u8>,
    /// The last referrer of the open run.
    referrer: Option<Vec<u8>>,
    /// What the block holds; the last one is open.
    runs: Vec<RunKey>,
}

impl BlockBuilder {
    /// Bytes gathered so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.keys.len() + self.open.len()
    }

    pub(super) fn runs(&self) -> &[RunKey] {
        &self.runs
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, lane: LaneKey, sequence: u64, referrer: Option<&[u8]>, parts: &Parts<'_>) {
        if self.runs.last().is_none_or(|run| run.lane != lane) {
            self.close_run();
            self.runs.push(RunKey { lane, first: sequence, last: sequence });
            // The first entry leaves none out.
            self.count = 0;
            self.first_url.clear();
        }
        let Some(run) = self.runs.last_mut() else { return };
        let left_out = if self.count == 0 { 0 } else { sequence.saturating_sub(run.last + 1) };
        run.last = sequence;
        self.count += 1;
        let changed = referrer.filter(|referrer| self.referrer.as_deref() != Some(*referrer));
        let mut encoder = Encoder(&mut self.open);
        encoder.number(left_out << 1 | u64::from(changed.is_some()));
        if let Some(referrer) = changed {
            encoder.bytes(referrer);
            let kept = self.referrer.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(referrer);
        }
        self.keys.extend_from_slice(&parts.key.to_le_bytes());
        let shared = if self.count == 1 {
            let [begin, end] = parts.url;
            self.first_url.extend_from_slice(begin);
            self.first_url.extend_from_slice(end);
            0
        } else {
            parts.shared_with(&self.first_url)
        };
        self.kind.clear();
        parts.kind.encode(&mut Encoder(&mut self.kind));
        let [begin, end] = parts.url_from(shared);
        let mut encoder = Encoder(&mut self.open);
        encoder.number(shared as u64);
        encoder.number((self.kind.len() + begin.len() + end.len()) as u64);
        for piece in [&self.kind, begin, end] {
            self.open.extend_from_slice(piece);
        }
    }

    fn close_run(&mut self) {
        if let Some(run) = self.runs.last() {
            let mut encoder = Encoder(&mut self.bytes);
            encoder.number(u64::from(run.lane.queue.0));
            encoder.byte(run.lane.class);
            encoder.number(run.first);
            encoder.number(self.count);
            encoder.bytes(&self.open);
        }
        self.open.clear();
        self.referrer = None;
    }

    /// Appends the block to `output` and begins a new one; gives its length.
    pub(super) fn finish(&mut self, table: &mut CompressTable, output: &mut Vec<u8>) -> usize {
        self.close_run();
        let start = output.len();
        output.extend_from_slice(&[0; 4]);
        output.extend_from_slice(&(self.bytes.len() as u32).to_le_bytes());
        output.extend_from_slice(&((self.keys.len() / KEY_BYTES) as u32).to_le_bytes());
        output.extend_from_slice(&self.keys);
        let before = output.len();
        output.resize(before + get_maximum_output_size(self.bytes.len()), 0);
        // There is room for the worst case, so it cannot fail.
        let length = compress_into_with_table(&self.bytes, &mut output[before..], table).unwrap_or_default();
        output.truncate(before + length);
        let check = crc32fast::hash(&output[start + 4..]);
        output[start..start + 4].copy_from_slice(&check.to_le_bytes());
        self.keys.clear();
        self.bytes.clear();
        self.runs.clear();
        output.len() - start
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let texts = [&self.bytes, &self.keys, &self.open, &self.first_url];
        texts.iter().map(|text| text.capacity()).sum::<usize>() + self.runs.capacity() * size_of::<RunKey>()
    }
}

/// Why a block cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadBlock(pub(super) &'static str);

/// Checks a block and puts its keys, with their number before them, and then its runs,
/// decompressed, into `raw`, in place of what that held.
pub(super) fn open_block(block: &[u8], raw: &mut Vec<u8>) -> Result<(), BadBlock> {
    let short = BadBlock("a block is too short");
    let (check, rest) = block.split_first_chunk().ok_or(short)?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*check) {
        return Err(BadBlock("the checksum of a block does not match"));
    }
    let (length, keys) = rest.split_first_chunk().ok_or(short)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (count, _) = keys.split_first_chunk().ok_or(short)?;
    let keys_end = COUNT_BYTES + u32::from_le_bytes(*count) as usize * KEY_BYTES;
    let (keys, compressed) = keys.split_at_checked(keys_end).ok_or(short)?;
    if length > compressed.len().saturating_mul(MOST_EXPANSION) {
        return Err(BadBlock("a block says that it is larger than it can be"));
    }
    // All of it is written over.
    raw.resize(keys_end + length, 0);
    raw[..keys_end].copy_from_slice(keys);
    match decompress_into(compressed, &mut raw[keys_end..]) {
        Ok(written) if written == length => Ok(()),
        _ => Err(BadBlock("a block cannot be decompressed")),
    }
}

/// A run within the bytes of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    lane: LaneKey,
    entries: Entries<'a>,
}

impl<'a> Run<'a> {
    /// Takes the next run from the front of a block's bytes, and its keys from theirs.
    fn take(decoder: &mut Decoder<'a>, keys: &mut &'a [u8]) -> Result<Self, Malformed> {
        let lane = LaneKey { queue: QueueId(decoder.small()?), class: decoder.byte()? };
        let next = decoder.number()?;
        let bytes = decoder.small::<usize>()?.checked_mul(KEY_BYTES).ok_or(Malformed)?;
        let (own, rest) = keys.split_at_checked(bytes).ok_or(Malformed)?;
        *keys = rest;
        let decoder = Decoder(decoder.bytes()?);
        let entries = Entries { decoder, keys: Decoder(own), next, referrer: None, first_url: None };
        Ok(Self { lane, entries })
    }

    /// The entries of the run that the index says a block holds.
    pub(super) fn find(raw: &'a [u8], key: &RunKey) -> Result<Entries<'a>, Malformed> {
        let (count, rest) = raw.split_first_chunk().ok_or(Malformed)?;
        let bytes = u32::from_le_bytes(*count) as usize * KEY_BYTES;
        let (mut keys, runs) = rest.split_at_checked(bytes).ok_or(Malformed)?;
        let mut decoder = Decoder(runs);
        while !decoder.is_empty() {
            let run = Self::take(&mut decoder, &mut keys)?;
            if run.lane == key.lane && run.entries.next == key.first {
                return Ok(run.entries);
            }
        }
        Err(Malformed)
    }
}

/// An entry as it is in a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) sequence: u64,
    /// The candidate's referrer, if it has one; text, but not looked at yet.
    pub(super) referrer: Option<&'a [u8]>,
    key: UrlKey,
    /// What its URL begins with; nothing for the first of the run.
    begin: &'a [u8],
    /// Kind and the rest of the URL.
    rest: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Its candidate, but for the referrer.
    pub(super) fn parts(&self) -> Result<Parts<'a>, Malformed> {
        let mut decoder = Decoder(self.rest);
        let kind = CandidateKind::decode(&mut decoder)?;
        Ok(Parts { key: self.key, kind, url: [self.begin, decoder.0] })
    }
}

/// The entries of a run, one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries<'a> {
    decoder: Decoder<'a>,
    /// The keys of those that are left.
    keys: Decoder<'a>,
    next: u64,
    referrer: Option<&'a [u8]>,
    first_url: Option<&'a [u8]>,
}

impl<'a> Entries<'a> {
    /// The next one; nothing at the end of the run.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Entry<'a>>, Malformed> {
        if self.keys.is_empty() {
            return if self.decoder.is_empty() { Ok(None) } else { Err(Malformed) };
        }
        let key = self.keys.key()?;
        let first = self.decoder.number()?;
        let sequence = self.next.checked_add(first >> 1).ok_or(Malformed)?;
        self.next = sequence.checked_add(1).ok_or(Malformed)?;
        if first & 1 == 1 {
            self.referrer = Some(self.decoder.bytes()?);
        }
        let shared = usize::try_from(self.decoder.number()?).map_err(|_| Malformed)?;
        let begin = self.first_url.unwrap_or_default().get(..shared).ok_or(Malformed)?;
        let entry = Entry { sequence, referrer: self.referrer, key, begin, rest: self.decoder.bytes()? };
        if self.first_url.is_none() {
            self.first_url = Some(entry.parts()?.url[1]);
        }
        Ok(Some(entry))
    }
}
