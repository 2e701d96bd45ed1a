//! `dragline normalize URL`

use dragline::config::Options;

use super::{ExitCode, Failure, escape, glue, print};

/// The shared options that matter here.
pub(super) const OPTIONS: [&str; 9] = [
    "sort-query",
    "strip-params",
    "strip-tracking",
    "strip-session-ids",
    "fold-www",
    "fold-https",
    "strip-trailing-slash",
    "keep-fragments",
    "max-url-length",
];

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The URL, as it would stand in a seed list
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let config = arguments.options.resolve()?;
    let canonical = glue::canonical(&config, arguments.url.trim())?;
    print(&format!("{}\n", escape::escape(&canonical)))?;
    Ok(ExitCode::Done)
}
