//! Real HTML: both readers must say the same of every page of three sites of documentation.
//!
//! A test run takes a sample of each, spread evenly; with `DRAGLINE_FULL_SIZES=1` it takes all pages.

use super::*;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Pages read of one site at most, unless all are.
const SAMPLE: usize = 120;

/// A site that a package of Debian holds: the package, where its pages are, how many there are at least.
struct Site {
    package: &'static str,
    directory: &'static str,
    at_least: usize,
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

/// A line for whoever runs the tests; not `println!`, which the test harness keeps to itself.
fn tell(line: &str) {
    let _best_effort = writeln!(std::io::stderr(), "\n{line}");
}

fn collect_pages(directory: &Path, pages: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(path);
        }
    }
}

impl Site {
    fn pages(&self) -> Vec<PathBuf> {
        let mut pages = Vec::new();
        collect_pages(Path::new(self.directory), &mut pages);
        pages.sort();
        if pages.is_empty() {
            tell(&format!("SKIPPED: {} is not installed", self.package));
            let required = is_set("DRAGLINE_REQUIRE_PACKAGES");
            assert!(!required, "package {} is required but not installed", self.package);
            return pages;
        }
        assert!(pages.len() >= self.at_least, "{} has only {} pages", self.package, pages.len());
        let step = if is_set("DRAGLINE_FULL_SIZES") { 1 } else { pages.len().div_ceil(SAMPLE) };
        pages.into_iter().step_by(step).collect()
    }

    fn both_readers_agree(&self) {
        let (mut links, mut resources) = (0, 0);
        let pages = self.pages();
        for path in &pages {
            let body = std::fs::read(path).unwrap();
            for content_type in ["text/html", "text/html; charset=utf-8"] {
                let context = with_resources(context(Some(content_type)));
                let page = read(&context, &body);
                let reference = reference::read(&context, &body, page.encoding);
                assert_eq!(comparable(&page), comparable(&reference), "{}", path.display());
                assert_eq!(read_in_pieces(&context, &body, 1000), page, "{}", path.display());
                let of_resources = page.references.iter().filter(|one| one.via == Via::Resource).count();
                resources += of_resources;
                links += page.references.len() - of_resources;
            }
        }
        if is_set("DRAGLINE_FULL_SIZES") && !pages.is_empty() {
            tell(&format!(
                "{}: both readers agree on {} pages, {} links and {} resources",
                self.package,
                pages.len(),
                links / 2,
                resources / 2
            ));
        }
    }
}

#[test]
fn on_the_documentation_of_postgresql() {
    let directory = "/usr/share/doc/postgresql-doc-15/html";
    Site { package: "postgresql-doc-15", directory, at_least: 1000 }.both_readers_agree();
}

#[test]
fn on_the_documentation_of_openjdk() {
    let directory = "/usr/share/doc/openjdk-17-jre-headless/api";
    Site { package: "openjdk-17-doc", directory, at_least: 10_000 }.both_readers_agree();
}

/// Written by hand, unlike the others, with drawings in SVG.
#[test]
fn on_the_documentation_of_sqlite() {
    let directory = "/usr/share/doc/sqlite3";
    Site { package: "sqlite3-doc", directory, at_least: 700 }.both_readers_agree();
}
