//! Doubts in a file.
//!
//! ```text
//! header                                   16 bytes
//! blocks of candidates, in order of number:
//!   doubts in it                            4
//!   bytes before compression                4
//!   bytes after                             4
//!   CRC-32 of keys and compressed bytes     4
//!   CRC-32 of these 16 bytes, begun with the number of the first doubt (its low 32 bits)  4
//!   keys of the doubts in it, 0 for those that were retired before   8 each
//!   compressed candidates, without their keys
//! keys, ascending, no key twice, in blocks of 170 but for the last:
//!   key                                     8 each
//!   number of the first doubt with this key, less that of the file's first  4 each
//!   CRC-32 of the block, begun with its number  4
//! ```
//!
//! All numbers are little endian. First number, doubts, keys and where the keys begin stand in the
//! manifest.

use std::ops::Range;
use std::path::PathBuf;

use super::super::shelf::{RestoreError, Shelf};
use super::block::{self, Packed};
use super::key_of;
use crate::model::{Candidate, UrlKey};
use crate::store::{Decoder, Encoder, FileKind, HEADER_BYTES, Malformed, StateError, StorageFile, header};

const ENTRY_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;
/// Keys of a whole block.
const BLOCK_KEYS: usize = 170;
const KEY_BLOCK_BYTES: usize = BLOCK_KEYS * ENTRY_BYTES + CHECKSUM_BYTES;
/// Key blocks read at a time at most.
const READ_BLOCKS: u64 = 8;
const BLOCK_HEADER_BYTES: usize = 20;
/// Bytes gathered before they are written.
const WRITE_BYTES: usize = 64 << 10;

/// A file of doubts. It is opened for each use: there may be more of them than files may be open.
#[derive(Debug)]
pub(super) struct Spill {
    /// The file's number.
    pub(super) number: u64,
    /// The number of its first doubt.
    pub(super) first: u64,
    /// Doubts in it.
    pub(super) count: u64,
    /// Distinct keys among them.
    keys: u64,
    /// Where the keys begin.
    keys_at: u64,
    /// The key block where the look-up under way goes on.
    pub(super) cursor: u64,
    path: PathBuf,
}

/// Where reading candidates in order of number has got to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// The file's number.
    spill: u64,
    offset: u64,
    /// The number of the first doubt of the block there.
    first: u64,
}

impl Spill {
    /// One past the number of its last doubt.
    pub(super) fn end(&self) -> u64 {
        self.first + self.count
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.keys_at
            + self.keys * ENTRY_BYTES as u64
            + self.keys.div_ceil(BLOCK_KEYS as u64) * CHECKSUM_BYTES as u64
    }

    /// Writes doubts to a new file. `keys` are those that still count, by number from `first_key`
    /// on; a block may begin with doubts that are retired already.
    pub(super) fn write<'a>(
        shelf: &mut Shelf,
        blocks: impl Iterator<Item = &'a Packed>,
        first: u64,
        keys: &[UrlKey],
        first_key: u64,
    ) -> Result<Spill, StateError> {
        let (number, path, file) = shelf.create()?;
        let mut out = Out { file, path, buffer: header(FileKind::Doubts).to_vec(), written: 0 };
        for block in blocks {
            out.block(block, |number| key_of(keys, first_key, number))?;
        }
        let keys_at = out.written + out.buffer.len() as u64;
        let before = (first_key - first) as u32;
        let mut entries: Vec<(UrlKey, u32)> = keys.iter().copied().zip(before..).collect();
        entries.sort_unstable();
        entries.dedup_by_key(|(key, _)| *key);
        for (index, entries) in entries.chunks(BLOCK_KEYS).enumerate() {
            out.keys(index as u64, entries)?;
        }
        let path = out.end()?;
        let count = first_key - first + keys.len() as u64;
        Ok(Spill { number, first, count, keys: entries.len() as u64, keys_at, cursor: 0, path })
    }

    pub(super) fn encode_state(&self, encoder: &mut Encoder<'_>) {
        for number in [self.number, self.first, self.count, self.keys, self.keys_at] {
            encoder.number(number);
        }
    }

    pub(super) fn restore(shelf: &mut Shelf, decoder: &mut Decoder<'_>) -> Result<Spill, RestoreError> {
        let mut number = || decoder.count();
        let (number, first, count, keys, keys_at) = (number()?, number()?, number()?, number()?, number()?);
        let sane = u32::try_from(count).is_ok() && keys <= count && keys_at >= HEADER_BYTES as u64;
        let spill = Spill { number, first, count, keys, keys_at, cursor: 0, path: shelf.path(number) };
        if !sane {
            return Err(Malformed.into());
        }
        shelf.reopen(number, spill.bytes())?;
        Ok(spill)
    }

    /// Appends the keys from `low` to `high` (inclusive) of doubts with these numbers, and the
    /// numbers. The cursor goes along, and further calls must ask for higher keys.
    pub(super) fn load(
        &mut self,
        files: &Shelf,
        (low, high): (UrlKey, UrlKey),
        numbers: Range<u64>,
        buffer: &mut Vec<u8>,
        loaded: &mut Vec<(UrlKey, u64)>,
    ) -> Result<(), StateError> {
        let blocks = self.keys.div_ceil(BLOCK_KEYS as u64);
        if self.cursor >= blocks {
            return Ok(());
        }
        let file = files.open(&self.path)?;
        // keys are spread evenly, so it is about known how many blocks hold those asked for
        let share = (high - low) as f64 / UrlKey::MAX as f64;
        let wanted = (blocks as f64 * share) as u64 + 2;
        while self.cursor < blocks {
            let read = wanted.min(READ_BLOCKS).min(blocks - self.cursor);
            let offset = self.keys_at + self.cursor * KEY_BLOCK_BYTES as u64;
            let length = (read * KEY_BLOCK_BYTES as u64).min(self.bytes() - offset) as usize;
            buffer.resize(length, 0);
            self.read(&*file, offset, buffer)?;
            for (index, block) in buffer.chunks(KEY_BLOCK_BYTES).enumerate() {
                let entries = self.checked(self.cursor, block, offset + (index * KEY_BLOCK_BYTES) as u64)?;
                for entry in entries.as_chunks::<ENTRY_BYTES>().0 {
                    let [k0, k1, k2, k3, k4, k5, k6, k7, n0, n1, n2, n3] = *entry;
                    let key = UrlKey::from_le_bytes([k0, k1, k2, k3, k4, k5, k6, k7]);
                    if key > high {
                        return Ok(());
                    }
                    let number = self.first + u64::from(u32::from_le_bytes([n0, n1, n2, n3]));
                    if key >= low && numbers.contains(&number) {
                        loaded.push((key, number));
                    }
                }
                self.cursor += 1;
            }
        }
        Ok(())
    }

    fn checked<'a>(&self, index: u64, block: &'a [u8], offset: u64) -> Result<&'a [u8], StateError> {
        let (entries, stored) = block.split_at(block.len().saturating_sub(CHECKSUM_BYTES));
        if stored != checksum(index, entries).to_le_bytes() {
            return Err(StateError::damaged(&self.path, offset, "a block of keys fails its checksum"));
        }
        Ok(entries)
    }

    /// Shows the candidates of the block that holds a number, with their numbers; where the next
    /// block begins. Reading goes on from `from` where that is in this file and not past the number.
    pub(super) fn visit(
        &self,
        files: &Shelf,
        number: u64,
        from: Option<Position>,
        mut visit: impl FnMut(u64, Candidate),
    ) -> Result<Position, StateError> {
        let file = files.open(&self.path)?;
        let start = Position { spill: self.number, offset: HEADER_BYTES as u64, first: self.first };
        let mut at = from.filter(|from| from.spill == self.number && from.first <= number).unwrap_or(start);
        loop {
            let head = self.block_header(&*file, at)?;
            let next = Position {
                spill: self.number,
                offset: at.offset + BLOCK_HEADER_BYTES as u64 + head.length(),
                first: at.first + u64::from(head.count),
            };
            if number < next.first {
                let mut bytes = vec![0; head.length() as usize];
                let offset = at.offset + BLOCK_HEADER_BYTES as u64;
                self.read(&*file, offset, &mut bytes)?;
                let bad = |problem| StateError::damaged(&self.path, at.offset, problem);
                if crc32fast::hash(&bytes) != head.checksum {
                    return Err(bad("a block of doubts fails its checksum"));
                }
                let (keys, packed) = bytes.split_at(head.keys_length() as usize);
                let keys = keys.as_chunks().0;
                let key = |place: u64| keys.get(place as usize).map_or(0, |key| UrlKey::from_le_bytes(*key));
                block::unpack(packed, head.raw as usize, u64::from(head.count), key, |place, candidate| {
                    visit(at.first + place, candidate);
                })
                .map_err(|_| bad("a block of doubts is malformed"))?;
                return Ok(next);
            }
            at = next;
        }
    }

    /// Reads and checks all candidates and all keys.
    pub(super) fn verify(&mut self, files: &Shelf, buffer: &mut Vec<u8>) -> Result<(), StateError> {
        let mut at = None;
        let mut number = self.first;
        while number < self.end() {
            let next = self.visit(files, number, at, |_, _| {})?;
            (number, at) = (next.first, Some(next));
        }
        self.cursor = 0;
        // no number is wanted, but all are looked at
        self.load(files, (UrlKey::MIN, UrlKey::MAX), 0..0, buffer, &mut Vec::new())
    }

    fn block_header(&self, file: &dyn StorageFile, at: Position) -> Result<BlockHeader, StateError> {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        let bad = || StateError::damaged(&self.path, at.offset, "the head of a block of doubts is damaged");
        if at.offset + BLOCK_HEADER_BYTES as u64 > self.keys_at {
            return Err(bad());
        }
        self.read(file, at.offset, &mut bytes)?;
        let [count, raw, stored, body, head] = std::array::from_fn(|index| {
            let at = index * 4;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        });
        let header = BlockHeader { count, raw, stored, checksum: body };
        let end = at.offset + BLOCK_HEADER_BYTES as u64 + header.length();
        if checksum(at.first, &bytes[..16]) != head || count == 0 || end > self.keys_at {
            return Err(bad());
        }
        Ok(header)
    }

    fn read(&self, file: &dyn StorageFile, offset: u64, buffer: &mut [u8]) -> Result<(), StateError> {
        file.read_at(offset, buffer).map_err(|source| {
            if source.kind() == std::io::ErrorKind::UnexpectedEof {
                return StateError::damaged(&self.path, offset, "it ends too early");
            }
            StateError::io(&self.path)(source)
        })
    }
}

struct BlockHeader {
    count: u32,
    raw: u32,
    stored: u32,
    checksum: u32,
}

impl BlockHeader {
    /// Bytes of the keys behind it.
    fn keys_length(&self) -> u64 {
        u64::from(self.count) * size_of::<UrlKey>() as u64
    }

    /// Bytes that belong to it.
    fn length(&self) -> u64 {
        self.keys_length() + u64::from(self.stored)
    }
}

fn checksum(begun_with: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(begun_with as u32);
    hasher.update(bytes);
    hasher.finalize()
}

/// The file that is being written.
struct Out {
    file: Box<dyn StorageFile>,
    path: PathBuf,
    buffer: Vec<u8>,
    written: u64,
}

impl Out {
    fn block(&mut self, block: &Packed, key: impl Fn(u64) -> UrlKey) -> Result<(), StateError> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; BLOCK_HEADER_BYTES]);
        for number in block.first..block.first + block.count {
            self.buffer.extend_from_slice(&key(number).to_le_bytes());
        }
        self.buffer.extend_from_slice(&block.bytes);
        let (head, body) = self.buffer[start..].split_at_mut(BLOCK_HEADER_BYTES);
        let body = crc32fast::hash(body);
        let numbers = [block.count as u32, block.raw_length as u32, block.bytes.len() as u32, body];
        for (place, number) in head.as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        let sum = checksum(block.first, &head[..16]);
        head[16..].copy_from_slice(&sum.to_le_bytes());
        self.write_if_full()
    }

    fn keys(&mut self, index: u64, entries: &[(UrlKey, u32)]) -> Result<(), StateError> {
        let start = self.buffer.len();
        for (key, number) in entries {
            self.buffer.extend_from_slice(&key.to_le_bytes());
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        let checksum = checksum(index, &self.buffer[start..]);
        self.buffer.extend_from_slice(&checksum.to_le_bytes());
        self.write_if_full()
    }

    fn write_if_full(&mut self) -> Result<(), StateError> {
        if self.buffer.len() >= WRITE_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), StateError> {
        self.file.append(&self.buffer).map_err(StateError::io(&self.path))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn end(mut self) -> Result<PathBuf, StateError> {
        self.write()?;
        Ok(self.path)
    }
}
