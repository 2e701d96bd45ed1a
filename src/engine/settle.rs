//! Doubts: when they are settled, and what becomes of those that were new.

use std::time::Duration;

use super::core::{Core, CoreError};
use crate::frontier::Moment;
use crate::visited::{Due, Otherwise, Settling};

/// What one step of settling may cost.
const STEP: Duration = Duration::from_millis(10);

/// What came of the chance to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettleTurn {
    /// A step was taken.
    Taken,
    /// Settling has used up its share of the time until then.
    NotBefore(Moment),
    /// There is nothing to settle, or too little for the moment.
    Pass,
}

impl Core {
    /// Takes a step of settling where it is time, by what else there is to do.
    pub(super) fn settle_when_due(
        &mut self,
        now: Moment,
        otherwise: Otherwise,
    ) -> Result<SettleTurn, CoreError> {
        let pending = self.doubts_pending();
        if pending == 0 {
            return Ok(SettleTurn::Pass);
        }
        let (cost, under_way) = (self.visited.lookup_cost(), self.visited.settling().is_some());
        match self.pace.due(now.since(Moment::START), pending, cost, under_way, otherwise) {
            Due::No => Ok(SettleTurn::Pass),
            Due::NotBefore(time) => Ok(SettleTurn::NotBefore(Moment::START.after(time))),
            Due::Now => {
                let spent = self.settle_step()?;
                self.pace.spent(spent);
                Ok(SettleTurn::Taken)
            }
        }
    }

    /// Decides every doubt exactly, however long it takes.
    pub(crate) fn settle_all(&mut self) -> Result<(), CoreError> {
        while self.doubts_pending() > 0 {
            self.settle_step()?;
            self.commit()?;
        }
        Ok(())
    }

    /// One step: looks up a part, or queues what was found to be new. What it cost.
    fn settle_step(&mut self) -> Result<Duration, CoreError> {
        if self.visited.settling().is_none() {
            self.visited.freeze()?;
        }
        match self.visited.settle(STEP)? {
            Settling::Idle => Ok(Duration::ZERO),
            Settling::LookedUp(spent) => Ok(spent),
            Settling::Decided(slice, spent) => {
                let keys: Vec<_> = slice.rescued.iter().map(|rescued| rescued.candidate.key).collect();
                self.visited.commit(slice.up_to, &keys)?;
                let rescued = keys.len() as u64;
                self.counters.doubts_settled += slice.decided;
                self.counters.rescued += rescued;
                self.counters.repeats += slice.decided - rescued;
                for rescued in slice.rescued {
                    self.rescue(&rescued.candidate)?;
                }
                self.journal.retire(slice.up_to);
                Ok(spent)
            }
        }
    }
}
