//! From the directories of earlier crawls to sorted keys in the state of a crawl that is to begin.
//!
//! Works beside what an earlier crawl in the same directory may have left, so that nothing is lost where a
//! directory is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::crawl::SetupError;
use super::super::recovery::peek_state;
use super::super::shutdown::StopHandle;
use super::reading::{EarlierDirectory, refused};
use super::{EarlierCrawl, EarlierCrawls};
use crate::budget::FIXED_BYTES;
use crate::config::Config;
use crate::store::{FileSystem, StateError};
use crate::url::Canonicalizer;
use crate::visited::{KeySorter, Place};

/// Keys that are sorted at a time take at most one part in so many of the memory, …
const BATCH_DIVISOR: u64 = 4;
/// … and this, in bytes.
const MOST_BATCH: u64 = 64 << 20;

/// Reads all earlier crawls that a configuration names, and writes the keys of what they fetched into the
/// directory `into`, which is made. `own` is where this crawl goes, and `taken` what its seeds take of the
/// memory.
///
/// # Errors
/// [`SetupError`] where a directory cannot be used, the system refuses, or somebody asks to stop.
pub(in super::super) fn gather(
    config: &Config,
    canonicalizer: &Canonicalizer,
    own: &Path,
    into: PathBuf,
    taken: u64,
    stop: &StopHandle,
) -> Result<EarlierCrawls, SetupError> {
    if config.skip_crawled.is_empty() {
        return Ok(EarlierCrawls::default());
    }
    refuse_twice(own, &config.skip_crawled)?;
    config.skip_crawled.iter().try_for_each(|path| EarlierDirectory::check(path, config))?;
    fs::create_dir(&into).map_err(StateError::io(&into))?;
    let free = config.memory.saturating_sub(FIXED_BYTES + taken + KeySorter::MERGE_BYTES);
    let place = Place { storage: Arc::new(FileSystem), directory: into };
    let mut sorter = KeySorter::create(place, (free / BATCH_DIVISOR).min(MOST_BATCH));
    let mut crawls = Vec::new();
    for path in &config.skip_crawled {
        let earlier = EarlierDirectory::open(path)?;
        earlier.each_fetched(canonicalizer, |canonical| {
            stop.check()?;
            Ok(sorter.push(earlier.secret.key(canonical))?)
        })?;
        let directory = path.to_string_lossy().into();
        crawls.push(EarlierCrawl { directory, secret: earlier.secret, set: sorter.end_set()? });
    }
    sorter.finish()?;
    Ok(EarlierCrawls(crawls))
}

/// The earlier crawls of one that goes on, as its manifest tells.
///
/// # Errors
/// Where the manifest cannot be read.
pub(in super::super) fn kept_in(state: &Path, config: &Config) -> Result<EarlierCrawls, StateError> {
    if config.skip_crawled.is_empty() {
        return Ok(EarlierCrawls::default());
    }
    Ok(peek_state(&FileSystem, state)?.map(|(_, kept)| kept.earlier).unwrap_or_default())
}

/// Those of a crawl that is kept nowhere, which has no place for them.
///
/// # Errors
/// Where the configuration names any.
pub(in super::super) fn kept_nowhere(config: &Config) -> Result<EarlierCrawls, SetupError> {
    match config.skip_crawled.first() {
        None => Ok(EarlierCrawls::default()),
        Some(path) => Err(refused(path, "a crawl without --output has no place to remember its pages")),
    }
}

/// Refuses the directory of this crawl itself, and one that is named twice, by whatever path.
fn refuse_twice(own: &Path, earlier: &[PathBuf]) -> Result<(), SetupError> {
    // One that is not there is told of when it is looked at.
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut met = vec![place(own)];
    for path in earlier {
        let at = place(path);
        if at == met[0] {
            return Err(refused(path, "it is the --output of this very crawl; give another one"));
        }
        if met.contains(&at) {
            return Err(refused(path, "the same directory is named twice; leave one out"));
        }
        met.push(at);
    }
    Ok(())
}
