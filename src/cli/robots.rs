//! `dragline robots URL [--agent TOKEN]`

use std::path::PathBuf;

use clap::ArgMatches;
use dragline::config::Options;
use dragline::engine::{RobotsError, robots_verdict};
use dragline::url::without_userinfo;

use super::layers::{Layers, refuse_unused};
use super::{ExitCode, Failure, escape, print};

/// The shared options that matter here.
pub(super) const OPTIONS: [&str; 12] = [
    "robots-agent",
    "user-agent",
    "timeout",
    "connect-timeout",
    "header",
    "header-scope",
    "ca-file",
    "insecure",
    "proxy",
    "resolve",
    "dns",
    "allow-private",
];

/// The short name that the token has here, where nothing else is an agent.
pub(super) const RENAMED: [(&str, &str); 1] = [("robots-agent", "agent")];

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The URL that is asked about; its host's robots.txt is fetched
    #[arg(value_name = "URL")]
    url: String,
    /// Read options from the TOML file FILE; the keys are the long flags of crawl [default: none]
    #[arg(long, value_name = "FILE", env = "DRAGLINE_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    refuse_unused(matches, "robots", &OPTIONS)?;
    let layers = Layers::merge(arguments.options, matches, arguments.config.as_deref())?.renamed(&RENAMED);
    let verdict = robots_verdict(&layers.options, &arguments.url).map_err(|error| match error {
        RobotsError::Setup(error) => layers.setup_failure(error),
        RobotsError::Url(reject) => {
            Failure::new(ExitCode::Failed, format!("'{}': {reject}", without_userinfo(&arguments.url)))
        }
        error => Failure::new(ExitCode::Failed, error.to_string()),
    })?;
    let (word, code) =
        if verdict.allowed { ("allowed", ExitCode::Done) } else { ("disallowed", ExitCode::Disallowed) };
    let by = match (verdict.line, verdict.rule) {
        (Some(line), Some(rule)) => format!("line {line}: {}", escape::escape(&rule)),
        _ => "no rule applies".to_owned(),
    };
    print(&format!("{word} ({by})\n"))?;
    Ok(code)
}
