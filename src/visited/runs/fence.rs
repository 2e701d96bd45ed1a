//! The fence of a run: first keys of its blocks, so that a look-up reads one block.
//!
//! Every block has its post at first: 8 bytes for 8 KiB. Where all fences together would take more
//! memory than they may, a run keeps every second post, every fourth and so on; a look-up then
//! reads a few blocks between two posts.

use std::ops::Range;

use super::file::{Block, MOST_READ, Run};
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
    /// An empty fence that takes no more memory than that of so many blocks needs.
    pub(super) fn for_blocks(blocks: u64) -> Self {
        Self { posts: Vec::with_capacity(blocks as usize), ..Self::default() }
    }

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

/// A block that nobody is asked for between two that are read costs less than a second read.
const GAP: usize = 1;

/// A key is looked for so many places about where it should be, in 1,024 evenly spread ones twice what
/// they stray (16 in the middle), before it is looked for in all.
const NEAR: usize = 32;

/// Looks up ascending keys in one run.
pub(super) struct Lookup<'a> {
    run: &'a Run,
    fence: &'a Fence,
    block: &'a mut Block,
    /// The last post that is not past the last key asked.
    post: usize,
    /// The blocks in memory.
    loaded: Range<u64>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(run: &'a Run, fence: &'a Fence, block: &'a mut Block) -> Self {
        Lookup { run, fence, block, post: 0, loaded: 0..0 }
    }

    /// Drops what the run holds. What is asked is ascending.
    pub(super) fn remove_seen(&mut self, asked: &mut Vec<(UrlKey, u64)>) -> Result<(), StateError> {
        if self.run.blocks() == 0 {
            return Ok(());
        }
        let (mut kept, mut next, mut searched) = (0, 0, 0..0);
        while let Some((key, _)) = asked.get(next) {
            let first = self.find(*key)?;
            if searched.contains(&first) {
                // past the last key there
                asked[kept] = asked[next];
                (kept, next) = (kept + 1, next + 1);
                continue;
            }
            let count = self.worth_reading(first, &asked[next..]);
            self.read(first, count)?;
            searched = first..first + count;
            for held in self.block.each() {
                let held = Held::new(held);
                while let Some(one) = asked.get(next).copied().filter(|(key, _)| *key <= held.last) {
                    asked[kept] = one;
                    kept += usize::from(!held.holds(one.0));
                    next += 1;
                }
            }
        }
        asked.truncate(kept);
        Ok(())
    }

    /// The one block that may hold the key.
    fn find(&mut self, key: UrlKey) -> Result<u64, StateError> {
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
            self.read(middle, 1)?;
            if self.block.get(0).is_some_and(|first| first <= key) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// How many blocks to read at once, `first` being that of the first key asked.
    fn worth_reading(&self, first: u64, asked: &[(UrlKey, u64)]) -> u64 {
        if self.fence.spacing > 0 {
            return 1;
        }
        let within = &self.fence.posts[self.post..];
        let within = &within[..within.len().min(MOST_READ as usize + 1)];
        let (mut count, mut asked) = (1, asked.iter());
        // `posts[n]` is the first key of the n-th block from here
        while let Some(end) = within.get(count)
            && let Some((key, _)) = asked.find(|(key, _)| key >= end)
        {
            let ahead = within[count..].iter().take_while(|post| *post <= key).count();
            if ahead > 1 + GAP || count + ahead > MOST_READ as usize {
                break;
            }
            count += ahead;
        }
        (count as u64).min(self.run.blocks() - first)
    }

    fn read(&mut self, first: u64, count: u64) -> Result<(), StateError> {
        if self.loaded != (first..first + count) {
            self.loaded = 0..0;
            self.run.read_some(first, count, self.block)?;
            self.loaded = first..first + count;
        }
        Ok(())
    }
}

/// The keys of a block, to be searched. They are spread evenly, so that a key's place is about known.
struct Held<'a> {
    keys: &'a [[u8; size_of::<UrlKey>()]],
    first: UrlKey,
    last: UrlKey,
    /// Bits by which a key's distance from the first is shifted to fit into 32.
    shift: u32,
    /// Keys for each step of such a distance, in parts of 2^32.
    density: u64,
}

impl<'a> Held<'a> {
    fn new(keys: &'a [[u8; size_of::<UrlKey>()]]) -> Self {
        let key = |key: Option<&[u8; _]>| key.map_or(0, |key| UrlKey::from_le_bytes(*key));
        let (first, last) = (key(keys.first()), key(keys.last()));
        let span = last.saturating_sub(first);
        let shift = (UrlKey::BITS - span.leading_zeros()).saturating_sub(32);
        let density = ((keys.len() as u64) << 32) / ((span >> shift) + 1);
        Held { keys, first, last, shift, density }
    }

    /// Whether a key not past the last is among them.
    #[inline]
    fn holds(&self, key: UrlKey) -> bool {
        let at = |place: usize| self.keys.get(place).map(|key| UrlKey::from_le_bytes(*key));
        let distance = key.saturating_sub(self.first) >> self.shift;
        let guess = (distance.saturating_mul(self.density) >> 32) as usize;
        let low = guess.saturating_sub(NEAR);
        let mut keys = self.keys;
        // as good as always it is near
        if at(low).is_some_and(|at| at <= key)
            && at(low + 2 * NEAR).is_none_or(|at| at > key)
            && let Some(near) = self.keys.get(low..(low + 2 * NEAR).min(self.keys.len()))
        {
            keys = near;
        }
        let place = keys.partition_point(|held| UrlKey::from_le_bytes(*held) < key);
        keys.get(place).is_some_and(|held| UrlKey::from_le_bytes(*held) == key)
    }
}
