//! `dragline crawl [URL…]`

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use dragline::config::{Config, Options, defaults};

use super::output::Output;
use super::progress::Display;
use super::{ExitCode, Failure, glue, layers, seeds};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Seed URLs
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Read options from the TOML file FILE; the keys are the long flags [default: none]
    #[arg(
        long,
        value_name = "FILE",
        env = "DRAGLINE_CONFIG",
        help_heading = "Input and output"
    )]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let typed = Options {
        urls: arguments.urls,
        ..arguments.options
    };
    start(&layers::merged(typed, matches, arguments.config.as_deref())?)
}

/// Crawls as the options say; nothing is fetched and nothing old deleted before
/// all of them, and the seeds, are found good.
pub(super) fn start(options: &Options) -> Result<ExitCode, Failure> {
    let config = options.resolve()?;
    let frozen = Options::from(&config).to_toml()?;
    seeds::check(options)?;
    let path = options.output.as_deref().unwrap_or(Path::new(defaults::OUTPUT));
    let output = Output::claim(path, options.fresh.unwrap_or(false))?;
    if let Err(failure) = take_seeds(options, &config, &output) {
        output.withdraw();
        return Err(failure);
    }
    output.begin(&frozen)?;
    let mut display = Display::new(
        options.progress.unwrap_or(defaults::PROGRESS),
        config.stats_interval,
    );
    let summary = glue::crawl(&config, output.path(), &output.seeds(), &mut display)?;
    display.finish(&summary);
    Ok(summary.end_reason.into())
}

/// Collects the seeds; fails where none is left.
fn take_seeds(options: &Options, config: &Config, output: &Output) -> Result<(), Failure> {
    let spooled = seeds::spool(options, &output.incoming_seeds(), |text| {
        glue::judge_seed(config, text)
    })?;
    if spooled.accepted == 0 {
        let message = match spooled.refused {
            0 => "no seeds: the lists hold no URL; put one on each line".to_owned(),
            refused => format!("no seed is left: all {refused} were refused; mend the lines named above"),
        };
        return Err(Failure::new(ExitCode::Usage, message));
    }
    Ok(())
}
