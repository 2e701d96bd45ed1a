//! The crawl directory: everything one crawl leaves on disk.
//!
//! `crawl.toml` · `state/` · `pages.jsonl` · `skipped.jsonl` · `robots.jsonl` · `stats.jsonl` · `summary.json`
//!
//! It is claimed by a lock first, never overwritten unasked, and never mistaken
//! for a directory of somebody else's.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::configuration::{CONFIGURATION, check_configuration, write_configuration};
use super::{LineFile, pretty_json};
use crate::store::{DirectoryLock, LockError, StateError, lock_file, replace_file, sync_directory};

/// What a crawl leaves beside `state/`, which `--fresh` deletes with them, and nothing else. The configuration
/// is the first to go, so that nobody goes on with what a deletion cut short leaves: see [`holds_crawl`].
const FILES: [&str; 8] = [
    CONFIGURATION,
    "report.html",
    "summary.json",
    "stats.jsonl",
    "links.jsonl",
    "robots.jsonl",
    "skipped.jsonl",
    "pages.jsonl",
];

/// The lock, which every crawl has, and which stays.
const LOCK: &str = "state/lock";

/// Where the keys of what earlier crawls fetched are gathered.
const INCOMING_CRAWLED: &str = "state/crawled.new";

/// Why a crawl directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// It holds a crawl that has ended.
    #[error("{}: the crawl in it is already complete; give another --output, or --fresh to delete it and start over", .0.display())]
    Complete(PathBuf),
    /// It holds a crawl that has ended, and was to go on.
    #[error("{}: the crawl in it is already complete, so nothing is left to do; begin another with 'dragline crawl', with another --output or with --fresh, which deletes this one", .0.display())]
    NothingLeft(PathBuf),
    /// It holds no crawl.
    #[error("{}: holds no crawl; begin one with 'dragline crawl --output'", .0.display())]
    NoCrawl(PathBuf),
    /// It holds a crawl that has not.
    #[error("{}: holds a crawl that is not complete; go on with it by 'dragline resume', or give another --output, or --fresh to delete it and start over", .0.display())]
    Unfinished(PathBuf),
    /// What is in it is not what was written.
    #[error(transparent)]
    State(#[from] StateError),
    /// It holds something else, or is no directory.
    #[error("{}: {problem}; give an empty directory or a new one as --output", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Another process uses it.
    #[error("{}: in use by another dragline ({holder}); wait for it, or name another directory", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Who uses it.
        holder: String,
    },
    /// The system refused.
    #[error("{}: cannot be written ({source}); give a directory that can as --output", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A crawl directory that no other process can claim as long as this lives.
///
/// Where it goes before the crawl has begun, everything is left as it was found.
#[derive(Debug)]
pub struct CrawlDirectory {
    path: PathBuf,
    /// Directories that were made here, and so may be unmade, the deepest first.
    made: Vec<PathBuf>,
    begun: bool,
    statistics: Option<LineFile>,
    _lock: DirectoryLock,
}

impl CrawlDirectory {
    /// Claims a directory, making it where it does not exist. Nothing old is deleted yet,
    /// whether or not `fresh` allows it.
    ///
    /// # Errors
    /// [`DirectoryError`] where it is in use, holds a crawl and `fresh` is not given, or holds
    /// what is no crawl.
    pub fn claim(path: &Path, fresh: bool) -> Result<Self, DirectoryError> {
        let unusable = |source| DirectoryError::Io { path: path.into(), source };
        if path.exists() {
            refuse_strangers(path)?;
        }
        let state = path.join("state");
        let made = missing(&state);
        let lock = fs::create_dir_all(&state).map_err(unusable).and_then(|()| claim_lock(path));
        let lock = lock.inspect_err(|_| unmake(&made))?;
        let directory = Self { path: path.into(), made, begun: false, statistics: None, _lock: lock };
        if !fresh {
            refuse_crawls(path)?;
        }
        // What an earlier process gathered and never began with is nobody's.
        let _ = fs::remove_file(directory.incoming_seeds());
        let _ = fs::remove_dir_all(directory.incoming_crawled());
        Ok(directory)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where seeds are gathered until it is certain that the crawl begins.
    pub fn incoming_seeds(&self) -> PathBuf {
        self.path.join("state/seeds.new")
    }

    /// Where the keys of what earlier crawls fetched are gathered, until it is certain that the crawl begins.
    pub fn incoming_crawled(&self) -> PathBuf {
        self.path.join(INCOMING_CRAWLED)
    }

    /// Where the seeds of a crawl that has begun are.
    pub fn seeds(&self) -> PathBuf {
        self.path.join("state/seeds")
    }

    /// Where the state is.
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// The frozen configuration.
    pub fn configuration(&self) -> PathBuf {
        self.path.join(CONFIGURATION)
    }

    /// Begins a crawl: deletes what an earlier one left, and puts the gathered seeds in their place.
    /// It has not begun before [`CrawlDirectory::seal`].
    ///
    /// # Errors
    /// [`DirectoryError::Io`] where the system refuses.
    pub fn begin(&mut self) -> Result<(), DirectoryError> {
        // From here on what is here is a crawl's, however far it gets.
        self.begun = true;
        self.begin_files().map_err(|source| DirectoryError::Io { path: self.path.clone(), source })
    }

    fn begin_files(&mut self) -> io::Result<()> {
        self.clear()?;
        fs::rename(self.incoming_seeds(), self.seeds())?;
        File::open(self.seeds())?.sync_all()?;
        if self.incoming_crawled().exists() {
            fs::rename(self.incoming_crawled(), self.path.join("state/crawled"))?;
        }
        sync_directory(&self.state())?;
        self.statistics = Some(LineFile::create(&self.path.join("stats.jsonl"))?);
        Ok(())
    }

    /// Writes the frozen configuration (`crawl.toml`), which says that a crawl has begun here and
    /// can be resumed: everything that takes must be durable before.
    ///
    /// # Errors
    /// [`DirectoryError::Io`] where the system refuses.
    pub fn seal(&self, configuration: &str) -> Result<(), DirectoryError> {
        self.sync_made()
            .and_then(|()| write_configuration(&self.configuration(), configuration))
            .map_err(|source| DirectoryError::Io { path: self.path.clone(), source })
    }

    /// Makes the directory's own entry durable, and those of what was made above it.
    fn sync_made(&self) -> io::Result<()> {
        sync_directory(&self.path)?;
        self.made.iter().filter_map(|folder| folder.parent()).try_for_each(sync_directory)
    }

    /// Whether the crawl's last process told why it ended.
    pub fn has_summary(&self) -> bool {
        self.path.join("summary.json").is_file()
    }

    /// Claims the directory of a crawl that is to go on.
    ///
    /// # Errors
    /// [`DirectoryError`] where there is no crawl in it, it is complete, in use, or damaged.
    pub fn reopen(path: &Path) -> Result<Self, DirectoryError> {
        if !holds_crawl(path)? {
            return Err(DirectoryError::NoCrawl(path.into()));
        }
        let lock = lock_crawl(path)?;
        if is_complete(path) {
            return Err(DirectoryError::NothingLeft(path.into()));
        }
        check_configuration(path)?;
        let statistics = path.join("stats.jsonl");
        let statistics = Some(LineFile::append(&statistics).map_err(StateError::io(&statistics))?);
        // Whoever gathered them never began.
        let _ = fs::remove_dir_all(path.join(INCOMING_CRAWLED));
        Ok(Self { path: path.into(), made: Vec::new(), begun: true, statistics, _lock: lock })
    }

    /// Puts another configuration in the place of the frozen one, and takes the summary of an
    /// earlier end away: the crawl goes on.
    ///
    /// # Errors
    /// [`DirectoryError::Io`] where the system refuses.
    pub fn go_on(&self, configuration: &str) -> Result<(), DirectoryError> {
        write_configuration(&self.configuration(), configuration)
            .map_err(|source| DirectoryError::Io { path: self.path.clone(), source })?;
        let summary = self.path.join("summary.json");
        match fs::remove_file(&summary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateError::io(&summary)(error).into())
            }
            _ => Ok(()),
        }
    }

    fn clear(&self) -> io::Result<()> {
        for name in FILES {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        for entry in fs::read_dir(self.path.join("state"))? {
            let entry = entry?;
            if entry.file_name() == "lock"
                || entry.file_name() == "seeds.new"
                || entry.file_name() == "crawled.new"
            {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Appends a line to `stats.jsonl`.
    pub fn statistics<T: serde::Serialize>(&mut self, line: &T) -> io::Result<()> {
        match &mut self.statistics {
            Some(file) => file.write(line).and_then(|()| file.flush()),
            None => Ok(()),
        }
    }

    /// Bytes of `stats.jsonl`.
    pub fn statistics_bytes(&self) -> u64 {
        self.statistics.as_ref().map_or(0, LineFile::length)
    }

    /// Writes `summary.json` whole.
    pub fn summary<T: serde::Serialize>(&self, summary: &T) -> io::Result<()> {
        replace_file(&self.path.join("summary.json"), pretty_json(summary)?.as_bytes())
    }
}

impl Drop for CrawlDirectory {
    fn drop(&mut self) {
        if self.begun {
            return;
        }
        // Whatever cannot be deleted is empty and harms nobody.
        let _ = fs::remove_file(self.incoming_seeds());
        let _ = fs::remove_dir_all(self.incoming_crawled());
        if !self.made.is_empty() {
            let _ = fs::remove_file(self.path.join(LOCK));
        }
        unmake(&self.made);
    }
}

/// A directory and those above it, as far as they do not exist, the deepest first.
fn missing(folder: &Path) -> Vec<PathBuf> {
    // What a relative path begins with is the empty one, which stands for a directory that exists.
    let above = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    above.map(Path::to_path_buf).collect()
}

/// Deletes empty directories, the deepest first.
fn unmake(made: &[PathBuf]) {
    for folder in made {
        // As in `drop`; what somebody has put in meanwhile is theirs.
        let _ = fs::remove_dir(folder);
    }
}

fn claim_lock(path: &Path) -> Result<DirectoryLock, DirectoryError> {
    lock(path, |source| DirectoryError::Io { path: path.into(), source })
}

/// The lock of a directory in which there is a crawl, and so should be a place for it.
fn lock_crawl(path: &Path) -> Result<DirectoryLock, DirectoryError> {
    lock(path, |source| StateError::io(&path.join(LOCK))(source).into())
}

fn lock(
    path: &Path,
    unusable: impl FnOnce(io::Error) -> DirectoryError,
) -> Result<DirectoryLock, DirectoryError> {
    lock_file(&path.join(LOCK)).map_err(|error| match error {
        LockError::Held { holder } => DirectoryError::InUse { path: path.into(), holder },
        LockError::Io(source) => unusable(source),
    })
}

/// Refuses what exists and is neither empty nor a crawl directory.
fn refuse_strangers(path: &Path) -> Result<(), DirectoryError> {
    let foreign = |problem| Err(DirectoryError::Foreign { path: path.into(), problem });
    if !path.is_dir() {
        return foreign("is no directory");
    }
    let ours = path.join(CONFIGURATION).is_file() || has_state(path);
    let mut entries =
        fs::read_dir(path).map_err(|source| DirectoryError::Io { path: path.into(), source })?;
    if ours || entries.next().is_none() {
        return Ok(());
    }
    foreign("holds files but no crawl")
}

/// Refuses a directory in which a crawl has begun.
fn refuse_crawls(path: &Path) -> Result<(), DirectoryError> {
    if !holds_crawl(path)? {
        return Ok(());
    }
    if is_complete(path) {
        return Err(DirectoryError::Complete(path.into()));
    }
    Err(DirectoryError::Unfinished(path.into()))
}

/// Whether there is in a directory what only a crawl makes. What lies beside may have the names of its results
/// and be somebody else's.
fn has_state(path: &Path) -> bool {
    path.join(LOCK).is_file()
}

/// Whether a directory holds a crawl that has begun.
///
/// # Errors
/// [`StateError::Damaged`] where there is what a crawl left and no configuration: it is lost, or `--fresh` was
/// killed while it deleted.
pub fn holds_crawl(path: &Path) -> Result<bool, StateError> {
    let configuration = path.join(CONFIGURATION);
    let error = match fs::metadata(&configuration) {
        Ok(found) if found.is_file() => return Ok(true),
        Ok(_) => io::Error::from(io::ErrorKind::IsADirectory),
        Err(error) => error,
    };
    let holds_something =
        |name: &&str| fs::metadata(path.join(name)).is_ok_and(|file| file.is_file() && file.len() > 0);
    // Without a configuration empty files are what a crawl left that could not begin.
    let left = has_state(path) && FILES.iter().any(holds_something);
    match error.kind() {
        io::ErrorKind::PermissionDenied => Err(StateError::io(&configuration)(error)),
        io::ErrorKind::NotFound if left => Err(StateError::damaged(&configuration, 0, MISSING)),
        _ if left => Err(StateError::io(&configuration)(error)),
        _ => Ok(false),
    }
}

/// What is told where there is a crawl but for its configuration.
const MISSING: &str = "it is missing, though other files of a crawl are there; put it back, \
    or delete them by 'dragline crawl --fresh' and start over";

/// Whether a directory holds a crawl that has nothing left to do.
pub fn is_complete(path: &Path) -> bool {
    let summary = fs::read(path.join("summary.json")).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap_or_default();
    path.join(CONFIGURATION).is_file()
        && (summary["end_reason"] == "done" || summary["end_reason"] == "nothing_fetched")
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
