//! One request at a time to an address, and a pause after it (`--ip-delay`): many names may
//! stand for one machine.
//!
//! Hosts whose turn comes while their address is taken stand in line there. Whenever it is free
//! again one of them is *elected* and placed; only when that one has begun, or has nothing to do
//! any more, the next. So a request costs the same however many stand in line.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::{HostId, Moment, OriginId, Schedule};

/// An address of hosts in use. A host whose address is not known has one of its own.
#[derive(Debug, Default)]
pub(super) struct AddressState {
    ip: Option<IpAddr>,
    /// Open hosts that stand there.
    hosts: u32,
    in_flight: u32,
    next_allowed: Moment,
    /// In line, with their serial numbers.
    parked: VecDeque<(HostId, u64)>,
    /// Placed, and next.
    elected: Option<HostId>,
}

impl Schedule {
    fn address_of(&self, id: HostId) -> Option<u32> {
        self.hosts[id.index()].address
    }

    /// Nothing is asked of this host's address before then.
    pub(super) fn address_allows(&self, id: HostId) -> Moment {
        self.address_of(id).map_or(Moment::START, |number| self.addresses[number as usize].next_allowed)
    }

    /// Whether a request to this host's address is in flight.
    pub(super) fn address_busy(&self, id: HostId) -> bool {
        self.address_of(id).is_some_and(|number| self.addresses[number as usize].in_flight > 0)
    }

    /// Whether the host, whose turn it is, must stand in line at its address; then it does.
    pub(super) fn held_by_address(&mut self, id: HostId) -> bool {
        let Some(number) = self.address_of(id) else { return false };
        let done = self.host_done(id);
        let address = &mut self.addresses[number as usize];
        if address.elected == Some(id) {
            address.elected = None;
        }
        if done || (address.in_flight == 0 && address.elected.is_none()) {
            return false;
        }
        let host = &mut self.hosts[id.index()];
        host.parked = true;
        address.parked.push_back((id, host.serial));
        true
    }

    pub(super) fn occupy_address(&mut self, id: HostId) {
        if let Some(number) = self.address_of(id) {
            self.addresses[number as usize].in_flight += 1;
        }
    }

    pub(super) fn release_address(&mut self, id: HostId, now: Moment) {
        let Some(number) = self.address_of(id) else { return };
        let delay = self.randomized(self.politeness.address_delay);
        let address = &mut self.addresses[number as usize];
        address.in_flight = address.in_flight.saturating_sub(1);
        address.next_allowed = address.next_allowed.max(now.after(delay));
        self.elect(number);
    }

    /// The host was placed anew: where it was the next at its address and cannot be any more,
    /// another one is.
    pub(super) fn review_election(&mut self, id: HostId, due: Option<Moment>) {
        let Some(number) = self.address_of(id) else { return };
        let address = &mut self.addresses[number as usize];
        let latest = address.next_allowed.max(self.clock);
        if address.elected == Some(id) && due.is_none_or(|due| due > latest) {
            address.elected = None;
        }
        self.elect(number);
    }

    /// Places the first in line that has something to do as soon as the address allows.
    fn elect(&mut self, number: u32) {
        loop {
            let address = &mut self.addresses[number as usize];
            if address.in_flight > 0 || address.elected.is_some() {
                return;
            }
            let latest = address.next_allowed.max(self.clock);
            let Some((id, serial)) = address.parked.pop_front() else { return };
            let host = &mut self.hosts[id.index()];
            if host.serial != serial || !std::mem::take(&mut host.parked) {
                continue;
            }
            let due = self.due(id);
            self.enter(id, due);
            if due.is_some_and(|due| due <= latest) {
                self.addresses[number as usize].elected = Some(id);
            }
        }
    }

    /// Whether anything depends on which hosts share an address.
    pub fn counts_addresses(&self) -> bool {
        !self.politeness.address_delay.is_zero()
    }

    /// The host of an origin stands at this address, or at one of its own. Where it stood
    /// elsewhere with something in flight it stays there.
    pub(super) fn stand_at(&mut self, id: OriginId, address: Option<IpAddr>) {
        let host = self.origins[id.index()].host;
        if let Some(number) = self.address_of(host) {
            let same = self.addresses[number as usize].ip == address;
            if same || self.hosts[host.index()].in_flight > 0 {
                return;
            }
            self.leave_address(host);
        }
        let number = address.and_then(|address| self.address_numbers.get(&address).copied());
        let number = number.unwrap_or_else(|| {
            let number = self.addresses.insert(AddressState { ip: address, ..AddressState::default() });
            self.address_numbers.extend(address.map(|address| (address, number)));
            number
        });
        let in_flight = self.hosts[host.index()].in_flight;
        self.addresses[number as usize].hosts += 1;
        self.addresses[number as usize].in_flight += in_flight;
        self.hosts[host.index()].address = Some(number);
    }

    /// When the address of a host lets it leave: with the last one its time would be forgotten.
    pub(super) fn address_lets_leave(&self, id: HostId) -> Moment {
        match self.address_of(id) {
            Some(number) if self.addresses[number as usize].hosts <= 1 => self.address_allows(id),
            _ => Moment::START,
        }
    }

    /// A host leaves its address.
    pub(super) fn leave_address(&mut self, id: HostId) {
        let Some(number) = self.address_of(id) else { return };
        let address = &mut self.addresses[number as usize];
        address.hosts = address.hosts.saturating_sub(1);
        if address.elected == Some(id) {
            address.elected = None;
        }
        if address.hosts == 0 {
            let gone = self.addresses.remove(number, AddressState::default());
            if let Some(ip) = gone.ip {
                self.address_numbers.remove(&ip);
            }
            return;
        }
        if std::mem::take(&mut self.hosts[id.index()].parked) {
            self.addresses[number as usize].parked.retain(|(other, _)| *other != id);
        }
        self.elect(number);
    }
}
