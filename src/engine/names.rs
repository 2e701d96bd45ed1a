//! Names of hosts: looked up ahead of the first request, and again when what was said has run out.
//!
//! A look-up is a job of its own and takes no slot of a request, so that a server of names that is
//! slow holds up only the hosts whose names it keeps. Nothing of it is in the log: after a
//! crash it is simply asked again.

use super::builder::files_needed;
use super::core::Core;
use super::job::Job;
use super::observer::Event;
use super::worker::page_error;
use crate::budget::most_open_files;
use crate::fetch::{LookedUp, NoAddress};
use crate::frontier::{DrainReason, Moment, OriginId};

/// Whether requests to a host of this name wait for DNS.
pub(super) type AsksDns = Box<dyn Fn(&str) -> bool + Send>;

/// Sockets that a look-up may have open for each server that it asks: four for each of two questions.
const SOCKETS: u64 = 8;
/// Look-ups at a time, however few files may be open.
const LEAST_LOOKUPS: usize = 4;

/// Look-ups that may be under way at a time: the memory is for `lookups` that ask one server each, and
/// each may ask so many `servers` at once.
pub(super) fn most_lookups(lookups: usize, concurrency: usize, servers: usize) -> usize {
    let files = most_open_files().unwrap_or(u64::MAX).saturating_sub(files_needed(concurrency) as u64);
    most_within(lookups, files, servers)
}

fn most_within(lookups: usize, files: u64, servers: usize) -> usize {
    let servers = servers.max(1);
    let within_files = usize::try_from(files / SOCKETS).unwrap_or(usize::MAX) / servers;
    (lookups / servers).min(within_files).max(LEAST_LOOKUPS)
}

impl Core {
    /// Has the names looked up ahead of which this says that it is worth it.
    pub(crate) fn ask_ahead(&mut self, asks_dns: impl Fn(&str) -> bool + Send + 'static) {
        self.asks_dns = Some(Box::new(asks_dns));
    }

    /// Requests in flight, which are what a slot is for.
    pub(crate) fn requests_in_flight(&self) -> usize {
        self.in_flight - self.lookups_in_flight
    }

    /// Look-ups that may be under way at a time.
    pub(crate) fn most_lookups(&self) -> usize {
        self.schedule.most_lookups()
    }

    /// The look-up that has to come before a request to this origin; nothing where none has to.
    pub(super) fn look_up(&mut self, origin: OriginId) -> Option<Job> {
        let host = &self.schedule.host(origin).name;
        let needed =
            self.schedule.counts_addresses() || self.asks_dns.as_ref().is_some_and(|asks| asks(host));
        if !needed {
            self.schedule.needs_no_look_up(origin);
            return None;
        }
        if self.schedule.stands_in_line(origin) {
            return None;
        }
        self.schedule.resolving(origin);
        self.in_flight += 1;
        self.lookups_in_flight += 1;
        let (name, failures) =
            (self.schedule.origin(origin).name.clone(), self.schedule.host(origin).unresolved);
        Some(Job::Address { origin, name, failures })
    }

    /// Takes in what came of a look-up.
    pub(super) fn apply_look_up(
        &mut self,
        origin: OriginId,
        found: Result<LookedUp, NoAddress>,
        now: Moment,
    ) {
        self.lookups_in_flight -= 1;
        match found {
            Ok(LookedUp { address, holds_for }) => {
                self.schedule.resolved(origin, address, now.after(holds_for));
            }
            Err(NoAddress { error, holds_for: Some(time) }) => {
                let error = page_error(error);
                self.schedule.gone(origin, &error, now.after(time));
                let name = self.schedule.host(origin).name.clone();
                let reason = DrainReason::HostUnreachable;
                self.events.push(Event::Drained { name, reason, error: Some(error) });
            }
            Err(NoAddress { error, holds_for: None }) => {
                let error = page_error(error);
                let started = self.schedule.unresolved(origin);
                self.fail_host(origin, started, Some(&error), now);
                self.note_host_state(origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_that_is_asked_at_once_takes_its_part_of_memory_and_files() {
        for (lookups, files, servers, expected) in [
            (64, u64::MAX, 1, 64),
            (64, u64::MAX, 2, 32),
            (64, u64::MAX, 3, 21),
            (64, 240, 1, 30),
            (64, 240, 2, 15),
            (64, 240, 3, 10),
            (16, u64::MAX, 3, 5),
            (64, 0, 3, LEAST_LOOKUPS),
            (0, u64::MAX, 3, LEAST_LOOKUPS),
        ] {
            assert_eq!(most_within(lookups, files, servers), expected, "{lookups} {files} {servers}");
        }
    }
}
