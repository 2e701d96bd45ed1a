//! How the visited set keeps doubts and decides them.
//!
//! ```text
//! doubt(candidate) ─▶ number          for each Answer::Doubt
//! freeze() ─▶ range of numbers        the oldest doubts, to be decided
//! settle(budget) ─▶ LookedUp …        some steps; asking and doubting go on between them
//! settle(budget) ─▶ Decided(slice)    then slices, in order of number
//! commit(slice.up_to, keys)           each, once it is kept; the last one ends the settlement
//! ```

use std::ops::Range;
use std::time::Duration;

use super::doubts::Doubts;
use super::exact::{ExactError, LookupCost};
use super::set::Visited;
use super::settling::{Settlement, Settling};
use super::table::Inserted;
use crate::config::Dedup;
use crate::model::{Candidate, UrlKey};

impl Visited {
    /// Keeps a candidate that was answered [`Answer::Doubt`](super::Answer::Doubt) until it is
    /// decided; its number.
    pub fn doubt(&mut self, candidate: &Candidate) -> Result<u64, ExactError> {
        self.doubts.push(candidate)
    }

    /// The doubts that are pending.
    pub fn doubts(&self) -> &Doubts {
        &self.doubts
    }

    /// What looking doubts up would have to read, for [`Pace`](super::Pace).
    pub fn lookup_cost(&self) -> LookupCost {
        self.exact.lookup_cost()
    }

    /// Begins to settle the oldest doubts, as many as its memory allows (four for each byte that settling may
    /// take); their numbers. None where a settlement is under way, or no
    /// doubt is pending.
    pub fn freeze(&mut self) -> Result<Option<Range<u64>>, ExactError> {
        if self.settlement.is_some() || self.doubts.is_empty() {
            return Ok(None);
        }
        if self.keeps_in_table_only() {
            self.give_up_completeness()?;
        }
        self.settlement = Settlement::begin(&mut self.doubts, self.settle_bytes);
        Ok(self.settling())
    }

    /// The doubts that are being settled, those already committed among them.
    pub fn settling(&self) -> Option<Range<u64>> {
        self.settlement.as_ref().map(|settlement| settlement.range().clone())
    }

    /// Goes on with the settlement for about `budget` of processor time. A slice that was decided
    /// is told again until it is committed.
    ///
    /// After an error the set must not be asked again.
    pub fn settle(&mut self, budget: Duration) -> Result<Settling, ExactError> {
        let Some(settlement) = &mut self.settlement else { return Ok(Settling::Idle) };
        if settlement.is_looked_up() {
            let (slice, spent) = settlement.slice(&mut self.doubts, budget)?;
            return Ok(Settling::Decided(slice, spent));
        }
        let (found, spent) = settlement.look_up(&mut self.doubts, self.exact.as_mut(), budget)?;
        // from here on nobody else can accept them
        self.mark(&found);
        Ok(Settling::LookedUp(spent))
    }

    /// Retires the doubts numbered below `up_to`: those with these keys are seen from now on, the
    /// others were. Once it is kept elsewhere what a slice decided; and when a log is replayed.
    ///
    /// After an error the set must not be asked again.
    pub fn commit(&mut self, up_to: u64, rescued: &[UrlKey]) -> Result<(), ExactError> {
        if self.keeps_in_table_only() {
            self.give_up_completeness()?;
        }
        self.mark(rescued);
        self.exact.append(rescued)?;
        let before = self.doubts.len();
        self.doubts.retire(up_to)?;
        let decided = before - self.doubts.len();
        self.counters.settled += decided;
        self.counters.rescued += rescued.len() as u64;
        self.counters.repeats += decided.saturating_sub(rescued.len() as u64);
        let oldest = self.doubts.oldest();
        self.settlement.take_if(|settlement| oldest >= settlement.range().end);
        Ok(())
    }

    /// Sets keys in filter and table.
    pub(super) fn mark(&mut self, keys: &[UrlKey]) {
        if let Some(filter) = &mut self.filter {
            filter.insert_batch(keys);
        }
        if self.dedup() != Dedup::Bloom {
            for key in keys {
                self.remember(*key);
            }
        }
    }

    /// Puts a key into the table, complete or not; only where the exact stage knows it, or will.
    pub(super) fn remember(&mut self, key: UrlKey) {
        if self.table.is_complete() {
            if self.table.insert(key) != Inserted::Refused {
                return;
            }
            self.table.give_up_completeness();
        }
        self.table.push(key);
    }
}
