//! Writing a log.

use std::fmt;
use std::io;
use std::path::Path;

use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use super::MAX_RECORD;
use super::frame::{Checksums, HEAD_BYTES, Kind, PLAIN_LENGTH_BYTES, SALT_BYTES, preamble, word};
use crate::store::growing::GrowingFile;
use crate::store::{StateError, Storage, SyncHandle, Synced};

/// Bytes of room for what is gathered; twice as much is kept between two writes.
const BUFFER: usize = 256 * 1024;

/// Shorter records are not worth compressing.
const COMPRESS_FROM: usize = 512;

/// Appends records to a log that it made itself; there is no going on with an old one.
///
/// Holds what was gathered since the last [`LogWriter::write`], 16 KiB for compressing, and
/// between writes never more than 512 KiB of buffer.
///
/// Once a write or a sync fails, every later call fails.
pub struct LogWriter {
    file: GrowingFile,
    checksums: Checksums,
    gathered: Vec<u8>,
    table: CompressTable,
    /// Where the last record ends, gathered or written.
    records_end: u64,
    /// How far the last mark covers.
    marked: u64,
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LogWriter").field("file", &self.file).finish_non_exhaustive()
    }
}

impl LogWriter {
    /// Makes a new, empty log, and makes it durable, its directory entry included.
    ///
    /// # Errors
    /// [`StateError::Io`], also where the file exists.
    pub fn create(storage: &dyn Storage, path: &Path) -> Result<Self, StateError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(io::Error::other).map_err(StateError::io(path))?;
        let file = storage.create(path).map_err(StateError::io(path))?;
        let mut file = GrowingFile::new(path, file, 0);
        file.append(&preamble(salt))?;
        file.sync_handle()?.sync()?;
        storage.sync_directory(path.parent().unwrap_or(Path::new(""))).map_err(StateError::io(path))?;
        Ok(Self {
            checksums: Checksums::new(&salt),
            gathered: Vec::new(),
            table: CompressTable::small(),
            records_end: file.length(),
            marked: file.length(),
            file,
        })
    }

    /// Gathers a record. It is in memory only until [`LogWriter::write`]. Gives the offset at which
    /// it begins.
    ///
    /// # Errors
    /// [`StateError::Io`] where the log has failed before, and for a record over [`MAX_RECORD`].
    pub fn append(&mut self, payload: &[u8]) -> Result<u64, StateError> {
        self.file.check()?;
        if payload.len() > MAX_RECORD {
            self.file.fail();
            let source = io::Error::new(io::ErrorKind::InvalidInput, "a log record is too long");
            return Err(StateError::Io { file: self.file.path().to_owned(), source });
        }
        let offset = self.length();
        if payload.len() < COMPRESS_FROM || !self.gather_compressed(offset, payload) {
            self.gather(offset, Kind::Plain, payload);
        }
        self.records_end = self.length();
        Ok(offset)
    }

    fn gather(&mut self, offset: u64, kind: Kind, body: &[u8]) {
        let word = word(kind, body.len());
        self.gathered.extend_from_slice(&word);
        self.gathered.extend_from_slice(&self.checksums.of(offset, word, body).to_le_bytes());
        self.gathered.extend_from_slice(body);
    }

    /// Gathers a record in compressed form, or says that it is not shorter so.
    fn gather_compressed(&mut self, offset: u64, payload: &[u8]) -> bool {
        let start = self.gathered.len();
        let block = start + HEAD_BYTES + PLAIN_LENGTH_BYTES;
        self.gathered.resize(block + get_maximum_output_size(payload.len()), 0);
        let compressed = compress_into_with_table(payload, &mut self.gathered[block..], &mut self.table);
        let length = compressed.map_or(usize::MAX, |length| length.saturating_add(PLAIN_LENGTH_BYTES));
        if length >= payload.len() {
            self.gathered.truncate(start);
            return false;
        }
        let body = start + HEAD_BYTES;
        self.gathered.truncate(body + length);
        self.gathered[body..block].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        let word = word(Kind::Compressed, length);
        let crc = self.checksums.of(offset, word, &self.gathered[body..]);
        self.gathered[start..start + 4].copy_from_slice(&word);
        self.gathered[start + 4..body].copy_from_slice(&crc.to_le_bytes());
        true
    }

    /// Hands what is gathered to the system, in one piece. It then survives the end of the
    /// process, and a power cut once it is synced.
    pub fn write(&mut self) -> Result<(), StateError> {
        self.file.check()?;
        if !self.gathered.is_empty() {
            self.file.append(&self.gathered)?;
            self.gathered.clear();
            self.gathered.shrink_to(2 * BUFFER);
        }
        Ok(())
    }

    /// Bytes of the log with what is gathered: where the next record will begin.
    pub fn length(&self) -> u64 {
        self.file.length() + self.gathered.len() as u64
    }

    /// Whether there are records that no mark covers.
    pub fn has_unmarked(&self) -> bool {
        self.marked < self.records_end
    }

    /// For a sync beside the owner, of what is written so far.
    ///
    /// A mark vouches for the sinks, too: take the log's handle first, then theirs; sync theirs
    /// first, then the log's.
    pub fn sync_handle(&self) -> Result<SyncHandle, StateError> {
        self.file.sync_handle()
    }

    /// Gathers the mark that a sync has returned. One of another log is passed over: a sync may
    /// return when its log has been followed by a new one.
    pub fn mark(&mut self, synced: &Synced) -> Result<(), StateError> {
        self.file.check()?;
        if self.file.owns(synced) && synced.covers() > self.marked {
            self.gather(self.length(), Kind::Mark, &synced.covers().to_le_bytes());
            self.marked = synced.covers();
        }
        Ok(())
    }

    /// Writes what is gathered, waits until it is durable, and gathers the mark.
    pub fn sync(&mut self) -> Result<(), StateError> {
        self.write()?;
        let synced = self.sync_handle()?.sync()?;
        self.mark(&synced)
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.gathered.capacity()
    }
}
