//! Each kind of state file with one bit flipped or its end cut off, before the real binary: it is refused
//! with file and offset, and no page is recorded that should not be.

use crate::chain::{Chain, log, vouched};
use crate::harness::{copy, crawl_into, dragline, records, resume};
use crate::server::{Answer, Script, Server, page};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Pages that lead to others, and how many each leads to.
const INDEX: u32 = 70;
const LINKED: u32 = 1400;

/// Few pages to fetch and very many that robots.txt forbids: state of all kinds, in little time.
fn site() -> Server {
    Server::start(
        Script::new()
            .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /closed/\n"))
            .on("/", page(&(0..INDEX).map(|index| format!("/i{index}")).collect::<Vec<_>>()))
            .rule(|request| {
                let index: u32 = request.path.strip_prefix("/i")?.parse().ok()?;
                let linked = index * LINKED..(index + 1) * LINKED;
                Some(page(&linked.map(|number| format!("/closed/{number}")).collect::<Vec<_>>()))
            }),
    )
}

/// What may be wrong with a file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// One bit of the byte at this part of the file, in thousandths.
    Flip(usize),
    /// One bit of this byte.
    FlipAt(usize),
    /// All from there on is gone.
    Cut(usize),
}

/// The damages that each file gets: in its header, its body, and its end.
const DAMAGES: [Damage; 7] = [
    Damage::Flip(0),
    Damage::Flip(350),
    Damage::Flip(700),
    Damage::Flip(1000),
    Damage::Cut(0),
    Damage::Cut(500),
    Damage::Cut(1000),
];

impl Damage {
    /// Does it to a file; a cut at its end takes one byte.
    fn inflict(self, path: &Path) {
        let mut bytes = std::fs::read(path).unwrap();
        let last = bytes.len() - 1;
        match self {
            Damage::Flip(part) => bytes[last * part / 1000] ^= 0x10,
            Damage::FlipAt(place) => bytes[place] ^= 0x10,
            Damage::Cut(part) => bytes.truncate(last * part / 1000),
        }
        std::fs::write(path, bytes).unwrap();
    }
}

/// The files of a directory whose names begin so.
fn files(directory: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(beginning);
    let mut files: Vec<PathBuf> = entries.filter(named).collect();
    files.sort();
    files
}

/// The crawl that all kinds of files are of: stopped with pages, candidates and doubts left.
fn stopped(server: &Server, output: &Path) {
    let seed = server.url("/");
    let given = [seed.as_str(), "--delay", "0s", "--allow-private", "--max-pages", "60"];
    // a filter too small, so that there are doubts, and memory for little
    let small = ["--bits-per-url", "1", "--expected-urls", "1000", "--memory", "17MiB"];
    let run = crawl_into(output, &[&given[..], &small].concat());
    assert_eq!((run.code, run.pages.len()), (Some(11), 60), "{}", run.stderr);
    assert!(run.number("urls.doubts_pending") > 1000, "{}", run.summary);
}

/// A command on a crawl directory: its exit code, and what it said.
fn said(command: &str, output: &Path, further: &[&str]) -> (Option<i32>, String) {
    let output = dragline().arg(command).arg(output).args(further).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Where a message says that a file is damaged, or that its version is unknown, which is at byte 12.
#[track_caller]
fn damaged_at(message: &str, file: &Path) -> u64 {
    let name = file.to_str().unwrap();
    let (_, rest) = message.split_once(name).unwrap_or_else(|| panic!("{name} is not named: {message}"));
    if rest.starts_with(": has format version ") {
        return 12;
    }
    let offset = rest.strip_prefix(": damaged at byte ").and_then(|rest| rest.split_once(':'));
    offset.unwrap_or_else(|| panic!("no offset in {message}")).0.parse().unwrap()
}

/// Damages the last file of a kind, in a copy of the directory for each damage.
fn refused(place: &str, beginning: &str, status: Option<i32>) {
    let server = site();
    let directory = TempDir::new().unwrap();
    let whole = directory.path().join("whole");
    stopped(&server, &whole);
    let before = records(&whole);
    for (number, damage) in DAMAGES.into_iter().enumerate() {
        let output = directory.path().join(format!("copy{number}"));
        copy(&whole, &output);
        let file = files(&output.join(place), beginning).pop().unwrap_or_else(|| panic!("no {beginning}"));
        let length = std::fs::metadata(&file).unwrap().len();
        damage.inflict(&file);
        let (code, message) = said("status", &output, &[]);
        assert_eq!(code, status, "{damage:?}: {message}");
        if code == Some(6) {
            assert!(damaged_at(&message, &file) <= length, "{damage:?}: {message}");
        }
        let (code, message) = said("resume", &output, &["--max-pages", "1000"]);
        assert_eq!(code, Some(6), "{damage:?} of {}: {message}", file.display());
        assert!(damaged_at(&message, &file) <= length, "{damage:?}: {message}");
        let after = records(&output);
        assert!(after.values().all(|times| *times == 1), "{after:?}");
        assert!(after.keys().all(|url| url == &server.url("/") || url.contains("/i")), "{after:?}");
        assert!(before.keys().all(|url| after.contains_key(url)), "records are gone");
    }
    // and with nothing wrong all is well
    let (code, message) = said("resume", &whole, &["--max-pages", "1000"]);
    assert_eq!((code, records(&whole).len()), (Some(0), INDEX as usize + 1), "{message}");
}

#[test]
fn a_damaged_manifest_is_named() {
    refused("state", "MANIFEST", Some(6));
}

#[test]
fn a_damaged_log_without_records_is_named() {
    refused("state", "log-", Some(0));
}

#[test]
fn a_damaged_segment_is_named() {
    refused("state/frontier", "", Some(0));
}

#[test]
fn a_damaged_run_of_keys_is_named() {
    refused("state/visited", "keys-", Some(0));
}

#[test]
fn a_damaged_file_of_doubts_is_named() {
    refused("state/visited", "doubts-", Some(0));
}

/// A log that was being written: what was durable is vouched for, and damage there is refused; at its end
/// it is what a crash leaves, and is cut off.
#[test]
fn a_log_is_damaged_where_it_was_durable_and_torn_at_its_end() {
    let chain = Chain::start();
    let directory = TempDir::new().unwrap();
    let whole = directory.path().join("whole");
    let pages = chain.killed_crawl(&whole);
    let before = records(&whole);
    for (number, (damage, refused)) in [
        (Damage::Flip(0), true),
        (Damage::FlipAt(40), true),
        (Damage::FlipAt(vouched(&log(&whole)) - 1), true),
        (Damage::Cut(0), true),
        (Damage::Flip(1000), false),
        (Damage::Cut(1000), false),
        (Damage::Cut(800), false),
    ]
    .into_iter()
    .enumerate()
    {
        let output = directory.path().join(format!("copy{number}"));
        copy(&whole, &output);
        let log = log(&output);
        damage.inflict(&log);
        let (code, message) = said("resume", &output, &[]);
        let after = records(&output);
        assert!(after.values().all(|times| *times == 1), "{after:?}");
        if refused {
            assert_eq!(code, Some(6), "{damage:?}: {message}");
            damaged_at(&message, &log);
            assert!(before.keys().all(|url| after.contains_key(url)), "records are gone");
        } else {
            assert_eq!((code, after.len()), (Some(0), pages), "{damage:?}: {message}");
        }
    }
}

/// The lines of a sink that the log vouches for.
#[test]
fn damaged_lines_that_the_log_names_are_refused() {
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let chain = Chain::start();
    let all = chain.killed_crawl(&output);
    let pages = output.join("pages.jsonl");
    let lines = std::fs::read(&pages).unwrap();
    Damage::FlipAt(20).inflict(&pages);
    let refused = resume(&output, &[]).wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(6), "{message}");
    assert!(damaged_at(&message, &pages) <= lines.len() as u64, "{message}");
    std::fs::write(&pages, &lines).unwrap();
    let (code, message) = said("resume", &output, &[]);
    assert_eq!((code, records(&output).len()), (Some(0), all), "whole again, it goes on: {message}");
}
