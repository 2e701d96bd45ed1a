//! `dragline near-duplicates`: pages of a crawl that are nearly the same, whatever stands around them.

mod real;

use crate::harness::{crawl_into, dragline, rows};
use crate::server::{Answer, Script, Server, page};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

/// So many words, the same for the same number.
fn words(of: u64, count: u64) -> Vec<String> {
    let word = |n: u64| {
        let mut bits = (of << 32 | n).wrapping_add(1);
        let letter = |_| {
            bits = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ 0x55;
            char::from(b'a' + (bits % 26) as u8)
        };
        (0..6).map(letter).collect()
    };
    (0..count).map(word).collect()
}

/// A page with the site's menu and foot around its text.
fn framed(text: &[String]) -> Answer {
    let menu = words(1000, 300).join("</a><li><a href=/>");
    let text = text.join(" ");
    Answer::html(format!(
        "<title>t</title><ul>{menu}</ul><p>{text}</p><footer>{}</footer>",
        words(2000, 200).join(" ")
    ))
}

/// Twelve pages of one text each, three of them with a copy in which a word is another one, and some that
/// have nothing but what stands around.
fn site() -> Server {
    let mut paths = Vec::new();
    let mut script = Script::new();
    for n in 0..12_u64 {
        let text = words(n, 150);
        paths.push(format!("/page/{n}"));
        script = script.on(&format!("/page/{n}"), framed(&text));
        if n < 3 {
            let mut copy = text;
            "another".clone_into(&mut copy[75]);
            paths.push(format!("/copy/{n}"));
            script = script.on(&format!("/copy/{n}"), framed(&copy));
        }
    }
    for name in BARE {
        paths.push(format!("/{name}"));
        script = script.on(&format!("/{name}"), framed(&[]));
    }
    Server::start(script.on("/", page(&paths)))
}

/// Pages that have nothing but what stands around.
const BARE: [&str; 6] = ["bare/0", "bare/1", "bare/2", "bare/3", "bare/4", "bare/5"];

/// What the command prints, and its exit code.
fn near_duplicates(output: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let run = dragline().arg("near-duplicates").arg(output).args(arguments).output().unwrap();
    let text = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
    (run.status.code(), text)
}

/// The groups that the command names in JSON, and its last line.
fn groups(output: &Path, arguments: &[&str]) -> (Vec<BTreeSet<String>>, Value) {
    let (code, text) = near_duplicates(output, &[arguments, &["--json"]].concat());
    assert_eq!(code, Some(0), "{text}");
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counts = lines.pop().unwrap();
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for line in lines {
        let number = line["group"].as_u64().unwrap() as usize;
        groups.resize(number.max(groups.len()), BTreeSet::new());
        let path = line["url"].as_str().unwrap().splitn(4, '/').nth(3).unwrap().to_owned();
        groups[number - 1].insert(path);
    }
    groups.sort();
    (groups, counts)
}

fn crawled(server: &Server, output: &Path) {
    let run = crawl_into(output, &["--allow-private", "--delay", "0s", &server.url("/")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

fn sets(groups: &[&[&str]]) -> Vec<BTreeSet<String>> {
    groups.iter().map(|group| group.iter().map(|path| (*path).to_owned()).collect()).collect()
}

/// The copies, each beside its page, and those without a text of their own.
fn expected() -> Vec<BTreeSet<String>> {
    sets(&[&BARE, &["copy/0", "page/0"], &["copy/1", "page/1"], &["copy/2", "page/2"]])
}

#[test]
fn copies_are_grouped_and_pages_with_the_same_menu_are_not() {
    let (server, directory) = (site(), TempDir::new().unwrap());
    let output = directory.path().join("crawl");
    crawled(&server, &output);
    let (found, counts) = groups(&output, &["--distance", "6"]);
    assert_eq!(found, expected(), "{counts}");
    let numbers = [
        "groups",
        "grouped",
        "records",
        "by_own_text",
        "by_whole_text",
        "without_blocks",
        "without_fingerprint",
        "hosts",
    ];
    assert_eq!(numbers.map(|name| counts[name].as_u64().unwrap()), [4, 12, 22, 15, 7, 0, 0, 1], "{counts}");
    let (code, text) = near_duplicates(&output, &["--distance=6"]);
    assert_eq!(code, Some(0));
    assert!(text.starts_with("127.0.0.1\n  "), "{text}");
    // which of two pages is recorded first is up to the server
    for part in [
        "  6 pages\n      first  http",
        "  2 pages\n      first  http",
        &format!("  {}\n", server.url("/copy/0")),
        &format!("  {}\n", server.url("/page/0")),
        "4 groups with 12 pages that are nearly the same (distance 6), of 22 compared on 1 host\n",
    ] {
        assert!(text.contains(part), "{part:?} is missing in {text}");
    }
}

/// What an earlier version wrote has no blocks, and its menus make pages alike.
#[test]
fn records_without_blocks_are_compared_as_a_whole() {
    let (server, directory) = (site(), TempDir::new().unwrap());
    let output = directory.path().join("crawl");
    crawled(&server, &output);
    let path = output.join("pages.jsonl");
    let mut lines = Vec::new();
    for mut row in rows(&path) {
        row.as_object_mut().unwrap().remove("blocks");
        lines.push(row.to_string());
    }
    lines.extend(["no record".to_owned(), "{\"url\":\"http://torn".to_owned()]);
    std::fs::write(&path, lines.join("\n")).unwrap();
    let (found, counts) = groups(&output, &["--distance", "10"]);
    let numbers = |group: &BTreeSet<String>| group.iter().filter(|path| path.starts_with("page/")).count();
    assert!(found.iter().any(|group| numbers(group) > 1), "pages of different texts are alike: {found:?}");
    let numbers = ["without_blocks", "by_own_text", "unreadable", "records"];
    assert_eq!(numbers.map(|name| counts[name].as_u64().unwrap()), [22, 0, 1, 23], "{counts}");
    let (_, text) = near_duplicates(&output, &[]);
    assert!(text.contains("22  by their whole text, since their records list no blocks"), "{text}");
}

#[test]
fn mistakes_are_told() {
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let (code, text) = near_duplicates(&output, &[]);
    assert!(code == Some(3) && text.contains("holds no crawl"), "{text}");
    let server = Server::start(Script::new().on("/", framed(&[])));
    crawled(&server, &output);
    for (arguments, code, part) in [
        (["--distance", "11"], 3, "give one from 0 to 10"),
        (["--distance", "x"], 2, "--distance"),
        (["--memory", "1MiB"], 3, "too little for 1 page; give --memory 32.0 MiB or more"),
        (["--memory", "x"], 2, "--memory"),
    ] {
        let (given, text) = near_duplicates(&output, &arguments);
        assert!(
            given == Some(code) && text.contains(part) && text.matches('\n').count() == 1,
            "{given:?}: {text}"
        );
    }
    let (code, text) = near_duplicates(&output, &[]);
    assert!(code == Some(0) && text.starts_with("0 groups with 0 pages"), "{text}");
}
