//! One suite for every filter, one for every exact stage, and the whole set against a model.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

#[path = "tests/doubles.rs"]
mod doubles;

use self::doubles::{Durable, Hasty};
use super::*;
use crate::config::{Dedup, FilterKind};
use crate::model::{Candidate, UrlKey, Via};

/// Well-mixed distinct keys, as hashes of distinct URLs are.
pub(super) fn keys(from: u64, count: u64) -> Vec<UrlKey> {
    (from..from + count)
        .map(|number| {
            let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        })
        .collect()
}

/// Few distinct keys that come again and again, and edge values.
pub(super) fn some_keys() -> impl Strategy<Value = Vec<UrlKey>> {
    let key = prop_oneof![
        4 => (0..300_u64).prop_map(|number| keys(number, 1)[0]),
        1 => any::<u64>(),
        1 => prop::sample::select(vec![0, 1, u64::MAX, 1 << 63, u64::from(u32::MAX)]),
    ];
    prop::collection::vec(key, 0..700)
}

type Maker = Box<dyn Fn(u64, u32) -> Box<dyn Filter>>;

fn every_filter() -> Vec<Maker> {
    let blocked = InstructionSet::available().iter().map(|set| -> Maker {
        Box::new(|bits, hashes| Box::new(BlockedFilter::with_instruction_set(bits, hashes, *set).unwrap()))
    });
    let classic: Maker = Box::new(|bits, hashes| Box::new(ClassicFilter::new(bits, hashes).unwrap()));
    blocked.chain([classic]).collect()
}

proptest! {
    #[test]
    fn filter_batches_are_one_by_one(keys in some_keys(), bits in 1..20_000_u64, hashes in 1..9_u32) {
        for make in every_filter() {
            let (mut batched, mut single) = (make(bits, hashes), make(bits, hashes));
            let (mut new, mut one) = (vec![true; 9], Vec::new());
            batched.test_and_set_batch(&keys, &mut new);
            prop_assert_eq!(new.len(), keys.len());
            let mut seen = HashSet::new();
            for (key, new) in keys.iter().zip(&new) {
                // before it was inserted, "not there" is what "new" will say
                prop_assert_eq!(*new, !single.contains(*key));
                single.test_and_set_batch(&[*key], &mut one);
                prop_assert_eq!(&one[..], &[*new]);
                prop_assert!(!new || seen.insert(*key), "new twice");
            }
            prop_assert!(keys.iter().all(|key| batched.contains(*key)), "a false negative");
            prop_assert_eq!(batched.items(), new.iter().filter(|new| **new).count() as u64);
            prop_assert_eq!((batched.bits(), batched.hashes()), (single.bits(), single.hashes()));
            let mut rebuilt = make(bits, hashes);
            rebuilt.insert_batch(&keys);
            prop_assert_eq!(rebuilt.items(), batched.items());
            batched.clear();
            prop_assert!(keys.iter().all(|key| !batched.contains(*key)));
            prop_assert_eq!((batched.items(), batched.bits_set()), (0, 0));
        }
    }

    #[test]
    fn every_instruction_set_leaves_the_same_array(keys in some_keys(), blocks in 1..40_u64, hashes in 1..9_u32) {
        let mut expected = BlockedFilter::new(blocks * 512, hashes).unwrap();
        let answers: Vec<bool> = keys.iter().map(|key| expected.test_and_set(*key)).collect();
        let set: u64 = expected.words().map(|word| u64::from(word.count_ones())).sum();
        prop_assert_eq!(expected.bits_set(), set);
        for set in InstructionSet::available() {
            let mut filter = BlockedFilter::with_instruction_set(blocks * 512, hashes, *set).unwrap();
            let mut new = Vec::new();
            filter.test_and_set_batch(&keys, &mut new);
            prop_assert_eq!(&new, &answers, "{}", set.name());
            prop_assert!(filter.words().eq(expected.words()), "{}", set.name());
            prop_assert_eq!((filter.items(), filter.bits_set()), (expected.items(), expected.bits_set()));
        }
    }

    #[test]
    fn exact_keys_find_the_unseen(
        batches in prop::collection::vec((some_keys(), some_keys()), 0..6),
        batch_bytes in 1..5000_u64,
        fence_bytes in 0..200_u64,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let disk = DiskKeys::create(place(directory.path()), DiskKeysSettings { batch_bytes, fence_bytes });
        let every: [Box<dyn ExactKeys>; 2] = [Box::new(MemoryKeys::new()), Box::new(disk)];
        for mut exact in every {
            let mut model = HashSet::new();
            let mut unseen = vec![true];
            for (accepted, asked) in &batches {
                let accepted: Vec<UrlKey> = accepted.iter().copied().filter(|key| model.insert(*key)).collect();
                exact.append(&accepted).unwrap();
                exact.find_unseen(asked, &mut unseen).unwrap();
                let mut first = HashSet::new();
                let expected: Vec<bool> = asked.iter().map(|key| !model.contains(key) && first.insert(*key)).collect();
                prop_assert_eq!(&unseen, &expected);
                prop_assert_eq!(exact.len(), model.len() as u64);
            }
            let mut held = Vec::new();
            exact.for_each(&mut |keys| held.extend_from_slice(keys)).unwrap();
            prop_assert_eq!(held.len(), model.len());
            prop_assert_eq!(held.into_iter().collect::<HashSet<_>>(), model);
        }
    }

    #[test]
    fn the_set_decides_as_a_hash_set_would(
        batches in prop::collection::vec(some_keys(), 0..8),
        bits_per_url in 1..10_u32,
        table_bytes in prop_oneof![Just(0_u64), 64..2048_u64, Just(1 << 20)],
        exact_mode in any::<bool>(),
        kind in prop::sample::select(vec![Kind::Memory, Kind::Durable, Kind::Disk]),
        settle_every in 1..4_usize,
        grow_at in 0..8_usize,
    ) {
        let dedup = if exact_mode { Dedup::Exact } else { Dedup::TwoStage };
        let directory = tempfile::tempdir().unwrap();
        let mut visited = small_set(dedup, f64::from(bits_per_url), table_bytes, kind, directory.path());
        let mut model = Model::default();
        for (index, batch) in batches.iter().enumerate() {
            if index == grow_at {
                let larger = Sizing::from_bits_per_url(FilterKind::Blocked, 2000, 8.0).unwrap();
                prop_assert_eq!(visited.grow(larger).unwrap(), !exact_mode && visited.settling().is_none());
            }
            // a settlement is under way while the next keys are asked
            if index % settle_every == 0 {
                visited.freeze().unwrap();
                visited.settle(Duration::from_micros(20)).unwrap();
            }
            model.ask(&mut visited, batch)?;
            if index % settle_every == 1 {
                model.settle(&mut visited)?;
            }
        }
        model.settle(&mut visited)?;
        prop_assert!(visited.doubts().is_empty());
        let counters = *visited.counters();
        prop_assert_eq!(counters.unique(), model.every.len() as u64);
        prop_assert_eq!(counters.asked, counters.new + counters.rescued + counters.repeats);
        prop_assert_eq!(counters.pending(), 0);
        prop_assert_eq!(model.accepted.len(), model.every.len());
    }

    #[test]
    fn the_filter_alone_never_takes_a_repeat_for_new(batches in prop::collection::vec(some_keys(), 0..5), bits in 1..12_u32) {
        let mut visited = small_set(Dedup::Bloom, f64::from(bits), 0, Kind::Memory, Path::new(""));
        let mut accepted = HashSet::new();
        let mut answers = Vec::new();
        for batch in &batches {
            visited.ask(batch, &mut answers).unwrap();
            for (key, answer) in batch.iter().zip(&answers) {
                prop_assert_ne!(*answer, Answer::Doubt);
                prop_assert!(*answer == Answer::Repeat || accepted.insert(*key));
            }
        }
        prop_assert_eq!(visited.counters().unique(), accepted.len() as u64);
    }
}

/// What was asked, what was accepted and which doubts are open.
#[derive(Default)]
pub(super) struct Model {
    pub(super) every: HashSet<UrlKey>,
    pub(super) accepted: HashSet<UrlKey>,
    /// By number, from `oldest` on.
    pub(super) doubts: VecDeque<UrlKey>,
    pub(super) oldest: u64,
}

impl Model {
    pub(super) fn ask(&mut self, visited: &mut Visited, batch: &[UrlKey]) -> Result<(), TestCaseError> {
        let mut answers = vec![Answer::New];
        visited.ask(batch, &mut answers).unwrap();
        prop_assert_eq!(answers.len(), batch.len());
        let pending: HashSet<UrlKey> = self.doubts.iter().copied().collect();
        let mut doubted = HashSet::new();
        for (key, answer) in batch.iter().zip(&answers) {
            self.every.insert(*key);
            match answer {
                Answer::New => prop_assert!(self.accepted.insert(*key), "accepted twice"),
                Answer::Repeat => prop_assert!(
                    self.accepted.contains(key) || pending.contains(key) || doubted.contains(key),
                    "lost"
                ),
                Answer::Doubt => {
                    doubted.insert(*key);
                    let number = visited.doubt(&candidate(*key)).unwrap();
                    prop_assert_eq!(number, self.oldest + self.doubts.len() as u64);
                    self.doubts.push_back(*key);
                }
            }
        }
        if is_certain(visited) {
            prop_assert!(self.doubts.is_empty());
        }
        Ok(())
    }

    /// Settles everything, a settlement under way included.
    pub(super) fn settle(&mut self, visited: &mut Visited) -> Result<(), TestCaseError> {
        while visited.settling().is_some() || visited.freeze().unwrap().is_some() {
            self.step(visited)?;
        }
        Ok(())
    }

    /// Takes one step of a settlement; what was committed.
    pub(super) fn step(
        &mut self,
        visited: &mut Visited,
    ) -> Result<Option<(u64, Vec<UrlKey>)>, TestCaseError> {
        let Settling::Decided(slice, _) = visited.settle(Duration::from_micros(500)).unwrap() else {
            return Ok(None);
        };
        let mut rescued = slice.rescued.iter();
        for number in self.oldest..slice.up_to {
            let key = self.doubts.pop_front().unwrap();
            if self.accepted.insert(key) {
                let rescued = rescued.next().unwrap();
                prop_assert_eq!((rescued.number, &rescued.candidate), (number, &candidate(key)));
            }
        }
        prop_assert_eq!(rescued.next(), None);
        prop_assert_eq!(slice.decided, slice.up_to - self.oldest);
        self.oldest = slice.up_to;
        let keys: Vec<UrlKey> = slice.rescued.iter().map(|rescued| rescued.candidate.key).collect();
        visited.commit(slice.up_to, &keys).unwrap();
        prop_assert_eq!(visited.doubts().len(), self.doubts.len() as u64);
        Ok(Some((slice.up_to, keys)))
    }
}

/// The candidate of a key; some share their referrer with the one before.
pub(super) fn candidate(key: UrlKey) -> Candidate {
    Candidate {
        url: format!("http://h{}.test/{key}", key % 7).into(),
        origin_length: 14,
        key,
        depth: (key % 5) as u32,
        via: Via::Link,
        hops: 0,
        carries_scope: key.is_multiple_of(3),
        referrer: (!key.is_multiple_of(4)).then(|| Arc::from(format!("http://r/{}", key % 3))),
    }
}

pub(super) fn place(directory: &Path) -> Place {
    Place { storage: Arc::new(Hasty), directory: directory.to_owned() }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Memory,
    Durable,
    Disk,
}

/// A set for 500 URLs.
fn small_set(dedup: Dedup, bits_per_url: f64, table_bytes: u64, kind: Kind, directory: &Path) -> Visited {
    let sizing = Sizing::from_bits_per_url(FilterKind::Blocked, 500, bits_per_url).unwrap();
    let settings = VisitedSettings { dedup, sizing, table_bytes };
    match kind {
        Kind::Memory => Visited::new(&settings, Box::new(MemoryKeys::new())).unwrap(),
        Kind::Durable => Visited::new(&settings, Box::new(Durable(MemoryKeys::new()))).unwrap(),
        Kind::Disk => Visited::create(&settings, &little_memory(directory)).unwrap(),
    }
}

/// Everything spills at once.
pub(super) fn little_memory(directory: &Path) -> DiskSettings {
    DiskSettings {
        place: place(directory),
        keys: DiskKeysSettings { batch_bytes: 1000, fence_bytes: 50 },
        doubts_bytes: 3000,
        settle_bytes: 2000,
    }
}

#[test]
fn fill_and_rate_are_what_they_must_be() {
    const URLS: u64 = 100_000;
    for kind in [FilterKind::Blocked, FilterKind::Classic] {
        let sizing = Sizing::from_bits_per_url(kind, URLS, 8.0).unwrap();
        let mut filter = build(&sizing).unwrap();
        for load in 1..=2 {
            filter.insert_batch(&keys((load - 1) * URLS, URLS));
            let reckoned = filter.fill_ratio();
            let before = filter.estimate().rate;
            assert!(filter.refresh(usize::MAX));
            let fill = filter.fill_ratio();
            assert!((reckoned / fill - 1.0).abs() < 0.005, "{kind:?}: {reckoned} {fill}");
            assert!((fill / rates::expected_fill(sizing.hashes, 8.0 / load as f64) - 1.0).abs() < 0.005);
            // half a million questions: 2 per cent is three deviations or more at these rates
            let asked = keys(1 << 40, 500_000);
            let measured =
                asked.iter().filter(|key| filter.contains(**key)).count() as f64 / asked.len() as f64;
            for rate in [before, filter.estimate().rate, sizing.rate_at(load * URLS)] {
                assert!((rate / measured - 1.0).abs() < 0.04, "{kind:?} at load {load}: {rate} {measured}");
            }
        }
    }
}

#[test]
fn pages_missed_are_as_many_as_expected() {
    let sizing = Sizing::from_bits_per_url(FilterKind::Blocked, 50_000, 6.0).unwrap();
    let settings = VisitedSettings { dedup: Dedup::Bloom, sizing, table_bytes: 0 };
    let mut visited = Visited::new(&settings, Box::new(MemoryKeys::new())).unwrap();
    let mut answers = Vec::new();
    for batch in keys(0, 100_000).chunks(40) {
        visited.ask(batch, &mut answers).unwrap();
    }
    let missed = visited.counters().repeats as f64;
    let health = visited.health().unwrap();
    assert!(missed > 5000.0, "{missed}");
    assert!((health.expected_pages_missed / missed - 1.0).abs() < 0.05, "{missed} {health:?}");
    assert_eq!(health.items + visited.counters().repeats, 100_000);
    assert_eq!(health.verdict, Verdict::Overfull);
    assert!(health.sentence().starts_with("overfull: many pages are missed; "));
    assert!(!visited.grow(sizing).unwrap(), "nobody has the keys");
}

/// Whether every answer is decided at once, so that no doubt can arise (yet).
fn is_certain(visited: &Visited) -> bool {
    visited.dedup() == Dedup::Bloom || visited.table.is_complete()
}

#[test]
fn a_small_crawl_is_certain_and_holds_its_keys_once() {
    let mut visited = small_set(Dedup::TwoStage, 1.0, 1 << 24, Kind::Memory, Path::new(""));
    let mut answers = Vec::new();
    let all = keys(0, 5000);
    visited.ask(&all, &mut answers).unwrap();
    assert!(answers.iter().all(|answer| *answer == Answer::New));
    visited.ask(&all, &mut answers).unwrap();
    assert!(answers.iter().all(|answer| *answer == Answer::Repeat));
    assert!(is_certain(&visited));
    assert!(visited.counters().confirmed > 1000, "the filter is hopelessly overfull");
    // filter 64 bytes, table 5000 keys in 128 KiB: no second copy
    assert!(visited.memory_bytes() < 140_000, "{}", visited.memory_bytes());
    assert_eq!(visited.health().unwrap().expected_pages_missed.to_bits(), 0.0_f64.to_bits());
}

#[test]
fn doubts_arise_and_are_settled_once_the_table_is_full() {
    let mut visited = small_set(Dedup::TwoStage, 2.0, 1024, Kind::Memory, Path::new(""));
    let mut model = Model::default();
    for batch in keys(0, 20_000).chunks(40) {
        model.ask(&mut visited, batch).unwrap();
    }
    assert!(!is_certain(&visited));
    assert!(visited.counters().pending() > 10_000);
    model.settle(&mut visited).unwrap();
    assert_eq!(visited.counters().unique(), 20_000);
    assert!(visited.counters().rescued > 10_000);
    // one step at a time would be told one at a time; here both were taken at once
    let crossing = visited.take_crossing().unwrap();
    assert_eq!((crossing.from, crossing.to), (Verdict::Good, Verdict::Overfull));
    assert_eq!(visited.take_crossing(), None);
    assert!(visited.health().unwrap().sentence().contains("no page is missed"));
}

#[test]
fn many_keys_go_through_tiers() {
    let mut exact = MemoryKeys::new();
    for batch in keys(0, 300_000).chunks(5000) {
        exact.append(batch).unwrap();
    }
    let mut unseen = Vec::new();
    exact.find_unseen(&keys(299_990, 20), &mut unseen).unwrap();
    assert_eq!(unseen, [vec![false; 10], vec![true; 10]].concat());
    exact.find_unseen(&keys(0, 600_000), &mut unseen).unwrap();
    assert_eq!(unseen.iter().filter(|unseen| **unseen).count(), 300_000);
    let mut seen = 0;
    exact.for_each(&mut |keys| seen += keys.len()).unwrap();
    assert_eq!((seen as u64, exact.len()), (300_000, 300_000));
    assert!(exact.memory_bytes() < 300_000 * 9);
}
