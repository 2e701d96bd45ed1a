//! A disk that is full in the midst of a crawl, and has room again.
//!
//! Two ways to have little room: a small file system in memory, mounted where nobody but the processes of
//! the test sees it, and a limit on the length of each file. Where mounting is not permitted the first
//! says that it was skipped.

use crate::harness::{Run, program, records, skipped};
use crate::server::{Answer, Script, Server, page};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tempfile::TempDir;

/// Pages that the site has, besides its first.
const PAGES: u32 = 400;

/// A tree of pages, four below each, and each with some twenty kilobytes of links that lead out of the
/// scope, which fill the disk with rows of `skipped.jsonl`.
fn site() -> Server {
    Server::start(Script::new().rule(|request| {
        let number: u32 = request.path.strip_prefix("/p")?.parse().ok()?;
        let children = (1..=4).map(|child| number * 4 + child).filter(|child| *child <= PAGES);
        let mut links: Vec<String> = children.map(|child| format!("/p{child}")).collect();
        links.extend((0..20).map(|n| format!("http://other.test/{number}/{n}?{}", "q".repeat(950))));
        Some(page(&links))
    }))
}

/// What a script of commands in a place with little room left of one crawl.
struct Scenario {
    /// Exit codes in turn.
    codes: Vec<i32>,
    /// What was said on standard error in turn.
    said: Vec<String>,
    /// The directory of the crawl after each.
    left: Vec<PathBuf>,
    _directory: TempDir,
}

/// Crawls, goes on while there is still no room, and goes on once there is. `shell` begins the shell that
/// all of it runs in, `prepare` leaves no more room than wanted in `$place`, and `free` makes room.
fn scenario(server: &Server, shell: &[&str], prepare: &str, free: &str) -> Scenario {
    let directory = TempDir::new().unwrap();
    let (place, out) = (directory.path().join("place"), directory.path().join("out"));
    std::fs::create_dir(&place).unwrap();
    std::fs::create_dir(&out).unwrap();
    let script = format!(
        r#"set -u
place=$1 out=$2 dragline=$3 url=$4
keep() {{ echo $1 >"$out/code$2"; cp -r "$place/crawl" "$out/left$2" || exit 90; }}
{prepare}
"$dragline" crawl "$url" -o "$place/crawl" --delay 0s --allow-private --log-skipped 2>"$out/said0"
keep $? 0
"$dragline" resume "$place/crawl" 2>"$out/said1"
keep $? 1
{free}
"$dragline" resume "$place/crawl" 2>"$out/said2"
keep $? 2
"#
    );
    let mut command = program(shell[0]);
    command.args(&shell[1..]).args(["sh", "-c", &script, "sh"]);
    command.args([place.as_os_str(), out.as_os_str(), env!("CARGO_BIN_EXE_dragline").as_ref()]);
    let output = command.arg(server.url("/p0")).output().unwrap();
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let read = |name: &str, n: u32| std::fs::read_to_string(out.join(format!("{name}{n}"))).unwrap();
    Scenario {
        codes: (0..3).map(|n| read("code", n).trim().parse().unwrap()).collect(),
        said: (0..3).map(|n| read("said", n)).collect(),
        left: (0..3).map(|n| out.join(format!("left{n}"))).collect(),
        _directory: directory,
    }
}

/// All that must be so, whatever it was that found no room.
fn nothing_is_lost(server: &Server, scenario: &Scenario) {
    assert_eq!(scenario.codes, [7, 7, 0], "{:?}", scenario.said);
    for said in &scenario.said[..2] {
        assert!(said.contains("make room"), "the remedy is named: {said}");
    }
    let mut before = BTreeMap::new();
    for left in &scenario.left {
        let records = records(left);
        assert!(records.values().all(|times| *times == 1), "recorded twice: {records:?}");
        let gone: Vec<_> = before.keys().filter(|url| !records.contains_key(*url)).collect();
        // what had come to the disk may be asked for again only where its line is cut off
        assert!(gone.len() <= 32, "{} records are gone: {gone:?}", gone.len());
        before = records;
    }
    let recorded: BTreeSet<String> = before.into_keys().collect();
    let all: BTreeSet<String> = (0..=PAGES).map(|number| server.url(&format!("/p{number}"))).collect();
    assert_eq!(recorded, all);
    let requests = server.pages().len();
    assert!(requests <= all.len() + 2 * 32, "{requests} requests: more than what was in flight came twice");
    let run = Run::left_in(&scenario.left[2], Some(0), scenario.said[2].clone());
    assert_eq!(run.number("pages.ok"), u64::from(PAGES) + 1, "{}", run.summary);
    assert_eq!(run.skips("out_of_scope"), 20 * (u64::from(PAGES) + 1), "{}", run.summary);
}

/// A shell that may mount what only it sees; nothing where that is not permitted.
fn mounting_shell() -> Option<&'static [&'static str]> {
    let shells: [&[&str]; 2] = [&["unshare", "-m"], &["unshare", "-Urm"]];
    let place = TempDir::new().unwrap();
    shells.into_iter().find(|shell| {
        let mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none"];
        let mut command = program(shell[0]);
        let tried = command.args(&shell[1..]).args(mount).arg(place.path()).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

#[test]
fn a_full_file_system_stops_the_crawl_and_room_lets_it_go_on() {
    let Some(shell) = mounting_shell() else {
        return skipped("a small file system cannot be mounted here (unshare, mount)");
    };
    // no more than the beginning, some pages, and most of it: each time something else finds no room
    for free in [600, 1777, 4999] {
        let server = site();
        let prepare = format!(
            r#"mount -t tmpfs -o size=32m,mode=700 none "$place" || exit 91
head -c $((32 * 1048576 - {free} * 1024)) /dev/zero >"$place/ballast" || exit 92"#
        );
        let scenario = scenario(&server, shell, &prepare, r#"rm "$place/ballast""#);
        nothing_is_lost(&server, &scenario);
    }
}

/// The same without a mount, so that it is tried everywhere: no file may be longer than so much.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_stops_the_crawl_and_goes_on_once_it_may() {
    let server = site();
    // a shell counts in 512 or in 1024 bytes; a soft limit may be raised again
    let prepare = "ulimit -S -f 3000";
    let scenario = scenario(&server, &["env"], prepare, "ulimit -S -f unlimited");
    nothing_is_lost(&server, &scenario);
}

#[test]
fn no_room_for_the_directory_itself_is_told_before_anything_is_fetched() {
    let Some(shell) = mounting_shell() else {
        return skipped("a small file system cannot be mounted here (unshare, mount)");
    };
    let server = Server::start(Script::new().on("/p0", Answer::html("x")));
    let directory = TempDir::new().unwrap();
    let script = r#"mount -t tmpfs -o size=64k,mode=700 none "$1" || exit 91
head -c 1048576 /dev/zero >"$1/ballast" 2>/dev/null
exec "$2" crawl "$3" -o "$1/crawl" --delay 0s --allow-private"#;
    let mut command = program(shell[0]);
    command.args(&shell[1..]).args(["sh", "-c", script, "sh"]).arg(directory.path());
    let output = command.arg(env!("CARGO_BIN_EXE_dragline")).arg(server.url("/p0")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("--output"), "the remedy is named: {said}");
    assert_eq!(server.asked(), 0, "nothing was fetched");
}
