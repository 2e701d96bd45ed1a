//! The segments there are: finding entries in them, and letting go of those that are drained.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::block::{BadBlock, RunKey, open_block};
use super::cache::BlockCache;
use super::lanes::LaneKey;
use super::page::BlockPlace;
use super::segment::Segment;
use super::writer::{BLOCK_BYTES, PAGE_BYTES, SegmentWriter};
use crate::store::{StateError, Storage};

/// One place to resume a claim for so many bytes of cache.
const RESUME_SHARE: usize = 128;

/// For so many bytes of cache one of them is for pages of the index.
const PAGE_SHARE: usize = 32;

/// A file that is of no use any more, and its bytes.
#[derive(Debug)]
struct Retired {
    path: PathBuf,
    length: u64,
}

/// The segments and their directory.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) directory: PathBuf,
    /// Ascending by age.
    pub(super) segments: Vec<Segment>,
    pub(super) next_number: u64,
    pub(super) next_age: u64,
    /// Some segment has become a leftover, or there are too many, since it was last looked.
    pub(super) untidy: bool,
    /// Of no use any more, but named by a manifest.
    condemned: Vec<Retired>,
    /// Of these, the ones that the manifest being written does not name.
    doomed: Vec<Retired>,
    cache: BlockCache,
    /// Pages of the index.
    pages: BlockCache,
    /// A block as it is in its file.
    scratch: Vec<u8>,
    /// The run that was found last for an acknowledgement, and the age of its segment.
    last_run: Option<(RunKey, u64)>,
    /// Where claims go on that ended within a run; each lane has one place it may be in.
    resumes: Vec<Option<Resume>>,
}

/// Where a claim goes on.
#[derive(Debug, Clone, Copy)]
struct Resume {
    /// Number of the segment.
    number: u64,
    age: u64,
    place: BlockPlace,
    run: RunKey,
}

/// An entry was looked for and found in a block: where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// The segment's age.
    pub(super) age: u64,
    /// The segment's place in the list, until the list changes.
    pub(super) index: usize,
    pub(super) place: BlockPlace,
    pub(super) run: RunKey,
}

impl Files {
    pub(super) fn new(storage: Arc<dyn Storage>, directory: PathBuf, cache_bytes: usize) -> Self {
        Self {
            storage,
            directory,
            segments: Vec::new(),
            next_number: 0,
            next_age: 0,
            untidy: false,
            condemned: Vec::new(),
            doomed: Vec::new(),
            cache: BlockCache::new(cache_bytes, BLOCK_BYTES),
            pages: BlockCache::new(cache_bytes / PAGE_SHARE, PAGE_BYTES),
            scratch: Vec::new(),
            last_run: None,
            resumes: vec![None; (cache_bytes / RESUME_SHARE).clamp(16, 4_096).next_power_of_two()],
        }
    }

    /// Begins a new file.
    pub(super) fn writer(&mut self) -> SegmentWriter {
        let number = self.next_number;
        self.next_number += 1;
        SegmentWriter::new(&self.directory, number)
    }

    /// The place of the segment that holds what was in one of this age: merged ones have the age
    /// of their newest part.
    fn index_of(&self, age: u64) -> usize {
        self.segments.partition_point(|segment| segment.age < age)
    }

    /// Finds this sequence of a lane or the next there is, in segments that are not older than `floor`.
    pub(super) fn locate(
        &mut self,
        lane: LaneKey,
        sequence: u64,
        floor: u64,
    ) -> Result<Option<Found>, StateError> {
        for index in self.index_of(floor)..self.segments.len() {
            let segment = &self.segments[index];
            if let Some((place, run)) = segment.locate(lane, sequence, &mut self.pages)? {
                return Ok(Some(Found { age: segment.age, index, place, run }));
            }
        }
        Ok(None)
    }

    fn resume_place(&self, lane: LaneKey) -> usize {
        let mixed =
            (u64::from(lane.queue.0) << 8 | u64::from(lane.class)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.resumes.len() - 1)
    }

    /// Notes where the lane's next claim begins, which spares it the look into the index.
    pub(super) fn remember(&mut self, found: &Found) {
        let Some(segment) = self.segments.get(found.index) else { return };
        let place = self.resume_place(found.run.lane);
        self.resumes[place] =
            Some(Resume { number: segment.number, age: found.age, place: found.place, run: found.run });
    }

    /// Where this sequence is, if that was noted and is still so.
    pub(super) fn remembered(&self, lane: LaneKey, sequence: u64) -> Option<Found> {
        let Resume { number, age, place, run } = self.resumes[self.resume_place(lane)]?;
        let index = self.index_of(age);
        let valid = run.lane == lane && run.first <= sequence && sequence <= run.last;
        (valid && self.segments.get(index)?.number == number).then_some(Found { age, index, place, run })
    }

    /// The age of the segment that holds this sequence of a lane, if one does that is not older
    /// than `floor`.
    pub(super) fn age_of(
        &mut self,
        lane: LaneKey,
        sequence: u64,
        floor: u64,
    ) -> Result<Option<u64>, StateError> {
        let holds = |run: &RunKey| run.lane == lane && run.first <= sequence && sequence <= run.last;
        if let Some((_, age)) = self.last_run.filter(|(run, _)| holds(run)) {
            return Ok(Some(age));
        }
        let found = self.locate(lane, sequence, floor)?.filter(|found| holds(&found.run));
        self.last_run = found.map(|found| (found.run, found.age));
        Ok(found.map(|found| found.age))
    }

    /// The runs of a block, decompressed.
    pub(super) fn block(&mut self, found: &Found) -> Result<&[u8], StateError> {
        let segment = &self.segments[found.index];
        let scratch = &mut self.scratch;
        self.cache.get(segment.number, found.place.offset, |raw| {
            segment.read_block(found.place, scratch)?;
            open_block(scratch, raw)
                .map_err(|BadBlock(problem)| StateError::damaged(&segment.path, found.place.offset, problem))
        })
    }

    /// The run that was found in a block is claimed. Other lanes may have runs in it, but most
    /// often it is theirs alone.
    pub(super) fn release(&mut self, found: &Found) {
        if let Some(segment) = self.segments.get(found.index) {
            self.cache.release(segment.number, found.place.offset);
        }
    }

    /// A block that passed its checksum does not hold what the index says.
    pub(super) fn malformed(&self, found: &Found) -> StateError {
        let path = &self.segments[found.index].path;
        StateError::damaged(path, found.place.offset, "a block does not hold what the index says")
    }

    /// Counts one entry fewer that is not acknowledged, in what was the segment of this age; whether
    /// there was one.
    pub(super) fn discount(&mut self, age: u64) -> Result<bool, StateError> {
        let index = self.index_of(age);
        let Some(segment) = self.segments.get_mut(index).filter(|segment| segment.live > 0) else {
            return Ok(false);
        };
        let before = segment.is_leftover();
        segment.live -= 1;
        self.untidy |= !before && segment.is_leftover();
        if segment.live == 0 && !segment.merging {
            let drained = self.segments.remove(index);
            self.retire(drained)?;
        }
        Ok(true)
    }

    /// Lets go of a segment: at once if no manifest ever named it.
    pub(super) fn retire(&mut self, segment: Segment) -> Result<(), StateError> {
        let Segment { path, length, named, file, .. } = segment;
        drop(file);
        let retired = Retired { path, length };
        if !named {
            return self.delete(&retired);
        }
        self.condemned.push(retired);
        Ok(())
    }

    fn delete(&self, retired: &Retired) -> Result<(), StateError> {
        match self.storage.remove(&retired.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateError::io(&retired.path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Makes all segments durable; from here on a manifest may name them.
    pub(super) fn sync(&mut self) -> Result<(), StateError> {
        for segment in self.segments.iter_mut().filter(|segment| !segment.synced) {
            segment.file.sync().map_err(StateError::io(&segment.path))?;
            segment.synced = true;
        }
        self.storage.sync_directory(&self.directory).map_err(StateError::io(&self.directory))?;
        for segment in &mut self.segments {
            segment.named = true;
        }
        self.doomed.append(&mut self.condemned);
        Ok(())
    }

    /// Deletes what the manifest does not name that is durable now.
    pub(super) fn delete_doomed(&mut self) -> Result<(), StateError> {
        while let Some(retired) = self.doomed.last() {
            self.delete(retired)?;
            self.doomed.pop();
        }
        Ok(())
    }

    /// Bytes of all files, those included that wait to be deleted.
    pub(super) fn disk_bytes(&self) -> u64 {
        let retired = self.condemned.iter().chain(&self.doomed).map(|retired| retired.length);
        self.segments.iter().map(|segment| segment.length).chain(retired).sum()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let segments: usize = self.segments.iter().map(Segment::memory_bytes).sum();
        let resumes = self.resumes.len() * size_of::<Option<Resume>>();
        segments + self.cache.memory_bytes() + self.pages.memory_bytes() + self.scratch.capacity() + resumes
    }
}
