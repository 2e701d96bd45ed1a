//! `--max-disk`: the crawl stops before its directory takes more, whatever it is that takes it, and goes on
//! with more.

use crate::harness::{Run, crawl_into, dragline, finish, resumed};
use crate::server::{Answer, Script, Server, page};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// A chain of pages, each of which makes some 400 KB of rows in skipped.jsonl.
fn site() -> Server {
    Server::start(Script::new().rule(|request| {
        let n: u32 = request.path.strip_prefix("/c")?.split('?').next()?.parse().ok()?;
        let mut links: Vec<String> =
            (0..200).map(|link| format!("http://other.test/{n}/{link}?{}", "q".repeat(1900))).collect();
        links.extend((n < 200).then(|| format!("/c{}", n + 1)));
        Some(page(&links))
    }))
}

/// Bytes of all files below a directory.
fn bytes_in(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let bytes = entries.map(|entry| match entry.metadata().unwrap() {
        about if about.is_dir() => bytes_in(&entry.path()),
        about => about.len(),
    });
    bytes.sum()
}

#[track_caller]
fn stopped_at(run: &Run, output: &Path, limit: u64) {
    assert_eq!(run.code, Some(13), "{}", run.stderr);
    assert_eq!(run.summary["end_reason"], "size_limit");
    let bytes = bytes_in(output);
    assert!(bytes <= limit, "{bytes} bytes of {limit}");
}

#[test]
fn a_crawl_stops_before_its_directory_outgrows_max_disk_and_goes_on_with_more() {
    let server = site();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/c0");
    let run = crawl_into(&output, &[seed.as_str(), "--delay", "0s", "--log-skipped", "--max-disk", "16MiB"]);
    stopped_at(&run, &output, 16 * MIB);
    let further = resumed(&output, &["--max-disk", "48MiB"]);
    stopped_at(&further, &output, 48 * MIB);
    assert!(further.pages.len() > run.pages.len());
    // less than there is: nothing is asked for, and nothing is lost
    let asked = server.pages().len();
    let less = resumed(&output, &["--max-disk", "16MiB"]);
    assert_eq!((less.code, less.pages.len()), (Some(13), further.pages.len()), "{}", less.stderr);
    assert_eq!(server.pages().len(), asked);
    let all = resumed(&output, &["--max-disk", "1GiB"]);
    assert_eq!((all.code, all.pages.len()), (Some(0), 201), "{}", all.stderr);
    assert!((0..=200).all(|n| server.count(&format!("/c{n}")) == 1));
}

/// A list of seeds that no compression makes small, of so many bytes.
fn list(server: &Server, bytes: u64) -> (String, u64) {
    let (mut text, mut count, mut mixed) = (String::new(), 0, 1_u64);
    while (text.len() as u64) < bytes {
        let path = (0..110).map(|_| {
            mixed = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (mixed >> 29);
            format!("{mixed:016x}")
        });
        text.push_str(&server.url(&format!("/{}", path.collect::<String>())));
        text.push('\n');
        count += 1;
    }
    (text, count)
}

#[test]
fn seeds_that_take_more_than_max_disk_are_refused() {
    let server = Server::start(Script::new());
    let directory = TempDir::new().unwrap();
    let (seeds, output) = (directory.path().join("seeds"), directory.path().join("crawl"));
    std::fs::write(&seeds, list(&server, 17 * MIB).0).unwrap();
    let run = crawl_into(&output, &["-i", seeds.to_str().unwrap(), "--delay", "0s", "--max-disk", "16MiB"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("--max-disk") && run.stderr.contains("seeds"), "{}", run.stderr);
    assert!(!output.exists(), "nothing is left behind");
    assert_eq!(server.asked(), 0);
}

/// Nobody closes the pipe, so that a crawl which read on would never end.
#[test]
fn seeds_without_end_are_refused_once_they_pass_max_disk() {
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let mut command = dragline();
    command.args(["crawl", "-i", "-", "--max-disk", "16MiB", "-o"]).arg(&output).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let line = format!("http://a.test/{}\n", "x".repeat(1900));
    let writer = std::thread::spawn(move || while pipe.write_all(line.as_bytes()).is_ok() {});
    let run = finish(child, &output);
    writer.join().unwrap();
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("--max-disk") && run.stderr.contains("seeds"), "{}", run.stderr);
    assert!(!output.exists(), "nothing is left behind");
}

#[test]
fn statistics_count_for_max_disk() {
    let server = site();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let run = crawl_into(&output, &[server.url("/c190").as_str(), "--delay", "0s", "--max-pages", "1"]);
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    let statistics = output.join("stats.jsonl");
    let line = std::fs::read_to_string(&statistics).unwrap();
    let times = usize::try_from(16 * MIB).unwrap() / line.len() + 1;
    std::fs::write(&statistics, line.repeat(times)).unwrap();
    let asked = server.asked();
    let full = resumed(&output, &["--max-pages", "100", "--max-disk", "16MiB"]);
    assert_eq!(full.code, Some(13), "{}", full.stderr);
    assert_eq!(server.asked(), asked, "nothing more is asked for");
    let more = resumed(&output, &["--max-disk", "1GiB"]);
    assert_eq!((more.code, more.pages.len()), (Some(0), 11), "{}", more.stderr);
}

#[test]
fn seeds_that_pass_max_disk_while_they_are_taken_in_wait_for_more() {
    let server = Server::start(
        Script::new().rule(|request| (request.path != "/robots.txt").then(|| Answer::html("x"))),
    );
    let directory = TempDir::new().unwrap();
    let (seeds, output) = (directory.path().join("seeds"), directory.path().join("crawl"));
    let (text, count) = list(&server, 6 * MIB);
    std::fs::write(&seeds, text).unwrap();
    let given = ["-i", seeds.to_str().unwrap(), "--delay", "0s", "--memory", "17MiB", "--max-disk", "16MiB"];
    stopped_at(&crawl_into(&output, &given), &output, 16 * MIB);
    let same = resumed(&output, &[]);
    assert_eq!(same.code, Some(13), "{}", same.stderr);
    assert!(same.number("urls.discovered") < count, "some are not taken in: {}", same.summary);
    assert_eq!(server.asked(), 0, "all seeds come before the first page");
    let more = resumed(&output, &["--max-disk", "1GiB", "--max-pages", "3"]);
    assert_eq!((more.code, more.pages.len()), (Some(11), 3), "{}", more.stderr);
    assert_eq!(more.number("urls.discovered"), count, "{}", more.summary);
}
