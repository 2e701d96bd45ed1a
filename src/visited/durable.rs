//! How the visited set comes through a crash.
//!
//! The exact keys and the doubts are on disk; filter and table are made anew from them. Files are
//! written whenever memory is full, without anybody being told: a crash makes those files garbage,
//! and the log brings back what was in them.
//!
//! ```text
//! checkpoint    prepare_checkpoint() · encode_state() into the manifest · write it · checkpoint_done()
//! recovery      delete the files that no named_files() tells of · restore() · for each record of the
//!               log, in order: replay_new(keys), replay_doubt(number, candidate), commit(up_to, rescued)
//! ```
//!
//! Neither freeze nor look-up stands in the state: a doubt is pending until a commit retires it. Nothing may
//! be asked, doubted or committed from `prepare_checkpoint` to `checkpoint_done`. After an error
//! of any call the set must not be used.

use std::time::Duration;

use super::doubts::Doubts;
use super::exact::ExactError;
use super::health::Missed;
use super::runs::{DiskKeys, DiskKeysSettings};
use super::set::{Counters, Visited, VisitedSettings, larger};
use super::shelf::{Place, RestoreError};
use super::sizing::Sizing;
use crate::config::Dedup;
use crate::model::{Candidate, UrlKey};
use crate::store::{Decoder, Encoder, Malformed};

/// Where the visited set keeps its files, and what it may hold of them in memory.
#[derive(Debug, Clone)]
pub struct DiskSettings {
    /// Where the files are; the directory must exist.
    pub place: Place,
    /// The exact keys.
    pub keys: DiskKeysSettings,
    /// Bytes of doubts that wait in memory.
    pub doubts_bytes: u64,
    /// Bytes that settling may take. Half is a bitmap: one settlement decides four doubts a byte.
    pub settle_bytes: u64,
}

impl Visited {
    /// An empty set on disk.
    ///
    /// # Errors
    /// Memory for filter or table cannot be had.
    pub fn create(settings: &VisitedSettings, disk: &DiskSettings) -> std::io::Result<Self> {
        let exact = DiskKeys::create(disk.place.clone(), disk.keys);
        let mut visited = Visited::new(settings, Box::new(exact))?;
        visited.doubts = Doubts::on_disk(disk.place.clone(), disk.doubts_bytes);
        visited.settle_bytes = disk.settle_bytes;
        Ok(visited)
    }

    /// Takes up the state that a manifest tells of. Reads every key once, to fill filter and table;
    /// in two-stage mode the filter is made as large as the keys need and `largest` allows.
    ///
    /// # Errors
    /// A file is missing or damaged, the state makes no sense, or memory cannot be had.
    pub fn restore(
        settings: &VisitedSettings,
        largest: &Sizing,
        disk: &DiskSettings,
        decoder: &mut Decoder<'_>,
    ) -> Result<Self, RestoreError> {
        let (counters, missed) = decode_counters(decoder)?;
        let mut settings = *settings;
        while settings.dedup == Dedup::TwoStage
            && let Some(sizing) = larger(&settings.sizing, largest, counters.unique())
        {
            settings.sizing = sizing;
        }
        let mut visited = Visited::create(&settings, disk).map_err(RestoreError::Memory)?;
        let exact = DiskKeys::restore(disk.place.clone(), disk.keys, decoder, &mut |keys| {
            visited.mark(keys);
            Ok(())
        })?;
        visited.exact = Box::new(exact);
        visited.doubts = Doubts::restore(disk.place.clone(), disk.doubts_bytes, decoder)?;
        visited.counters = counters;
        if let Some(filter) = visited.filter.as_deref() {
            visited.missed = Missed::resume(missed, counters.unique());
            visited.missed.restart(filter);
        }
        Ok(visited)
    }

    /// Appends the state for the manifest, as of [`Visited::prepare_checkpoint`]: counters; the runs,
    /// each with its file and the keys in it; the doubts, with first and next number and their files.
    pub fn encode_state(&self, encoder: &mut Encoder<'_>) {
        let Counters { asked, new, confirmed, repeats, doubts, settled, rescued } = *self.counters();
        for number in [asked, new, confirmed, repeats, doubts, settled, rescued] {
            encoder.number(number);
        }
        encoder.key(self.missed.sum().to_bits());
        self.exact.encode_state(encoder);
        self.doubts.encode_state(encoder);
    }

    /// Writes what is in memory and makes every file durable, so that the state can be named.
    pub fn prepare_checkpoint(&mut self) -> Result<(), ExactError> {
        self.exact.prepare_checkpoint()?;
        self.doubts.prepare_checkpoint()
    }

    /// The manifest is durable: files that only earlier ones name are deleted as far as they are
    /// not needed.
    pub fn checkpoint_done(&mut self) -> Result<(), ExactError> {
        self.exact.checkpoint_done()?;
        self.doubts.checkpoint_done()
    }

    /// The files that the state names, by their names in the directory.
    pub fn named_files(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.exact.named_files(&mut names);
        self.doubts.named_files(&mut names);
        names
    }

    /// Bytes of the files in use. While runs are merged the new one is there beside, and what is not needed
    /// any more stays until the next checkpoint.
    pub fn disk_bytes(&self) -> u64 {
        self.exact.disk_bytes() + self.doubts.disk_bytes()
    }

    /// Merges runs for about `budget`, ahead of the keys that will pay for it; whether there was
    /// anything to do.
    pub fn idle_work(&mut self, budget: Duration) -> Result<bool, ExactError> {
        self.exact.idle_work(budget)
    }

    /// Takes in keys that a record of the log says were new.
    pub fn replay_new(&mut self, keys: &[UrlKey]) -> Result<(), ExactError> {
        self.mark(keys);
        self.exact.append(keys)?;
        self.counters.asked += keys.len() as u64;
        self.counters.new += keys.len() as u64;
        if let (Dedup::Bloom, Some(filter)) = (self.dedup(), self.filter.as_deref()) {
            self.missed.count(keys.len() as u64, filter);
        }
        Ok(())
    }

    /// Takes in a doubt that a record of the log tells of; `false`, and nothing is changed, where its
    /// number is not the next.
    pub fn replay_doubt(&mut self, number: u64, candidate: &Candidate) -> Result<bool, ExactError> {
        if number != self.doubts.next_number() {
            return Ok(false);
        }
        self.doubts.push(candidate)?;
        self.counters.asked += 1;
        self.counters.doubts += 1;
        Ok(true)
    }
}

pub(super) fn decode_counters(decoder: &mut Decoder<'_>) -> Result<(Counters, f64), Malformed> {
    let mut number = || decoder.count();
    let counters = Counters {
        asked: number()?,
        new: number()?,
        confirmed: number()?,
        repeats: number()?,
        doubts: number()?,
        settled: number()?,
        rescued: number()?,
    };
    let missed = f64::from_bits(decoder.key()?);
    Ok((counters, if missed.is_finite() { missed } else { 0.0 }))
}
