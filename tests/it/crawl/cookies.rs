//! Cookies go where their server meant them to go, and nowhere else.

use crate::harness::crawl;
use crate::server::{Answer, Script, Server, page};

#[test]
fn a_bounce_that_sets_a_cookie_is_no_loop() {
    let script = Script::new().on("/", page(&["/a"])).on("/b", Answer::html("b")).rule(|request| {
        (request.path == "/a").then(|| {
            if request.has_cookie("s=1") {
                page(&["/b"])
            } else {
                Answer::redirect(302, "/a").header("Set-Cookie", "s=1; Path=/")
            }
        })
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--cookies"]);
    assert_eq!(server.count("/a"), 2);
    let record = run.page(&server.url("/a"));
    assert_eq!((&record["status"], &record["error"]), (&200.into(), &serde_json::Value::Null), "{record}");
    assert_eq!(server.count("/b"), 1);
}

#[test]
fn a_bounce_that_sets_a_new_cookie_each_time_ends() {
    let script = Script::new().on("/", page(&["/a"])).rule(|request| {
        (request.path == "/a").then(|| {
            let visits: u32 =
                request.header("cookie").and_then(|all| all.split("n=").nth(1)?.parse().ok()).unwrap_or(0);
            Answer::redirect(302, "/a").header("Set-Cookie", &format!("n={}; Path=/", visits + 1))
        })
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--cookies", "--max-redirects", "4"]);
    let record = run.page(&server.url("/a"));
    assert_eq!(record["error"]["kind"], "too_many_redirects", "{record}");
    assert_eq!(server.count("/a"), 5);
}

#[test]
fn a_value_set_on_a_redirect_is_used_at_once() {
    let script = Script::new()
        .on("/", page(&["/a"]).header("Set-Cookie", "c=1; Path=/"))
        .on("/a", Answer::redirect(302, "/b").header("Set-Cookie", "c=2; Path=/"))
        .on("/b", Answer::html("b"));
    let server = Server::start(script);
    crawl(&[server.url("/").as_str(), "--cookies"]);
    assert!(server.requests("/a")[0].has_cookie("c=1"));
    assert!(server.requests("/b")[0].has_cookie("c=2"));
    assert!(!server.requests("/b")[0].has_cookie("c=1"));
}

#[test]
fn ports_do_not_tell_cookies_apart_but_hosts_do() {
    let other_port = Server::start(Script::new().on("/p", Answer::html("p")));
    let there = [other_port.url_of("a.test", "/p"), other_port.url_of("b.test", "/p")];
    let server = Server::start(Script::new().on("/", page(&there).header("Set-Cookie", "c=1; Path=/")));
    let seed = server.url_of("a.test", "/");
    crawl(&[&seed, "--cookies", "--resolve", "*.test:127.0.0.1", "--scope", "any"]);
    let requests = other_port.requests("/p");
    assert_eq!(requests.len(), 2);
    for request in requests {
        assert_eq!(request.has_cookie("c=1"), request.host == "a.test", "{request:?}");
    }
}

#[test]
fn a_cookie_for_a_public_suffix_is_refused() {
    let script = Script::new()
        .on_host("a.co.uk", "/", Answer::html("").header("Set-Cookie", "x=1; Domain=co.uk"))
        .on("/later", Answer::html("later"));
    let server = Server::start(script.rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1;
        let home = request.host == "a.co.uk" && request.path == "/";
        home.then(|| {
            page(&[format!("http://b.co.uk:{port}/later"), "/later".to_owned()])
                .header("Set-Cookie", "x=1; Domain=co.uk")
                .header("Set-Cookie", "y=1; Domain=a.co.uk")
        })
    }));
    let seed = server.url_of("a.co.uk", "/");
    crawl(&[&seed, "--cookies", "--resolve", "*.co.uk:127.0.0.1", "--scope", "any"]);
    let requests = server.requests("/later");
    assert_eq!(requests.len(), 2);
    for request in requests {
        assert!(!request.has_cookie("x=1"), "{request:?}");
        assert_eq!(request.has_cookie("y=1"), request.host == "a.co.uk", "{request:?}");
    }
}

#[test]
fn without_a_jar_nothing_is_kept_and_a_bounce_is_a_loop() {
    let script = Script::new()
        .on("/", page(&["/a", "/b"]).header("Set-Cookie", "c=1; Path=/"))
        .on("/a", Answer::redirect(302, "/a").header("Set-Cookie", "s=1; Path=/"))
        .on("/b", Answer::html("b"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert!(server.log().iter().all(|request| request.header("cookie").is_none()), "{:?}", server.log());
    assert_eq!((server.count("/a"), server.count("/b")), (1, 1));
    let record = run.page(&server.url("/a"));
    assert_eq!(record["error"]["kind"], "redirect_loop", "{record}");
    assert_eq!(run.number("notes.cookies_dropped"), 0, "{}", run.summary);
}

#[test]
fn what_finds_no_room_in_a_small_jar_is_counted() {
    let hosts = 30_u32;
    let fill = "x".repeat(4000);
    let rule = move |request: &crate::server::Request| {
        if request.path != "/" {
            return None;
        }
        let host = request.host.strip_prefix('h')?.strip_suffix(".test")?.parse::<u32>().ok()?;
        let port = request.header("host")?.rsplit_once(':')?.1;
        let links: Vec<String> = if host == 0 {
            (1..hosts).map(|host| format!("http://h{host}.test:{port}/")).collect()
        } else {
            Vec::new()
        };
        let answer = page(&links);
        Some((0..3).fold(answer, |answer, n| answer.header("Set-Cookie", &format!("c{n}={fill}"))))
    };
    let server = Server::start(Script::new().rule(rule));
    let seed = server.url_of("h0.test", "/");
    let run = crawl(&[
        &seed,
        "--cookies",
        "--resolve",
        "*.test:127.0.0.1",
        "--scope",
        "any",
        "--memory",
        "17MiB",
        "--concurrency",
        "32",
    ]);
    assert_eq!(run.pages.len(), hosts as usize, "{:?}", run.urls());
    let dropped = run.number("notes.cookies_dropped");
    assert!((1..u64::from(3 * hosts)).contains(&dropped), "{dropped}");
}

#[test]
fn a_prefix_that_promises_more_than_it_keeps_is_refused() {
    let front = page(&["/a"])
        .header("Set-Cookie", "plain=1; Path=/")
        .header("Set-Cookie", "__Host-sid=1; Path=/")
        .header("Set-Cookie", "__secure-id=1; Secure; Path=/")
        .header("Set-Cookie", "__HOST-d=1; Secure; Path=/; Domain=a.test");
    let server = Server::start(Script::new().on("/", front).on("/a", Answer::html("a")));
    let seed = server.url_of("a.test", "/");
    let run = crawl(&[&seed, "--cookies", "--resolve", "*.test:127.0.0.1"]);
    assert_eq!(server.requests("/a")[0].header("cookie"), Some("plain=1"));
    assert_eq!(run.number("notes.cookies_dropped"), 3, "{}", run.summary);
}
