//! Rules that were read once, in a form that a file can keep and a person can read.

use super::build::{RuleListBuilder, counted};
use super::octets::octets;
use super::rules::RuleList;
use super::{RobotsRules, line};

/// One rule of a robots.txt.
///
/// Read back it matches the same paths and wins over the same rules; but for one in which a `%`
/// that begins no escape comes to stand before digits that were escaped themselves (`%%36%31`).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeptRule {
    /// Its line in robots.txt, from 1.
    pub line: u32,
    /// As it was compared: `Disallow: /a*b$`.
    pub rule: String,
    /// The octets by which it wins, where its spelling here has another number of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub octets: Option<u32>,
}

impl RobotsRules {
    /// The rules that apply to us, in the order of the file; repeated ones and those without effect are
    /// left out.
    pub fn kept_rules(&self) -> impl Iterator<Item = KeptRule> {
        let rules = &self.rules;
        let mut order: Vec<u32> = (0..rules.len() as u32).collect();
        order.sort_unstable_by_key(|rule| rules.line(*rule as usize));
        order.into_iter().map(|rule| kept(rules, rule as usize))
    }

    /// The rules as they were; what is no rule is left out.
    pub fn from_kept(kept: &[KeptRule]) -> Self {
        let mut rules = RuleListBuilder::default();
        for KeptRule { line, rule, octets } in kept {
            let (value, allow) = match line::read(rule.as_bytes()) {
                line::Line::Allow(value) => (value, true),
                line::Line::Disallow(value) => (value, false),
                _ => continue,
            };
            if rules.push(value, allow, *line) {
                rules.set_octets(*octets);
            }
        }
        Self { rules: rules.finish(), ..Self::allow_all() }
    }
}

fn kept(rules: &RuleList, rule: usize) -> KeptRule {
    let text = rules.written(rule, usize::MAX);
    let value = text.split_once(": ").map_or("", |(_, value)| value);
    let own: u32 = octets(value.as_bytes()).map(counted).sum();
    let octets = Some(rules.octets(rule)).filter(|octets| *octets != own);
    KeptRule { line: rules.line(rule), rule: text, octets }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("*"),
            Just("**"),
            Just("$"),
            Just("%24"),
            Just("%2A"),
            Just("/"),
            Just("a"),
            Just("b"),
            Just("%61"),
            Just("é"),
            Just("%2f"),
            Just("?"),
            Just("\""),
            Just("\u{202e}"),
        ];
        proptest::collection::vec(piece, 0..7).prop_map(|pieces| format!("/{}", pieces.concat()))
    }

    proptest! {
        #[test]
        fn kept_rules_decide_as_the_file_did(
            rules in proptest::collection::vec((any::<bool>(), values()), 0..9),
            paths in proptest::collection::vec(values(), 1..9),
        ) {
            let line = |(allow, value)| format!("{}: {value}", if allow { "Allow" } else { "Disallow" });
            let lines: Vec<String> = rules.into_iter().map(line).collect();
            let body = format!("User-agent: *\n{}", lines.join("\n"));
            let read = RobotsRules::parse(body.as_bytes(), "dragline");
            let kept: Vec<KeptRule> = read.kept_rules().collect();
            let json = serde_json::to_string(&kept).expect("JSON");
            let kept: Vec<KeptRule> = serde_json::from_str(&json).expect("rules");
            let again = RobotsRules::from_kept(&kept);
            for path in paths {
                prop_assert_eq!(again.verdict(&path), read.verdict(&path), "{}\n{}", body, path);
            }
        }
    }

    #[test]
    fn what_is_kept_is_in_the_order_of_the_file() {
        let body = "User-agent: *\nDisallow: /z\nNoindex: /q\nAllow: /z/*.html$\nDisallow: /a%2fb\n";
        let read = RobotsRules::parse(body.as_bytes(), "dragline");
        let kept: Vec<(u32, String)> = read.kept_rules().map(|kept| (kept.line, kept.rule)).collect();
        let expected = [(2, "Disallow: /z"), (4, "Allow: /z/*.html$"), (5, "Disallow: /a%2Fb")];
        assert_eq!(kept, expected.map(|(line, rule)| (line, rule.to_owned())));
        let none = RobotsRules::from_kept(&[KeptRule { line: 1, rule: "Sitemap: /".into(), octets: None }]);
        assert_eq!(none.rule_count(), 0);
    }
}
