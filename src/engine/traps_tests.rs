use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn traps(queries: u64, subdomains: u64, stop: bool) -> Traps {
    let config = Config {
        max_query_variants: queries,
        max_subdomains: subdomains,
        stop_traps: stop,
        ..Config::default()
    };
    Traps::new(&config, 96 << 10, 7)
}

fn candidate(url: &str, via: Via) -> Candidate {
    Candidate {
        url: url.into(),
        origin_length: Parts::of(url).origin_length,
        key: 0,
        depth: 1,
        via,
        hops: 0,
        carries_scope: false,
        referrer: Some(Arc::from("http://a.test/")),
    }
}

/// What becomes of a new URL.
fn meet(traps: &mut Traps, url: &str, via: Via) -> Option<SkipReason> {
    let candidate = candidate(url, via);
    let reason = traps.refuses(&candidate);
    if reason.is_none() {
        traps.accepted(&candidate);
    }
    reason
}

#[test]
fn branches_are_told_by_what_is_no_number() {
    for (url, name) in [
        ("http://a.test/", "a.test/*"),
        ("http://a.test", "a.test"),
        ("http://a.test:8/about", "a.test/*"),
        ("https://a.test/cal/2026/01", "a.test/cal/#/#"),
        ("http://a.test/cal/2026/january.html", "a.test/cal/#/*"),
        ("http://a.test/my%20docs/v1/x", "a.test/my%20docs/#/*"),
        ("http://a.test/cal?day=1", "a.test/cal?*"),
        ("http://a.test/cal/7?day=1#/x", "a.test/cal/#?*"),
        ("http://a.test?day=1", "a.test?*"),
        ("http://a.test/a#b?c/d", "a.test/*"),
    ] {
        assert_eq!(branch_name(url), name, "{url}");
    }
    let traps = traps(9, 9, true);
    assert_eq!(traps.branch("http://a.test/c/1/2"), traps.branch("http://a.test/c/33/44"));
    assert_ne!(traps.branch("http://a.test/c/1/2"), traps.branch("http://b.test/c/1/2"));
    assert_ne!(traps.branch("http://a.test/c/1"), traps.branch("http://a.test/c/x"));
}

#[test]
fn seeds_are_neither_counted_nor_cut() {
    let mut traps = traps(2, 2, true);
    for n in 0..9 {
        assert_eq!(meet(&mut traps, &format!("http://h{n}.b.test/?q={n}"), Via::Seed), None);
        assert_eq!(meet(&mut traps, &format!("http://b.test/?q={n}"), Via::Seed), None);
    }
    for n in 0..2 {
        assert_eq!(meet(&mut traps, &format!("http://b.test/?r={n}"), Via::Link), None);
    }
    assert_eq!(meet(&mut traps, "http://b.test/?r=3", Via::Link), Some(SkipReason::QueryVariants));
    assert_eq!(meet(&mut traps, "http://b.test/?r=3", Via::Seed), None);
}

#[test]
fn like_pages_end_their_branch_and_no_other() {
    let mut traps = traps(1 << 40, 1 << 40, true);
    let url = |n: u32| format!("http://a.test/cal/{}/{}", n / 12, n % 12);
    for n in 0..LIKE_PAGES - 1 {
        assert_eq!(traps.page(&url(n), 0xabc ^ 1 << (n % 4)), None);
        // others beside it that differ, and as many of another host
        assert_eq!(traps.page(&format!("http://a.test/p/{n}"), xxh3_64_with_seed(&n.to_le_bytes(), 1)), None);
    }
    assert!(!traps.ends(&url(5)));
    assert_eq!(traps.page(&url(LIKE_PAGES), 0xabc), Some(u64::from(LIKE_PAGES)));
    assert_eq!(traps.page(&url(LIKE_PAGES + 1), 0xabc), None, "it is told once");
    assert!(traps.ends(&url(7_000_000)));
    for other in
        ["http://a.test/p/1", "http://a.test/cal/1", "http://b.test/cal/1/1", "http://a.test/cal/1/1?x"]
    {
        assert!(!traps.ends(other), "{other}");
    }
    assert_eq!(meet(&mut traps, &url(99), Via::Link), Some(SkipReason::Trap));
    traps.caps.stop = false;
    assert_eq!(meet(&mut traps, &url(99), Via::Link), None);
}

proptest! {
    /// No count costs a page below its cap, and within its room it holds exactly.
    #[test]
    fn caps_hold_and_cost_nothing_below(
        urls in proptest::collection::hash_set((0..4_u32, 0..4_u32, 0..40_u32), 0..300),
        queries in 1..20_u64,
        subdomains in 1..4_u64,
    ) {
        let mut traps = traps(queries, subdomains, false);
        let mut variants: HashMap<String, u64> = HashMap::new();
        let mut hosts: HashMap<u32, HashSet<u32>> = HashMap::new();
        for (domain, host, query) in urls {
            let path = format!("http://h{host}.d{domain}.test/p");
            let reason = meet(&mut traps, &format!("{path}?{query}"), Via::Link);
            let (met, of_domain) = (variants.entry(path).or_default(), hosts.entry(domain).or_default());
            let expected = if *met >= queries {
                Some(SkipReason::QueryVariants)
            } else if !of_domain.contains(&host) && of_domain.len() as u64 >= subdomains {
                Some(SkipReason::TooManySubdomains)
            } else {
                *met += 1;
                of_domain.insert(host);
                None
            };
            prop_assert_eq!(reason, expected);
        }
    }

    #[test]
    fn a_state_comes_back(urls in proptest::collection::vec((0..9_u32, 0..40_u32), 0..200)) {
        let mut before = traps(5, 3, true);
        for (host, query) in urls {
            let url = format!("http://h{host}.a.test/{query}/?{query}");
            meet(&mut before, &url, Via::Link);
            before.page(&url, u64::from(query) << 20);
            before.tell(u64::from(host));
        }
        let (mut bytes, mut after) = (Vec::new(), traps(5, 3, true));
        before.encode(&mut Encoder(&mut bytes));
        let mut decoder = Decoder(&bytes);
        prop_assert!(after.restore(&mut decoder).is_ok() && decoder.is_empty());
        prop_assert_eq!((&after.queries, &after.domains, &after.hosts), (&before.queries, &before.domains, &before.hosts));
        prop_assert_eq!((&after.branches, &after.told), (&before.branches, &before.told));
        for cut in 0..bytes.len().min(40) {
            prop_assert!(traps(5, 3, true).restore(&mut Decoder(&bytes[..cut])).is_err());
        }
    }
}

#[test]
fn all_of_it_fits_into_its_share() {
    for bytes in [96 << 10, 200 << 10, 512 << 10] {
        let traps = Traps::new(&Config::default(), bytes, 1);
        let mut state = Vec::new();
        traps.encode(&mut Encoder(&mut state));
        assert!(state.len() < 16, "what has met nothing takes no room");
    }
    let mut traps = traps(1 << 40, 1 << 40, false);
    for n in 0..20_000_u32 {
        meet(&mut traps, &format!("http://h{n}.d{}.test/{n}?", n % 3000), Via::Link);
        traps.page(&format!("http://h{n}.test/"), u64::from(n));
        traps.tell(u64::from(n));
    }
    let mut state = Vec::new();
    traps.encode(&mut Encoder(&mut state));
    assert!(state.len() < 96 << 10, "{} bytes", state.len());
    assert_eq!(traps.told.len(), Traps::MOST_TOLD);
}

/// New at once or rescued from doubt, what is past a cap is counted as skipped, and the sums hold.
#[test]
fn caps_hold_for_doubts_as_well() {
    use crate::config::{Count, Options, ScopeKind};
    use crate::engine::core_tests::{Setup, Web, simulation};

    let variants: Vec<String> = (0..300).map(|n| format!("http://a.test/p?{n}")).collect();
    let links: Vec<&str> = variants.iter().map(String::as_str).collect();
    let mut web = Web::default();
    web.page("http://a.test/", &links);
    for url in &links {
        web.page(url, &links[..40]);
    }
    let setup = Setup {
        options: Options {
            scope: Some(ScopeKind::Any),
            max_query_variants: Some(Count(25)),
            // nearly every URL is a doubt
            expected_urls: Some(Count(1)),
            bits_per_url: Some(1.0),
            ..Options::default()
        },
        table_bytes: 64,
        ..Setup::default()
    };
    let mut simulation = simulation(web, &["http://a.test/"], &setup);
    simulation.run();
    let counters = simulation.core.counters().clone();
    assert!(counters.rescued > 0, "some come from doubts");
    assert_eq!((counters.records(), counters.unique), (26, 26));
    assert_eq!(counters.skipped_before_queue.of(SkipReason::QueryVariants), 275);
    assert_eq!((counters.traps, simulation.core.adds_up()), (1, true));
    let alarms = simulation.core.take_events().into_iter().filter(|event| matches!(event, Event::Trap(_)));
    assert_eq!(alarms.count(), 1);
}
