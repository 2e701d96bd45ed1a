//! The frontier on disk: a memtable in front of segment files.
//!
//! Candidates are pushed into a *memtable* of fixed size. When it is full, what is not acknowledged
//! in it is written, sorted by queue, class and sequence, as a *segment*: a file of compressed
//! blocks that never changes. A claim reads the one block that holds the head of its queue. Entries
//! are not deleted; an acknowledgement is noted in the *lane* (a queue and a class), and a segment
//! whose entries are all acknowledged goes as a whole. What keeps disk for little, and what would
//! become too many files, is [merged](merge).
//!
//! Files are never mapped into memory: mapped pages count as resident. In memory are the memtable,
//! a few decompressed blocks, about 150 bytes for each lane that is not empty, and a fence of 32
//! bytes for some thousands of candidates on disk.
//!
//! What survives a crash is what a manifest names. The frontier says what it is to name
//! ([`DiskFrontier::prepare_checkpoint`], [`DiskFrontier::encode_state`]) and deletes no file that a
//! manifest may name ([`DiskFrontier::checkpoint_done`]); everything since is in the log, which
//! calls [`DiskFrontier::replay_push`] and [`Frontier::acknowledge`] again, in the same order. It
//! knows nothing of the manifest, of the log, or of hosts.

mod block;
mod cache;
mod checkpoint;
mod claim;
mod files;
mod find;
mod lanes;
mod memtable;
mod merge;
mod page;
mod parts;
mod ranges;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use super::{Claimed, Frontier, FrontierError, QueueId, Ticket};
use crate::model::Candidate;
use crate::store::{Encoder, Malformed, Storage};
use files::Files;
use lanes::{Lane, LaneKey, Lanes};
use memtable::Memtable;
use merge::{Merge, Progress};
use writer::SegmentWriter;

/// For each byte pushed or claimed so many are merged, while a merge is under way, and twice as
/// many with each sixth of [`DiskSettings::most_segments`] that there are too many: as slow as can
/// be, so that nothing waits long, and fast enough that segments do not pile up meanwhile.
const MERGE_PACE: usize = 8;

/// A merge goes on when so many bytes have come together, or as many as the memtable has.
const MERGE_STEP: usize = 64 << 10;

/// About as many bytes as a candidate has: what a claim counts for beside a push.
const CANDIDATE_BYTES: usize = 100;

/// How much memory the frontier on disk may use, and how many files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSettings {
    /// Bytes of the memtable; 2 to 8 MiB are good, some hundred KiB work. At least 4 KiB are taken.
    pub memtable_bytes: usize,
    /// Bytes of decompressed blocks that are kept, eight of 4 KiB at least. Where queues take turns
    /// it is good to have a block for each. The places where claims go on take up to 0.3 MiB beside it.
    pub cache_bytes: usize,
    /// Segments there may be before some are merged, at least 8. Each is an open file. While a
    /// merge is under way there may be up to twice as many.
    pub most_segments: usize,
}

impl DiskSettings {
    /// What a share of so many bytes of memory is good for.
    ///
    /// Not counted in it: lanes (about 150 bytes for each queue and class that is not empty), the
    /// fences of segments, and the buffers of a write and a merge, about 0.5 MiB.
    pub fn within(bytes: u64) -> Self {
        let share = |part: u64, least: usize, most: usize| {
            usize::try_from(bytes / 16 * part).unwrap_or(usize::MAX).clamp(least, most)
        };
        Self {
            memtable_bytes: share(7, 256 << 10, 8 << 20),
            cache_bytes: share(4, 64 << 10, 16 << 20),
            most_segments: 192,
        }
    }
}

/// Queues of candidates of which all but the newest are on disk.
///
/// After an error every further call fails: what is in memory may not be what is on disk.
#[derive(Debug)]
pub struct DiskFrontier {
    settings: DiskSettings,
    lanes: Lanes,
    memtable: Memtable,
    /// Lanes that have had entries in the memtable.
    touched: Vec<LaneKey>,
    files: Files,
    merge: Option<Merge>,
    /// Bytes of merging that are due.
    merge_due: usize,
    failed: bool,
}

impl DiskFrontier {
    /// An empty frontier in a directory, which is made where it is missing.
    ///
    /// # Errors
    /// Where the directory cannot be made or read.
    pub fn create(
        storage: Arc<dyn Storage>,
        directory: &Path,
        settings: DiskSettings,
    ) -> Result<Self, FrontierError> {
        let mut files = Files::new(storage, directory.to_owned(), settings.cache_bytes);
        files.prepare_directory()?;
        Ok(Self::over(files, Lanes::new(0), settings))
    }

    fn over(files: Files, lanes: Lanes, settings: DiskSettings) -> Self {
        Self {
            settings,
            lanes,
            memtable: Memtable::new(settings.memtable_bytes),
            touched: Vec::new(),
            files,
            merge: None,
            merge_due: 0,
            failed: false,
        }
    }

    /// Does it unless something failed before; a failure is remembered.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, FrontierError>,
    ) -> Result<T, FrontierError> {
        if self.failed {
            return Err(FrontierError::Failed);
        }
        let result = work(self);
        self.failed = result.is_err();
        result
    }

    /// Writes what is in the memtable to a segment; nothing is synced.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn spill(&mut self) -> Result<(), FrontierError> {
        self.guarded(Self::write_memtable)
    }

    fn write_memtable(&mut self) -> Result<(), FrontierError> {
        if self.memtable.is_empty() {
            return Ok(());
        }
        self.touched.sort_unstable();
        self.touched.dedup();
        let age = self.files.next_age;
        let mut writer = self.files.writer();
        let storage = Arc::clone(&self.files.storage);
        for key in self.touched.drain(..) {
            // One that was forgotten since is wholly acknowledged.
            let Some(lane) = self.lanes.get_mut(key) else { continue };
            write_lane(lane, key, age, &self.memtable, &mut writer, storage.as_ref())?;
        }
        self.memtable.clear();
        if let Some(segment) = writer.finish(storage.as_ref(), age, 0)? {
            self.files.next_age += 1;
            self.files.segments.push(segment);
            self.files.untidy |= self.files.segments.len() > self.most_segments();
        }
        Ok(())
    }

    fn most_segments(&self) -> usize {
        self.settings.most_segments.max(8)
    }

    /// Pushes onto a lane; where it is empty it begins at `start`.
    fn append(&mut self, key: LaneKey, start: u64, candidate: &Candidate) -> Result<u64, FrontierError> {
        if self.memtable.is_full_for(candidate) {
            self.write_memtable()?;
        }
        let lane = self.lanes.open(key, start);
        let sequence = lane.tail;
        if lane.listed.is_empty() {
            lane.memtable_from = sequence;
            self.touched.push(key);
        }
        let bytes = self.memtable.push(candidate, sequence, &mut lane.listed);
        lane.tail += 1;
        lane.waiting += 1;
        self.tend(bytes)?;
        Ok(sequence)
    }

    /// Merges on, in proportion to the ordinary work.
    fn tend(&mut self, bytes: usize) -> Result<(), FrontierError> {
        if self.merge.is_none() && !self.files.untidy {
            return Ok(());
        }
        let most = self.most_segments();
        let too_many = self.files.segments.len().saturating_sub(most);
        self.merge_due += (bytes * MERGE_PACE) << (too_many * 6 / most).min(8);
        if self.merge_due < self.settings.memtable_bytes.min(MERGE_STEP) {
            return Ok(());
        }
        let due = std::mem::take(&mut self.merge_due);
        if self.merge.is_none() {
            let least_bytes = self.settings.memtable_bytes as u64 / 2;
            self.merge = Merge::begin(&mut self.files, most, least_bytes);
            self.files.untidy = self.merge.is_some();
        }
        let Some(merge) = &mut self.merge else { return Ok(()) };
        if merge.step(&self.files, &self.lanes, due)? == Progress::Copied
            && let Some(merge) = self.merge.take()
        {
            merge.finish(&mut self.files)?;
        }
        Ok(())
    }

    /// Bytes of memory it uses, about: all its buffers as if full.
    pub fn memory_bytes(&self) -> usize {
        let merge = self.merge.as_ref().map_or(0, Merge::memory_bytes);
        let touched = self.touched.capacity() * size_of::<LaneKey>();
        self.memtable.memory_bytes() + self.lanes.memory_bytes() + self.files.memory_bytes() + merge + touched
    }

    /// Bytes of its files, those included that wait for a checkpoint to be deleted.
    pub fn disk_bytes(&self) -> u64 {
        self.files.disk_bytes() + self.merge.as_ref().map_or(0, Merge::disk_bytes)
    }

    /// Segments there are.
    pub fn segments(&self) -> usize {
        self.files.segments.len()
    }

    /// The queues that are known, with their unclaimed candidates, in no particular order. Every
    /// queue is among them that has a candidate which is not acknowledged.
    pub fn queues(&self) -> impl Iterator<Item = (QueueId, u64)> {
        self.lanes.queues().map(|queue| (queue.id, queue.waiting))
    }
}

/// Writes what is not acknowledged of a lane's entries in the memtable.
fn write_lane(
    lane: &mut Lane,
    key: LaneKey,
    age: u64,
    memtable: &Memtable,
    writer: &mut SegmentWriter,
    storage: &dyn Storage,
) -> Result<(), FrontierError> {
    if lane.waiting_on_disk == 0 {
        lane.floor = age;
    }
    let mut claimed: Option<(u64, u64)> = None;
    let listed = std::mem::take(&mut lane.listed);
    for (sequence, entry) in (lane.memtable_from..).zip(memtable.entries(&listed)) {
        if lane.is_acknowledged(sequence) {
            continue;
        }
        let (referrer, parts) = entry.map_err(|Malformed| claim::missing(key.ticket(sequence)))?;
        writer.add(storage, key, sequence, referrer, &parts)?;
        if sequence < lane.cursor {
            claimed = Some((claimed.map_or(sequence, |(first, _)| first), sequence));
        } else {
            lane.waiting_on_disk += 1;
        }
    }
    if let Some((first, last)) = claimed {
        lane.note_span(first, last, age);
    }
    lane.memtable_from = lane.tail;
    Ok(())
}

impl Frontier for DiskFrontier {
    fn push_as(&mut self, queue: QueueId, class: u8, candidate: &Candidate) -> Result<Ticket, FrontierError> {
        let key = LaneKey { queue, class };
        self.guarded(|this| {
            let start = this.lanes.fresh;
            this.append(key, start, candidate).map(|sequence| key.ticket(sequence))
        })
    }

    fn claim(
        &mut self,
        queue: QueueId,
        most: usize,
        claimed: &mut VecDeque<Claimed>,
    ) -> Result<(), FrontierError> {
        self.guarded(|this| {
            let before = claimed.len();
            this.claim_from(queue, most, claimed)?;
            this.tend((claimed.len() - before) * CANDIDATE_BYTES)
        })
    }

    fn acknowledge(&mut self, ticket: Ticket) -> Result<(), FrontierError> {
        self.guarded(|this| this.note_acknowledged(ticket))
    }

    fn len(&self) -> u64 {
        self.lanes.waiting
    }

    fn queue_len(&self, queue: QueueId) -> u64 {
        self.lanes.queue(queue).map_or(0, |queue| queue.waiting)
    }

    fn next_bucket(&self, from: QueueId) -> Option<QueueId> {
        self.lanes.next_bucket(from)
    }

    fn prepare_checkpoint(&mut self) -> Result<(), FrontierError> {
        self.prepare_checkpoint()
    }

    fn encode_state(&self, state: &mut Encoder<'_>) -> Result<(), FrontierError> {
        self.encode_state(state)
    }

    fn checkpoint_done(&mut self) -> Result<(), FrontierError> {
        self.checkpoint_done()
    }

    fn replay_push(&mut self, ticket: Ticket, candidate: &Candidate) -> Result<(), FrontierError> {
        self.replay_push(ticket, candidate)
    }

    fn named_files(&self) -> Vec<String> {
        self.named_files().collect()
    }

    fn disk_bytes(&self) -> u64 {
        self.disk_bytes()
    }
}
