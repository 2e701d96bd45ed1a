//! The pages that are read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use url::Url;

/// Bytes of one set of pages at most.
const BYTES_PER_SET: usize = 8 << 20;

/// Packages of Debian, and where their pages are.
pub(crate) const SITES: [(&str, &str); 3] = [
    ("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html"),
    ("openjdk-17-doc", "/usr/share/doc/openjdk-17-jre-headless/api"),
    ("sqlite3-doc", "/usr/share/doc/sqlite3"),
];

/// A page, with the URL that it was fetched from.
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) url: Url,
    pub(crate) body: Vec<u8>,
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

/// Pages of a package, spread evenly over it.
pub(crate) fn installed(directory: &str) -> Vec<Page> {
    let mut paths = Vec::new();
    collect_pages(Path::new(directory), &mut paths);
    paths.sort();
    let mut bytes = 0;
    let step = (paths.len() / 200).max(1);
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        let url = Url::parse("http://site.test").and_then(|site| site.join(&name)).ok()?;
        Some(Page { name, url, body: std::fs::read(path).ok()? })
    };
    paths
        .iter()
        .step_by(step)
        .filter_map(read)
        .take_while(|page| {
            bytes += page.body.len();
            bytes <= BYTES_PER_SET
        })
        .collect()
}

/// A page of about `bytes` bytes with this many links, of the shapes that links have, in plain text.
pub(crate) fn generated(links: usize, bytes: usize) -> Page {
    let mut page = String::from(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page &amp; its links</title>\
         <link rel=\"stylesheet\" href=\"/style.css\"></head><body>",
    );
    let share = bytes.saturating_sub(page.len()) / links;
    for number in 0..links {
        let href = match number % 8 {
            0..4 => format!("/section/{}/page-{number}.html", number % 7),
            4 => format!("page-{number}.html"),
            5 => format!("../other/{number}"),
            6 => format!("http://site.test/list?page={number}&amp;sort=name"),
            _ => format!("page-{number}.html#part-2"),
        };
        let begun = page.len();
        let _infallible = write!(page, "<p class=\"text\"><a href=\"{href}\">Page {number}</a> ");
        let words = "and so the text goes on for a while ";
        page.extend(words.chars().cycle().take(share.saturating_sub(page.len() - begun + 4)));
        page.push_str("</p>");
    }
    page.push_str("</body></html>");
    let url = Url::parse("http://site.test/section/3/page-1.html").expect("a URL");
    Page { name: format!("{links} links in {bytes} bytes"), url, body: page.into_bytes() }
}
