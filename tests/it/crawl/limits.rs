//! Limits hold exactly, and say that they did.

#[cfg(target_os = "linux")]
use crate::harness::finish;
use crate::harness::{Run, crawl, crawl_into};
use crate::server::{Answer, Body, Script, Server, page};
use std::fmt::Write as _;
use std::time::Duration;
use tempfile::TempDir;

/// A page of `links` links, each to a leaf.
fn wide(links: usize) -> Server {
    let links: Vec<String> = (0..links).map(|i| format!("/leaf{i}")).collect();
    Server::start(
        Script::new().on("/", page(&links)).rule(|r| r.path.starts_with("/leaf").then(|| Answer::html("x"))),
    )
}

#[test]
fn max_pages_is_never_exceeded() {
    for limit in [1, 2, 37] {
        let server = wide(200);
        let limit_text = limit.to_string();
        let run = crawl(&[server.url("/").as_str(), "--max-pages", &limit_text, "--concurrency", "32"]);
        assert_eq!(run.number("pages.fetched"), limit);
        assert_eq!(server.pages().len() as u64, limit, "no request whose record would not fit");
        let left = run.number("urls.queued") + run.number("urls.doubts_pending");
        assert_eq!(left, 201 - limit, "what is left is counted: {}", run.summary);
        assert!(
            ![Some(0), Some(1), None].contains(&run.code),
            "a limit has a code of its own: {:?}",
            run.code
        );
    }
}

#[test]
fn a_limit_that_is_not_reached_is_no_limit() {
    let server = wide(20);
    let run = crawl(&[server.url("/").as_str(), "--max-pages", "100", "--max-time", "5m"]);
    assert_eq!((run.number("pages.fetched"), run.code), (21, Some(0)), "{}", run.stderr);
}

#[test]
fn max_pages_per_host_counts_each_host_name() {
    let script = Script::new()
        .on("/", page(&["/1", "/2", "/3", "/4", "/5"]))
        .rule(|request| request.path[1..].parse::<u32>().is_ok().then(|| Answer::html("x")));
    let server = Server::start(script);
    let (a, b) = (server.url_of("a.test", "/"), server.url_of("b.test", "/"));
    let run = crawl(&[&a, &b, "--resolve", "*.test:127.0.0.1", "--max-pages-per-host", "3"]);
    assert_eq!(run.number("pages.fetched"), 6);
    assert_eq!(run.skips("host_limit"), 6, "{}", run.summary);
    for host in ["a.test", "b.test"] {
        let pages = server.log().iter().filter(|r| r.host == host && r.path != "/robots.txt").count();
        assert_eq!(pages, 3, "{host}");
    }
}

#[test]
fn depth_zero_is_the_seeds_alone() {
    let server = wide(5);
    let run = crawl(&[server.url("/").as_str(), "-d", "0"]);
    assert_eq!(server.pages(), ["/"]);
    assert_eq!(run.skips("too_deep"), 5);
    assert_eq!(run.code, Some(0));
}

#[test]
fn depth_is_that_of_the_first_discovery() {
    let script = Script::new()
        .on("/", page(&["/1"]))
        .on("/1", page(&["/2", "/"]))
        .on("/2", page(&["/3"]))
        .on("/3", Answer::html("3"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "-d", "2"]);
    assert_eq!(server.pages(), ["/", "/1", "/2"]);
    assert_eq!(run.page(&server.url("/2"))["depth"], 2);
    assert_eq!(run.skip_reason(&server.url("/3")), Some("too_deep"));
}

#[test]
fn nearer_pages_are_fetched_first() {
    let script = Script::new()
        .on("/", page(&["/1a", "/1b", "/1c"]))
        .on("/1a", page(&["/2a", "/2b"]))
        .on("/1b", page(&["/2c"]))
        .rule(|r| (r.path.starts_with("/1") || r.path.starts_with("/2")).then(|| page(&["/3a"])))
        .on("/3a", Answer::html("x"));
    let server = Server::start(script);
    crawl(&[server.url("/").as_str(), "--concurrency", "1"]);
    let order: Vec<char> = server.log().iter().filter_map(|r| r.path.chars().nth(1)).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    sorted.rotate_right(1);
    assert_eq!(order, sorted, "robots.txt, then by depth");
}

#[test]
fn max_time_ends_a_crawl_that_would_go_on() {
    let script = Script::new().rule(|request| {
        let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
        Some(page(&[format!("/c{}", n + 1)]))
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/c0").as_str(), "--delay", "20ms", "--max-time", "2s"]);
    assert!(run.number("pages.fetched") > 0);
    assert!(![Some(0), None].contains(&run.code), "{:?}", run.code);
    assert!(
        run.summary["end_reason"].as_str().is_some_and(|reason| reason.contains("time")),
        "{}",
        run.summary
    );
}

/// A crawl of one page, asked at once and given a second.
fn a_second_for(answer: Answer) -> Run {
    let server = Server::start(Script::new().on("/", answer));
    let directory = TempDir::new().unwrap();
    let seed = server.url("/");
    let given = [seed.as_str(), "--max-time", "1s", "--timeout", "10m", "--robots", "ignore"];
    let run = crawl_into(&directory.path().join("crawl"), &given);
    assert_eq!((run.code, &run.summary["end_reason"]), (Some(12), &"time_limit".into()), "{}", run.stderr);
    run
}

#[test]
fn what_is_in_flight_when_the_time_is_up_may_still_end() {
    let run = a_second_for(page(&["/next"]).after(Duration::from_millis(1500)));
    assert_eq!((run.number("pages.ok"), run.number("urls.in_flight")), (1, 0), "{}", run.summary);
    assert_eq!(run.number("urls.queued"), 1, "nothing new is begun: {}", run.summary);
}

#[test]
fn what_does_not_end_is_not_waited_for_when_the_time_is_up() {
    let run = a_second_for(Answer::html("").body(Body::Never));
    assert_eq!((run.number("pages.fetched"), run.number("urls.in_flight")), (0, 1), "{}", run.summary);
}

/// The binary where a shell allows it so many open files.
#[cfg(target_os = "linux")]
fn with_open_files(most: u32, output: &std::path::Path, arguments: &[&str]) -> Run {
    use std::process::{Command, Stdio};

    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n \"$1\"; shift; exec \"$@\"", "sh", &most.to_string()]);
    command.args([env!("CARGO_BIN_EXE_dragline"), "crawl"]).args(arguments).arg("-o").arg(output);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command.spawn().unwrap(), output)
}

#[cfg(target_os = "linux")]
#[test]
fn too_few_open_files_are_refused_before_anything_is_fetched() {
    let server = wide(100);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("deep/crawl");
    let seed = server.url("/");
    let given = [seed.as_str(), "--delay", "0s", "--concurrency", "32"];
    let run = with_open_files(575, &output, &given);
    assert_eq!((run.code, server.log().len()), (Some(3), 0), "{}", run.stderr);
    for part in ["--concurrency 32 needs 576 open files", "only 575", "ulimit -n", "lower --concurrency"] {
        assert!(run.stderr.contains(part), "{part} is missing in {}", run.stderr);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
    let run = with_open_files(576, &output, &given);
    assert_eq!((run.code, run.number("pages.ok")), (Some(0), 101), "{}", run.stderr);
}

#[test]
fn long_urls_are_skipped_and_counted() {
    let long = format!("/{}", "x".repeat(300));
    let server =
        Server::start(Script::new().on("/", page(&[long.as_str(), "/a"])).on("/a", Answer::html("a")));
    let run = crawl(&[server.url("/").as_str(), "--max-url-length", "200B"]);
    assert_eq!(server.pages(), ["/", "/a"]);
    assert_eq!(run.skips("url_too_long"), 1);
}

#[test]
fn include_and_exclude_choose_among_the_links() {
    let links = ["/docs/a", "/docs/b.pdf", "/blog/c", "/docs/d"];
    let script = Script::new()
        .on("/docs/", page(&links))
        .rule(|r| (r.path != "/docs/" && r.path != "/robots.txt").then(|| Answer::html("x")));
    let server = Server::start(script);
    let run = crawl(&[server.url("/docs/").as_str(), "--include", "/docs/", "--exclude", r"\.pdf$"]);
    assert_eq!(server.pages(), ["/docs/", "/docs/a", "/docs/d"]);
    assert_eq!(run.skip_reason(&server.url("/docs/b.pdf")), Some("excluded"));
    assert_eq!(run.skip_reason(&server.url("/blog/c")), Some("not_included"));
}

/// A page of `links` different references, all relative to a base of `base` bytes.
fn dragging(base: usize, links: usize, spelled: impl Fn(usize) -> String) -> Server {
    let mut html = format!("<base href=\"/{}/\">", "b".repeat(base));
    for link in 0..links {
        let _ = write!(html, "<a href=\"{}\">x</a>", spelled(link));
    }
    Server::start(Script::new().on("/", page(&["/page", "/a"])).on("/page", Answer::html(html)))
}

/// References that resolve to 2.4 GB of URLs. The bound is the budget itself: the process is not
/// promised to stay below it, but one page of 16 MiB of links at most, in a crawl that has seen
/// nothing else, leaves more than half of it.
#[test]
fn a_page_cannot_make_its_links_long() {
    for spelled in [|link| format!("x{link}"), |link| format!("y/../x{link}"), |link| format!("?{link}")] {
        let server = dragging(60_000, 40_000, spelled);
        let run = crawl(&[server.url("/").as_str(), "--memory", "64MiB"]);
        assert_eq!(run.page(&server.url("/page"))["links"], 40_000, "{}", run.summary);
        assert_eq!(run.skips("url_too_long") + run.skips("too_many_links"), 40_000, "{}", run.summary);
        let peak = run.number("memory.peak_rss_bytes");
        assert!(peak < 64 << 20, "{peak} bytes");
        assert!(run.skipped.iter().all(|row| row["url"].as_str().is_some_and(|url| url.len() < 300)));
    }
}

#[test]
fn under_a_long_base_short_links_are_followed() {
    let server = dragging(3000, 3, |link| ["x", "/a", "../c"][link].to_owned());
    let run = crawl(&[server.url("/")]);
    assert_eq!(run.skips("url_too_long"), 1, "{}", run.summary);
    assert_eq!((server.count("/a"), server.count("/c")), (1, 1));
}

#[test]
fn a_link_too_deep_is_too_deep_in_whatever_scope() {
    let server = Server::start(Script::new().on("/", page(&["http://127.0.0.9/", "/a"])));
    let run = crawl(&[server.url("/").as_str(), "-d", "0"]);
    assert_eq!((run.skips("too_deep"), run.skips("out_of_scope")), (2, 0), "{}", run.summary);
}
