//! The graph and the documents.

use std::collections::{HashMap, HashSet};

use super::*;

#[test]
fn a_walk_from_the_seeds_finds_exactly_what_is_promised() {
    for (pages, hosts, seed) in SHAPES {
        let site = site(pages, hosts, seed);
        let walk = Walk::of(&site, &site.seed_urls(PORT));
        let truth = sorted(site.truth(&Naming::by_name(PORT)));
        assert_eq!(truth.len() as u64, pages);
        assert_eq!(walk.with_status(&[200]), truth, "{pages} pages, {hosts} hosts");
        assert_eq!(walk.with_status(&[301, 302]).len() as u64, site.redirect_count());
        assert_eq!(walk.with_status(&[404]).len() as u64, site.missing_count());
        assert_eq!(walk.seen.len() as u64, site.record_count());
        assert_eq!(walk.disallowed.len() as u64, site.disallowed_count());
        assert_eq!(walk.outside, HashSet::from(["http://outside.test/".to_owned()]));
    }
}

#[test]
fn each_host_can_be_walked_alone() {
    let site = site(303, 4, 2);
    for (host, seed) in site.seed_urls(PORT).into_iter().enumerate() {
        let (authority, _) = split(&seed);
        let mut walk = Walk::default();
        let mut queue = vec![seed.clone()];
        while let Some(url) = queue.pop() {
            if split(&url).0 == authority {
                walk.visit(&site, &url, 0, &mut queue);
            }
        }
        let expected = u64::from(site.count(Kind::Page, host as u32));
        assert_eq!(walk.with_status(&[200]).len() as u64, expected, "host {host}");
    }
}

#[test]
fn every_page_is_linked_from_three_others() {
    for (pages, hosts, seed) in SHAPES {
        let site = site(pages, hosts, seed);
        let walk = Walk::of(&site, &site.seed_urls(PORT));
        let mut sources: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (page, links) in &walk.links {
            for link in links.iter().filter(|link| *link != page && split(link).0 == split(page).0) {
                sources.entry(link).or_default().insert(page);
            }
        }
        for place in site.places(Kind::Page).filter(|place| place.index > 0) {
            let url = site.url(place, &Naming::by_name(PORT));
            let others = site.count(Kind::Page, place.host) as usize - 1;
            assert!(sources[url.as_str()].len() >= others.min(3), "{url} of {pages} pages");
        }
    }
}

#[test]
fn pages_have_twenty_to_sixty_links_and_forty_in_the_mean() {
    let site = site(4_000, 1, 5);
    let walk = Walk::of(&site, &site.seed_urls(PORT));
    let total: usize = walk.links.values().map(Vec::len).sum();
    let mean = total as f64 / walk.links.len() as f64;
    assert!((39.0..41.0).contains(&mean), "{mean} links in the mean");
    for (page, links) in &walk.links {
        assert!((20..=60).contains(&links.len()), "{} links", links.len());
        let distinct: HashSet<&String> = links.iter().collect();
        assert_eq!(distinct.len(), links.len(), "{page} repeats a link");
        assert!(!links.contains(page), "{page} links to itself");
    }
}

#[test]
fn small_hosts_repeat_links_rather_than_have_fewer() {
    for (pages, hosts, seed) in SHAPES {
        let walk = Walk::of(&site(pages, hosts, seed), &site(pages, hosts, seed).seed_urls(PORT));
        assert!(walk.links.values().all(|links| (20..=60).contains(&links.len())));
    }
}

#[test]
fn the_way_to_the_last_page_is_short() {
    let site = site(20_000, 1, 1);
    let walk = Walk::of(&site, &site.seed_urls(PORT));
    let deepest = walk.seen.values().map(|(_, depth)| *depth).max();
    assert!(deepest <= Some(6), "{deepest:?} links to the furthest page");
}

#[test]
fn documents_and_paths_have_the_promised_sizes() {
    let site = site(5_000, 3, 11);
    let mut lengths = Vec::new();
    for place in site.places(Kind::Page) {
        let answer = site.answer(place, &Naming::by_name(65_535));
        let bytes = answer.body.len();
        assert!((html::PAGE_BYTES.0..=html::PAGE_BYTES.1).contains(&bytes), "{bytes} bytes");
        if place.index > 0 {
            lengths.push(site.path(place).len());
        }
    }
    assert!(lengths.iter().all(|length| (70..=90).contains(length)));
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    assert!((78.0..=82.0).contains(&mean), "paths of {mean} bytes in the mean");
}

#[test]
fn documents_have_what_readers_expect() {
    let site = site(100, 1, 1);
    let place = Place { kind: Kind::Page, host: 0, index: 42 };
    let answer = site.answer(place, &Naming::by_name(PORT));
    let html = String::from_utf8(answer.body).expect("documents are UTF-8");
    assert_eq!(answer.content_type, "text/html; charset=utf-8");
    assert!(html.starts_with("<!doctype html>"));
    for part in ["<title>", "\u{2013} page 42 of host 0</title>", "<nav>", "<h1>", "<ul>", "</html>"] {
        assert!(html.contains(part), "{part} is missing in {html}");
    }
    assert_eq!(html.matches("<a ").count(), html.matches("</a>").count());
}

#[test]
fn the_longest_possible_document_is_within_bounds() {
    let longest = words::WORDS.iter().map(|word| word.len()).max().unwrap_or(0);
    let path = 8 * (longest + 1) + 14;
    let link = path + 2 * longest + "<li><a href=\"\"> </a>\n".len();
    let frame = 320 + 2 * (2 * longest + 10) + "<a href=\"http://h4294967295.site.test:65535\"".len();
    assert!(60 * link + frame <= html::PAGE_BYTES.1, "{} bytes", 60 * link + frame);
}
