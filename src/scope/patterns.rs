//! The regular expressions of `--include` and `--exclude`.

use regex::{Regex, RegexSet};

/// A regular expression that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{option} '{pattern}' is no usable regular expression: {problem} (a \\ in front takes a character literally)"
)]
pub struct ScopeError {
    /// The option it was given to.
    pub option: &'static str,
    /// The expression as written.
    pub pattern: String,
    /// What is wrong with it, in one line.
    pub problem: String,
}

/// A list of expressions, searched for all at once, in time linear in the text.
#[derive(Debug)]
pub(super) struct Patterns(RegexSet);

impl Patterns {
    pub(super) fn new(option: &'static str, patterns: &[String]) -> Result<Self, ScopeError> {
        RegexSet::new(patterns).map(Self).map_err(|error| {
            // the set does not say which one it was; a set too large for its limit is blamed on the longest
            let (pattern, error) = patterns
                .iter()
                .find_map(|pattern| Some((pattern, Regex::new(pattern).err()?)))
                .or_else(|| Some((patterns.iter().max_by_key(|pattern| pattern.len())?, error.clone())))
                .map_or((String::new(), error), |(pattern, error)| (pattern.clone(), error));
            ScopeError { option, pattern, problem: in_one_line(&error) }
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        // An empty set would still fetch a scratch space from a pool, once a link.
        !self.0.is_empty() && self.0.is_match(text)
    }

    /// The first expression that is found in a text.
    pub(super) fn first_match(&self, text: &str) -> Option<&str> {
        let index = self.0.matches(text).iter().next()?;
        self.0.patterns().get(index).map(String::as_str)
    }
}

/// What is wrong, without the picture that points at it.
fn in_one_line(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("it would take more than {limit} bytes; make its repetitions smaller")
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}
