//! Any bytes as robots.txt, any text as a path: whole and in pieces the rules are the same, both answers agree, rules that were kept and read back decide the
//! same, the form of line ends does not matter, and memory is bounded.
#![no_main]

use dragline::robots::{KeptRule, MAX_BYTES, RobotsReader, RobotsRules};
use dragline_fuzz::{Input, Pieces, input, lay, reports, rows};
use libfuzzer_sys::fuzz_target;

fn seeds() -> Vec<Vec<u8>> {
    let cases = ["robots_cases.jsonl", "robots_extras.jsonl"].into_iter().flat_map(rows);
    let of_case = cases.map(|row| {
        let url = row.text("url").trim_start_matches("http://");
        let path = url.find('/').map_or("/", |start| &url[start..]);
        input(&[5, 0x20], &[row.text("agent"), path], &row.body("body"))
    });
    let of_report = reports(&["robots"]).into_iter();
    of_case.chain(of_report.map(|body| input(&[5, 0x20], &["spinner", "/a/b?c"], body.as_bytes()))).collect()
}

/// Whether a `%` stands so near before another one that an escape may be made of two.
fn has_escapes_in_a_row(body: &[u8]) -> bool {
    body.windows(3).any(|three| three[0] == b'%' && three[1..].contains(&b'%'))
}

fn check(rules: &RobotsRules, body: &[u8], path: &str) {
    let verdict = rules.verdict(path);
    assert_eq!(rules.allowed(path), verdict.allowed);
    assert!(verdict.line.is_some() || verdict.rule.is_none());
    assert!(rules.crawl_delay().is_none_or(|delay| delay.is_finite() && delay >= 0.0));
    assert!(rules.memory_bytes() <= size_of::<RobotsRules>() + 7 * body.len());
    assert!(rules.allowed("/robots.txt"));
    let kept: Vec<KeptRule> = rules.kept_rules().collect();
    assert_eq!(kept.len(), rules.rule_count());
    let json = serde_json::to_vec(&kept).expect("JSON");
    let again = RobotsRules::from_kept(&serde_json::from_slice::<Vec<KeptRule>>(&json).expect("rules"));
    // where escapes run into each other, what is kept may be read otherwise: see `KeptRule`
    if !has_escapes_in_a_row(body) {
        assert_eq!(again.verdict(path), verdict);
    }
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let cuts = input.number();
    let (agent, path, body) = (input.text(), input.text(), input.0);
    let rules = RobotsRules::parse(body, agent);
    let mut reader = RobotsReader::new(agent);
    Pieces::new(cuts).of(body).for_each(|piece| reader.feed(piece));
    assert!(body.len() <= MAX_BYTES && reader.finish() == rules);
    check(&rules, body, path);
    check(&RobotsRules::parse(body, "*"), body, path);
    // UTF-16 has line ends of two bytes
    if !body.contains(&b'\r') && !body.starts_with(b"\xff\xfe") && !body.starts_with(b"\xfe\xff") {
        let lines: Vec<u8> = body.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }).collect();
        assert_eq!(RobotsRules::parse(&lines, agent), rules);
    }
});
