//! One run: a file of sorted keys.
//!
//! ```text
//! header                              16 bytes
//! blocks, each but the last of 1,024 keys:
//!   keys      8 bytes each, little endian, ascending
//!   checksum  4 bytes, little endian: CRC-32 of the keys, begun with the block's number
//! ```
//!
//! The number of keys stands in the manifest and follows from the file's length.

use std::path::PathBuf;

use super::super::shelf::Shelf;
use super::fence::Fence;
use crate::model::UrlKey;
use crate::store::{FileKind, HEADER_BYTES, StateError, StorageFile, header};

/// Keys of a whole block.
pub(super) const BLOCK_KEYS: usize = 1024;
const KEY_BYTES: usize = size_of::<UrlKey>();
const CHECKSUM_BYTES: usize = 4;
const BLOCK_BYTES: usize = BLOCK_KEYS * KEY_BYTES + CHECKSUM_BYTES;

/// Bytes gathered before they are written.
const WRITE_BYTES: usize = 4 * BLOCK_BYTES;

/// Blocks that a look-up reads at a time at most.
pub(super) const MOST_READ: u64 = 4;

/// What a writer, a cursor or a look-up takes of memory.
pub(super) const WRITER_BYTES: u64 = WRITE_BYTES as u64;
pub(super) const CURSOR_BYTES: u64 = BLOCK_BYTES as u64;
pub(super) const LOOKUP_BYTES: u64 = MOST_READ * BLOCK_BYTES as u64;

/// A file of sorted keys.
#[derive(Debug)]
pub(super) struct Run {
    /// The file's number.
    pub(super) number: u64,
    /// Keys in it.
    pub(super) keys: u64,
    path: PathBuf,
    file: Box<dyn StorageFile>,
}

/// Adjacent blocks that were read, or none.
#[derive(Debug, Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
}

impl Block {
    /// The keys of the only block, as they stand in the file.
    pub(super) fn raw(&self) -> &[[u8; KEY_BYTES]] {
        // the checksum behind them is too short to be one
        self.bytes.as_chunks().0
    }

    /// The keys of each block, as they stand in the file.
    pub(super) fn each(&self) -> impl Iterator<Item = &[[u8; KEY_BYTES]]> {
        self.bytes.chunks(BLOCK_BYTES).map(|block| block.as_chunks().0)
    }

    /// The key at a place of the only block.
    pub(super) fn get(&self, place: usize) -> Option<UrlKey> {
        self.raw().get(place).map(|key| UrlKey::from_le_bytes(*key))
    }
}

/// Bytes of a file of so many keys.
fn length(keys: u64) -> Option<u64> {
    let checksums = keys.div_ceil(BLOCK_KEYS as u64) * CHECKSUM_BYTES as u64;
    keys.checked_mul(KEY_BYTES as u64)?.checked_add(checksums)?.checked_add(HEADER_BYTES as u64)
}

fn checksum(index: u64, keys: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(index as u32);
    hasher.update(keys);
    hasher.finalize()
}

impl Run {
    /// Opens a run that the manifest names.
    pub(super) fn reopen(shelf: &mut Shelf, number: u64, keys: u64) -> Result<Run, super::RestoreError> {
        let length = length(keys).ok_or(crate::store::Malformed)?;
        let (path, file) = shelf.reopen(number, length)?;
        Ok(Run { number, keys, path, file })
    }

    /// Blocks in it.
    pub(super) fn blocks(&self) -> u64 {
        self.keys.div_ceil(BLOCK_KEYS as u64)
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        length(self.keys).unwrap_or(u64::MAX)
    }

    /// Reads a block, which must be one of the run's.
    pub(super) fn read(&self, index: u64, block: &mut Block) -> Result<(), StateError> {
        self.read_some(index, 1, block)
    }

    /// Reads adjacent blocks, which must be of the run, at once.
    pub(super) fn read_some(&self, index: u64, count: u64, into: &mut Block) -> Result<(), StateError> {
        let keys = (self.keys - index * BLOCK_KEYS as u64).min(count * BLOCK_KEYS as u64) as usize;
        let offset = HEADER_BYTES as u64 + index * BLOCK_BYTES as u64;
        into.bytes.resize(keys * KEY_BYTES + count as usize * CHECKSUM_BYTES, 0);
        let read = self.file.read_at(offset, &mut into.bytes).map_err(|source| {
            if source.kind() == std::io::ErrorKind::UnexpectedEof {
                return StateError::damaged(&self.path, offset, "it ends too early");
            }
            StateError::io(&self.path)(source)
        });
        let checked = read.and_then(|()| self.check(index, &into.bytes));
        if checked.is_err() {
            into.bytes.clear();
        }
        checked
    }

    fn check(&self, first: u64, blocks: &[u8]) -> Result<(), StateError> {
        for (index, block) in (first..).zip(blocks.chunks(BLOCK_BYTES)) {
            let (keys, stored) = block.split_at(block.len().saturating_sub(CHECKSUM_BYTES));
            if stored != checksum(index, keys).to_le_bytes() {
                let offset = HEADER_BYTES as u64 + index * BLOCK_BYTES as u64;
                return Err(StateError::damaged(&self.path, offset, "a block of keys fails its checksum"));
            }
        }
        Ok(())
    }
}

/// Writes a run from front to back.
#[derive(Debug)]
pub(super) struct RunWriter {
    number: u64,
    path: PathBuf,
    file: Box<dyn StorageFile>,
    buffer: Vec<u8>,
    /// Where the block that is being filled begins in the buffer.
    block: usize,
    blocks: u64,
    keys: u64,
    fence: Fence,
}

impl RunWriter {
    pub(super) fn create(shelf: &mut Shelf) -> Result<Self, StateError> {
        let (number, path, file) = shelf.create()?;
        let mut buffer = Vec::with_capacity(WRITE_BYTES + HEADER_BYTES);
        buffer.extend_from_slice(&header(FileKind::Run));
        let fence = Fence::default();
        Ok(RunWriter { number, path, file, buffer, block: HEADER_BYTES, blocks: 0, keys: 0, fence })
    }

    /// Appends a key, not less than the one before.
    #[inline]
    pub(super) fn push(&mut self, key: UrlKey) -> Result<(), StateError> {
        if self.buffer.len() == self.block {
            self.fence.push(key);
        }
        self.buffer.extend_from_slice(&key.to_le_bytes());
        self.keys += 1;
        if self.buffer.len() - self.block == BLOCK_KEYS * KEY_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), StateError> {
        let checksum = checksum(self.blocks, &self.buffer[self.block..]);
        self.buffer.extend_from_slice(&checksum.to_le_bytes());
        self.blocks += 1;
        if self.buffer.len() + BLOCK_BYTES > self.buffer.capacity() {
            self.write()?;
        }
        self.block = self.buffer.len();
        Ok(())
    }

    fn write(&mut self) -> Result<(), StateError> {
        self.file.append(&self.buffer).map_err(StateError::io(&self.path))?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> Result<(Run, Fence), StateError> {
        if self.buffer.len() > self.block {
            self.end_block()?;
        }
        self.write()?;
        let RunWriter { number, path, file, keys, fence, .. } = self;
        Ok((Run { number, keys, path, file }, fence))
    }
}
