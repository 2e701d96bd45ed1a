//! What a crawl of a tree of files must request, found by reading the files.
//!
//! Deliberately naive, and without a line of the crawler's own code: an HTML
//! reader, a URL parser and a set.

use scraper::{ElementRef, Html, Selector};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use url::Url;

/// Everything reachable from one page of a site.
pub(super) struct Walk {
    /// Paths and queries, in the spelling of [`key`].
    pub(super) targets: BTreeSet<String>,
    /// How many of them are HTML.
    pub(super) html: usize,
    /// How many of them do not exist.
    pub(super) dead: usize,
}

/// What stands at a path, as nginx sees it.
enum Found {
    Html(PathBuf),
    Other,
    /// A directory named without its slash: nginx redirects.
    Directory,
    Missing,
}

impl Walk {
    /// Follows all links from `index`, a path below `root`.
    pub(super) fn from(root: &Path, index: &str) -> Walk {
        let site = Url::parse("http://site.test/").unwrap();
        let mut walk = Walk { targets: BTreeSet::new(), html: 0, dead: 0 };
        let mut waiting = vec![site.join(index).unwrap()];
        while let Some(url) = waiting.pop() {
            if url.host() != site.host() || !walk.targets.insert(key(&target(&url))) {
                continue;
            }
            match look(root, url.path()) {
                Found::Html(file) => {
                    walk.html += 1;
                    waiting.extend(links(&file, &url));
                }
                Found::Directory => {
                    let mut slashed = url.clone();
                    slashed.set_path(&format!("{}/", url.path()));
                    waiting.push(slashed);
                }
                Found::Missing => walk.dead += 1,
                Found::Other => {}
            }
        }
        walk
    }
}

/// Path and query.
fn target(url: &Url) -> String {
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

/// One spelling for all: escapes in upper case, and none where the character needs none.
pub(super) fn key(target: &str) -> String {
    let mut parts = target.split('%');
    let mut key = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(octet) if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) => {
                key.push(char::from(octet));
                key.push_str(&part[2..]);
            }
            Some(octet) => {
                let _infallible = write!(key, "%{octet:02X}{}", &part[2..]);
            }
            None => {
                let _infallible = write!(key, "%{part}");
            }
        }
    }
    key
}

fn decode(path: &str) -> PathBuf {
    let mut octets = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(octet) if first == b'%' => {
                octets.push(octet);
                rest = &after[2..];
            }
            _ => {
                octets.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&octets).into_owned())
}

fn look(root: &Path, path: &str) -> Found {
    let file = root.join(decode(path.trim_start_matches('/')));
    if file.is_dir() {
        return match (path.ends_with('/'), file.join("index.html")) {
            (false, _) => Found::Directory,
            (true, index) if index.is_file() => Found::Html(index),
            (true, _) => Found::Other,
        };
    }
    if path.ends_with('/') || !file.is_file() {
        return Found::Missing;
    }
    let html = file.extension().is_some_and(|extension| extension == "html" || extension == "htm");
    if html { Found::Html(file) } else { Found::Other }
}

/// The links of a file that stands at `url`.
fn links(file: &Path, url: &Url) -> Vec<Url> {
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
    let document = Html::parse_document(&text);
    let select = |selector: &str| Selector::parse(selector).unwrap();
    let base = document.select(&select("base[href]")).next();
    let base = base.and_then(|base| url.join(base.attr("href")?).ok()).unwrap_or_else(|| url.clone());
    let all =
        select("a[href], area[href], link[href][rel], frame[src], iframe[src], meta[http-equiv][content]");
    document.select(&all).filter_map(|element| base.join(&reference(element)?).ok()).collect()
}

/// What an element refers to, if it is to be followed.
fn reference(element: ElementRef<'_>) -> Option<String> {
    let value = element.value();
    let words = value.attr("rel").unwrap_or_default().to_ascii_lowercase();
    let has = |word: &str| words.split_ascii_whitespace().any(|one| one == word);
    let reference = match value.name() {
        _ if has("nofollow") => None,
        "link" if !["next", "prev", "alternate"].into_iter().any(has) => None,
        "frame" | "iframe" => value.attr("src"),
        "meta" => return refresh(value.attr("http-equiv")?, value.attr("content")?),
        _ => value.attr("href"),
    };
    reference.map(str::to_owned)
}

/// The plain form of a refresh, `5; url=there`.
fn refresh(name: &str, content: &str) -> Option<String> {
    let (_, after) = content.split_once(';')?;
    let after = after.trim();
    let found = name.eq_ignore_ascii_case("refresh") && after.get(..4)?.eq_ignore_ascii_case("url=");
    found.then(|| after[4..].trim_matches(['\'', '"', ' ']).to_owned())
}
