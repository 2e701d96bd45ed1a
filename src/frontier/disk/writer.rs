//! Writes a segment from front to back.

use std::path::{Path, PathBuf};

use lz4_flex::block::CompressTable;

use super::block::BlockBuilder;
use super::lanes::LaneKey;
use super::page::encode_block_entry;
use super::parts::Parts;
use super::segment::{Fence, Segment, encode_root, file_name};
use crate::store::{Encoder, FileKind, StateError, Storage, StorageFile, header};

/// A block is closed when it holds so many bytes, before compression.
pub(super) const BLOCK_BYTES: usize = 4 << 10;

/// A block that holds so many bytes is closed when the next entry is of another lane: lanes are
/// claimed at different times, and each time the whole block is decompressed.
const LANE_BYTES: usize = 1 << 10;

/// A page of the index is closed when it has so many bytes.
pub(super) const PAGE_BYTES: usize = 1 << 10;

/// So many bytes are written at once.
const WRITE_BYTES: usize = 64 << 10;

/// A segment that is being written. The file is made with its first bytes, so one without entries
/// leaves nothing behind.
pub(super) struct SegmentWriter {
    number: u64,
    path: PathBuf,
    file: Option<Box<dyn StorageFile>>,
    /// Bytes not written yet.
    output: Vec<u8>,
    /// Bytes written.
    written: u64,
    block: BlockBuilder,
    page: Vec<u8>,
    /// What the open page begins with.
    fence: Option<Fence>,
    fences: Vec<Fence>,
    entries: u64,
    table: CompressTable,
}

impl std::fmt::Debug for SegmentWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SegmentWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SegmentWriter {
    pub(super) fn new(directory: &Path, number: u64) -> Self {
        Self {
            number,
            path: directory.join(file_name(number)),
            file: None,
            output: header(FileKind::Segment).to_vec(),
            written: 0,
            block: BlockBuilder::default(),
            page: Vec::new(),
            fence: None,
            fences: Vec::new(),
            entries: 0,
            table: CompressTable::small(),
        }
    }

    /// Adds an entry; lanes and sequences must come in order.
    pub(super) fn add(
        &mut self,
        storage: &dyn Storage,
        lane: LaneKey,
        sequence: u64,
        referrer: Option<&[u8]>,
        parts: &Parts<'_>,
    ) -> Result<(), StateError> {
        let needed = parts.memory_bytes() + referrer.map_or(0, <[u8]>::len);
        let held = self.block.len();
        let other_lane = self.block.runs().last().is_some_and(|run| run.lane != lane);
        if held > 0 && (held + needed > BLOCK_BYTES || held >= LANE_BYTES && other_lane) {
            self.close_block(storage)?;
        }
        self.block.add(lane, sequence, referrer, parts);
        self.entries += 1;
        Ok(())
    }

    /// Bytes of the file so far.
    pub(super) fn length(&self) -> u64 {
        self.written + self.output.len() as u64
    }

    fn close_block(&mut self, storage: &dyn Storage) -> Result<(), StateError> {
        let offset = self.length();
        // The runs are needed after the block is closed, which clears them.
        let Some(first) = self.block.runs().first().copied() else { return Ok(()) };
        let runs = self.block.runs().to_vec();
        let length = self.block.finish(&mut self.table, &mut self.output);
        if self.fence.is_none() {
            self.page.extend_from_slice(&[0; 4]);
            Encoder(&mut self.page).number(offset);
            let (queue, class) = (first.lane.queue, first.lane.class);
            self.fence = Some(Fence { queue, class, length: 0, first: first.first, offset: 0 });
        }
        encode_block_entry(length, &runs, &mut self.page);
        if self.page.len() >= PAGE_BYTES {
            self.close_page();
        }
        if self.output.len() >= WRITE_BYTES { self.write(storage) } else { Ok(()) }
    }

    fn close_page(&mut self) {
        let Some(fence) = self.fence.take() else { return };
        let offset = self.length();
        let check = crc32fast::hash(&self.page[4..]);
        self.page[..4].copy_from_slice(&check.to_le_bytes());
        self.output.extend_from_slice(&self.page);
        self.fences.push(Fence { length: self.page.len() as u32, offset, ..fence });
        self.page.clear();
    }

    fn write(&mut self, storage: &dyn Storage) -> Result<(), StateError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(storage.create(&self.path).map_err(StateError::io(&self.path))?),
        };
        file.append(&self.output).map_err(StateError::io(&self.path))?;
        self.written += self.output.len() as u64;
        self.output.clear();
        Ok(())
    }

    /// Ends the segment, which is of this age and level then; nothing if it has no entry.
    pub(super) fn finish(
        mut self,
        storage: &dyn Storage,
        age: u64,
        level: u8,
    ) -> Result<Option<Segment>, StateError> {
        if self.entries == 0 {
            return Ok(None);
        }
        self.close_block(storage)?;
        self.close_page();
        encode_root(&self.fences, self.entries, &mut self.output);
        self.write(storage)?;
        self.fences.shrink_to_fit();
        Ok(self.file.map(|file| Segment {
            number: self.number,
            age,
            level,
            path: self.path,
            file,
            length: self.written,
            total: self.entries,
            live: self.entries,
            fences: self.fences,
            named: false,
            synced: false,
            merging: false,
        }))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        // The table of the compressor has 4,096 places of two bytes.
        let buffers = self.output.capacity() + self.page.capacity() + (8 << 10);
        buffers + self.block.memory_bytes() + self.fences.capacity() * size_of::<Fence>()
    }
}
