//! `dragline normalize URL`

use dragline::config::Options;
use dragline::scope::canonical_rules;
use dragline::url::Canonicalizer;

use super::{ExitCode, Failure, escape, print};

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
    let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
    let target = canonicalizer
        .parse(&arguments.url)
        .map_err(|reject| Failure::new(ExitCode::Failed, format!("'{}': {reject}", arguments.url)))?;
    if target.requested.len() > config.max_url_length {
        let message = format!("longer than --max-url-length {}", config.max_url_length);
        return Err(Failure::new(ExitCode::Failed, message));
    }
    print(&format!("{}\n", escape::escape(&target.canonical)))?;
    Ok(ExitCode::Done)
}
