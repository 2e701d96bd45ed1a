//! `dragline merge OUT DIR…`

use std::path::PathBuf;

use dragline::engine::{Merged, merge};
use dragline::human::{grouped, of};
use dragline::report::portrait_table;
use dragline::sink::pretty_json;

use super::{ExitCode, Failure, print};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The directory to make, with what all of them say
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Crawl directories, or directories made by merge
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Merges the statistics of several crawls, and tells what they say together.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let merged = merge(&arguments.out, &arguments.directories)?;
    if arguments.json {
        let text = pretty_json(&merged);
        print(&text.map_err(|error| Failure::new(ExitCode::Failed, error.to_string()))?)?;
    } else {
        print(&told(&merged))?;
    }
    Ok(ExitCode::Done)
}

fn told(merged: &Merged) -> String {
    let crawls = of(merged.crawls.len() as u64, "crawl");
    let records = grouped(merged.records);
    format!(
        "{:<15} {crawls}: {records} records, a page of two crawls counted twice\n{}",
        "merged",
        portrait_table(&merged.estimates)
    )
}
