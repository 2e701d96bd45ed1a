//! A host is never asked sooner than it may be. Lower bounds only: a busy machine may always be later.

use crate::harness::{Run, crawl};
use crate::server::{Answer, Body, Request, Script, Server, now, page};
use std::time::Duration;

/// The pauses between the end of each answer and the next request, in order.
#[track_caller]
fn pauses(mut log: Vec<Request>) -> Vec<Duration> {
    log.sort_by_key(|request| request.at);
    log.windows(2)
        .map(|pair| {
            let finished = pair[0].finished.expect("an answer under way when the next request came");
            pair[1].at.checked_sub(finished).expect("a request before the end of the answer before")
        })
        .collect()
}

#[track_caller]
fn assert_pauses(log: Vec<Request>, least: Duration) {
    let told: Vec<String> = log.iter().map(|request| format!("{:?} {}", request.at, request.path)).collect();
    for (index, pause) in pauses(log).into_iter().enumerate() {
        assert!(pause >= least, "only {pause:?} before request {} of {told:?}", index + 1);
    }
}

fn assert_all_ok(run: &Run, pages: u64) {
    assert_eq!(run.number("pages.ok"), pages, "{}\n{}", run.summary, run.stderr);
}

#[test]
fn the_delay_stands_between_all_requests_of_a_host() {
    let script = Script::new()
        .on("/", page(&["/a", "/b", "/c", "/moved"]))
        .on("/a", page(&["/d"]).after(Duration::from_millis(300)))
        .on("/b", Answer::html("b"))
        .on("/c", Answer::html("c"))
        .on("/d", Answer::html("d"))
        .on("/moved", Answer::redirect(302, "/b"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--delay", "300ms"]);
    assert_all_ok(&run, 6);
    assert_eq!(server.log().len(), 7, "robots.txt and six pages");
    assert_pauses(server.log(), Duration::from_millis(300));
}

#[test]
fn the_delay_holds_for_retries_and_for_the_canonical_spelling() {
    let script = Script::new()
        .on("/", page(&["/%7Efoo", "/shy"]))
        .on("/~foo", Answer::html("foo"))
        .in_turn("/shy", vec![Answer::status(200).body(Body::Close), Answer::html("shy")]);
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--delay", "300ms", "--retries", "3"]);
    assert_all_ok(&run, 3);
    assert_pauses(server.log(), Duration::from_millis(300));
}

#[test]
fn a_host_name_is_one_host_on_all_its_ports() {
    let second = Server::start(Script::new().on("/x", page(&["/y"])).on("/y", Answer::html("y")));
    let over_there = second.url_of("a.test", "/x");
    let first =
        Server::start(Script::new().on("/", page(&[over_there.as_str(), "/b"])).on("/b", Answer::html("b")));
    let seed = first.url_of("a.test", "/");
    let run = crawl(&[&seed, "--resolve", &first.resolve("a.test"), "--delay", "250ms"]);
    assert_all_ok(&run, 4);
    assert_pauses([first.log(), second.log()].concat(), Duration::from_millis(250));
}

#[test]
fn the_delay_holds_for_a_robots_txt_that_stands_elsewhere() {
    let script = Script::new()
        .on("/robots.txt", Answer::redirect(302, "/r1"))
        .on("/r1", Answer::redirect(302, "/r2"))
        .on("/r2", Answer::text("User-agent: *\nDisallow: /b\n"))
        .on("/", page(&["/a", "/b"]))
        .on("/a", Answer::html("a"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--delay", "300ms"]);
    assert_all_ok(&run, 2);
    assert_eq!(server.log().len(), 5);
    assert_pauses(server.log(), Duration::from_millis(300));
}

#[test]
fn many_names_on_one_address_wait_for_each_other_with_ip_delay() {
    let script = Script::new().on("/", page(&["/a"])).on("/a", Answer::html("a"));
    let server = Server::start(script);
    let names = ["a.test", "b.test", "c.test", "d.test"];
    let mut arguments = vec!["--ip-delay".to_owned(), "200ms".to_owned()];
    for name in names {
        arguments.extend([server.url_of(name, "/"), "--resolve".to_owned(), server.resolve(name)]);
    }
    let run = crawl(&arguments);
    assert_all_ok(&run, 8);
    assert_pauses(server.log(), Duration::from_millis(200));
}

#[test]
fn crawl_delay_is_honoured() {
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nCrawl-delay: 0.5\n"))
        .on("/", page(&["/a", "/b"]))
        .on("/a", Answer::html("a"))
        .on("/b", Answer::html("b"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--delay", "100ms"]);
    assert_all_ok(&run, 3);
    let after_robots: Vec<Request> =
        server.log().into_iter().filter(|request| request.path != "/robots.txt").collect();
    assert_pauses(after_robots, Duration::from_millis(500));
}

#[test]
fn crawl_delay_never_goes_below_the_delay() {
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nCrawl-delay: 0.1\n"))
        .on("/", page(&["/a", "/b"]))
        .on("/a", Answer::html("a"))
        .on("/b", Answer::html("b"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--delay", "400ms"]);
    assert_all_ok(&run, 3);
    assert_pauses(server.log(), Duration::from_millis(400));
}

#[test]
fn an_absurd_or_malformed_crawl_delay_does_not_stop_the_crawl() {
    for line in [
        "Crawl-delay: 86400",
        "Crawl-delay: abc",
        "Crawl-delay: -1",
        "Crawl-delay: NaN",
        "Crawl-delay: 1e300",
    ] {
        let script = Script::new()
            .on("/robots.txt", Answer::text(format!("User-agent: *\n{line}\nDisallow: /no\n")))
            .on("/", page(&["/a", "/no"]))
            .on("/a", Answer::html("a"));
        let server = Server::start(script);
        let run = crawl(&[server.url("/").as_str(), "--max-crawl-delay", "500ms"]);
        assert_all_ok(&run, 2);
        assert_eq!(server.count("/no"), 0, "{line}");
        if line.ends_with("86400") {
            let pages = server.log().into_iter().filter(|request| request.path != "/robots.txt");
            assert_pauses(pages.collect(), Duration::from_millis(500));
        }
    }
}

#[test]
fn a_random_wait_is_at_least_half_the_delay() {
    let script = Script::new()
        .on("/", page(&["/a", "/b", "/c"]))
        .on("/a", Answer::html("a"))
        .on("/b", Answer::html("b"))
        .on("/c", Answer::html("c"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--delay", "400ms", "--random-wait"]);
    assert_all_ok(&run, 4);
    assert_pauses(server.log(), Duration::from_millis(200));
}

/// A site whose `/busy` says to come back later once, beside a long chain on another host.
fn told_to_wait(status: u16, retry_after: &str) -> Server {
    let mut script = Script::new()
        .on_host("a.test", "/", page(&["/busy", "/b", "/c"]))
        .in_turn(
            "/busy",
            vec![Answer::status(status).header("Retry-After", retry_after), Answer::html("ready")],
        )
        .on("/b", Answer::html("b"))
        .on("/c", Answer::html("c"))
        .on_host("b.test", "/", page(&["/chain0"]));
    for link in 0..12 {
        script = script.on(&format!("/chain{link}"), page(&[format!("/chain{}", link + 1)]));
    }
    Server::start(script)
}

fn crawl_both(server: &Server, further: &[&str]) -> Run {
    let (a, b) = (server.url_of("a.test", "/"), server.url_of("b.test", "/"));
    let resolve = format!("*.test:{}", server.authority().split(':').next().unwrap());
    crawl(&[&[a.as_str(), &b, "--resolve", &resolve, "--delay", "300ms"], further].concat())
}

/// The requests of a.test from the first `/busy` on, and when that was answered.
fn since_busy(server: &Server) -> (Duration, Vec<Request>) {
    let mut of_host: Vec<Request> =
        server.log().into_iter().filter(|request| request.host == "a.test").collect();
    let busy = of_host.iter().position(|request| request.path == "/busy").expect("/busy was asked");
    let finished = of_host[busy].finished.expect("/busy was answered");
    (finished, of_host.split_off(busy + 1))
}

#[test]
fn retry_after_pauses_the_whole_host_and_no_other() {
    for status in [429, 503] {
        let server = told_to_wait(status, "2");
        let run = crawl_both(&server, &[]);
        let busy = run.page(&server.url_of("a.test", "/busy"));
        assert_eq!(busy["status"], 200, "{busy}");
        assert_eq!(busy["attempts"], 2, "{busy}");
        let (told, later) = since_busy(&server);
        let resumed = later.first().expect("the host was asked again").at;
        assert!(
            resumed >= told + Duration::from_secs(2),
            "asked again after {:?}",
            resumed.saturating_sub(told)
        );
        let others =
            server.log().iter().filter(|r| r.host == "b.test" && r.at > told && r.at < resumed).count();
        assert!(others > 0, "the other host stood still meanwhile");
    }
}

#[test]
fn retry_after_may_be_a_date() {
    // dates know whole seconds only: six seconds ahead is at least five
    let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(6));
    let begun = std::time::SystemTime::now();
    let server = told_to_wait(503, &date);
    let started = now();
    let run = crawl_both(&server, &[]);
    assert_eq!(run.page(&server.url_of("a.test", "/busy"))["status"], 200);
    let (_, later) = since_busy(&server);
    let resumed = later.first().expect("the host was asked again").at;
    let until = httpdate::parse_http_date(&date).unwrap().duration_since(begun).unwrap();
    let tolerance = Duration::from_millis(50);
    assert!(
        resumed + tolerance >= started + until,
        "asked again {:?} after the start",
        resumed.saturating_sub(started)
    );
}

#[test]
fn an_odd_retry_after_is_a_backoff_and_a_far_one_is_clamped() {
    for value in ["-5", "soon", "", "1e9", "99999999999999999999", "Wed, 21 Oct 2099 07:28:00 GMT", "86400"] {
        let server = told_to_wait(429, value);
        let run = crawl_both(&server, &["--max-retry-after", "1s"]);
        let busy = run.page(&server.url_of("a.test", "/busy"));
        assert_eq!((&busy["status"], &busy["attempts"]), (&200.into(), &2.into()), "{value}: {busy}");
        let (told, later) = since_busy(&server);
        let resumed = later.first().expect("the host was asked again").at;
        if value.ends_with("GMT") || value == "86400" {
            assert!(
                resumed >= told + Duration::from_secs(1),
                "{value}: after {:?}",
                resumed.saturating_sub(told)
            );
        }
    }
}

#[test]
fn a_host_that_stays_busy_ends_in_a_record() {
    let script =
        Script::new().on("/", page(&["/busy"])).on("/busy", Answer::status(429).header("Retry-After", "1"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--retries", "2"]);
    let busy = run.page(&server.url("/busy"));
    assert_eq!(busy["status"], 429, "{busy}");
    assert_eq!(busy["attempts"], 3, "{busy}");
    assert_eq!(server.count("/busy"), 3);
}
