//! A file of lines that outlives crashes together with the log: `pages.jsonl`, `skipped.jsonl`.
//!
//! The log names, record by record, which bytes went into the file and their checksum; the
//! manifest names how long it was at the checkpoint, and what it held ([`SinkSeal`]). What neither
//! of them names is cut off at recovery. The file itself holds lines and nothing else.

use std::io;
use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use super::growing::{GrowingFile, SyncHandle};
use super::seal::{Seal, checksum};
use super::{Decoder, Encoder, Malformed, StateError, Storage, StorageFile};

/// Bytes gathered before they are handed to the system.
const BUFFER: usize = 64 * 1024;

/// A piece of a sink, as the log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SinkRange {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// CRC-32 of its bytes.
    pub crc32: u32,
}

impl SinkRange {
    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Bytes at the end of a sink that are read whenever a crawl goes on. To read all would make every start
/// as slow as the results are many.
const TAIL: u64 = 64 << 10;

/// What a sink held at a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SinkSeal {
    /// All of it.
    pub whole: Seal,
    /// CRC-32 of its last 64 KiB, or of what there is.
    pub tail_crc32: u32,
}

impl SinkSeal {
    /// Appends it: three numbers.
    pub fn encode(self, encoder: &mut Encoder<'_>) {
        self.whole.encode(encoder);
        encoder.number(u64::from(self.tail_crc32));
    }

    /// Takes what [`encode`](Self::encode) appended.
    ///
    /// # Errors
    /// [`Malformed`] where a checksum has more than 32 bits.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self { whole: Seal::decode(decoder)?, tail_crc32: decoder.small()? })
    }
}

/// Where the tail of a sink of so many bytes begins, and its checksum.
fn tail(path: &Path, file: &dyn StorageFile, length: u64) -> Result<(u64, u32), StateError> {
    let from = length.saturating_sub(TAIL);
    Ok((from, checksum(path, file, from, length - from)?.finalize()))
}

/// Appends whole lines. After a failed write or sync every later call fails.
///
/// Holds 64 KiB and the line that passed them.
#[derive(Debug)]
pub struct SinkFile {
    file: GrowingFile,
    buffer: Vec<u8>,
    /// Where the range begins that the next [`SinkFile::write`] gives.
    begun: u64,
    /// Of that range.
    checksum: Hasher,
    /// Of all that was appended.
    whole: Hasher,
}

impl SinkFile {
    /// Makes a new file; one that exists is an error. It is durable once it is synced and its
    /// directory is.
    pub fn create(storage: &dyn Storage, path: &Path) -> Result<Self, StateError> {
        let file = storage.create(path).map_err(StateError::io(path))?;
        Ok(Self::new(GrowingFile::new(path, file, 0), Hasher::new()))
    }

    /// `whole`: what the file holds already.
    fn new(file: GrowingFile, whole: Hasher) -> Self {
        Self { begun: file.length(), file, buffer: Vec::new(), checksum: Hasher::new(), whole }
    }

    /// Appends a line, its `\n` included. Where much is gathered it is handed to the system.
    pub fn append(&mut self, line: &[u8]) -> Result<(), StateError> {
        self.file.check()?;
        self.checksum.update(line);
        self.whole.update(line);
        self.buffer.extend_from_slice(line);
        if self.buffer.len() >= BUFFER { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&mut self) -> Result<(), StateError> {
        if !self.buffer.is_empty() {
            self.file.append(&self.buffer)?;
            self.buffer.clear();
            self.buffer.shrink_to(2 * BUFFER);
        }
        Ok(())
    }

    /// Hands everything to the system, and says what was appended since the last call: what the
    /// log has to name. The range may be empty.
    pub fn write(&mut self) -> Result<SinkRange, StateError> {
        self.file.check()?;
        self.hand_over()?;
        let length = self.file.length() - self.begun;
        let crc32 = std::mem::take(&mut self.checksum).finalize();
        let range = SinkRange { offset: self.begun, length, crc32 };
        self.begun = self.file.length();
        Ok(range)
    }

    /// Bytes in the file with those gathered.
    pub fn length(&self) -> u64 {
        self.file.length() + self.buffer.len() as u64
    }

    /// Hands everything to the system, and says what the file holds.
    pub fn seal(&mut self) -> Result<SinkSeal, StateError> {
        self.file.check()?;
        self.hand_over()?;
        let (_, tail_crc32) = tail(self.file.path(), self.file.reading(), self.file.length())?;
        let whole = Seal { length: self.file.length(), crc32: self.whole.clone().finalize() };
        Ok(SinkSeal { whole, tail_crc32 })
    }

    /// For a sync beside the owner, of what the system has been handed so far.
    pub fn sync_handle(&self) -> Result<SyncHandle, StateError> {
        self.file.sync_handle()
    }
}

const MISSING: &str =
    "it is missing, and the crawl goes on in it; put it back as it was (unpacked, where it was compressed)";
const SHORTER: &str = "it is shorter than the manifest says; put it back as it was";
const ALTERED: &str =
    "its lines up to the last checkpoint are not those that were written (edited?); put it back as it was";

/// A sink after a crash: held against what manifest and log say of it, then cut back.
#[derive(Debug)]
pub struct RecoveringSink {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    /// Bytes that manifest and log have named so far …
    length: u64,
    /// … and their checksum.
    whole: Hasher,
}

impl RecoveringSink {
    /// Opens a file of which the manifest says what it held at the checkpoint. It may be longer.
    /// The last 64 KiB of what it held are read; [`check`](Self::check) reads the rest.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where it is missing, shorter, or ends otherwise: those bytes were
    /// durable. It is never made good with what is there.
    pub fn open(storage: &dyn Storage, path: &Path, seal: SinkSeal) -> Result<Self, StateError> {
        let damaged = |offset, problem| Err(StateError::damaged(path, offset, problem));
        let file = match storage.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return damaged(0, MISSING),
            opened => opened.map_err(StateError::io(path))?,
        };
        let found = file.length().map_err(StateError::io(path))?;
        let Seal { length, crc32 } = seal.whole;
        if found < length {
            return damaged(found, SHORTER);
        }
        let (from, tail_crc32) = tail(path, &*file, length)?;
        if tail_crc32 != seal.tail_crc32 {
            return damaged(from, ALTERED);
        }
        let whole = Hasher::new_with_initial_len(crc32, length);
        Ok(Self { path: path.to_owned(), file, length, whole })
    }

    /// Reads all that manifest and log have named so far.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where it is not what was written; where in it, its checksum does not tell.
    pub fn check(&self) -> Result<(), StateError> {
        let found = checksum(&self.path, &*self.file, 0, self.length)?.finalize();
        if found == self.whole.clone().finalize() {
            return Ok(());
        }
        Err(StateError::damaged(&self.path, 0, ALTERED))
    }

    /// Takes the next range that the log names, after reading it back.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where it does not begin where the one before ended, or is not in the
    /// file as it was written; nothing is taken then. Whether that is damage or the torn tail is
    /// known to the log: see [`LogReader::is_synced`](super::LogReader::is_synced).
    pub fn accept(&mut self, range: SinkRange) -> Result<(), StateError> {
        self.verify(range)?;
        self.take(range);
        Ok(())
    }

    /// The first half of [`accept`](Self::accept): reads the range back and takes nothing.
    pub fn verify(&self, range: SinkRange) -> Result<(), StateError> {
        let damaged = |offset, problem| Err(StateError::damaged(&self.path, offset, problem));
        if range.offset != self.length {
            return damaged(self.length, "the log goes on with another place of it");
        }
        let found = self.file.length().map_err(StateError::io(&self.path))?;
        if found < range.end() {
            return damaged(found, "it is shorter than the log says");
        }
        if checksum(&self.path, &*self.file, range.offset, range.length)?.finalize() != range.crc32 {
            return damaged(range.offset, "what the log says was written here does not match its checksum");
        }
        Ok(())
    }

    /// The second half of [`accept`](Self::accept): takes a range that has been verified.
    pub fn take(&mut self, range: SinkRange) {
        self.length = range.end();
        self.whole.combine(&Hasher::new_with_initial_len(range.crc32, range.length));
    }

    /// What stands in a range that was taken.
    pub fn read(&self, range: SinkRange) -> Result<Vec<u8>, StateError> {
        let mut bytes = vec![0; range.length as usize];
        self.file.read_at(range.offset, &mut bytes).map_err(StateError::io(&self.path))?;
        Ok(bytes)
    }

    /// Bytes that manifest and log have named so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Cuts off what nobody named, makes the file durable so, and goes on with it.
    pub fn finish(mut self) -> Result<SinkFile, StateError> {
        let found = self.file.length().map_err(StateError::io(&self.path))?;
        if found > self.length {
            self.file.truncate(self.length).map_err(StateError::io(&self.path))?;
        }
        self.file.sync().map_err(StateError::io(&self.path))?;
        Ok(SinkFile::new(GrowingFile::new(&self.path, self.file, self.length), self.whole))
    }
}

#[cfg(test)]
#[path = "sink_file_tests.rs"]
mod tests;
