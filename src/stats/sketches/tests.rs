use std::path::Path;

use super::*;
use crate::model::{SkipReason, UrlHashes, Via};
use crate::store::StateError;

fn sizes(usual: bool) -> SketchSizes {
    SketchSizes::within(if usual { u64::MAX } else { 0 }, 5e-4, 1e-2)
}

fn record(url: &str) -> Record {
    let line = format!(
        r#"{{"url":"{url}","status":200,"depth":0,"via":"seed","wire_bytes":1,"decoded_bytes":{},"links":3,
            "digest":"xxh3:{url}","first_byte_ms":2,"fetched_at":"","elapsed_ms":{},"attempts":1}}"#,
        url.len(),
        url.len() % 7
    );
    serde_json::from_str(&line).expect("a record")
}

/// What a crawl of so many pages of each of so many hosts tells.
fn crawl(hosts: std::ops::Range<u32>, pages: u32) -> CrawlSketches {
    let mut sketches = CrawlSketches::new(sizes(true));
    let mut observed = ObservedLinks::default();
    for host in hosts {
        for page in 0..pages {
            let url = format!("http://h{host}.site{}.test/item/{page}?page=1&n={page}", host % 3);
            let mut batch = LinkBatch::default();
            let length = url.find("/item").expect("has a path") as u16;
            for (target, skip) in [
                (url.clone(), None),
                (format!("{}/", &url[..usize::from(length)]), Some(SkipReason::TooDeep)),
            ] {
                let hashes = UrlHashes { key: 1, fingerprint: fingerprint(&target) };
                batch.push(&target, length, hashes, Via::Link, skip);
            }
            observed.take(&batch);
            sketches.links(&observed, Some(&batch));
            sketches.unique(&url);
            sketches.record(&record(&url));
        }
    }
    sketches
}

#[test]
fn a_crawl_is_told_of_within_bounds() {
    let sketches = crawl(0..6, 100);
    let portrait = sketches.portrait(true);
    let distinct = &portrait.distinct;
    for (estimate, truth) in [
        (distinct.urls_discovered, 606.0),
        (distinct.urls_fetched, 600.0),
        (distinct.hosts, 6.0),
        (distinct.domains, 3.0),
        (distinct.contents, 600.0),
    ] {
        assert!(estimate.lower <= truth && truth <= estimate.upper, "{estimate:?} is not about {truth}");
    }
    let most = portrait.most_frequent.expect("was asked for");
    assert_eq!(most.hosts.len(), 6);
    assert!(most.hosts.iter().all(|host| host.at_least <= 100 && 100 <= host.at_most && host.rank.is_none()));
    assert_eq!(most.domains[0].at_most, 200);
    assert_eq!(most.path_templates[0].item.split_once('/').map(|parts| parts.1), Some("item/<n>"));
    let names: Vec<&str> = most.query_parameters.iter().map(|row| row.item.as_str()).collect();
    assert_eq!(most.query_parameters.len(), 2, "{names:?}");
    assert!(most.link_targets[0].item.ends_with(".test/") && most.link_targets[0].at_most >= 100);
    let spread = portrait.spread.latency_ms.expect("pages were answered for");
    assert!(spread.p50 <= spread.p90 && spread.p99 <= spread.max && spread.max <= 6.0, "{spread:?}");
    assert_eq!(portrait.spread.links.map(|links| links.max), Some(3.0));
    let linked = sketches.linked(fingerprint("http://h0.site0.test/"));
    assert!(linked.at_most >= 100 && linked.at_least() <= 100, "{linked:?}");
    assert!(sketches.linked(fingerprint("h1.site1.test")).at_most >= 200);
    assert_eq!(portrait.link_counts.counted, 2 * 1200);
}

#[test]
fn what_got_no_answer_is_not_told_of() {
    let mut sketches = CrawlSketches::new(sizes(false));
    sketches.record(&Record { status: None, ..record("http://a.test/") });
    let portrait = sketches.portrait(false);
    assert_eq!((portrait.distinct.urls_fetched.value, portrait.spread.latency_ms), (0.0, None));
    assert_eq!(portrait.most_frequent, None);
}

#[test]
fn kept_sketches_read_back_and_are_told_from_damage() {
    let file = Path::new("state/sketches-7");
    let kept = KeptSketches {
        crawls: vec![CrawlPart { id: 7, records: 600, canonicalization: "--fold-www".into() }],
        sketches: crawl(0..2, 300),
    };
    let bytes = kept.encode();
    let read = KeptSketches::decode(file, &bytes).expect("what was written");
    assert_eq!(read.crawls, kept.crawls);
    assert_eq!(read.sketches.portrait(true), kept.sketches.portrait(true));
    let step = (bytes.len() / 400).max(1);
    for place in (0..bytes.len()).step_by(step) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        let error = KeptSketches::decode(file, &flipped).expect_err("a bit is another one");
        assert!(error.to_string().contains("sketches-7"), "{place}: {error}");
        assert!(KeptSketches::decode(file, &bytes[..place]).is_err(), "cut at {place}");
    }
    let mut newer = bytes;
    newer[12] = 9;
    let error = KeptSketches::decode(file, &newer).expect_err("newer").into_state();
    assert!(matches!(error, StateError::Newer { found: 9, .. }), "{error}");
}

#[test]
fn merged_crawls_are_told_of_as_one() {
    let kept = |id, hosts, pages| KeptSketches {
        crawls: vec![CrawlPart { id, records: 1, canonicalization: String::new() }],
        sketches: crawl(hosts, pages),
    };
    let (mut one, other) = (kept(1, 0..3, 200), kept(2, 2..5, 200));
    one.merge(&other).expect("alike");
    assert_eq!(one.crawls.len(), 2);
    let whole = crawl(0..5, 200);
    assert_eq!(one.sketches.sets(), whole.sets());
    let mut small = CrawlSketches::new(sizes(false));
    small.unique("http://a.test/");
    let small = KeptSketches { crawls: Vec::new(), sketches: small };
    let before = one.encode();
    let error = one.merge(&small).expect_err("unlike");
    assert!(error.to_string().contains("unlike"), "{error}");
    assert!(one.encode() == before, "something was added");
}

#[test]
fn two_crawls_are_held_against_each_other() {
    let (before, mut after) = (crawl(0..4, 100), crawl(1..4, 100));
    for page in 0..400 {
        after.record(&record(&format!("http://new.test/{page}")));
    }
    let shared = before.shared_urls(&after);
    for (estimate, truth) in
        [(shared.union, 800.0), (shared.both, 300.0), (shared.only_first, 100.0), (shared.only_second, 400.0)]
    {
        assert!(estimate.lower <= truth && truth <= estimate.upper, "{estimate:?} is not about {truth}");
    }
    let changes = before.host_changes(&after, 10).expect("alike");
    let told: Vec<(&str, bool)> =
        changes.iter().map(|change| (change.host.as_str(), change.change.value > 0.0)).collect();
    assert_eq!(told, [("new.test", true), ("h0.site0.test", false)]);
    assert!(before.host_changes(&before, 10).expect("alike").is_empty());
}

#[test]
fn sketches_take_no_more_than_the_budget_gives_them() {
    let bytes = crate::budget::SketchBytes::of(5e-4, 1e-2);
    for (usual, most) in [(true, bytes.usual), (false, bytes.least)] {
        let mut sketches = CrawlSketches::new(sizes(usual));
        let mut observed = ObservedLinks::default();
        for number in 0..60_000_u64 {
            let label = "a-label-of-some-length-".repeat(2);
            let host = format!("h{number}.{label}.{label}.{label}{number}.test");
            let long = "x".repeat(200);
            let url = format!("http://{host}/{long}/{number}/x{number}?{long}{number}=1");
            let mut batch = LinkBatch::default();
            let hashes = UrlHashes { key: 1, fingerprint: fingerprint(&url) };
            batch.push(&url, (7 + host.len()) as u16, hashes, Via::Link, None);
            observed.take(&batch);
            sketches.links(&observed, Some(&batch));
            sketches.unique(&url);
            sketches.record(&record(&url));
        }
        let taken = sketches.memory_bytes() as u64;
        assert!(taken <= most, "{taken} bytes of {most}");
        let bound = sketches.most_memory_bytes() as u64;
        assert!(taken <= bound && bound <= most, "{taken} bytes, {bound} at most, of {most}");
        assert!(taken * 2 > most, "{taken} bytes leave most of {most} unused");
    }
}
