//! A file that is only appended to, and that refuses everything once a write or a sync failed.
//!
//! After a failed write nobody knows what is in the file; after a failed sync the system may
//! report the next one as good though the bytes are gone. So there is no second try.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{StateError, StorageFile};

/// Appends to one file and counts what went in.
#[derive(Debug)]
pub(super) struct GrowingFile {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    length: u64,
    failed: Arc<AtomicBool>,
}

impl GrowingFile {
    /// Takes a file that is `length` bytes long.
    pub(super) fn new(path: &Path, file: Box<dyn StorageFile>, length: u64) -> Self {
        Self { path: path.to_owned(), file, length, failed: Arc::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that the system has taken.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// For reading back what was written.
    pub(super) fn reading(&self) -> &dyn StorageFile {
        &*self.file
    }

    /// Refuses where an earlier write or sync failed.
    pub(super) fn check(&self) -> Result<(), StateError> {
        refuse_after_failure(&self.path, &self.failed)
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.check()?;
        if let Err(source) = self.file.append(bytes) {
            self.fail();
            // A person who looks at the file should see no torn end, as far as the system still
            // does anything; recovery does not count on it.
            let _ = self.file.truncate(self.length);
            return Err(StateError::Io { file: self.path.clone(), source });
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Makes every later call fail.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }

    pub(super) fn sync_handle(&self) -> Result<SyncHandle, StateError> {
        self.check()?;
        let file = self.file.share().map_err(StateError::io(&self.path))?;
        Ok(SyncHandle {
            path: self.path.clone(),
            file,
            covers: self.length,
            failed: Arc::clone(&self.failed),
        })
    }

    /// Whether it was this file that was synced.
    pub(super) fn owns(&self, synced: &Synced) -> bool {
        Arc::ptr_eq(&self.failed, &synced.of)
    }
}

fn refuse_after_failure(path: &Path, failed: &AtomicBool) -> Result<(), StateError> {
    if failed.load(Ordering::SeqCst) {
        let source = io::Error::other("an earlier write or sync of it failed; end here and resume");
        return Err(StateError::Io { file: path.to_owned(), source });
    }
    Ok(())
}

/// Makes durable what a file held when this was made, beside whoever goes on writing to it.
#[derive(Debug)]
pub struct SyncHandle {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    covers: u64,
    failed: Arc<AtomicBool>,
}

impl SyncHandle {
    /// Syncs. Its directory entry is not included: that was synced when the file was made.
    ///
    /// # Errors
    /// [`StateError::Io`]; the file's writer then fails too, from its next call on.
    pub fn sync(self) -> Result<Synced, StateError> {
        refuse_after_failure(&self.path, &self.failed)?;
        if let Err(source) = self.file.sync() {
            self.failed.store(true, Ordering::SeqCst);
            return Err(StateError::Io { file: self.path, source });
        }
        Ok(Synced { covers: self.covers, of: self.failed })
    }
}

/// Says that a file was synced, and how far: made by [`SyncHandle::sync`] and by nothing else.
#[derive(Debug)]
pub struct Synced {
    covers: u64,
    of: Arc<AtomicBool>,
}

impl Synced {
    /// Bytes from the start of the file that are durable.
    pub fn covers(&self) -> u64 {
        self.covers
    }
}
