//! Laws that hold for any file and any path.

use super::{RobotsRules, reference};
use proptest::prelude::*;

/// Values made of few characters, so that rules meet paths and each other.
fn value() -> impl Strategy<Value = String> {
    "[/*]([ab/*$]|%2[aAfF4]|%61|é|%c3%A9|%|<|'|%27){0,8}\\$?"
}

fn path() -> impl Strategy<Value = String> {
    "/([ab/*$]|%2[aAfF4]|%61|é|%C3%a9|%|<|'|%27){0,14}"
}

fn rules() -> impl Strategy<Value = Vec<(bool, String)>> {
    // Past 16 rules with one head the search takes another way.
    prop_oneof![prop::collection::vec((any::<bool>(), value()), 0..12), many_with_one_head()]
}

fn many_with_one_head() -> impl Strategy<Value = Vec<(bool, String)>> {
    prop::collection::vec((any::<bool>(), "/\\*[ab]{0,6}(\\*[ab/]{1,5}){0,2}\\$?"), 17..60)
}

fn file(rules: &[(bool, String)], end: &str) -> String {
    let mut out = format!("User-agent: *{end}");
    for (allow, value) in rules {
        let key = if *allow { "Allow" } else { "Disallow" };
        out.extend([key, ": ", value, end]);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_verdict_is_that_of_the_reference(rules in rules(), paths in prop::collection::vec(path(), 4)) {
        let parsed = RobotsRules::parse(file(&rules, "\n").as_bytes(), "spinner");
        for path in paths {
            let expected = reference::allowed(rules.iter().map(|(allow, value)| (*allow, &**value)), &path);
            prop_assert_eq!(parsed.allowed(&path), expected, "{} {:?}", path, parsed.verdict(&path));
        }
    }

    #[test]
    fn long_paths_of_two_letters_too(rules in many_with_one_head(), path in "/[ab/]{0,60}") {
        let parsed = RobotsRules::parse(file(&rules, "\n").as_bytes(), "spinner");
        let expected = reference::allowed(rules.iter().map(|(allow, value)| (*allow, &**value)), &path);
        prop_assert_eq!(parsed.allowed(&path), expected);
    }

    #[test]
    fn the_line_named_is_the_rule_that_decided(rules in rules(), path in path()) {
        let parsed = RobotsRules::parse(file(&rules, "\r\n").as_bytes(), "spinner");
        let verdict = parsed.verdict(&path);
        prop_assert_eq!(verdict.allowed, parsed.allowed(&path));
        match verdict.line {
            None => prop_assert!(verdict.allowed),
            Some(line) => {
                let (allow, value) = &rules[line as usize - 2];
                prop_assert_eq!(*allow, verdict.allowed);
                let alone = reference::allowed([(false, &**value)], &path);
                prop_assert!(!alone, "line {} does not match {}", line, path);
            }
        }
    }

    #[test]
    fn the_rule_shown_means_the_same(rules in prop::collection::vec((any::<bool>(), value()), 1..6), path in path()) {
        let parsed = RobotsRules::parse(file(&rules, "\n").as_bytes(), "spinner");
        if let Some(rule) = parsed.verdict(&path).rule {
            let shown = RobotsRules::parse(format!("User-agent: *\n{rule}\n").as_bytes(), "spinner");
            prop_assert_eq!(shown.verdict(&path).rule, Some(rule));
        }
    }

    #[test]
    fn line_ends_do_not_matter(rules in rules(), ends in prop::collection::vec("\r|\n|\r\n", 1..4)) {
        let plain = file(&rules, "\n");
        let mut ends = ends.iter().cycle();
        let mixed: String =
            plain.split_inclusive('\n').map(|line| line.trim_end_matches('\n').to_owned() + ends.next().map_or("", |end| end)).collect();
        let (plain, mixed) = (RobotsRules::parse(plain.as_bytes(), "a"), RobotsRules::parse(mixed.as_bytes(), "a"));
        prop_assert_eq!(plain, mixed);
    }

    #[test]
    fn any_bytes_are_read_and_memory_is_bounded(body in prop::collection::vec(any::<u8>(), 0..600), path in ".{0,40}") {
        check_bytes(&body, &path)?;
    }

    #[test]
    fn bytes_that_look_like_a_file_too(
        body in "((user-agent|allow|disallow|crawl-delay|sitemap|diasllow)?[: ]{1,2}[a/*$%é# \t]{0,9}[\r\n]{1,2}){0,20}",
        path in ".{0,40}",
    ) {
        check_bytes(body.as_bytes(), &path)?;
    }

    #[test]
    fn order_of_rules_does_not_matter(rules in rules(), path in path()) {
        let turned: Vec<_> = rules.iter().rev().cloned().collect();
        let (one, other) = (file(&rules, "\n"), file(&turned, "\n"));
        prop_assert_eq!(
            RobotsRules::parse(one.as_bytes(), "a").allowed(&path),
            RobotsRules::parse(other.as_bytes(), "a").allowed(&path)
        );
    }
}

/// Reads any bytes for an agent that may or may not occur in them.
fn check_bytes(body: &[u8], path: &str) -> Result<(), TestCaseError> {
    for agent in ["a", "spinner", "", "*"] {
        let rules = RobotsRules::parse(body, agent);
        let verdict = rules.verdict(path);
        prop_assert_eq!(verdict.allowed, rules.allowed(path));
        prop_assert!(rules.crawl_delay().is_none_or(|delay| delay.is_finite() && delay >= 0.0));
        // Escapes treble an octet; a rule of 8 octets takes 24 beside its text.
        let bound = size_of::<RobotsRules>() + 7 * body.len();
        prop_assert!(rules.memory_bytes() <= bound, "{} > {}", rules.memory_bytes(), bound);
    }
    Ok(())
}
