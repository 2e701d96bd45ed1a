//! Segments: immutable files of candidates, sorted by queue, class and sequence.
//!
//! ```text
//! header     of kind segment                         16 bytes
//! groups     blocks, and after them their page       until the root
//! page       of the index: see there                 about 1 KiB
//! root       entries                                 number
//!            pages                                   number
//!            for each page:
//!              place in the file, less that of the page before   number
//!              bytes                                 number
//!              first run: queue, class, first sequence           number, 1 byte, number
//! end        bytes of the root                       4 bytes, little endian
//!            crc32 of the root and of its length     4 bytes, little endian
//! ```
//!
//! A [page](super::page) speaks of some thousands of candidates. Only the root is kept in memory: a
//! fence of 32 bytes a page. Pages and blocks are read when they are needed.

use std::path::{Path, PathBuf};

use super::block::RunKey;
use super::cache::BlockCache;
use super::lanes::LaneKey;
use super::page::{BlockPlace, PageRuns};
use crate::frontier::QueueId;
use crate::store::{
    Decoder, Encoder, FileKind, HEADER_BYTES, Malformed, StateError, Storage, StorageFile, check_header,
};

/// Bytes at the end of a segment: length and checksum of its root.
pub(super) const END_BYTES: usize = 8;

/// Where a page is, and with what it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) queue: QueueId,
    pub(super) class: u8,
    pub(super) length: u32,
    pub(super) first: u64,
    pub(super) offset: u64,
}

impl Fence {
    fn lane(&self) -> LaneKey {
        LaneKey { queue: self.queue, class: self.class }
    }
}

/// A segment that is whole.
#[derive(Debug)]
pub(super) struct Segment {
    /// Names the file; never given twice.
    pub(super) number: u64,
    /// Segments stand in the order of their ages; a merged one has the age of its newest part.
    pub(super) age: u64,
    /// How many merges lie under it, at most.
    pub(super) level: u8,
    pub(super) path: PathBuf,
    pub(super) file: Box<dyn StorageFile>,
    /// Bytes of the file.
    pub(super) length: u64,
    /// Entries in it.
    pub(super) total: u64,
    /// Of these, the ones not acknowledged.
    pub(super) live: u64,
    pub(super) fences: Vec<Fence>,
    /// A manifest names it, or may soon.
    pub(super) named: bool,
    pub(super) synced: bool,
    /// It is part of a merge under way.
    pub(super) merging: bool,
}

/// What the state says of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) number: u64,
    pub(super) age: u64,
    pub(super) level: u8,
    pub(super) length: u64,
    pub(super) total: u64,
    pub(super) live: u64,
}

/// The name of a segment's file.
pub(super) fn file_name(number: u64) -> String {
    format!("{number:08}.seg")
}

impl Segment {
    /// Opens a file that the state names, and reads its root.
    pub(super) fn open(storage: &dyn Storage, directory: &Path, named: Named) -> Result<Self, StateError> {
        let path = directory.join(file_name(named.number));
        let file = storage.open(&path).map_err(StateError::io(&path))?;
        let length = file.length().map_err(StateError::io(&path))?;
        if length != named.length {
            let offset = length.min(named.length);
            return Err(StateError::damaged(&path, offset, "the file is not as long as the manifest says"));
        }
        let (fences, total) = read_root(&path, file.as_ref(), length)?;
        if total != named.total {
            return Err(StateError::damaged(
                &path,
                length,
                "it holds another number of candidates than the manifest says",
            ));
        }
        Ok(Self {
            number: named.number,
            age: named.age,
            level: named.level,
            path,
            file,
            length,
            total,
            live: named.live,
            fences,
            named: true,
            synced: true,
            merging: false,
        })
    }

    /// What the state is to say of it.
    pub(super) fn named(&self) -> Named {
        let Self { number, age, level, length, total, live, .. } = *self;
        Named { number, age, level, length, total, live }
    }

    /// Under a quarter of it is left.
    pub(super) fn is_leftover(&self) -> bool {
        self.live.saturating_mul(4) < self.total
    }

    /// About how many bytes of it are of no use any more.
    pub(super) fn dead_bytes(&self) -> u64 {
        let dead = u128::from(self.total - self.live) * u128::from(self.length);
        dead.checked_div(u128::from(self.total)).map_or(0, |bytes| bytes as u64)
    }

    /// Fills `bytes` with a part of the file.
    fn read(&self, offset: u64, length: usize, bytes: &mut Vec<u8>) -> Result<(), StateError> {
        // All of it is written over.
        bytes.resize(length, 0);
        self.file.read_at(offset, bytes).map_err(short_or_io(&self.path, offset))
    }

    /// Reads a block as it is in the file.
    pub(super) fn read_block(&self, place: BlockPlace, bytes: &mut Vec<u8>) -> Result<(), StateError> {
        self.read(place.offset, place.length as usize, bytes)
    }

    /// Reads and checks a page of the index.
    pub(super) fn read_page(&self, page: usize, bytes: &mut Vec<u8>) -> Result<(), StateError> {
        let Some(fence) = self.fences.get(page) else {
            bytes.clear();
            return Ok(());
        };
        self.read(fence.offset, fence.length as usize, bytes)?;
        let intact = bytes
            .split_first_chunk()
            .is_some_and(|(check, rest)| crc32fast::hash(rest) == u32::from_le_bytes(*check));
        if intact {
            return Ok(());
        }
        Err(StateError::damaged(&self.path, fence.offset, "the checksum of an index page does not match"))
    }

    /// Finds the block and run that hold this sequence of a lane or, where it is not there, the
    /// next that is.
    pub(super) fn locate(
        &self,
        lane: LaneKey,
        sequence: u64,
        pages: &mut BlockCache,
    ) -> Result<Option<(BlockPlace, RunKey)>, StateError> {
        let after = self.fences.partition_point(|fence| (fence.lane(), fence.first) <= (lane, sequence));
        // It may be in the page before the fence, or be what the page after it begins with.
        for page in after.saturating_sub(1)..=after {
            let Some(fence) = self.fences.get(page) else { break };
            if fence.lane() > lane {
                break;
            }
            let bytes = pages.get(self.number, fence.offset, |bytes| self.read_page(page, bytes))?;
            let mut runs = self.page_runs(page, bytes)?;
            self.damage(page, runs.skip_to(lane, sequence))?;
            while let Some((place, run)) = self.damage(page, runs.next())? {
                if run.lane == lane && run.last >= sequence {
                    return Ok(Some((place, run)));
                }
                if run.lane > lane {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// The runs that a page, as it was read, speaks of.
    pub(super) fn page_runs<'a>(&self, page: usize, bytes: &'a [u8]) -> Result<PageRuns<'a>, StateError> {
        self.damage(page, PageRuns::new(bytes))
    }

    /// Names the page in which something is malformed.
    pub(super) fn damage<T>(&self, page: usize, result: Result<T, Malformed>) -> Result<T, StateError> {
        let offset = self.fences.get(page).map_or(0, |fence| fence.offset);
        result.map_err(|Malformed| StateError::damaged(&self.path, offset, "an index page is malformed"))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.fences.capacity() * size_of::<Fence>()
    }
}

/// A file that ends before it should is damaged; the length was right when it was opened.
fn short_or_io(path: &Path, offset: u64) -> impl FnOnce(std::io::Error) -> StateError {
    move |error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            StateError::damaged(path, offset, "the file ends before its time")
        }
        _ => StateError::io(path)(error),
    }
}

/// Reads header and root; gives the fences and the number of entries.
fn read_root(path: &Path, file: &dyn StorageFile, length: u64) -> Result<(Vec<Fence>, u64), StateError> {
    let Some(root_end) = length.checked_sub(END_BYTES as u64).filter(|end| *end >= HEADER_BYTES as u64)
    else {
        return Err(StateError::damaged(path, length, "the file is too short"));
    };
    let mut header = [0; HEADER_BYTES];
    file.read_at(0, &mut header).map_err(short_or_io(path, 0))?;
    check_header(path, &header, FileKind::Segment)?;
    let mut end = [0; END_BYTES];
    file.read_at(root_end, &mut end).map_err(short_or_io(path, root_end))?;
    let root_length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    let check = u32::from_le_bytes([end[4], end[5], end[6], end[7]]);
    if u64::from(root_length) > root_end - HEADER_BYTES as u64 {
        return Err(StateError::damaged(path, root_end, "the root is larger than the file"));
    }
    let root_start = root_end - u64::from(root_length);
    let mut root = vec![0; root_length as usize];
    file.read_at(root_start, &mut root).map_err(short_or_io(path, root_start))?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&root);
    hasher.update(&end[..4]);
    if hasher.finalize() != check {
        return Err(StateError::damaged(path, root_start, "the checksum of the root does not match"));
    }
    decode_root(&mut Decoder(&root), root_start)
        .map_err(|Malformed| StateError::damaged(path, root_start, "the root is malformed"))
}

/// Appends the root and the end of a segment.
pub(super) fn encode_root(fences: &[Fence], entries: u64, output: &mut Vec<u8>) {
    let start = output.len();
    let mut encoder = Encoder(output);
    encoder.number(entries);
    encoder.number(fences.len() as u64);
    let mut before = 0;
    for fence in fences {
        encoder.number(fence.offset - before);
        encoder.number(u64::from(fence.length));
        encoder.number(u64::from(fence.queue.0));
        encoder.byte(fence.class);
        encoder.number(fence.first);
        before = fence.offset;
    }
    let length = (output.len() - start) as u32;
    output.extend_from_slice(&length.to_le_bytes());
    let check = crc32fast::hash(&output[start..]);
    output.extend_from_slice(&check.to_le_bytes());
}

fn decode_root(decoder: &mut Decoder<'_>, root_start: u64) -> Result<(Vec<Fence>, u64), Malformed> {
    let entries = decoder.number()?;
    let pages = decoder.small::<usize>()?;
    // A fence takes at least five bytes.
    if pages > decoder.0.len() / 5 {
        return Err(Malformed);
    }
    let mut fences = Vec::with_capacity(pages);
    let mut before = 0_u64;
    for _ in 0..pages {
        let offset = before.checked_add(decoder.number()?).ok_or(Malformed)?;
        let length = decoder.small()?;
        let queue = QueueId(decoder.small()?);
        let fence = Fence { queue, class: decoder.byte()?, length, first: decoder.number()?, offset };
        if offset.checked_add(u64::from(length)).is_none_or(|end| end > root_start) {
            return Err(Malformed);
        }
        before = offset;
        fences.push(fence);
    }
    if decoder.is_empty() { Ok((fences, entries)) } else { Err(Malformed) }
}
