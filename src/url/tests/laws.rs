//! What holds for every URL, tried on hostile ones.

use ::url::Url;
use encoding_rs::Encoding;
use proptest::prelude::*;

use super::super::{Canonicalizer, Parts, Rules, host_of, origin_of, path_and_query};

/// Pieces that parsers trip over, those that often meet more than once.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "/", "/", "/", "//", "\\", ".", "..", "../", "./", "/.", "/..", "%2e", "%2E", ".%2e", "%", "%2", "%4",
    "%25", "%36", "%31", "%7e", "%2f", "%3B", "%c3%bc", "%zz", "?", "?", "#", "&", "&", "=", ";", ":",
    "@", "'", "\"", "<", "^", "|", "`", "{", "[", "]", "+", " ", "\t", "\n", "\0", "\u{7f}", "ü", "日",
    "😀", "é", "a", "b", "Z", "0", "9", "-", "_", "~", "C:", "c|", "host", "page.html", "http:", "https:",
    "http://", "https://", "HTTP://", "ftp:", "mailto:", "site.test", "site.test", "www.", "xn--",
    "xn--bcher-kva", "ab--cd", "1.2.3.4", "0x7f", ".5", ":80", ":443", ":8080", "[::1]", "utm_source=x",
    "gclid=1", "ref=1", "sid=9f86d081", "PHPSESSID=1", ";jsessionid=1", ";jsessionid=A.b",
    "(S(lit3py55t21z5v55vlm25s55))", ":~:", ":%7E:",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

/// Text that is an absolute URL more often than not.
fn absolute() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec![
        "",
        "http://",
        "https://",
        "http://site.test/",
        "https://www.site.test/",
        "http://site.test:8080/",
        "http://1.2.3.4:81/",
        "https://u:p@www.a.www.site.test/",
        "http://[::1]/",
        "http://www.site.test?",
    ]);
    (start, text()).prop_map(|(start, rest)| format!("{start}{rest}"))
}

fn base() -> impl Strategy<Value = Url> {
    let fallback = Url::parse("http://site.test/a/b?c").expect("the fallback parses");
    absolute().prop_map(move |text| Url::parse(&text).unwrap_or_else(|_| fallback.clone()))
}

fn rules() -> impl Strategy<Value = Rules> {
    any::<u8>().prop_map(|bits| {
        let bit = |index: u8| bits >> index & 1 == 1;
        Rules {
            sort_query: bit(0),
            strip_params: if bit(1) { vec!["ref".to_owned(), "ü".to_owned()] } else { Vec::new() },
            strip_tracking: bit(2),
            strip_session_ids: bit(3),
            fold_www: bit(4),
            fold_https: bit(5),
            strip_trailing_slash: bit(6),
            keep_fragments: bit(7),
        }
    })
}

fn encoding() -> impl Strategy<Value = Option<&'static Encoding>> {
    prop::sample::select(vec![
        None,
        Some(encoding_rs::UTF_8),
        Some(encoding_rs::WINDOWS_1252),
        Some(encoding_rs::SHIFT_JIS),
        Some(encoding_rs::ISO_2022_JP),
        Some(encoding_rs::GB18030),
        Some(encoding_rs::UTF_16LE),
        Some(encoding_rs::REPLACEMENT),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn canonical_forms_are_their_own(text in absolute(), rules in rules()) {
        let canonicalizer = Canonicalizer::new(rules);
        if let Ok(target) = canonicalizer.parse(&text) {
            let again = canonicalizer.parse(&target.canonical).expect("a canonical form parses");
            prop_assert_eq!(&again.canonical, &target.canonical);
            let without_fragment = target.canonical.split('#').next().unwrap_or_default();
            prop_assert_eq!(again.requested, without_fragment);
        }
    }

    #[test]
    fn requests_are_their_own(text in absolute(), rules in rules()) {
        let rules = Rules { keep_fragments: false, ..rules };
        let canonicalizer = Canonicalizer::new(rules);
        if let Ok(target) = canonicalizer.parse(&text) {
            let again = canonicalizer.parse(&target.requested).expect("what is requested parses");
            prop_assert_eq!(&again, &target);
            prop_assert_eq!(Parts::of(&target.requested), target.parts.clone());
            prop_assert_eq!(host_of(&target.requested), target.host());
            prop_assert_eq!(origin_of(&target.requested), target.origin());
            prop_assert!(path_and_query(&target.requested).starts_with('/'));
            let mut canonical = String::new();
            canonicalizer.canonicalize(&target.requested, &target.parts, &mut canonical);
            prop_assert_eq!(canonical, target.canonical);
        }
    }

    #[test]
    fn lossless_rules_keep_the_octets(text in absolute()) {
        if let Ok(target) = Canonicalizer::default().parse(&text) {
            prop_assert_eq!(
                super::super::percent::decode(&target.requested),
                super::super::percent::decode(&target.canonical)
            );
        }
    }

    #[test]
    fn nothing_panics(text in any::<String>(), base in base(), rules in rules()) {
        let canonicalizer = Canonicalizer::new(rules);
        let _ = canonicalizer.parse(&text);
        let _ = canonicalizer.resolver(&base, Some(encoding_rs::EUC_KR)).target(&text);
        let _ = (host_of(&text), origin_of(&text), path_and_query(&text));
    }

    /// The parser is the `url` crate, but for the two points that the module names.
    #[test]
    fn the_slow_path_is_the_url_crate(reference in text(), base in base()) {
        let slashes = reference.trim_start_matches(|c| c <= ' ').starts_with(['/', '\\']);
        if slashes || base.path().contains('^') {
            return Ok(());
        }
        let canonicalizer = Canonicalizer::default();
        let (mut requested, mut canonical) = (String::new(), String::new());
        let answer = canonicalizer.resolver(&base, None).resolve_slowly(&reference, &mut requested, &mut canonical);
        match (answer, base.join(&reference)) {
            (Ok(_), Ok(mut url)) => {
                url.set_fragment(None);
                let _ = url.set_username("");
                let _ = url.set_password(None);
                if !url.path().contains('^') {
                    prop_assert_eq!(requested, url.as_str());
                }
            }
            (Err(_), Ok(url)) => prop_assert!(!matches!(url.scheme(), "http" | "https")),
            (Ok(_), Err(error)) => prop_assert!(false, "{}: {}", requested, error),
            (Err(_), Err(_)) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_fast_path_answers_as_the_slow_one(
        reference in prop_oneof![text(), absolute(), plausible()],
        base in base(),
        rules in rules(),
        encoding in encoding(),
    ) {
        let canonicalizer = Canonicalizer::new(rules);
        let resolver = canonicalizer.resolver(&base, encoding);
        let (mut fast, mut fast_canonical) = (String::new(), String::new());
        if let Some(answer) = resolver.quickly(&reference, &mut fast) {
            resolver.finish(&answer, &fast, &mut fast_canonical);
            let (mut slow, mut slow_canonical) = (String::new(), String::new());
            let parts = resolver.resolve_slowly(&reference, &mut slow, &mut slow_canonical);
            prop_assert_eq!(Ok(answer.parts), parts);
            prop_assert_eq!(fast, slow);
            prop_assert_eq!(fast_canonical, slow_canonical);
        }
    }
}

/// References such as the fast path is made for, with a flaw here and there.
fn plausible() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec![
            "",
            "/",
            "../",
            "../../",
            "./",
            "?",
            "#",
            "//site.test",
            "http://a-b.site.test",
            "https://9.x1",
        ]),
        "(/?[a-zA-Z0-9_.~!$&'()*+,;=:@%^-]{1,6}){0,4}",
        prop::option::of("\\?[ -~]{0,8}"),
        prop::option::of("#[ -~é]{0,4}"),
    )
        .prop_map(|(start, path, query, fragment)| {
            format!("{start}{path}{}{}", query.unwrap_or_default(), fragment.unwrap_or_default())
        })
}

/// The fast path must not be fast by never answering.
#[test]
fn the_fast_path_answers_the_shapes_it_is_made_for() {
    let base = Url::parse("http://127.0.0.1:8080/docs/api/index.html?v=1").expect("parses");
    let canonicalizer = Canonicalizer::default();
    let resolver = canonicalizer.resolver(&base, None);
    for reference in [
        "",
        "#top",
        "?page=2",
        "/",
        "/a/b.html",
        "b.html",
        "../c/d.html#x",
        "./e",
        "../../../f",
        "a%20b?x=%2F",
        "//cdn.site.test/x",
        "https://www.site.test",
        "http://site.test/a?b#c",
        "http://127.0.0.1:8080/x",
    ] {
        assert!(resolver.quickly(reference, &mut String::new()).is_some(), "{reference}");
    }
}
