//! `--skip-crawled`: what an earlier crawl fetched is not fetched again, whatever happens to either of the two.

use crate::harness::{Run, copy, crawl_into, dragline, finish, kill, records, resume, resumed, start, until};
use crate::server::{Answer, Body, Script, Server, page};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const USUAL: [&str; 5] = ["--allow-private", "--delay", "0s", "--retries", "0"];

/// A crawl of these arguments, with the usual ones.
fn crawl(output: &Path, arguments: &[&str]) -> Run {
    crawl_into(output, &[&USUAL[..], arguments].concat())
}

/// The paths of all records, sorted.
fn paths(run: &Run, at: &Server) -> Vec<String> {
    let root = at.url("");
    run.urls().into_iter().map(|url| url.strip_prefix(&root).unwrap().to_owned()).collect()
}

/// A site of some pages, to which others are added once it has `grown`.
fn site(grown: &Arc<AtomicBool>) -> Server {
    let grown = grown.clone();
    Server::start(Script::new().rule(move |request| {
        let grown = grown.load(Ordering::Relaxed);
        Some(match (request.path.as_str(), grown) {
            ("/robots.txt", _) => Answer::text("User-agent: *\nSitemap: /s.xml\n"),
            ("/s.xml", false) => Answer::text("URLs"),
            ("/start", _) => Answer::redirect(301, "/"),
            ("/", false) => page(&["/old", "/%7eold", "/gone", "/moved", "/busy", "/broken"]),
            ("/", true) => page(&["/old", "/~old", "/gone", "/moved", "/busy", "/broken", "/new"]),
            ("/s.xml", true) => Answer::text(format!(
                "http://{}/old\nhttp://{}/named\n",
                request.header("host").unwrap(),
                request.header("host").unwrap()
            )),
            ("/old", false) => page(&["/older"]),
            // nothing but an old page leads there
            ("/old", true) => page(&["/older", "/hidden"]),
            ("/new", true) => page(&["/older", "/newer", "/"]),
            ("/moved", _) => Answer::redirect(302, "/target"),
            ("/busy", false) => Answer::status(503),
            ("/broken", false) => Answer::status(0).body(Body::Close),
            ("/busy" | "/broken" | "/older" | "/target" | "/%7eold" | "/~old", _)
            | ("/hidden" | "/newer" | "/named", true) => Answer::html("x"),
            _ => Answer::status(404),
        })
    }))
}

#[test]
fn only_what_is_new_is_fetched_and_the_earlier_directory_may_go() {
    let grown = Arc::new(AtomicBool::new(false));
    let at = site(&grown);
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let seed = at.url("/start");
    let first = crawl(&old, &[&seed]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let all = [
        "/", "/%7eold", "/broken", "/busy", "/gone", "/moved", "/old", "/older", "/s.xml", "/start",
        "/target",
    ];
    assert_eq!(paths(&first, &at), all);
    grown.store(true, Ordering::Relaxed);
    let skip = ["--skip-crawled", old.to_str().unwrap()];
    let run = crawl(&new, &[&[seed.as_str(), "--log-skipped"], &skip[..]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // seeds, where they lead and sitemaps; what is new; what had no answer that was one
    assert_eq!(paths(&run, &at), ["/", "/broken", "/busy", "/named", "/new", "/newer", "/s.xml", "/start"]);
    assert_eq!(run.number("urls.skipped_before_queue.already_crawled"), 5, "{}", run.summary["urls"]);
    for path in ["/old", "/~old", "/gone", "/moved", "/older"] {
        assert_eq!(run.skip_reason(&at.url(path)), Some("already_crawled"), "{path}");
        assert_eq!(run.skip_detail(&at.url(path)), Some(skip.join(" ").as_str()), "{path}");
    }
    assert!(run.summary["urls"]["examples"]["already_crawled"].is_string(), "{}", run.summary["urls"]);
    assert!(run.stderr.contains("9 pages that it fetched"), "{}", run.stderr);
    let frozen = std::fs::read_to_string(new.join("crawl.toml")).unwrap();
    assert!(frozen.contains(&format!("skip-crawled = [\"{}\"]", skip[1])), "{frozen}");
    // without rows and without the earlier directory
    let bare = directory.path().join("bare");
    let again = crawl(&bare, &[&[seed.as_str()], &skip[..]].concat());
    assert_eq!(paths(&again, &at), paths(&run, &at));
    std::fs::remove_dir_all(&old).unwrap();
    for output in [&new, &bare] {
        let told = dragline().arg("explain").arg(at.url("/old")).arg("-o").arg(output).output().unwrap();
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        assert_eq!(told.status.code(), Some(0), "{text}");
        assert!(text.contains("an earlier crawl fetched it (already_crawled: --skip-crawled "), "{text}");
    }
}

#[test]
fn several_earlier_crawls_are_skipped_one_beside_the_other() {
    let at = Server::start(Script::new().rule(|request| match request.path.as_str() {
        "/a" => Some(page(&["/a1", "/a2"])),
        "/b" => Some(page(&["/b1", "/a2"])),
        "/c" => Some(page(&["/a1", "/a2", "/b1", "/c1"])),
        _ => Some(Answer::html("x")),
    }));
    let directory = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| directory.path().join(name));
    for (output, path) in [(&a, "/a"), (&b, "/b")] {
        assert_eq!(crawl(output, &[&at.url(path), "--robots", "ignore"]).code, Some(0));
    }
    let skip = |path: &Path| ["--skip-crawled".to_owned(), path.to_str().unwrap().to_owned()];
    let (seed, [one, of_a], [_, of_b]) = (at.url("/c"), skip(&a), skip(&b));
    let run = crawl(&c, &[&seed, "--log-skipped", &one, &of_a, &one, &of_b]);
    assert_eq!(paths(&run, &at), ["/c", "/c1"]);
    let detail = |path: &str| run.skip_detail(&at.url(path)).unwrap().to_owned();
    assert_eq!(detail("/a1"), format!("{one} {of_a}"));
    assert_eq!(detail("/b1"), format!("{one} {of_b}"));
}

/// A page of links to so many others, which take a moment each.
fn many(pages: u32) -> Server {
    let links: Vec<String> = (0..pages).map(|page| format!("/p{page}")).collect();
    Server::start(Script::new().on("/", page(&links)).rule(|request| {
        request.path.starts_with("/p").then(|| Answer::html("x").after(Duration::from_millis(3)))
    }))
}

const PAGES: u32 = 1200;

#[test]
fn killed_crawls_go_on_skipping_and_what_a_killed_crawl_fetched_is_skipped() {
    let at = many(PAGES);
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let seed = at.url("/");
    let given = [&USUAL[..], &[seed.as_str(), "--concurrency", "8"]].concat();
    let child = start(&old, &given);
    until("the earlier crawl has pages", || records(&old).len() > 400);
    kill(child);
    let before = records(&old);
    let further = [
        "--skip-crawled",
        old.to_str().unwrap(),
        "--log-skipped",
        "--bits-per-url",
        "2",
        "--expected-urls",
        "100",
    ];
    let mut child = start(&new, &[&given[..], &further].concat());
    let mut gone = false;
    for kills in 1..6 {
        let lines = records(&new).len();
        until("there are more pages", || {
            records(&new).len() > lines + 60 || child.try_wait().unwrap().is_some()
        });
        kill(child);
        assert!(kills > 2 || records(&new).len() < 700, "it was killed too late");
        if !gone {
            std::fs::remove_dir_all(&old).unwrap();
            gone = true;
        }
        child = resume(&new, &[]);
    }
    let run = finish(child, &new);
    assert!([Some(0), Some(5)].contains(&run.code), "{:?}: {}", run.code, run.stderr);
    let after = records(&new);
    assert!(after.values().all(|times| *times == 1), "a page has two records");
    let root = at.url("/");
    let again: BTreeSet<&String> =
        after.keys().filter(|url| before.contains_key(*url) && **url != root).collect();
    // lines that no record of the log vouched for at the kill are no pages of that crawl
    assert!(again.len() <= 8, "{again:?}");
    let both: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    assert_eq!(both.len(), PAGES as usize + 1, "a page was lost");
    let skipped = u64::from(PAGES) + 1 - after.len() as u64;
    assert_eq!(run.skips("already_crawled"), skipped, "{}", run.summary["urls"]);
    assert_eq!(run.skipped.len() as u64, skipped);
}

/// What a crawl that is refused says; it leaves nothing behind.
#[track_caller]
fn refused(output: &Path, code: i32, arguments: &[&str], parts: &[&str]) {
    let there = output.exists();
    let run = crawl(output, arguments);
    assert_eq!(run.code, Some(code), "{}", run.stderr);
    for part in parts {
        assert!(run.stderr.contains(part), "{part:?} is missing in {}", run.stderr);
    }
    assert_eq!(output.exists(), there, "nothing is left behind");
    assert!(!output.join("state/crawled.new").exists());
}

#[test]
fn what_cannot_be_compared_or_trusted_is_refused_by_name() {
    let at = many(3);
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let (seed, name) = (at.url("/"), old.to_str().unwrap());
    let skip = [seed.as_str(), "--skip-crawled", name];
    refused(&new, 3, &skip, &[name, "holds no crawl"]);
    assert_eq!(crawl(&old, &[&seed, "--strip-params", "b,a"]).code, Some(0));
    refused(&new, 3, &skip, &[name, "--strip-params a,b", "has none"]);
    let same = [&skip[..], &["--strip-params", "a,b"]].concat();
    refused(&new, 3, &[&same[..], &["--sort-query"]].concat(), &[name, "--sort-query false", "has true"]);
    refused(&new, 3, &[&same[..], &["--skip-crawled", &format!("{name}/.")]].concat(), &["named twice"]);
    refused(&old, 3, &[&same[..], &["--fresh"]].concat(), &[name, "this very crawl"]);
    assert!(old.join("pages.jsonl").exists(), "the earlier crawl is as it was");
    for (file, place) in [("state/MANIFEST", 40), ("pages.jsonl", 30), ("crawl.toml", 9)] {
        let path = old.join(file);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        refused(&new, 6, &same, &[path.to_str().unwrap(), "old"]);
        std::fs::remove_file(&path).unwrap();
        refused(&new, 6, &same, &[path.to_str().unwrap()]);
        std::fs::write(&path, whole).unwrap();
    }
    let manifest = old.join("state/MANIFEST");
    let whole = std::fs::read(&manifest).unwrap();
    for (version, words) in [(99, "the newer dragline"), (1, "an older version")] {
        let mut bytes = whole.clone();
        bytes[12] = version;
        std::fs::write(&manifest, bytes).unwrap();
        refused(&new, 6, &same, &[manifest.to_str().unwrap(), &format!("version {version}"), words]);
    }
    std::fs::write(&manifest, whole).unwrap();
    // what a complete crawl left beside its records may have been moved away
    std::fs::remove_file(old.join("robots.jsonl")).unwrap();
    let run = crawl(&new, &same);
    assert_eq!((run.code, paths(&run, &at)), (Some(0), vec!["/".to_owned()]), "{}", run.stderr);
}

#[test]
fn a_directory_with_a_crawl_at_it_is_refused() {
    let at = many(PAGES);
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let seed = at.url("/");
    let child = start(&old, &[&USUAL[..], &[&seed, "--concurrency", "1"]].concat());
    until("the crawl has begun", || records(&old).len() > 3);
    let name = old.to_str().unwrap();
    refused(&new, 3, &[&seed, "--skip-crawled", name], &[name, "a dragline is at the crawl in it"]);
    kill(child);
    let run = crawl(&new, &[&seed, "--skip-crawled", name, "--max-pages", "2"]);
    assert_eq!(run.code, Some(11), "{}", run.stderr);
}

/// The file of keys in the state of a crawl.
fn keys_of(output: &Path) -> PathBuf {
    let files: Vec<PathBuf> =
        std::fs::read_dir(output.join("state/crawled")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn damaged_keys_are_refused_and_what_nobody_names_is_deleted() {
    let at = many(60);
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let seed = at.url("/");
    assert_eq!(crawl(&old, &[&seed, "--max-pages", "30"]).code, Some(11));
    let skip = ["--skip-crawled", old.to_str().unwrap(), "--max-pages", "10"];
    let run = crawl(&new, &[&[seed.as_str()], &skip[..]].concat());
    assert_eq!((run.code, run.pages.len()), (Some(11), 10), "{}", run.stderr);
    let keys = keys_of(&new);
    let whole = std::fs::read(&keys).unwrap();
    assert_eq!(whole.len(), 16 + 30 * 8 + 4, "a key for each page that was fetched, and a checksum");
    for place in [0, 12, 20, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        std::fs::write(&keys, bytes).unwrap();
        let refused = resumed(&new, &[]);
        assert_eq!(refused.code, Some(6), "{place}: {}", refused.stderr);
        assert!(refused.stderr.contains(keys.to_str().unwrap()), "{}", refused.stderr);
        let status = dragline().arg("status").arg(&new).output().unwrap();
        assert_eq!(status.status.code(), Some(6), "{place}");
    }
    for missing in [true, false] {
        std::fs::remove_file(&keys).unwrap();
        if !missing {
            std::fs::write(&keys, &whole[..whole.len() - 1]).unwrap();
        }
        assert_eq!(resumed(&new, &[]).code, Some(6));
        std::fs::write(&keys, &whole).unwrap();
    }
    std::fs::write(new.join("state/crawled/keys-00000077"), "x").unwrap();
    // a copy goes on like the original, wherever the earlier crawl is
    let copied = directory.path().join("copied");
    copy(&new, &copied);
    std::fs::remove_dir_all(&old).unwrap();
    for output in [&new, &copied] {
        let run = resumed(output, &["--max-pages", "1000"]);
        assert_eq!((run.code, run.pages.len()), (Some(0), 32), "{}", run.stderr);
        assert_eq!(run.skips("already_crawled"), 29);
        keys_of(output);
    }
}
