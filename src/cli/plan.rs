//! `dragline plan`

use std::fmt::Write;
use std::path::PathBuf;

use clap::ArgMatches;
use dragline::budget::Plan;
use dragline::config::{Config, Dedup, FilterKind, Options};
use dragline::engine::{self, FilterPlan};
use dragline::human;
use dragline::visited::Sizing;

use super::layers::{Layers, refuse_unused};
use super::{ExitCode, Failure, print};

/// The shared options that matter here.
pub(super) const OPTIONS: [&str; 9] = [
    "memory",
    "bits-per-url",
    "expected-urls",
    "fp-rate",
    "dedup",
    "filter",
    "concurrency",
    "per-host",
    "delay",
];

/// Rates the tables are made for, where none is asked for.
const RATES: [f64; 4] = [0.1, 0.01, 0.001, 0.0001];

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Read options from the TOML file FILE; the keys are the long flags [default: none]
    #[arg(long, value_name = "FILE", env = "DRAGLINE_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    refuse_unused(matches, "plan", &OPTIONS)?;
    let layers = Layers::merge(arguments.options, matches, arguments.config.as_deref())?;
    let config = layers.resolve()?;
    let (plan, filter) = engine::plan(&config).map_err(|error| layers.setup_failure(error.into()))?;
    let mut text = parts_table(&plan);
    if config.dedup == Dedup::Exact {
        append(&mut text, format_args!("\nno filter: --dedup exact decides by its table of keys\n"));
    } else {
        text.push_str(&filter_text(&config, &filter, &plan));
        text.push_str(&urls_to_memory(&config, &layers.options));
        text.push_str(&memory_to_urls(&config, &plan));
    }
    print(&text)?;
    Ok(ExitCode::Done)
}

fn name(kind: FilterKind) -> &'static str {
    match kind {
        FilterKind::Blocked => "blocked",
        FilterKind::Classic => "classic",
    }
}

fn parts_table(plan: &Plan) -> String {
    let mut text = format!("budget {}\n", human::bytes(plan.total));
    for (part, bytes) in plan.parts() {
        let share = human::percent(bytes as f64 / plan.total as f64);
        append(&mut text, format_args!("  {part:<14}{:>12}{share:>10}\n", human::bytes(bytes)));
    }
    text
}

fn filter_text(config: &Config, filter: &FilterPlan, plan: &Plan) -> String {
    let sizing = &filter.first;
    let (kind, size) = (name(sizing.kind), human::bytes(sizing.bytes()));
    let (urls, bits_per_url) = (human::grouped(sizing.urls), sizing.bits_per_url());
    let mut text = String::from("\nfilter\n");
    append(&mut text, format_args!("  kind          {kind}\n"));
    append(&mut text, format_args!("  size          {size} ({} bits)\n", sizing.bits));
    append(&mut text, format_args!("  made for      {urls} URLs at {bits_per_url:.2} bits each\n"));
    if sizing.bits < filter.largest.bits {
        let (size, urls) = (human::bytes(filter.largest.bytes()), human::grouped(filter.largest.urls));
        append(&mut text, format_args!("  grows to      {size}, made for {urls} URLs, as they come;\n"));
        let (share, label) = (human::bytes(plan.filter), "");
        append(
            &mut text,
            format_args!("  {label:14}the rest of its {share} holds the filter that it takes the place of\n"),
        );
    }
    append(&mut text, format_args!("  hashes        {}\n", sizing.hashes));
    let rate = human::percent(sizing.rate);
    append(&mut text, format_args!("  false positives at that load: {rate}\n"));
    let meaning = meaning(config, sizing.urls, sizing.rate);
    append(&mut text, format_args!("  which means   {meaning}\n"));
    if let Some(note) = sizing.note() {
        append(&mut text, format_args!("  note          {note}\n"));
    }
    text
}

/// What the rate costs the user.
fn meaning(config: &Config, urls: u64, rate: f64) -> String {
    if config.dedup == Dedup::Bloom {
        // The rate grows with the load, so the last URLs are missed most.
        let missed = human::grouped((urls as f64 * rate).ceil() as u64);
        return format!(
            "at most about {missed} pages never fetched by the time it is full; two-stage loses none"
        );
    }
    "so many of the new URLs are settled exactly; no page is lost".to_owned()
}

/// URLs and a rate give bits, hashes and memory.
fn urls_to_memory(config: &Config, options: &Options) -> String {
    let urls =
        config.expected_urls.map_or_else(|| vec![1_000_000, 10_000_000, 100_000_000], |urls| vec![urls]);
    let rates = options.fp_rate.map_or_else(|| RATES.to_vec(), |rate| vec![rate]);
    let mut text = format!("\nfrom URLs to memory ({} filter)\n", name(config.filter));
    append(
        &mut text,
        format_args!("  {:>15}{:>12}{:>12}{:>8}{:>12}\n", "URLs", "rate", "bits/URL", "hashes", "memory"),
    );
    for urls in urls {
        for rate in &rates {
            let Ok(sizing) = Sizing::from_rate(config.filter, urls, *rate) else {
                let rate = human::percent(*rate);
                append(
                    &mut text,
                    format_args!("  {:>15}{rate:>12}  beyond this filter\n", human::grouped(urls)),
                );
                continue;
            };
            let (memory, bits) = (human::bytes(sizing.bytes()), sizing.bits_per_url());
            let (urls, rate) = (human::grouped(urls), human::percent(*rate));
            let hashes = sizing.hashes;
            append(&mut text, format_args!("  {urls:>15}{rate:>12}{bits:>12.2}{hashes:>8}{memory:>12}\n"));
        }
    }
    text
}

/// Memory and a rate give URLs.
fn memory_to_urls(config: &Config, plan: &Plan) -> String {
    let mut text = format!("\nfrom memory to URLs (the {} of this filter)\n", human::bytes(plan.filter));
    append(&mut text, format_args!("  {:>12}{:>12}{:>15}\n", "rate", "bits/URL", "URLs"));
    for rate in RATES {
        let shown = human::percent(rate);
        match Sizing::from_memory_and_rate(config.filter, plan.filter, rate) {
            Ok(sizing) => {
                let (urls, bits) = (human::grouped(sizing.urls), sizing.bits_per_url());
                append(&mut text, format_args!("  {shown:>12}{bits:>12.2}{urls:>15}\n"));
            }
            Err(_) => append(&mut text, format_args!("  {shown:>12}  beyond this filter\n")),
        }
    }
    text
}

/// Writing to a text cannot fail.
fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}
