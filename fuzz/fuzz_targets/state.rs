//! The state of a crawl, its files as they were written or not: going on from it either fails or makes a crawl that
//! goes on, whose own state is one that can be gone on from.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use dragline::engine::SetupError;
use dragline::engine::probe::{Answered, KeptProbe};
use dragline::stats::Counters;
use dragline_fuzz::{Files, MemoryDisk, crawls, lay, links, options, peak_of, seeds};
use libfuzzer_sys::fuzz_target;

const DIRECTORY: &str = "crawl";
/// Pages that a crawl which goes on is asked for.
const PAGES: u64 = 24;
/// Bytes that going on may take beside the files.
const CORE_BYTES: usize = 24 << 20;

fn resume(disk: &MemoryDisk) -> Result<KeptProbe, SetupError> {
    KeptProbe::resume(Arc::new(disk.clone()), Path::new(DIRECTORY), &options(), &seeds())
}

/// Goes on; what the disk holds of it may turn out to be damaged at any moment.
fn go_on(probe: &mut KeptProbe) -> bool {
    for page in 0..PAGES {
        match probe.page(&links(page + 100), Answered::Well) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => return false,
        }
    }
    probe.checkpoint().is_ok()
}

/// What was counted, by slot; what never happened is not kept.
fn counts(probe: &KeptProbe) -> Vec<(u64, u64)> {
    let mut counts = Vec::new();
    probe.counters().clone().since(&mut Counters::default(), |slot, count| counts.push((slot, count)));
    counts
}

/// What is kept can be gone on from, and is what was kept.
fn comes_back(disk: &MemoryDisk, probe: &KeptProbe) {
    let again = resume(disk).unwrap_or_else(|error| panic!("what was kept cannot be gone on from: {error}"));
    assert_eq!(counts(&again), counts(probe));
    assert_eq!(again.waiting(), probe.waiting());
}

fuzz_target!(init: lay(|| crawls().iter().map(Files::to_input).collect()), |bytes: &[u8]| {
    let disk = Files::parse(bytes).on_disk(Path::new(DIRECTORY));
    let (probe, peak) = peak_of(|| resume(&disk));
    assert!(peak <= CORE_BYTES + 300 * bytes.len(), "{peak} bytes for files of {}", bytes.len());
    let Ok(mut probe) = probe else { return };
    if probe.checkpoint().is_err() {
        return;
    }
    comes_back(&disk, &probe);
    if go_on(&mut probe) {
        comes_back(&disk, &probe);
    }
});
