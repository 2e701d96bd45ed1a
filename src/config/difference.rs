//! In which rule two canonicalizations differ, in the words in which the rules are typed.

use super::Canonicalization;

/// An option that two configurations do not share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The long flag without its dashes.
    pub option: &'static str,
    /// Its value in the first.
    pub one: String,
    /// Its value in the second.
    pub other: String,
}

impl Canonicalization {
    /// Each rule by its option, and its value by its effect: the order of names does not count.
    fn values(&self) -> [(&'static str, String); 8] {
        let mut names = self.strip_params.clone();
        names.sort_unstable();
        names.dedup();
        [
            ("sort-query", self.sort_query.to_string()),
            ("strip-params", if names.is_empty() { "none".to_owned() } else { names.join(",") }),
            ("strip-tracking", self.strip_tracking.to_string()),
            ("strip-session-ids", self.strip_session_ids.to_string()),
            ("fold-www", self.fold_www.to_string()),
            ("fold-https", self.fold_https.to_string()),
            ("strip-trailing-slash", self.strip_trailing_slash.to_string()),
            ("keep-fragments", self.keep_fragments.to_string()),
        ]
    }

    /// The rules that are not the usual ones, as options; empty where all are. The same text, the same rules.
    pub fn told(&self) -> String {
        let usual = Canonicalization::default().values();
        let unusual = self.values().into_iter().zip(usual).filter(|(rule, usual)| rule != usual);
        unusual.map(|((option, value), _)| format!("--{option}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// The first rule in which this one differs from another.
    pub fn difference(&self, other: &Canonicalization) -> Option<Difference> {
        let pairs = self.values().into_iter().zip(other.values());
        let mut differing = pairs.filter(|((_, one), (_, other))| one != other);
        differing.next().map(|((option, one), (_, other))| Difference { option, one, other })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_compared() {
        let plain = Canonicalization::default();
        assert_eq!(plain.told(), "");
        let two =
            Canonicalization { fold_www: true, strip_params: vec!["b".into(), "a".into()], ..plain.clone() };
        assert_eq!(two.told(), "--strip-params=a,b --fold-www=true");
        let text = |name: &str| name.to_owned();
        let all = Canonicalization {
            sort_query: true,
            strip_params: vec![text("b"), text("a")],
            strip_tracking: true,
            strip_session_ids: true,
            fold_www: true,
            fold_https: true,
            strip_trailing_slash: true,
            keep_fragments: true,
        };
        let mut mended = plain.clone();
        let mut told = Vec::new();
        while let Some(Difference { option, one, other }) = mended.difference(&all) {
            told.push((option, one, other));
            match option {
                "sort-query" => mended.sort_query = true,
                "strip-params" => mended.strip_params = vec![text("a"), text("b"), text("a")],
                "strip-tracking" => mended.strip_tracking = true,
                "strip-session-ids" => mended.strip_session_ids = true,
                "fold-www" => mended.fold_www = true,
                "fold-https" => mended.fold_https = true,
                "strip-trailing-slash" => mended.strip_trailing_slash = true,
                _ => mended.keep_fragments = true,
            }
            assert!(told.len() < 9, "{told:?}");
        }
        assert_eq!(told.len(), 8);
        assert_eq!(told[1], ("strip-params", text("none"), text("a,b")));
        assert_eq!(told[7], ("keep-fragments", text("false"), text("true")));
        assert_eq!(plain.difference(&plain), None);
    }
}
