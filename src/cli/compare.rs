//! `dragline compare A B`

use std::fmt::Write;
use std::path::PathBuf;

use dragline::engine::{AsOf, Compared, Side, compare};
use dragline::human::grouped;
use dragline::report::estimate;
use dragline::sink::pretty_json;
use dragline::stats::Spread;

use super::{ExitCode, Failure, escape, print};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The earlier crawl: its directory, or one made by merge
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The later crawl
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Tells how much of one crawl is in another, and what has changed.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let compared = compare(&arguments.first, &arguments.second)?;
    if arguments.json {
        let text = pretty_json(&compared);
        print(&text.map_err(|error| Failure::new(ExitCode::Failed, error.to_string()))?)?;
    } else {
        print(&told(&compared))?;
    }
    Ok(ExitCode::Done)
}

fn told(compared: &Compared) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name:<15} {value}");
    };
    for (name, side) in [("A", &compared.first), ("B", &compared.second)] {
        row(name, side_told(side));
    }
    let urls = &compared.urls;
    row("URLs", "answered for; ~ marks an estimate, its bounds hold for 95 of 100".into());
    row("  in both", estimate(&urls.both));
    row("  in A alone", estimate(&urls.only_first));
    row("  in B alone", estimate(&urls.only_second));
    row("  in either", estimate(&urls.either));
    let (first, second) = (&compared.first.estimates, &compared.second.estimates);
    for (name, one, other) in [
        ("contents", &first.distinct.contents, &second.distinct.contents),
        ("hosts", &first.distinct.hosts, &second.distinct.hosts),
    ] {
        row(name, format!("A {}, B {}", estimate(one), estimate(other)));
    }
    for (name, one, other) in [
        ("latency", first.spread.latency_ms, second.spread.latency_ms),
        ("first byte", first.spread.first_byte_ms, second.spread.first_byte_ms),
    ] {
        if let (Some(one), Some(other)) = (one, other) {
            row(name, format!("A {}, B {}", spread(&one), spread(&other)));
        }
    }
    match &compared.hosts_unlike {
        Some(problem) => row("host changes", format!("cannot be told: {problem}")),
        None if compared.hosts.is_empty() => {
            row("host changes", "none that is larger than what the estimates may be off by".into());
        }
        None => {}
    }
    for (place, host) in compared.hosts.iter().enumerate() {
        let name = if place == 0 { "host changes" } else { "" };
        row(name, format!("{} {} pages", escape::escape(&host.host), change(host.change)));
    }
    text
}

fn side_told(side: &Side) -> String {
    let as_of = match side.as_of {
        AsOf::End => "",
        AsOf::LastCheckpoint => ", as of its last checkpoint",
        AsOf::Merge => ", merged",
    };
    let directory = side.directory.display().to_string();
    format!("{}: {} records{as_of}", escape::escape(&directory), grouped(side.records))
}

fn spread(values: &Spread) -> String {
    format!("half below ~{:.0}ms, 99 % below ~{:.0}ms", values.p50, values.p99)
}

/// `~+120 (+110 to +130)`.
fn change(change: dragline::sketch::Estimate) -> String {
    let signed = |value: f64| {
        let sign = if value < 0.0 { '-' } else { '+' };
        format!("{sign}{}", grouped(value.abs().round() as u64))
    };
    format!("~{} ({} to {})", signed(change.value), signed(change.lower), signed(change.upper))
}
