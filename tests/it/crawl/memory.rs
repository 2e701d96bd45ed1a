//! The budget holds for the whole process, as the system counts it.

use crate::harness::{Run, crawl, dragline, finish, guard, program, wait};
use crate::server::{Answer, Body, Script, Server, brotli_stored, gzip, page, zstd};
use dragline::config::{Count, Options, Size, Span};
use dragline::{Crawl, Page, Silent, Sink};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The most that was resident, in bytes, and what was allowed.
fn peak(run: &Run) -> (u64, u64) {
    (run.number("memory.peak_rss_bytes"), run.number("memory.budget_bytes"))
}

/// The smallest budget that `dragline plan` grants, as it says itself.
fn floor(arguments: &[&str]) -> String {
    let refused = dragline().args(["plan", "--memory", "1MiB"]).args(arguments).output().unwrap();
    let words = String::from_utf8(refused.stderr).unwrap();
    let smallest = words.split("settings is ").nth(1).unwrap_or_else(|| panic!("no floor in {words}"));
    let smallest = smallest.trim().to_owned();
    let granted = dragline().args(["plan", "--memory", &smallest]).args(arguments).output().unwrap();
    assert!(granted.status.success(), "{smallest} is not granted");
    smallest
}

/// A page that leads to `count` others, whose answers all begin at the same time.
fn at_once(count: usize, answer: &Answer) -> Server {
    let links: Vec<String> = (0..count).map(|number| format!("/large{number}")).collect();
    let answer = answer.clone().after(Duration::from_millis(500));
    Server::start(
        Script::new()
            .on("/", page(&links))
            .rule(move |request| request.path.starts_with("/large").then(|| answer.clone())),
    )
}

#[test]
fn sixty_four_large_bodies_at_once_fit_into_a_small_budget() {
    let server = at_once(64, &Answer::html("<title>large</title>").body(Body::Filled(10 << 20)));
    let run = crawl(&[server.url("/").as_str(), "--memory", "32MiB", "--concurrency", "64"]);
    assert_eq!((run.number("pages.ok"), run.code), (65, Some(0)), "{}", run.stderr);
    assert_eq!(run.number("bytes.decoded") >> 20, 640, "{}", run.summary);
    let (peak, budget) = peak(&run);
    assert!(peak <= budget, "{peak} bytes of {budget}");
}

/// Every page has more links than a page may have under the smallest budget: what is beyond is counted.
#[test]
fn many_pages_of_many_links_fit_into_a_small_budget() {
    let links: Vec<String> = (0..20_000).map(|number| format!("/l{number}/{}", "y".repeat(60))).collect();
    let server = at_once(40, &page(&links));
    let url = server.url("/");
    let run = crawl(&[&url, "--memory", "24MiB", "--concurrency", "32", "--exclude", "/l[0-9]+/"]);
    assert_eq!((run.number("pages.ok"), run.code), (41, Some(0)), "{}", run.stderr);
    assert!(run.skips("too_many_links") > 0, "{}", run.summary);
    for number in 0..40 {
        assert_eq!(run.page(&server.url(&format!("/large{number}")))["links"], 20_000, "{}", run.summary);
    }
    let (peak, budget) = peak(&run);
    assert!(peak <= budget, "{peak} bytes of {budget}");
}

#[test]
fn a_crawl_fits_into_the_smallest_budget_that_is_granted() {
    let concurrency = ["--concurrency", "32"];
    let smallest = floor(&concurrency);
    let mebibytes: u32 = smallest.trim_end_matches("MiB").parse().unwrap();
    assert!(mebibytes <= 17, "{smallest} is the least");
    let leaf = |number: usize| format!("/leaf{number}");
    let server = Server::start(Script::new().rule(move |request| {
        let number: usize =
            request.path.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or(0);
        let links: Vec<String> =
            (1..=8).map(|child| leaf(number * 8 + child)).filter(|_| number < 125).collect();
        (request.path != "/robots.txt").then(|| {
            let text = "words ".repeat(number % 100 * 20);
            let answer = page(&links);
            let content = [answer.content.as_slice(), text.as_bytes()].concat();
            answer.content(gzip(&content)).header("Content-Encoding", "gzip")
        })
    }));
    let run = crawl(&[&[server.url("/").as_str(), "--memory", &smallest], &concurrency[..]].concat());
    assert_eq!((run.number("pages.ok"), run.code), (1001, Some(0)), "{}", run.stderr);
    let (peak, budget) = peak(&run);
    assert!(peak <= budget, "{peak} bytes of {budget}");
}

/// A coding whose window the budget does not hold is not offered; one that comes all the same is an
/// error of its page, unless its own window is small.
#[test]
fn codings_are_offered_as_the_budget_allows() {
    for (memory, offered) in [("24MiB", "gzip, deflate"), ("1GiB", "gzip, deflate, br, zstd")] {
        let small = zstd(b"<a href=/found>x</a>");
        let coded = |coding: &str, content: Vec<u8>| Answer::html(content).header("Content-Encoding", coding);
        // RFC 8878: the magic; neither size nor dictionary; a window of 8 MiB; one last raw block of 5 bytes
        let wide = b"\x28\xb5\x2f\xfd\x00\x68\x29\x00\x00hello";
        let server = Server::start(
            Script::new()
                .on("/", page(&["/small", "/wide", "/brotli"]))
                .on("/small", coded("zstd", small))
                .on("/wide", coded("zstd", wide.to_vec()))
                .on("/brotli", coded("br", brotli_stored(b"<a href=/found>x</a>")))
                .on("/found", Answer::html("found")),
        );
        let run =
            crawl(&[server.url("/").as_str(), "--memory", memory, "--retries", "0", "--concurrency", "4"]);
        let log = server.log();
        assert!(log.iter().all(|request| request.header("accept-encoding") == Some(offered)), "{memory}");
        assert_eq!(server.count("/found"), 1, "{}", run.summary);
        let wide = run.page(&server.url("/wide"));
        if memory == "1GiB" {
            assert!(wide["error"].is_null(), "{wide}");
        } else {
            assert_eq!(wide["error"]["kind"], "decode", "{wide}");
        }
    }
}

/// A sink that takes its time over each page, and may want its body.
struct Slow {
    bodies: bool,
    bytes: usize,
    pages: usize,
}

impl Sink for Slow {
    fn page(&mut self, page: &Page<'_>) -> std::io::Result<()> {
        std::thread::sleep(Duration::from_millis(40));
        self.pages += 1;
        self.bytes += page.body.map_or(0, <[u8]>::len);
        assert!(!self.bodies || page.record.error.is_some() || page.body.is_some(), "a body was promised");
        Ok(())
    }

    fn wants_bodies(&self) -> bool {
        self.bodies
    }
}

/// What the child of the tests below does: a crawl by the library, whose sink is slow.
fn crawl_with_a_slow_sink(seed: &str, output: &Path, bodies: bool) {
    dragline::budget::economize();
    let options = Options {
        memory: Some(Size(32 << 20)),
        concurrency: Some(64),
        delay: Some(Span(Duration::ZERO)),
        allow_private: Some(true),
        max_pages: Some(Count(1000)),
        ..Options::default()
    };
    let sink = Slow { bodies, bytes: 0, pages: 0 };
    let crawl = Crawl::builder().options(options).seed(seed).output(output).sink(sink).build().unwrap();
    crawl.run(&mut Silent).unwrap();
}

/// The variables by which this binary is told that it is such a child.
const SEED: &str = "SLOW_SINK_SEED";
const OUTPUT: &str = "SLOW_SINK_OUTPUT";

/// Runs one test of this binary once more, in a process of its own whose memory is its own.
fn in_a_child(test: &str, bodies: bool) {
    if let Some((seed, output)) = std::env::var(SEED).ok().zip(std::env::var_os(OUTPUT)) {
        return crawl_with_a_slow_sink(&seed, Path::new(&output), bodies);
    }
    let server = at_once(64, &Answer::html("<title>large</title>").body(Body::Filled(10 << 20)));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let mut command = program(std::env::current_exe().unwrap());
    command.args([&format!("crawl::memory::{test}"), "--exact", "--test-threads", "1"]);
    let child = command.env(SEED, server.url("/")).env(OUTPUT, &output).spawn().unwrap();
    let run = finish(child, &output);
    assert_eq!((run.number("pages.ok"), run.code), (65, Some(0)), "{}", run.stderr);
    assert_eq!(run.number("bytes.decoded") >> 20, 640, "{}", run.summary);
    let (peak, budget) = peak(&run);
    assert_eq!(budget, 32 << 20);
    assert!(peak <= budget, "{peak} bytes of {budget}");
}

#[test]
fn sixty_four_large_bodies_wait_for_a_slow_sink_inside_the_budget() {
    in_a_child("sixty_four_large_bodies_wait_for_a_slow_sink_inside_the_budget", false);
}

/// The plan does not know that a sink wants whole bodies. One of them at a time is held, and this budget has
/// room for that.
#[test]
fn sixty_four_large_bodies_are_held_one_by_one_for_a_slow_sink() {
    in_a_child("sixty_four_large_bodies_are_held_one_by_one_for_a_slow_sink", true);
}

/// Nobody reads what the crawl says, and the pipe is full before it says anything. It may wait, and must
/// not gather; once somebody reads, it ends.
#[cfg(target_os = "linux")]
#[test]
fn sixty_four_large_bodies_and_a_reader_that_does_not_read() {
    let server = at_once(64, &Answer::html("<title>large</title>").body(Body::Filled(10 << 20)));
    let directory = TempDir::new().unwrap();
    let (pipe, output) = (directory.path().join("pipe"), directory.path().join("crawl"));
    // both ends are open in the shell, and 64 KiB are all that a pipe holds
    let script = r#"mkfifo "$1" && exec 3<>"$1" && head -c 65536 /dev/zero >&3 && shift && exec "$@" 2>&3"#;
    let mut command = program("sh");
    command.args(["-c", script, "sh"]).arg(&pipe).arg(env!("CARGO_BIN_EXE_dragline"));
    command.args(["crawl", &server.url("/"), "--allow-private", "--delay", "0s", "--memory", "32MiB"]);
    command.args(["--concurrency", "64", "--progress", "plain", "--stats-interval", "100ms"]);
    let mut child = command.arg("-o").arg(&output).spawn().unwrap();
    let began = Instant::now();
    // until nothing moves any more: its peak is what it is by then
    let mut before = (0, 0);
    loop {
        std::thread::sleep(Duration::from_secs(2));
        assert!(began.elapsed() < guard(), "the crawl does not come to rest");
        let now = (server.asked(), ticks(child.id()));
        if now == before && server.asked() > 0 {
            break;
        }
        before = now;
    }
    assert!(child.try_wait().unwrap().is_none(), "it has words left that nobody has read");
    let mut reader = std::fs::File::open(&pipe).unwrap();
    let reading = std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    assert_eq!(wait(&mut child), Some(0));
    reading.join().unwrap().unwrap();
    let run = Run::left_in(&output, Some(0), String::new());
    assert_eq!(run.number("pages.ok"), 65, "{}", run.summary);
    let (peak, budget) = peak(&run);
    assert!(peak <= budget, "{peak} bytes of {budget}");
}

/// Processor time that a process has used, in clock ticks: fields 14 and 15 of `/proc/PID/stat`, see proc(5).
#[cfg(target_os = "linux")]
fn ticks(process: u32) -> u64 {
    let mut text = String::new();
    std::fs::File::open(format!("/proc/{process}/stat")).unwrap().read_to_string(&mut text).unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}
