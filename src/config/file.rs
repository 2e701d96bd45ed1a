//! Options as a TOML file: read with exact complaints, written complete.

use std::path::Path;

use clap::{Args, FromArgMatches};
use toml::de::{DeTable, DeValue};

use super::{ConfigError, Options, mistake};

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
    /// Every value goes the way of a flag's, so that files and flags have one grammar.
    ///
    /// # Errors
    /// As those of [`Options::read`].
    pub fn from_toml(text: &str, path: &Path) -> Result<Options, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let wrong = |offset: usize, problem: String| {
            let before = text.get(..offset).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            ConfigError::File { path: path.to_owned(), line, problem }
        };
        let table = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            wrong(offset, format!("no valid TOML ({})", error.message().replace('\n', " ")))
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let command = command();
        let (mut words, mut urls) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            let refused = |problem| wrong(key.span().start, problem);
            let values = texts(key.get_ref(), value.get_ref()).map_err(refused)?;
            if key.get_ref() == "urls" {
                urls = values;
            } else {
                words.extend(flags(&command, key.get_ref(), &values).map_err(refused)?);
            }
        }
        let parsed = command.try_get_matches_from(words);
        let options = parsed.and_then(|matches| Options::from_arg_matches(&matches));
        // Each was parsed before, so that this cannot fail.
        let options = options.map_err(|error| wrong(0, error.to_string().replace('\n', " ")))?;
        Ok(Options { urls, ..options })
    }

    /// The options as TOML, ending in a line break.
    ///
    /// # Errors
    /// Where a path is no Unicode.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string(self).map_err(|error| ConfigError::Unwritable { problem: error.to_string() })
    }
}

/// The options as a command line without environment.
fn command() -> clap::Command {
    let command = clap::Command::new("").no_binary_name(true).disable_help_flag(true);
    Options::augment_args(command).mut_args(|argument| argument.env(None::<&str>))
}

/// A value, or each of a list, as it would be typed.
fn texts(key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match value {
        DeValue::Array(values) => {
            let texts = values.iter().map(|value| text_of(value.get_ref())).collect::<Option<_>>();
            texts.ok_or_else(|| format!("{key}: a list may hold texts, numbers, true and false only"))
        }
        value => match text_of(value) {
            Some(text) => Ok(vec![text]),
            None => Err(format!("{key}: a table; the keys are the long flags, without sections")),
        },
    }
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => {
            Some(i64::from_str_radix(number.as_str(), number.radix()).ok()?.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(on) => Some(on.to_string()),
        DeValue::Datetime(time) => Some(time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// The flags that a key of the file stands for, each tried by itself.
fn flags(command: &clap::Command, key: &str, values: &[String]) -> Result<Vec<String>, String> {
    let Some(argument) = command.get_arguments().find(|argument| argument.get_long() == Some(key)) else {
        return Err(unknown(key));
    };
    if values.len() != 1 && !matches!(argument.get_action(), clap::ArgAction::Append) {
        return Err(format!("{key}: takes one value, not a list"));
    }
    let flags: Vec<String> = values.iter().map(|value| format!("--{key}={value}")).collect();
    for (flag, value) in flags.iter().zip(values) {
        if let Err(error) = command.clone().try_get_matches_from([flag]) {
            let problem = mistake(&error)
                .map_or_else(|| error.to_string().replace('\n', " "), |mistake| mistake.problem);
            return Err(format!("{key} = {value}: {problem}"));
        }
    }
    Ok(flags)
}

/// What to say of a key that there is not; the nearest one is named instead of all.
fn unknown(key: &str) -> String {
    match nearest_key(key) {
        Some(known) => format!("unknown key '{key}'; did you mean '{known}'?"),
        None => format!("unknown key '{key}'; the keys are the long flags of 'dragline crawl --help'"),
    }
}

/// The known key that takes the fewest edits, if it takes few.
fn nearest_key(unknown: &str) -> Option<String> {
    let wanted = unknown.replace('_', "-").to_ascii_lowercase();
    let command = command();
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
                    strip-params = ['a', 'b']\nrandom-wait = true\nscope = 'domain'\nfp-rate = 0.01\n\
                    exclude = '-a'\nheader = []\nconcurrency = 0x10\nurls = ['http://a.test/']\n";
        let options = Options::from_toml(text, Path::new("c.toml")).expect("valid");
        assert_eq!(options.memory.map(|size| size.0), Some(64 << 20));
        assert_eq!(options.max_pages.map(|count| count.0), Some(1_000_000));
        assert_eq!(options.delay.map(|span| span.0.as_millis()), Some(1500));
        assert_eq!(options.strip_params, ["a", "b"]);
        assert_eq!(options.scope, Some(crate::config::ScopeKind::Domain));
        assert_eq!((options.exclude, options.header), (vec!["-a".to_owned()], Vec::new()));
        assert_eq!((options.concurrency, options.urls), (Some(16), vec!["http://a.test/".to_owned()]));
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
        for (text, problem) in [
            ("memory = 'much'", "memory = much: not a size (write 64MiB, 1.5GB, 10k or plain bytes)"),
            ("depth = -1", "depth = -1: not a whole number from 0 to 4294967295"),
            ("depth = 1.5", "depth = 1.5: not a whole number from 0 to 4294967295"),
            ("scope = 'all'", "scope = all: none of page, prefix, host, domain, any"),
            ("fresh = 'maybe'", "fresh = maybe: neither true nor false"),
            ("delay = [1, 2]", "delay: takes one value, not a list"),
            ("delay = []", "delay: takes one value, not a list"),
            ("include = [['a']]", "include: a list may hold texts, numbers, true and false only"),
            ("[crawl]\ndepth = 1", "crawl: a table; the keys are the long flags, without sections"),
        ] {
            assert_eq!(refused(text), format!("c.toml, line 1: {problem}"));
        }
    }
}
