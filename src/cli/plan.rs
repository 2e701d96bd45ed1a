//! `dragline plan`

use std::fmt::Write;
use std::path::PathBuf;

use clap::ArgMatches;
use dragline::budget::{self, Plan};
use dragline::config::{Config, ConfigError, Dedup, FilterKind, Options, Size};
use dragline::report::human;

use super::{ExitCode, Failure, arithmetic, layers, print};

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

/// Past so many bits per URL a blocked filter gains little.
const BLOCKED_BITS_WORTH_IT: f64 = 16.0;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Read options from the TOML file FILE; the keys are the long flags [default: none]
    #[arg(long, value_name = "FILE", env = "DRAGLINE_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = layers::merged(arguments.options, matches, arguments.config.as_deref())?;
    let mut config = options.resolve()?;
    if let Some(rate) = config.fp_rate.take() {
        config.bits_per_url = bits(config.filter, rate)?;
    }
    let plan = split(&config)?;
    let mut text = parts_table(&plan);
    if config.dedup == Dedup::Exact {
        append(&mut text, format_args!("\nno filter: --dedup exact decides by its table of keys\n"));
    } else {
        text.push_str(&filter_text(&config, &plan));
        text.push_str(&urls_to_memory(&config, &options));
        text.push_str(&memory_to_urls(&config, &plan));
    }
    print(&text)?;
    Ok(ExitCode::Done)
}

/// The split for exact bits per URL; what `resolve` checked was a lower bound.
fn split(config: &Config) -> Result<Plan, Failure> {
    let given = Size(config.memory).to_string();
    budget::plan(config.memory, &config.budget_inputs())
        .map_err(|source| ConfigError::Memory { given, source }.into())
}

fn bits(kind: FilterKind, rate: f64) -> Result<f64, Failure> {
    arithmetic::bits_for_rate(kind, rate).ok_or_else(|| {
        let message = format!(
            "--fp-rate {rate}: no {} filter reaches it; {}",
            name(kind),
            match kind {
                FilterKind::Blocked => "give --filter classic or a higher rate",
                FilterKind::Classic => "give a higher rate",
            }
        );
        Failure::new(ExitCode::Configuration, message)
    })
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

fn filter_text(config: &Config, plan: &Plan) -> String {
    let bits_per_url = config.bits_per_url;
    let bits = plan.filter * 8;
    let urls = config.expected_urls.unwrap_or((bits as f64 / bits_per_url) as u64);
    let rate = arithmetic::false_positive_rate(config.filter, bits_per_url);
    let mut text = String::from("\nfilter\n");
    append(&mut text, format_args!("  kind          {}\n", name(config.filter)));
    append(&mut text, format_args!("  size          {} ({bits} bits)\n", human::bytes(plan.filter)));
    append(
        &mut text,
        format_args!("  made for      {} URLs at {bits_per_url} bits each\n", human::grouped(urls)),
    );
    append(&mut text, format_args!("  hashes        {}\n", arithmetic::hashes(config.filter, bits_per_url)));
    append(&mut text, format_args!("  false positives at that load: {}\n", human::percent(rate)));
    append(&mut text, format_args!("  which means   {}\n", meaning(config, urls, rate)));
    if config.filter == FilterKind::Blocked && bits_per_url > BLOCKED_BITS_WORTH_IT {
        append(
            &mut text,
            format_args!(
                "  note          past 16 bits a blocked filter gains little; --filter classic does better\n"
            ),
        );
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
    "so many of the new URLs are settled on disk; no page is lost".to_owned()
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
            let Some(bits) = arithmetic::bits_for_rate(config.filter, *rate) else {
                let rate = human::percent(*rate);
                append(
                    &mut text,
                    format_args!("  {:>15}{rate:>12}  beyond this filter\n", human::grouped(urls)),
                );
                continue;
            };
            let memory = human::bytes((urls as f64 * bits / 8.0).ceil() as u64);
            let (urls, rate) = (human::grouped(urls), human::percent(*rate));
            let hashes = arithmetic::hashes(config.filter, bits);
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
        match arithmetic::bits_for_rate(config.filter, rate) {
            Some(bits) => {
                let urls = human::grouped((plan.filter as f64 * 8.0 / bits) as u64);
                append(&mut text, format_args!("  {shown:>12}{bits:>12.2}{urls:>15}\n"));
            }
            None => append(&mut text, format_args!("  {shown:>12}  beyond this filter\n")),
        }
    }
    text
}

/// Writing to a text cannot fail.
fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}
