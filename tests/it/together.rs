//! Estimates of a crawl, and of several together: `compare` and `merge`, held against exact sets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{crawl_into, dragline, kill, records, resumed, start, until};
use crate::server::{Script, Server, page};

/// Pages of the site before and after it was edited: each links to the next ones and to the front page.
fn site(pages: std::ops::Range<usize>) -> Server {
    let first = pages.start;
    let all = pages.clone();
    let script = Script::new().on("/", page(&[format!("/item/{first}?view=all")])).rule(move |request| {
        let number: usize = request.path.strip_prefix("/item/")?.split('?').next()?.parse().ok()?;
        let links: Vec<String> = (number + 1..number + 4)
            .filter(|next| all.contains(next))
            .map(|next| format!("/item/{next}?view=all"))
            .chain(["/".to_owned()])
            .collect();
        all.contains(&number).then(|| page(&links).header("x-number", &number.to_string()))
    });
    Server::start_at(std::net::Ipv4Addr::LOCALHOST, script)
}

/// Crawls a site as if it stood at `shop.test`.
fn crawled(directory: &Path, server: &Server, further: &[&str]) -> BTreeSet<String> {
    let resolve = format!("shop.test:{}:127.0.0.1", server.port());
    let seed = server.url_of("shop.test", "/");
    let usual = [seed.as_str(), "--resolve", &resolve, "--allow-private", "--delay", "0s"];
    crawl_into(directory, &[&usual[..], further].concat());
    paths(directory)
}

/// The pages that have a record, without their port.
fn paths(directory: &Path) -> BTreeSet<String> {
    records(directory)
        .into_keys()
        .map(|url| url.split_once(".test").map(|(_, rest)| path(rest)).expect("a URL"))
        .collect()
}

fn path(rest: &str) -> String {
    rest.find('/').map_or(String::new(), |start| rest[start..].to_owned())
}

fn json(arguments: &[&str], directories: &[&Path]) -> (Option<i32>, Value, String) {
    let output = dragline().args(arguments).args(directories).output().expect("it runs");
    let value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), value, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
fn holds(estimate: &Value, truth: usize) {
    let [lower, upper] = ["lower", "upper"].map(|bound| estimate[bound].as_f64().expect("a number"));
    let truth = truth as f64;
    assert!(lower <= truth && truth <= upper, "{truth} is not in {estimate}");
}

/// Ports are parts of URLs: both crawls must meet the same one, so the second site takes the port of the first.
struct Edited {
    directory: TempDir,
    before: BTreeSet<String>,
    after: BTreeSet<String>,
}

impl Edited {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a folder");
        let server = site(0..900);
        let before = crawled(&directory.path().join("a"), &server, &[]);
        // the same site with other pages: those that are gone are not linked any more
        let after = crawled(&directory.path().join("b"), &server, &["--exclude", "/item/7[0-9][0-9]"]);
        Self { directory, before, after }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

#[test]
fn two_crawls_compared_and_merged_agree_with_exact_sets() {
    let edited = Edited::new();
    let (a, b, out) = (edited.at("a"), edited.at("b"), edited.at("out"));
    let (before, after) = (&edited.before, &edited.after);
    assert!(before.len() == 901 && after.len() < 801, "{} and {}", before.len(), after.len());

    let (code, compared, _) = json(&["compare", "--json"], &[&a, &b]);
    assert_eq!(code, Some(0));
    let urls = &compared["urls"];
    holds(&urls["both"], before.intersection(after).count());
    holds(&urls["only_first"], before.difference(after).count());
    holds(&urls["only_second"], after.difference(before).count());
    holds(&urls["either"], before.union(after).count());
    let hosts = compared["hosts"].as_array().expect("a list");
    assert_eq!((hosts.len(), &hosts[0]["host"]), (1, &"shop.test".into()));
    let lost = before.len() - after.len();
    assert!((hosts[0]["change"]["value"].as_f64().expect("a number") + lost as f64).abs() < 1.0, "{hosts:?}");

    let (code, merged, _) = json(&["merge", "--json"], &[&out, &a, &b]);
    assert_eq!(code, Some(0));
    assert_eq!(merged["records"], before.len() + after.len());
    holds(&merged["estimates"]["distinct"]["urls_fetched"], before.union(after).count());
    assert_eq!(merged["crawls"].as_array().map(Vec::len), Some(2));
    let told: Value =
        serde_json::from_slice(&std::fs::read(out.join("summary.json")).expect("it is there")).expect("JSON");
    assert_eq!(told, merged);
    let text = String::from_utf8(dragline().arg("compare").args([&a, &b]).output().expect("it runs").stdout)
        .expect("text");
    assert!(text.contains("in both") && text.contains("shop.test ~-"), "{text}");
}

#[test]
fn a_crawl_is_merged_once_and_unlike_ones_are_refused_by_name() {
    let directory = tempfile::tempdir().expect("a folder");
    let at = |name: &str| directory.path().join(name);
    let server = site(0..5);
    crawled(&at("a"), &server, &["--memory", "64MiB"]);
    crawled(&at("b"), &server, &["--memory", "64MiB"]);
    crawled(&at("c"), &server, &["--memory", "64MiB", "--link-count-error", "0.001"]);
    assert_eq!(json(&["merge", "--json"], &[&at("ab"), &at("a"), &at("b")]).0, Some(0));
    for (out, second, code, part) in [
        ("twice", "a", 3, "which"),
        ("unlike", "c", 3, "width"),
        ("again", "ab", 3, "name each crawl once"),
        ("nothing", "no such directory", 3, "holds neither"),
        ("ab", "b", 3, "exists"),
    ] {
        let (given, _, problem) = json(&["merge"], &[&at(out), &at("a"), &at(second)]);
        assert_eq!(given, Some(code), "{problem}");
        assert!(problem.contains(part), "{part:?} is missing in {problem}");
        assert!(out == "ab" || !at(out).exists(), "{out} was made");
    }
    // merged ones can be compared and merged as well
    let (code, compared, _) = json(&["compare", "--json"], &[&at("ab"), &at("c")]);
    assert_eq!((code, &compared["first"]["as_of"]), (Some(0), &"merge".into()));
    assert_eq!(json(&["merge", "--json"], &[&at("d"), &at("ab")]).1["records"], 12);
    // damage is told as such
    let file = at("ab").join("sketches");
    let mut bytes = std::fs::read(&file).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).expect("it can be written");
    let (code, _, problem) = json(&["compare"], &[&at("ab"), &at("c")]);
    assert_eq!(code, Some(6), "{problem}");
    assert!(problem.contains("sketches"), "{problem}");
}

/// What is known of a crawl is the same whether or not its process was killed meanwhile.
#[test]
fn killed_and_resumed_a_crawl_has_met_the_same() {
    let directory = tempfile::tempdir().expect("a folder");
    let at = |name: &str| directory.path().join(name);
    let server = site(0..400);
    crawled(&at("whole"), &server, &[]);
    let resolve = format!("shop.test:{}:127.0.0.1", server.port());
    let seed = server.url_of("shop.test", "/");
    let output = at("killed");
    let usual = ["--resolve", &resolve, "--allow-private", "--delay", "0s", "--concurrency", "1"];
    let child = start(&output, &[&[seed.as_str()], &usual[..]].concat());
    let lines = || std::fs::read_to_string(output.join("pages.jsonl")).unwrap_or_default().lines().count();
    until("there are records", || lines() > 20);
    kill(child);
    let kept = lines();
    resumed(&output, &[]);
    assert_eq!(paths(&output), paths(&at("whole")), "{kept} records were there");
    let summary = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(at(name).join("summary.json")).expect("it is there"))
            .expect("JSON")
    };
    let (whole, killed) = (summary("whole"), summary("killed"));
    for what in ["urls_discovered", "urls_fetched", "hosts", "domains", "contents"] {
        let value = |summary: &Value| {
            summary["estimates"]["distinct"][what]["value"].as_f64().expect("a number").round()
        };
        assert!(
            (value(&whole) - value(&killed)).abs() < 1.0,
            "{what}: {} and {}",
            value(&whole),
            value(&killed)
        );
    }
    let (code, compared, _) = json(&["compare", "--json"], &[&at("whole"), &output]);
    assert_eq!(code, Some(0));
    let none = &compared["urls"]["only_first"]["upper"];
    assert_eq!((none, &compared["urls"]["only_second"]["upper"]), (&0.0.into(), &0.0.into()));
}

#[test]
fn a_summary_tells_what_was_met_and_explain_how_often() {
    let directory = tempfile::tempdir().expect("a folder");
    let output = directory.path().join("crawl");
    let server = site(0..50);
    let pages = crawled(&output, &server, &[]);
    let summary: Value =
        serde_json::from_slice(&std::fs::read(output.join("summary.json")).expect("it is there"))
            .expect("JSON");
    let estimates = &summary["estimates"];
    holds(&estimates["distinct"]["urls_fetched"], pages.len());
    holds(&estimates["distinct"]["hosts"], 1);
    let most = &estimates["most_frequent"];
    assert_eq!(most["path_templates"][0]["item"], "shop.test/item/<n>");
    assert_eq!(most["path_templates"][0]["at_least"], 50);
    assert_eq!(most["query_parameters"][0]["item"], "view");
    assert_eq!(most["hosts"][0]["at_most"], pages.len());
    let front = server.url_of("shop.test", "/");
    assert_eq!(most["link_targets"][0]["item"], front.as_str());
    assert!(estimates["spread"]["latency_ms"]["max"].as_f64().is_some());
    let explained = dragline().args(["explain", &front, "-o"]).arg(&output).output().expect("it runs");
    let text = String::from_utf8(explained.stdout).expect("text");
    assert!(text.contains("Links to it were met ~50 times (an estimate"), "{text}");
    let stranger = server.url_of("shop.test", "/item/7000?view=all");
    let explained = dragline().args(["explain", &stranger, "-o"]).arg(&output).output().expect("it runs");
    assert!(String::from_utf8_lossy(&explained.stdout).contains("No link to it was met."));
}
