//! Each kind of scope, end to end.

use crate::harness::crawl;
use crate::server::{Answer, Script, Server, page};

/// The requested pages as `host/path`, when the seed is `http://www.a.test/dir/p`.
fn requested(scope: &str) -> Vec<String> {
    let second = Server::start(Script::new().on("/other-port", Answer::html("x")));
    let second_port = second.port();
    let server = Server::start(Script::new().rule(move |request| {
        let port = request.header("host")?.rsplit_once(':')?.1;
        match request.path.as_str() {
            "/dir/p" => Some(page(&[
                "below".to_owned(),
                "/dir/sub/deep".to_owned(),
                "/above".to_owned(),
                "/dirx".to_owned(),
                format!("http://www.a.test:{second_port}/other-port"),
                format!("http://b.a.test:{port}/same-domain"),
                format!("http://other.test:{port}/elsewhere"),
            ])),
            "/robots.txt" => None,
            _ => Some(Answer::html("x")),
        }
    }));
    let seed = server.url_of("www.a.test", "/dir/p");
    crawl(&[&seed, "--resolve", "*.test:127.0.0.1", "--scope", scope]);
    let all = [server.log(), second.log()].concat();
    let pages = all.iter().filter(|request| request.path != "/robots.txt");
    let mut names: Vec<String> = pages.map(|request| format!("{}{}", request.host, request.path)).collect();
    names.sort();
    names
}

#[test]
fn each_scope_takes_what_it_says() {
    let seed = "www.a.test/dir/p";
    let below = ["www.a.test/dir/below", seed, "www.a.test/dir/sub/deep"];
    let host =
        [&["www.a.test/above"], &below[..2], &below[2..], &["www.a.test/dirx", "www.a.test/other-port"]]
            .concat();
    let domain = [&["b.a.test/same-domain"], &host[..]].concat();
    let any = [&["b.a.test/same-domain", "other.test/elsewhere"], &host[..]].concat();
    assert_eq!(requested("page"), [seed]);
    assert_eq!(requested("prefix"), below);
    assert_eq!(requested("host"), host);
    assert_eq!(requested("domain"), domain);
    assert_eq!(requested("any"), any);
}
