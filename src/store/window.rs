//! A look at a file through a window of bounded size, moving forward.

use std::path::{Path, PathBuf};

use super::{StateError, StorageFile};

/// Bytes read at once.
const WINDOW: usize = 64 * 1024;

/// A file, and the part of it that was read last. Its length is taken once.
#[derive(Debug)]
pub(super) struct Window {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    length: u64,
    /// Where `bytes` begins in the file.
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    pub(super) fn new(path: &Path, file: Box<dyn StorageFile>) -> Result<Self, StateError> {
        let length = file.length().map_err(StateError::io(path))?;
        Ok(Self { path: path.to_owned(), file, length, start: 0, bytes: Vec::new() })
    }

    /// Bytes of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// What of the file from `offset` on is in the window, after moving it where less than `least`
    /// bytes are; none where the file does not go on for so long. `least` is small against the
    /// window.
    pub(super) fn at(&mut self, offset: u64, least: usize) -> Result<Option<&[u8]>, StateError> {
        if offset.checked_add(least as u64).is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        if offset < self.start || offset + least as u64 > self.start + self.bytes.len() as u64 {
            let size = (self.length - offset).min(WINDOW as u64) as usize;
            self.start = offset;
            self.bytes.resize(size, 0);
            if let Err(source) = self.file.read_at(offset, &mut self.bytes) {
                self.bytes.clear();
                return Err(StateError::Io { file: self.path.clone(), source });
            }
        }
        Ok(Some(&self.bytes[(offset - self.start) as usize..]))
    }

    /// Fills a buffer from `offset` on, past the window where it is large.
    ///
    /// # Errors
    /// [`StateError::Io`], also where the file ends before.
    pub(super) fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), StateError> {
        let length = buffer.len();
        if length <= WINDOW / 4
            && let Some(bytes) = self.at(offset, length)?
        {
            buffer.copy_from_slice(&bytes[..length]);
            return Ok(());
        }
        self.file.read_at(offset, buffer).map_err(StateError::io(&self.path))
    }
}
