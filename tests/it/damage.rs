//! Each kind of file of a crawl directory with a bit flipped, its end cut off, or something else in its
//! place, before the real binary: it is refused with file and offset by every command, and no page is
//! recorded that should not be.

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
            .on("/", page(&(0..INDEX).map(index).chain(["http://other.test/".into()]).collect::<Vec<_>>()))
            .rule(|request| {
                let index: u32 = request.path.strip_prefix("/i")?.parse().ok()?;
                let linked = index * LINKED..(index + 1) * LINKED;
                Some(page(&linked.map(|number| format!("/closed/{number}")).collect::<Vec<_>>()))
            }),
    )
}

fn index(index: u32) -> String {
    format!("/i{index}")
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
    /// Other bytes of the same number, no text among them.
    Garbage,
    /// Two bytes in its middle that are not UTF-8.
    NotUtf8,
    /// A directory stands in its place.
    Directory,
    /// It is not there.
    Gone,
}

/// The damages that each file gets: in its header, its body, and its end; and as a whole.
const DAMAGES: [Damage; 11] = [
    Damage::Flip(0),
    Damage::Flip(350),
    Damage::Flip(700),
    Damage::Flip(1000),
    Damage::Cut(0),
    Damage::Cut(500),
    Damage::Cut(1000),
    Damage::Garbage,
    Damage::NotUtf8,
    Damage::Directory,
    Damage::Gone,
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
            Damage::Garbage => {
                for (at, byte) in bytes.iter_mut().enumerate() {
                    *byte = (at * 83) as u8 | 0x80;
                }
            }
            Damage::NotUtf8 => bytes[last / 2..].iter_mut().take(2).for_each(|byte| *byte = 0xff),
            Damage::Directory | Damage::Gone => std::fs::remove_file(path).unwrap(),
        }
        match self {
            Damage::Directory => std::fs::create_dir(path).unwrap(),
            Damage::Gone => {}
            _ => std::fs::write(path, bytes).unwrap(),
        }
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
    let given = [seed.as_str(), "--delay", "0s", "--allow-private", "--log-skipped", "--max-pages", "60"];
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

/// A command must say that a file is damaged, with a place in it.
#[track_caller]
fn tells(command: &str, output: &Path, further: &[&str], file: &Path, length: u64) {
    let (code, message) = said(command, output, further);
    assert_eq!(code, Some(6), "{command}: {message}");
    assert!(!message.contains("could not be written"), "nothing was written in vain: {message}");
    let remedies = ["restore the directory", "put it back", "use the", "begin another crawl"];
    assert!(remedies.iter().any(|remedy| message.contains(remedy)), "no remedy is named: {message}");
    assert!(damaged_at(&message, file) <= length, "{command}: {message}");
}

/// Damages the last file of each kind, each time in a copy of the directory.
fn refused(kinds: &[(&str, &str)]) {
    let server = site();
    let directory = TempDir::new().unwrap();
    let whole = directory.path().join("whole");
    stopped(&server, &whole);
    let before = records(&whole);
    let seed = server.url("/");
    let damages = |kind| DAMAGES.into_iter().map(move |damage| (kind, damage));
    for (number, (&(place, beginning), damage)) in kinds.iter().flat_map(damages).enumerate() {
        // its name stands in every message
        let output = directory.path().join(format!("copy{number}-{damage:?}"));
        copy(&whole, &output);
        let file = files(&output.join(place), beginning).pop().unwrap_or_else(|| panic!("no {beginning}"));
        let length = std::fs::metadata(&file).unwrap().len();
        damage.inflict(&file);
        tells("status", &output, &[], &file, length);
        tells("explain", Path::new(&seed), &["-o", output.to_str().unwrap()], &file, length);
        let (code, message) = said("crawl", Path::new(&seed), &["-o", output.to_str().unwrap()]);
        assert!([Some(4), Some(6)].contains(&code), "crawl: {code:?} {message}");
        tells("resume", &output, &["--max-pages", "1000"], &file, length);
        if !file.ends_with("pages.jsonl") {
            let after = records(&output);
            assert!(after.values().all(|times| *times == 1), "{after:?}");
            assert!(after.keys().all(|url| url == &seed || url.contains("/i")), "{after:?}");
            assert!(before.keys().all(|url| after.contains_key(url)), "records are gone");
        }
        std::fs::remove_dir_all(&output).unwrap();
    }
    // and with nothing wrong all is well
    for command in ["status", "resume"] {
        let further: &[&str] = if command == "status" { &[] } else { &["--max-pages", "1000"] };
        let (code, message) = said(command, &whole, further);
        assert_eq!(code, Some(0), "{message}");
    }
    assert_eq!(records(&whole).len(), INDEX as usize + 1);
}

#[test]
fn a_damaged_manifest_log_or_seeds_are_named() {
    refused(&[("state", "MANIFEST"), ("state", "log-"), ("state", "seeds")]);
}

#[test]
fn damaged_candidates_are_named() {
    refused(&[("state/frontier", ""), ("state/visited", "doubts-")]);
}

#[test]
fn damaged_keys_and_a_damaged_configuration_are_named() {
    refused(&[("state/visited", "keys-"), ("", "crawl.toml")]);
}

#[test]
fn results_that_were_changed_since_they_were_written_are_named() {
    refused(&[("", "pages.jsonl"), ("", "robots.jsonl"), ("", "skipped.jsonl")]);
}

/// What is made anew, or means nothing, may be damaged without harm: nothing panics, and the crawl goes on.
/// A directory in its place is told of.
#[test]
fn what_is_only_told_may_be_damaged() {
    let server = site();
    let directory = TempDir::new().unwrap();
    let whole = directory.path().join("whole");
    stopped(&server, &whole);
    let files = ["summary.json", "stats.jsonl", "state/lock"];
    let damages = |file| DAMAGES.into_iter().map(move |damage| (file, damage));
    for (number, (name, damage)) in files.into_iter().flat_map(damages).enumerate() {
        let output = directory.path().join(format!("copy{number}"));
        copy(&whole, &output);
        let file = output.join(name);
        damage.inflict(&file);
        let (told, message) = said("status", &output, &[]);
        assert!([Some(0), Some(6)].contains(&told), "{damage:?} of {name}: {told:?} {message}");
        let (code, message) = said("resume", &output, &["--max-pages", "60"]);
        if matches!(damage, Damage::Directory) {
            assert_eq!(code, Some(6), "{damage:?} of {name}: {message}");
            damaged_at(&message, &file);
        } else {
            assert_eq!((code, told), (Some(11), Some(0)), "{damage:?} of {name}: {message}");
            assert_eq!(records(&output).len(), 60);
        }
        std::fs::remove_dir_all(&output).unwrap();
    }
}

/// What `status` says on standard output.
fn standing(output: &Path) -> String {
    let said = dragline().arg("status").arg(output).output().unwrap();
    String::from_utf8_lossy(&said.stdout).into_owned()
}

/// Whether `status` says that a resumption would go on.
fn is_resumable(output: &Path) -> bool {
    let said = dragline().arg("status").arg(output).arg("--json").output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    said["resumable"].as_bool().unwrap()
}

/// A start does not read all results again: of what lies far back `status` and `explain` tell, however often
/// the crawl went on in the meantime. What moves the end is noticed by every command.
#[test]
fn damage_far_back_in_the_results_is_told_for_ever() {
    let server = Server::start(Script::new().rule(|request| {
        let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
        let outside = (0..40).map(|link| format!("http://other.test/{n}/{link}?{}", "q".repeat(900)));
        Some(page(&outside.chain([format!("/c{}", n + 1)]).collect::<Vec<_>>()))
    }));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/c0");
    let given = [seed.as_str(), "--delay", "0s", "--allow-private", "--log-skipped", "--max-pages", "10"];
    assert_eq!(crawl_into(&output, &given).code, Some(11));
    let rows = output.join("skipped.jsonl");
    let whole = std::fs::read(&rows).unwrap();
    assert!(whole.len() > 200 << 10, "{} bytes", whole.len());
    std::fs::write(&rows, [b" ", &whole[..]].concat()).unwrap();
    for command in ["status", "resume"] {
        let (code, message) = said(command, &output, &[]);
        assert_eq!(code, Some(6), "{command}: {message}");
        assert!(message.contains("skipped.jsonl") && message.contains("put it back"), "{message}");
    }
    assert!(standing(&output).contains("cannot be resumed"), "{}", standing(&output));
    assert!(!is_resumable(&output));
    std::fs::write(&rows, &whole).unwrap();
    Damage::FlipAt(1000).inflict(&rows);
    for pages in ["20", "30"] {
        tells("status", &output, &[], &rows, 0);
        assert!(standing(&output).contains("does not look at them all"), "{}", standing(&output));
        assert!(is_resumable(&output));
        tells("explain", Path::new(&seed), &["-o", output.to_str().unwrap()], &rows, 0);
        let (code, message) = said("resume", &output, &["--max-pages", pages]);
        assert_eq!(code, Some(11), "{message}");
    }
    Damage::FlipAt(1000).inflict(&rows);
    assert_eq!(said("status", &output, &[]), (Some(0), String::new()), "whole again");
}

/// A crawl that ended is done, but what is told of it must not come from damaged files.
#[test]
fn what_became_of_a_url_is_not_told_from_damaged_results() {
    let server = site();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let run = crawl_into(&output, &[&seed, "--delay", "0s"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let pages = output.join("pages.jsonl");
    let packed = std::fs::read(&pages).unwrap();
    Damage::Gone.inflict(&pages);
    let ask = || dragline().args(["explain", &seed, "-o"]).arg(&output).output().unwrap();
    let answer = ask();
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert_eq!((answer.status.code(), damaged_at(&said, &pages)), (Some(6), 0), "{said}");
    assert!(said.contains("put it back"), "the remedy is named: {said}");
    let told = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(told.is_empty() || told.contains("damaged, so this may be wrong"), "{told}");
    std::fs::write(&pages, packed).unwrap();
    assert_eq!(ask().status.code(), Some(0));
    let complete = dragline().arg("status").arg(&output).output().unwrap();
    assert_eq!(complete.status.code(), Some(0));
}

/// A version that another dragline wrote is told as such, and not as damage.
#[test]
fn an_older_directory_is_refused_by_its_version() {
    let server = site();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    stopped(&server, &output);
    let manifest = output.join("state/MANIFEST");
    let bytes = std::fs::read(&manifest).unwrap();
    for (version, word) in [(3, "an older version"), (1, "an older version"), (5, "use the newer dragline")] {
        let mut other = bytes.clone();
        other[12] = version;
        std::fs::write(&manifest, other).unwrap();
        for command in ["resume", "status"] {
            let (code, message) = said(command, &output, &[]);
            assert_eq!(code, Some(6), "{message}");
            assert!(message.contains(&format!("has format version {version}")), "{message}");
            assert!(message.contains(word) && !message.contains("damaged at"), "{message}");
        }
    }
}

/// Runs a program as somebody whom permissions hold: whoever runs the tests may be above them.
#[cfg(unix)]
fn as_a_user(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    if may_read_everything() { command.uid(NOBODY).gid(NOBODY) } else { command }
}

#[cfg(unix)]
fn may_read_everything() -> bool {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("closed");
    std::fs::write(&file, "x").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).unwrap();
    std::fs::read(&file).is_ok()
}

/// What may not be read is no damage: it is named, and nothing else happens.
#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let server = site();
    let directory = TempDir::new().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
    if !as_a_user(dragline().arg("--version")).output().is_ok_and(|output| output.status.success()) {
        return crate::harness::skipped("another user may not run the program from where it is");
    }
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let given = ["--delay", "0s", "--allow-private", "--log-skipped", "--max-pages", "60"];
    let small = ["--bits-per-url", "1", "--expected-urls", "1000", "--memory", "17MiB"];
    let mut crawl = dragline();
    crawl.args(["crawl", &seed]).args(given).args(small).arg("-o").arg(&output);
    assert_eq!(as_a_user(&mut crawl).output().unwrap().status.code(), Some(11));
    let kinds = [
        ("state", "MANIFEST"),
        ("state", "log-"),
        ("state", "seeds"),
        ("state", "lock"),
        ("state/frontier", ""),
        ("state/visited", "keys-"),
        ("state/visited", "doubts-"),
        ("", "crawl.toml"),
        ("", "pages.jsonl"),
    ];
    for (place, beginning) in kinds {
        let file = files(&output.join(place), beginning).pop().unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).unwrap();
        for command in ["status", "resume"] {
            let refused = as_a_user(dragline().arg(command).arg(&output)).output().unwrap();
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(3), "{command} without {beginning}: {said}");
            assert!(said.contains(file.to_str().unwrap()), "{said}");
        }
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    }
    let same = as_a_user(dragline().arg("resume").arg(&output)).output().unwrap();
    assert_eq!(same.status.code(), Some(11), "{}", String::from_utf8_lossy(&same.stderr));
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
