//! Merging runs into one, some keys at a time.

use std::sync::Arc;

use super::super::shelf::Shelf;
use super::fence::Fence;
use super::file::{Block, CURSOR_BYTES, Run, RunWriter, WRITER_BYTES};
use crate::model::UrlKey;
use crate::store::StateError;

/// Reads a run from front to back.
#[derive(Debug)]
struct Cursor {
    run: Arc<Run>,
    block: Block,
    next_block: u64,
    place: usize,
}

impl Cursor {
    fn new(run: Arc<Run>) -> Self {
        Cursor { run, block: Block::default(), next_block: 0, place: 0 }
    }

    #[inline]
    fn next(&mut self) -> Result<Option<UrlKey>, StateError> {
        if let Some(key) = self.block.get(self.place) {
            self.place += 1;
            return Ok(Some(key));
        }
        if self.next_block == self.run.blocks() {
            return Ok(None);
        }
        self.run.read(self.next_block, &mut self.block)?;
        self.next_block += 1;
        self.place = 1;
        Ok(self.block.get(0))
    }
}

/// A merge under way.
#[derive(Debug)]
pub(super) struct Merge {
    /// The tier whose runs are merged.
    pub(super) tier: u32,
    /// Numbers of the runs that go into it.
    pub(super) inputs: Vec<u64>,
    /// The next key of each input that has one, and beside it the input.
    heads: Vec<UrlKey>,
    cursors: Vec<Cursor>,
    output: RunWriter,
}

impl Merge {
    pub(super) fn start(shelf: &mut Shelf, tier: u32, runs: &[Arc<Run>]) -> Result<Self, StateError> {
        let mut merge = Merge {
            tier,
            inputs: runs.iter().map(|run| run.number).collect(),
            heads: Vec::new(),
            cursors: Vec::new(),
            output: RunWriter::create(shelf)?,
        };
        for run in runs {
            let mut cursor = Cursor::new(run.clone());
            if let Some(head) = cursor.next()? {
                merge.heads.push(head);
                merge.cursors.push(cursor);
            }
        }
        Ok(merge)
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        self.cursors.len() as u64 * CURSOR_BYTES + WRITER_BYTES
    }

    /// Merges up to so many keys; how many it were. Fewer mean that it is done.
    pub(super) fn step(&mut self, keys: u64) -> Result<u64, StateError> {
        for done in 0..keys {
            let Some(first) = self.heads.first() else {
                return Ok(done);
            };
            let (mut least, mut at) = (*first, 0);
            for (index, head) in self.heads.iter().enumerate().skip(1) {
                // without a branch: which head is the least cannot be foretold
                at = if *head < least { index } else { at };
                least = least.min(*head);
            }
            self.output.push(least)?;
            if let Some(head) = self.cursors[at].next()? {
                self.heads[at] = head;
            } else {
                self.heads.swap_remove(at);
                self.cursors.swap_remove(at);
            }
        }
        Ok(keys)
    }

    /// Ends the new run.
    pub(super) fn finish(self) -> Result<(Run, Fence), StateError> {
        self.output.finish()
    }
}
