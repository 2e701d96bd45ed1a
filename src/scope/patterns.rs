//! The regular expressions of `--include` and `--exclude`.

use regex::RegexSet;

use crate::config::{ConfigError, expressions};

/// A list of expressions, searched for all at once, in time linear in the text.
#[derive(Debug)]
pub(super) struct Patterns(RegexSet);

impl Patterns {
    pub(super) fn new(option: &'static str, patterns: &[String]) -> Result<Self, ConfigError> {
        expressions(option, patterns).map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        // An empty set would still fetch a scratch space from a pool, once a link.
        !self.0.is_empty() && self.0.is_match(text)
    }

    /// All of them, as they would be typed; of many the first few.
    pub(super) fn named(&self, option: &str) -> String {
        const SHOWN: usize = 3;
        let patterns = self.0.patterns();
        let shown: Vec<_> =
            patterns.iter().take(SHOWN).map(|pattern| format!("{option} {pattern}")).collect();
        let more = if patterns.len() > SHOWN { " ..." } else { "" };
        shown.join(" ") + more
    }

    /// The first expression that is found in a text.
    pub(super) fn first_match(&self, text: &str) -> Option<&str> {
        let index = self.0.matches(text).iter().next()?;
        self.0.patterns().get(index).map(String::as_str)
    }
}
