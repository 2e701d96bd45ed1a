//! What of a record of a page matters to its likeness, and reading it from a file that may grow.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::super::lines::try_each_line;
use crate::store::StateError;

/// A record as far as it is looked at.
#[derive(serde::Deserialize)]
pub(super) struct Line<'l> {
    #[serde(borrow)]
    pub(super) url: Cow<'l, str>,
    #[serde(borrow, default)]
    simhash: Option<Cow<'l, str>>,
    #[serde(borrow, default)]
    pub(super) blocks: Option<Cow<'l, str>>,
}

impl Line<'_> {
    pub(super) fn simhash(&self) -> Option<u64> {
        u64::from_str_radix(self.simhash.as_deref()?, 16).ok()
    }
}

/// Shows each line of the first `length` bytes, with its place; nothing for one that is no record.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn each_record(
    path: &Path,
    length: u64,
    mut visit: impl FnMut(u64, Option<Line<'_>>),
) -> Result<(), StateError> {
    try_each_line(path, length, |place, line| {
        visit(place, serde_json::from_slice(line).ok());
        Ok(())
    })
}

/// Bytes of a file; of one that is not there, none.
///
/// # Errors
/// Where the system does not tell.
pub(super) fn length_of(path: &Path) -> Result<u64, StateError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(StateError::io(path)(error)),
    }
}

/// How many lines the first `length` bytes of a file have.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn count_lines(path: &Path, length: u64) -> Result<usize, StateError> {
    if length == 0 {
        return Ok(0);
    }
    let mut file = File::open(path).map_err(StateError::io(path))?.take(length);
    let (mut piece, mut lines) = (vec![0; 64 << 10], 0);
    loop {
        match file.read(&mut piece).map_err(StateError::io(path))? {
            0 => return Ok(lines),
            read => lines += memchr::memchr_iter(b'\n', &piece[..read]).count(),
        }
    }
}

/// Bytes of a record that are read for its URL; the longest that a crawl writes is far shorter.
const LONGEST: u64 = 16 << 20;

/// The URL of the record that begins at a place.
///
/// # Errors
/// Where it cannot be read, or is no record any more.
pub(super) fn url_at(path: &Path, place: u64) -> Result<String, StateError> {
    let mut line = Vec::new();
    let mut file = File::open(path).map_err(StateError::io(path))?;
    file.seek(SeekFrom::Start(place)).map_err(StateError::io(path))?;
    let mut reader = BufReader::with_capacity(4 << 10, file).take(LONGEST);
    reader.read_until(b'\n', &mut line).map_err(StateError::io(path))?;
    let record: Result<Line<'_>, _> = serde_json::from_slice(&line);
    let changed = |_| StateError::damaged(path, place, "what was a record is none any more");
    record.map(|record| record.url.into_owned()).map_err(changed)
}
