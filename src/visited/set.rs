//! The visited set: filter, table and exact keys behind one question.
//!
//! Owns the order in which they are asked and what each `--dedup` mode makes of their
//! answers. How doubts are decided is in [`verdicts`](super::verdicts), how it comes through a
//! crash in [`durable`](super::durable); when to settle is the engine's matter.

use std::io;

use super::doubts::Doubts;
use super::exact::{ExactError, ExactKeys};
use super::filter::{self, Filter};
use super::health::{Crossing, Health, Missed, Verdict, Watch};
use super::settling::Settlement;
use super::sizing::Sizing;
use super::table::{Inserted, KeyTable};
use crate::config::Dedup;
use crate::model::UrlKey;

/// How much larger a full filter is made. Filling the larger one costs a quarter of what filled it.
const GROWTH: u64 = 4;

/// Memory for settling where all doubts wait in memory.
const SETTLE_BYTES: u64 = 4 << 20;

/// What the visited set says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It was never seen, and is seen from now on.
    New,
    /// It was seen before; in `bloom` mode, probably.
    Repeat,
    /// Only the exact keys can tell. The asker must hand the candidate to [`Visited::doubt`]: from
    /// now on the set takes its key for seen.
    Doubt,
}

/// What a visited set is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitedSettings {
    /// How it decides.
    pub dedup: Dedup,
    /// The filter, its kind included; not made in `exact` mode.
    pub sizing: Sizing,
    /// Memory for the table of exact keys; not used in `bloom` mode.
    pub table_bytes: u64,
}

/// What was asked and answered so far.
///
/// `asked = new + rescued + repeats + pending doubts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Keys asked for.
    pub asked: u64,
    /// Answered as new at once.
    pub new: u64,
    /// Of these, the ones the filter had answered "maybe": its false positives, put right by the table.
    pub confirmed: u64,
    /// Known to have been seen, at once or when settled.
    pub repeats: u64,
    /// Answered as doubts.
    pub doubts: u64,
    /// Doubts decided since.
    pub settled: u64,
    /// Of these, the ones that were new after all.
    pub rescued: u64,
}

impl Counters {
    /// Keys accepted, once each.
    pub fn unique(&self) -> u64 {
        self.new + self.rescued
    }

    /// Doubts not decided yet.
    pub fn pending(&self) -> u64 {
        self.doubts.saturating_sub(self.settled)
    }
}

/// The set of URLs seen.
pub struct Visited {
    dedup: Dedup,
    pub(super) sizing: Sizing,
    pub(super) filter: Option<Box<dyn Filter>>,
    pub(super) table: KeyTable,
    pub(super) exact: Box<dyn ExactKeys>,
    pub(super) doubts: Doubts,
    pub(super) settlement: Option<Settlement>,
    /// Memory for a settlement.
    pub(super) settle_bytes: u64,
    pub(super) counters: Counters,
    pub(super) missed: Missed,
    watch: Watch,
    /// The filter's answers to one batch.
    flags: Vec<bool>,
    /// Keys accepted in one batch, on their way to the exact stage.
    accepted: Vec<UrlKey>,
}

impl std::fmt::Debug for Visited {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Visited")
            .field("dedup", &self.dedup)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl Visited {
    /// An empty set over an empty exact stage, whose doubts wait in memory; an error where memory
    /// cannot be had.
    pub fn new(settings: &VisitedSettings, exact: Box<dyn ExactKeys>) -> io::Result<Self> {
        let filter = match settings.dedup {
            Dedup::Exact => None,
            Dedup::TwoStage | Dedup::Bloom => Some(filter::build(&settings.sizing)?),
        };
        Ok(Visited {
            dedup: settings.dedup,
            sizing: settings.sizing,
            filter,
            table: KeyTable::new(if settings.dedup == Dedup::Bloom { 0 } else { settings.table_bytes })?,
            exact,
            doubts: Doubts::in_memory(),
            settlement: None,
            settle_bytes: SETTLE_BYTES,
            counters: Counters::default(),
            missed: Missed::default(),
            watch: Watch::default(),
            flags: Vec::new(),
            accepted: Vec::new(),
        })
    }

    /// Asks for every key, in order, and remembers those that are new; `answers` is emptied and
    /// then holds an answer for each. A key that occurs twice is new at most the first time.
    ///
    /// After an error the set must not be asked again.
    pub fn ask(&mut self, keys: &[UrlKey], answers: &mut Vec<Answer>) -> Result<(), ExactError> {
        answers.clear();
        answers.reserve(keys.len());
        self.counters.asked += keys.len() as u64;
        if self.dedup == Dedup::Bloom {
            self.ask_filter_alone(keys, answers);
        } else {
            self.ask_filter_and_table(keys, answers)?;
        }
        for answer in answers.iter() {
            match answer {
                Answer::New => self.counters.new += 1,
                Answer::Repeat => self.counters.repeats += 1,
                Answer::Doubt => self.counters.doubts += 1,
            }
        }
        self.hand_over_accepted()
    }

    /// Replaces the filter by one of another size, filled with every accepted key; `false`, and
    /// nothing is changed, where there is no filter or nobody has kept the keys (`bloom` without
    /// an exact stage that outlives the process). Doubts asked before stay doubts.
    ///
    /// Old and new filter take memory at the same time. While a settlement is under way nothing is
    /// changed either: what it has found stands in no exact key yet.
    pub fn grow(&mut self, sizing: Sizing) -> Result<bool, GrowError> {
        let unknown = self.dedup == Dedup::Bloom && !self.exact.is_durable();
        if self.filter.is_none() || self.settlement.is_some() || unknown {
            return Ok(false);
        }
        let mut new = filter::build(&sizing).map_err(GrowError::Memory)?;
        if self.keeps_in_table_only() {
            let inserted = self.table.for_each(|keys| {
                new.insert_batch(keys);
                Ok::<_, std::convert::Infallible>(())
            });
            match inserted {
                Ok(()) => {}
                Err(never) => match never {},
            }
        } else {
            self.exact.for_each(&mut |keys| new.insert_batch(keys))?;
        }
        self.missed.restart(new.as_ref());
        self.filter = Some(new);
        self.sizing = sizing;
        self.watch = Watch::default();
        Ok(true)
    }

    /// Makes the filter larger where it holds as many URLs as it was made for, four times as
    /// large but no larger than `largest`; what it is made for now, where that changed.
    ///
    /// Starting small keeps the pages of memory that a small crawl touches few.
    pub fn grow_if_full(&mut self, largest: &Sizing) -> Result<Option<Sizing>, GrowError> {
        match larger(&self.sizing, largest, self.counters.unique()) {
            Some(sizing) => Ok(self.grow(sizing)?.then_some(sizing)),
            None => Ok(None),
        }
    }

    /// How the filter is doing; `None` where there is none (`exact` mode). Constant time.
    pub fn health(&self) -> Option<Health> {
        let filter = self.filter.as_deref()?;
        Some(Health::read(filter, &self.sizing, self.dedup, self.counters.unique(), self.missed.sum()))
    }

    /// Whether the verdict has got worse since this was last asked; each step is told once.
    pub fn take_crossing(&mut self) -> Option<Crossing> {
        let fill = self.filter.as_deref()?.fill_ratio();
        self.watch.look(Verdict::of(fill, self.sizing.design_fill()))
    }

    /// Looks at up to `lines` cache lines of the filter for a more exact estimate of its rate
    /// (some 30 ns each). For idle time; `true` where that completed a pass.
    pub fn refresh(&mut self, lines: usize) -> bool {
        self.filter.as_deref_mut().is_none_or(|filter| filter.refresh(lines))
    }

    /// What the filter is made for now.
    pub fn sizing(&self) -> &Sizing {
        &self.sizing
    }

    /// What was asked and answered so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How it decides.
    pub fn dedup(&self) -> Dedup {
        self.dedup
    }

    /// Bytes of memory it holds.
    pub fn memory_bytes(&self) -> u64 {
        let filter = self.filter.as_deref().map_or(0, |filter| filter.bits() / 8);
        let settlement = self.settlement.as_ref().map_or(0, Settlement::memory_bytes);
        filter + self.table.bytes() + self.exact.memory_bytes() + self.doubts.memory_bytes() + settlement
    }

    fn ask_filter_alone(&mut self, keys: &[UrlKey], answers: &mut Vec<Answer>) {
        let Some(filter) = &mut self.filter else {
            return;
        };
        filter.test_and_set_batch(keys, &mut self.flags);
        let before = answers.len();
        answers.extend(self.flags.iter().map(|new| if *new { Answer::New } else { Answer::Repeat }));
        let accepted = answers[before..].iter().filter(|answer| **answer == Answer::New).count();
        self.missed.count(accepted as u64, filter.as_ref());
        if self.exact.is_durable() {
            self.accepted.extend(keys.iter().zip(&self.flags).filter_map(|(key, new)| new.then_some(*key)));
        }
    }

    fn ask_filter_and_table(&mut self, keys: &[UrlKey], answers: &mut Vec<Answer>) -> Result<(), ExactError> {
        self.table.prefetch(keys);
        if let Some(filter) = &mut self.filter {
            filter.test_and_set_batch(keys, &mut self.flags);
        } else {
            // without a filter nothing is certainly new before the table was asked
            self.flags.clear();
            self.flags.resize(keys.len(), false);
        }
        for (index, key) in keys.iter().enumerate() {
            let answer = self.ask_table(*key, self.flags[index])?;
            answers.push(answer);
        }
        Ok(())
    }

    /// `certainly_new` is what the filter says: if not, the key may have been seen or not.
    #[inline]
    fn ask_table(&mut self, key: UrlKey, certainly_new: bool) -> Result<Answer, ExactError> {
        if self.table.is_complete() {
            match self.table.insert(key) {
                Inserted::Present => return Ok(Answer::Repeat),
                Inserted::Added => {
                    self.counters.confirmed += u64::from(!certainly_new && self.filter.is_some());
                    self.keep(key);
                    return Ok(Answer::New);
                }
                // the complete table did not have it: it is new, and the table complete no longer
                Inserted::Refused => {
                    self.counters.confirmed += u64::from(!certainly_new && self.filter.is_some());
                    self.give_up_completeness()?;
                    self.table.push(key);
                    self.accepted.push(key);
                    return Ok(Answer::New);
                }
            }
        }
        if certainly_new {
            self.table.push(key);
            self.accepted.push(key);
            return Ok(Answer::New);
        }
        if self.table.touch(key) {
            return Ok(Answer::Repeat);
        }
        // whatever becomes of this doubt, whoever asks again is a repeat
        self.table.push(key);
        Ok(Answer::Doubt)
    }

    /// Whether the table alone holds the accepted keys: as long as it is complete, an exact stage
    /// that does not outlive the process would only hold them a second time.
    pub(super) fn keeps_in_table_only(&self) -> bool {
        self.table.is_complete() && !self.exact.is_durable()
    }

    fn keep(&mut self, key: UrlKey) {
        if !self.keeps_in_table_only() {
            self.accepted.push(key);
        }
    }

    /// From here on the exact stage must know every key.
    pub(super) fn give_up_completeness(&mut self) -> Result<(), ExactError> {
        if self.keeps_in_table_only() {
            let Visited { table, exact, .. } = self;
            table.for_each(|keys| exact.append(keys))?;
        }
        self.table.give_up_completeness();
        Ok(())
    }

    fn hand_over_accepted(&mut self) -> Result<(), ExactError> {
        if !self.accepted.is_empty() {
            self.exact.append(&self.accepted)?;
            self.accepted.clear();
        }
        Ok(())
    }
}

/// What a filter for so many URLs more should be, no larger than `largest`; none where it is not full,
/// or cannot grow.
pub(super) fn larger(sizing: &Sizing, largest: &Sizing, urls: u64) -> Option<Sizing> {
    if urls < sizing.urls || sizing.bits >= largest.bits {
        return None;
    }
    let growth = sizing.urls.saturating_mul(GROWTH);
    if growth >= largest.urls {
        return Some(*largest);
    }
    Some(Sizing::from_bits_per_url(largest.kind, growth, largest.bits_per_url()).unwrap_or(*largest))
}

/// The filter could not be replaced; the old one stands.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrowError {
    /// The new filter's memory could not be had.
    #[error("no memory for a larger filter: give it a smaller share")]
    Memory(#[source] io::Error),
    /// The keys could not be read.
    #[error(transparent)]
    Exact(#[from] ExactError),
}
