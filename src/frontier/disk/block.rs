//! Blocks: a few kilobytes of candidates, compressed as one.
//!
//! ```text
//! block      crc32 of what follows      4 bytes, little endian
//!            bytes when decompressed    4 bytes, little endian
//!            runs, compressed           LZ4 block format
//! run        queue                      number
//!            class                      1 byte
//!            sequence of the first      number
//!            entries                    number
//!            bytes of all entries       number
//!            entries
//! entry      sequences left out before it, times 2, and 1 if a referrer follows    number
//!            [referrer]                                                            text
//!            candidate                                                             bytes
//! ```
//!
//! Numbers, text and bytes are as in [`store`](crate::store). A candidate is encoded as if the one
//! before it had the same referrer, which is the last one that the run gave; so an entry can be
//! copied into another block without being decoded.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};

use super::lanes::LaneKey;
use crate::frontier::QueueId;
use crate::store::{Decoder, Encoder, Malformed};

/// Bytes of a block before its compressed part.
pub(super) const BLOCK_HEADER: usize = 8;

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
    /// The entries of the run that is open.
    open: Vec<u8>,
    count: u64,
    /// The last referrer of the open run.
    referrer: Option<Vec<u8>>,
    /// What the block holds; the last one is open.
    runs: Vec<RunKey>,
}

impl BlockBuilder {
    /// Bytes gathered so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.open.len()
    }

    pub(super) fn runs(&self) -> &[RunKey] {
        &self.runs
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, lane: LaneKey, sequence: u64, referrer: Option<&[u8]>, candidate: &[u8]) {
        if self.runs.last().is_none_or(|run| run.lane != lane) {
            self.close_run();
            self.runs.push(RunKey { lane, first: sequence, last: sequence });
            // The first entry leaves none out.
            self.count = 0;
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
        encoder.bytes(candidate);
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
        output.resize(start + BLOCK_HEADER + get_maximum_output_size(self.bytes.len()), 0);
        let compressed = &mut output[start + BLOCK_HEADER..];
        // There is room for the worst case, so it cannot fail.
        let length = compress_into_with_table(&self.bytes, compressed, table).unwrap_or_default();
        output.truncate(start + BLOCK_HEADER + length);
        output[start + 4..start + BLOCK_HEADER].copy_from_slice(&(self.bytes.len() as u32).to_le_bytes());
        let check = crc32fast::hash(&output[start + 4..]);
        output[start..start + 4].copy_from_slice(&check.to_le_bytes());
        self.bytes.clear();
        self.runs.clear();
        BLOCK_HEADER + length
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.open.capacity() + self.runs.capacity() * size_of::<RunKey>()
    }
}

/// Why a block cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadBlock(pub(super) &'static str);

/// Checks a block and decompresses its runs into `raw`, in place of what that held.
pub(super) fn open_block(block: &[u8], raw: &mut Vec<u8>) -> Result<(), BadBlock> {
    let short = BadBlock("a block is too short");
    let (check, rest) = block.split_first_chunk().ok_or(short)?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*check) {
        return Err(BadBlock("the checksum of a block does not match"));
    }
    let (length, compressed) = rest.split_first_chunk().ok_or(short)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > compressed.len().saturating_mul(MOST_EXPANSION) {
        return Err(BadBlock("a block says that it is larger than it can be"));
    }
    // All of it is written over.
    raw.resize(length, 0);
    match decompress_into(compressed, raw) {
        Ok(written) if written == length => Ok(()),
        _ => Err(BadBlock("a block cannot be decompressed")),
    }
}

/// A run within the bytes of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) lane: LaneKey,
    pub(super) entries: Entries<'a>,
}

impl<'a> Run<'a> {
    /// Takes the next run from the front of a block's bytes.
    pub(super) fn take(decoder: &mut Decoder<'a>) -> Result<Self, Malformed> {
        let lane = LaneKey { queue: QueueId(decoder.small()?), class: decoder.byte()? };
        let next = decoder.number()?;
        let left = decoder.number()?;
        let decoder = Decoder(decoder.bytes()?);
        Ok(Self { lane, entries: Entries { decoder, next, left, referrer: None } })
    }

    /// The entries of the run that the index says a block holds.
    pub(super) fn find(raw: &'a [u8], key: &RunKey) -> Result<Entries<'a>, Malformed> {
        let mut decoder = Decoder(raw);
        while !decoder.is_empty() {
            let run = Self::take(&mut decoder)?;
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
    pub(super) candidate: &'a [u8],
}

/// The entries of a run, one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries<'a> {
    decoder: Decoder<'a>,
    next: u64,
    left: u64,
    referrer: Option<&'a [u8]>,
}

impl<'a> Entries<'a> {
    /// The next one; nothing at the end of the run.
    pub(super) fn next(&mut self) -> Result<Option<Entry<'a>>, Malformed> {
        if self.left == 0 {
            return if self.decoder.is_empty() { Ok(None) } else { Err(Malformed) };
        }
        self.left -= 1;
        let first = self.decoder.number()?;
        let sequence = self.next.checked_add(first >> 1).ok_or(Malformed)?;
        self.next = sequence.checked_add(1).ok_or(Malformed)?;
        if first & 1 == 1 {
            self.referrer = Some(self.decoder.bytes()?);
        }
        Ok(Some(Entry { sequence, referrer: self.referrer, candidate: self.decoder.bytes()? }))
    }
}
