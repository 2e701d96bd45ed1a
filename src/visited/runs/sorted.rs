//! Sets of keys that are written once and then only asked: sorting them on disk, and asking them.
//!
//! A set is one run, whatever its size. While it is made, keys gather in a batch of bounded size; a full
//! batch is sorted and written as a run, and runs are merged until one is left. Asking costs one block.
//! Owns no state: what there is to remember of a set is a [`SortedSet`], for the caller to keep.
//!
//! **Memory**: making, the batch and some 9 KiB for each of up to [`MOST_INPUTS`] runs that are merged;
//! asking, 8 bytes for each 1,024 keys, and 32 KiB.

use std::sync::Arc;

use super::super::shelf::{Place, RestoreError, Shelf};
use super::fence::{Fence, Lookup};
use super::file::{BLOCK_KEYS, Block, CURSOR_BYTES, LOOKUP_BYTES, Run, RunWriter, WRITER_BYTES};
use super::merge::Merge;
use crate::model::UrlKey;
use crate::store::{Decoder, Encoder, FileKind, Malformed, StateError};

/// Runs that are merged at a time.
const MOST_INPUTS: usize = 64;

/// Keys merged between two looks at what is left.
const MERGED_AT_A_TIME: u64 = 1 << 20;

/// Which file holds a set, and how many keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SortedSet {
    /// The number of its run.
    pub number: u64,
    /// Keys in it.
    pub keys: u64,
}

impl SortedSet {
    /// Bytes of memory that asking it takes.
    pub fn memory_bytes(self) -> u64 {
        self.keys.div_ceil(BLOCK_KEYS as u64) * size_of::<UrlKey>() as u64 + LOOKUP_BYTES
    }

    /// Bytes of its file, but for its header.
    pub fn disk_bytes(self) -> u64 {
        self.keys * size_of::<UrlKey>() as u64
    }

    /// Appends it: two numbers.
    pub fn encode(self, encoder: &mut Encoder<'_>) {
        encoder.number(self.number);
        encoder.number(self.keys);
    }

    /// Takes what [`encode`](Self::encode) appended.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are no set.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self { number: decoder.count()?, keys: decoder.count()? })
    }
}

/// Makes sets, one after the other, in a directory of their own.
#[derive(Debug)]
pub struct KeySorter {
    shelf: Shelf,
    batch: Vec<UrlKey>,
    most_batch: usize,
    runs: Vec<Arc<Run>>,
    sets: Vec<u64>,
}

impl KeySorter {
    /// Bytes of memory that merging takes at most, beside the batch.
    pub const MERGE_BYTES: u64 = MOST_INPUTS as u64 * CURSOR_BYTES + WRITER_BYTES;

    /// A sorter whose batch takes `batch_bytes`, in a directory that exists and is empty.
    pub fn create(place: Place, batch_bytes: u64) -> Self {
        let most_batch = usize::try_from(batch_bytes / size_of::<UrlKey>() as u64).unwrap_or(usize::MAX);
        let shelf = Shelf::new(place, FileKind::Run);
        let (batch, runs, sets) = Default::default();
        Self { shelf, batch, most_batch: most_batch.max(1), runs, sets }
    }

    /// Adds a key to the set that is being made; the same key twice is as good as once.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn push(&mut self, key: UrlKey) -> Result<(), StateError> {
        if self.batch.len() == self.batch.capacity() {
            // Twice as much at a time, and never more than the batch may have.
            let more = self.batch.len().max(BLOCK_KEYS).min(self.most_batch - self.batch.len());
            self.batch.reserve_exact(more);
        }
        self.batch.push(key);
        if self.batch.len() >= self.most_batch { self.spill() } else { Ok(()) }
    }

    /// Ends the set that is being made; the next key begins another one.
    ///
    /// # Errors
    /// Where the system refuses, or does not give back what was written.
    pub fn end_set(&mut self) -> Result<SortedSet, StateError> {
        self.spill()?;
        while self.runs.len() > 1 {
            let rest = self.runs.split_off(self.runs.len().min(MOST_INPUTS));
            let inputs = std::mem::replace(&mut self.runs, rest);
            let mut merge = Merge::start(&mut self.shelf, 0, &inputs)?;
            while merge.step(MERGED_AT_A_TIME)? == MERGED_AT_A_TIME {}
            self.runs.push(Arc::new(merge.finish()?.0));
            for run in inputs {
                self.shelf.discard(run.number)?;
            }
        }
        let run = match self.runs.pop() {
            Some(run) => run,
            None => Arc::new(RunWriter::create(&mut self.shelf)?.finish()?.0),
        };
        self.sets.push(run.number);
        Ok(SortedSet { number: run.number, keys: run.keys })
    }

    /// Makes all sets durable.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn finish(mut self) -> Result<(), StateError> {
        self.shelf.prepare_checkpoint(self.sets.into_iter())
    }

    fn spill(&mut self) -> Result<(), StateError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch.sort_unstable();
        let mut writer = RunWriter::create(&mut self.shelf)?;
        for key in &self.batch {
            writer.push(*key)?;
        }
        self.batch.clear();
        self.runs.push(Arc::new(writer.finish()?.0));
        Ok(())
    }
}

/// A set that is asked.
#[derive(Debug)]
pub struct SortedKeys {
    run: Run,
    fence: Fence,
    block: Block,
}

fn reopen(place: &Place, set: SortedSet) -> Result<Run, RestoreError> {
    let mut shelf = Shelf::new(place.clone(), FileKind::Run);
    shelf.number_from(set.number.saturating_add(1));
    Run::reopen(&mut shelf, set.number, set.keys)
}

impl SortedKeys {
    /// Opens a set: reads and checks all of it, and shows its keys to `visit` on the way, ascending.
    ///
    /// # Errors
    /// Its file is missing or damaged, or `visit` fails.
    pub fn open(
        place: &Place,
        set: SortedSet,
        visit: &mut dyn FnMut(&[UrlKey]) -> Result<(), RestoreError>,
    ) -> Result<Self, RestoreError> {
        let run = reopen(place, set)?;
        let mut keys = Self { fence: Fence::for_blocks(run.blocks()), run, block: Block::default() };
        let mut group = Vec::with_capacity(BLOCK_KEYS);
        for block in 0..keys.run.blocks() {
            keys.run.read(block, &mut keys.block)?;
            group.clear();
            group.extend(keys.block.raw().iter().map(|key| UrlKey::from_le_bytes(*key)));
            keys.fence.push(*group.first().ok_or(Malformed)?);
            visit(&group)?;
        }
        Ok(keys)
    }

    /// Whether it holds a key. Reads one block.
    ///
    /// # Errors
    /// The block cannot be read, or is damaged.
    pub fn holds(&mut self, key: UrlKey) -> Result<bool, StateError> {
        let mut asked = vec![(key, 0)];
        Lookup::new(&self.run, &self.fence, &mut self.block).remove_seen(&mut asked)?;
        Ok(asked.is_empty())
    }

    /// Whether a set holds a key, without opening all of it: reads the blocks of a search by halves.
    ///
    /// # Errors
    /// Its file is missing, or damaged where it is read.
    pub fn set_holds(place: &Place, set: SortedSet, key: UrlKey) -> Result<bool, RestoreError> {
        Ok(reopen(place, set)?.holds(key, &mut Block::default())?)
    }

    /// The name of the file of a set.
    pub fn file_name(place: &Place, set: SortedSet) -> String {
        Shelf::new(place.clone(), FileKind::Run).name(set.number)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::super::tests::{keys, place};
    use super::*;
    use crate::store::FileSystem;
    use proptest::prelude::*;

    fn open(place: &Place, set: SortedSet) -> (SortedKeys, Vec<UrlKey>) {
        let mut all = Vec::new();
        let keys = SortedKeys::open(place, set, &mut |keys| {
            all.extend_from_slice(keys);
            Ok(())
        });
        (keys.unwrap(), all)
    }

    #[test]
    fn many_batches_become_one_run_and_nothing_else_stays() {
        let directory = tempfile::tempdir().unwrap();
        let place = place(directory.path());
        // more runs than are merged at a time
        let mut sorter = KeySorter::create(place.clone(), 8 * 1000);
        let members = keys(0, 150_000);
        for key in &members {
            sorter.push(*key).unwrap();
        }
        let set = sorter.end_set().unwrap();
        let empty = sorter.end_set().unwrap();
        assert_eq!((set.keys, empty.keys), (150_000, 0));
        sorter.finish().unwrap();
        let mut files: Vec<String> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, [set, empty].map(|set| SortedKeys::file_name(&place, set)));
        let (mut opened, all) = open(&place, set);
        assert!(all.is_sorted() && all.len() == 150_000);
        assert!(members.iter().step_by(7).all(|key| opened.holds(*key).unwrap()));
        assert!(keys(150_000, 5000).iter().all(|key| !opened.holds(*key).unwrap()));
        assert!(SortedKeys::set_holds(&place, set, members[77]).unwrap());
        assert!(!SortedKeys::set_holds(&place, set, members[77] ^ 1).unwrap());
        let (mut none, all) = open(&place, empty);
        assert!(all.is_empty() && !none.holds(1).unwrap());
        assert!(!SortedKeys::set_holds(&place, empty, 1).unwrap());
    }

    #[test]
    fn damage_is_found_when_a_set_is_opened_and_when_it_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place { storage: Arc::new(FileSystem), directory: directory.path().into() };
        let mut sorter = KeySorter::create(place.clone(), 1 << 20);
        for key in keys(0, 3000) {
            sorter.push(key).unwrap();
        }
        let set = sorter.end_set().unwrap();
        let (mut opened, all) = open(&place, set);
        let path = directory.path().join(SortedKeys::file_name(&place, set));
        let whole = std::fs::read(&path).unwrap();
        for place_of_damage in [12, 20, 9000, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[place_of_damage] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            assert!(SortedKeys::open(&place, set, &mut |_| Ok(())).is_err(), "{place_of_damage}");
        }
        assert!(opened.holds(all[2999]).is_err(), "the last block has changed since");
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(SortedKeys::open(&place, set, &mut |_| Ok(())).is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(SortedKeys::open(&place, set, &mut |_| Ok(())).is_err());
    }

    proptest! {
           #![proptest_config(ProptestConfig::with_cases(64))]
           #[test]
           fn a_set_holds_what_was_pushed_and_nothing_else(
               members in proptest::collection::vec(0..5000_u64, 0..3000), batch in 1..700_u64,
           ) {
               let directory = tempfile::tempdir().unwrap();
               let place = place(directory.path());
               let mut sorter = KeySorter::create(place.clone(), batch * 8);
               // extreme keys and close ones
               let spread = |key: u64| if key.is_multiple_of(2) { key } else { u64::MAX - key };
               for key in &members {
    sorter.push(spread(*key)).unwrap();
    }
               let set = sorter.end_set().unwrap();
               let (mut opened, _) = open(&place, set);
               for key in 0..5000 {
                   prop_assert_eq!(opened.holds(spread(key)).unwrap(), members.contains(&key));
               }
           }
       }
}
