//! The whole set on disk against a model, through crashes, damage and failures.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::tests::{Model, candidate, keys, little_memory, some_keys};
use super::*;
use crate::config::{Dedup, FilterKind};
use crate::model::UrlKey;
use crate::store::{Decoder, Encoder, StateError};

#[derive(Debug, Clone)]
enum Step {
    Ask(Vec<UrlKey>),
    Freeze,
    Settle,
    Idle,
    Grow,
    Checkpoint,
    /// Whether a manifest was written on the way, and if so, whether it was told.
    Crash(Option<bool>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => some_keys().prop_map(Step::Ask),
        2 => Just(Step::Freeze),
        6 => Just(Step::Settle),
        1 => Just(Step::Idle),
        1 => Just(Step::Grow),
        1 => Just(Step::Checkpoint),
        2 => prop::option::of(any::<bool>()).prop_map(Step::Crash),
    ]
}

/// What the engine keeps beside: the records of its log since the manifest, and the manifest.
enum Logged {
    New(Vec<UrlKey>),
    Doubt(u64, UrlKey),
    Commit(u64, Vec<UrlKey>),
}

struct Crawl<'a> {
    directory: &'a Path,
    settings: VisitedSettings,
    visited: Visited,
    model: Model,
    log: Vec<Logged>,
    manifest: Vec<u8>,
}

fn sizing(urls: u64) -> Sizing {
    Sizing::from_bits_per_url(FilterKind::Blocked, urls, 2.0).unwrap()
}

impl<'a> Crawl<'a> {
    fn new(directory: &'a Path, dedup: Dedup, table_bytes: u64) -> Self {
        let settings = VisitedSettings { dedup, sizing: sizing(200), table_bytes };
        let visited = Visited::create(&settings, &little_memory(directory)).unwrap();
        let mut crawl = Crawl {
            directory,
            settings,
            visited,
            model: Model::default(),
            log: Vec::new(),
            manifest: Vec::new(),
        };
        crawl.checkpoint(Some(true));
        crawl
    }

    fn ask(&mut self, batch: &[UrlKey]) -> Result<(), TestCaseError> {
        let (accepted, next) = (self.model.accepted.clone(), self.visited.doubts().next_number());
        self.model.ask(&mut self.visited, batch)?;
        self.log.push(Logged::New(self.model.accepted.difference(&accepted).copied().collect()));
        let fresh = self.model.doubts.iter().skip((next - self.model.oldest) as usize);
        self.log.extend((next..).zip(fresh).map(|(number, key)| Logged::Doubt(number, *key)));
        Ok(())
    }

    fn settle(&mut self) -> Result<(), TestCaseError> {
        if let Some((up_to, keys)) = self.model.step(&mut self.visited)? {
            self.log.push(Logged::Commit(up_to, keys));
        }
        Ok(())
    }

    /// `done`: whether the manifest gets written, and whether that is told.
    fn checkpoint(&mut self, done: Option<bool>) {
        self.visited.prepare_checkpoint().unwrap();
        let Some(told) = done else { return };
        self.manifest.clear();
        self.visited.encode_state(&mut Encoder(&mut self.manifest));
        self.log.clear();
        if told {
            self.visited.checkpoint_done().unwrap();
        }
    }

    fn recover(&mut self) {
        let mut decoder = Decoder(&self.manifest);
        let disk = little_memory(self.directory);
        self.visited = Visited::restore(&self.settings, &sizing(2000), &disk, &mut decoder).unwrap();
        assert!(decoder.is_empty());
        let named: HashSet<String> = self.visited.named_files().into_iter().collect();
        for name in files(self.directory).difference(&named) {
            std::fs::remove_file(self.directory.join(name)).unwrap();
        }
        for record in &self.log {
            match record {
                Logged::New(keys) => self.visited.replay_new(keys).unwrap(),
                Logged::Doubt(number, key) => {
                    assert!(!self.visited.replay_doubt(number + 1, &candidate(*key)).unwrap());
                    assert!(self.visited.replay_doubt(*number, &candidate(*key)).unwrap());
                }
                Logged::Commit(up_to, keys) => self.visited.commit(*up_to, keys).unwrap(),
            }
        }
        self.checkpoint(Some(true));
        let named: HashSet<String> = self.visited.named_files().into_iter().collect();
        assert!(named.is_subset(&files(self.directory)));
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Ask(batch) => self.ask(batch)?,
            Step::Freeze => drop(self.visited.freeze().unwrap()),
            Step::Settle => self.settle()?,
            Step::Idle => drop(self.visited.idle_work(Duration::from_nanos(700)).unwrap()),
            Step::Grow => drop(self.visited.grow_if_full(&sizing(2000)).unwrap()),
            Step::Checkpoint => self.checkpoint(Some(true)),
            Step::Crash(manifest) => {
                if manifest.is_some() {
                    self.checkpoint(*manifest);
                }
                self.recover();
            }
        }
        Ok(())
    }
}

fn files(directory: &Path) -> HashSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

proptest! {
    #[test]
    fn nothing_is_lost_or_doubled_through_crashes(
        steps in prop::collection::vec(step(), 0..60),
        exact_mode in any::<bool>(),
        table_bytes in prop_oneof![Just(0_u64), 64..2048_u64, Just(1 << 20)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let dedup = if exact_mode { Dedup::Exact } else { Dedup::TwoStage };
        let mut crawl = Crawl::new(directory.path(), dedup, table_bytes);
        for step in &steps {
            crawl.take(step)?;
        }
        while crawl.visited.settling().is_some() || crawl.visited.freeze().unwrap().is_some() {
            crawl.settle()?;
        }
        prop_assert_eq!(&crawl.model.accepted, &crawl.model.every);
        prop_assert_eq!(crawl.visited.counters().unique(), crawl.model.every.len() as u64);
        while crawl.visited.idle_work(Duration::from_millis(1)).unwrap() {}
        // what an earlier manifest names goes once a later one does not
        crawl.checkpoint(Some(true));
        while crawl.visited.idle_work(Duration::from_millis(1)).unwrap() {}
        crawl.checkpoint(Some(true));
        let named: HashSet<String> = crawl.visited.named_files().into_iter().collect();
        prop_assert_eq!(files(directory.path()), named);
    }

    #[test]
    fn the_filter_alone_comes_back_from_the_keys(batches in prop::collection::vec(some_keys(), 1..5)) {
        let directory = tempfile::tempdir().unwrap();
        let mut crawl = Crawl::new(directory.path(), Dedup::Bloom, 0);
        let (mut answers, mut accepted) = (Vec::new(), Vec::new());
        for batch in &batches {
            crawl.visited.ask(batch, &mut answers).unwrap();
            let new = batch.iter().zip(&answers).filter(|(_, answer)| **answer == Answer::New);
            accepted.extend(new.map(|(key, _)| *key));
        }
        let before = (crawl.visited.counters().unique(), crawl.visited.health().unwrap().fill_ratio.to_bits());
        crawl.checkpoint(Some(true));
        crawl.recover();
        prop_assert_eq!((crawl.visited.counters().unique(), crawl.visited.health().unwrap().fill_ratio.to_bits()), before);
        crawl.visited.ask(&accepted, &mut answers).unwrap();
        prop_assert!(answers.iter().all(|answer| *answer == Answer::Repeat));
    }

    #[test]
    fn damage_is_named_and_never_believed(flips in prop::collection::vec((any::<usize>(), any::<usize>(), 0..9_u8), 24)) {
        let directory = tempfile::tempdir().unwrap();
        let mut crawl = Crawl::new(directory.path(), Dedup::Exact, 0);
        crawl.ask(&keys(0, 700))?;
        crawl.model.settle(&mut crawl.visited)?;
        crawl.ask(&keys(500, 1200))?;
        crawl.checkpoint(Some(true));
        let mut names: Vec<String> = crawl.visited.named_files();
        names.sort();
        prop_assert!(names.iter().any(|name| name.starts_with("doubts-")) && names.len() > 4, "{:?}", names);
        for (file, place, bit) in flips {
            let path = directory.path().join(&names[file % names.len()]);
            let whole = std::fs::read(&path).unwrap();
            let mut bytes = whole.clone();
            let place = place % bytes.len();
            match bit {
                8 => bytes.truncate(place),
                bit => bytes[place] ^= 1 << bit,
            }
            std::fs::write(&path, &bytes).unwrap();
            if let Err(error) = crawl.read_again() {
                match error {
                    StateError::Damaged { file, offset, .. } => {
                        prop_assert_eq!(file, path.clone());
                        prop_assert!(offset <= whole.len() as u64);
                    }
                    StateError::Newer { file, .. } | StateError::Older { file, .. } => prop_assert_eq!(file, path.clone()),
                    other @ StateError::Io { .. } => prop_assert!(false, "{}", other),
                }
            } else {
                // only a block of candidates that nobody needs may be damaged unseen
                prop_assert!(bit < 8 && path.to_string_lossy().contains("doubts-"));
            }
            std::fs::write(&path, &whole).unwrap();
        }
        prop_assert!(crawl.read_again().is_ok());
    }
}

impl Crawl<'_> {
    /// Restores and settles everything, without changing a file of the manifest; what comes of
    /// it must be right.
    fn read_again(&self) -> Result<(), StateError> {
        let disk = little_memory(self.directory);
        let mut visited =
            Visited::restore(&self.settings, &sizing(2000), &disk, &mut Decoder(&self.manifest))
                .map_err(state)?;
        visited.freeze().map_err(|error| error.0)?;
        let mut unseen: HashSet<UrlKey> = self.model.doubts.iter().copied().collect();
        unseen.retain(|key| !self.model.accepted.contains(key));
        loop {
            match visited.settle(Duration::from_millis(1)).map_err(|error| error.0)? {
                Settling::Idle => break,
                Settling::LookedUp(_) => {}
                Settling::Decided(slice, _) => {
                    let found: Vec<UrlKey> = slice.rescued.iter().map(|found| found.candidate.key).collect();
                    for rescued in &slice.rescued {
                        assert!(unseen.remove(&rescued.candidate.key), "rescued wrongly, or twice");
                        assert_eq!(rescued.candidate, candidate(rescued.candidate.key));
                    }
                    // nothing is spilled, so nothing is written: the keys stay in the batch
                    visited.commit(slice.up_to, &[]).map_err(|error| error.0)?;
                    drop(found);
                }
            }
            if visited.settling().is_none() && visited.freeze().map_err(|error| error.0)?.is_none() {
                break;
            }
        }
        assert!(unseen.is_empty(), "lost");
        Ok(())
    }
}

fn state(error: RestoreError) -> StateError {
    match error {
        RestoreError::Exact(ExactError(error)) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn after_an_error_everything_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("gone");
    let settings = VisitedSettings { dedup: Dedup::Exact, sizing: sizing(200), table_bytes: 0 };
    let mut visited = Visited::create(&settings, &little_memory(&place)).unwrap();
    let error = visited.replay_new(&keys(0, 500)).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
    std::fs::create_dir(&place).unwrap();
    for error in [
        visited.replay_new(&[1]).unwrap_err(),
        visited.prepare_checkpoint().unwrap_err(),
        visited.checkpoint_done().unwrap_err(),
        visited.idle_work(Duration::ZERO).unwrap_err(),
    ] {
        assert!(error.to_string().contains("an earlier operation failed"), "{error}");
    }
    assert!(files(&place).is_empty());
}

#[test]
fn a_state_that_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(directory.path(), Dedup::Exact, 0);
    crawl.ask(&keys(0, 900)).unwrap();
    crawl.checkpoint(Some(true));
    let disk = little_memory(directory.path());
    let whole = crawl.manifest.clone();
    for length in 0..whole.len() {
        let mut decoder = Decoder(&whole[..length]);
        assert!(Visited::restore(&crawl.settings, &sizing(200), &disk, &mut decoder).is_err());
    }
}
