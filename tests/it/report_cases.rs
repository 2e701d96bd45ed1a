//! What users of other crawlers reported of visited sets, queues, resuming and ends, by its kind.
//!
//! | what was reported | what shows that it is otherwise here |
//! |---|---|
//! | C119: the visited set of some hundred thousand URLs took gigabytes; another one never said "seen" | [`the_filter_of_a_large_crawl_is_small_and_told_before`]; `visited::tests::filter_batches_are_one_by_one` |
//! | C120: pages are dropped by false positives and nobody is told | [`an_overfull_filter_says_so_once_at_each_step`]; `crawl::misses` |
//! | C127: the queue on disk takes many times what the pages took | [`a_queue_on_disk_is_small`]; `max_disk::a_crawl_stops_before_its_directory_outgrows_max_disk_and_goes_on_with_more`; `disk_full` |
//! | C128: a limit on pages holds what is fetched, and the queue grows without end | [`what_a_limit_leaves_in_the_queue_is_told_and_goes_on_later`]; `crawl::limits::max_pages_is_never_exceeded` |
//! | C129: after a crash the queue is gone or broken | `resume::killed_crawls_lose_and_double_nothing` |
//! | C130: what was saved is good for one start only | [`a_copy_goes_on_like_the_original_twice`] |
//! | C131: what was done is done again; a second start does nothing and does not say so; an old state is misread | `resume::an_interrupted_crawl_goes_on_and_is_complete_only_once`; `resume::damaged_state_is_refused_by_name` |
//! | C133: a start reads all that was ever kept | [`a_start_reads_the_keys_once_and_no_record`] |
//! | C134: what a power cut left cannot be continued | [`a_log_cut_off_anywhere_at_its_end_goes_on`]; `damage`; `engine::crash_tests` |
//! | C137: URLs that wait too long vanish uncounted | `crawl::fairness::every_url_of_a_slow_host_ends_in_a_counted_state` |
//! | C138: one slow host takes all slots | `crawl::fairness`; `engine::core_tests::a_slow_host_does_not_hold_up_the_others` |
//! | C141: a crawl never ends, or ends with work left | `crawl::end`; [`a_crawl_that_stops_says_what_it_waits_for`] |

use crate::chain::{Chain, log};
use crate::harness::{
    copy, crawl_into, dragline, finish, interrupt, kill, records, resume, resumed, rows, skipped, telling,
    until,
};
use crate::server::{Answer, Body, Script, Server, page};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A page of links to `links` leaves.
fn wide(links: u32) -> Server {
    let leaves: Vec<String> = (0..links).map(|leaf| format!("/leaf/{leaf}")).collect();
    Server::start(
        Script::new()
            .on("/", page(&leaves))
            .rule(|request| request.path.starts_with("/leaf/").then(|| Answer::html("x"))),
    )
}

#[test]
fn the_filter_of_a_large_crawl_is_small_and_told_before() {
    let settings = ["--memory", "128MiB", "--expected-urls", "720000", "--dedup", "bloom"];
    let plan = dragline().arg("plan").args(settings).output().unwrap();
    let plan = String::from_utf8(plan.stdout).unwrap();
    let size = plan.lines().find(|line| line.trim_start().starts_with("size")).unwrap();
    let bits: u64 = size.split(['(', ' ']).rev().find_map(|word| word.parse().ok()).unwrap();
    assert!((7_200_000..8_000_000).contains(&bits), "ten bits a URL: {size}");
    // what was told is what is taken, and each link that stands on two pages is seen the second time
    let links: Vec<String> = (0..2000).map(|leaf| format!("/leaf/{leaf}")).collect();
    let server = Server::start(
        Script::new()
            .on("/", page(&[&["/again".to_owned()], &links[..]].concat()))
            .on("/again", page(&links))
            .rule(|request| request.path.starts_with("/leaf/").then(|| Answer::html("x"))),
    );
    let directory = TempDir::new().unwrap();
    let seed = server.url("/");
    let run =
        crawl_into(&directory.path().join("crawl"), &[&[&seed, "--delay", "0s"], &settings[..]].concat());
    assert_eq!((run.code, run.pages.len(), server.pages().len()), (Some(0), 2002, 2002), "{}", run.stderr);
    assert_eq!(run.number("urls.repeats"), 2000, "{}", run.summary);
    assert_eq!(run.number("filter.bits"), bits, "{}", run.summary);
}

#[test]
fn an_overfull_filter_says_so_once_at_each_step() {
    // a chain of lists, so that the filter fills slowly enough to be looked at between
    let server = Server::start(
        Script::new().on("/robots.txt", Answer::text("User-agent: *\nDisallow: /closed/\n")).rule(
            |request| {
                let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
                let mut links: Vec<String> = (0..50).map(|link| format!("/closed/{n}/{link}")).collect();
                links.extend((n < 80).then(|| format!("/c{}", n + 1)));
                Some(page(&links).after(Duration::from_millis(25)))
            },
        ),
    );
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    // a link that is missed ends the chain, so that there are several
    let seeds: Vec<String> = (0..80).map(|n| server.url(&format!("/c{n}"))).collect();
    let small = ["--dedup", "bloom", "--expected-urls", "1000", "--delay", "25ms", "--allow-private"];
    let steps = ["--stats-interval", "100ms"];
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let run = crawl_into(&output, &[&seeds[..], &small, &steps].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said = |word: &str| run.stderr.matches(&format!("the filter is {word}: ")).count();
    assert_eq!((said("full"), said("overfull")), (1, 1), "{}", run.stderr);
    for meaning in ["more pages are missed than the filter was made for", "many pages are missed"] {
        assert!(run.stderr.contains(meaning), "{meaning} is missing in {}", run.stderr);
    }
    let fills: Vec<f64> = rows(&output.join("stats.jsonl"))
        .iter()
        .filter_map(|row| row["filter"]["fill_ratio"].as_f64())
        .collect();
    assert!(fills.is_sorted() && fills.len() > 5, "its state is told as it fills: {fills:?}");
    assert!(fills[0] < 0.5 && *fills.last().unwrap() > 0.6, "{fills:?}");
}

/// Bytes of all files in a directory.
fn bytes_in(directory: &Path) -> u64 {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn a_queue_on_disk_is_small() {
    let lists = 40;
    let server = Server::start(
        Script::new().on("/", page(&(0..lists).map(|list| format!("/list{list}")).collect::<Vec<_>>())).rule(
            |request| {
                let list: u32 = request.path.strip_prefix("/list")?.parse().ok()?;
                let articles =
                    (0..1500).map(|n| format!("/archive/{list}/articles/{n}/an-ordinary-title.html"));
                Some(page(&articles.collect::<Vec<_>>()))
            },
        ),
    );
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let limit = (lists + 1).to_string();
    let given = [seed.as_str(), "--delay", "0s", "--memory", "24MiB", "--max-pages", &limit];
    let run = crawl_into(&output, &given);
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    let queued = run.number("urls.queued");
    assert!(queued > 50_000, "{}", run.summary);
    let bytes = bytes_in(&output.join("state/frontier")) + bytes_in(&output.join("state/visited"));
    assert!(bytes / queued < 100, "{bytes} bytes of disk for {queued} URLs");
}

#[test]
fn what_a_limit_leaves_in_the_queue_is_told_and_goes_on_later() {
    let server = wide(50_000);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let first = crawl_into(&output, &[seed.as_str(), "--delay", "0s", "--max-pages", "100"]);
    assert_eq!((first.code, first.pages.len()), (Some(11), 100), "{}", first.stderr);
    let left = first.number("urls.queued") + first.number("urls.doubts_pending");
    assert_eq!(left + first.skips("too_many_links"), 50_001 - 100, "{}", first.summary);
    assert!(left > 10_000, "the queue holds what is not fetched: {}", first.summary);
    let status = dragline().arg("status").arg(&output).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains(" queued"), "{status}");
    let more = resumed(&output, &["--max-pages", "200"]);
    assert_eq!((more.code, more.pages.len(), server.pages().len()), (Some(11), 200, 200), "{}", more.stderr);
    assert_eq!(
        more.number("urls.queued") + more.number("urls.doubts_pending"),
        left - 100,
        "{}",
        more.summary
    );
}

#[test]
fn a_copy_goes_on_like_the_original_twice() {
    let chain = Chain::start();
    let directory = TempDir::new().unwrap();
    let place = |name: &str| directory.path().join(name);
    let pages = chain.killed_crawl(&place("original"));
    for name in ["first", "second"] {
        copy(&place("original"), &place(name));
    }
    let all = |output: &Path| {
        let run = resumed(output, &[]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let records = records(output);
        assert!(records.values().all(|times| *times == 1), "{records:?}");
        records
    };
    let first = all(&place("first"));
    assert_eq!(first.len(), pages);
    assert_eq!(all(&place("second")), first);
    assert_eq!(all(&place("original")), first);
}

#[test]
fn a_log_cut_off_anywhere_at_its_end_goes_on() {
    let chain = Chain::start();
    let directory = TempDir::new().unwrap();
    let whole = directory.path().join("whole");
    let pages = chain.killed_crawl(&whole);
    let bytes = std::fs::read(log(&whole)).unwrap();
    let most = bytes.len() - 32;
    for cut in [1, 7, 100, 4096, most / 2, most].into_iter().filter(|cut| *cut <= most) {
        let output = directory.path().join(format!("cut{cut}"));
        copy(&whole, &output);
        std::fs::write(log(&output), &bytes[..bytes.len() - cut]).unwrap();
        let run = resumed(&output, &[]);
        assert_eq!((run.code, run.pages.len()), (Some(0), pages), "{cut} bytes less: {}", run.stderr);
        assert!(records(&output).values().all(|times| *times == 1));
    }
}

#[test]
fn a_crawl_that_stops_says_what_it_waits_for() {
    let answered = Arc::new(AtomicBool::new(false));
    let wanted = Arc::clone(&answered);
    let server = Server::start(Script::new().on("/", page(&["/slow"])).rule(move |request| {
        (request.path == "/slow").then(|| {
            until("the answer is wanted", || wanted.load(Ordering::Relaxed));
            Answer::html("x")
        })
    }));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let (said, told) = telling(&directory);
    let mut command = dragline();
    command.arg("crawl").arg(server.url("/")).args(["--delay", "0s", "--allow-private", "-o"]).arg(&output);
    command.args(["--progress", "plain", "--stats-interval", "100ms", "--timeout", "10m"]);
    let child = command.stderr(said).spawn().unwrap();
    until("it says what it waits for", || told().contains(" 1 in flight, 0 queued"));
    interrupt(&child);
    until("it says so at the end", || told().contains("stopping: 1 request in flight"));
    answered.store(true, Ordering::Relaxed);
    let run = finish(child, &output);
    assert_eq!(run.number("pages.ok"), 2, "{}", run.summary);
}

/// What the system has handed to a process that read, in bytes: `rchar` of `/proc/PID/io`, see proc(5).
#[cfg(target_os = "linux")]
fn bytes_read(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

#[cfg(target_os = "linux")]
#[test]
fn a_start_reads_the_keys_once_and_no_record() {
    let lists = 60;
    let server = Server::start(
        Script::new()
            // the second start has to wait for it
            .in_turn(
                "/robots.txt",
                vec![
                    Answer::text("User-agent: *\nDisallow: /closed/\n"),
                    Answer::status(200).body(Body::Never),
                ],
            )
            .on("/", page(&(0..=lists).map(|list| format!("/list{list}")).collect::<Vec<_>>()))
            .rule(|request| {
                let list: u32 = request.path.strip_prefix("/list")?.parse().ok()?;
                let mut links: Vec<String> = (0..1400).map(|n| format!("/closed/{list}/{n}")).collect();
                links.extend((0..400).map(|n| format!("http://other.test/{n}?{}", "q".repeat(1000))));
                Some(page(&links))
            }),
    );
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let given = [seed.as_str(), "--delay", "0s", "--log-skipped", "--memory", "64MiB", "--per-host", "1"];
    let run = crawl_into(&output, &[&given[..], &["--max-pages", &lists.to_string()]].concat());
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    let keys = run.number("urls.unique") * 8;
    assert!(keys > 500_000, "{}", run.summary);
    let results = bytes_in(&output);
    assert!(results > 20 << 20, "{results} bytes of results");
    let child = resume(&output, &["--max-pages", "1000"]);
    while server.count("/robots.txt") < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let read = bytes_read(child.id());
    kill(child);
    let Some(read) = read else {
        return skipped("what a process reads is not told here (/proc/PID/io)");
    };
    // beside the keys: the program itself, its configuration, the manifest, the ends of some files
    assert!(read >= keys, "the filter is built from {keys} bytes, and only {read} were read");
    assert!(read < keys + (4 << 20), "{read} bytes were read, for {keys} bytes of keys");
}
