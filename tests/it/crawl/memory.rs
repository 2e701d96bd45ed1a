//! The budget holds for the whole process, as the system counts it.

use crate::harness::{Run, crawl, dragline};
use crate::server::{Answer, Body, Script, Server, brotli_stored, gzip, page, zstd};
use std::time::Duration;

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
