//! `dragline resume DIR`

use std::path::PathBuf;

use dragline::config::{Count, Options, ProgressMode, Size, Span, defaults};
use dragline::engine::Crawl;
use dragline::sink::CrawlDirectory;

use super::crawl::{listen, run_to_the_end};
use super::progress::Display;
use super::{ExitCode, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Another bound on the memory of the process [default: as the crawl began]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// Stop after N pages, those from before counted [default: as the crawl began]
    #[arg(long, value_name = "N")]
    max_pages: Option<Count>,
    /// Fetch at most N pages of one host name, those from before counted; what was skipped stays skipped [default: as the crawl began]
    #[arg(long, value_name = "N")]
    max_pages_per_host: Option<Count>,
    /// Stop after this time, the time from before counted [default: as the crawl began]
    #[arg(long, value_name = "TIME")]
    max_time: Option<Span>,
    /// Stop before the crawl directory takes more than this [default: as the crawl began]
    #[arg(long, value_name = "SIZE")]
    max_disk: Option<Size>,
    /// How progress is shown [default: auto]
    #[arg(long, value_name = "HOW")]
    progress: Option<ProgressMode>,
    /// Time between two lines of stats.jsonl, and of plain progress [default: as the crawl began]
    #[arg(long, value_name = "TIME")]
    stats_interval: Option<Span>,
}

/// Goes on with a crawl that was stopped, killed, or cut off from its power.
pub(super) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let path = arguments.directory;
    let directory = CrawlDirectory::reopen(&path)?;
    let frozen = Options::read(&directory.configuration())?;
    if arguments.max_pages_per_host.is_some() && frozen.max_pages_per_host.is_none() {
        let message =
            "--max-pages-per-host: the crawl began without it, and nobody has counted; leave it out";
        return Err(Failure::new(ExitCode::Configuration, message));
    }
    let raised = Options {
        memory: arguments.memory,
        max_pages: arguments.max_pages,
        max_pages_per_host: arguments.max_pages_per_host,
        max_time: arguments.max_time,
        max_disk: arguments.max_disk,
        stats_interval: arguments.stats_interval,
        ..Options::default()
    };
    let options = raised.over(frozen);
    let config = options.resolve()?;
    let crawl = Crawl::builder().options(options).resume(directory).stop_handle(listen()?).build()?;
    let display = Display::new(arguments.progress.unwrap_or(defaults::PROGRESS), config.stats_interval);
    run_to_the_end(crawl, display, &path, None)
}
