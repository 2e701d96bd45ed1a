//! Pairs of spellings from standards and practice, and bug reports of other crawlers.

use ::url::Url;

use super::super::{Canonicalizer, Reject, Rules, Target};
use super::{plain, under, with_switch};

const PAIRS: &str = include_str!("../../../tests/cases/url_pairs.jsonl");

/// A reference on a page, in a document encoding where one is given.
fn on_page(base: &str, reference: &str, encoding: Option<&str>) -> Target {
    let base = Url::parse(base).expect("the test's base parses");
    let encoding =
        encoding.map(|label| encoding_rs::Encoding::for_label(label.as_bytes()).expect("a known label"));
    Canonicalizer::default()
        .resolver(&base, encoding)
        .target(reference)
        .unwrap_or_else(|reject| panic!("{reference}: {reject}"))
}

#[test]
fn pairs_are_one_page_or_two() {
    for line in PAIRS.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("each line is JSON");
        let text = |field: &str| case[field].as_str().unwrap_or_default();
        let first = text("a");
        if case["reject"].as_bool() == Some(true) {
            let answer = Canonicalizer::default().parse(first);
            assert!(answer.is_err(), "{}: {answer:?}", text("id"));
            continue;
        }
        let same = |rules: &Rules| {
            under(rules.clone(), first).canonical == under(rules.clone(), text("b")).canonical
        };
        assert_eq!(Some(same(&Rules::default())), case["same"].as_bool(), "{line}");
        if let Some(expected) = case["same_with_option"].as_bool() {
            assert_eq!(same(&with_switch(text("option"))), expected, "{line}");
        }
    }
}

#[test]
fn the_root_slash_is_there_and_others_count() {
    assert_eq!(plain("http://a.test").canonical, "http://a.test/");
    assert_eq!(plain("http://a.test?q").canonical, "http://a.test/?q");
    assert_ne!(plain("http://a.test/d").canonical, plain("http://a.test/d/").canonical);
    let fold = with_switch("strip-trailing-slash");
    assert_eq!(under(fold.clone(), "http://a.test/d//?q=/").canonical, "http://a.test/d?q=/");
    assert_eq!(under(fold, "http://a.test//").canonical, "http://a.test/");
}

#[test]
fn default_ports_go_and_others_stay() {
    for (text, expected) in [
        ("http://a.test:80/", "http://a.test/"),
        ("http://a.test:/", "http://a.test/"),
        ("https://a.test:443/", "https://a.test/"),
        ("http://a.test:443/", "http://a.test:443/"),
        ("https://a.test:80/", "https://a.test:80/"),
    ] {
        assert_eq!(plain(text).requested, expected);
        assert_eq!(plain(text).canonical, expected);
    }
}

#[test]
fn hosts_have_their_ascii_form() {
    assert_eq!(plain("http://BÜCHER.test/").canonical, "http://xn--bcher-kva.test/");
    assert_eq!(plain("http://xn--bcher-kva.test/").host(), "xn--bcher-kva.test");
    assert_eq!(plain("https://a_b.test/").canonical, "https://a_b.test/");
    assert_eq!(plain("http://A.test/Docs").canonical, "http://a.test/Docs");
}

#[test]
fn reserved_characters_are_never_decoded() {
    let one = "http://a.test/~u%C3%A9";
    for text in ["http://a.test/~u%c3%a9", "http://a.test/%7Eu%C3%A9", "http://a.test/~ué"] {
        assert_eq!(plain(text).canonical, one);
    }
    let kept = "http://a.test/f%20b%20%2376";
    assert_eq!(plain(kept).canonical, kept);
    assert_ne!(plain("http://a.test/a%2Fb").canonical, plain("http://a.test/a/b").canonical);
    assert_eq!(plain("http://a.test/%%36%31").canonical, "http://a.test/%2561");
    assert_eq!(plain("http://a.test/a^b?a^b").requested, "http://a.test/a%5Eb?a^b");
}

#[test]
fn what_is_requested_stays_as_written() {
    for (base, reference, expected) in [
        ("http://a.test/", "/index.php?/topic/5/&a", "http://a.test/index.php?/topic/5/&a"),
        ("http://a.test/", "/detail#overview", "http://a.test/detail"),
        ("http://a.test/", "/ci.lesson study", "http://a.test/ci.lesson%20study"),
        ("http://a.test/fr/", "\"%url%/\"", "http://a.test/fr/%22%url%/%22"),
        ("http://a.test/", "/p&a=b", "http://a.test/p&a=b"),
        ("http://a.test/", "?a=%7e", "http://a.test/?a=%7e"),
        ("http://u:p@a.test/x/y?q#f", "", "http://a.test/x/y?q"),
        ("http://u:p@a.test/x/y?q#f", "../z#g", "http://a.test/z"),
        ("http://a.test:8080/x/", "//b.test", "http://b.test/"),
        ("https://a.test/x/", "///b.test/y", "https://b.test/y"),
        ("https://a.test/x/", "/\t/\\/b.test/y", "https://b.test/y"),
    ] {
        assert_eq!(on_page(base, reference, None).requested, expected, "{reference}");
    }
}

#[test]
fn queries_are_sent_in_the_encoding_of_the_document() {
    for (encoding, reference, expected) in [
        ("windows-1252", "/é?q=é", "http://a.test/%C3%A9?q=%E9"),
        ("windows-1252", "/?q=日&é", "http://a.test/?q=%26%2326085%3B&%E9"),
        ("shift_jis", "?q=日", "http://a.test/?q=%93%FA"),
        ("iso-2022-jp", "?q=日é", "http://a.test/?q=%1B$BF|%1B(B%26%23233%3B"),
        ("utf-16le", "?q=é", "http://a.test/?q=%C3%A9"),
        ("utf-8", "?q=é", "http://a.test/?q=%C3%A9"),
    ] {
        assert_eq!(on_page("http://a.test/", reference, Some(encoding)).requested, expected);
    }
    assert_eq!(on_page("http://a.test/", "?q=é", None).requested, "http://a.test/?q=%C3%A9");
}

#[test]
fn fragments_count_only_when_asked() {
    assert_eq!(plain("http://a.test/#/x").canonical, plain("http://a.test/#/y").canonical);
    for (text, expected) in [
        ("http://a.test/#/x", "http://a.test/#/x"),
        ("http://a.test/#%7e%é", "http://a.test/#~%25%C3%A9"),
        ("http://a.test/#", "http://a.test/"),
        ("http://a.test/#:%7E:text=word", "http://a.test/"),
        ("http://a.test/#top:~:text=word", "http://a.test/#top"),
    ] {
        let target = under(with_switch("keep-fragments"), text);
        assert_eq!(target.canonical, expected);
        assert_eq!(target.requested, "http://a.test/");
    }
}

#[test]
fn session_ids_go_and_hosts_stay() {
    let strip = with_switch("strip-session-ids");
    for (text, expected) in [
        ("http://a.test/p;jsessionid=AB12.node2_v?x=1", "http://a.test/p?x=1"),
        ("http://a.test;jsessionid=AB12.n_2?x=1", "http://a.test;jsessionid=ab12.n_2/?x=1"),
        ("http://a.test/p;v=1;JSESSIONID=AB!1;w=2/q", "http://a.test/p;v=1;w=2/q"),
        ("http://a.test/a?PHPSESSID=9f&b=1", "http://a.test/a?b=1"),
        ("http://a.test/a?sid=9f86d081&b=1", "http://a.test/a?b=1"),
        ("http://a.test/a?sid=42", "http://a.test/a?sid=42"),
        ("http://a.test/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "http://a.test/a.aspx"),
        ("http://a.test/(S(lit3py55t21z5v55vlm25s55))", "http://a.test/"),
        ("http://a.test/a/..;jsessionid=1/b", "http://a.test/a/..;jsessionid=1/b"),
    ] {
        assert_eq!(under(strip.clone(), text).canonical, expected);
    }
}

#[test]
fn tracking_goes_and_the_rest_keeps_its_spelling() {
    let strip = with_switch("strip-tracking");
    for (text, expected) in [
        ("http://a.test/a?UTM_Source=x&", "http://a.test/a"),
        ("http://a.test/a?", "http://a.test/a?"),
        ("http://a.test/a?&b=%2f+&gclid=1&&c", "http://a.test/a?&b=%2F+&&c"),
        ("http://a.test/a?utm%5Fsource=x&b", "http://a.test/a?b"),
        ("http://a.test/a?q=utm_source=x", "http://a.test/a?q=utm_source=x"),
        ("http://a.test/utm_source=x", "http://a.test/utm_source=x"),
    ] {
        assert_eq!(under(strip.clone(), text).canonical, expected);
        assert_ne!(under(strip.clone(), text).requested, "", "what is requested is not touched");
    }
}

#[test]
fn parameters_are_dropped_by_name_and_sorted_stably() {
    let rules = Rules {
        strip_params: vec!["ref".to_owned(), "größe x".to_owned()],
        sort_query: true,
        ..Rules::default()
    };
    for (text, expected) in [
        ("http://a.test/?ref=1", "http://a.test/"),
        ("http://a.test/?Ref=1&href=2", "http://a.test/?Ref=1&href=2"),
        ("http://a.test/?größe+x=1&gr%C3%B6%C3%9Fe%20x&a", "http://a.test/?a"),
        ("http://a.test/?b=2&a=2&b=1&a=1&ab", "http://a.test/?a=2&a=1&ab&b=2&b=1"),
    ] {
        assert_eq!(under(rules.clone(), text).canonical, expected);
    }
}

#[test]
fn origins_fold_when_asked() {
    let www = with_switch("fold-www");
    for (text, expected) in [
        ("http://www.a.test:8080/www.", "http://a.test:8080/www."),
        ("http://www.www.a.test/", "http://a.test/"),
        ("http://www.test/", "http://www.test/"),
        ("http://www.test./", "http://www.test./"),
        ("http://wwww.a.test/", "http://wwww.a.test/"),
    ] {
        assert_eq!(under(www.clone(), text).canonical, expected);
    }
    let https = with_switch("fold-https");
    assert_eq!(under(https.clone(), "http://a.test/").canonical, "https://a.test/");
    assert_eq!(under(https.clone(), "http://a.test:443/").canonical, "http://a.test:443/");
    assert_eq!(under(https, "http://[::1]/").canonical, "https://[::1]/");
}

#[test]
fn what_cannot_be_crawled_is_said() {
    let reject = |text: &str| Canonicalizer::default().parse(text).expect_err(text);
    for text in
        ["http://a.test:99999/", "http://[::1/", "http://", "http://a b.test/", "", "/x", "http://a@/"]
    {
        assert!(matches!(reject(text), Reject::Unparsable(_)), "{text}");
    }
    assert_eq!(reject("MailTo:joe@a.test"), Reject::OtherScheme("mailto".to_owned()));
    assert_eq!(reject(" java\nscript:void(0)"), Reject::OtherScheme("javascript".to_owned()));
    assert_eq!(
        reject("example.com/").to_string(),
        "not a usable URL: no scheme and host; write it in full, as in http://example.com/"
    );
    assert_eq!(
        reject("ftp://a.test/").to_string(),
        "the scheme 'ftp' is not crawled, only http and https are"
    );
    let endless = format!("http://{}.test/", "a".repeat(70_000));
    assert!(matches!(reject(&endless), Reject::Unparsable(_)));
}

#[test]
fn a_base_that_is_not_crawled_still_has_absolute_links() {
    let base = Url::parse("about:blank").expect("parses");
    let canonicalizer = Canonicalizer::default();
    let resolver = canonicalizer.resolver(&base, None);
    assert_eq!(resolver.target("http://a.test/b").expect("absolute").requested, "http://a.test/b");
    assert!(resolver.target("b").is_err());
    let base = Url::parse("ftp://a.test/").expect("parses");
    let resolver = canonicalizer.resolver(&base, None);
    assert_eq!(resolver.target("b"), Err(Reject::OtherScheme("ftp".to_owned())));
}
