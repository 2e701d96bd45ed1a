//! What the loop does when memory runs short: the steps of [`crate::budget::Watch`] put into practice.
//!
//! It must not know what a crawl keeps in memory; who does is asked to spill.

use crate::budget::{
    Change, Lease, LeasePool, Reading, Step, StepCounts, Watch, group_reading, release_unused, resident_bytes,
};

/// The control group is read once in so many looks: that takes several files.
const GROUP_EVERY: u32 = 5;

/// One part in so many of what bodies share is held back under pressure.
const HELD_BACK: usize = 2;

/// One part in so many of the budget is kept back from what the watch goes by, for what comes between two of its
/// looks: half a megabyte within a few hundredths of a second, where 32 pages are large.
const MARGIN_DIVISOR: u64 = 24;
/// So much is enough, in bytes.
const MOST_MARGIN: u64 = 1 << 20;

/// Watches the memory of this process for one crawl.
pub(super) struct Pressure {
    watch: Watch,
    looks: u32,
    reading: Reading,
    /// What bodies in flight may not have for the time being.
    held_back: Lease,
    /// Bytes that they share when all is well.
    shared: usize,
}

impl Pressure {
    /// A watch over a budget in bytes, of which `room` is for bodies in flight.
    pub(super) fn new(budget: u64, room: &LeasePool) -> Pressure {
        Pressure {
            watch: Watch::new(budget - (budget / MARGIN_DIVISOR).min(MOST_MARGIN)),
            looks: 0,
            reading: Reading::default(),
            held_back: room.lease(),
            shared: room.free_bytes(),
        }
    }

    /// Reads, and acts on what was read; to be called several times a second.
    pub(super) fn look(&mut self) -> Option<Change> {
        self.reading.resident = resident_bytes();
        if self.looks.is_multiple_of(GROUP_EVERY) {
            self.reading.group = group_reading();
        }
        self.looks = self.looks.wrapping_add(1);
        let change = self.watch.look(self.reading);
        self.act();
        change
    }

    /// Reads between two looks, and acts if it is high time.
    pub(super) fn glance(&mut self) -> Option<Change> {
        self.reading.resident = resident_bytes();
        let change = self.watch.glance(self.reading);
        if change.is_some() {
            self.act();
        }
        change
    }

    /// Whether glances are called for.
    pub(super) fn is_close(&self) -> bool {
        self.watch.is_close(self.reading)
    }

    fn act(&mut self) {
        if self.watch.step() == Step::Free {
            self.held_back.shrink_to(0);
        } else {
            release_unused();
            // what is leased now comes back bit by bit
            let wanted = self.shared / HELD_BACK;
            let free = self.held_back.free_bytes();
            self.held_back.try_hold(wanted.min(self.held_back.bytes() + free));
        }
    }

    /// Requests that may be in flight, of `concurrency` when all is well.
    pub(super) fn most_in_flight(&self, concurrency: usize) -> usize {
        self.watch.step().most_in_flight(concurrency)
    }

    /// How often each step was taken so far.
    pub(super) fn counts(&self) -> StepCounts {
        self.watch.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act_on(pressure: &mut Pressure, resident: u64) -> Option<Change> {
        let change = pressure.watch.look(Reading { resident: Some(resident), group: None });
        pressure.act();
        change
    }

    #[test]
    fn under_pressure_bodies_have_half_until_it_is_over() {
        let room = LeasePool::new(1 << 20);
        // of which the watch takes 960 for all
        let mut pressure = Pressure::new(1001, &room);
        let mut body = room.lease();
        assert!(body.try_hold(768 << 10));
        assert_eq!(act_on(&mut pressure, 910).map(|change| change.to), Some(Step::Shrink));
        assert_eq!((room.free_bytes(), pressure.most_in_flight(32)), (0, 16), "what was free is held back");
        drop(body);
        assert_eq!(act_on(&mut pressure, 910), None);
        assert_eq!(room.free_bytes(), 512 << 10);
        while pressure.most_in_flight(32) < 32 {
            act_on(&mut pressure, 100);
        }
        assert_eq!(room.free_bytes(), 1 << 20);
        assert_eq!(pressure.counts(), StepCounts { shrunk: 1, spilled: 0, paused: 0 });
    }

    #[test]
    fn this_process_can_be_read() {
        let mut pressure = Pressure::new(1, &LeasePool::new(0));
        if resident_bytes().is_some() {
            assert_eq!(pressure.look().map(|change| change.to), Some(Step::Pause));
            assert_eq!(pressure.most_in_flight(32), 1, "somebody can always finish");
        }
    }
}
