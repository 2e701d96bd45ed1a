//! `dragline robots URL [--agent TOKEN]`

use dragline::config::{Options, defaults};
use dragline::engine::robots_verdict;

use super::{ExitCode, Failure, escape, print};

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
    let options = Options { robots_agent: Some(arguments.agent.clone()), ..Options::default() };
    let verdict = robots_verdict(&options, &arguments.url)
        .map_err(|error| Failure::new(ExitCode::Failed, error.to_string()))?;
    let word = if verdict.allowed { "allowed" } else { "disallowed" };
    let by = match (verdict.line, verdict.rule) {
        (Some(line), Some(rule)) => format!("line {line}: {}", escape::escape(&rule)),
        _ => "no rule applies".to_owned(),
    };
    print(&format!("{word} ({by})\n"))?;
    Ok(ExitCode::Done)
}
