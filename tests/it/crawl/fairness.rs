//! One slow or large host holds up itself alone, and none of its URLs vanishes.

use crate::harness::crawl;
use crate::server::{Answer, Script, Server, page};
use std::time::Duration;

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
    assert_eq!(run.number("urls.unique"), 5001);
    assert!(run.number("urls.queued") > 4000, "{}", run.summary);
    assert_ne!(run.code, Some(0));
}
