//! The promises of the site, checked from outside: through answers and through
//! a socket, with a reader of links of its own.

mod pages;
mod served;
mod urls;

use std::collections::{HashMap, HashSet};

use super::*;

const PORT: u16 = 8080;

fn site(pages: u64, hosts: u32, seed: u64) -> Site {
    Site::new(SiteSettings { pages, hosts, seed }).expect("settings are good")
}

/// What an independent crawler finds: each URL requested once, in breadth-first order.
#[derive(Default)]
struct Walk {
    /// By URL: status and depth.
    seen: HashMap<String, (u16, u32)>,
    /// Links of each page, in its order.
    links: HashMap<String, Vec<String>>,
    disallowed: HashSet<String>,
    outside: HashSet<String>,
}

impl Walk {
    fn of(site: &Site, seeds: &[String]) -> Walk {
        let mut walk = Walk::default();
        let mut level = seeds.to_vec();
        for depth in 0.. {
            let mut next = Vec::new();
            for url in level.drain(..) {
                walk.visit(site, &url, depth, &mut next);
            }
            if next.is_empty() {
                return walk;
            }
            level = next;
        }
        walk
    }

    fn visit(&mut self, site: &Site, url: &str, depth: u32, next: &mut Vec<String>) {
        let (authority, path) = split(url);
        if path.starts_with("/private/") {
            self.disallowed.insert(url.to_owned());
            return;
        }
        if !authority.ends_with(&format!(".site.test:{PORT}")) {
            self.outside.insert(url.to_owned());
            return;
        }
        if self.seen.contains_key(url) {
            return;
        }
        let answer = site.respond(authority, path);
        self.seen.insert(url.to_owned(), (answer.status, depth));
        next.extend(answer.location.map(|location| join(url, &location)));
        if answer.status == 200 {
            let html = String::from_utf8(answer.body).expect("documents are UTF-8");
            let links: Vec<String> = hrefs(&html).map(|href| join(url, href)).collect();
            next.extend(links.iter().cloned());
            self.links.insert(url.to_owned(), links);
        }
    }

    fn with_status(&self, statuses: &[u16]) -> Vec<String> {
        let mut urls: Vec<String> = self
            .seen
            .iter()
            .filter(|(_, (status, _))| statuses.contains(status))
            .map(|(url, _)| url.clone())
            .collect();
        urls.sort();
        urls
    }
}

fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").expect("only http is linked");
    rest.split_at(rest.find('/').expect("every URL has a path"))
}

fn join(base: &str, href: &str) -> String {
    if href.starts_with('/') { format!("http://{}{href}", split(base).0) } else { href.to_owned() }
}

fn hrefs(html: &str) -> impl Iterator<Item = &str> {
    html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

fn sorted(urls: impl Iterator<Item = String>) -> Vec<String> {
    let mut urls: Vec<String> = urls.collect();
    urls.sort();
    urls
}

const SHAPES: [(u64, u32, u64); 14] = [
    (1, 1, 1),
    (2, 1, 1),
    (3, 1, 7),
    (4, 1, 1),
    (5, 1, 1),
    (7, 7, 1),
    (9, 2, 3),
    (49, 1, 1),
    (51, 1, 1),
    (62, 1, 9),
    (100, 13, 1),
    (101, 2, 1),
    (3_000, 1, u64::MAX),
    (2_500, 40, 0),
];
