//! The spool of doubts: candidates of which nothing in memory can tell whether they are new.
//!
//! Owns the candidates of doubts, numbered one after another, from the asking to the verdict. The
//! last ones wait in memory, in compressed blocks; past the share of memory all that waits is
//! written to a file, with its keys sorted so that they can be held against the exact keys.
//! Without a directory nothing is ever written. Decides nothing: who is new is found out by the
//! visited set.
//!
//! Doubts are retired in order of number. A file goes when its last one is retired, under the
//! rules of deletion that hold for all state files.
//!
//! **Memory**: `memory_bytes` for what waits, the sorting of its keys included; 32 KiB for the block
//! that is being filled and twice as much beside while one is compressed or read; some 100 bytes
//! for each file. A candidate larger than a block makes its block as large.

mod block;
mod durable;
mod found;
mod spill;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::VecDeque;

use self::block::{Open, Packed};
pub(super) use self::found::Found;
use self::spill::{Position, Spill};
use super::exact::ExactError;
use super::shelf::{Place, Shelf, refused};
use crate::model::{Candidate, UrlKey};
use crate::store::{FileKind, StateError};

/// What a waiting key takes: itself, and key and number while it is sorted.
const KEY_BYTES: u64 = 8 + 16;

/// Doubts of one file at most: their places must fit in 32 bits, with room to spare.
const MOST_OF_FILE: usize = 1 << 24;

/// A doubt that was new after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// The doubt's number.
    pub number: u64,
    /// What it stands for.
    pub candidate: Candidate,
}

/// See the module's description. After an error it refuses everything.
#[derive(Debug)]
pub struct Doubts {
    /// None: everything stays in memory.
    disk: Option<Disk>,
    /// The oldest first; every doubt in them is older than those in memory.
    spills: VecDeque<Spill>,
    /// The oldest one pending.
    first: u64,
    /// The number that the next one gets.
    next: u64,
    /// Keys of those in memory, in order of number.
    keys: Vec<UrlKey>,
    packed: VecDeque<Packed>,
    packed_bytes: u64,
    open: Open,
    scratch: Vec<u8>,
    position: Option<Position>,
    poisoned: bool,
}

#[derive(Debug)]
struct Disk {
    shelf: Shelf,
    place: Place,
    memory_bytes: u64,
}

impl Doubts {
    /// An empty spool that never writes a file.
    pub fn in_memory() -> Self {
        Doubts {
            disk: None,
            spills: VecDeque::new(),
            first: 0,
            next: 0,
            keys: Vec::new(),
            packed: VecDeque::new(),
            packed_bytes: 0,
            open: Open::default(),
            scratch: Vec::new(),
            position: None,
            poisoned: false,
        }
    }

    /// An empty spool that holds about `memory_bytes` in memory and the rest in a directory, which exists.
    pub fn on_disk(place: Place, memory_bytes: u64) -> Self {
        let disk = Disk { shelf: Shelf::new(place.clone(), FileKind::Doubts), place, memory_bytes };
        Doubts { disk: Some(disk), ..Doubts::in_memory() }
    }

    /// Doubts pending.
    pub fn len(&self) -> u64 {
        self.next - self.first
    }

    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// The number of the oldest one pending; where none is, the one that the next one gets.
    pub fn oldest(&self) -> u64 {
        self.first
    }

    /// The number that the next one gets.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Bytes of memory that the waiting ones take.
    pub fn memory_bytes(&self) -> u64 {
        let keys = (self.keys.capacity() * size_of::<UrlKey>()) as u64;
        keys + self.packed_bytes + self.open.bytes() + self.scratch.capacity() as u64
    }

    /// Bytes of the files with pending doubts.
    pub fn disk_bytes(&self) -> u64 {
        self.spills.iter().map(Spill::bytes).sum()
    }

    /// Files with pending doubts.
    pub fn files(&self) -> usize {
        self.spills.len()
    }

    /// Keeps a candidate until it is known whether it is new; its number.
    pub fn push(&mut self, candidate: &Candidate) -> Result<u64, ExactError> {
        self.guard(|this| {
            let number = this.next;
            this.keys.push(candidate.key);
            this.open.push(candidate);
            this.next += 1;
            if this.open.is_full() {
                this.pack();
                this.spill_if_full()?;
            }
            Ok(number)
        })
    }

    /// Forgets the doubts numbered below `up_to`: they are decided.
    pub fn retire(&mut self, up_to: u64) -> Result<(), ExactError> {
        self.guard(|this| {
            let in_memory = this.first_in_memory();
            this.first = up_to.clamp(this.first, this.next);
            while this.spills.front().is_some_and(|spill| spill.end() <= this.first) {
                if let (Some(spill), Some(disk)) = (this.spills.pop_front(), &mut this.disk) {
                    disk.shelf.discard(spill.number)?;
                }
            }
            this.keys.drain(..this.first.saturating_sub(in_memory) as usize);
            while let Some(block) = this.packed.front()
                && block.first + block.count <= this.first
            {
                this.packed_bytes -= block.memory_bytes();
                this.packed.pop_front();
            }
            if this.is_empty() {
                this.open.clear();
            }
            Ok(())
        })
    }

    /// Begins a look-up: [`Doubts::load`] will be asked for the lowest keys first.
    pub(super) fn rewind(&mut self) {
        self.spills.iter_mut().for_each(|spill| spill.cursor = 0);
    }

    /// The keys of pending doubts numbered below `end`, from `low` to `high` (inclusive), ascending,
    /// each once and with its lowest number; further calls must ask for higher keys. More than
    /// about `most` are too many: then the lowest ones, and `high` is lowered to the last of them.
    ///
    /// Where a doubt with the same key was retired, one may be missing: it is a repeat whatever
    /// became of the first.
    pub(super) fn load(
        &mut self,
        (low, high): (UrlKey, &mut UrlKey),
        end: u64,
        most: usize,
        loaded: &mut Vec<(UrlKey, u64)>,
    ) -> Result<(), ExactError> {
        let in_memory = self.first_in_memory();
        self.guard(|this| {
            loaded.clear();
            let whole = *high;
            let Doubts { disk, spills, first, scratch, .. } = this;
            if let Some(disk) = disk {
                for spill in spills.iter_mut().filter(|spill| spill.first < end) {
                    spill.load(&disk.shelf, (low, *high), *first..end, scratch, loaded)?;
                    keep_lowest(loaded, most, high);
                }
            }
            let numbered = this.keys.iter().copied().zip(in_memory..end);
            loaded.extend(numbered.filter(|(key, _)| (low..=*high).contains(key)));
            keep_lowest(loaded, most, high);
            loaded.sort_unstable();
            loaded.dedup_by_key(|(key, _)| *key);
            if *high < whole {
                // some files were read further than to there
                this.rewind();
            }
            Ok(())
        })
    }

    /// Appends the candidates of one block, that of the first doubt found from `from` on, which
    /// were found; up to which number all were looked at, and whether a block was read.
    pub(super) fn collect(
        &mut self,
        found: &Found,
        from: u64,
        rescued: &mut Vec<Rescued>,
    ) -> Result<(u64, bool), ExactError> {
        let end = found.range().end;
        let Some(number) = found.next(from) else { return Ok((end, false)) };
        self.guard(|this| {
            let mut after = number;
            let visit = |number, candidate| {
                after = number + 1;
                if number >= from && found.contains(number) {
                    rescued.push(Rescued { number, candidate });
                }
            };
            this.visit_block(number, visit)?;
            // what stands between this block and the next doubt found is looked at, too
            Ok((found.next(after).unwrap_or(end), true))
        })
    }

    /// Shows the candidates of the block that holds a number.
    fn visit_block(&mut self, number: u64, mut visit: impl FnMut(u64, Candidate)) -> Result<(), StateError> {
        let spill = self.spills.partition_point(|spill| spill.end() <= number);
        if let (Some(spill), Some(disk)) = (self.spills.get(spill), &self.disk) {
            self.position = Some(spill.visit(&disk.shelf, number, self.position, visit)?);
            return Ok(());
        }
        let packed = self.packed.partition_point(|block| block.first + block.count <= number);
        let packed = self.packed.get(packed);
        let first = packed.map_or(self.next - self.open.count(), |block| block.first);
        let key = |place| key_of(&self.keys, self.first_in_memory(), first + place);
        let visit = |place, candidate| visit(first + place, candidate);
        let shown = match packed {
            Some(block) => block.visit(key, visit),
            None => self.open.visit(key, visit),
        };
        // what was never written cannot be damaged but by memory itself
        shown.map_err(|malformed| StateError::Io {
            file: "doubts in memory".into(),
            source: std::io::Error::other(malformed),
        })
    }

    /// The number of the first doubt that is in memory.
    fn first_in_memory(&self) -> u64 {
        self.next - self.keys.len() as u64
    }

    fn pack(&mut self) {
        if self.open.count() > 0 {
            let packed = self.open.pack(self.next - self.open.count(), &mut self.scratch);
            self.packed_bytes += packed.memory_bytes();
            self.packed.push_back(packed);
        }
    }

    fn spill_if_full(&mut self) -> Result<(), StateError> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let bytes = self.keys.len() as u64 * KEY_BYTES + self.packed_bytes;
        if bytes >= disk.memory_bytes || self.keys.len() >= MOST_OF_FILE { self.spill() } else { Ok(()) }
    }

    /// Writes all that waits in memory to a file.
    fn spill(&mut self) -> Result<(), StateError> {
        if self.keys.is_empty() || self.disk.is_none() {
            return Ok(());
        }
        self.pack();
        let first_key = self.first_in_memory();
        let first = self.packed.front().map_or(first_key, |block| block.first);
        if let Some(disk) = &mut self.disk {
            self.spills.push_back(Spill::write(
                &mut disk.shelf,
                self.packed.iter(),
                first,
                &self.keys,
                first_key,
            )?);
        }
        self.keys.clear();
        self.packed.clear();
        self.packed_bytes = 0;
        Ok(())
    }

    fn guard<T>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, StateError>,
    ) -> Result<T, ExactError> {
        if self.poisoned {
            let place = self.disk.as_ref().map_or("doubts".into(), |disk| disk.place.directory.clone());
            return Err(refused(&place).into());
        }
        let result = operation(self);
        self.poisoned = result.is_err();
        Ok(result?)
    }
}

/// The key of a doubt, where `keys` are those from number `first` on; 0 where it is retired.
fn key_of(keys: &[UrlKey], first: u64, number: u64) -> UrlKey {
    number.checked_sub(first).and_then(|place| keys.get(place as usize)).copied().unwrap_or_default()
}

/// Where there are far more than `most`, only the lowest keys stay, each with its lowest number.
fn keep_lowest(loaded: &mut Vec<(UrlKey, u64)>, most: usize, high: &mut UrlKey) {
    if loaded.len() <= 2 * most {
        return;
    }
    loaded.sort_unstable();
    loaded.dedup_by_key(|(key, _)| *key);
    if loaded.len() > most {
        loaded.truncate(most);
        *high = loaded.last().map_or(*high, |(key, _)| *key);
    }
}
