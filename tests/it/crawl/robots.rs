//! robots.txt over the wire: whose it is, how often it is asked for, and what waits for it.

use crate::harness::{crawl, dragline};
use crate::server::{Answer, Body, Script, Server, page};
use std::time::Duration;

#[test]
fn it_is_asked_first_and_once_and_what_it_forbids_is_skipped() {
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /no\nAllow: /no/but\n"))
        .on("/", page(&["/a", "/no/1", "/no/2", "/no/but"]))
        .on("/a", Answer::html("a"))
        .on("/no/but", Answer::html("but"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.log()[0].path, "/robots.txt");
    assert_eq!(server.count("/robots.txt"), 1);
    assert_eq!(server.pages(), ["/", "/a", "/no/but"]);
    assert_eq!(run.skips("robots_denied"), 2);
    assert_eq!(run.skip_reason(&server.url("/no/1")), Some("robots_denied"));
}

#[test]
fn ignored_means_not_even_asked_for() {
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /\n"))
        .on("/", page(&["/a"]))
        .on("/a", Answer::html("a"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--robots", "ignore"]);
    assert_eq!(server.count("/robots.txt"), 0);
    assert_eq!(run.number("pages.ok"), 2);
}

#[test]
fn the_token_is_dragline_unless_another_is_given() {
    let rules = "User-agent: dragline\nDisallow: /a\n\nUser-agent: mine\nDisallow: /b\n\nUser-agent: *\nDisallow: /\n";
    for (agent, expected) in [(None, "/b"), (Some("mine"), "/a")] {
        let script = Script::new()
            .on("/robots.txt", Answer::text(rules))
            .on("/", page(&["/a", "/b"]))
            .on("/a", Answer::html("a"))
            .on("/b", Answer::html("b"));
        let server = Server::start(script);
        let seed = server.url("/");
        crawl(&[&[seed.as_str()][..], &agent.map_or(vec![], |agent| vec!["--robots-agent", agent])].concat());
        assert_eq!(server.pages(), ["/", expected]);
    }
}

#[test]
fn each_port_has_its_own() {
    let open = Server::start(Script::new().on("/x", Answer::html("x")));
    let closed = Server::start(
        Script::new()
            .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /\n"))
            .on("/x", Answer::html("x")),
    );
    let links = [open.url_of("a.test", "/x"), closed.url_of("a.test", "/x")];
    let server = Server::start(Script::new().on("/", page(&links)));
    crawl(&[&server.url_of("a.test", "/"), "--resolve", "a.test:127.0.0.1"]);
    assert_eq!((open.count("/robots.txt"), open.count("/x")), (1, 1));
    assert_eq!((closed.count("/robots.txt"), closed.count("/x")), (1, 0));
}

#[test]
fn rules_from_another_host_hold_for_the_one_that_pointed_there() {
    let elsewhere = Server::start_at(
        [127, 0, 0, 2].into(),
        Script::new().on("/rules", Answer::text("User-agent: *\nDisallow: /no\n")),
    );
    let script = Script::new()
        .on("/robots.txt", Answer::redirect(301, &elsewhere.url("/rules")))
        .on("/", page(&["/no", "/yes"]))
        .on("/yes", Answer::html("yes"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.pages(), ["/", "/yes"]);
    assert_eq!(run.skips("robots_denied"), 1);
}

#[test]
fn a_busy_answer_is_waited_for_and_never_taken_for_permission() {
    let busy = Answer::status(429).header("Retry-After", "2");
    let script = Script::new()
        .in_turn("/robots.txt", vec![busy, Answer::text("User-agent: *\nDisallow: /no\n")])
        .on("/", page(&["/no"]));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    let asked = server.requests("/robots.txt");
    assert_eq!(asked.len(), 2);
    assert!(asked[1].at >= asked[0].finished.unwrap() + Duration::from_secs(2));
    assert!(server.requests("/")[0].at >= asked[1].at, "no page before the rules");
    assert_eq!((run.number("pages.ok"), run.skips("robots_denied")), (1, 1));
}

#[test]
fn an_unreachable_one_closes_its_host_and_no_other() {
    for fault in [Answer::status(503), Answer::text("").body(Body::Never), Answer::text("").body(Body::Close)]
    {
        let script = Script::new()
            .on_host("down.test", "/robots.txt", fault)
            .on_host("up.test", "/", page(&["/a"]))
            .on("/a", Answer::html("a"))
            .on("/", Answer::html("down"));
        let server = Server::start(script);
        let (up, down) = (server.url_of("up.test", "/"), server.url_of("down.test", "/"));
        let run = crawl(&[&down, &up, "--resolve", "*.test:127.0.0.1", "--timeout", "1s"]);
        assert_eq!(run.number("pages.ok"), 2, "{}", run.summary);
        assert_eq!(run.skip_reason(&down), Some("robots_unreachable"), "{:?}", run.skipped);
        let down_asked = server.log().iter().filter(|request| request.host == "down.test").count();
        assert!((2..=4).contains(&down_asked), "robots.txt was asked {down_asked} times");
    }
}

#[test]
fn the_rules_apply_to_redirects_too() {
    let script = Script::new()
        .on("/robots.txt", Answer::text("User-agent: *\nDisallow: /landing\n"))
        .on("/", page(&["/go"]))
        .on("/go", Answer::redirect(302, "/landing"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.count("/landing"), 0);
    assert_eq!(run.skip_reason(&server.url("/landing")), Some("robots_denied"));
}

#[test]
fn a_single_question_has_a_line_and_a_code_for_an_answer() {
    let rules = "User-agent: *\nDisallow: /no\n\nUser-agent: mine\nDisallow: /\n";
    let server = Server::start(Script::new().on("/robots.txt", Answer::text(rules)));
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("c.toml");
    std::fs::write(&file, "robots-agent = 'mine'\nresolve = ['a.test:127.0.0.1']\n").unwrap();
    let ask = |url: &str, more: &[&str]| {
        let output = dragline().args(["robots", url]).args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let answer = |code, line: &str| (Some(code), format!("{line}\n"));
    let by_default = ask(&server.url("/no/1"), &[]);
    assert_eq!(by_default, answer(9, "disallowed (line 2: Disallow: /no)"));
    assert_eq!(ask(&server.url("/yes"), &[]), answer(0, "allowed (no rule applies)"));
    assert_eq!(ask(&server.url("/yes"), &["--agent", "mine"]), answer(9, "disallowed (line 5: Disallow: /)"));
    let named = server.url_of("a.test", "/yes");
    let resolved = ["--resolve", "a.test:127.0.0.1", "--allow-private"];
    assert_eq!(ask(&named, &resolved), answer(0, "allowed (no rule applies)"));
    let configured = ask(&named, &["--config", file.to_str().unwrap()]);
    assert_eq!(configured, answer(9, "disallowed (line 5: Disallow: /)"));
    assert_eq!(ask("http://127.0.0.1:9/", &[]).0, Some(1), "no verdict is none of the two");
}
