//! The layers of the options: flag beats environment beats file.

use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use dragline::config::Options;

use super::Failure;

/// What was typed (and stands in the environment) over what the file says.
pub(super) fn merged(typed: Options, matches: &ArgMatches, file: Option<&Path>) -> Result<Options, Failure> {
    let typed = flags_first(typed, matches);
    match file {
        Some(path) => Ok(typed.over(Options::read(path)?)),
        None => Ok(typed),
    }
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
