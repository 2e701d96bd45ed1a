//! The layers of the options: flag beats environment beats file.
//!
//! Remembers where each option was given, so that a mistake is told of where it was made.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;
use dragline::config::{Config, ConfigError, Options, Origin};
use dragline::engine::{PlanError, SetupError};
use dragline::fetch::FetchSetupError;

use super::{ExitCode, Failure, help};

/// The options of a command, all layers merged.
pub(super) struct Layers<'a> {
    pub(super) options: Options,
    matches: &'a ArgMatches,
    file: Option<File>,
    /// Options that this command knows by another flag: their own name, and the other.
    renamed: &'static [(&'static str, &'static str)],
}

/// A configuration file, and what it sets.
struct File {
    path: PathBuf,
    keys: toml::Table,
}

impl<'a> Layers<'a> {
    /// What was typed (and stands in the environment) over what the file says.
    pub(super) fn merge(
        typed: Options,
        matches: &'a ArgMatches,
        file: Option<&Path>,
    ) -> Result<Layers<'a>, Failure> {
        let mut layers = Layers { options: flags_first(typed, matches), matches, file: None, renamed: &[] };
        if let Some(path) = file {
            let read = Options::read(path).map_err(|error| layers.failure(&error))?;
            let keys = read.to_toml()?.parse().unwrap_or_default();
            layers.options = layers.options.over(read);
            layers.file = Some(File { path: path.to_owned(), keys });
        }
        Ok(layers)
    }

    /// The same, where some options have another flag.
    pub(super) fn renamed(self, renamed: &'static [(&'static str, &'static str)]) -> Self {
        Layers { renamed, ..self }
    }

    /// The configuration that the options mean.
    pub(super) fn resolve(&self) -> Result<Config, Failure> {
        self.options.resolve().map_err(|error| self.failure(&error))
    }

    /// A mistake, told of where it was made.
    pub(super) fn failure(&self, error: &ConfigError) -> Failure {
        Failure::new(ExitCode::Configuration, error.told(|option| self.origin(option)))
    }

    /// A crawl that cannot be set up; a mistake in it is told of where it was made.
    pub(super) fn setup_failure(&self, error: SetupError) -> Failure {
        match error {
            SetupError::Config(error)
            | SetupError::Plan(PlanError::Budget(error))
            | SetupError::Fetch(FetchSetupError::Config(error)) => self.failure(&error),
            error => error.into(),
        }
    }

    fn origin(&self, option: &str) -> Origin {
        match self.matches.value_source(&option.replace('-', "_")) {
            Some(ValueSource::CommandLine) => {
                let other = self.renamed.iter().find(|(own, _)| *own == option);
                other.map_or(Origin::Flag, |(_, other)| Origin::Renamed(other))
            }
            Some(ValueSource::EnvVariable) => Origin::Variable,
            _ => match &self.file {
                Some(file) if file.keys.contains_key(option) => Origin::File(file.path.clone()),
                _ => Origin::Default,
            },
        }
    }
}

/// Refuses shared options that were typed and that a command makes nothing of; what stands in the environment or
/// in a file may be meant for other commands. `is_idle` picks them by their long flag.
pub(super) fn refuse_typed(
    matches: &ArgMatches,
    command: &str,
    is_idle: impl Fn(&str) -> bool,
    why: &str,
) -> Result<(), Failure> {
    let typed = |option: &str| {
        matches.value_source(&option.replace('-', "_")) == Some(ValueSource::CommandLine) && is_idle(option)
    };
    match help::shared_options().into_iter().find(|option| typed(option)) {
        Some(option) => Err(Failure::new(ExitCode::Usage, format!("--{option}: 'dragline {command}' {why}"))),
        None => Ok(()),
    }
}

/// Refuses shared options that were typed and are not among those `used`.
pub(super) fn refuse_unused(matches: &ArgMatches, command: &str, used: &[&str]) -> Result<(), Failure> {
    let is_idle = |option: &str| !used.contains(&option);
    refuse_typed(
        matches,
        command,
        is_idle,
        "has no use for it; leave it out (--help shows what can be given)",
    )
}

/// The two ways to size a filter replace each other between layers; clap
/// delivers flags and environment as one.
fn flags_first(mut typed: Options, matches: &ArgMatches) -> Options {
    let source = |name| matches.value_source(name);
    let (flag, variable) = (Some(ValueSource::CommandLine), Some(ValueSource::EnvVariable));
    if source("fp_rate") == flag && source("bits_per_url") == variable {
        typed.bits_per_url = None;
    }
    if source("bits_per_url") == flag && source("fp_rate") == variable {
        typed.fp_rate = None;
    }
    typed
}
