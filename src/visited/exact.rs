//! The exact stage: every accepted key, and bulk answers to "was it ever accepted?".
//!
//! Owns the trait that the stage on disk implements as well, and the version in
//! memory: sorted runs of keys, merged in tiers of four, as Mercator (Heydon, Najork
//! 1999) and DRUM (Lee, Leonard, Wang, Loguinov 2008) do on disk.

use std::time::Duration;

use crate::model::UrlKey;
use crate::store::{Encoder, StateError};

/// The exact stage failed; what it holds can no longer be trusted to be all.
#[derive(Debug, thiserror::Error)]
#[error("the exact keys of seen urls cannot be kept: {0}")]
pub struct ExactError(#[from] pub StateError);

/// What a look-up would have to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LookupCost {
    /// Runs: one block of each for every key, where few are asked.
    pub runs: u64,
    /// Blocks of all runs: each once, where many are asked.
    pub blocks: u64,
}

/// Every accepted key.
///
/// The methods with a default are those of a stage that outlives the process; the default does
/// nothing and is right for one that does not.
pub trait ExactKeys: Send {
    /// Takes keys that were just accepted, each for the first time.
    fn append(&mut self, keys: &[UrlKey]) -> Result<(), ExactError>;

    /// Drops the keys that were appended before. What is asked is ascending, no key twice; the
    /// number beside a key is the caller's. Nothing is appended.
    fn remove_seen(&mut self, asked: &mut Vec<(UrlKey, u64)>) -> Result<(), ExactError>;

    /// Which of these keys were never appended. `unseen` is emptied and then holds an answer for
    /// each; of equal keys only the first is unseen. Nothing is appended. Best asked in bulk.
    fn find_unseen(&mut self, keys: &[UrlKey], unseen: &mut Vec<bool>) -> Result<(), ExactError> {
        unseen.clear();
        unseen.resize(keys.len(), false);
        let mut asked: Vec<(UrlKey, u64)> = keys.iter().copied().zip(0..).collect();
        asked.sort_unstable();
        // first wins: of equal keys the lowest place comes first
        asked.dedup_by_key(|(key, _)| *key);
        self.remove_seen(&mut asked)?;
        for (_, place) in asked {
            unseen[place as usize] = true;
        }
        Ok(())
    }

    /// What a look-up would have to read; nothing in memory.
    fn lookup_cost(&self) -> LookupCost {
        LookupCost::default()
    }

    /// Every key, in groups, in no particular order.
    fn for_each(&mut self, visit: &mut dyn FnMut(&[UrlKey])) -> Result<(), ExactError>;

    /// Keys in it.
    fn len(&self) -> u64;

    /// Whether no key is in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory it holds.
    fn memory_bytes(&self) -> u64;

    /// Whether it outlives the process, so that it must get every key and not only
    /// those that no other place in memory holds.
    fn is_durable(&self) -> bool;

    /// Bytes of the files that hold keys; not of those that only wait to be deleted, and not of
    /// merges under way.
    fn disk_bytes(&self) -> u64 {
        0
    }

    /// Does work that waits, for about so long; whether there was any.
    fn idle_work(&mut self, _budget: Duration) -> Result<bool, ExactError> {
        Ok(false)
    }

    /// Writes what is in memory and makes every file durable, so that the state can be named.
    fn prepare_checkpoint(&mut self) -> Result<(), ExactError> {
        Ok(())
    }

    /// The manifest with the state is durable: what only earlier ones name may go.
    fn checkpoint_done(&mut self) -> Result<(), ExactError> {
        Ok(())
    }

    /// The state as of the last [`ExactKeys::prepare_checkpoint`], for the manifest.
    fn encode_state(&self, _encoder: &mut Encoder<'_>) {}

    /// Appends the names of the files that the state names.
    fn named_files(&self, _names: &mut Vec<String>) {}
}

/// Keys of the unsorted batch at most.
const BATCH: usize = 8192;

/// Runs of one tier that are merged into one of the next.
const FAN_IN: usize = 4;

/// Runs from this many keys on are not merged again, which bounds what a merge takes beside.
const LARGEST_RUN: usize = 1 << 20;

/// The exact stage in memory: 8 bytes a key.
#[derive(Debug, Default)]
pub struct MemoryKeys {
    /// Sorted runs, oldest (and largest tier) first.
    runs: Vec<Run>,
    /// What came since the last run was made; sorted up to some point.
    batch: Vec<UrlKey>,
}

#[derive(Debug)]
struct Run {
    tier: u32,
    keys: Box<[UrlKey]>,
}

impl MemoryKeys {
    /// An empty one.
    pub fn new() -> Self {
        MemoryKeys::default()
    }

    fn spill(&mut self) {
        let mut keys = std::mem::take(&mut self.batch);
        keys.sort_unstable();
        self.runs.push(Run { tier: 0, keys: keys.into_boxed_slice() });
        while let Some(tier) = self.mergeable() {
            let from = self.runs.len() - FAN_IN;
            let parts: Vec<Box<[UrlKey]>> = self.runs.drain(from..).map(|run| run.keys).collect();
            self.runs.push(Run { tier: tier + 1, keys: merge(parts) });
        }
    }

    /// The tier of the last runs, where enough of one tier stand together.
    fn mergeable(&self) -> Option<u32> {
        let last = self.runs.get(self.runs.len().checked_sub(FAN_IN)?..)?;
        let tier = last.first()?.tier;
        let mergeable = last.iter().all(|run| run.tier == tier && run.keys.len() < LARGEST_RUN);
        mergeable.then_some(tier)
    }
}

/// Sorts what consists of few sorted runs: the stable sort finds and merges them in linear
/// time, which the unstable one does not.
#[allow(clippy::stable_sort_primitive)]
pub(super) fn sort_runs(keys: &mut [UrlKey]) {
    keys.sort();
}

/// All keys of sorted parts, sorted.
fn merge(parts: Vec<Box<[UrlKey]>>) -> Box<[UrlKey]> {
    let mut merged = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        merged.extend_from_slice(&part);
    }
    sort_runs(&mut merged);
    merged.into_boxed_slice()
}

impl ExactKeys for MemoryKeys {
    fn append(&mut self, keys: &[UrlKey]) -> Result<(), ExactError> {
        for keys in keys.chunks(BATCH) {
            self.batch.extend_from_slice(keys);
            if self.batch.len() >= BATCH {
                self.spill();
            }
        }
        Ok(())
    }

    fn remove_seen(&mut self, asked: &mut Vec<(UrlKey, u64)>) -> Result<(), ExactError> {
        sort_runs(&mut self.batch);
        remove_seen(asked, &self.batch);
        for run in &self.runs {
            remove_seen(asked, &run.keys);
        }
        Ok(())
    }

    fn for_each(&mut self, visit: &mut dyn FnMut(&[UrlKey])) -> Result<(), ExactError> {
        for run in &self.runs {
            visit(&run.keys);
        }
        visit(&self.batch);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.keys.len() as u64).sum::<u64>() + self.batch.len() as u64
    }

    fn memory_bytes(&self) -> u64 {
        (self.len() + (self.batch.capacity() - self.batch.len()) as u64) * size_of::<UrlKey>() as u64
    }

    fn is_durable(&self) -> bool {
        false
    }
}

/// Drops what `run` holds; both are sorted. Many are merged with it, few are looked up.
fn remove_seen(asked: &mut Vec<(UrlKey, u64)>, run: &[UrlKey]) {
    let steps = run.len().checked_ilog2().unwrap_or(0) as usize + 1;
    if asked.len() * steps < run.len() {
        asked.retain(|(key, _)| run.binary_search(key).is_err());
        return;
    }
    let mut rest = run;
    asked.retain(|(key, _)| {
        let skip = rest.iter().position(|held| held >= key).unwrap_or(rest.len());
        rest = &rest[skip..];
        rest.first() != Some(key)
    });
}
