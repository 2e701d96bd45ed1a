//! `--strategy best-first`: which candidate of a host comes first, by how often it was linked.
//!
//! A host is asked for what is nearest to the seeds first, and of what is equally near for what
//! most pages link to. How many those are goes on growing while a candidate waits, so it is asked when
//! its turn has come, of the sketch that counts links: whoever is not among the upper quarter of what was looked at
//! lately (of all hosts) is put off, once, behind all others of its depth. So a page that many link to waits for a part
//! of the queue before it, not for all of it. From depth 7 on all depths are one: there, a host that has new
//! pages without end keeps what was put off waiting for as long.
//!
//! ```text
//! class = 2 · depth, 7 at most, + 1 where it was put off; - 1 for what a page names as canonical
//! ```

use super::core::{Core, CoreError};
use crate::frontier::{Claimed, OriginId};
use crate::model::{Candidate, Via};
use crate::sketch::fingerprint;
use crate::url::{Canonicalizer, Parts};

/// Depths from here on share one pair of classes.
const DEEPEST: u32 = 7;
/// Candidates that are put off, one after another, before the next one is taken whatever it is.
const PUT_OFF_AT_A_TIME: usize = 64;
/// Bytes of changes that wait to be written, from which on no further candidate is put off: each of them is another change.
const WAITING_BYTES: usize = 32 << 10;
/// One of so many is to be among the best.
const BEST_OF: u32 = 4;
/// What was looked at longer ago than about so many candidates counts less.
const LATELY: u32 = 1024;

/// What is remembered of candidates that were looked at.
#[derive(Debug)]
pub(super) struct BestFirst {
    canonicalizer: Canonicalizer,
    canonical: String,
    /// How many there were with 2^*i* to 2^(*i*+1) links.
    levels: [u32; 33],
    looked_at: u32,
}

impl BestFirst {
    pub(super) fn new(canonicalizer: Canonicalizer) -> Self {
        Self { canonicalizer, canonical: String::new(), levels: [0; 33], looked_at: 0 }
    }

    /// The class of a candidate that was not put off yet.
    pub(super) fn class(candidate: &Candidate) -> u8 {
        let class = 2 * candidate.depth.min(DEEPEST) as u8;
        // as `frontier::class_of` has it: before its further copies are read
        class.saturating_sub(u8::from(candidate.via == Via::Canonical))
    }

    /// The fingerprint of the canonical form of what a candidate is.
    fn fingerprint(&mut self, candidate: &Candidate) -> u64 {
        self.canonicalizer.canonicalize(&candidate.url, &Parts::of(&candidate.url), &mut self.canonical);
        fingerprint(&self.canonical)
    }

    /// Takes note of one with so many links; whether it is among the best.
    fn is_best(&mut self, links: u64) -> bool {
        let level = links.max(1).ilog2().min(32) as usize;
        if self.looked_at >= LATELY {
            self.levels.iter_mut().for_each(|number| *number /= 2);
            self.looked_at = self.levels.iter().sum();
        }
        self.levels[level] += 1;
        self.looked_at += 1;
        let as_good: u32 = self.levels[level..].iter().sum();
        as_good * BEST_OF <= self.looked_at
    }
}

impl Core {
    /// Takes the next of an origin's candidates, in the order of the strategy; in any, where all are `drained`.
    pub(super) fn next_claimed(&mut self, id: OriginId, drained: bool) -> Result<Option<Claimed>, CoreError> {
        for _ in 0..PUT_OFF_AT_A_TIME {
            self.claim_some(id)?;
            let Some(claimed) = self.schedule.take_claimed(id) else { return Ok(None) };
            self.held -= 1;
            if drained || !self.is_worse(id, &claimed) {
                return Ok(Some(claimed));
            }
            self.put_off(id, &claimed)?;
        }
        self.claim_some(id)?;
        let claimed = self.schedule.take_claimed(id);
        self.held -= u64::from(claimed.is_some());
        Ok(claimed)
    }

    /// Claims candidates of an origin, where none is.
    fn claim_some(&mut self, id: OriginId) -> Result<(), CoreError> {
        self.held += self.schedule.claim(id, &mut *self.frontier)?;
        if !self.revived.is_empty() {
            let revived = &mut self.revived;
            self.held -= self.schedule.retain_claimed(id, |ticket| !revived.remove(&ticket));
        }
        Ok(())
    }

    /// Whether others of its depth may come before a candidate.
    fn is_worse(&mut self, id: OriginId, claimed: &Claimed) -> bool {
        let Some(order) = &mut self.order else { return false };
        let was_put_off = claimed.ticket.class % 2 == 1;
        // the ticket tells who was alone in flight when a process died; a seed, and what stands for its copies, come at once
        let is_marked = self.suspects.contains_key(&claimed.ticket)
            || matches!(claimed.candidate.via, Via::Seed | Via::Canonical);
        let is_last = self.schedule.origin(id).unclaimed == 0 || self.journal.length() >= WAITING_BYTES;
        if was_put_off || is_marked || is_last {
            return false;
        }
        let fingerprint = order.fingerprint(&claimed.candidate);
        !order.is_best(self.sketches.linked(fingerprint).at_most)
    }

    /// Puts a candidate behind the others of its depth.
    fn put_off(&mut self, id: OriginId, claimed: &Claimed) -> Result<(), CoreError> {
        let queue = self.schedule.origin(id).queue;
        let ticket = self.frontier.push_as(queue, claimed.ticket.class | 1, &claimed.candidate)?;
        self.schedule.pushed(id);
        self.journal.move_candidate(claimed.ticket, ticket, &claimed.candidate);
        Ok(self.frontier.acknowledge(claimed.ticket)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Canonicalization;
    use crate::scope::canonical_rules;

    #[test]
    fn the_upper_quarter_is_best_and_none_of_like_ones() {
        let order = || BestFirst::new(Canonicalizer::new(canonical_rules(&Canonicalization::default())));
        let mut alike = order();
        assert!((0..5000).all(|_| !alike.is_best(7)));
        let mut mixed = order();
        let best: Vec<u64> = (0..4000_u64)
            .map(|number| if number % 10 == 0 { 50 } else { 1 })
            .filter(|links| mixed.is_best(*links))
            .collect();
        let hubs = best.iter().filter(|links| **links == 50).count();
        assert!(hubs > 395 && best.len() == hubs, "{hubs} of {} are hubs", best.len());
        assert!(mixed.looked_at <= LATELY);
    }
}
