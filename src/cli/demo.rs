//! `dragline demo`: the synthetic website, crawled here or served to others.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use dragline::config::{Count, Options, Span};

use super::{ExitCode, Failure, crawl, glue, layers};

/// The shared options that matter here.
pub(super) const OPTIONS: [&str; 11] = [
    "output",
    "fresh",
    "progress",
    "memory",
    "bits-per-url",
    "expected-urls",
    "fp-rate",
    "dedup",
    "filter",
    "concurrency",
    "max-pages",
];

/// Where the demonstration leaves its crawl, unless told.
const OUTPUT: &str = "crawl-demo";

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only serve the website, until stopped, for another process to crawl
    #[arg(long)]
    serve: bool,
    /// Pages that can be reached
    #[arg(long, value_name = "N", default_value = "10_000")]
    pages: Count,
    /// Host names they are spread over
    #[arg(long, value_name = "H", default_value = "4")]
    hosts: Count,
    /// Address the website listens on; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    for (option, count) in [("pages", arguments.pages), ("hosts", arguments.hosts)] {
        if count.0 == 0 {
            return Err(Failure::new(
                ExitCode::Usage,
                format!("--{option} 0: must be more than zero"),
            ));
        }
    }
    if arguments.hosts > arguments.pages {
        let message = "--hosts: more than --pages; every host needs a page";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    if arguments.serve {
        return glue::serve(arguments.pages.0, arguments.hosts.0, arguments.listen);
    }
    let site = glue::start_site(arguments.pages.0, arguments.hosts.0, arguments.listen)?;
    let typed = layers::merged(arguments.options, matches, None)?;
    let demonstration = Options {
        urls: site.seeds.clone(),
        resolve: site.resolve.clone(),
        delay: Some(Span(Duration::ZERO)),
        allow_private: Some(true),
        output: Some(PathBuf::from(OUTPUT)),
        ..Options::default()
    };
    let options = typed.over(demonstration);
    eprintln!("dragline: the same as\n  {}", equivalent(&options));
    crawl::start(&options)
}

/// The `crawl` command that does the same.
fn equivalent(options: &Options) -> String {
    let mut words = vec!["dragline crawl --delay 0s --allow-private".to_owned()];
    words.extend(options.resolve.iter().map(|rule| format!("--resolve '{rule}'")));
    words.extend(
        options
            .output
            .iter()
            .map(|path| format!("--output '{}'", path.display())),
    );
    words.extend(options.urls.iter().cloned());
    words.join(" ")
}
