//! The files of results in a crawl directory: `pages.jsonl` and, where wanted, `skipped.jsonl`.
//!
//! What they hold is what the log vouches for; after a crash they are cut back to it.

use std::path::Path;

use super::{Skipped, encode_line};
use crate::store::{RecoveringSink, SinkFile, SinkRange, StateError, Storage, SyncHandle};

/// The names, in the order in which sinks are numbered.
const NAMES: [&str; 2] = ["pages.jsonl", "skipped.jsonl"];

/// Takes lines; what was given is in the file after [`ResultFiles::write`].
#[derive(Debug)]
pub struct ResultFiles {
    files: Vec<SinkFile>,
    line: Vec<u8>,
}

impl ResultFiles {
    /// Makes the files; those that exist are an error.
    pub fn create(storage: &dyn Storage, directory: &Path, log_skipped: bool) -> Result<Self, StateError> {
        let create = |name: &&str| SinkFile::create(storage, &directory.join(name));
        let files = NAMES.iter().take(1 + usize::from(log_skipped)).map(create).collect::<Result<_, _>>()?;
        Ok(Self { files, line: Vec::new() })
    }

    /// Appends a record, encoded as a line.
    pub fn page(&mut self, line: &[u8]) -> Result<(), StateError> {
        self.files.first_mut().map_or(Ok(()), |file| file.append(line))
    }

    /// Appends the row of a URL that is not fetched, where such rows are wanted.
    pub fn skipped(&mut self, row: &Skipped<'_>) -> Result<(), StateError> {
        let Some(file) = self.files.get_mut(1) else { return Ok(()) };
        self.line.clear();
        encode_line(row, &mut self.line).map_err(StateError::io(Path::new(NAMES[1])))?;
        file.append(&self.line)
    }

    /// Hands everything to the system; says of each file what is new in it.
    pub fn write(&mut self) -> Result<Vec<SinkRange>, StateError> {
        self.files.iter_mut().map(SinkFile::write).collect()
    }

    /// Bytes of each file.
    pub fn lengths(&self) -> impl Iterator<Item = u64> {
        self.files.iter().map(SinkFile::length)
    }

    /// For a sync beside the owner, of what the system has been handed.
    pub fn sync_handles(&self) -> Result<Vec<SyncHandle>, StateError> {
        self.files.iter().map(SinkFile::sync_handle).collect()
    }

    /// Makes what the system has been handed durable.
    pub fn sync(&self) -> Result<(), StateError> {
        for file in &self.files {
            file.sync_handle()?.sync()?;
        }
        Ok(())
    }
}

/// The same files after a crash, until it is known how far they are good.
#[derive(Debug)]
pub struct RecoveringFiles(Vec<RecoveringSink>);

impl RecoveringFiles {
    /// Opens the files of which the manifest names the lengths.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where one is missing or shorter.
    pub fn open(storage: &dyn Storage, directory: &Path, lengths: &[u64]) -> Result<Self, StateError> {
        let open =
            |(name, length): (&&str, &u64)| RecoveringSink::open(storage, &directory.join(name), *length);
        Ok(Self(NAMES.iter().zip(lengths).map(open).collect::<Result<_, _>>()?))
    }

    /// Takes the ranges that one record names, by number of the file: all of them or, where one is
    /// not in its file as it was written, none.
    ///
    /// # Errors
    /// [`StateError::Damaged`], naming the file.
    pub fn accept(&mut self, ranges: &[(u64, SinkRange)]) -> Result<(), StateError> {
        for (number, range) in ranges {
            let Some(file) = self.0.get(*number as usize) else {
                let problem = "a record names lines of it, and the manifest does not know it";
                return Err(StateError::damaged(Path::new("state/log"), 0, problem));
            };
            file.verify(*range)?;
        }
        for (number, range) in ranges {
            if let Some(file) = self.0.get_mut(*number as usize) {
                file.take(*range);
            }
        }
        Ok(())
    }

    /// Cuts off what nobody vouches for, and goes on.
    pub fn finish(self) -> Result<ResultFiles, StateError> {
        let files = self.0.into_iter().map(RecoveringSink::finish).collect::<Result<_, _>>()?;
        Ok(ResultFiles { files, line: Vec::new() })
    }
}
