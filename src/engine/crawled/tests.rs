//! What is remembered of earlier crawls, which candidates are asked for, and what it takes of the memory.

use proptest::prelude::*;

use super::super::plan::{PlanError, plan_knowing};
use super::*;
use crate::config::{Config, ConfigError, Options};
use crate::engine::{Crawl, SetupError};

proptest! {
    #[test]
    fn what_is_remembered_reads_back(crawls in proptest::collection::vec(("[a-zé/ ]{0,40}", any::<[u32; 3]>()), 0..4)) {
        let crawls = crawls.into_iter().map(|(directory, [seed, number, keys])| EarlierCrawl {
            directory: directory.into(),
            secret: KeySecret::from_seed(u64::from(seed)),
            set: SortedSet { number: u64::from(number), keys: u64::from(keys) },
        });
        let earlier = EarlierCrawls(crawls.collect());
        let mut bytes = Vec::new();
        earlier.encode(&mut Encoder(&mut bytes));
        let mut decoder = Decoder(&bytes);
        prop_assert_eq!(EarlierCrawls::decode(&mut decoder), Ok(earlier));
        prop_assert!(decoder.is_empty());
        prop_assert!(EarlierCrawls::decode(&mut Decoder(&bytes[..bytes.len() - 1])).is_err());
    }
}

#[test]
fn seeds_where_they_lead_and_sitemaps_are_asked_for_anyway() {
    let asked = |via, carries_scope| {
        is_asked_anyway(&Candidate {
            url: "http://a.test/".into(),
            origin_length: 13,
            key: 1,
            depth: 0,
            via,
            hops: 0,
            carries_scope,
            referrer: None,
        })
    };
    assert!(asked(Via::Seed, true) && asked(Via::Seed, false));
    assert!(asked(Via::Redirect, true) && !asked(Via::Redirect, false));
    assert!(asked(Via::SitemapFile, false) && !asked(Via::Sitemap, false));
    assert!(![Via::Link, Via::Resource, Via::Canonical, Via::Frame].into_iter().any(|via| asked(via, false)));
}

fn config(memory: u64) -> Config {
    Config { memory, concurrency: 4, ..Config::default() }
}

/// What is planned for an earlier crawl of so many pages, or the smallest budget that works.
fn planned(memory: u64, keys: u64) -> Result<(u64, bool), u64> {
    match plan_knowing(&config(memory), 0, &[SortedSet { number: 0, keys }]) {
        Ok((plan, _, known)) => {
            assert_eq!(plan.parts().iter().map(|part| part.1).sum::<u64>(), memory);
            Ok((plan.fixed, known.stretch.is_some()))
        }
        Err(PlanError::Budget(ConfigError::Memory { source, .. })) => Err(source.smallest),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_earlier_crawls_take_is_in_the_plan() {
    let (small, filtered) = planned(64 << 20, 1000).expect("room enough");
    assert!(filtered);
    // some 11 MiB of filter and fence, less what the reserve makes up for
    let (large, filtered) = planned(64 << 20, 10_000_000).expect("room enough");
    assert!(filtered && large > small + (10 << 20), "{large} {small}");
    // a filter of a hundred million takes more than half of that: the disk answers alone
    let (bare, filtered) = planned(64 << 20, 100_000_000).expect("room for the fence");
    assert!(!filtered && bare < small + (1 << 20), "{bare}");
    assert!(planned(1 << 30, 100_000_000).expect("room enough").1);
}

#[test]
fn a_budget_too_small_is_refused_with_the_smallest_that_works() {
    let keys = 2_000_000_000;
    let smallest = planned(16 << 20, keys).expect_err("not even the fence fits");
    assert!(planned(smallest, keys).is_ok(), "{smallest}");
    assert!(planned(smallest - (2 << 20), keys).is_err());
}

#[test]
fn a_crawl_that_is_kept_nowhere_refuses_it() {
    let options = Options { skip_crawled: vec!["old".into()], ..Options::default() };
    let refused = Crawl::builder().options(options).seed("http://127.0.0.1:9/").build().err();
    let Some(SetupError::Config(error)) = refused else { panic!("it was not refused") };
    assert!(error.to_string().starts_with("--skip-crawled old: a crawl without --output"), "{error}");
}
