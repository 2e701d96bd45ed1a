//! Candidates of doubts in compressed blocks, in order of number.
//!
//! In a block the candidates follow one another as [`encode_candidate_without_key`] writes them, the
//! links of one page with one referrer; the whole is an LZ4 block. The keys are the spool's matter.

use std::sync::Arc;

use crate::model::{Candidate, UrlKey};
use crate::store::{Decoder, Malformed, decode_candidate_without_key, encode_candidate_without_key};

/// Bytes of candidates from which on a block is ended.
const BLOCK_BYTES: usize = 32 << 10;

/// What a block takes of memory beside its bytes.
const BLOCK_OVERHEAD: usize = 64;

/// The block that is being filled.
#[derive(Debug, Default)]
pub(super) struct Open {
    raw: Vec<u8>,
    count: u64,
    referrer: Option<Arc<str>>,
}

/// A block that is compressed.
#[derive(Debug)]
pub(super) struct Packed {
    /// The number of its first doubt.
    pub(super) first: u64,
    /// Doubts in it.
    pub(super) count: u64,
    /// Bytes before compression.
    pub(super) raw_length: usize,
    /// Compressed.
    pub(super) bytes: Box<[u8]>,
}

impl Open {
    pub(super) fn push(&mut self, candidate: &Candidate) {
        encode_candidate_without_key(candidate, self.referrer.as_ref(), &mut self.raw);
        let (last, this) = (self.referrer.as_ref(), candidate.referrer.as_ref());
        // to count another holder costs more than to look
        if last.map(Arc::as_ptr) != this.map(Arc::as_ptr) {
            self.referrer.clone_from(&candidate.referrer);
        }
        self.count += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn is_full(&self) -> bool {
        self.raw.len() >= BLOCK_BYTES
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        self.raw.capacity() as u64
    }

    pub(super) fn clear(&mut self) {
        self.raw.clear();
        self.raw.shrink_to(2 * BLOCK_BYTES);
        self.count = 0;
        self.referrer = None;
    }

    /// Ends the block, whose first doubt has this number, and empties this.
    pub(super) fn pack(&mut self, first: u64, scratch: &mut Vec<u8>) -> Packed {
        let bound = lz4_flex::block::get_maximum_output_size(self.raw.len());
        if scratch.len() < bound {
            scratch.resize(bound, 0);
        }
        // it fits, by the bound
        let length = lz4_flex::block::compress_into(&self.raw, scratch).unwrap_or_default();
        let bytes = scratch[..length].into();
        scratch.truncate(4 * BLOCK_BYTES);
        scratch.shrink_to(4 * BLOCK_BYTES);
        let packed = Packed { first, count: self.count, raw_length: self.raw.len(), bytes };
        self.clear();
        packed
    }

    /// Shows every candidate, with its place in the block; `key` tells the key of each place.
    pub(super) fn visit(
        &self,
        key: impl Fn(u64) -> UrlKey,
        visit: impl FnMut(u64, Candidate),
    ) -> Result<(), Malformed> {
        decode(&self.raw, self.count, key, visit)
    }
}

impl Packed {
    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.bytes.len() + BLOCK_OVERHEAD) as u64
    }

    /// As [`Open::visit`].
    pub(super) fn visit(
        &self,
        key: impl Fn(u64) -> UrlKey,
        visit: impl FnMut(u64, Candidate),
    ) -> Result<(), Malformed> {
        unpack(&self.bytes, self.raw_length, self.count, key, visit)
    }
}

/// As [`Open::visit`], of a compressed block.
pub(super) fn unpack(
    bytes: &[u8],
    raw_length: usize,
    count: u64,
    key: impl Fn(u64) -> UrlKey,
    visit: impl FnMut(u64, Candidate),
) -> Result<(), Malformed> {
    // LZ4 makes nothing more than 255 times smaller, so nothing larger is allocated in vain
    if raw_length / 255 > bytes.len() {
        return Err(Malformed);
    }
    let raw = lz4_flex::block::decompress(bytes, raw_length).map_err(|_| Malformed)?;
    decode(&raw, count, key, visit)
}

fn decode(
    raw: &[u8],
    count: u64,
    key: impl Fn(u64) -> UrlKey,
    mut visit: impl FnMut(u64, Candidate),
) -> Result<(), Malformed> {
    let mut decoder = Decoder(raw);
    let mut referrer = None;
    for place in 0..count {
        visit(place, decode_candidate_without_key(&mut decoder, key(place), &mut referrer)?);
    }
    if decoder.is_empty() { Ok(()) } else { Err(Malformed) }
}
