//! The case files, kinds of errors that other crawlers had, and laws held
//! against a slow and obvious reference.

mod laws;
mod reference;
mod reported;

use super::{MAX_BYTES, RobotsRules};
use serde_json::Value;

/// Rows that we answer otherwise than they say, with the reason. None so far:
/// the disputed ones (UTF-16, rules without any agent line, values without a
/// slash) are decided as the rows have it, for reasons in the module's table.
const DIFFERENT: [(&str, &str); 0] = [];

fn rows(file: &str) -> Vec<Value> {
    file.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("{field} is missing: {row}"))
}

/// The body of a row, in whichever of the three forms it is given.
fn body(row: &Value) -> Vec<u8> {
    if let Some(text) = row["body"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(coded) = row["body_b64"].as_str() {
        return from_base64(coded);
    }
    let mut out = String::new();
    for part in row["body_gen"].as_array().expect("a body in some form") {
        let (text, count) = (part[0].as_str().expect("text"), part[1].as_u64().expect("count"));
        for number in 0..count {
            match text.strip_prefix("@seq:") {
                Some(format) => out.push_str(&format.replace("%d", &number.to_string())),
                None => out.push_str(text),
            }
        }
    }
    out.into_bytes()
}

fn from_base64(coded: &str) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for octet in coded.bytes().filter(|octet| *octet != b'=') {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let value = alphabet.iter().position(|letter| *letter == octet).expect("base64");
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    out
}

/// What follows the authority of a URL, as it was written.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    &rest[rest.find(['/', '?', '#']).unwrap_or(rest.len())..]
}

/// The path and query that would be requested.
fn requested(url: &str) -> String {
    let url = url::Url::parse(url).expect("a row's URL can be parsed");
    url[url::Position::BeforePath..url::Position::AfterQuery].to_owned()
}

#[test]
fn cases() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("../../tests/cases/robots_cases.jsonl")) {
        let (id, url) = (text(&row, "id"), text(&row, "url"));
        let rules = RobotsRules::parse(&body(&row), text(&row, "agent"));
        let differs = DIFFERENT.iter().any(|(listed, _)| *listed == id);
        let expected = row["allow"].as_bool().expect("a verdict") != differs;
        for path in [path_of(url).to_owned(), requested(url)] {
            if rules.allowed(&path) != expected {
                wrong.push(format!("{id} {path}: {:?}; {}", rules.verdict(&path), row["why"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn delays_and_sitemaps() {
    let base = url::Url::parse("http://site.test/robots.txt").expect("a URL");
    for row in rows(include_str!("../../tests/cases/robots_extras.jsonl")) {
        let rules = RobotsRules::parse(&body(&row), text(&row, "agent"));
        assert_eq!(rules.crawl_delay(), row["crawl_delay"].as_f64(), "{row}");
        let sitemaps: Vec<_> =
            rules.sitemaps().filter_map(|sitemap| base.join(sitemap).ok()).map(String::from).collect();
        assert_eq!(serde_json::json!(sitemaps), row["sitemaps"], "{row}");
    }
}

#[test]
fn every_body_reads_the_same_with_any_line_end() {
    for row in rows(include_str!("../../tests/cases/robots_cases.jsonl")) {
        let Some(text) = row["body"].as_str().filter(|text| !text.contains('\r')) else {
            continue;
        };
        let agent = row["agent"].as_str().unwrap_or_default();
        let plain = RobotsRules::parse(text.as_bytes(), agent);
        for end in ["\r", "\r\n"] {
            assert_eq!(RobotsRules::parse(text.replace('\n', end).as_bytes(), agent), plain, "{row}");
        }
    }
}

#[test]
fn a_line_that_crosses_the_limit_does_not_count() {
    let head = "User-agent: *\nDisallow: /first\n";
    let filler = MAX_BYTES - head.len() - "\nDisallow: /last".len();
    let body = format!("{head}{}\nDisallow: /last-of-all\nDisallow: /late\n", "#".repeat(filler));
    let rules = RobotsRules::parse(body.as_bytes(), "spinner");
    assert!(rules.truncated());
    assert!(!rules.allowed("/first"));
    assert!(rules.allowed("/last") && rules.allowed("/last-of-all") && rules.allowed("/late"));

    for end in ["\n", "\r", "\r\n"] {
        let body = format!("{head}{}\nDisallow: /last{end}# rest", "#".repeat(filler));
        assert!(!RobotsRules::parse(body.as_bytes(), "spinner").allowed("/last"));
    }
    let endless = format!("User-agent: * {}", "x".repeat(MAX_BYTES));
    assert!(RobotsRules::parse(endless.as_bytes(), "spinner").truncated());
    assert!(!RobotsRules::parse(&body.as_bytes()[..MAX_BYTES], "spinner").truncated());
}

#[test]
fn the_verdict_names_line_and_rule() {
    let body = "# x\r\nUser-agent: *\r\n\r\nDisallow: /a**b$ # why\rAllow: /%7e%24\nDisallow: /é*\n";
    let rules = RobotsRules::parse(body.as_bytes(), "spinner");
    for (path, allowed, line, rule) in [
        ("/a/b", false, Some(4), Some("Disallow: /a*b$")),
        ("/~$1", true, Some(5), Some("Allow: /~%24")),
        ("/%c3%a9", false, Some(6), Some("Disallow: /%C3%A9*")),
        ("/c", true, None, None),
        ("/robots.txt", true, None, None),
    ] {
        let verdict = rules.verdict(path);
        assert_eq!((verdict.allowed, verdict.line, verdict.rule.as_deref()), (allowed, line, rule), "{path}");
    }
    let long = format!("User-agent: *\nDisallow: /{}\n", "z".repeat(90_000));
    let verdict = RobotsRules::parse(long.as_bytes(), "spinner").verdict(&long[24..90_025]);
    assert!(!verdict.allowed && verdict.rule.is_some_and(|rule| rule.len() < super::MAX_RULE_TEXT + 8));
}

#[test]
fn without_a_file() {
    assert!(RobotsRules::allow_all().allowed("/x"));
    assert!(!RobotsRules::disallow_all().allowed("/x"));
    assert!(RobotsRules::disallow_all().allowed("/robots.txt"));
    assert_eq!(RobotsRules::disallow_all().verdict("/x").line, None);
}

#[test]
fn agents_with_digits_are_not_confused() {
    let body = b"User-agent: bot2\nDisallow: /two\n\nUser-agent: bot3/1.0\nDisallow: /three\n";
    assert!(!RobotsRules::parse(body, "bot2").allowed("/two"));
    assert!(RobotsRules::parse(body, "bot2").allowed("/three"));
    assert!(!RobotsRules::parse(body, "Bot3").allowed("/three"));
    // A token of letters alone is compared as the RFC has it.
    assert!(!RobotsRules::parse(body, "bot/2.0 (+http://site.test)").allowed("/two"));
}

#[test]
fn delays_belong_to_groups() {
    let delay = |body: &str| RobotsRules::parse(body.as_bytes(), "spinner").crawl_delay();
    assert_eq!(delay("Crawl-delay: 3\n"), None);
    assert_eq!(delay("User-agent: weaver\nCrawl-delay: 3\nUser-agent: spinner\nDisallow: /\n"), None);
    assert_eq!(delay("User-agent: weaver\nCrawl-delay: 3\nDisallow: /\nUser-agent: spinner\n"), None);
    assert_eq!(delay("User-agent: *\nCrawl-delay: 5\nCrawl-delay: 2\n"), Some(5.0));
    assert_eq!(delay("User-agent: *\nCrawl-delay: 5\nUser-agent: spinner\nUser-agent: *\n"), None);
    for bad in ["inf", "-inf", "nan", "abc", "", "10s", "1 2", "0x10", "-1"] {
        assert_eq!(delay(&format!("User-agent: *\nCrawl-delay: {bad}\n")), None, "{bad}");
    }
    assert_eq!(delay("User-agent: *\nCrawl-delay: -0\n").map(f64::to_bits), Some(0));
}

#[test]
fn sitemaps_are_bounded_and_counted() {
    let many = "Sitemap: /s.xml\n".repeat(3_000);
    let rules = RobotsRules::parse(many.as_bytes(), "spinner");
    assert_eq!((rules.sitemaps().count(), rules.sitemaps_dropped()), (super::MAX_SITEMAPS, 1_000));
    let long = format!("Sitemap: /{}\nSitemap: /b\n", "a".repeat(super::MAX_SITEMAP_BYTES));
    let rules = RobotsRules::parse(long.as_bytes(), "spinner");
    assert_eq!((rules.sitemaps().collect::<Vec<_>>(), rules.sitemaps_dropped()), (vec!["/b"], 1));
    let latin = RobotsRules::parse(b"Sitemap: http://a.test/b\xfccher.xml\n", "spinner");
    assert_eq!(latin.sitemaps().collect::<Vec<_>>(), ["http://a.test/b%FCcher.xml"]);
}
