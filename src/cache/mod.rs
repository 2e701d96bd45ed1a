//! A cache within a bound of bytes that keeps what is asked for again and again.
//!
//! W-TinyLFU (Einziger, Friedman and Manes 2017, <https://arxiv.org/abs/1512.00727>): what is put in stands in a *window*
//! first, a line with half of the room. Whoever leaves the line stays only where it was asked for
//! more often lately than those that would have to go for it, which are the rarest of a few drawn by lot. So
//! names that are met once pass through the window and leave the rest alone, however many they are.
//!
//! Uses in the window are not counted: what is asked for soon after it came is mostly the same visit. Each time
//! that it is put in counts.
//!
//! Must not know what is kept, nor how long it holds. Two crates were measured and do not fit: `moka`
//! may refuse a newcomer before its first use, and passes its bound for a while; in `quick_cache` what returns
//! takes the room of newcomers, until one is gone as soon as it came.

mod frequency;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use frequency::Frequency;

/// Names drawn for one that has to go.
const DRAWN: usize = 8;
/// Bytes of an entry beside its slot, its name and what its value has on the heap, allocator included: its
/// place in the table while that grows, up to two entries in the line, and what lies free between names.
const OVERHEAD: usize = 112;

/// Values by name, in a bound of bytes.
#[derive(Debug)]
pub struct Cache<V> {
    /// Bytes that window and main part may each have.
    half: usize,
    window: Part<V>,
    main: Part<V>,
    places: HashMap<u64, Place>,
    /// Hashes in the window in the order in which they came, each with the stamp of its slot.
    line: VecDeque<(u64, u64)>,
    frequency: Frequency,
    hasher: RandomState,
    stamp: u64,
    random: u64,
}

#[derive(Debug)]
struct Part<V> {
    slots: Vec<Slot<V>>,
    bytes: usize,
}

#[derive(Debug)]
struct Slot<V> {
    name: Box<str>,
    hash: u64,
    /// All of it counts for so much.
    bytes: usize,
    stamp: u64,
    value: V,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    in_window: bool,
    index: u32,
}

impl<V> Cache<V> {
    /// Bytes that an entry counts for beside its name and what its value has on the heap.
    pub const ENTRY_BYTES: usize = size_of::<Slot<V>>() * 9 / 8 + OVERHEAD;

    /// A cache that takes so many bytes at most, its own tables among them.
    pub fn new(most_bytes: usize) -> Self {
        let names = most_bytes / Self::ENTRY_BYTES;
        let room = most_bytes.saturating_sub(Frequency::bytes_for(names));
        let part = || Part { slots: Vec::new(), bytes: 0 };
        Self {
            half: room / 2,
            window: part(),
            main: part(),
            places: HashMap::new(),
            line: VecDeque::new(),
            frequency: Frequency::new(names),
            hasher: RandomState::new(),
            stamp: 0,
            random: 0x2545_F491_4F6C_DD1D,
        }
    }

    /// Bytes of what is in it, by the count that the bound speaks of.
    pub fn bytes(&self) -> usize {
        self.window.bytes + self.main.bytes
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What is kept under a name, without counting that it was asked for.
    pub fn peek(&self, name: &str) -> Option<&V> {
        let place = *self.places.get(&self.hasher.hash_one(name))?;
        let slot = self.part(place).slots.get(place.index as usize)?;
        (&*slot.name == name).then_some(&slot.value)
    }

    /// What is kept under a name, to be changed; not counted either. What it has on the heap must not grow.
    pub fn peek_mut(&mut self, name: &str) -> Option<&mut V> {
        let place = *self.places.get(&self.hasher.hash_one(name))?;
        let part = if place.in_window { &mut self.window } else { &mut self.main };
        let slot = part.slots.get_mut(place.index as usize)?;
        (&*slot.name == name).then_some(&mut slot.value)
    }

    /// A name was asked for and could be answered: that keeps it longer, if it is past the window.
    pub fn note_use(&mut self, name: &str) {
        let hash = self.hasher.hash_one(name);
        if self.places.get(&hash).is_some_and(|place| !place.in_window) {
            self.frequency.add(hash);
        }
    }

    /// Takes out what is kept under a name. How often it was asked for stays known.
    pub fn take(&mut self, name: &str) -> Option<V> {
        self.peek(name)?;
        let slot = self.remove(self.hasher.hash_one(name));
        self.shorten_line();
        slot.map(|slot| slot.value)
    }

    /// Keeps a value that has `heap_bytes` beside what it is itself, in place of any that was there. One that
    /// fills more than the window is not kept.
    pub fn put(&mut self, name: &str, value: V, heap_bytes: usize) {
        let hash = self.hasher.hash_one(name);
        self.frequency.add(hash);
        self.remove(hash);
        let bytes = Self::ENTRY_BYTES.saturating_add(name.len()).saturating_add(heap_bytes);
        if bytes > self.half {
            self.shorten_line();
            return;
        }
        self.stamp += 1;
        self.line.push_back((hash, self.stamp));
        self.insert(Slot { name: name.into(), hash, bytes, stamp: self.stamp, value }, true);
        while self.window.bytes > self.half
            && let Some((hash, stamp)) = self.line.pop_front()
        {
            if self.waits(hash, stamp)
                && let Some(slot) = self.remove(hash)
            {
                self.admit(slot);
            }
        }
        self.shorten_line();
    }

    /// Drops what stands for nothing from the line, where that is more than half of it.
    fn shorten_line(&mut self) {
        if self.line.len() > 2 * self.window.slots.len() + 16 {
            let mut line = std::mem::take(&mut self.line);
            line.retain(|(hash, stamp)| self.waits(*hash, *stamp));
            self.line = line;
        }
    }

    /// Whether it is this entry of the line that stands for a slot in the window.
    fn waits(&self, hash: u64, stamp: u64) -> bool {
        let place = self.places.get(&hash).filter(|place| place.in_window);
        place.is_some_and(|place| self.window.slots[place.index as usize].stamp == stamp)
    }

    /// Lets an entry into the main part, where it is worth more than what has to go.
    fn admit(&mut self, slot: Slot<V>) {
        let mut worth = self.frequency.estimate(slot.hash);
        let mut going: Vec<u64> = Vec::new();
        let mut freed = 0;
        while self.main.bytes + slot.bytes > self.half + freed {
            let Some((hash, bytes, frequency)) = self.draw(&going) else { return };
            // Together those that go must have been asked for less often.
            if frequency >= worth {
                return;
            }
            worth -= frequency;
            freed += bytes;
            going.push(hash);
        }
        for hash in going {
            self.remove(hash);
        }
        self.insert(slot, false);
    }

    /// The rarest of a few entries of the main part drawn by lot, those that go already left out: its
    /// hash, its bytes and its frequency.
    fn draw(&mut self, going: &[u64]) -> Option<(u64, usize, u64)> {
        let mut rarest = None;
        for _ in 0..DRAWN.min(self.main.slots.len()) {
            // xorshift64 (Marsaglia 2003): spread matters here, not secrecy.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let slot = &self.main.slots[(self.random >> 32) as usize % self.main.slots.len()];
            let frequency = self.frequency.estimate(slot.hash);
            let rarer = rarest.is_none_or(|(_, _, least)| frequency < least);
            if rarer && !going.contains(&slot.hash) {
                rarest = Some((slot.hash, slot.bytes, frequency));
            }
        }
        rarest
    }

    fn part(&self, place: Place) -> &Part<V> {
        if place.in_window { &self.window } else { &self.main }
    }

    fn insert(&mut self, slot: Slot<V>, in_window: bool) {
        let part = if in_window { &mut self.window } else { &mut self.main };
        let index = part.slots.len();
        self.places.insert(slot.hash, Place { in_window, index: index as u32 });
        if index == part.slots.capacity() {
            // Doubling would hold three times the bytes while it moves them.
            part.slots.reserve_exact(index / 8 + 4);
        }
        part.bytes += slot.bytes;
        part.slots.push(slot);
    }

    fn remove(&mut self, hash: u64) -> Option<Slot<V>> {
        let place = self.places.remove(&hash)?;
        let part = if place.in_window { &mut self.window } else { &mut self.main };
        let slot = part.slots.swap_remove(place.index as usize);
        part.bytes -= slot.bytes;
        if let Some(moved) = part.slots.get(place.index as usize) {
            self.places.insert(moved.hash, place);
        }
        Some(slot)
    }
}
