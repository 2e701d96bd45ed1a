//! What the owner tells the sketches, and how they are kept: a file at each checkpoint, and in the log
//! what of the links could not be recomputed.
//!
//! ```text
//! state/sketches-N   as `stats::CrawlSketches` writes them, with the log of the same number
//! ```
//!
//! What was accepted stands in the log as it is, and what was written of pages in `pages.jsonl`: both are told
//! again when the log is replayed.

use std::path::Path;

use super::core::Core;
use crate::model::{Candidate, LinkBatch, Record};
use crate::stats::{
    Counters, CrawlPart, CrawlSketches, KeptSketches, KeptSketchesError, ObservedLinks, encode_sketches,
};
use crate::store::{StateError, Storage};
use crate::url::KeySecret;

/// The name of the file of sketches that goes with a log.
pub(crate) fn sketches_name(log: u64) -> String {
    format!("sketches-{log}")
}

/// What tells a crawl from every other one; its secret cannot be told from it.
pub(super) fn crawl_id(secret: &KeySecret) -> u64 {
    secret.key("which crawl this is")
}

/// Writes the file of sketches that goes with a log, and syncs it; how many bytes it has. Its place in the directory
/// is not synced.
pub(super) fn write(
    storage: &dyn Storage,
    directory: &Path,
    log: u64,
    (secret, counters): (&KeySecret, &Counters),
    sketches: &CrawlSketches,
) -> Result<u64, StateError> {
    let path = directory.join(sketches_name(log));
    let canonicalization = String::new();
    let part = CrawlPart { id: crawl_id(secret), records: counters.records(), canonicalization };
    let bytes = encode_sketches(&[part], sketches);
    let mut file = storage.create(&path).map_err(StateError::io(&path))?;
    file.append(&bytes).and_then(|()| file.sync()).map_err(StateError::io(&path))?;
    Ok(bytes.len() as u64)
}

/// Bytes of a file of sketches at most: more than any options make.
const MOST_BYTES: u64 = 64 << 20;

/// Reads the file of sketches that goes with a log.
pub(super) fn read(
    storage: &dyn Storage,
    directory: &Path,
    log: u64,
) -> Result<KeptSketches, KeptSketchesError> {
    let path = directory.join(sketches_name(log));
    let file = storage.open(&path).map_err(StateError::io(&path))?;
    let length = file.length().map_err(StateError::io(&path))?;
    if length > MOST_BYTES {
        return Err(StateError::damaged(&path, MOST_BYTES, "it is longer than any such file").into());
    }
    let mut bytes = vec![0; length as usize];
    file.read_at(0, &mut bytes).map_err(StateError::io(&path))?;
    KeptSketches::decode(&path, &bytes)
}

impl Core {
    /// Takes note of links that were met, whatever becomes of them.
    pub(super) fn note_links(&mut self, batch: &LinkBatch) {
        let mut observed = std::mem::take(&mut self.observed);
        observed.take(batch);
        if !observed.is_empty() {
            self.sketches.links(&observed, Some(batch));
            self.journal.observed(&observed);
        }
        self.observed = observed;
    }

    /// Takes note of a URL that was accepted.
    pub(super) fn note_unique(&mut self, candidate: &Candidate) {
        self.sketches.unique(&candidate.url);
    }

    /// Takes note of what is written of a page.
    pub(super) fn note_record(&mut self, record: &Record) {
        self.sketches.record(record);
    }

    /// What a log says of links.
    pub(super) fn replay_observed(&mut self, observed: &ObservedLinks) {
        self.sketches.links(observed, None);
    }

    /// What `pages.jsonl` says of a page that a log names.
    pub(super) fn replay_page(&mut self, line: &[u8]) {
        // the line was held against its checksum: what is no record was none when it was written
        if let Ok(record) = serde_json::from_slice(line) {
            self.sketches.record(&record);
        }
    }
}
