//! Paths, names, settings, lists and counters.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

#[test]
fn equal_settings_give_equal_sites_and_other_seeds_others() {
    let answers = |seed| {
        let site = site(200, 2, seed);
        let urls: Vec<String> = site.truth(&Naming::by_name(PORT)).collect();
        let answers: Vec<Answer> = urls.iter().map(|url| site.respond(split(url).0, split(url).1)).collect();
        (urls, answers)
    };
    assert_eq!(answers(1), answers(1));
    let ((urls, bodies), (other_urls, other_bodies)) = (answers(1), answers(2));
    assert_ne!(urls, other_urls);
    assert_ne!(bodies, other_bodies);
}

#[test]
fn pages_are_split_evenly() {
    for (pages, hosts, seed) in SHAPES {
        let site = site(pages, hosts, seed);
        let counts: Vec<u32> = (0..hosts).map(|host| site.count(Kind::Page, host)).collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1));
        for kind in Kind::ALL {
            assert!(site.places(kind).enumerate().all(|(number, place)| site.number(place) == number as u64));
            assert_eq!(site.places(kind).count() as u64, site.total(kind));
        }
    }
}

#[test]
fn bad_settings_are_refused_by_name() {
    let error =
        |pages, hosts| Site::new(SiteSettings { pages, hosts, seed: 0 }).map_err(|error| error.to_string());
    assert_eq!(
        error(0, 1),
        Err("a site of 0 pages has nothing to serve, ask for at least 1 page".to_owned())
    );
    assert!(error(1, 0).is_err_and(|text| text.contains("0 hosts")));
    assert!(error(5, 6).is_err_and(|text| text.contains("5 pages cannot be split among 6 hosts")));
    assert!(error(MAX_PAGES + 1, 1).is_err_and(|text| text.contains("at most 100000000 pages")));
    assert!(error(MAX_PAGES, 1).is_ok());
}

#[test]
fn robots_txt_forbids_what_is_linked_and_nothing_that_counts() {
    let site = site(500, 2, 1);
    let answer = site.respond("h1.site.test:8080", "/robots.txt");
    assert_eq!((answer.status, answer.content_type), (200, answer::TEXT));
    assert_eq!(answer.body, b"User-agent: *\nDisallow: /private/\n");
    for kind in [Kind::Page, Kind::Redirect, Kind::Missing, Kind::Disallowed] {
        for place in site.places(kind) {
            assert_eq!(site.path(place).starts_with("/private/"), kind == Kind::Disallowed);
        }
    }
}

#[test]
fn redirects_lead_to_pages_of_their_host_in_every_form() {
    let site = site(900, 2, 1);
    let mut forms: BTreeMap<(u16, bool), u32> = BTreeMap::new();
    for place in site.places(Kind::Redirect) {
        let url = site.url(place, &Naming::by_name(PORT));
        let answer = site.respond(split(&url).0, split(&url).1);
        let location = answer.location.expect("a redirect says where to");
        *forms.entry((answer.status, location.starts_with('/'))).or_default() += 1;
        let target = join(&url, &location);
        assert_eq!(split(&target).0, split(&url).0);
        let found = site.locate(place.host, split(&target).1);
        assert!(found.is_some_and(|target| target.kind == Kind::Page));
    }
    assert_eq!(forms.len(), 4, "{forms:?}");
}

#[test]
fn only_the_linked_spelling_of_a_path_is_known() {
    let site = site(100, 1, 1);
    let path = site.path(Place { kind: Kind::Page, host: 0, index: 7 });
    assert!(site.locate(0, &path).is_some());
    let others = [
        path.to_ascii_uppercase(),
        path.replace("00000007", "00000008"),
        path.replace("00000007", "00000100"),
        path.replace("00000007", "+0000007"),
        path.replace("00000007", "7"),
        path.replace("00000007", "00000000"),
        path.replace(".html", ""),
        format!("{path}?a=b"),
        format!("{path}/"),
        format!("/{path}"),
        path.replacen('/', "/./", 1),
        "/index.html".to_owned(),
        String::new(),
    ];
    for other in others {
        assert_eq!(site.locate(0, &other), None, "{other}");
        assert_eq!(site.respond("h0.site.test", &other).status, 404);
    }
}

#[test]
fn hosts_are_known_by_name_and_a_single_one_by_anything() {
    let several = site(100, 12, 1);
    for (authority, known) in [
        ("h0.site.test", true),
        ("H11.Site.TEST:8080", true),
        ("h12.site.test", false),
        ("h01.site.test", false),
        ("h+1.site.test", false),
        ("h.site.test", false),
        ("site.test", false),
        ("127.0.0.1:8080", false),
        ("xh1.site.test", false),
        ("h1\u{e9}site.test", false),
        ("", false),
    ] {
        assert_eq!(several.respond(authority, "/").status == 200, known, "{authority}");
    }
    let single = site(100, 1, 1);
    for authority in ["h0.site.test:8080", "127.0.0.1:8080", "[::1]:8080", "localhost", "a\"b", ""] {
        assert_eq!(single.respond(authority, "/").status, 200, "{authority}");
    }
}

#[test]
fn a_single_host_writes_urls_under_the_authority_it_was_asked_by() {
    let site = site(2, 1, 1);
    for (authority, seed) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("[::1]:8080", "http://[::1]:8080/"),
        ("h0.site.test:8080", "http://h0.site.test:8080/"),
        ("a\"b:8080", "http://h0.site.test:8080/"),
        ("", "http://h0.site.test/"),
    ] {
        let (_, naming) = site.read_authority(authority);
        assert_eq!(site.truth(&naming).next().as_deref(), Some(seed));
    }
}

#[test]
fn the_banner_has_a_seed_per_host_and_the_flag_to_reach_them() {
    let address: SocketAddr = ([127, 0, 0, 1], 8080).into();
    let banner = site(30, 3, 1).banner(address);
    for line in [
        "seed http://h0.site.test:8080/",
        "seed http://h2.site.test:8080/",
        "--resolve *.site.test:8080:127.0.0.1",
    ] {
        assert!(banner.lines().any(|shown| shown == line), "{line} is missing in {banner}");
    }
    let everywhere: SocketAddr = ([0, 0, 0, 0], 9).into();
    assert!(site(30, 1, 1).banner(everywhere).contains("seed http://127.0.0.1:9/\n"));
    let sixth: SocketAddr = ([0; 8], 9).into();
    assert_eq!(site(30, 1, 1).resolve_flags(sixth), ["*.site.test:9:[::1]"]);
    assert!(
        site(3_000, 3_000, 1).banner(address).contains("and 2000 more at http://127.0.0.1:8080/_seeds\n")
    );
}

#[test]
fn the_log_has_a_bound_on_what_is_not_of_the_site() {
    let site = site(10, 1, 1);
    let log = Arc::new(log::RequestLog::new(&site));
    for number in 0..5_000 {
        log.count_unknown(format!("http://h0.site.test/{number}"));
    }
    log.count_unknown("x".repeat(1 << 20));
    let lines: Vec<String> = Arc::clone(&log).lines(site, Naming::by_name(80)).collect();
    assert_eq!(lines.len(), 4_097);
    assert_eq!(lines.last().map(String::as_str), Some("905\t*"));
    assert_eq!(log.report().requests, 5_001);
}

proptest! {
    #[test]
    fn every_path_reads_back(pages in 1..MAX_PAGES, hosts in 1..1_000_u32, seed: u64, host: u32, index: u32, kind in 0..5_usize) {
        let site = site(pages.max(u64::from(hosts)), hosts, seed);
        let host = host % hosts;
        let place = Place { kind: Kind::ALL[kind], host, index: index % site.count(Kind::ALL[kind], host) };
        prop_assert_eq!(site.locate(host, &site.path(place)), Some(place));
        prop_assert!(site.number(place) < site.total(place.kind));
    }

    #[test]
    fn any_request_is_answered(hosts in 1..4_u32, authority: String, path: String) {
        let answer = site(20, hosts, 1).respond(&authority, &path);
        prop_assert!(answer.status == 200 || answer.status == 404);
    }

    #[test]
    fn links_of_any_site_are_places_of_it(pages in 1..MAX_PAGES, seed: u64, index: u32) {
        let site = site(pages, 1, seed);
        let index = index % pages as u32;
        let answer = site.answer(Place { kind: Kind::Page, host: 0, index }, &Naming::by_name(PORT));
        let html = String::from_utf8_lossy(&answer.body).into_owned();
        for href in hrefs(&html).filter(|href| href.starts_with('/')) {
            prop_assert!(site.locate(0, href).is_some(), "{}", href);
        }
    }
}
