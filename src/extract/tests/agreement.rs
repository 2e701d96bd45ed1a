//! Real HTML: both readers must say the same of every page of two packages of documentation.

use super::*;
use std::path::{Path, PathBuf};

/// Pages read of one package at most, spread evenly over it.
const PAGES: usize = 300;

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

#[expect(clippy::print_stdout, reason = "a test that could not run must say so")]
fn pages_of(package: &str, directory: &str) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    collect_pages(Path::new(directory), &mut pages);
    pages.sort();
    if pages.is_empty() {
        println!("SKIPPED: package {package} not installed");
        let required = std::env::var("DRAGLINE_REQUIRE_PACKAGES").is_ok_and(|value| value == "1");
        assert!(!required, "package {package} is required but not installed");
    }
    let step = pages.len().div_ceil(PAGES).max(1);
    pages.into_iter().step_by(step).collect()
}

fn both_readers_agree(package: &str, directory: &str) {
    for path in pages_of(package, directory) {
        let body = std::fs::read(&path).unwrap();
        for content_type in ["text/html", "text/html; charset=utf-8"] {
            let page = read(&context(Some(content_type)), &body);
            let reference = reference::read(&context(Some(content_type)), &body, page.encoding);
            assert_eq!(comparable(&page), comparable(&reference), "{}", path.display());
            assert_eq!(read_in_pieces(&context(Some(content_type)), &body, 1000), page, "{}", path.display());
        }
    }
}

#[test]
fn on_the_documentation_of_postgresql() {
    both_readers_agree("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html");
}

#[test]
fn on_the_documentation_of_openjdk() {
    both_readers_agree("openjdk-17-doc", "/usr/share/doc/openjdk-17-jre-headless/api");
}
