//! Runs something once for each operation it consists of, with the power failing there.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{CutPoint, Operation, SimulatedDisk};

/// What comes after the end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aftermath {
    /// The process alone ended (`kill -9`): all that was written is there.
    Kill,
    /// The machine did; this number chose what is there.
    PowerCut(u64),
}

/// One way in which a run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crash {
    /// The operation at which it ended, and when in it; none where the run went through, and ended
    /// after that.
    pub(crate) cut: Option<(u64, Operation, CutPoint)>,
    /// What came then.
    pub(crate) aftermath: Aftermath,
}

/// How to crash. The default: from an empty disk, at every operation, a kill and three power cuts.
#[derive(Debug, Clone)]
pub(crate) struct Cuts {
    /// The disk each run begins with, as after a kill: what is not durable on it can be lost.
    pub(crate) start: SimulatedDisk,
    /// Chooses what power cuts leave.
    pub(crate) seed: u64,
    /// Power cuts tried with each end of a run.
    pub(crate) outcomes: u64,
    /// Only every so many-th operation is cut at; 1 is all.
    pub(crate) every: u64,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { start: SimulatedDisk::new(), seed: 1, outcomes: 3, every: 1 }
    }
}

/// Runs `run` on an empty disk once for each of its operations and for each [`CutPoint`] of it,
/// and gives `check` the disks that may be left, with what `run` gave. Gives the number of checks.
///
/// `run` must do the same each time, and must bear that all operations fail from some point on.
/// `check` says by a panic that a disk is not as it should be; the panic is then repeated with
/// the [`Crash`] that led there.
pub(crate) fn for_each_cut<T>(
    seed: u64,
    run: impl FnMut(&SimulatedDisk) -> T,
    check: impl FnMut(&SimulatedDisk, &T, Crash),
) -> u64 {
    Cuts { seed, ..Cuts::default() }.for_each(run, check)
}

impl Cuts {
    /// As [`for_each_cut`].
    pub(crate) fn for_each<T>(
        &self,
        mut run: impl FnMut(&SimulatedDisk) -> T,
        mut check: impl FnMut(&SimulatedDisk, &T, Crash),
    ) -> u64 {
        let whole = self.start.after_kill();
        let known = run(&whole);
        let mut checks = self.check_all(&whole, &known, None, &mut check);
        let every = usize::try_from(self.every.max(1)).unwrap_or(usize::MAX);
        for (number, operation) in whole.operations().into_iter().enumerate().step_by(every) {
            for point in [CutPoint::Before, CutPoint::Amid, CutPoint::After] {
                if point == CutPoint::Amid && operation != Operation::Append {
                    continue;
                }
                let number = number as u64;
                let disk = self.start.after_kill();
                disk.crash_at(number, point);
                let known = run(&disk);
                assert!(disk.is_dead(), "the run was another one: it has no operation {number}");
                checks += self.check_all(&disk, &known, Some((number, operation, point)), &mut check);
            }
        }
        checks
    }

    fn check_all<T>(
        &self,
        disk: &SimulatedDisk,
        known: &T,
        cut: Option<(u64, Operation, CutPoint)>,
        check: &mut impl FnMut(&SimulatedDisk, &T, Crash),
    ) -> u64 {
        let place = cut.map_or(u64::MAX, |(number, _, point)| number * 3 + point as u64);
        let outcomes = (0..self.outcomes).map(|nth| {
            Aftermath::PowerCut(self.seed ^ place.wrapping_mul(0x9e37_79b9).wrapping_add(nth << 48))
        });
        for aftermath in std::iter::once(Aftermath::Kill).chain(outcomes) {
            let left = match aftermath {
                Aftermath::Kill => disk.after_kill(),
                Aftermath::PowerCut(random) => disk.after_power_cut(random),
            };
            let crash = Crash { cut, aftermath };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&left, known, crash))) {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                match text.or_else(|| panic.downcast_ref::<&str>().copied()) {
                    Some(text) => panic!("after {crash:?}: {text}"),
                    None => resume_unwind(panic),
                }
            }
        }
        1 + self.outcomes
    }
}
