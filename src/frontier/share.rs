//! What open hosts take of their share of memory, beside what they are charged when they are opened
//! and for rules: candidates that are claimed, and attempts that wait.

use super::attempts::claimed_bytes;
use super::{Claimed, Frontier, FrontierError, OriginId, Schedule, Ticket};

/// Candidates claimed from a queue at a time.
const CLAIM: u64 = 16;
/// One part in so many of the share is for candidates that are claimed.
const CLAIMED_DIVISOR: u64 = 4;
/// Bytes that a claimed candidate is expected to have.
const CLAIMED_BYTES: u64 = 256;
impl Schedule {
    /// Takes candidates from the queue of an origin, where none is claimed; returns how many.
    ///
    /// # Errors
    /// Where the frontier fails.
    pub fn claim(&mut self, id: OriginId, frontier: &mut dyn Frontier) -> Result<u64, FrontierError> {
        let most = self.share.open_bytes / CLAIMED_DIVISOR / CLAIMED_BYTES / self.origins.len().max(1) as u64;
        let most = if self.is_pressed() { 1 } else { most.clamp(1, CLAIM) };
        let origin = &mut self.origins[id.index()];
        if !origin.claimed.is_empty() || origin.unclaimed == 0 {
            return Ok(0);
        }
        frontier.claim(origin.queue, most as usize, &mut origin.claimed)?;
        origin.unclaimed = frontier.queue_len(origin.queue);
        let bytes = origin.claimed.iter().map(claimed_bytes).sum();
        let taken = origin.claimed.len() as u64;
        self.hold_bytes(id, bytes);
        Ok(taken)
    }

    /// Drops claimed candidates of an origin; how many.
    pub fn retain_claimed(&mut self, id: OriginId, mut keep: impl FnMut(Ticket) -> bool) -> u64 {
        let mut dropped = Vec::new();
        self.origins[id.index()].claimed.retain(|claimed| {
            let stays = keep(claimed.ticket);
            if !stays {
                dropped.push(claimed_bytes(claimed));
            }
            stays
        });
        for bytes in &dropped {
            self.let_go_bytes(id, *bytes);
        }
        dropped.len() as u64
    }

    /// The next of the candidates that are claimed.
    pub fn take_claimed(&mut self, id: OriginId) -> Option<Claimed> {
        let claimed = self.origins[id.index()].claimed.pop_front()?;
        self.let_go_bytes(id, claimed_bytes(&claimed));
        Some(claimed)
    }

    /// A candidate was pushed to the queue of an origin.
    pub fn pushed(&mut self, id: OriginId) {
        self.origins[id.index()].unclaimed += 1;
        self.refresh(id);
    }

    pub(super) fn hold_bytes(&mut self, id: OriginId, bytes: u64) {
        self.origins[id.index()].held_bytes += bytes;
        self.used += bytes;
    }

    pub(super) fn let_go_bytes(&mut self, id: OriginId, bytes: u64) {
        let origin = &mut self.origins[id.index()];
        let bytes = bytes.min(origin.held_bytes);
        origin.held_bytes -= bytes;
        self.used -= bytes;
        if origin.claimed.is_empty() && origin.waiting.is_empty() {
            // An empty list keeps its room, which nobody counts.
            origin.claimed = std::collections::VecDeque::new();
            origin.waiting = std::collections::BinaryHeap::new();
        }
    }

    /// Whether open hosts have used up their share.
    pub(super) fn is_pressed(&self) -> bool {
        self.used > self.share.open_bytes
    }

    /// Bytes of open hosts and of all that is remembered of closed ones, their rules among it. With
    /// `--max-pages-per-host` that includes some 22 bytes for each host that has a record, however
    /// many there are: what the limit costs.
    pub fn memory_bytes(&self) -> u64 {
        let (residues, counts) = self.residues.memory_bytes();
        self.used + residues + counts + self.closed_rules.bytes()
    }

    /// Closed hosts of which something was forgotten for want of room since it was last asked:
    /// that they were given up, or how often they had failed. They are asked again, as politely as
    /// if they were new.
    pub fn take_forgotten(&mut self) -> u64 {
        self.residues.take_dropped()
    }
}
