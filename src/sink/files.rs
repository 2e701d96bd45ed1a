//! The files of results in a crawl directory: `pages.jsonl`, `robots.jsonl` and, where wanted,
//! `skipped.jsonl`.
//!
//! What they hold is what the log vouches for; after a crash they are cut back to it.

use std::path::Path;

use super::{Skipped, encode_line};
use crate::store::{RecoveringSink, SinkFile, SinkRange, SinkSeal, StateError, Storage, SyncHandle};

/// A file of results. The numbers stand in log and manifest: they are never given anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFile {
    /// Records of pages.
    Pages = 0,
    /// Rows of URLs that are not fetched.
    Skipped = 1,
    /// What was answered for robots.txt.
    Robots = 2,
}

impl ResultFile {
    /// Every one, in the order of their numbers.
    pub const ALL: [ResultFile; 3] = [ResultFile::Pages, ResultFile::Skipped, ResultFile::Robots];

    /// Its name in the crawl directory.
    pub fn name(self) -> &'static str {
        match self {
            ResultFile::Pages => "pages.jsonl",
            ResultFile::Skipped => "skipped.jsonl",
            ResultFile::Robots => "robots.jsonl",
        }
    }

    /// Its number in log and manifest.
    pub fn number(self) -> u64 {
        self as u64
    }

    fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|file| file.number() == number)
    }
}

/// Takes lines; what was given is in the file after [`ResultFiles::write`].
#[derive(Debug)]
pub struct ResultFiles {
    files: Vec<(ResultFile, SinkFile)>,
    line: Vec<u8>,
    /// Something was given since the last write.
    unwritten: bool,
}

/// Bytes of the buffer for one line that are kept for the next.
const KEPT: usize = 16 << 10;

impl ResultFiles {
    /// Makes the files; those that exist are an error.
    pub fn create(storage: &dyn Storage, directory: &Path, log_skipped: bool) -> Result<Self, StateError> {
        let wanted = ResultFile::ALL.into_iter().filter(|file| log_skipped || *file != ResultFile::Skipped);
        let create = |file: ResultFile| {
            SinkFile::create(storage, &directory.join(file.name())).map(|sink| (file, sink))
        };
        Ok(Self::over(wanted.map(create).collect::<Result<_, _>>()?))
    }

    fn over(files: Vec<(ResultFile, SinkFile)>) -> Self {
        Self { files, line: Vec::new(), unwritten: false }
    }

    /// Appends a record, encoded as a line.
    pub fn page(&mut self, line: &[u8]) -> Result<(), StateError> {
        self.append(ResultFile::Pages, line)
    }

    /// Appends the row of a URL that is not fetched, where such rows are wanted.
    pub fn skipped(&mut self, row: &Skipped<'_>) -> Result<(), StateError> {
        self.row(ResultFile::Skipped, row)
    }

    /// Appends what was answered for a robots.txt.
    pub fn robots<T: serde::Serialize>(&mut self, row: &T) -> Result<(), StateError> {
        self.row(ResultFile::Robots, row)
    }

    fn append(&mut self, to: ResultFile, line: &[u8]) -> Result<(), StateError> {
        let Some((_, file)) = self.files.iter_mut().find(|(file, _)| *file == to) else { return Ok(()) };
        self.unwritten = true;
        file.append(line)
    }

    fn row<T: serde::Serialize>(&mut self, to: ResultFile, row: &T) -> Result<(), StateError> {
        if !self.files.iter().any(|(file, _)| *file == to) {
            return Ok(());
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        line.shrink_to(KEPT);
        encode_line(row, &mut line).map_err(StateError::io(Path::new(to.name())))?;
        let appended = self.append(to, &line);
        self.line = line;
        appended
    }

    /// Whether something was given since the last [`write`](Self::write).
    pub fn is_unwritten(&self) -> bool {
        self.unwritten
    }

    /// Hands everything to the system; says of each file, by its number, what is new in it.
    pub fn write(&mut self) -> Result<Vec<(u64, SinkRange)>, StateError> {
        self.unwritten = false;
        self.files.iter_mut().map(|(file, sink)| Ok((file.number(), sink.write()?))).collect()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, sink)| sink.length()).sum()
    }

    /// Hands everything to the system; says of each file, by its number, what it holds.
    pub fn seals(&mut self) -> Result<Vec<(u64, SinkSeal)>, StateError> {
        self.files.iter_mut().map(|(file, sink)| Ok((file.number(), sink.seal()?))).collect()
    }

    /// For a sync beside the owner, of what the system has been handed.
    pub fn sync_handles(&self) -> Result<Vec<SyncHandle>, StateError> {
        self.files.iter().map(|(_, sink)| sink.sync_handle()).collect()
    }

    /// Makes what the system has been handed durable.
    pub fn sync(&self) -> Result<(), StateError> {
        for (_, sink) in &self.files {
            sink.sync_handle()?.sync()?;
        }
        Ok(())
    }
}

/// The same files after a crash, until it is known how far they are good.
#[derive(Debug)]
pub struct RecoveringFiles(Vec<(ResultFile, RecoveringSink)>);

impl RecoveringFiles {
    /// Opens the files of which the manifest names numbers and what they held, and reads the ends of that.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where one is missing, shorter or ends otherwise, is named twice, or there is
    /// no such number.
    pub fn open(
        storage: &dyn Storage,
        directory: &Path,
        seals: &[(u64, SinkSeal)],
    ) -> Result<Self, StateError> {
        let wrong = |problem| StateError::damaged(Path::new("state/MANIFEST"), 0, problem);
        let mut files: Vec<(ResultFile, RecoveringSink)> = Vec::new();
        for (number, seal) in seals {
            let unknown = || wrong("it names a file of results that there is not");
            let file = ResultFile::of(*number).ok_or_else(unknown)?;
            // whatever one of the two cut off the other would miss
            if files.iter().any(|(named, _)| *named == file) {
                return Err(wrong("it names a file of results twice"));
            }
            files.push((file, RecoveringSink::open(storage, &directory.join(file.name()), *seal)?));
        }
        Ok(Self(files))
    }

    /// Bytes of a file that manifest and log have named so far; none where the manifest does not know it.
    pub fn length(&self, of: ResultFile) -> u64 {
        self.0.iter().find(|(file, _)| *file == of).map_or(0, |(_, sink)| sink.length())
    }

    /// Reads all that manifest and log have named so far.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where a file does not hold what was written.
    pub fn check(&self) -> Result<(), StateError> {
        self.0.iter().try_for_each(|(_, sink)| sink.check())
    }

    /// Takes the ranges that one record names, by number of the file: all of them or, where one is
    /// not in its file as it was written, none.
    ///
    /// # Errors
    /// [`StateError::Damaged`], naming the file.
    pub fn accept(&mut self, ranges: &[(u64, SinkRange)]) -> Result<(), StateError> {
        for (number, range) in ranges {
            let Some((_, sink)) = self.0.iter().find(|(file, _)| file.number() == *number) else {
                let problem = "a record names lines of it, and the manifest does not know it";
                return Err(StateError::damaged(Path::new("state/log"), 0, problem));
            };
            sink.verify(*range)?;
        }
        for (number, range) in ranges {
            if let Some((_, sink)) = self.0.iter_mut().find(|(file, _)| file.number() == *number) {
                sink.take(*range);
            }
        }
        Ok(())
    }

    /// What stands in a range that was taken; nothing where there is no such file.
    ///
    /// # Errors
    /// [`StateError`] where it cannot be read.
    pub fn lines(&self, file: ResultFile, range: SinkRange) -> Result<Vec<u8>, StateError> {
        let sink = self.0.iter().find(|(known, _)| *known == file);
        sink.map_or(Ok(Vec::new()), |(_, sink)| sink.read(range))
    }

    /// Cuts off what nobody vouches for, and goes on.
    pub fn finish(self) -> Result<ResultFiles, StateError> {
        let finish = |(file, sink): (ResultFile, RecoveringSink)| sink.finish().map(|sink| (file, sink));
        Ok(ResultFiles::over(self.0.into_iter().map(finish).collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FileSystem;

    #[test]
    fn a_file_that_is_named_twice_or_unknown_is_damage() {
        let directory = tempfile::tempdir().expect("a folder");
        ResultFiles::create(&FileSystem, directory.path(), true).expect("created");
        let open = |numbers: &[u64]| {
            let seals: Vec<_> = numbers.iter().map(|number| (*number, SinkSeal::default())).collect();
            RecoveringFiles::open(&FileSystem, directory.path(), &seals).map(drop)
        };
        assert!(open(&[0, 1, 2]).is_ok());
        for (numbers, problem) in [(&[0, 1, 0][..], "twice"), (&[0, 99], "there is not")] {
            let error = open(numbers).expect_err("damaged").to_string();
            assert!(error.contains("state/MANIFEST") && error.contains(problem), "{error}");
        }
    }
}
