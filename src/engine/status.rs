//! How a crawl stands, read from its directory: beside the process that runs it, or after it.
//!
//! Only reads; what it reads is replaced whole or appended to, so that a running crawl is not
//! disturbed and nothing half-written is told.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::inspect::{self, Damage};
use super::recovery::peek_state;
use super::state::CrawlState;
use crate::sink::{holds_crawl, is_complete};
use crate::store::{FileSystem, StateError, lock_holder};

/// Why nothing can be said of a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatusError {
    /// There is no crawl in it.
    #[error("{}: holds no crawl; name the --output of one", .0.display())]
    NoCrawl(PathBuf),
    /// Its state cannot be read, or is not there.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Whether a crawl goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A process is at it.
    Running,
    /// It was stopped, or its process died; it can be resumed.
    Unfinished,
    /// Nothing is left to do.
    Complete,
    /// What it would go on from, or what it has written, is not as it was written.
    Damaged,
}

/// What waits in one queue.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Waiting {
    /// `scheme://host[:port]`.
    pub origin: Box<str>,
    /// URLs that wait, those in flight included.
    pub urls: u64,
}

/// The frontier at the last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FrontierStatus {
    /// Hosts that are open, those with the most URLs first.
    pub open: Vec<Waiting>,
    /// URLs of all other hosts.
    pub other_hosts: u64,
}

/// Bytes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Disk {
    /// Of what the crawl is for: pages and skipped URLs, statistics, summary.
    pub results_bytes: u64,
    /// Of the state that it is resumed from.
    pub state_bytes: u64,
}

/// How a crawl stands.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Status {
    /// Whether it goes on.
    pub state: Standing,
    /// What is damaged, and where; the first thing found. What else is told may be wrong then.
    pub damage: Option<String>,
    /// Whether `dragline resume` would go on: also where the damage lies so far back in the results that it does
    /// not look there.
    pub resumable: bool,
    /// The process that is at it.
    pub held_by: Option<String>,
    /// Why it ended last, where it ended in order.
    pub end_reason: Option<String>,
    /// The last line of `stats.jsonl`, or `summary.json` where the crawl has ended: pages, URLs,
    /// filter, memory.
    pub figures: serde_json::Value,
    /// The frontier at the last checkpoint.
    pub frontier: FrontierStatus,
    /// Bytes on disk.
    pub disk: Disk,
}

impl Status {
    /// Reads a crawl directory. Of a crawl that waits to be resumed all is read that a resumption goes
    /// on from, and held against its checksums: that may take a second for each gigabyte.
    ///
    /// # Errors
    /// [`StatusError`] where there is no crawl, or something cannot be read.
    pub fn read(directory: &Path) -> Result<Self, StatusError> {
        if !holds_crawl(directory)? {
            return Err(StatusError::NoCrawl(directory.into()));
        }
        let state = directory.join("state");
        let lock = state.join("lock");
        let held_by = lock_holder(&lock).map_err(StateError::io(&lock))?;
        let standing = match &held_by {
            Some(_) => Standing::Running,
            None if is_complete(directory) => Standing::Complete,
            None => Standing::Unfinished,
        };
        let (kept, damage) = match peek_state(&FileSystem, &state) {
            Err(error @ StateError::Io { .. }) => return Err(error.into()),
            Err(error) => (None, Some(error.into())),
            Ok(kept) if standing == Standing::Unfinished => (kept, inspect::damage(directory)?),
            Ok(kept) => (kept, None),
        };
        let summary: serde_json::Value =
            serde_json::from_slice(&fs::read(directory.join("summary.json")).unwrap_or_default())
                .unwrap_or_default();
        let ended = held_by.is_none() && summary.is_object();
        Ok(Self {
            resumable: standing == Standing::Unfinished
                && damage.as_ref().is_none_or(|damage: &Damage| damage.is_passed_over),
            state: if damage.is_some() { Standing::Damaged } else { standing },
            damage: damage.map(|damage| damage.error.to_string()),
            held_by,
            end_reason: ended.then(|| summary["end_reason"].as_str().map(str::to_owned)).flatten(),
            figures: if ended { summary } else { last_line(&directory.join("stats.jsonl")) },
            frontier: kept
                .map_or(FrontierStatus { open: Vec::new(), other_hosts: 0 }, |(_, kept)| frontier(kept)),
            disk: disk(directory, &state),
        })
    }
}

fn frontier(state: CrawlState) -> FrontierStatus {
    let mut open: Vec<Waiting> = state
        .queues
        .into_iter()
        .filter(|queue| queue.candidates > 0)
        .map(|queue| Waiting { origin: queue.origin, urls: queue.candidates })
        .collect();
    open.sort_by(|one, other| other.urls.cmp(&one.urls).then_with(|| one.origin.cmp(&other.origin)));
    FrontierStatus { open, other_hosts: state.in_buckets }
}

/// Bytes from the end of `stats.jsonl` in which its last whole line is looked for.
const TAIL: u64 = 64 << 10;

fn last_line(path: &Path) -> serde_json::Value {
    let tail = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = tail().unwrap_or_default();
    let whole = bytes.rsplit(|byte| *byte == b'\n').skip(1);
    whole.map(serde_json::from_slice).find_map(Result::ok).unwrap_or_default()
}

fn disk(directory: &Path, state: &Path) -> Disk {
    let state_bytes = tree_bytes(state);
    Disk { results_bytes: tree_bytes(directory).saturating_sub(state_bytes), state_bytes }
}

/// Bytes of all files below a directory; what vanishes meanwhile counts nothing.
fn tree_bytes(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => tree_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
