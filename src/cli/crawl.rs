//! `dragline crawl [URL…]`

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use dragline::config::{Config, Options, defaults};
use dragline::engine::{Crawl, Event, Observer};
use dragline::scope::canonical_rules;
use dragline::sink::CrawlDirectory;
use dragline::stats::Snapshot;
use dragline::url::Canonicalizer;

use super::progress::Display;
use super::{ExitCode, Failure, layers, say, seeds};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Seed URLs
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Read options from the TOML file FILE; the keys are the long flags [default: none]
    #[arg(long, value_name = "FILE", env = "DRAGLINE_CONFIG", help_heading = "Input and output")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let typed = Options { urls: arguments.urls, ..arguments.options };
    start(&layers::merged(typed, matches, arguments.config.as_deref())?)
}

/// One more arena of the allocator for so many bytes of budget: what an arena keeps for itself is
/// small beside it.
const MEMORY_PER_ARENA: u64 = 128 << 20;

/// Crawls as the options say; nothing is fetched and nothing old deleted before
/// all of them, and the seeds, are found good.
pub(super) fn start(options: &Options) -> Result<ExitCode, Failure> {
    let config = options.resolve()?;
    seeds::check(options)?;
    let path = options.output.as_deref().unwrap_or(Path::new(defaults::OUTPUT));
    let directory = CrawlDirectory::claim(path, options.fresh.unwrap_or(false))?;
    if let Err(failure) = take_seeds(options, &config, &directory) {
        directory.withdraw();
        return Err(failure);
    }
    dragline::budget::allow_arenas(config.memory / MEMORY_PER_ARENA);
    let crawl = build(options, directory)?;
    let mut display = Display::new(options.progress.unwrap_or(defaults::PROGRESS), config.stats_interval);
    for note in crawl.notes() {
        display.notice(note);
    }
    let summary = match crawl.run(&mut display) {
        Ok(summary) => summary,
        Err(error) => {
            display.finish(&error.summary);
            return Err(error.into());
        }
    };
    display.finish(&summary);
    say::text(&format!("{:<15} {}\n", "written to", path.display()));
    Ok(summary.end_reason.into())
}

fn build(options: &Options, directory: CrawlDirectory) -> Result<Crawl, Failure> {
    let spool = directory.incoming_seeds();
    let lines = File::open(&spool).map_err(|error| Failure::writing(&spool.display().to_string(), &error))?;
    let lines = BufReader::new(lines).lines().map_while(Result::ok);
    let builder = Crawl::builder().options(options.clone()).seeds(lines).directory(directory).signals(true);
    Ok(builder.build()?)
}

/// Collects the seeds; fails where none is left.
fn take_seeds(options: &Options, config: &Config, directory: &CrawlDirectory) -> Result<(), Failure> {
    let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
    let spooled = seeds::spool(options, &directory.incoming_seeds(), |text| {
        judge(&canonicalizer, config.max_url_length, text)
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

/// Whether a text can be a seed; the reason names text and remedy.
fn judge(canonicalizer: &Canonicalizer, longest: usize, text: &str) -> Result<(), String> {
    if text.contains(|character: char| character.is_control()) {
        return Err(format!("'{text}' has a control character in it; give each URL on its own"));
    }
    let target = canonicalizer.parse(text).map_err(|reject| format!("'{text}': {reject}"))?;
    if target.requested.len() > longest {
        return Err(format!("'{text}' is longer than --max-url-length {longest}"));
    }
    Ok(())
}

impl Observer for Display {
    fn snapshot(&mut self, snapshot: &Snapshot) {
        Display::snapshot(self, snapshot);
    }

    fn event(&mut self, event: &Event) {
        self.notice(&event.to_string());
    }
}
