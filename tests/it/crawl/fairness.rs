//! One slow or large host holds up itself alone, and none of its URLs vanishes.

use crate::harness::{crawl, crawl_into, dragline, finish, guard, interrupt, resume};
use crate::server::{Answer, Script, Server, page};
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[test]
fn other_hosts_finish_while_a_slow_one_drips() {
    let slow: Vec<String> = (0..8).map(|i| format!("/slow/{i}")).collect();
    let quick: Vec<String> = (0..10).map(|i| format!("/quick/{i}")).collect();
    let script = Script::new()
        .on_host("slow.test", "/robots.txt", Answer::text("User-agent: *\nCrawl-delay: 1\n"))
        .on_host("slow.test", "/", page(&slow))
        .rule(|request| {
            let leaf = request.path.starts_with("/slow/") || request.path.starts_with("/quick/");
            leaf.then(|| Answer::html("leaf"))
        })
        .on("/", page(&quick));
    let server = Server::start(script);
    let mut arguments =
        vec![server.url_of("slow.test", "/"), "--resolve".to_owned(), "*.test:127.0.0.1".to_owned()];
    arguments.extend((0..20).map(|host| server.url_of(&format!("h{host}.test"), "/")));
    let run = crawl(&arguments);
    assert_eq!(run.number("pages.ok"), 9 + 20 * 11, "{}", run.summary);
    let log = server.log();
    let last_slow = log.iter().rposition(|request| request.host == "slow.test").unwrap();
    let last_quick = log.iter().rposition(|request| request.host != "slow.test").unwrap();
    assert!(last_quick < last_slow, "a quick host was asked at {:?}, after the slow one", log[last_quick]);
}

#[test]
fn slow_answers_of_one_host_leave_slots_to_others() {
    let slow: Vec<String> = (0..60).map(|i| format!("/slow/{i}")).collect();
    let script = Script::new()
        .on_host("slow.test", "/", page(&slow))
        .on_host("quick.test", "/", page(&["/a"]).after(Duration::from_millis(200)))
        .on_host("quick.test", "/a", page(&["/b"]))
        .on_host("quick.test", "/b", Answer::html("b"))
        .rule(|request| {
            request.path.starts_with("/slow/").then(|| Answer::html("leaf").after(Duration::from_millis(800)))
        });
    let server = Server::start(script);
    let (slow, quick) = (server.url_of("slow.test", "/"), server.url_of("quick.test", "/"));
    let limits = ["--concurrency", "8", "--per-host", "4"];
    let run = crawl(&[&[slow.as_str(), &quick, "--resolve", "*.test:127.0.0.1"], &limits[..]].concat());
    assert_eq!(run.number("pages.ok"), 64);
    let log = server.log();
    let quick_end = log.iter().rposition(|request| request.host == "quick.test").unwrap();
    let slow_later = log[quick_end..].iter().filter(|request| request.host == "slow.test").count();
    assert!(slow_later > 20, "the quick host waited for the slow one");
    assert!(most_at_once(&server, "slow.test") <= 4, "--per-host was exceeded");
}

/// The most requests of a host that were being answered at one time.
fn most_at_once(server: &Server, host: &str) -> usize {
    let log: Vec<_> = server.log().into_iter().filter(|request| request.host == host).collect();
    let under_way =
        |at: Duration| log.iter().filter(|r| r.at <= at && r.finished.is_none_or(|end| end > at)).count();
    log.iter().map(|request| under_way(request.at)).max().unwrap_or(0)
}

#[test]
fn with_a_delay_a_host_is_asked_one_at_a_time() {
    let links: Vec<String> = (0..6).map(|i| format!("/{i}")).collect();
    let script = Script::new().on("/", page(&links)).rule(|request| {
        (request.path != "/" && request.path != "/robots.txt")
            .then(|| Answer::html("x").after(Duration::from_millis(200)))
    });
    let server = Server::start(script);
    let seed = server.url_of("a.test", "/");
    crawl(&[seed.as_str(), "--delay", "10ms", "--concurrency", "16", "--resolve", "a.test:127.0.0.1"]);
    assert_eq!(most_at_once(&server, "a.test"), 1);
}

#[test]
fn every_url_of_a_slow_host_ends_in_a_counted_state() {
    let links: Vec<String> = (0..5000).map(|i| format!("/{i}")).collect();
    let script = Script::new()
        .on("/", page(&links))
        .rule(|request| (request.path != "/" && request.path != "/robots.txt").then(|| Answer::html("x")));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--delay", "200ms", "--max-time", "3s"]);
    // the sums are checked for every run; here they must have something to add up
    assert_eq!(run.number("urls.unique") + run.number("urls.doubts_pending"), 5001);
    assert!(run.number("urls.queued") > 4000, "{}", run.summary);
    assert_ne!(run.code, Some(0));
}

/// Hosts far beyond what memory holds at a time share buckets. One of them asks for a minute between
/// two requests and has pages for hours: the others, whose pages wait before, among and behind its own,
/// come to their end meanwhile.
#[test]
fn a_host_with_a_long_delay_does_not_hold_up_those_that_share_its_bucket() {
    let hosts = 10_000;
    let script = Script::new()
        .on_host("slow.test", "/robots.txt", Answer::text("User-agent: *\nCrawl-delay: 60\n"))
        .on("/robots.txt", Answer::status(404))
        .rule(|request| request.path.starts_with("/page").then(|| Answer::html("x")));
    let server = Server::start(script);
    let directory = TempDir::new().unwrap();
    let (list, output) = (directory.path().join("seeds"), directory.path().join("crawl"));
    let mut seeds = Vec::new();
    for host in 0..hosts {
        seeds.push(server.url_of(&format!("h{host}.test"), "/page"));
        if host % (hosts / 500) == 0 {
            seeds.push(server.url_of("slow.test", &format!("/page{host}")));
        }
    }
    std::fs::write(&list, seeds.join("\n")).unwrap();
    let given = ["-i", list.to_str().unwrap(), "--delay", "0s", "--resolve", "*.test:127.0.0.1"];
    let small = ["--memory", "24MiB", "--allow-private"];
    let first = crawl_into(&output, &[&given[..], &small, &["--max-pages", "1"]].concat());
    assert_eq!(first.code, Some(11), "{}", first.stderr);
    let status = dragline().arg("status").arg(&output).arg("--json").output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    let in_buckets = status["frontier"]["other_hosts"].as_u64().unwrap();
    assert!(in_buckets > hosts as u64 / 2, "they were to share buckets: {status}");

    let mut child = resume(&output, &["--max-pages", "1000000"]);
    let began = Instant::now();
    // two requests of each host: robots.txt and the page
    while server.asked() < 2 * hosts {
        assert!(began.elapsed() < guard(), "only {} requests", server.asked());
        assert!(child.try_wait().unwrap().is_none(), "the slow host has pages for hours");
        std::thread::sleep(Duration::from_millis(50));
    }
    while server.log().iter().filter(|request| request.host != "slow.test" && request.path == "/page").count()
        < hosts
    {
        assert!(began.elapsed() < guard(), "only {} requests", server.asked());
        std::thread::sleep(Duration::from_millis(50));
    }
    interrupt(&child);
    let run = finish(child, &output);
    assert_eq!(run.code, Some(10), "{}", run.stderr);
    let log = server.log();
    let slow: Vec<_> = log.iter().filter(|r| r.host == "slow.test" && r.path != "/robots.txt").collect();
    assert!(slow.len() < 20, "{} requests of the slow host, of 500", slow.len());
    for pair in slow.windows(2) {
        assert!(pair[1].at >= pair[0].at + Duration::from_secs(60), "a minute between two: {pair:?}");
    }
    assert_eq!(run.number("pages.ok"), hosts as u64 + slow.len() as u64, "{}", run.summary);
    let (peak, budget) = (run.number("memory.peak_rss_bytes"), run.number("memory.budget_bytes"));
    assert!(peak <= budget, "{peak} bytes of {budget}");
}
