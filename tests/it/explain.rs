//! `dragline explain`: beside a crawl, after a crash, after the end; and what robots.txt said, kept.

use crate::harness::{crawl_into, dragline, rows, start, until};
use crate::server::{Answer, Body, Script, Server, page};
use std::path::Path;
use tempfile::TempDir;

/// The exit code of an explanation, and its words.
fn explain(output: &Path, url: &str) -> (i32, String) {
    let run = dragline().arg("explain").arg(url).arg("-o").arg(output).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap() + &String::from_utf8(run.stderr).unwrap();
    (run.status.code().unwrap(), text)
}

#[track_caller]
fn told(output: &Path, url: &str, code: i32, parts: &[&str]) {
    let (given, text) = explain(output, url);
    assert_eq!(given, code, "{text}");
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in {text}");
    }
}

/// A site in which something becomes of everything.
fn site() -> Server {
    let links = "<title>t</title><a href=/ok>a</a><a href=/moved>b</a><a href=/denied/x>c</a><a href=/missing>d</a>\
        <a href=/broken>e</a><a href=http://b.test/out>f</a><a href=/%7ejoe>g</a><a rel=nofollow href=/quiet>h</a>\
        <a href=ftp://c.test/file>i</a><a href=/large>j</a>";
    let script = Script::new()
        .on("/robots.txt", Answer::text("# first\nUser-agent: *\nDisallow: /denied/\nSitemap: /s.xml\n"))
        .on("/", Answer::html(links))
        .on("/ok", page(&["/deep"]))
        .on("/deep", page(&["/deeper"]))
        .on("/moved", Answer::redirect(301, "/target"))
        .on("/target", Answer::html("there"))
        .on("/broken", Answer::status(0).body(Body::Close))
        .on("/%7ejoe", Answer::html("joe"))
        .on("/large", Answer::html(vec![b'x'; 9000]));
    Server::start(script)
}

const ARGUMENTS: [&str; 8] =
    ["--allow-private", "--delay", "0s", "--retries", "1", "--depth", "2", "--max-body=4KiB"];

/// What is told whether or not skipped URLs are logged.
fn what_any_crawl_knows(output: &Path, at: &Server) {
    told(output, &at.url("/"), 0, &["fetched: status 200", "it is a seed", "(1 request)"]);
    let root = at.url("/");
    let from_root = format!("linked from {root} (depth 1)");
    told(output, &at.url("/ok"), 0, &["fetched: status 200", &from_root]);
    told(output, &at.url("/missing"), 0, &["fetched: status 404", &from_root]);
    told(output, &at.url("/broken"), 0, &["failed: disconnected", "(2 requests)"]);
    told(output, &at.url("/moved"), 0, &["status 301", &format!("redirects to {}", at.url("/target"))]);
    told(output, &at.url("/target"), 0, &["status 200", &format!("redirected to from {}", at.url("/moved"))]);
    told(output, &at.url("/large"), 0, &["status 200", "cut at --max-body 4.0 KiB"]);
    let spelling =
        [format!("a repeat of {}", at.url("/%7ejoe")), format!("canonical form {}", at.url("/~joe"))];
    told(output, &at.url("/~joe"), 0, &["status 200", &spelling[0], &spelling[1]]);
    let robots = format!("{} of 20", at.url("/robots.txt"));
    told(output, &at.url("/denied/x"), 0, &["robots_denied", &robots, "line 3: Disallow: /denied/"]);
    told(output, "http://b.test/out", 0, &["out_of_scope", "--scope host: only 127.0.0.1"]);
    told(
        output,
        "ftp://u:SECRET@c.test/file",
        0,
        &["ftp://c.test/file: cannot be crawled", "other_scheme: scheme ftp"],
    );
    told(output, "nonsense", 0, &["cannot be crawled", "bad_url"]);
    let unmet = at.url("/denied/unmet");
    told(output, &unmet, 1, &["not known", "were it met, it would not be fetched", "line 3"]);
}

#[test]
fn after_the_end_without_rows_what_cannot_be_known_is_said() {
    let at = site();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let run = crawl_into(&output, &[&[at.url("/").as_str()], &ARGUMENTS[..]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    what_any_crawl_knows(&output, &at);
    let uncertain = "left out links for too_deep, nofollow, and their URLs were not written down";
    for path in ["/deeper", "/quiet", "/never"] {
        told(&output, &at.url(path), 1, &["not known", uncertain, "--log-skipped"]);
    }
    let json =
        dragline().arg("explain").arg(at.url("/ok")).arg("--json").arg("-o").arg(&output).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["fate"]["recorded"]["status"], 200, "{json}");
    assert_eq!(explain(directory.path(), "http://a.test/").0, 3);
}

#[test]
fn after_the_end_with_rows_they_are_told() {
    let at = site();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    crawl_into(&output, &[&[at.url("/").as_str(), "--log-skipped"], &ARGUMENTS[..]].concat());
    what_any_crawl_knows(&output, &at);
    let from = format!("linked from {} (depth 3)", at.url("/deep"));
    told(&output, &at.url("/deeper"), 0, &["not fetched", "too_deep: --depth 2", &from]);
    told(&output, &at.url("/quiet"), 0, &["nofollow: the link's rel=nofollow"]);
    told(
        &output,
        &at.url("/never"),
        1,
        &["not known: no page that was read is known to link to it, and no rule"],
    );
}

#[test]
fn limits_and_refusals_of_a_host_are_worked_out_anew() {
    let inside = Server::start_at([127, 0, 0, 2].into(), Script::new());
    let links = ["/1".to_owned(), "/2".to_owned(), "/3".to_owned(), inside.url("/x")];
    let at = Server::start(Script::new().on("/", page(&links)).rule(|_| None));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let seed = at.url("/");
    crawl_into(&output, &[&seed, "--delay", "0s", "--scope", "any", "--max-pages-per-host", "2"]);
    told(&output, &inside.url("/x"), 0, &["when its turn came", "its address is private (private_address"]);
    let limited: Vec<String> = (1..4)
        .map(|n| explain(&output, &at.url(&format!("/{n}"))).1)
        .filter(|text| text.contains("host_limit: --max-pages-per-host 2"))
        .collect();
    assert_eq!(limited.len(), 2, "{limited:?}");
    assert_eq!(inside.log().len(), 0);
}

/// A site that meets every cap, and what is to be told of each: the URL, the reason, and the option.
fn capped() -> (Server, Vec<(String, &'static str, &'static str)>) {
    let at = Server::start(Script::new().rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1;
        if request.path != "/" || request.host != "caps.test" {
            return None;
        }
        let links = [
            "/1/2/3/4/5/6".to_owned(),
            "/r/r/r".to_owned(),
            "/q?p=1&p=2&p=3".to_owned(),
            format!("/{}", "l".repeat(300)),
            "/v?1".to_owned(),
            "/v?2".to_owned(),
            "/v?3".to_owned(),
            format!("http://a.caps.test:{port}/"),
            format!("http://b.caps.test:{port}/"),
            format!("http://c.caps.test:{port}/"),
            "/last".to_owned(),
        ];
        Some(page(&links))
    }));
    let own = |path: &str| at.url_of("caps.test", path);
    let rows = vec![
        (own("/1/2/3/4/5/6"), "path_too_deep", "--max-path-depth 5"),
        (own("/r/r/r"), "repeated_segments", "--max-repeated-segments 2"),
        (own("/q?p=1&p=2&p=3"), "repeated_parameters", "--max-repeated-parameters 2"),
        (own(&format!("/{}", "l".repeat(300))), "url_too_long", "--max-url-length 200"),
        (own("/v?3"), "query_variants", "--max-query-variants 2"),
        (at.url_of("c.caps.test", "/"), "too_many_subdomains", "--max-subdomains 2"),
    ];
    (at, rows)
}

#[test]
fn each_cap_is_told_by_its_option() {
    for rows_are_kept in [true, false] {
        let (at, expected) = capped();
        let directory = TempDir::new().unwrap();
        let output = directory.path().join("c");
        let seed = at.url_of("caps.test", "/");
        let mut given = vec![seed.as_str(), "--allow-private", "--delay", "0s", "--scope", "domain"];
        given.extend(["--resolve", "*.test:127.0.0.1", "--max-path-depth", "5"]);
        given.extend(["--max-repeated-segments", "2", "--max-repeated-parameters", "2"]);
        given.extend(["--max-url-length", "200", "--max-query-variants", "2", "--max-subdomains", "2"]);
        given.extend(["--max-links-per-page", "10"]);
        if rows_are_kept {
            given.push("--log-skipped");
        }
        let run = crawl_into(&output, &given);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        for (url, reason, option) in &expected {
            // What takes counting is not worked out anew.
            let is_counted = ["query_variants", "too_many_subdomains"].contains(reason);
            if is_counted && !rows_are_kept {
                told(&output, url, 1, &["not known", reason, "--log-skipped"]);
            } else {
                told(&output, url, 0, &[reason, option]);
            }
        }
        told(
            &output,
            &at.url_of("caps.test", "/last"),
            1,
            &["not known", "left out links for", "too_many_links"],
        );
    }
}

#[test]
fn a_scope_that_a_seed_moved_is_the_one_that_counts() {
    let at = Server::start(Script::new().rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1;
        match (request.host.as_str(), request.path.as_str()) {
            ("a.test", "/") => Some(Answer::redirect(301, &format!("http://b.test:{port}/"))),
            ("b.test", "/") => Some(page(&[format!("http://c.test:{port}/")])),
            _ => None,
        }
    }));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let seed = at.url_of("a.test", "/");
    let resolve = "*.test:127.0.0.1";
    crawl_into(&output, &[&seed, "--delay", "0s", "--allow-private", "--resolve", resolve]);
    told(&output, &at.url_of("b.test", "/x"), 1, &["not known", "no rule speaks against it"]);
    told(&output, &at.url_of("c.test", "/"), 0, &["never queued", "out_of_scope: --scope host"]);
}

/// Asks until it is so: what is told is what the crawl had written down a moment ago.
#[track_caller]
fn told_soon(output: &Path, url: &str, part: &str) -> String {
    let mut text = String::new();
    until(part, || {
        if output.join("crawl.toml").exists() {
            text = explain(output, url).1;
        }
        text.contains(part)
    });
    text
}

#[test]
fn beside_a_running_crawl_and_after_its_death() {
    let links: Vec<String> = (0..300).map(|n| format!("/p{n}")).collect();
    let script = Script::new().on("/", page(&links)).on("/p0", Answer::html("first"));
    let at = Server::start(
        script.rule(|request| (request.path == "/p1").then(|| Answer::status(0).body(Body::Never))),
    );
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let seed = at.url("/");
    let arguments = [&seed, "--allow-private", "--delay", "0s", "--timeout", "200s", "--concurrency", "1"];
    let mut child = start(&output, &arguments);
    let text = told_soon(&output, &at.url("/p1"), "being fetched now");
    assert!(text.contains(&format!("linked from {seed} (depth 1)")), "{text}");
    told(&output, &at.url("/p0"), 0, &["fetched: status 200"]);
    told(&output, &at.url("/p299"), 0, &["queued: waits for its turn", "linked from"]);
    told(&output, &at.url("/unmet"), 1, &["no page that was read so far"]);
    // Nobody was disturbed, and the torn end of a line is nobody's.
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    let pages = output.join("pages.jsonl");
    let mut torn = std::fs::read(&pages).unwrap();
    let vouched = torn.len();
    torn.extend_from_slice(format!("{{\"url\":\"{}\",\"depth\":0,\"via\"", at.url("/p299")).as_bytes());
    std::fs::write(&pages, &torn).unwrap();
    told(&output, &at.url("/p1"), 0, &["was being fetched when the crawl stopped"]);
    told(&output, &at.url("/p299"), 0, &["queued: waited for its turn when the process died", "resume"]);
    told(&output, &at.url("/p0"), 0, &["fetched: status 200"]);
    assert_eq!(std::fs::read(&pages).unwrap(), torn, "who only asks changes nothing");
    assert!(vouched > 0);
}

#[test]
fn every_answer_for_a_robots_txt_has_a_line_and_a_resumed_crawl_goes_on_with_them() {
    let rules = "User-agent: *\nCrawl-delay: 0\nDisallow: /no\nDisallow: /a*b$\nSitemap: /s.xml\n";
    let at = Server::start(
        Script::new()
            .on("/robots.txt", Answer::redirect(302, "/elsewhere"))
            .on("/elsewhere", Answer::text(rules))
            .on("/", page(&["/1", "/2", "/no"])),
    );
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let seed = at.url("/");
    let run = crawl_into(&output, &[&seed, "--delay", "0s", "--max-pages", "1"]);
    assert_eq!(run.code, Some(11), "{}", run.stderr);
    let resumed = dragline().arg("resume").arg(&output).args(["--max-pages", "9"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
    let lines = rows(&output.join("robots.jsonl"));
    let summary = rows_of_summary(&output);
    assert_eq!(summary["requests"]["robots"], lines.len());
    assert_eq!(lines.len(), 4, "{lines:?}");
    for pair in lines.chunks(2) {
        assert_eq!(
            (&pair[0]["status"], &pair[0]["redirect_to"]),
            (&302.into(), &at.url("/elsewhere").into())
        );
        assert!(pair[0]["rules"].is_null());
        assert_eq!(pair[1]["url"], at.url("/elsewhere"));
        assert_eq!(pair[1]["rules"][1], serde_json::json!({"line": 4, "rule": "Disallow: /a*b$"}));
        assert_eq!((&pair[1]["crawl_delay"], &pair[1]["sitemaps"][0]), (&0.0.into(), &"/s.xml".into()));
        assert!(pair.iter().all(|line| line["origin"] == at.url("").as_str()));
    }
}

fn rows_of_summary(output: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(output.join("summary.json")).unwrap()).unwrap()
}

#[test]
fn a_directory_of_an_older_format_is_refused_by_name() {
    let at = Server::start(Script::new().on("/", page(&["/1", "/2"])));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let seed = at.url("/");
    crawl_into(&output, &[&seed, "--allow-private", "--delay", "0s", "--max-pages", "1"]);
    let manifest = output.join("state/MANIFEST");
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[12] = 1;
    std::fs::write(&manifest, bytes).unwrap();
    let resumed = dragline().arg("resume").arg(&output).output().unwrap();
    let message = String::from_utf8(resumed.stderr).unwrap();
    assert_eq!(resumed.status.code(), Some(6), "{message}");
    assert!(message.contains("MANIFEST: has format version 1") && message.lines().count() == 1, "{message}");
    let (code, message) = explain(&output, &seed);
    assert!(code == 6 && message.contains("has format version 1"), "{message}");
}
