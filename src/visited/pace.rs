//! When to settle: what doubts cost, when they are worth it, and how much of the time it may take.
//!
//! Owns the cost model and the account of time spent. Knows no clock; time is an argument.

use std::time::Duration;

use super::exact::LookupCost;

/// What one doubt takes in a look-up, beside the blocks that are read.
pub const DOUBT: Duration = Duration::from_nanos(150);
/// What reading a block of exact keys takes.
pub const BLOCK: Duration = Duration::from_nanos(2_500);

/// Doubts are never too few to be settled in bulk from here on.
const FEW: u64 = 4096;
/// Unused time that may be saved up.
const SAVED: Duration = Duration::from_secs(5);
/// Time spent beyond the share that is held against it later.
const OWED: Duration = Duration::from_secs(5);

/// How many doubts are worth a settlement while there is other work.
///
/// With so many, what they read of the exact keys costs each of them half of what it costs by
/// itself: `2 · blocks · BLOCK / DOUBT`, about one for thirty keys. With fewer the same blocks
/// would be read for less; with more, doubts only wait longer and take more disk.
pub fn worth_settling(cost: LookupCost) -> u64 {
    (2 * u128::from(cost.blocks) * BLOCK.as_nanos() / DOUBT.as_nanos()) as u64 + FEW
}

/// What else there is to do than to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Other work is there.
    Busy,
    /// Nothing at the moment: answers or hosts are waited for.
    Idle,
    /// Nothing, ever: whatever comes next has to come out of the doubts.
    Stuck,
}

/// Whether to settle now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// No: nothing waits, or too little, and there is other work.
    No,
    /// Take a step, or begin.
    Now,
    /// It has used up its share of the time; not before this moment, where nothing else is to do.
    NotBefore(Duration),
}

/// Holds settling to a share of the time.
#[derive(Debug, Clone)]
pub struct Pace {
    share: f64,
    most: u64,
    /// Time up to which is reckoned.
    at: Duration,
    /// Seconds that may be spent, at `at`; below zero where more was spent.
    saved: f64,
}

impl Pace {
    /// Settling may take `share` (more than 0, at most 1) of the time that passes, and more only
    /// while more than `most` doubts are pending.
    pub fn new(share: f64, most: u64) -> Self {
        let share = if share > 0.0 { share.min(1.0) } else { 0.01 };
        Pace { share, most, at: Duration::ZERO, saved: 0.0 }
    }

    /// Whether to settle, `now` being the time since the crawl began, never less than before.
    /// `pending`: doubts not decided. `under_way`: a settlement has begun.
    ///
    /// Where the crawl is stuck the share does not count: a chain of pages, each linked from the
    /// one before only, would stand still for most of the time.
    pub fn due(
        &mut self,
        now: Duration,
        pending: u64,
        cost: LookupCost,
        under_way: bool,
        otherwise: Otherwise,
    ) -> Due {
        let passed = now.saturating_sub(self.at);
        self.at = self.at.max(now);
        self.saved = (self.saved + passed.as_secs_f64() * self.share).min(SAVED.as_secs_f64());
        let wanted =
            under_way || otherwise != Otherwise::Busy || pending >= worth_settling(cost).min(self.most);
        if pending == 0 || !wanted {
            Due::No
        } else if self.saved >= 0.0 || pending > self.most || otherwise == Otherwise::Stuck {
            Due::Now
        } else if otherwise == Otherwise::Idle {
            let wait = Duration::from_secs_f64(-self.saved / self.share);
            Due::NotBefore(self.at + wait.max(Duration::from_micros(1)))
        } else {
            Due::No
        }
    }

    /// Says that a step, or a commit, took so long.
    pub fn spent(&mut self, time: Duration) {
        self.saved = (self.saved - time.as_secs_f64()).max(-OWED.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn cost(blocks: u64) -> LookupCost {
        LookupCost { runs: 10, blocks }
    }

    #[test]
    fn few_doubts_wait_for_more_unless_nothing_else_is_to_do() {
        let mut pace = Pace::new(0.25, 1 << 20);
        assert_eq!(pace.due(MILLISECOND, 0, cost(48_000), false, Otherwise::Idle), Due::No);
        assert_eq!(pace.due(MILLISECOND, 5000, cost(0), false, Otherwise::Busy), Due::Now);
        assert_eq!(pace.due(MILLISECOND, 5000, cost(48_000), false, Otherwise::Busy), Due::No);
        assert_eq!(pace.due(MILLISECOND, 5000, cost(48_000), true, Otherwise::Busy), Due::Now);
        assert_eq!(pace.due(MILLISECOND, 1, cost(48_000), false, Otherwise::Idle), Due::Now);
        assert_eq!(pace.due(MILLISECOND, 1 << 20, cost(u64::MAX), false, Otherwise::Busy), Due::Now);
    }

    #[test]
    fn it_keeps_to_its_share() {
        let mut pace = Pace::new(0.25, 100_000);
        let (mut now, mut spent) = (Duration::ZERO, Duration::ZERO);
        while now < Duration::from_secs(10) {
            match pace.due(now, 10, cost(0), false, Otherwise::Idle) {
                Due::Now => {
                    pace.spent(8 * MILLISECOND);
                    spent += 8 * MILLISECOND;
                    now += 8 * MILLISECOND;
                }
                Due::NotBefore(time) => {
                    assert!(time > now);
                    now = time;
                }
                Due::No => panic!("there are doubts, and nothing else to do"),
            }
        }
        assert!((spent.as_secs_f64() / now.as_secs_f64() - 0.25).abs() < 0.01, "{spent:?}");
        pace.spent(SAVED);
        assert_eq!(pace.due(now, 10, cost(0), true, Otherwise::Busy), Due::No, "its share is used up");
        assert_eq!(pace.due(now, 100_001, cost(0), false, Otherwise::Busy), Due::Now, "too many wait");
    }

    #[test]
    fn a_crawl_that_is_stuck_does_not_wait() {
        let mut pace = Pace::new(0.25, 1000);
        for _ in 0..100 {
            assert_eq!(pace.due(MILLISECOND, 1, cost(8), false, Otherwise::Stuck), Due::Now);
            pace.spent(SAVED);
        }
        let Due::NotBefore(time) = pace.due(MILLISECOND, 1, cost(8), false, Otherwise::Idle) else {
            panic!("its share is used up");
        };
        assert!(time <= MILLISECOND + OWED.mul_f64(4.0), "what is owed is bounded: {time:?}");
    }

    #[test]
    fn time_saved_up_is_bounded() {
        let mut pace = Pace::new(0.5, 1000);
        let now = Duration::from_secs(10_000);
        assert_eq!(pace.due(now, 1, cost(0), false, Otherwise::Idle), Due::Now);
        pace.spent(SAVED + MILLISECOND);
        assert_eq!(pace.due(now, 1, cost(0), false, Otherwise::Idle), Due::NotBefore(now + 2 * MILLISECOND));
    }
}
