//! The numbered files of one kind: making them, syncing them, and when they may be deleted.
//!
//! Owns the rules of deletion. A file that no manifest ever named is deleted as soon as it is not
//! needed; one that a manifest names stays until a manifest that does not name it is durable. Knows
//! nothing of what stands in the files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exact::ExactError;
use crate::store::{
    Decoder, Encoder, FileKind, HEADER_BYTES, Malformed, StateError, Storage, StorageFile, check_header,
};

/// Where the files of the visited set live.
#[derive(Debug, Clone)]
pub struct Place {
    /// The storage they are in.
    pub storage: Arc<dyn Storage>,
    /// Their directory; other files may be in it.
    pub directory: PathBuf,
}

/// State that a manifest told of could not be taken up again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// What the manifest says makes no sense.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A file is missing, damaged, or of a newer version.
    #[error(transparent)]
    Exact(#[from] ExactError),
    /// The memory for filter or table could not be had.
    #[error("no memory for the filter: give it a smaller share")]
    Memory(#[source] std::io::Error),
}

impl From<StateError> for RestoreError {
    fn from(error: StateError) -> Self {
        RestoreError::Exact(error.into())
    }
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Shelf {
    place: Place,
    kind: FileKind,
    /// The number of the next file.
    next: u64,
    /// Files that the last manifest names, or the one that is being written.
    named: HashSet<u64>,
    /// Files whose content is not known to be durable.
    unsynced: Vec<u64>,
    /// Named by a manifest and not needed any more.
    condemned: Vec<u64>,
    /// Condemned before the manifest that is being written, so not named by it.
    doomed: Vec<u64>,
}

impl Shelf {
    pub(super) fn new(place: Place, kind: FileKind) -> Self {
        let (named, unsynced, condemned, doomed) = Default::default();
        Shelf { place, kind, next: 0, named, unsynced, condemned, doomed }
    }

    /// Takes up the numbering again; files are told of by [`Shelf::reopen`].
    pub(super) fn restore(
        place: Place,
        kind: FileKind,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, Malformed> {
        let mut shelf = Shelf::new(place, kind);
        shelf.next = decoder.count()?;
        Ok(shelf)
    }

    /// The number that the next file gets, where no state tells.
    pub(super) fn number_from(&mut self, next: u64) {
        self.next = next;
    }

    pub(super) fn encode_state(&self, encoder: &mut Encoder<'_>) {
        encoder.number(self.next);
    }

    /// The name of a file in the directory.
    pub(super) fn name(&self, number: u64) -> String {
        let kind = if self.kind == FileKind::Run { "keys" } else { "doubts" };
        format!("{kind}-{number:08}")
    }

    pub(super) fn path(&self, number: u64) -> PathBuf {
        self.place.directory.join(self.name(number))
    }

    /// Makes the next file; its header is the caller's to write.
    pub(super) fn create(&mut self) -> Result<(u64, PathBuf, Box<dyn StorageFile>), StateError> {
        let number = self.next;
        let path = self.path(number);
        let file = self.place.storage.create(&path).map_err(StateError::io(&path))?;
        self.next += 1;
        self.unsynced.push(number);
        Ok((number, path, file))
    }

    /// Opens a file that was written before.
    pub(super) fn open(&self, path: &Path) -> Result<Box<dyn StorageFile>, StateError> {
        self.place.storage.open(path).map_err(StateError::io(path))
    }

    /// Opens a file that the manifest names, and holds its length and header against what they must be.
    pub(super) fn reopen(
        &mut self,
        number: u64,
        length: u64,
    ) -> Result<(PathBuf, Box<dyn StorageFile>), RestoreError> {
        if number >= self.next || !self.named.insert(number) {
            return Err(Malformed.into());
        }
        let path = self.path(number);
        let file = self.open(&path)?;
        let found = file.length().map_err(StateError::io(&path))?;
        if found != length {
            let problem = if found < length { "it ends too early" } else { "it is longer than it was" };
            return Err(StateError::damaged(&path, found.min(length), problem).into());
        }
        let mut header = [0; HEADER_BYTES];
        file.read_at(0, &mut header).map_err(StateError::io(&path))?;
        check_header(&path, &header, self.kind)?;
        Ok((path, file))
    }

    /// A file is not needed any more.
    pub(super) fn discard(&mut self, number: u64) -> Result<(), StateError> {
        if self.named.contains(&number) {
            self.condemned.push(number);
            return Ok(());
        }
        self.unsynced.retain(|unsynced| *unsynced != number);
        self.remove(number)
    }

    /// Makes files and their directory entries durable; `live` are those that the manifest will name.
    pub(super) fn prepare_checkpoint(&mut self, live: impl Iterator<Item = u64>) -> Result<(), StateError> {
        self.named.extend(live);
        self.doomed.append(&mut self.condemned);
        // a file that is being written is not named yet, and is synced when it will be
        let (ready, writing) = self.unsynced.iter().partition(|number| self.named.contains(number));
        self.unsynced = writing;
        let ready: Vec<u64> = ready;
        for number in ready {
            let path = self.path(number);
            self.open(&path)?.sync().map_err(StateError::io(&path))?;
        }
        let directory = &self.place.directory;
        self.place.storage.sync_directory(directory).map_err(StateError::io(directory))
    }

    /// The manifest is durable: what it does not name any more is deleted.
    pub(super) fn checkpoint_done(&mut self) -> Result<(), StateError> {
        for number in std::mem::take(&mut self.doomed) {
            self.named.remove(&number);
            self.remove(number)?;
        }
        Ok(())
    }

    fn remove(&self, number: u64) -> Result<(), StateError> {
        let path = self.path(number);
        self.place.storage.remove(&path).map_err(StateError::io(&path))
    }
}

/// What is said of an operation after an earlier one failed.
pub(super) fn refused(place: &Path) -> StateError {
    let source = std::io::Error::other("an earlier operation failed, so what it holds cannot be trusted");
    StateError::Io { file: place.to_owned(), source }
}
