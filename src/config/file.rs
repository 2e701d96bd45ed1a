//! Options as a TOML file: read with exact complaints, written complete.

use std::path::Path;

use clap::Args;
use serde::Deserialize;

use super::{ConfigError, Options};

/// The most of a configuration file that is read, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

impl Options {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// Where it cannot be read, is no TOML, holds an unknown key or a value that
    /// its option does not take; the error names file and line.
    pub fn read(path: &Path) -> Result<Options, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { option: "config", path: path.to_owned(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut limited = std::io::Read::take(file, FILE_LIMIT + 1);
        std::io::Read::read_to_string(&mut limited, &mut text).map_err(unreadable)?;
        if text.len() as u64 > FILE_LIMIT {
            return Err(ConfigError::value("config", path.display(), "larger than 1 MiB; give another file"));
        }
        Options::from_toml(&text, path)
    }

    /// Reads options from TOML; `path` is for messages only.
    ///
    /// # Errors
    /// As those of [`Options::read`].
    pub fn from_toml(text: &str, path: &Path) -> Result<Options, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let parsed = toml::Deserializer::parse(text).and_then(Options::deserialize);
        parsed.map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.get(..offset).unwrap_or(text).matches('\n').count() + 1;
            ConfigError::File { path: path.to_owned(), line, problem: problem(error.message()) }
        })
    }

    /// The options as TOML, ending in a line break.
    ///
    /// # Errors
    /// Where a path is no Unicode.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string(self).map_err(|error| ConfigError::Unwritable { problem: error.to_string() })
    }
}

/// The message in one line; for an unknown key the nearest known one instead of all.
fn problem(message: &str) -> String {
    let Some(rest) = message.strip_prefix("unknown field `") else {
        return message.replace('\n', " ");
    };
    let unknown = rest.split('`').next().unwrap_or_default();
    match nearest_key(unknown) {
        Some(key) => format!("unknown key '{unknown}'; did you mean '{key}'?"),
        None => format!("unknown key '{unknown}'; the keys are the long flags of 'dragline crawl --help'"),
    }
}

/// The known key that takes the fewest edits, if it takes few.
fn nearest_key(unknown: &str) -> Option<String> {
    let wanted = unknown.replace('_', "-").to_ascii_lowercase();
    let command = Options::augment_args(clap::Command::new(""));
    let keys = command.get_arguments().filter_map(clap::Arg::get_long);
    let (edits, key) = keys.map(|key| (edits(&wanted, key), key)).min()?;
    (edits <= 1 + key.len() / 4).then(|| key.to_owned())
}

/// Insertions, deletions and replacements that turn one text into the other
/// (Levenshtein), on bytes; long texts are cut, they are no key anyway.
fn edits(left: &str, right: &str) -> usize {
    let left = &left.as_bytes()[..left.len().min(64)];
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, from) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (column, to) in right.bytes().enumerate() {
            let replaced = diagonal + usize::from(*from != to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = Options::from_toml(text, Path::new("c.toml")).expect_err(text);
        error.to_string()
    }

    #[test]
    fn what_flags_take_files_take() {
        let text = "memory = '64MiB'\nmax-pages = '1M'\ndelay = 1.5\ntimeout = 20\n\
                    strip-params = ['a', 'b']\nrandom-wait = true\nscope = 'domain'\nfp-rate = 0.01\n";
        let options = Options::from_toml(text, Path::new("c.toml")).expect("valid");
        assert_eq!(options.memory.map(|size| size.0), Some(64 << 20));
        assert_eq!(options.max_pages.map(|count| count.0), Some(1_000_000));
        assert_eq!(options.delay.map(|span| span.0.as_millis()), Some(1500));
        assert_eq!(options.strip_params, ["a", "b"]);
        assert_eq!(options.scope, Some(crate::config::ScopeKind::Domain));
    }

    #[test]
    fn unknown_keys_are_named_with_line_and_neighbour() {
        assert_eq!(
            refused("memory = '1GiB'\nmax_pages = 3\n"),
            "c.toml, line 2: unknown key 'max_pages'; did you mean 'max-pages'?"
        );
        assert_eq!(refused("memroy = 1\n"), "c.toml, line 1: unknown key 'memroy'; did you mean 'memory'?");
        assert!(refused("colour = 1\n").contains("the keys are the long flags"));
    }

    #[test]
    fn wrong_values_are_one_line() {
        for text in
            ["memory = 'much'", "delay = '-1s'", "depth = -1", "scope = 'all'", "memory =", "x = 1\nx = 2"]
        {
            let message = refused(text);
            assert!(
                message.starts_with("c.toml, line 1: ") || message.starts_with("c.toml, line 2: "),
                "{message}"
            );
            assert!(!message.contains('\n'), "{message}");
        }
        assert!(refused("memory = 'much'").contains("`much` is not a size"));
    }
}
