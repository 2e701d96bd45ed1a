//! How the filter is doing, in numbers and in words.
//!
//! Owns the verdicts and their texts; reads a filter, changes nothing.

use super::filter::Filter;
use super::sizing::Sizing;
use crate::config::{Dedup, FilterKind};

/// Past this part of its bits set a filter is overfull, whatever it was made for.
pub const OVERFULL: f64 = 0.6;

/// The health of a filter in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Up to the fill it was made for.
    Good,
    /// Past the fill it was made for.
    Full,
    /// Far past it: more than 0.6 of its bits are set.
    Overfull,
}

impl Verdict {
    /// What a fill means for a filter made for `design_fill`.
    pub fn of(fill: f64, design_fill: f64) -> Self {
        // a filter of one bit per URL is made for more than 0.6
        if fill > OVERFULL.max(design_fill) {
            Verdict::Overfull
        } else if fill > design_fill {
            Verdict::Full
        } else {
            Verdict::Good
        }
    }

    /// `good`, `full` or `overfull`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Full => "full",
            Verdict::Overfull => "overfull",
        }
    }

    /// What it means now for a crawl that decides in this way.
    pub fn meaning(self, dedup: Dedup) -> &'static str {
        match (self, dedup) {
            (Verdict::Good, Dedup::Bloom) => "pages are missed at the expected rate",
            (Verdict::Full, Dedup::Bloom) => "more pages are missed than the filter was made for",
            (Verdict::Overfull, Dedup::Bloom) => "many pages are missed",
            (Verdict::Good, _) => "no page is missed",
            (Verdict::Full, _) => {
                "no page is missed; more URLs have to be looked up exactly, which is slower"
            }
            (Verdict::Overfull, _) => {
                "no page is missed; very many URLs have to be looked up exactly, which is slow"
            }
        }
    }

    /// What to do about it; `None` where all is well.
    pub fn remedy(self, dedup: Dedup) -> Option<&'static str> {
        match (self, dedup) {
            (Verdict::Good, _) => None,
            (_, Dedup::Bloom) => {
                Some("crawl again with a higher --expected-urls or --memory, or with --dedup two-stage")
            }
            (_, _) => Some("give a higher --expected-urls or --memory next time"),
        }
    }
}

/// What is known of a filter at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Health {
    /// The layout.
    pub kind: FilterKind,
    /// Who decides, and so what the verdict means.
    pub dedup: Dedup,
    /// Its size in bits.
    pub bits: u64,
    /// Bits for each URL it was made for.
    pub bits_per_url: f64,
    /// Bits set for one URL.
    pub hashes: u32,
    /// URLs accepted as new.
    pub items: u64,
    /// URLs it was made for.
    pub design_urls: u64,
    /// Part of its bits that are set.
    pub fill_ratio: f64,
    /// That part at the number of URLs it was made for.
    pub design_fill: f64,
    /// The false-positive rate now, as its layout demands to reckon it.
    pub estimated_fpr: f64,
    /// URLs accepted since the array was last looked at as a whole.
    pub estimate_age: u64,
    /// Pages expected to be missed *directly*: each missed page was answered "seen" though it
    /// never was. What is linked only from missed pages is missing as well and not counted.
    /// 0 unless the filter alone decides.
    pub expected_pages_missed: f64,
    /// The health in one word.
    pub verdict: Verdict,
}

impl Health {
    /// Reads a filter that was made as `sizing` says.
    pub(super) fn read(filter: &dyn Filter, sizing: &Sizing, dedup: Dedup, items: u64, missed: f64) -> Self {
        let estimate = filter.estimate();
        let (fill_ratio, design_fill) = (filter.fill_ratio(), sizing.design_fill());
        Health {
            kind: filter.kind(),
            dedup,
            bits: filter.bits(),
            bits_per_url: sizing.bits_per_url(),
            hashes: filter.hashes(),
            items,
            design_urls: sizing.urls,
            fill_ratio,
            design_fill,
            estimated_fpr: estimate.rate,
            estimate_age: estimate.age,
            expected_pages_missed: missed,
            verdict: Verdict::of(fill_ratio, design_fill),
        }
    }

    /// The verdict as a sentence: the word, what it means now, and what to do.
    pub fn sentence(&self) -> String {
        let (name, meaning) = (self.verdict.name(), self.verdict.meaning(self.dedup));
        match self.verdict.remedy(self.dedup) {
            Some(remedy) => format!("{name}: {meaning}; {remedy}"),
            None => format!("{name}: {meaning}"),
        }
    }
}

/// A verdict got worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// What it was.
    pub from: Verdict,
    /// What it is.
    pub to: Verdict,
}

/// Remembers the worst verdict, so that each crossing is told once.
#[derive(Debug, Default)]
pub(super) struct Watch {
    worst: Option<Verdict>,
}

impl Watch {
    pub(super) fn look(&mut self, now: Verdict) -> Option<Crossing> {
        let from = self.worst.unwrap_or(Verdict::Good);
        if now <= from {
            return None;
        }
        self.worst = Some(now);
        Some(Crossing { from, to: now })
    }
}

/// The running sum of pages missed: for each accepted new URL, `rate / (1 − rate)` others were
/// expected to be taken for seen. The rate is reckoned anew when the number of URLs has grown by
/// one part in 256, so that counting costs next to nothing.
#[derive(Debug, Default)]
pub(super) struct Missed {
    sum: f64,
    odds: f64,
    items: u64,
    reckoned_at: u64,
}

impl Missed {
    /// `accepted` further URLs were new to the filter.
    pub(super) fn count(&mut self, accepted: u64, filter: &dyn Filter) {
        self.items += accepted;
        self.sum += accepted as f64 * self.odds;
        let since = self.items - self.reckoned_at;
        if since > self.reckoned_at / 256 {
            // what came in between was counted at the odds before: it gets the mean of both
            let now = odds(filter.estimate().rate);
            self.sum += since as f64 * (now - self.odds) / 2.0;
            self.start_from(now);
        }
    }

    /// Goes on from a sum, over so many URLs accepted.
    pub(super) fn resume(sum: f64, items: u64) -> Self {
        Missed { sum, odds: 0.0, items, reckoned_at: items }
    }

    /// The filter was replaced: what comes is counted at its rate.
    pub(super) fn restart(&mut self, filter: &dyn Filter) {
        self.start_from(odds(filter.estimate().rate));
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum
    }

    fn start_from(&mut self, odds: f64) {
        self.odds = odds;
        self.reckoned_at = self.items;
    }
}

/// A rate of 1 accepts nothing; the bound keeps the sum finite.
fn odds(rate: f64) -> f64 {
    rate / (1.0 - rate).max(1e-9)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_crossing_is_told_once() {
        let mut watch = Watch::default();
        assert_eq!(watch.look(Verdict::Good), None);
        assert_eq!(watch.look(Verdict::Full), Some(Crossing { from: Verdict::Good, to: Verdict::Full }));
        assert_eq!(watch.look(Verdict::Full), None);
        assert_eq!(watch.look(Verdict::Good), None);
        assert_eq!(watch.look(Verdict::Full), None);
        assert_eq!(
            watch.look(Verdict::Overfull),
            Some(Crossing { from: Verdict::Full, to: Verdict::Overfull })
        );
    }

    #[test]
    fn verdicts_follow_the_fill() {
        assert_eq!(Verdict::of(0.45, 0.4512), Verdict::Good);
        assert_eq!(Verdict::of(0.46, 0.4512), Verdict::Full);
        assert_eq!(Verdict::of(0.61, 0.4512), Verdict::Overfull);
        assert_eq!(Verdict::of(0.62, 0.632), Verdict::Good);
        assert_eq!(Verdict::of(0.64, 0.632), Verdict::Overfull);
    }
}
