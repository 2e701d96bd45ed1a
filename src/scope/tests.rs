use proptest::prelude::*;

use super::*;
use crate::config::ScopeKind;
use crate::url::Canonicalizer;

fn config(scope: ScopeKind) -> Config {
    Config { scope, max_url_length: 200, ..Config::default() }
}

fn scope(config: &Config, seeds: &[&str]) -> Scope {
    let mut scope = Scope::new(config).expect("the test's expressions compile");
    for seed in seeds {
        scope.add_seed(seed);
    }
    scope
}

fn check(scope: &Scope, url: &str) -> Result<(), SkipReason> {
    let target = Canonicalizer::default().parse(url).expect("the test's URL parses");
    scope.check(&target.requested, &target.parts)
}

/// Checks what is in and what is out of the scope of some seeds.
fn expect(config: &Config, seeds: &[&str], within: &[&str], without: &[&str]) {
    let scope = scope(config, seeds);
    for url in seeds.iter().chain(within) {
        assert_eq!(check(&scope, url), Ok(()), "{url}");
    }
    for url in without {
        assert_eq!(check(&scope, url), Err(SkipReason::OutOfScope), "{url}");
    }
}

#[test]
fn page_is_the_seed_in_all_its_spellings() {
    let mut config = config(ScopeKind::Page);
    let seeds = ["http://site.test/%7ea?b=2&a=1"];
    expect(
        &config,
        &seeds,
        &["http://SITE.test/~a?b=2&a=1#x"],
        &[
            "http://site.test/~a",
            "https://site.test/~a?b=2&a=1",
            "http://site.test/~a?a=1&b=2",
            "http://site.test/",
        ],
    );
    config.canonicalization.sort_query = true;
    config.canonicalization.fold_https = true;
    expect(&config, &seeds, &["https://site.test/~a?a=1&b=2"], &["https://site.test:444/~a?a=1&b=2"]);
}

#[test]
fn prefix_is_the_directory_on_any_scheme_and_port() {
    let seeds = ["http://site.test/docs/%7ea/index.html?x=/y/", "http://other.test/"];
    let within = [
        "http://site.test/docs/~a/",
        "https://site.test:8443/docs/~a/b/c.html",
        "http://site.test/docs/~a/?/",
        "http://other.test/x/y",
    ];
    let without = [
        "http://site.test/docs/~a",
        "http://site.test/docs/",
        "http://site.test/docs/~ab/",
        "http://site.test/x/docs/~a/",
        "http://site.test/?/docs/~a/",
        "http://site.test/docs/~A/",
        "http://www.site.test/docs/~a/",
    ];
    let mut config = config(ScopeKind::Prefix);
    expect(&config, &seeds, &within, &without);
    // rules that edit paths move no directory
    config.canonicalization.strip_trailing_slash = true;
    expect(&config, &["http://site.test/docs/"], &["http://site.test/docs/a"], &["http://site.test/a"]);
}

#[test]
fn host_is_the_name_on_any_scheme_and_port() {
    expect(
        &config(ScopeKind::Host),
        &["http://site.test/deep/page", "http://127.0.0.1:81/", "http://[::1]/"],
        &["https://site.test:8443/", "http://127.0.0.1/", "https://[::1]:8080/x", "http://site.test./"],
        &["http://www.site.test/", "http://test/", "http://127.0.0.2/"],
    );
}

#[test]
fn a_folded_www_is_the_same_host() {
    for kind in [ScopeKind::Page, ScopeKind::Prefix, ScopeKind::Host] {
        let mut config = config(kind);
        config.canonicalization.fold_www = true;
        let other = &["http://a.site.test/"];
        expect(&config, &["http://www.site.test/"], &["http://site.test/"], other);
        expect(&config, &["http://site.test/"], &["http://www.site.test/"], other);
    }
}

#[test]
fn domain_is_what_someone_registered() {
    expect(
        &config(ScopeKind::Domain),
        &["http://a.b.example.co.uk/", "http://x.github.io/", "http://10.1.2.3/", "http://localhost/"],
        &[
            "https://example.co.uk/",
            "http://www.example.co.uk.:81/",
            "http://y.x.github.io/",
            "http://10.1.2.3:8080/",
        ],
        &[
            "http://other.co.uk/",
            "http://co.uk/",
            "http://y.github.io/",
            "http://11.1.2.3/",
            "http://a.localhost/",
        ],
    );
}

#[test]
fn registrable_domains_follow_the_list() {
    for (host, domain) in [
        ("www.example.com", Some("example.com")),
        ("example.com", Some("example.com")),
        ("com", None),
        ("a.b.site.test", Some("site.test")),
        ("www.example.com.", Some("example.com")),
        ("www.xn--85x722f.xn--55qx5d.cn", Some("xn--85x722f.xn--55qx5d.cn")),
        ("www.ck", Some("www.ck")),
        ("x.y.z.kobe.jp", Some("y.z.kobe.jp")),
        ("1.2.3.4", None),
        ("[::1]", None),
        ("localhost", None),
        ("", None),
        (".", None),
    ] {
        assert_eq!(registrable_domain(host), domain, "{host}");
    }
}

#[test]
fn any_wants_everything_that_is_short_enough() {
    let scope = scope(&config(ScopeKind::Any), &[]);
    assert_eq!(check(&scope, "http://anything.test/"), Ok(()));
    let long = format!("http://anything.test/{}", "x".repeat(200));
    assert_eq!(check(&scope, &long), Err(SkipReason::UrlTooLong));
}

#[test]
fn a_seed_that_moved_takes_its_scope_along() {
    let mut scope = scope(&config(ScopeKind::Host), &["http://site.test/"]);
    assert!(check(&scope, "https://www.site.test/a").is_err());
    scope.add_moved_seed("https://www.site.test/start");
    assert_eq!(check(&scope, "https://www.site.test/a"), Ok(()));
    assert_eq!(check(&scope, "http://site.test/"), Ok(()));
    assert_eq!(scope.generation(), 1);
    scope.add_moved_seed("https://www.site.test/start");
    assert_eq!(scope.generation(), 2);
}

#[test]
fn expressions_narrow_the_scope_in_order() {
    let mut config = config(ScopeKind::Host);
    config.include = vec!["/docs/".to_owned(), r"\.html$".to_owned()];
    config.exclude = vec!["(?i)/PRIVATE/".to_owned()];
    let scope = scope(&config, &["http://site.test/"]);
    for (url, answer) in [
        ("http://site.test/docs/a", Ok(())),
        ("http://site.test/a.html", Ok(())),
        ("http://site.test/a.html?b", Err(SkipReason::NotIncluded)),
        ("http://site.test/docs/private/a", Err(SkipReason::Excluded)),
        ("http://site.test/private/a", Err(SkipReason::Excluded)),
        ("http://other.test/private/a", Err(SkipReason::OutOfScope)),
    ] {
        assert_eq!(check(&scope, url), answer, "{url}");
    }
}

#[test]
fn a_path_of_nothing_but_slashes_is_read_once() {
    let mut config = config(ScopeKind::Prefix);
    config.max_url_length = usize::MAX;
    let deep = format!("http://site.test{}", "/".repeat(1 << 20));
    let mut scope = scope(&config, &["http://site.test/a/b/"]);
    assert_eq!(check(&scope, &deep), Err(SkipReason::OutOfScope));
    scope.add_moved_seed(&deep);
    assert_eq!(check(&scope, &deep), Ok(()));
}

proptest! {
    #[test]
    fn no_text_panics_and_seeds_are_in_scope(text in any::<String>(), path in "[/a%4]{0,12}") {
        let url = Canonicalizer::default().parse(&format!("http://www.site.test/{path}")).expect("parses");
        for kind in [ScopeKind::Page, ScopeKind::Prefix, ScopeKind::Host, ScopeKind::Domain, ScopeKind::Any] {
            let mut scope = Scope::new(&config(kind)).expect("nothing to compile");
            scope.add_seed(&url.requested);
            prop_assert_eq!(scope.check(&url.requested, &url.parts), Ok(()));
            scope.add_seed(&text);
            let _ = registrable_domain(&text);
        }
    }
}

#[test]
fn the_expressions_hold_outside_of_the_scope_too() {
    let mut config = config(ScopeKind::Host);
    config.include = vec!["/docs".to_owned()];
    config.exclude = vec!["private".to_owned()];
    let scope = scope(&config, &["http://site.test/docs"]);
    assert_eq!(scope.check_unmoved("http://other.test/docs"), Ok(()));
    assert_eq!(scope.check_unmoved("http://other.test/docs/private"), Err(SkipReason::Excluded));
    assert_eq!(scope.check_unmoved("http://other.test/"), Err(SkipReason::NotIncluded));
    assert_eq!(check(&scope, "http://other.test/docs/private"), Err(SkipReason::OutOfScope));
}

#[test]
fn a_robots_txt_names_sitemaps_where_its_host_has_pages() {
    let (own, other) = ("http://site.test/robots.txt", "http://other.test:81/robots.txt");
    for (kind, at_own, of_others, at_other) in [
        (ScopeKind::Page, false, false, false),
        (ScopeKind::Prefix, true, false, true),
        (ScopeKind::Host, true, true, false),
        (ScopeKind::Domain, true, true, false),
        (ScopeKind::Any, true, true, true),
    ] {
        let scope = scope(&config(kind), &["http://site.test/docs/"]);
        assert_eq!(scope.lets_name_sitemap(own, "site.test"), at_own, "{kind:?}");
        assert_eq!(scope.lets_name_sitemap(own, "cdn.test"), of_others, "{kind:?}");
        assert_eq!(scope.lets_name_sitemap(other, "other.test"), at_other, "{kind:?}");
    }
    let config = Config { exclude: vec!["no".into()], include: vec!["yes".into()], ..config(ScopeKind::Any) };
    let scope = scope(&config, &[]);
    assert!(scope.excludes("http://a.test/no") && !scope.excludes("http://a.test/s.xml"));
}
