//! Merging: several neighbouring segments become one without what is acknowledged.
//!
//! A merge goes in small steps beside the ordinary work, so that no single push waits for all of
//! it. While it runs the old segments stay in use: claims read them, acknowledgements are counted
//! on them. Only at its end does the new one take their place, with as many entries that are not
//! acknowledged as they have together by then.
//!
//! Two reasons to merge. *Leftovers*, of which under a quarter is not acknowledged, keep disk for
//! little. And too many segments cost a file each and a look each; then those that went through the
//! fewest merges go first, [`FAN_IN`] at a time, so that an entry is copied about once each time
//! the number of entries grows by that factor (the tiers of a log-structured merge tree: O'Neil,
//! Cheng, Gawlick, O'Neil 1996).

use std::ops::Range;

use super::block::{BadBlock, Run, RunKey, open_block};
use super::files::Files;
use super::lanes::Lanes;
use super::page::BlockPlace;
use super::segment::Segment;
use super::writer::SegmentWriter;
use crate::frontier::FrontierError;
use crate::store::{Malformed, StateError};

/// Segments merged at once, at most.
pub(super) const FAN_IN: usize = 16;

/// So many leftovers beside each other are merged however small they are.
const LEFTOVERS: usize = 4;

/// A place in a segment that is being merged.
#[derive(Debug)]
struct Input {
    /// Of the segment.
    number: u64,
    next_page: usize,
    /// The runs of the present page.
    runs: Vec<(BlockPlace, RunKey)>,
    /// The next of them.
    position: usize,
    /// The block that `raw` holds.
    block: Option<u64>,
    raw: Vec<u8>,
}

impl Input {
    fn new(number: u64) -> Self {
        Self { number, next_page: 0, runs: Vec::new(), position: 0, block: None, raw: Vec::new() }
    }

    /// The next run, from the next page if need be.
    fn peek(&mut self, segment: &Segment, scratch: &mut Vec<u8>) -> Result<Option<RunKey>, StateError> {
        while self.position == self.runs.len() {
            if self.next_page == segment.fences.len() {
                return Ok(None);
            }
            self.runs.clear();
            self.position = 0;
            segment.read_page(self.next_page, scratch)?;
            let mut runs = segment.page_runs(self.next_page, scratch)?;
            while let Some(run) = segment.damage(self.next_page, runs.next())? {
                self.runs.push(run);
            }
            self.next_page += 1;
        }
        Ok(Some(self.runs[self.position].1))
    }

    /// Holds the block in which the next run is; gives the bytes that had to be decompressed.
    fn load(&mut self, segment: &Segment, scratch: &mut Vec<u8>) -> Result<usize, StateError> {
        let place = self.runs[self.position].0;
        if self.block == Some(place.offset) {
            return Ok(0);
        }
        segment.read_block(place, scratch)?;
        open_block(scratch, &mut self.raw)
            .map_err(|BadBlock(problem)| StateError::damaged(&segment.path, place.offset, problem))?;
        self.block = Some(place.offset);
        Ok(self.raw.len())
    }
}

/// A merge under way.
#[derive(Debug)]
pub(super) struct Merge {
    /// Oldest first.
    inputs: Vec<Input>,
    writer: SegmentWriter,
    level: u8,
    scratch: Vec<u8>,
}

/// Whether a merge has more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Copied,
}

impl Merge {
    /// Begins the merge that is due; nothing if none is.
    pub(super) fn begin(files: &mut Files, most_segments: usize, least_bytes: u64) -> Option<Self> {
        let (range, level) =
            leftovers(&files.segments, least_bytes).or_else(|| tier(&files.segments, most_segments))?;
        let writer = files.writer();
        let segments = &mut files.segments[range];
        for segment in &mut *segments {
            segment.merging = true;
        }
        let inputs = segments.iter().map(|segment| Input::new(segment.number)).collect();
        Some(Self { inputs, writer, level, scratch: Vec::new() })
    }

    /// Copies until about so many bytes have been decompressed.
    pub(super) fn step(
        &mut self,
        files: &Files,
        lanes: &Lanes,
        bytes: usize,
    ) -> Result<Progress, StateError> {
        let segments = self.segments(files);
        let mut worked = 0;
        while worked < bytes {
            let mut next: Option<(RunKey, usize)> = None;
            for (index, input) in self.inputs.iter_mut().enumerate() {
                let run = input.peek(&files.segments[segments.start + index], &mut self.scratch)?;
                // Of one lane the older segment has the earlier entries.
                if let Some(run) = run.filter(|run| next.is_none_or(|(best, _)| run.lane < best.lane)) {
                    next = Some((run, index));
                }
            }
            let Some((run, index)) = next else { return Ok(Progress::Copied) };
            // Even looking at a run that is skipped takes some time.
            worked += 64 + self.copy(files, lanes, &files.segments[segments.start + index], index, run)?;
            self.inputs[index].position += 1;
        }
        Ok(Progress::More)
    }

    /// Where the segments are in the list: as they do not leave it, they stay beside each other.
    fn segments(&self, files: &Files) -> Range<usize> {
        let first = self.inputs.first().map_or(0, |input| input.number);
        let start = files.segments.iter().position(|segment| segment.number == first).unwrap_or_default();
        start..start + self.inputs.len()
    }

    fn copy(
        &mut self,
        files: &Files,
        lanes: &Lanes,
        segment: &Segment,
        index: usize,
        run: RunKey,
    ) -> Result<usize, StateError> {
        // A lane that is not known is wholly acknowledged.
        let Some(lane) = lanes.get(run.lane).filter(|lane| run.last >= lane.head) else { return Ok(0) };
        let Self { inputs, writer, scratch, .. } = self;
        let input = &mut inputs[index];
        let worked = input.load(segment, scratch)?;
        let offset = input.block.unwrap_or_default();
        let malformed = |Malformed| {
            StateError::damaged(&segment.path, offset, "a block does not hold what the index says")
        };
        let mut entries = Run::find(&input.raw, &run).map_err(malformed)?;
        while let Some(entry) = entries.next().map_err(malformed)? {
            if !lane.is_acknowledged(entry.sequence) {
                writer.add(
                    files.storage.as_ref(),
                    run.lane,
                    entry.sequence,
                    entry.referrer,
                    &entry.parts().map_err(malformed)?,
                )?;
            }
        }
        Ok(worked)
    }

    /// Puts the new segment in the place of the old ones.
    pub(super) fn finish(self, files: &mut Files) -> Result<(), FrontierError> {
        let range = self.segments(files);
        let live = files.segments[range.clone()].iter().map(|segment| segment.live).sum();
        let age = files.segments[range.clone()].last().map_or(0, |segment| segment.age);
        let merged = self.writer.finish(files.storage.as_ref(), age, self.level)?;
        if merged.as_ref().map_or(0, |merged| merged.total) < live {
            let path = &files.segments[range.start].path;
            let problem = "this segment and its neighbours hold fewer candidates than are to be done";
            return Err(StateError::damaged(path, 0, problem).into());
        }
        let merged = merged.map(|merged| Segment { live, ..merged });
        let (kept, done) = merged.into_iter().partition::<Vec<_>, _>(|merged| merged.live > 0);
        let old: Vec<Segment> = files.segments.splice(range, kept).collect();
        for segment in old.into_iter().chain(done) {
            files.retire(segment)?;
        }
        Ok(())
    }

    /// Bytes written so far.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.writer.length()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let input =
            |input: &Input| input.raw.capacity() + input.runs.capacity() * size_of::<(BlockPlace, RunKey)>();
        self.writer.memory_bytes() + self.scratch.capacity() + self.inputs.iter().map(input).sum::<usize>()
    }
}

/// Leftovers beside each other that are worth it: by their number, or by what they keep of the disk.
fn leftovers(segments: &[Segment], least_bytes: u64) -> Option<(Range<usize>, u8)> {
    let mut start = 0;
    for neighbours in segments.chunk_by(|one, other| one.is_leftover() == other.is_leftover()) {
        let range = start..start + neighbours.len().min(FAN_IN);
        start += neighbours.len();
        let chosen = &segments[range.clone()];
        let dead: u64 = chosen.iter().map(Segment::dead_bytes).sum();
        if neighbours[0].is_leftover() && (chosen.len() >= LEFTOVERS || dead >= least_bytes) {
            return Some((range, chosen[0].level));
        }
    }
    None
}

/// Where there are too many segments: the oldest of the lowest level that has enough.
fn tier(segments: &[Segment], most: usize) -> Option<(Range<usize>, u8)> {
    if segments.len() <= most {
        return None;
    }
    let mut tiers = Vec::new();
    let mut start = 0;
    // Levels do not rise from old to young, so one level's segments stand together.
    for tier in segments.chunk_by(|one, other| one.level == other.level) {
        tiers.push((start..start + tier.len().min(FAN_IN), tier[0].level));
        start += tier.len();
    }
    let full = tiers.iter().rev().find(|(range, _)| range.len() == FAN_IN);
    let fullest = || tiers.iter().max_by_key(|(range, _)| range.len());
    let (range, level) = full.or_else(fullest).cloned()?;
    if range.len() > 1 {
        return Some((range, level.saturating_add(1)));
    }
    // Every level has one segment only: the two youngest are the smallest.
    let start = segments.len().checked_sub(2)?;
    Some((start..segments.len(), segments[start].level))
}
