//! `dragline crawl [URL…]`

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use dragline::config::{Config, Options, defaults};
use dragline::engine::{Crawl, Event, Observer, SeedSpool, StopHandle};
use dragline::human;
use dragline::scope::SeedJudge;
use dragline::sink::CrawlDirectory;
use dragline::stats::Snapshot;

use super::layers::Layers;
use super::normalize::has_userinfo;
use super::progress::Display;
use super::{ExitCode, Failure, escape, next, say, seeds};

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
    start(&Layers::merge(typed, matches, arguments.config.as_deref())?, None)
}

/// One more arena of the allocator for so many bytes of budget: what an arena keeps for itself is
/// small beside it.
const MEMORY_PER_ARENA: u64 = 128 << 20;

/// Crawls as the options say; nothing is fetched and nothing old deleted before
/// all of them, and the seeds, are found good. `beside` is the command that must run before
/// the crawl can go on, where it stops.
pub(super) fn start(layers: &Layers<'_>, beside: Option<&str>) -> Result<ExitCode, Failure> {
    let options = &layers.options;
    let config = layers.resolve()?;
    seeds::check(layers)?;
    let path = options.output.as_deref().unwrap_or(Path::new(defaults::OUTPUT));
    let stop = listen()?;
    let directory = CrawlDirectory::claim(path, options.fresh.unwrap_or(false))?;
    take_seeds(layers, &config, &directory, &stop)?;
    let crawl = Crawl::builder().options(options.clone()).directory(directory).stop_handle(stop).build();
    let crawl = crawl.map_err(|error| layers.setup_failure(error))?;
    let display = Display::new(options.progress.unwrap_or(defaults::PROGRESS), config.stats_interval);
    run_to_the_end(crawl, display, path, beside)
}

/// From now on an interrupt asks to stop in order.
pub(super) fn listen() -> Result<StopHandle, Failure> {
    let refused = |error| Failure::new(ExitCode::Failed, format!("cannot listen to interrupts: {error}"));
    StopHandle::on_signals().map_err(refused)
}

/// Runs a crawl and shows how it goes, how it ended, and what can be done next.
pub(super) fn run_to_the_end(
    crawl: Crawl,
    mut display: Display,
    path: &Path,
    beside: Option<&str>,
) -> Result<ExitCode, Failure> {
    let budget = crawl.config().memory;
    dragline::budget::allow_arenas(budget / MEMORY_PER_ARENA);
    if let Some(warning) = next::more_than_there_is(budget, dragline::budget::available_memory()) {
        display.notice(&warning);
    }
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
    display.add("written to", &escape::escape(&path.display().to_string()));
    if let Some(step) = next::step(summary.end_reason, path, beside) {
        display.add(step.name, &step.text);
    }
    Ok(summary.end_reason.into())
}

/// Collects the seeds; fails where none is left, and where there are none nor sitemaps in their place.
fn take_seeds(
    layers: &Layers<'_>,
    config: &Config,
    directory: &CrawlDirectory,
    stop: &StopHandle,
) -> Result<(), Failure> {
    let judge = SeedJudge::of(config);
    let mut with_userinfo = 0;
    let into = SeedSpool::create(&directory.incoming_seeds(), config);
    let into = into.map_err(|error| layers.setup_failure(error))?;
    let spooled = seeds::spool(layers, into, stop, |text| {
        with_userinfo += u64::from(has_userinfo(text));
        judge.judge(text).map(drop).map_err(|refusal| refusal.to_string())
    })?;
    if with_userinfo > 0 {
        say::line(&format!(
            "dragline: {} with a user name or password in it, which is not sent; \
             log in with -H 'Authorization: ...'",
            human::of(with_userinfo, "seed")
        ));
    }
    let sitemaps_alone = spooled.refused == 0 && !config.sitemap.is_empty();
    if spooled.accepted == 0 && !sitemaps_alone {
        let message = match spooled.refused {
            0 => "no seeds: the lists hold no URL; put one on each line".to_owned(),
            refused => {
                let refused = human::of(refused, "seed");
                format!("no seed is left: {refused} refused; mend what is named above")
            }
        };
        return Err(Failure::new(ExitCode::Usage, message));
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
