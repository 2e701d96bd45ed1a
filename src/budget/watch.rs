//! Watches how much memory is really used, and says what is to be done about it.
//!
//! The plan bounds what the crawl asks for; what the allocator and the system make of
//! that is seen only here. Pure: readings in, a step out. Who reads, and who shrinks,
//! spills and pauses, is none of its business.

use super::machine::GroupReading;

/// How far things have gone; each step includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// All is well.
    #[default]
    Free,
    /// Fewer requests at once, and less memory for bodies in flight.
    Shrink,
    /// What waits in memory goes to disk.
    Spill,
    /// One request at a time.
    Pause,
}

impl Step {
    const ALL: [Step; 4] = [Step::Free, Step::Shrink, Step::Spill, Step::Pause];

    /// Per mille of the budget (or of the control group's limit) from which on this step is taken:
    /// a plan that holds leaves a sixteenth, 62 per mille.
    fn threshold(self) -> u64 {
        match self {
            Step::Free => 0,
            Step::Shrink => 945,
            Step::Spill => 965,
            Step::Pause => 985,
        }
    }

    /// Requests in flight that a crawl of `concurrency` may have in this step: at least one, since
    /// only what gets done gives memory back.
    pub fn most_in_flight(self, concurrency: usize) -> usize {
        let part = match self {
            Step::Free => concurrency,
            Step::Shrink => concurrency / 2,
            Step::Spill => concurrency / 4,
            Step::Pause => 1,
        };
        part.max(1)
    }

    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Step::Free => "free",
            Step::Shrink => "shrink",
            Step::Spill => "spill",
            Step::Pause => "pause",
        }
    }
}

/// Usage must fall so far below what took a step before the step is left, in per mille.
const HYSTERESIS: u64 = 40;

/// From here on things are watched closely, in per mille: two dozen answers that arrive at once
/// were seen to take a fifth of the smallest budget within 200 ms.
const CLOSE: u64 = 750;

/// Readings in a row that must be low before a step is left.
const CALM_READINGS: u32 = 5;

/// What was read at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Resident memory of the process in bytes, where the system tells.
    pub resident: Option<u64>,
    /// The control group closest to its limit, where there is one with a limit.
    pub group: Option<GroupReading>,
}

/// A step that was taken or left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The step before.
    pub from: Step,
    /// The step from now on.
    pub to: Step,
    /// What is used, in bytes: by the process, or by its control group where that is closer to its limit.
    pub used: u64,
    /// What may be used, in bytes.
    pub limit: u64,
}

/// How often each step was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct StepCounts {
    /// Requests at once were made fewer.
    pub shrunk: u64,
    /// What waits in memory was sent to disk.
    pub spilled: u64,
    /// Requests were made one at a time.
    pub paused: u64,
}

/// Turns readings into steps.
#[derive(Debug, Clone)]
pub struct Watch {
    budget: u64,
    step: Step,
    calm: u32,
    counts: StepCounts,
}

impl Watch {
    /// A watch over a budget in bytes.
    pub fn new(budget: u64) -> Watch {
        Watch { budget: budget.max(1), step: Step::Free, calm: 0, counts: StepCounts::default() }
    }

    /// Where things stand.
    pub fn step(&self) -> Step {
        self.step
    }

    /// How often each step was taken so far.
    pub fn counts(&self) -> StepCounts {
        self.counts
    }

    /// Takes a reading; says where it leads, if that is elsewhere. Steps are taken at once, as many
    /// as are needed, and left one after another, each once several readings in a row were low.
    pub fn look(&mut self, reading: Reading) -> Option<Change> {
        let from = self.step;
        let change = self.glance(reading);
        if change.is_some() || from == Step::Free {
            return change;
        }
        if self.per_mille(reading) + HYSTERESIS >= from.threshold() {
            self.calm = 0;
            return None;
        }
        self.calm += 1;
        if self.calm < CALM_READINGS {
            return None;
        }
        self.calm = 0;
        self.step = Step::ALL[from as usize - 1];
        let (used, limit) = self.tightest(reading);
        Some(Change { from, to: self.step, used, limit })
    }

    /// As [`Watch::look`], between two looks: steps are taken, but none is left.
    pub fn glance(&mut self, reading: Reading) -> Option<Change> {
        let from = self.step;
        let per_mille = self.per_mille(reading);
        let reached = Step::ALL.into_iter().filter(|step| per_mille >= step.threshold());
        let to = reached.max().unwrap_or_default();
        if to <= from {
            return None;
        }
        self.calm = 0;
        self.step = to;
        self.count(from, to);
        let (used, limit) = self.tightest(reading);
        Some(Change { from, to, used, limit })
    }

    /// Whether so much is used that a step may be needed within a tenth of a second.
    pub fn is_close(&self, reading: Reading) -> bool {
        self.per_mille(reading) >= CLOSE
    }

    fn per_mille(&self, reading: Reading) -> u64 {
        let (used, limit) = self.tightest(reading);
        (u128::from(used) * 1000 / u128::from(limit)).min(u128::from(u64::MAX)) as u64
    }

    /// Usage and limit, of process or group, whichever is nearer to its limit.
    fn tightest(&self, reading: Reading) -> (u64, u64) {
        let process = (reading.resident.unwrap_or(0), self.budget);
        match reading.group {
            Some(GroupReading { used, limit }) if limit > 0 => {
                let crossed =
                    |(used, _): (u64, u64), (_, limit): (u64, u64)| u128::from(used) * u128::from(limit);
                let group = (used, limit);
                if crossed(group, process) > crossed(process, group) { group } else { process }
            }
            _ => process,
        }
    }

    fn count(&mut self, from: Step, to: Step) {
        let passed = |step| from < step && step <= to;
        self.counts.shrunk += u64::from(passed(Step::Shrink));
        self.counts.spilled += u64::from(passed(Step::Spill));
        self.counts.paused += u64::from(passed(Step::Pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reading(resident: u64) -> Reading {
        Reading { resident: Some(resident), group: None }
    }

    #[test]
    fn steps_are_taken_at_once_and_left_one_by_one() {
        let mut watch = Watch::new(1000);
        assert_eq!(watch.look(reading(944)), None);
        let change = watch.look(reading(970)).expect("a step");
        assert_eq!((change.from, change.to, change.used, change.limit), (Step::Free, Step::Spill, 970, 1000));
        assert_eq!(watch.look(reading(1200)).expect("a step").to, Step::Pause);
        let mut left = Vec::new();
        for _ in 0..3 * CALM_READINGS {
            left.extend(watch.look(reading(100)).map(|change| change.to));
        }
        assert_eq!(left, [Step::Spill, Step::Shrink, Step::Free]);
        assert_eq!(watch.counts(), StepCounts { shrunk: 1, spilled: 1, paused: 1 });
    }

    #[test]
    fn a_glance_takes_steps_and_leaves_none() {
        let mut watch = Watch::new(1000);
        assert!(!watch.is_close(reading(749)) && watch.is_close(reading(750)));
        assert_eq!(watch.glance(reading(950)).map(|change| change.to), Some(Step::Shrink));
        assert!((0..100).all(|_| watch.glance(reading(100)).is_none()));
        assert_eq!((watch.step(), watch.counts().shrunk), (Step::Shrink, 1));
    }

    #[test]
    fn usage_that_swings_a_little_changes_nothing() {
        let mut watch = Watch::new(1000);
        assert!(watch.look(reading(950)).is_some());
        for round in 0..100 {
            assert_eq!(watch.look(reading(if round % 2 == 0 { 910 } else { 955 })), None);
        }
        for round in 0..100 {
            let low = round % CALM_READINGS != 0;
            assert_eq!(watch.look(reading(if low { 100 } else { 950 })), None, "never low for long enough");
        }
    }

    #[test]
    fn a_group_counts_where_it_is_nearer_to_its_limit() {
        let group = |used, limit| Reading { resident: Some(100), group: Some(GroupReading { used, limit }) };
        let mut watch = Watch::new(1000);
        assert_eq!(watch.look(group(50, 5000)), None);
        let change = watch.look(group(4990, 5000)).expect("a step");
        assert_eq!((change.to, change.used, change.limit), (Step::Pause, 4990, 5000));
        assert_eq!(Watch::new(1000).look(group(u64::MAX, 0)), None, "no limit");
        assert_eq!(Watch::new(1000).look(Reading::default()), None, "nothing is known");
    }

    proptest! {
        #[test]
        fn a_step_is_never_below_what_usage_asks_for(budget in 0..u64::MAX, usage in proptest::collection::vec(any::<u64>(), 1..60)) {
            let mut watch = Watch::new(budget);
            for used in usage {
                let before = watch.step();
                let change = watch.look(reading(used));
                prop_assert_eq!(change.map_or(before, |change| change.to), watch.step());
                prop_assert!(used < budget || watch.step() == Step::Pause);
                prop_assert!((1..=64).contains(&watch.step().most_in_flight(64)));
                prop_assert!(before as usize <= watch.step() as usize + 1, "left one by one");
            }
        }
    }
}
