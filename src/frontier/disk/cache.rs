//! The blocks and pages that were read last, the blocks decompressed.

/// A buffer that has grown beyond so many times the common size is given back.
const MOST_KEPT: usize = 4;

/// Blocks that compete for the same places; the least that a cache has.
const WAYS: usize = 8;

#[derive(Debug, Default)]
struct Slot {
    /// Number of the segment, and place of the block in it; nothing while the slot is free.
    key: Option<(u64, u64)>,
    raw: Vec<u8>,
    /// When it was last asked for.
    used: u64,
}

/// A fixed number of blocks, in sets of eight. A block may be anywhere in the set that it falls
/// into; the one there that was not asked for longest makes room.
#[derive(Debug)]
pub(super) struct BlockCache {
    slots: Vec<Slot>,
    time: u64,
    most_kept: usize,
}

impl BlockCache {
    /// A cache of about so many bytes, for blocks of a common size; of one set at least.
    pub(super) fn new(bytes: usize, common: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with((bytes / common / WAYS).max(1) * WAYS, Slot::default);
        Self { slots, time: 0, most_kept: common * MOST_KEPT }
    }

    /// The block, made by `read` where it is not there.
    pub(super) fn get<E>(
        &mut self,
        segment: u64,
        offset: u64,
        read: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        self.time += 1;
        let start = self.set_of(segment, offset);
        let set = &mut self.slots[start..start + WAYS];
        let key = Some((segment, offset));
        let held = set.iter().position(|slot| slot.key == key);
        let place = held.unwrap_or_else(|| (0..WAYS).min_by_key(|slot| set[*slot].used).unwrap_or_default());
        let slot = &mut set[place];
        slot.used = self.time;
        if held.is_none() {
            slot.key = None;
            slot.raw.truncate(self.most_kept);
            slot.raw.shrink_to(self.most_kept);
            read(&mut slot.raw)?;
            slot.key = key;
        }
        Ok(&slot.raw)
    }

    /// Lets a block be the next of its set to make room: it is not expected to be asked for again.
    pub(super) fn release(&mut self, segment: u64, offset: u64) {
        let start = self.set_of(segment, offset);
        let set = &mut self.slots[start..start + WAYS];
        if let Some(slot) = set.iter_mut().find(|slot| slot.key == Some((segment, offset))) {
            slot.used = 0;
        }
    }

    /// The first slot of the set that a block falls into.
    fn set_of(&self, segment: u64, offset: u64) -> usize {
        let mixed = (segment << 40 ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize % (self.slots.len() / WAYS) * WAYS
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.raw.capacity() + size_of::<Slot>()).sum()
    }
}
