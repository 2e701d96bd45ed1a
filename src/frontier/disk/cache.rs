//! The blocks that were read last, decompressed.

use super::writer::BLOCK_BYTES;

/// A buffer that has grown beyond this for an uncommonly large block is given back.
const MOST_KEPT: usize = 4 * BLOCK_BYTES;

#[derive(Debug, Default)]
struct Slot {
    /// Number of the segment, and place of the block in it; nothing while the slot is free.
    key: Option<(u64, u64)>,
    raw: Vec<u8>,
    /// When it was last asked for.
    used: u64,
}

/// A fixed number of blocks; the one that was not asked for longest makes room.
#[derive(Debug)]
pub(super) struct BlockCache {
    slots: Vec<Slot>,
    time: u64,
}

impl BlockCache {
    /// A cache of about so many bytes; one block at least, and as few as can be looked through.
    pub(super) fn new(bytes: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with((bytes / BLOCK_BYTES).clamp(1, 64), Slot::default);
        Self { slots, time: 0 }
    }

    /// The block, made by `read` where it is not there.
    pub(super) fn get<E>(
        &mut self,
        segment: u64,
        offset: u64,
        read: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        self.time += 1;
        let key = Some((segment, offset));
        let held = self.slots.iter().position(|slot| slot.key == key);
        let oldest = || (0..self.slots.len()).min_by_key(|slot| self.slots[*slot].used).unwrap_or_default();
        let slot = held.unwrap_or_else(oldest);
        let slot = &mut self.slots[slot];
        slot.used = self.time;
        if held.is_none() {
            slot.key = None;
            slot.raw.clear();
            slot.raw.shrink_to(MOST_KEPT);
            read(&mut slot.raw)?;
            slot.key = key;
        }
        Ok(&slot.raw)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.raw.capacity() + size_of::<Slot>()).sum()
    }
}
