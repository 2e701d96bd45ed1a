//! What can be wrong with what the user asked for: always one line that names
//! the thing and the remedy.

use std::path::PathBuf;

use crate::budget::BelowFloor;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value that is out of range or malformed.
    #[error("--{option} {value}: {problem}")]
    Value {
        /// The long flag without its dashes.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// Two options that exclude each other.
    #[error("--{first} and --{second} contradict each other: {remedy}")]
    Contradiction {
        /// One of them.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// `--memory` is too small.
    #[error("--memory {given} is too little: {source}")]
    Memory {
        /// What was given, as it would be typed.
        given: String,
        /// What would be enough.
        source: BelowFloor,
    },
    /// A file that an option names cannot be read.
    #[error("--{option} {}: cannot be read ({source}); give a file that can", path.display())]
    Unreadable {
        /// The long flag without its dashes.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A configuration file with an error in it.
    #[error("{}, line {line}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Where, counted from 1.
        line: usize,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The configuration cannot be written as TOML, such as a path that is no Unicode.
    #[error("the configuration cannot be written to a file: {problem}")]
    Unwritable {
        /// Why not.
        problem: String,
    },
}

/// Where the value of an option stands, and so how the option is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// On the command line.
    Flag,
    /// On the command line, under another name than its own.
    Renamed(&'static str),
    /// In the environment.
    Variable,
    /// In a configuration file.
    File(PathBuf),
}

impl Origin {
    /// An option without its value, as it stands there.
    fn name(&self, option: &str) -> String {
        match self {
            Origin::Default => format!("the default --{option}"),
            Origin::Flag => format!("--{option}"),
            Origin::Renamed(name) => format!("--{name}"),
            Origin::Variable => variable_of(option),
            Origin::File(path) => format!("{option} in {}", path.display()),
        }
    }

    /// An option with its value, as it stands there.
    pub fn spell(&self, option: &str, value: impl std::fmt::Display) -> String {
        match self {
            Origin::Default | Origin::Flag | Origin::Renamed(_) => format!("{} {value}", self.name(option)),
            Origin::Variable => format!("{}={value}", self.name(option)),
            Origin::File(path) => format!("{}: {option} = {value}", path.display()),
        }
    }
}

/// The environment variable of an option.
pub fn variable_of(option: &str) -> String {
    format!("DRAGLINE_{}", option.replace('-', "_").to_uppercase())
}

impl ConfigError {
    /// The message, in which every option is named as the user gave it: as the flag, the
    /// environment variable, or the key of a file.
    pub fn told(&self, origin: impl Fn(&str) -> Origin) -> String {
        match self {
            ConfigError::Value { option, value, problem } => {
                format!("{}: {problem}", origin(option).spell(option, value))
            }
            ConfigError::Contradiction { first, second, remedy } => {
                let [first, second] = [first, second].map(|option| origin(option).name(option));
                format!("{first} and {second} contradict each other: {remedy}")
            }
            ConfigError::Memory { given, source } => {
                format!("{} is too little: {source}", origin("memory").spell("memory", given))
            }
            ConfigError::Unreadable { option, path, source } => {
                let spelled = origin(option).spell(option, path.display());
                format!("{spelled}: cannot be read ({source}); give a file that can")
            }
            ConfigError::File { .. } | ConfigError::Unwritable { .. } => self.to_string(),
        }
    }

    /// An unusable value of an option.
    pub(super) fn value(
        option: &'static str,
        value: impl std::fmt::Display,
        problem: impl Into<String>,
    ) -> Self {
        ConfigError::Value { option, value: value.to_string(), problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_named_as_it_was_given() {
        let value = ConfigError::value("max-body", 0, "must be more than zero");
        assert_eq!(value.told(|_| Origin::Flag), value.to_string());
        assert_eq!(value.told(|_| Origin::Renamed("most")), "--most 0: must be more than zero");
        assert_eq!(value.told(|_| Origin::Variable), "DRAGLINE_MAX_BODY=0: must be more than zero");
        let file = |_: &str| Origin::File("c.toml".into());
        assert_eq!(value.told(file), "c.toml: max-body = 0: must be more than zero");
        let both = ConfigError::Contradiction { first: "per-host", second: "delay", remedy: "give one" };
        assert_eq!(both.told(|_| Origin::Flag), both.to_string());
        let mixed = both.told(|option| if option == "delay" { Origin::Default } else { Origin::Variable });
        assert_eq!(mixed, "DRAGLINE_PER_HOST and the default --delay contradict each other: give one");
    }
}
