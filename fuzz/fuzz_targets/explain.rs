//! A crawl directory, its files as they were written or not: what is told of it, by `status`, `explain` and
//! `near-duplicates`, is an answer or an error.
#![no_main]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use dragline::engine::{Explanation, NearDuplicates, Search, Status};
use dragline::model::Record;
use dragline_fuzz::{Files, crawls, lay, peak_of};
use libfuzzer_sys::fuzz_target;

/// Bytes that a look may take beside the files. Tables of hosts and queues are made for a crawl of 24 MiB.
const LOOK_BYTES: usize = 24 << 20;

const URLS: [&str; 3] =
    ["http://h0.test/", "http://h1.test/shop/13.html", "http://h1.test/a/b/c/d/e/f/g/too-deep"];

thread_local! {
    /// What stands in the directory.
    static THERE: RefCell<Files> = RefCell::new(Files::default());
}

/// A directory of this process.
fn directory() -> PathBuf {
    let place = std::env::var_os("DRAGLINE_FUZZ_DIRECTORY").map_or_else(std::env::temp_dir, PathBuf::from);
    place.join(format!("dragline-fuzz-{}", std::process::id()))
}

/// Writes what differs from the input before.
fn write(directory: &Path, files: Files) {
    THERE.with_borrow_mut(|there| {
        if there.0.is_empty() {
            for folder in ["state/frontier", "state/visited"] {
                fs::create_dir_all(directory.join(folder)).expect("a directory");
            }
        }
        for path in there.0.keys().filter(|path| !files.0.contains_key(*path)) {
            fs::remove_file(directory.join(path)).expect("deleted");
        }
        for (path, content) in files.0.iter().filter(|(path, content)| there.0.get(*path) != Some(content)) {
            fs::write(directory.join(path), content).expect("written");
        }
        *there = files;
    });
}

/// A record that is read and written says the same.
fn records(pages: &[u8]) {
    for line in pages.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { continue };
        let written = serde_json::to_vec(&record).expect("JSON");
        assert_eq!(serde_json::from_slice::<Record>(&written).expect("a record"), record);
    }
}

fuzz_target!(init: lay(|| crawls().iter().map(Files::to_input).collect()), |bytes: &[u8]| {
    let (files, directory) = (Files::parse(bytes), directory());
    records(files.0.get(Path::new("pages.jsonl")).map_or(&[], Vec::as_slice));
    write(&directory, files);
    let ((), peak) = peak_of(|| {
        drop(Status::read(&directory));
        let url = URLS[bytes.len() % URLS.len()];
        if let Ok(explanation) = Explanation::of(url, &directory) {
            assert!(!explanation.canonical.is_empty());
        }
        if let Ok(found) = NearDuplicates::find(&directory, Search { distance: 3, memory: 64 << 20 }) {
            let members = found.groups().map(|group| found.members(&group).filter(Result::is_ok).count());
            assert_eq!(members.sum::<usize>() as u64, found.grouped(), "every page can be shown");
        }
    });
    assert!(peak <= LOOK_BYTES + 300 * bytes.len(), "{peak} bytes for files of {}", bytes.len());
});
