//! `dragline robots URL [--agent TOKEN]`

use dragline::config::{Options, defaults};

use super::{ExitCode, Failure, glue, print};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The URL that is asked about; its host's robots.txt is fetched
    #[arg(value_name = "URL")]
    url: String,
    /// The product token that is looked for in robots.txt
    #[arg(long, value_name = "TOKEN", default_value = defaults::ROBOTS_AGENT)]
    agent: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // The same check as for --robots-agent, so that the same tokens are taken.
    let options = Options {
        robots_agent: Some(arguments.agent.clone()),
        ..Options::default()
    };
    let config = options.resolve()?;
    print(&glue::robots(&config, arguments.url.trim())?)?;
    Ok(ExitCode::Done)
}
