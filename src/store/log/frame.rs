//! The frames of a log: kinds, checksums, limits.

use crc32fast::Hasher;

use crate::store::{FileKind, HEADER_BYTES, header};

/// Most bytes of one record, before compression and after. More URLs than fit are put into a
/// file that the record names.
pub const MAX_RECORD: usize = 64 << 20;

/// Bytes of a log's random part.
pub(super) const SALT_BYTES: usize = 12;
/// Bytes before the first frame.
pub(super) const PREAMBLE_BYTES: usize = HEADER_BYTES + SALT_BYTES + 4;
/// Bytes of a frame before its body.
pub(super) const HEAD_BYTES: usize = 8;
/// Bytes of a synced mark, all told.
pub(super) const MARK_BYTES: usize = HEAD_BYTES + 8;
/// Bytes before the LZ4 block of a compressed record.
pub(super) const PLAIN_LENGTH_BYTES: usize = 4;

const KIND_SHIFT: u32 = 30;
const LENGTH_MASK: u32 = (1 << KIND_SHIFT) - 1;

/// What the body of a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Compressed,
    Mark,
}

/// The first word of a frame.
pub(super) fn word(kind: Kind, length: usize) -> [u8; 4] {
    ((kind as u32) << KIND_SHIFT | length as u32 & LENGTH_MASK).to_le_bytes()
}

/// The word of every synced mark.
pub(super) fn mark_word() -> [u8; 4] {
    word(Kind::Mark, MARK_BYTES - HEAD_BYTES)
}

/// Kind and length of the body, from the first word of a frame; none where no frame begins so.
pub(super) fn parse_word(bytes: [u8; 4]) -> Option<(Kind, usize)> {
    let word = u32::from_le_bytes(bytes);
    let length = (word & LENGTH_MASK) as usize;
    let (kind, most) = match word >> KIND_SHIFT {
        0 => (Kind::Plain, MAX_RECORD),
        1 => (Kind::Compressed, MAX_RECORD),
        2 if bytes == mark_word() => (Kind::Mark, length),
        _ => return None,
    };
    (length <= most).then_some((kind, length))
}

/// Makes the checksums of one log.
#[derive(Debug, Clone)]
pub(super) struct Checksums {
    salted: Hasher,
}

impl Checksums {
    pub(super) fn new(salt: &[u8]) -> Self {
        let mut salted = Hasher::new();
        salted.update(salt);
        Self { salted }
    }

    /// The checksum of a frame at `offset`, which the body is still to be added to.
    pub(super) fn begin(&self, offset: u64, word: [u8; 4]) -> Hasher {
        let mut hasher = self.salted.clone();
        hasher.update(&offset.to_le_bytes());
        hasher.update(&word);
        hasher
    }

    pub(super) fn of(&self, offset: u64, word: [u8; 4], body: &[u8]) -> u32 {
        let mut hasher = self.begin(offset, word);
        hasher.update(body);
        hasher.finalize()
    }
}

/// What a log with this salt begins with.
pub(super) fn preamble(salt: [u8; SALT_BYTES]) -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..HEADER_BYTES].copy_from_slice(&header(FileKind::Log));
    bytes[HEADER_BYTES..PREAMBLE_BYTES - 4].copy_from_slice(&salt);
    let crc = crc32fast::hash(&bytes[..PREAMBLE_BYTES - 4]);
    bytes[PREAMBLE_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// How many bytes of the log were durable before this mark, which stands at `offset`, was
/// written; none where it is no mark.
pub(super) fn parse_mark(checksums: &Checksums, offset: u64, mark: &[u8; MARK_BYTES]) -> Option<u64> {
    let (word, rest) = mark.split_first_chunk::<4>()?;
    let (crc, body) = rest.split_first_chunk::<4>()?;
    if *word != mark_word() || checksums.of(offset, *word, body) != u32::from_le_bytes(*crc) {
        return None;
    }
    let covers = u64::from_le_bytes(*body.first_chunk()?);
    (covers <= offset).then_some(covers)
}
