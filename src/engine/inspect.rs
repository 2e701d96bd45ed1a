//! Whether a crawl could go on: what a recovery would refuse, found without a lock and without changing
//! anything.
//!
//! Reads once all that a crawl goes on from: configuration, seeds, manifest, every block of frontier, keys
//! (those of earlier crawls, too) and doubts, the results up to the checkpoint, and the log. So damage that a crawl would meet only
//! later is found as well. Memory is bounded by the largest record of the log.

use std::path::Path;
use std::sync::Arc;

use super::keeper::{FRONTIER, MANIFEST, VISITED, log_name};
use super::recovery::{malformed_manifest, peek_state, replay_log};
use super::seed_file::seal;
use super::sketches;
use super::state::CrawlState;
use crate::frontier::{DiskFrontier, DiskSettings, FrontierError};
use crate::sink::{RecoveringFiles, check_configuration};
use crate::stats::KeptSketchesError;
use crate::store::{Decoder, FileSystem, StateError, Storage, lock_holder};
use crate::visited::{Place, RestoreError, verify_state};

/// What is not as it was written.
#[derive(Debug)]
pub(super) struct Damage {
    /// Where, and what.
    pub(super) error: StateError,
    /// It lies so far back in the results that a resumption does not look at it, and goes on.
    pub(super) is_passed_over: bool,
}

impl From<StateError> for Damage {
    fn from(error: StateError) -> Self {
        Self { error, is_passed_over: false }
    }
}

/// What is damaged of the crawl in a directory, where no process is at it.
///
/// # Errors
/// [`StateError::Io`] where something cannot be read.
pub(super) fn damage(directory: &Path) -> Result<Option<Damage>, StateError> {
    match inspect(directory) {
        Ok(()) => Ok(None),
        Err(Damage { error: error @ StateError::Io { .. }, .. }) => Err(error),
        // Whoever has begun meanwhile changes what is here, and knows best.
        Err(_) if is_running(directory)? => Ok(None),
        Err(damage) => Ok(Some(damage)),
    }
}

/// Whether a process is at the crawl of a directory.
pub(super) fn is_running(directory: &Path) -> Result<bool, StateError> {
    let lock = directory.join("state/lock");
    Ok(lock_holder(&lock).map_err(StateError::io(&lock))?.is_some())
}

fn inspect(directory: &Path) -> Result<(), Damage> {
    check_configuration(directory)?;
    let state = directory.join("state");
    let missing = || StateError::damaged(&state.join(MANIFEST), 0, "it is missing");
    let (_, kept) = peek_state(&FileSystem, &state)?.ok_or_else(missing)?;
    kept.check_seeds(&state.join("seeds"), seal(&state.join("seeds"))?)?;
    frontier(&state, &kept)?;
    visited(&state, &kept)?;
    let storage: Arc<dyn Storage> = Arc::new(FileSystem);
    kept.earlier.verify(&storage, &state)?;
    let mut files = RecoveringFiles::open(&FileSystem, directory, &kept.sinks)?;
    let log = state.join(log_name(kept.log));
    sketches::read(&FileSystem, &state, kept.log).map_err(KeptSketchesError::into_state)?;
    replay_log(&FileSystem, &log, &mut files, |_, _| Ok::<_, StateError>(()))?;
    // All that a recovery reads was found good by now.
    files.check().map_err(|error| Damage { error, is_passed_over: true })
}

fn frontier(state: &Path, kept: &CrawlState) -> Result<(), StateError> {
    let settings = DiskSettings { memtable_bytes: 0, cache_bytes: 0, most_segments: 0 };
    let directory = state.join(FRONTIER);
    let mut decoder = Decoder(&kept.frontier);
    let frontier = DiskFrontier::restore(Arc::new(FileSystem), &directory, settings, &mut decoder);
    frontier.and_then(|frontier| frontier.verify()).map_err(|error| match error {
        FrontierError::State(error) => error,
        _ => malformed_manifest(state),
    })
}

fn visited(state: &Path, kept: &CrawlState) -> Result<(), StateError> {
    let place = Place { storage: Arc::new(FileSystem), directory: state.join(VISITED) };
    verify_state(&place, &kept.visited).map_err(|error| match error {
        RestoreError::Exact(error) => error.0,
        _ => malformed_manifest(state),
    })
}
