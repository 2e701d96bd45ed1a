//! What a file held up to some place, so that it can be told later whether it still does.
//!
//! For files that have no checksums of their own: the seeds, and the files of results up to a checkpoint.

use std::path::Path;

use crc32fast::Hasher;

use super::{Decoder, Encoder, Malformed, StateError, StorageFile};

/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// Length and checksum of the beginning of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seal {
    /// Bytes.
    pub length: u64,
    /// CRC-32 of them.
    pub crc32: u32,
}

impl Seal {
    /// Of all that a file holds.
    ///
    /// # Errors
    /// [`StateError`] where it cannot be read.
    pub fn of(path: &Path, file: &dyn StorageFile) -> Result<Self, StateError> {
        let length = file.length().map_err(StateError::io(path))?;
        Ok(Self { length, crc32: checksum(path, file, 0, length)?.finalize() })
    }

    /// Appends it: two numbers.
    pub fn encode(self, encoder: &mut Encoder<'_>) {
        encoder.number(self.length);
        encoder.number(u64::from(self.crc32));
    }

    /// Takes what [`encode`](Self::encode) appended.
    ///
    /// # Errors
    /// [`Malformed`] where the checksum has more than 32 bits.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self { length: decoder.number()?, crc32: decoder.small()? })
    }
}

/// The checksum of a piece of a file, to be gone on with. Holds 64 KiB at a time.
pub(super) fn checksum(
    path: &Path,
    file: &dyn StorageFile,
    offset: u64,
    length: u64,
) -> Result<Hasher, StateError> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; length.min(PIECE as u64) as usize];
    let (mut at, end) = (offset, offset.saturating_add(length));
    while at < end {
        let size = (end - at).min(PIECE as u64) as usize;
        file.read_at(at, &mut buffer[..size]).map_err(StateError::io(path))?;
        hasher.update(&buffer[..size]);
        at += size as u64;
    }
    Ok(hasher)
}
