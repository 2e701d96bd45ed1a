//! Pages of a segment's index: which lanes and sequences each block holds.
//!
//! ```text
//! page       crc32 of what follows                   4 bytes, little endian
//!            place of the first block in the file    number
//!            for each block, which stand one after another in the file:
//!              bytes of the block                    number
//!              bytes of what follows                 number
//!              for each run:
//!                queue, less that of the run before in the block    number
//!                class                               1 byte
//!                first sequence                      number
//!                last sequence, less the first       number
//! ```

use super::block::RunKey;
use super::lanes::LaneKey;
use crate::frontier::QueueId;
use crate::store::{Decoder, Encoder, Malformed};

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockPlace {
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Appends to a page what it says of one block.
pub(super) fn encode_block_entry(length: usize, runs: &[RunKey], page: &mut Vec<u8>) {
    let mut entry = Vec::with_capacity(runs.len() * 8);
    let mut queue = 0;
    for run in runs {
        let mut encoder = Encoder(&mut entry);
        encoder.number(u64::from(run.lane.queue.0 - queue));
        encoder.byte(run.lane.class);
        encoder.number(run.first);
        encoder.number(run.last - run.first);
        queue = run.lane.queue.0;
    }
    Encoder(page).number(length as u64);
    Encoder(page).bytes(&entry);
}

/// The runs of a page, in order, with the blocks they are in.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageRuns<'a> {
    blocks: Decoder<'a>,
    block: BlockPlace,
    /// The runs left of the present block.
    runs: Decoder<'a>,
    queue: u32,
}

impl<'a> PageRuns<'a> {
    /// The runs of a page that passed its checksum.
    pub(super) fn new(page: &'a [u8]) -> Result<Self, Malformed> {
        let mut blocks = Decoder(page.get(4..).ok_or(Malformed)?);
        let offset = blocks.number()?;
        Ok(Self { blocks, block: BlockPlace { offset, length: 0 }, runs: Decoder(&[]), queue: 0 })
    }

    fn next_block(&mut self) -> Result<(), Malformed> {
        self.block.offset = self.block.offset.checked_add(self.block.length).ok_or(Malformed)?;
        self.block.length = u64::from(self.blocks.small::<u32>()?);
        self.runs = Decoder(self.blocks.bytes()?);
        self.queue = 0;
        Ok(())
    }

    /// Goes to the last block that begins with this sequence of a lane or before it, if one does.
    pub(super) fn skip_to(&mut self, lane: LaneKey, sequence: u64) -> Result<(), Malformed> {
        let mut blocks = self.blocks;
        let mut offset = self.block.offset.checked_add(self.block.length).ok_or(Malformed)?;
        while !blocks.is_empty() {
            let length = blocks.number()?;
            let runs = Decoder(blocks.bytes()?);
            let mut first = runs;
            let key = LaneKey { queue: QueueId(first.small()?), class: first.byte()? };
            if key > lane || key == lane && first.number()? > sequence {
                break;
            }
            *self = Self { blocks, block: BlockPlace { offset, length }, runs, queue: 0 };
            offset = offset.checked_add(length).ok_or(Malformed)?;
        }
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<Option<(BlockPlace, RunKey)>, Malformed> {
        while self.runs.is_empty() {
            if self.blocks.is_empty() {
                return Ok(None);
            }
            self.next_block()?;
        }
        self.queue = self.queue.checked_add(self.runs.small()?).ok_or(Malformed)?;
        let lane = LaneKey { queue: QueueId(self.queue), class: self.runs.byte()? };
        let first = self.runs.count()?;
        let last = first + self.runs.count()?;
        Ok(Some((self.block, RunKey { lane, first, last })))
    }
}
