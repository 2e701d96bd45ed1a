//! Which texts can be seeds.
//!
//! Whoever gathers seeds (command line, lists, the builder) asks here, so that a text is a seed
//! everywhere or nowhere. A seed need not be in scope, since it makes the scope; but what says of a URL alone that a
//! server goes on for ever (its length and [`Shape`]) holds for seeds too. Seeds are kept as they are written, one a
//! line, so that no more may be written than a line holds, whatever of it is requested.

use super::{Shape, canonical_rules};
use crate::config::Config;
use crate::config::seeds::LONGEST_LINE;
use crate::model::SkipReason;
use crate::url::{Canonicalizer, Reject, Target, without_userinfo};

/// Why a text is no seed. The words name it, without user name and password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeedRefusal {
    /// Most often two lines in one.
    #[error("'{0}' has a control character in it; give each URL on its own")]
    ControlCharacter(String),
    /// It cannot be crawled.
    #[error("'{text}': {reject}")]
    Unusable {
        /// The text.
        text: String,
        /// What is wrong with it.
        reject: Reject,
    },
    /// With all that is not requested (a fragment, say) it is longer than a line of seeds may be.
    #[error("'{0}...' is longer than {LONGEST_LINE} bytes as it is written; leave out what follows a '#'")]
    TooLongAsWritten(String),
    /// It has too many bytes.
    #[error("'{text}' is longer than --max-url-length {most}")]
    TooLong {
        /// The text.
        text: String,
        /// The limit.
        most: usize,
    },
    /// Its path is too deep, or something in it repeats too often.
    #[error("'{text}' is more than {rule} allows ({})", .reason.name())]
    Shape {
        /// The text.
        text: String,
        /// The option and its value.
        rule: String,
        /// Which bound it passes.
        reason: SkipReason,
    },
}

/// Characters of a text that are told where it is longer than any line.
const TOLD: usize = 60;

/// Judges seeds by a configuration.
///
/// ```
/// use dragline::config::Config;
/// use dragline::scope::SeedJudge;
///
/// let judge = SeedJudge::of(&Config { max_path_depth: 2, ..Config::default() });
/// assert_eq!(judge.judge(" http://site.test/a/b ").unwrap().requested, "http://site.test/a/b");
/// let refusal = judge.judge("http://site.test/a/b/c").unwrap_err();
/// assert!(refusal.to_string().contains("--max-path-depth 2"));
/// ```
#[derive(Debug, Clone)]
pub struct SeedJudge {
    canonicalizer: Canonicalizer,
    shape: Shape,
    max_url_length: usize,
}

impl SeedJudge {
    /// A judge by the canonical form, the lengths and the bounds that a configuration sets.
    pub fn of(config: &Config) -> Self {
        Self {
            canonicalizer: Canonicalizer::new(canonical_rules(&config.canonicalization)),
            shape: Shape::of(config),
            max_url_length: config.max_url_length,
        }
    }

    /// What a text stands for as a seed; white space around it counts for nothing.
    ///
    /// # Errors
    /// [`SeedRefusal`] where it can be none.
    pub fn judge(&self, written: &str) -> Result<Target, SeedRefusal> {
        let written = written.trim();
        let text = || without_userinfo(written).into_owned();
        if written.len() > LONGEST_LINE {
            return Err(SeedRefusal::TooLongAsWritten(text().chars().take(TOLD).collect()));
        }
        if written.contains(|character: char| character.is_control()) {
            return Err(SeedRefusal::ControlCharacter(text()));
        }
        let unusable = |reject| SeedRefusal::Unusable { text: text(), reject };
        let target = self.canonicalizer.parse(written).map_err(unusable)?;
        if target.requested.len() > self.max_url_length {
            return Err(SeedRefusal::TooLong { text: text(), most: self.max_url_length });
        }
        self.shape.check(&target.requested).map_err(|reason| {
            let rule = self.shape.rule(reason).unwrap_or_default();
            SeedRefusal::Shape { text: text(), rule, reason }
        })?;
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_text_and_remedy_and_no_password() {
        let config =
            Config { max_url_length: 60, max_path_depth: 3, max_repeated_segments: 2, ..Config::default() };
        let judge = SeedJudge::of(&config);
        for (written, told) in [
            ("http://u:secret@a.test/x\u{7}y", "give each URL on its own"),
            ("http://a.test/\nhttp://b.test/", "give each URL on its own"),
            (&format!("http://u:secret@a.test/#{}", "x".repeat(LONGEST_LINE)), "longer than 65536 bytes"),
            ("a.test/x", "no scheme"),
            ("ftp://u:secret@a.test/", "only http and https"),
            (&format!("http://u:secret@a.test/{}", "x".repeat(60)), "longer than --max-url-length 60"),
            ("http://u:secret@a.test/a/b/c/d", "more than --max-path-depth 3 allows (path_too_deep)"),
            ("http://a.test/a/a/a", "more than --max-repeated-segments 2 allows (repeated_segments)"),
            ("http://a.test/?q&q&q&q&q&q&q&q&q&q&q&q&q&q", "allows (repeated_parameters)"),
        ] {
            let refusal = judge.judge(written).expect_err(written).to_string();
            assert!(refusal.contains(told) && !refusal.contains("secret"), "{refusal}");
        }
        let fitting = format!("http://a.test/#{:x<1$}", "", LONGEST_LINE - "http://a.test/#".len());
        for written in
            [&fitting, "http://a.test", "\t https://u:secret@a.test/a/b/c \r\n", "http://a.test/a/a/?q&q"]
        {
            assert!(judge.judge(written).is_ok(), "{written}");
        }
    }
}
