//! The fence of a run: first keys of its blocks, so that a look-up reads one block.
//!
//! Every block has its post at first: 8 bytes for 8 KiB. Where all fences together would take more
//! memory than they may, a run keeps every second post, every fourth and so on; a look-up then
//! reads a few blocks between two posts.

use super::file::{Block, Run};
use crate::model::UrlKey;
use crate::store::StateError;

#[derive(Debug, Default)]
pub(super) struct Fence {
    posts: Vec<UrlKey>,
    /// A post stands at every block whose number is a multiple of 2 to this power.
    spacing: u32,
    blocks: u64,
}

impl Fence {
    /// The first key of the next block.
    pub(super) fn push(&mut self, first: UrlKey) {
        if self.blocks & ((1 << self.spacing) - 1) == 0 {
            self.posts.push(first);
        }
        self.blocks += 1;
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        (self.posts.capacity() * size_of::<UrlKey>()) as u64
    }

    /// Whether it can be thinned out further.
    pub(super) fn is_dense(&self) -> bool {
        self.posts.len() > 1
    }

    /// Takes away every second post.
    pub(super) fn thin(&mut self) {
        let mut place = 0;
        self.posts.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.posts.shrink_to_fit();
        self.spacing += 1;
    }
}

/// Looks up ascending keys in one run.
pub(super) struct Lookup<'a> {
    run: &'a Run,
    fence: &'a Fence,
    block: &'a mut Block,
    /// The last post that is not past the last key asked.
    post: usize,
    /// The block in memory.
    loaded: Option<u64>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(run: &'a Run, fence: &'a Fence, block: &'a mut Block) -> Self {
        Lookup { run, fence, block, post: 0, loaded: None }
    }

    /// Whether the run holds the key, which is not less than the one asked before.
    pub(super) fn holds(&mut self, key: UrlKey) -> Result<bool, StateError> {
        let within = self.block.raw();
        if self.loaded.is_none() || within.last().is_none_or(|last| UrlKey::from_le_bytes(*last) < key) {
            self.load(key)?;
        }
        let keys = self.block.raw();
        let place = keys.partition_point(|held| UrlKey::from_le_bytes(*held) < key);
        Ok(self.loaded.is_some() && self.block.get(place) == Some(key))
    }

    /// Reads the one block that may hold the key.
    fn load(&mut self, key: UrlKey) -> Result<(), StateError> {
        let posts = &self.fence.posts;
        // keys come in order: the place is near the last one, so look in steps that double
        let mut step = 1;
        while posts.get(self.post + step).is_some_and(|post| *post <= key) {
            self.post += step;
            step *= 2;
        }
        let ahead = &posts[self.post..(self.post + step).min(posts.len())];
        self.post += ahead.partition_point(|post| *post <= key).saturating_sub(1);
        let mut low = (self.post as u64) << self.fence.spacing;
        let mut high = (low + (1 << self.fence.spacing)).min(self.run.blocks());
        while high - low > 1 {
            let middle = low.midpoint(high);
            self.read(middle)?;
            if self.block.get(0).is_some_and(|first| first <= key) {
                low = middle;
            } else {
                high = middle;
            }
        }
        if low < high { self.read(low) } else { Ok(()) }
    }

    fn read(&mut self, index: u64) -> Result<(), StateError> {
        if self.loaded != Some(index) {
            self.loaded = None;
            self.run.read(index, self.block)?;
            self.loaded = Some(index);
        }
        Ok(())
    }
}
