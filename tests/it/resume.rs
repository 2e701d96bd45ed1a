//! A crawl that is stopped, killed or damaged, and goes on.

use crate::harness::{
    crawl_into, dragline, finish, interrupt, kill, records, resume, resumed, rows_so_far, size, start, until,
};
use crate::server::{Answer, Script, Server, page};
use crate::synthetic::Demo;
use crate::valve::Valve;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// A small generator of numbers, the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Bytes of a record at least.
const LINE_BYTES: u64 = 200;

/// Kills crawls of a site of `hosts` hosts and `pages` pages `kills` times. So few requests are let through from one
/// kill to the next that the crawl cannot be over before the last, however slowly this test comes to its turn.
fn kill_again_and_again(pages: u32, hosts: u32, kills: u32, further: &[&str]) {
    let site = Demo::serve(pages, hosts);
    let valve = Valve::before(site.address());
    let truth: BTreeSet<String> = site.list("/_truth").into_iter().collect();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let resolve = format!("*.site.test:{}", valve.address());
    let mut arguments = site.list("/_seeds");
    arguments.extend(["--resolve", &resolve, "--allow-private", "--delay", "0s"].map(Into::into));
    arguments.extend(further.iter().map(ToString::to_string));
    let mut random = Random(u64::from(pages) + u64::from(kills));
    let share = pages / kills;
    valve.let_through(share);
    let mut child = start(&output, &arguments);
    let lines = || std::fs::metadata(output.join("pages.jsonl")).map_or(0, |file| file.len());
    for kill_number in 1..=kills {
        // So much more is written, and a moment passes: all of a crawl is met, however fast it is.
        let enough = lines() + random.below(u64::from(share) * LINE_BYTES);
        until("enough is written, or nothing more is let through", || lines() >= enough || valve.is_shut());
        std::thread::sleep(Duration::from_millis(random.below(30)));
        assert!(child.try_wait().unwrap().is_none(), "the crawl was over before kill {kill_number}");
        kill(child);
        valve.let_through(if kill_number < kills { share } else { u32::MAX });
        if !output.join("crawl.toml").exists() {
            child = start(&output, &arguments);
            continue;
        }
        child = resume(&output, &[]);
    }
    let run = finish(child, &output);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let records = records(&output);
    let twice: Vec<_> = records.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "recorded more than once: {twice:?}");
    let recorded: BTreeSet<String> = records.into_keys().collect();
    let missing: Vec<_> = truth.difference(&recorded).collect();
    assert!(missing.is_empty(), "{} pages have no record: {missing:?}", missing.len());
    // At most what was in flight at a kill is asked for again.
    let requests = site.requests();
    let again: u32 = truth.iter().filter_map(|url| requests.get(url)).map(|times| times - 1).sum();
    assert!(again <= kills * 32, "{again} repeated requests after {kills} kills");
}

#[test]
fn killed_crawls_lose_and_double_nothing() {
    kill_again_and_again(size(2000, 20_000), size(8, 16), size(12, 50), &[]);
}

#[test]
fn killed_crawls_with_a_small_filter_and_table_lose_and_double_nothing() {
    let small = ["--bits-per-url", "2", "--expected-urls", "1000", "--memory", "24MiB", "--log-skipped"];
    kill_again_and_again(size(2000, 20_000), size(4, 16), size(8, 50), &small);
}

/// A chain of pages, each of which leads to the next.
pub(crate) fn chain(length: u32) -> Server {
    Server::start(Script::new().rule(move |request| {
        let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
        let links = if n < length { vec![format!("/c{}", n + 1)] } else { Vec::new() };
        Some(page(&links).after(Duration::from_millis(5)))
    }))
}

#[test]
fn an_interrupted_crawl_goes_on_and_is_complete_only_once() {
    let server = chain(200);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let child = start(&output, &[&server.url("/c0"), "--delay", "0s"]);
    until("the crawl has begun", || server.log().len() >= 20);
    interrupt(&child);
    let stopped = finish(child, &output);
    assert_eq!(stopped.code, Some(10), "{}", stopped.stderr);
    assert!(stopped.pages.len() < 200);
    let next = format!("go on with      dragline resume {}", output.display());
    assert!(stopped.stderr.contains(&next), "{}", stopped.stderr);
    let again = crawl_into(&output, &[&server.url("/c0"), "--delay", "0s"]);
    assert_eq!(again.code, Some(4), "{}", again.stderr);
    assert!(again.stderr.contains("dragline resume"), "the remedy is named: {}", again.stderr);
    let run = resumed(&output, &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.pages.len(), 201);
    assert!((0..=200).all(|n| server.count(&format!("/c{n}")) == 1), "an orderly end asks for nothing twice");
    let complete = resumed(&output, &[]);
    assert_eq!(complete.code, Some(5), "{}", complete.stderr);
    assert!(complete.stderr.contains("already complete"), "{}", complete.stderr);
    assert!(
        complete.stderr.contains("'dragline crawl'"),
        "the remedy is a command that has it: {}",
        complete.stderr
    );
    assert_eq!(server.log().len(), 201 + 2, "robots.txt once a process");
}

#[test]
fn limits_may_be_raised() {
    let server = chain(60);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/c0");
    let first = crawl_into(&output, &[seed.as_str(), "--delay", "0s", "--max-pages", "20"]);
    assert_eq!((first.code, first.pages.len()), (Some(11), 20), "{}", first.stderr);
    assert!(first.stderr.contains("--max-pages N"), "the limit to raise is named: {}", first.stderr);
    let same = resumed(&output, &[]);
    assert_eq!((same.code, same.pages.len()), (Some(11), 20), "{}", same.stderr);
    let more = resumed(&output, &["--max-pages", "40"]);
    assert_eq!((more.code, more.pages.len()), (Some(11), 40), "{}", more.stderr);
    let all = resumed(&output, &["--max-pages", "1000"]);
    assert_eq!((all.code, all.pages.len()), (Some(0), 61), "{}", all.stderr);
    assert!((0..=60).all(|n| server.count(&format!("/c{n}")) == 1));
}

#[test]
fn a_directory_without_a_crawl_cannot_be_resumed_nor_has_it_a_status() {
    let directory = TempDir::new().unwrap();
    for command in ["resume", "status"] {
        let output = dragline().arg(command).arg(directory.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains("holds no crawl"), "{stderr}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing was left there");
}

#[test]
fn a_running_crawl_has_a_status_and_cannot_be_resumed() {
    let server = chain(100_000);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let child = start(&output, &[&server.url("/c0"), "--delay", "0s", "--stats-interval", "100ms"]);
    let statistics = output.join("stats.jsonl");
    until("pages are counted", || {
        rows_so_far(&statistics).last().is_some_and(|row| row["pages"]["fetched"].as_u64() > Some(0))
    });
    let holder = format!("process {}", child.id());
    let refused = dragline().arg("resume").arg(&output).output().unwrap();
    assert_eq!(refused.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&refused.stderr).contains(&holder), "it is told who holds it");
    let status = dragline().arg("status").arg(&output).arg("--json").output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&status["state"], status["held_by"].as_str()), (&"running".into(), Some(holder.as_str())));
    assert!(status["figures"]["pages"]["fetched"].as_u64().unwrap() > 0, "{status}");
    let text = dragline().arg("status").arg(&output).output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains(&format!("running ({holder})")), "{text}");
    assert!(!text.contains("none yet"), "{text}");
    kill(child);
    let status = dragline().arg("status").arg(&output).arg("--json").output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&status["state"], &status["resumable"]), (&"unfinished".into(), &true.into()));
    let text = dragline().arg("status").arg(&output).output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("without a summary (killed, or the disk was full)"), "{text}");
}

#[test]
fn retries_go_on_where_they_were() {
    let server = Server::start(Script::new().on("/", page(&["/broken"])).on("/broken", Answer::status(500)));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let given = [&server.url("/"), "--delay", "0s", "--retries", "2", "--stats-interval", "100ms"];
    let child = start(&output, &given);
    let statistics = output.join("stats.jsonl");
    // what is counted is written down: the first page, and the broken one twice
    until("two attempts are over", || {
        rows_so_far(&statistics).last().is_some_and(|row| row["requests"]["pages"].as_u64() >= Some(3))
    });
    kill(child);
    let before = server.count("/broken");
    let run = resumed(&output, &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.page(&server.url("/broken"))["status"], 500);
    assert!(server.count("/broken") <= before.max(2) + 1, "attempts made before count");
}

#[test]
fn the_time_before_a_kill_counts() {
    let server = chain(100_000);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let child = start(&output, &[&server.url("/c0"), "--delay", "0s", "--stats-interval", "100ms"]);
    let statistics = output.join("stats.jsonl");
    // long before the first checkpoint that is due by the clock
    until("three seconds are over", || {
        rows_so_far(&statistics).last().is_some_and(|row| row["elapsed_s"].as_f64() > Some(3.0))
    });
    kill(child);
    let run = resumed(&output, &["--max-pages", "1"]);
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    assert!(run.summary["elapsed_s"].as_f64() > Some(1.0), "{}", run.summary["elapsed_s"]);
}

/// Flips one bit of a file, or cuts it short.
fn damage(path: &Path, place: usize, cut: bool) {
    let mut bytes = std::fs::read(path).unwrap();
    if cut {
        bytes.truncate(place);
    } else {
        bytes[place] ^= 0x10;
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_state_is_refused_by_name() {
    let server = chain(100_000);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let run = crawl_into(&output, &[server.url("/c0").as_str(), "--delay", "0s", "--max-pages", "30"]);
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    let manifest = output.join("state/MANIFEST");
    let whole = std::fs::read(&manifest).unwrap();
    for (place, cut) in [(0, false), (9, false), (whole.len() / 2, false), (whole.len() - 1, true), (0, true)]
    {
        damage(&manifest, place, cut);
        let refused = resumed(&output, &[]);
        assert_eq!(refused.code, Some(6), "{place} {cut}: {}", refused.stderr);
        assert!(refused.stderr.contains("MANIFEST"), "{}", refused.stderr);
        std::fs::write(&manifest, &whole).unwrap();
    }
    let mut newer = whole.clone();
    newer[12] = 9;
    std::fs::write(&manifest, &newer).unwrap();
    let refused = resumed(&output, &[]);
    assert_eq!(refused.code, Some(6), "{}", refused.stderr);
    assert!(refused.stderr.contains("version 9"), "{}", refused.stderr);
    std::fs::remove_file(&manifest).unwrap();
    assert_eq!(resumed(&output, &[]).code, Some(6), "lines without a manifest are refused");
    std::fs::write(&manifest, &whole).unwrap();
    let pages = output.join("pages.jsonl");
    let lines = std::fs::read(&pages).unwrap();
    damage(&pages, lines.len() / 2, true);
    let refused = resume(&output, &[]).wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("pages.jsonl"), "{stderr}");
    std::fs::write(&pages, &lines).unwrap();
    for name in ["crawl.toml", "state/seeds"] {
        let path = output.join(name);
        let whole = std::fs::read(&path).unwrap();
        for (place, cut) in [(0, true), (whole.len() / 2, true), (whole.len() / 2, false)] {
            damage(&path, place, cut);
            let refused = resumed(&output, &[]);
            assert_eq!(refused.code, Some(6), "{name} {place} {cut}: {}", refused.stderr);
            assert!(refused.stderr.contains(name), "{}", refused.stderr);
            std::fs::write(&path, &whole).unwrap();
        }
    }
    let run = resumed(&output, &["--max-pages", "40"]);
    assert_eq!((run.code, run.pages.len()), (Some(11), 40), "{}", run.stderr);
}

#[test]
fn missing_state_is_damage() {
    let server = chain(300);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let run = crawl_into(&output, &[server.url("/c0").as_str(), "--delay", "0s", "--max-pages", "50"]);
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    for place in ["state/frontier", "state/visited"] {
        for entry in std::fs::read_dir(output.join(place)).unwrap() {
            let path = entry.unwrap().path();
            let whole = std::fs::read(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let refused = resumed(&output, &[]);
            assert_eq!(refused.code, Some(6), "{}: {}", path.display(), refused.stderr);
            std::fs::write(&path, whole).unwrap();
        }
    }
    assert_eq!(resumed(&output, &["--max-pages", "1000"]).pages.len(), 301);
}

#[test]
fn a_limit_of_a_host_holds_across_a_stop() {
    let server = Server::start(Script::new().rule(|request| match request.path.as_str() {
        "/" => Some(page(&(0..60).map(|n| format!("/{n}")).collect::<Vec<_>>())),
        "/robots.txt" => None,
        // every third page fails at first, so that attempts wait while the crawl is stopped
        path if path[1..].parse::<u32>().is_ok_and(|n| n % 3 == 0) => Some(Answer::status(500)),
        _ => Some(Answer::html("x").after(Duration::from_millis(20))),
    }));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let given = [seed.as_str(), "--delay", "0s", "--max-pages-per-host", "25", "--concurrency", "4"];
    let mut child = start(&output, &given);
    let lines = || rows_so_far(&output.join("pages.jsonl")).len();
    for _ in 0..4 {
        let before = lines();
        until("there are more pages", || lines() >= before + 3 || child.try_wait().unwrap().is_some());
        kill(child);
        child = resume(&output, &[]);
    }
    let run = finish(child, &output);
    assert!([Some(0), Some(5)].contains(&run.code), "{:?}: {}", run.code, run.stderr);
    assert_eq!(records(&output).values().sum::<u32>(), 25);
}

#[test]
fn seeds_on_many_hosts_stay_inside_the_budget_or_are_refused() {
    let directory = TempDir::new().unwrap();
    let seeds = directory.path().join("seeds");
    let list: Vec<String> = (0..300_000).map(|n| format!("http://h{n}.x.test:9/")).collect();
    std::fs::write(&seeds, list.join("\n")).unwrap();
    let output = directory.path().join("crawl");
    let arguments = ["-i", seeds.to_str().unwrap(), "--resolve", "*.x.test:127.0.0.1", "--delay", "0s"];
    for (memory, bytes) in [("17MiB", 17 << 20), ("20MiB", 20 << 20)] {
        let mut child = start(&output, &[&arguments[..], &["--memory", memory]].concat());
        let peak = peak(&mut child);
        let run = finish(child, &output);
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        assert!(run.stderr.contains("--memory") && run.stderr.contains("hosts"), "{}", run.stderr);
        assert!(peak.is_none_or(|peak| (1..=bytes).contains(&peak)), "{peak:?} of {bytes} bytes");
        assert!(!output.exists(), "nothing is left behind");
    }
}

/// The most memory that a process was seen to have resident, until it ends; none where the system does not tell.
fn peak(child: &mut std::process::Child) -> Option<u64> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = std::fs::exists("/proc/self/status").unwrap().then_some(0);
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kilobytes.map(|kilobytes| kilobytes * 1024));
        std::thread::sleep(Duration::from_millis(1));
    }
    peak
}
