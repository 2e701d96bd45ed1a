//! One request at a time to an address, and a pause after it (`--ip-delay`): many names may
//! stand for one machine.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::hosts::Address;
use super::{HostId, Moment, OriginId, Schedule};
use std::cmp::Reverse;

#[derive(Debug, Default)]
pub(super) struct AddressState {
    next_allowed: Moment,
    pub(super) busy: bool,
    parked: VecDeque<HostId>,
}

impl Schedule {
    /// Whether the host must wait for others at its address; then it is parked or put off.
    pub(super) fn held_by_address(&mut self, id: HostId, now: Moment) -> bool {
        if self.politeness.address_delay.is_zero() || self.host_done(id) {
            return false;
        }
        let Address::Known(number) = self.hosts[id.index()].address else {
            return false;
        };
        let address = &mut self.addresses[number];
        let host = &mut self.hosts[id.index()];
        if address.busy {
            host.parked_at_address = true;
            address.parked.push_back(id);
            return true;
        }
        if address.next_allowed > now {
            let at = address.next_allowed;
            self.next_ticket += 1;
            host.entry = Some((at, self.next_ticket));
            self.heap.push(Reverse((at, self.next_ticket, id)));
            return true;
        }
        false
    }

    pub(super) fn release_address(&mut self, number: usize, now: Moment) {
        let delay = self.randomized(self.politeness.address_delay);
        let address = &mut self.addresses[number];
        address.busy = false;
        address.next_allowed = address.next_allowed.max(now.after(delay));
        self.unpark(number);
    }

    /// Lets every host that waits at an address be placed again; the first to be picked takes it.
    pub(super) fn unpark(&mut self, number: usize) {
        let parked = std::mem::take(&mut self.addresses[number].parked);
        for id in parked {
            self.hosts[id.index()].parked_at_address = false;
            self.place(id);
        }
    }

    /// The address look-up of this origin's host begins.
    pub fn resolving(&mut self, id: OriginId) {
        self.host_mut(id).address = Address::Resolving;
    }

    /// The address look-up has ended; without an address the host counts as its own.
    pub fn resolved(&mut self, id: OriginId, address: Option<IpAddr>) {
        let next = self.addresses.len();
        let number = address.map_or(next, |address| *self.address_numbers.entry(address).or_insert(next));
        if number == next {
            self.addresses.push(AddressState::default());
        }
        self.host_mut(id).address = Address::Known(number);
        self.refresh(id);
    }
}
