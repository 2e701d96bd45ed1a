//! Looking at all candidates: for whoever asks what has become of a page, or whether all is as it was written.
//!
//! Reads every block, one at a time, and changes nothing. What is in the memtable is not looked at:
//! a frontier that was just restored has nothing there.

use std::sync::Arc;

use super::DiskFrontier;
use super::block::{BadBlock, Entry, Run, Runs, open_block};
use super::lanes::LaneKey;
use crate::frontier::{Claimed, FrontierError};
use crate::model::UrlKey;
use crate::store::{Malformed, StateError};

impl DiskFrontier {
    /// The candidates in segments that have this key and are not acknowledged.
    ///
    /// # Errors
    /// Where a segment cannot be read or is damaged.
    pub fn find(&self, key: UrlKey) -> Result<Vec<Claimed>, FrontierError> {
        let mut found = Vec::new();
        self.each_block(|raw| find_in(raw, key, &mut found))?;
        found.retain(|claimed| {
            let lane = self.lanes.get(LaneKey::of(claimed.ticket));
            lane.is_some_and(|lane| !lane.is_acknowledged(claimed.ticket.sequence))
        });
        Ok(found)
    }

    /// Reads and checks all blocks of all segments.
    ///
    /// # Errors
    /// Where a segment cannot be read or is damaged.
    pub fn verify(&self) -> Result<(), FrontierError> {
        self.each_block(|_| Ok(()))
    }

    /// Shows each block, decompressed.
    fn each_block(&self, mut visit: impl FnMut(&[u8]) -> Result<(), Malformed>) -> Result<(), FrontierError> {
        let (mut page, mut block, mut raw) = (Vec::new(), Vec::new(), Vec::new());
        for segment in &self.files.segments {
            for number in 0..segment.fences.len() {
                segment.read_page(number, &mut page)?;
                let mut runs = segment.page_runs(number, &page)?;
                let mut last = None;
                while let Some((place, _)) = segment.damage(number, runs.next())? {
                    if last.replace(place) == Some(place) {
                        continue;
                    }
                    segment.read_block(place, &mut block)?;
                    let damaged = |problem| StateError::damaged(&segment.path, place.offset, problem);
                    open_block(&block, &mut raw).map_err(|BadBlock(problem)| damaged(problem))?;
                    visit(&raw).map_err(|Malformed| damaged("a block does not hold what it should"))?;
                }
            }
        }
        Ok(())
    }
}

/// Appends what a block holds under a key.
fn find_in(raw: &[u8], key: UrlKey, found: &mut Vec<Claimed>) -> Result<(), Malformed> {
    let mut runs = Runs::of(raw)?;
    while let Some(Run { lane, mut entries }) = runs.next()? {
        while let Some(entry) = entries.next()? {
            if entry.key == key {
                found.push(claimed(lane, &entry)?);
            }
        }
    }
    Ok(())
}

fn claimed(lane: LaneKey, entry: &Entry<'_>) -> Result<Claimed, Malformed> {
    let text = entry.referrer.map(str::from_utf8).transpose().map_err(|_| Malformed)?;
    let candidate = entry.parts()?.candidate(text.map(Arc::from))?;
    Ok(Claimed { ticket: lane.ticket(entry.sequence), candidate })
}
