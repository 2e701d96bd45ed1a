//! Places for what comes and goes: a number is given again once its holder is gone, so that
//! there are never more places than were ever held at one time.

use std::ops::{Index, IndexMut};

/// Holders by number. A free place holds a vacant stand-in, so that looking at one never fails.
#[derive(Debug)]
pub(super) struct Slots<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    /// Gives a place, and its number.
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.items[number as usize] = item;
            return number;
        }
        self.items.push(item);
        u32::try_from(self.items.len() - 1).unwrap_or(u32::MAX)
    }

    /// Takes a holder from its place and leaves `vacant` there.
    pub(super) fn remove(&mut self, number: u32, vacant: T) -> T {
        self.free.push(number);
        std::mem::replace(&mut self.items[number as usize], vacant)
    }

    /// Places that are held.
    pub(super) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Every place, the free ones with their stand-ins.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }
}

impl<T> Index<usize> for Slots<T> {
    type Output = T;

    fn index(&self, number: usize) -> &T {
        &self.items[number]
    }
}

impl<T> IndexMut<usize> for Slots<T> {
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.items[number]
    }
}
