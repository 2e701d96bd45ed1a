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
    #[error("--{option} {}: cannot be read ({source})", path.display())]
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

impl ConfigError {
    /// An unusable value of an option.
    pub(super) fn value(
        option: &'static str,
        value: impl std::fmt::Display,
        problem: impl Into<String>,
    ) -> Self {
        ConfigError::Value { option, value: value.to_string(), problem: problem.into() }
    }
}
