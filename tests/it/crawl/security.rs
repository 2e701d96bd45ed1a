//! Addresses that are nobody's business are left alone, and secrets stay with their host.

use crate::harness::{crawl, crawl_guarded};
use crate::server::{Answer, Script, Server, page};

#[test]
fn a_typed_loopback_seed_is_crawled_without_permission() {
    let server = Server::start(Script::new().on("/", page(&["/a"])).on("/a", Answer::html("a")));
    let run = crawl_guarded(&[&server.url("/")]);
    assert_eq!(run.number("pages.ok"), 2, "{}\n{}", run.summary, run.stderr);
}

#[test]
fn private_addresses_are_refused_however_they_are_reached() {
    let secret = Server::start_at([127, 0, 0, 2].into(), Script::new().on("/", Answer::html("secret")));
    let other_port = Server::start(Script::new().on("/", Answer::html("secret")));
    let links = [
        secret.url("/"),
        // the same address as a number, and in octal
        format!("http://0x7f000002:{}/hex", secret.port()),
        format!("http://2130706434:{}/decimal", secret.port()),
        format!("http://0177.0.0.2:{}/octal", secret.port()),
        // a name that leads there
        secret.url_of("inside.test", "/name"),
        // mapped into IPv6
        format!("http://[::ffff:127.0.0.2]:{}/mapped", secret.port()),
        // the seed's address on a port nobody typed
        other_port.url("/port"),
        "/redirect".to_owned(),
    ];
    let redirect = Answer::redirect(302, &secret.url("/redirected"));
    let server = Server::start(Script::new().on("/", page(&links)).on("/redirect", redirect));
    let seed = server.url("/");
    let run = crawl_guarded(&[&seed, "--scope", "any", "--resolve", &secret.resolve("inside.test")]);
    assert_eq!(secret.log().len(), 0, "requested: {:?}", secret.log());
    assert_eq!(other_port.log().len(), 0, "requested: {:?}", other_port.log());
    assert_eq!(run.number("pages.ok"), 2, "the seed and the page that redirects: {}", run.summary);
    assert_eq!(run.skips("private_address"), 8, "{}\n{:?}", run.summary, run.skipped);
}

#[test]
fn with_permission_they_are_fetched() {
    let inside = Server::start_at([127, 0, 0, 2].into(), Script::new().on("/", Answer::html("inside")));
    let server = Server::start(Script::new().on("/", page(&[inside.url("/")])));
    let run = crawl(&[server.url("/").as_str(), "--scope", "any"]);
    assert_eq!(run.number("pages.ok"), 2, "{}", run.summary);
    assert_eq!(inside.count("/"), 1);
}

/// A seed host that links and redirects to another host; returns what the other host was sent.
fn sent_elsewhere(further: &[&str]) -> Vec<crate::server::Request> {
    let server = Server::start(Script::new().on("/x", Answer::html("x")).on("/y", Answer::html("y")).rule(
        |request| {
            let port = request.header("host")?.rsplit_once(':')?.1;
            match (request.host.as_str(), request.path.as_str()) {
                ("a.test", "/") => Some(page(&[format!("http://b.test:{port}/x"), "/go".to_owned()])),
                ("a.test", "/go") => Some(Answer::redirect(302, &format!("http://b.test:{port}/y"))),
                _ => None,
            }
        },
    ));
    let seed = server.url_of("a.test", "/");
    let arguments = [
        &[&seed, "--resolve", "*.test:127.0.0.1", "--scope", "any"],
        &["-H", "Authorization: Basic c2VjcmV0", "-H", "Cookie: s=1", "-H", "X-Key: k"][..],
        further,
    ]
    .concat();
    crawl(&arguments);
    let (own, other): (Vec<_>, Vec<_>) =
        server.log().into_iter().partition(|request| request.host == "a.test");
    assert_eq!(own.iter().filter(|request| request.path != "/robots.txt").count(), 2);
    for request in own.iter().filter(|request| request.path != "/robots.txt") {
        assert_eq!(request.header("authorization"), Some("Basic c2VjcmV0"), "{request:?}");
        assert_eq!(request.header("x-key"), Some("k"), "{request:?}");
        assert!(request.has_cookie("s=1"), "{request:?}");
    }
    assert!(
        other.iter().any(|request| request.path == "/x") && other.iter().any(|request| request.path == "/y")
    );
    other
}

#[test]
fn headers_of_the_user_stay_with_the_hosts_of_the_seeds() {
    for request in sent_elsewhere(&[]) {
        for name in ["authorization", "cookie", "x-key"] {
            assert_eq!(request.header(name), None, "{request:?}");
        }
    }
}

#[test]
fn headers_of_the_user_go_everywhere_on_request() {
    let requests = sent_elsewhere(&["--header-scope", "any"]);
    for request in requests.iter().filter(|request| request.path != "/robots.txt") {
        assert_eq!(request.header("x-key"), Some("k"), "{request:?}");
    }
}

#[test]
fn the_crawler_says_who_it_is() {
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    crawl(&[server.url("/")]);
    for request in server.log() {
        let agent = request.header("user-agent").unwrap_or_default();
        assert!(agent.contains("dragline/") && agent.contains("http"), "{agent}");
    }
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    crawl(&[server.url("/").as_str(), "-A", "mine/2 (me@example.org)"]);
    for request in server.log() {
        assert_eq!(request.header("user-agent"), Some("mine/2 (me@example.org)"));
    }
}

#[test]
fn neither_fragment_nor_userinfo_is_sent() {
    let server = Server::start(Script::new().rule(|request| {
        let host = request.header("host")?;
        (request.path == "/").then(|| page(&[format!("http://user:word@{host}/a#part"), "/b#x".to_owned()]))
    }));
    let run = crawl(&[server.url("/")]);
    assert_eq!(server.pages(), ["/", "/a", "/b"]);
    assert_eq!(server.requests("/a")[0].header("authorization"), None);
    assert_eq!(run.urls(), [server.url("/"), server.url("/a"), server.url("/b")]);
}
