//! Real sites, served by a real server: the manuals of two Debian packages behind nginx.
//!
//! Three parties that know nothing of each other must agree: the crawl, the
//! server's access log, and a walk over the files. Where a package is missing
//! the test says so on a line of its own; `DRAGLINE_REQUIRE_PACKAGES=1` makes
//! that a failure.

mod nginx;
mod walk;

use crate::harness::{Run, crawl, skipped};
use nginx::Nginx;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use walk::{Walk, key};

/// Says that a test could not run for want of a package; a failure where packages are required.
fn missing(package: &str) {
    let required = std::env::var("DRAGLINE_REQUIRE_PACKAGES").is_ok_and(|value| value == "1");
    assert!(!required, "{package} is not installed, and DRAGLINE_REQUIRE_PACKAGES=1 requires it");
    skipped(&format!("{package} is not installed"));
}

/// Crawls the site of one package and holds crawl, log and files together.
fn crawl_package(package: &str, index: &str) {
    let root = Path::new("/usr/share/doc").join(package);
    if !root.join(index).is_file() {
        return missing(package);
    }
    let Some(server) = Nginx::start(&root) else {
        return missing("nginx-light");
    };
    let seed = server.url(index);
    let run = crawl(&[&seed]);
    let expected = Walk::from(&root, index);
    assert!(expected.html > 10, "the walk itself found next to nothing");
    let requests = server.stop();
    agree(&requests, &expected, &run);
}

/// The first few of many.
fn some<Item>(all: &[Item]) -> &[Item] {
    &all[..all.len().min(10)]
}

/// Every reachable page was requested exactly once, and none beside them.
fn agree(requests: &[(u16, String)], expected: &Walk, run: &Run) {
    let mut spelled: BTreeMap<&str, usize> = BTreeMap::new();
    let mut answered: BTreeMap<String, usize> = BTreeMap::new();
    for (status, target) in requests.iter().filter(|(_, target)| target != "/robots.txt") {
        *spelled.entry(target).or_default() += 1;
        // a spelling that is not there may be asked for once more in canonical form
        let times = answered.entry(key(target)).or_default();
        *times += usize::from(*status != 404);
    }
    let again: Vec<_> = spelled.iter().filter(|(_, times)| **times > 1).collect();
    assert!(again.is_empty(), "requested more than once: {again:?}");
    let again: Vec<_> = answered.iter().filter(|(_, times)| **times > 1).collect();
    assert!(again.is_empty(), "requested under more than one spelling: {again:?}");
    let requested: BTreeSet<&str> = answered.keys().map(String::as_str).collect();
    let reachable: BTreeSet<&str> = expected.targets.iter().map(String::as_str).collect();
    let missing: Vec<_> = reachable.difference(&requested).collect();
    let needless: Vec<_> = requested.difference(&reachable).collect();
    assert!(missing.is_empty(), "{} never requested, such as {:?}", missing.len(), some(&missing));
    assert!(
        needless.is_empty(),
        "{} requested without a link, such as {:?}",
        needless.len(),
        some(&needless)
    );
    assert_eq!(run.pages.len(), reachable.len(), "a record for each");
    assert_eq!(run.number("pages.by_status.404"), expected.dead as u64, "dead links");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.check_no_traps();
    let without = run.pages.iter().filter(|page| page["status"] == 200 && page["charset"].is_string());
    let without = without.filter(|page| page["simhash"].as_str().is_none_or(|hash| hash.len() != 16)).count();
    assert!(without <= 2, "{without} pages without a fingerprint");
}

#[test]
fn the_postgresql_manual_is_crawled_to_the_page() {
    crawl_package("postgresql-doc-15", "html/index.html");
}

#[test]
fn the_java_documentation_is_crawled_to_the_page() {
    crawl_package("openjdk-17-doc", "api/index.html");
}

#[test]
fn the_walk_sees_what_there_is_to_see() {
    let directory = tempfile::TempDir::new().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join("sub/bare")).unwrap();
    let index = "<a href='a.html#x'>x</a><a href=sub>x</a><a href='no thing'>x</a><a href=http://b.test/>x</a>\
        <a href=sub/bare/>x</a><a rel=nofollow href=hidden.html>x</a><link rel='foo NEXT' href=n.txt>";
    for (name, text) in [
        ("index.html", index),
        (
            "a.html",
            "<base href='/sub/'><a href=b.html>x</a><meta http-equiv=refresh content='0;URL=%62.html'>",
        ),
        ("sub/index.html", "<frameset><frame src=../index.html></frameset>"),
        ("sub/b.html", "b"),
        ("n.txt", "<a href=never.html>"),
    ] {
        std::fs::write(root.join(name), text).unwrap();
    }
    let walk = Walk::from(root, "index.html");
    let expected =
        ["/a.html", "/index.html", "/n.txt", "/no%20thing", "/sub", "/sub/", "/sub/b.html", "/sub/bare/"];
    assert_eq!(walk.targets.iter().collect::<Vec<_>>(), expected);
    assert_eq!((walk.html, walk.dead), (4, 1));
}
