//! The exact stage on disk: sorted runs of keys, merged in tiers.
//!
//! Owns the batch of keys that came last, the run files and the merges between them. Keys gather
//! in a batch; a full batch is sorted and written as a run; four runs of like size are merged into
//! one of the next tier, as in Mercator (Heydon, Najork 1999) and DRUM (Lee, Leonard, Wang,
//! Loguinov 2008). So a key is written about once per tier, and a look-up meets a few runs per tier.
//!
//! **Look-ups.** The keys asked are sorted and walked along each run, the largest first; only the
//! blocks that may hold one of them are read, adjacent ones at once. Few keys cost one block (about
//! 2 µs) per key and run; many cost each block once. [`LookupCost`] tells what a look-up would read. A
//! key found drops out, and most that are asked are repeats, so the smaller runs see few of them.
//!
//! **Merges** go on in proportion to what is appended, so nobody waits for one: for each key as many
//! steps as there are tiers, and two. The smallest tier goes first. Inputs stay readable until the
//! output is whole. Runs from [`LARGEST_RUN`] on are not merged again, which bounds the disk that a
//! merge takes beside.
//!
//! **Memory**: `batch_bytes` (a third of it for sorting), `fence_bytes`, 32 KiB for look-ups, and 68 to
//! 100 KiB for each merge under way, one per tier at most. Files held open are not counted.

mod fence;
mod file;
mod merge;
mod sorted;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use self::sorted::{KeySorter, SortedKeys, SortedSet};

use self::fence::{Fence, Lookup};
use self::file::{BLOCK_KEYS, Block, Run, RunWriter};
use self::merge::Merge;
use super::exact::{ExactError, ExactKeys, LookupCost, sort_runs};
use super::shelf::{Place, RestoreError, Shelf, refused};
use crate::model::UrlKey;
use crate::store::{Decoder, Encoder, FileKind, Malformed, StateError};

/// Runs of one tier that are merged into one of the next.
const FAN_IN: usize = 4;
/// Runs that go into one merge, where more have gathered.
const MOST_INPUTS: usize = 8;
/// Runs from this many keys on are not merged again.
const LARGEST_RUN: u64 = 16 << 20;
/// What one key takes in a merge.
const MERGE_NANOSECONDS: u64 = 10;
/// Keys in the unsorted end of the batch that are looked at one by one before it is sorted.
const UNSORTED: usize = 256;

/// How much memory the exact stage on disk may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskKeysSettings {
    /// Bytes for keys that are not written yet: 12 for each.
    pub batch_bytes: u64,
    /// Bytes for the first keys of blocks: 8 for each 8 KiB on disk, thinned out past that.
    pub fence_bytes: u64,
}

#[derive(Debug)]
struct Held {
    run: Arc<Run>,
    fence: Fence,
}

/// The exact stage on disk. After an error it refuses everything.
#[derive(Debug)]
pub struct DiskKeys {
    shelf: Shelf,
    place: Place,
    most_batch: usize,
    fence_bytes: u64,
    batch: Vec<UrlKey>,
    /// So many keys at the front of the batch are sorted.
    sorted: usize,
    /// The largest first.
    runs: Vec<Held>,
    /// The lowest tier first.
    merges: Vec<Merge>,
    /// Steps of merging that are owed to what was appended.
    owed: u64,
    block: Block,
    poisoned: bool,
}

impl DiskKeys {
    /// An empty exact stage in a directory that exists.
    pub fn create(place: Place, settings: DiskKeysSettings) -> Self {
        Self::with_shelf(Shelf::new(place.clone(), FileKind::Run), place, settings)
    }

    fn with_shelf(shelf: Shelf, place: Place, settings: DiskKeysSettings) -> Self {
        DiskKeys {
            shelf,
            place,
            most_batch: usize::try_from(settings.batch_bytes / 12).unwrap_or(usize::MAX).max(1),
            fence_bytes: settings.fence_bytes,
            batch: Vec::new(),
            sorted: 0,
            runs: Vec::new(),
            merges: Vec::new(),
            owed: 0,
            block: Block::default(),
            poisoned: false,
        }
    }

    /// Takes up what [`ExactKeys::encode_state`] told of: reads and checks every run, and shows
    /// all keys to `visit` on the way.
    ///
    /// # Errors
    /// A file is missing or damaged, or the state makes no sense.
    pub fn restore(
        place: Place,
        settings: DiskKeysSettings,
        decoder: &mut Decoder<'_>,
        visit: &mut dyn FnMut(&[UrlKey]) -> Result<(), RestoreError>,
    ) -> Result<Self, RestoreError> {
        let shelf = Shelf::restore(place.clone(), FileKind::Run, decoder)?;
        let mut keys = Self::with_shelf(shelf, place, settings);
        for _ in 0..decoder.number()? {
            let (number, count) = (decoder.number()?, decoder.number()?);
            let run = Run::reopen(&mut keys.shelf, number, count)?;
            let mut fence = Fence::default();
            let mut group = Vec::with_capacity(BLOCK_KEYS);
            for block in 0..run.blocks() {
                run.read(block, &mut keys.block)?;
                group.clear();
                group.extend(keys.block.raw().iter().map(|key| UrlKey::from_le_bytes(*key)));
                fence.push(*group.first().ok_or(Malformed)?);
                visit(&group)?;
            }
            keys.hold(run, fence);
        }
        Ok(keys)
    }

    /// Whether a run that [`ExactKeys::encode_state`] told of holds a key. Reads what a search by halves
    /// takes of each run, and passes over its part of the state.
    ///
    /// # Errors
    /// A file is missing or damaged, or the state makes no sense.
    pub fn holds(place: Place, decoder: &mut Decoder<'_>, key: UrlKey) -> Result<bool, RestoreError> {
        let mut shelf = Shelf::restore(place, FileKind::Run, decoder)?;
        let mut block = Block::default();
        let mut found = false;
        for _ in 0..decoder.number()? {
            let (number, count) = (decoder.number()?, decoder.number()?);
            found = found || Run::reopen(&mut shelf, number, count)?.holds(key, &mut block)?;
        }
        Ok(found)
    }

    /// Reads and checks all runs that [`ExactKeys::encode_state`] told of, and passes over its part of the
    /// state.
    ///
    /// # Errors
    /// A file is missing or damaged, or the state makes no sense.
    pub fn verify(place: Place, decoder: &mut Decoder<'_>) -> Result<(), RestoreError> {
        let mut shelf = Shelf::restore(place, FileKind::Run, decoder)?;
        let mut block = Block::default();
        for _ in 0..decoder.number()? {
            let (number, count) = (decoder.number()?, decoder.number()?);
            let run = Run::reopen(&mut shelf, number, count)?;
            for index in 0..run.blocks() {
                run.read(index, &mut block)?;
            }
        }
        Ok(())
    }

    /// Does what cannot be undone; an error poisons.
    fn guard<T>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, StateError>,
    ) -> Result<T, ExactError> {
        if self.poisoned {
            return Err(refused(&self.place.directory).into());
        }
        let result = operation(self);
        self.poisoned = result.is_err();
        Ok(result?)
    }

    /// The tier of a run: how often its size is four batches over.
    fn tier(&self, keys: u64) -> u32 {
        (keys / self.most_batch as u64).checked_ilog(FAN_IN as u64).unwrap_or(0)
    }

    fn hold(&mut self, run: Run, fence: Fence) {
        let at = self.runs.partition_point(|held| held.run.keys >= run.keys);
        self.runs.insert(at, Held { run: Arc::new(run), fence });
        while self.runs.iter().map(|held| held.fence.bytes()).sum::<u64>() > self.fence_bytes {
            let largest = self.runs.iter_mut().map(|held| &mut held.fence).max_by_key(|fence| fence.bytes());
            match largest {
                Some(fence) if fence.is_dense() => fence.thin(),
                _ => break,
            }
        }
    }

    /// Writes the batch as a run.
    fn spill(&mut self) -> Result<(), StateError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch.sort_unstable();
        let mut writer = RunWriter::create(&mut self.shelf)?;
        for key in &self.batch {
            writer.push(*key)?;
        }
        let (run, fence) = writer.finish()?;
        self.hold(run, fence);
        self.batch.clear();
        self.sorted = 0;
        self.start_merges()
    }

    /// Starts a merge in each tier that has runs enough and none under way.
    fn start_merges(&mut self) -> Result<(), StateError> {
        let highest = self.runs.first().map_or(0, |largest| self.tier(largest.run.keys));
        for tier in 0..=highest {
            if self.merges.iter().any(|merge| merge.tier == tier) {
                continue;
            }
            let of_tier = |held: &&Held| self.tier(held.run.keys) == tier && held.run.keys < LARGEST_RUN;
            // the smallest stand last
            let inputs: Vec<Arc<Run>> = self
                .runs
                .iter()
                .rev()
                .filter(of_tier)
                .take(MOST_INPUTS)
                .map(|held| held.run.clone())
                .collect();
            if inputs.len() >= FAN_IN {
                let at = self.merges.partition_point(|merge| merge.tier < tier);
                self.merges.insert(at, Merge::start(&mut self.shelf, tier, &inputs)?);
            }
        }
        Ok(())
    }

    /// Merges up to so many keys; how many it were.
    fn merge(&mut self, keys: u64) -> Result<u64, StateError> {
        let mut left = keys;
        while left > 0
            && let Some(merge) = self.merges.first_mut()
        {
            let done = merge.step(left)?;
            if done < left {
                let merge = self.merges.remove(0);
                let inputs = merge.inputs.clone();
                let (run, fence) = merge.finish()?;
                self.runs.retain(|held| !inputs.contains(&held.run.number));
                self.hold(run, fence);
                for number in inputs {
                    self.shelf.discard(number)?;
                }
                self.start_merges()?;
            }
            left -= done;
        }
        Ok(keys - left)
    }

    fn append_all(&mut self, mut keys: &[UrlKey]) -> Result<(), StateError> {
        while !keys.is_empty() {
            let (now, later) = keys.split_at(keys.len().min(self.most_batch - self.batch.len()));
            let needed = self.batch.len() + now.len();
            if needed > self.batch.capacity() {
                let capacity = needed.saturating_mul(2).min(self.most_batch);
                self.batch.reserve_exact(capacity - self.batch.len());
            }
            self.batch.extend_from_slice(now);
            keys = later;
            if self.batch.len() >= self.most_batch {
                self.spill()?;
            }
            if !self.merges.is_empty() {
                let tiers = self.merges.iter().map(|merge| u64::from(merge.tier)).max().unwrap_or(0);
                self.owed += now.len() as u64 * (tiers + 3);
                let owed = std::mem::take(&mut self.owed);
                self.merge(owed)?;
            }
        }
        Ok(())
    }

    fn remove_seen_from_batch(&mut self, asked: &mut Vec<(UrlKey, u64)>) {
        if self.batch.len() - self.sorted > UNSORTED {
            sort_runs(&mut self.batch);
            self.sorted = self.batch.len();
        }
        let (sorted, unsorted) = self.batch.split_at(self.sorted);
        if !self.batch.is_empty() {
            asked.retain(|(key, _)| sorted.binary_search(key).is_err() && !unsorted.contains(key));
        }
    }

    fn remove_seen_from_runs(&mut self, asked: &mut Vec<(UrlKey, u64)>) -> Result<(), StateError> {
        for held in &self.runs {
            Lookup::new(&held.run, &held.fence, &mut self.block).remove_seen(asked)?;
        }
        Ok(())
    }

    fn visit_all(&mut self, visit: &mut dyn FnMut(&[UrlKey])) -> Result<(), StateError> {
        let mut group = Vec::with_capacity(BLOCK_KEYS);
        for held in &self.runs {
            for block in 0..held.run.blocks() {
                held.run.read(block, &mut self.block)?;
                group.clear();
                group.extend(self.block.raw().iter().map(|key| UrlKey::from_le_bytes(*key)));
                visit(&group);
            }
        }
        visit(&self.batch);
        Ok(())
    }
}

impl ExactKeys for DiskKeys {
    fn append(&mut self, keys: &[UrlKey]) -> Result<(), ExactError> {
        self.guard(|this| this.append_all(keys))
    }

    fn remove_seen(&mut self, asked: &mut Vec<(UrlKey, u64)>) -> Result<(), ExactError> {
        self.guard(|this| {
            // most that are asked are in a large run, and need not be looked for in the batch
            this.remove_seen_from_runs(asked)?;
            this.remove_seen_from_batch(asked);
            Ok(())
        })
    }

    fn lookup_cost(&self) -> LookupCost {
        let blocks = self.runs.iter().map(|held| held.run.blocks()).sum();
        LookupCost { runs: self.runs.len() as u64, blocks }
    }

    fn for_each(&mut self, visit: &mut dyn FnMut(&[UrlKey])) -> Result<(), ExactError> {
        self.guard(|this| this.visit_all(visit))
    }

    fn len(&self) -> u64 {
        self.runs.iter().map(|held| held.run.keys).sum::<u64>() + self.batch.len() as u64
    }

    fn memory_bytes(&self) -> u64 {
        let batch = (self.batch.capacity() * size_of::<UrlKey>()) as u64;
        let fences: u64 = self.runs.iter().map(|held| held.fence.bytes()).sum();
        let merges: u64 = self.merges.iter().map(Merge::bytes).sum();
        batch + fences + merges + file::LOOKUP_BYTES
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn disk_bytes(&self) -> u64 {
        self.runs.iter().map(|held| held.run.bytes()).sum()
    }

    fn idle_work(&mut self, budget: Duration) -> Result<bool, ExactError> {
        let keys = budget.as_nanos() as u64 / MERGE_NANOSECONDS;
        self.guard(|this| Ok(this.merge(keys.max(1))? > 0))
    }

    fn prepare_checkpoint(&mut self) -> Result<(), ExactError> {
        self.guard(|this| {
            this.spill()?;
            this.shelf.prepare_checkpoint(this.runs.iter().map(|held| held.run.number))
        })
    }

    fn checkpoint_done(&mut self) -> Result<(), ExactError> {
        self.guard(|this| this.shelf.checkpoint_done())
    }

    fn encode_state(&self, encoder: &mut Encoder<'_>) {
        self.shelf.encode_state(encoder);
        encoder.number(self.runs.len() as u64);
        for held in &self.runs {
            encoder.number(held.run.number);
            encoder.number(held.run.keys);
        }
    }

    fn named_files(&self, names: &mut Vec<String>) {
        names.extend(self.runs.iter().map(|held| self.shelf.name(held.run.number)));
    }
}
