//! The one grammar of single values, whether typed, in the environment or in a
//! file, and what is said where a value does not follow it.
//!
//! The parser itself is clap's; its complaints are turned into ours here, so that
//! they name the option and the remedy and nothing of the parser.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Count;

/// `true` or `false`, or what else people write for them.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" | "t" | "1" => Ok(true),
        "false" | "no" | "off" | "n" | "f" | "0" => Ok(false),
        _ => Err("neither true nor false".into()),
    }
}

/// A whole number of at most nine digits or so.
pub(super) fn whole_number(text: &str) -> Result<u32, String> {
    let count = text.parse::<Count>().ok().filter(|_| !text.contains('.'));
    let number = count.and_then(|count| u32::try_from(count.0).ok());
    number.ok_or_else(|| format!("not a whole number from 0 to {}", u32::MAX))
}

/// A number that may have a fraction.
pub(super) fn real_number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "not a number (write 10 or 0.01)".into())
}

/// A value that its option does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The long flag without its dashes.
    pub option: String,
    /// What was given.
    pub value: String,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

/// What the parser complains about, where it is a single value of an option.
pub fn mistake(error: &clap::Error) -> Option<Mistake> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    // As in `--memory <SIZE>` and `--fresh[=<BOOL>]`.
    let named = text(ContextKind::InvalidArg)?;
    let option = named.strip_prefix("--")?.split([' ', '[', '=']).next()?.to_owned();
    let value = text(ContextKind::InvalidValue)?;
    let problem = match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::InvalidValue, _) if value.is_empty() => "must not be empty".to_owned(),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(choices))) => {
            format!("none of {}", choices.join(", "))
        }
        (ErrorKind::ValueValidation, _) => std::error::Error::source(error)?.to_string(),
        _ => return None,
    };
    Some(Mistake { option, value, problem })
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;
    use crate::config::Options;

    #[test]
    fn numbers_and_switches() {
        assert_eq!(
            (whole_number("0"), whole_number("1_000"), whole_number("2k")),
            (Ok(0), Ok(1000), Ok(2000))
        );
        for text in ["", "-1", "x", "0x10", "4294967296", "1.5"] {
            assert!(whole_number(text).is_err(), "{text}");
        }
        assert_eq!((real_number("1e-3"), real_number(" 10 ")), (Ok(0.001), Ok(10.0)));
        for text in ["", "NaN", "inf", "1e999", "a"] {
            assert!(real_number(text).is_err(), "{text}");
        }
        assert_eq!((switch("YES"), switch("0"), switch("off")), (Ok(true), Ok(false), Ok(false)));
        assert!(switch("maybe").is_err() && switch("").is_err());
    }

    #[test]
    fn mistakes_are_told_in_our_own_words() {
        let command = Options::augment_args(clap::Command::new("").no_binary_name(true));
        for (typed, option, value, problem) in [
            ("--memory=much", "memory", "much", "not a size (write 64MiB, 1.5GB, 10k or plain bytes)"),
            ("--fresh=2", "fresh", "2", "neither true nor false"),
            ("--scope=all", "scope", "all", "none of page, prefix, host, domain, any"),
            ("-d-1", "depth", "-1", "not a whole number from 0 to 4294967295"),
            ("--output=", "output", "", "must not be empty"),
            ("--dedup=", "dedup", "", "must not be empty"),
        ] {
            let error = command.clone().try_get_matches_from([typed]).expect_err(typed);
            let expected = Mistake { option: option.into(), value: value.into(), problem: problem.into() };
            assert_eq!(mistake(&error), Some(expected), "{typed}");
        }
        let other = command.clone().try_get_matches_from(["--memroy=1"]).expect_err("no option");
        assert_eq!(mistake(&other), None);
    }
}
