//! The command line: what the binary parses and prints.
//!
//! One file per command. Everything a crawl needs comes from the library; here
//! are only arguments, exit codes, terminals, and the words on them.
#![allow(clippy::print_stdout, reason = "printing is what this module is for, and only this one")]

mod beside;
mod compare;
mod completions;
mod crawl;
mod demo;
mod escape;
mod exit;
mod explain;
mod help;
mod layers;
mod merge;
mod near_duplicates;
mod next;
mod normalize;
mod plan;
mod progress;
mod quoting;
mod resume;
mod robots;
mod say;
mod screen;
mod seeds;
mod status;
mod terminal;
mod usage;

use std::ffi::OsString;
use std::io::Write;

use clap::{ArgMatches, FromArgMatches, Parser, Subcommand};

pub(crate) use exit::ExitCode;
use exit::Failure;

/// A web crawler that stays inside one memory budget, fetches each page once,
/// and tells what it skipped
#[derive(Debug, Parser)]
#[command(name = "dragline", version, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl the web from seed URLs into a crawl directory
    Crawl(crawl::Arguments),
    /// Go on with a crawl that was stopped, killed or cut off
    Resume(resume::Arguments),
    /// Tell how a crawl stands, beside it or after it
    Status(status::Arguments),
    /// Tell what became of a URL in a crawl, and why
    Explain(explain::Arguments),
    /// Tell how much of one crawl is in another, and what has changed
    Compare(compare::Arguments),
    /// Merge the statistics of several crawls
    Merge(merge::Arguments),
    /// List the pages of a crawl that are nearly the same
    NearDuplicates(near_duplicates::Arguments),
    /// Show how a memory budget is split, and what filter it affords
    Plan(plan::Arguments),
    /// Print the canonical form of a URL
    Normalize(normalize::Arguments),
    /// Show whether robots.txt allows a URL, and the line that decides it
    Robots(robots::Arguments),
    /// Crawl a synthetic website inside this process, or serve it
    Demo(demo::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
}

/// Parses and runs one command line; errors are printed as one line.
pub(crate) fn run(line: impl IntoIterator<Item = OsString>) -> ExitCode {
    let line: Vec<OsString> = line.into_iter().collect();
    let matches = match help::command().try_get_matches_from(&line) {
        Ok(matches) => matches,
        Err(error) => return usage::report(&error, &line),
    };
    match dispatch(&matches) {
        Ok(code) => code,
        Err(failure) => {
            say::line(&format!("dragline: {}", escape::escape(&failure.message)));
            failure.code
        }
    }
}

fn dispatch(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let cli = Cli::from_arg_matches(matches)
        .map_err(|error| Failure { code: ExitCode::Usage, message: usage::one_line(&error) })?;
    // The options of a command know from its own matches which of them were typed.
    let typed = matches.subcommand().map_or(matches, |(_, typed)| typed);
    match cli.command {
        Command::Crawl(arguments) => crawl::run(arguments, typed),
        Command::Resume(arguments) => resume::run(arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::NearDuplicates(arguments) => near_duplicates::run(&arguments),
        Command::Plan(arguments) => plan::run(arguments, typed),
        Command::Normalize(arguments) => normalize::run(arguments, typed),
        Command::Robots(arguments) => robots::run(arguments, typed),
        Command::Demo(arguments) => demo::run(arguments, typed),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}

/// Prints text on standard output. A reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes()).map(|_| ())
}

/// The same with bytes. Whether there still is a reader.
fn print_bytes(bytes: &[u8]) -> Result<bool, Failure> {
    let mut output = std::io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::writing("standard output", &error)),
    }
}
