//! Errors of the command line, in one line like all others.

use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};
use dragline::config::{Origin, mistake};

use super::{ExitCode, Failure, escape, help, say};

/// Prints what clap has to say: help and version in full on standard output,
/// an error as one line.
pub(super) fn report(error: &clap::Error, line: &[OsString]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away is no error.
            let _ = error.print();
            ExitCode::Done
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::Usage
        }
        _ => {
            let Failure { code, message } = explain(error, line);
            say::line(&format!("dragline: {}", escape::escape(&message)));
            code
        }
    }
}

/// What is wrong with a line, or with the environment beside it.
fn explain(error: &clap::Error, line: &[OsString]) -> Failure {
    if error.kind() == ErrorKind::UnknownArgument && subcommand(line) == Some("resume") {
        return Failure::new(ExitCode::Usage, not_for_resume(error));
    }
    let Some(mistake) = mistake(error) else {
        return Failure::new(ExitCode::Usage, one_line(error));
    };
    let typed = help::command_without_environment().try_get_matches_from(line).err();
    let (origin, code) = if typed.and_then(|error| self::mistake(&error)).as_ref() == Some(&mistake) {
        (Origin::Flag, ExitCode::Usage)
    } else {
        (Origin::Variable, ExitCode::Configuration)
    };
    if mistake.value.is_empty() && origin == Origin::Flag {
        let usage = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        let usage = usage.replace(['<', '>'], "");
        let message = format!("--{}: a value is missing; write {usage}", mistake.option);
        return Failure::new(code, message);
    }
    Failure::new(code, format!("{}: {}", origin.spell(&mistake.option, &mistake.value), mistake.problem))
}

/// The command of a line.
fn subcommand(line: &[OsString]) -> Option<&str> {
    line.get(1)?.to_str()
}

/// An option that a crawl keeps from its beginning, or none at all.
fn not_for_resume(error: &clap::Error) -> String {
    let given = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let command = help::command();
    let resume = command.find_subcommand("resume");
    let flags = resume.into_iter().flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_long);
    let flags: Vec<String> = flags.filter(|flag| *flag != "help").map(|flag| format!("--{flag}")).collect();
    format!("{given}: a crawl goes on as it began; 'dragline resume DIR' takes {} only", flags.join(", "))
}

/// The message and its tips, without the reminder of how the command is used.
pub(super) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let told = text.split("\n\nUsage:").next().unwrap_or_default();
    let told = told.split("\n\nFor more information").next().unwrap_or_default();
    let mut line = String::new();
    // Nobody who mistypes an option means it as a value.
    let misleads = |part: &&str| part.contains("as a value, use '-- ");
    let parts = told.lines().map(str::trim).filter(|part| !part.is_empty() && !misleads(part));
    for part in parts {
        let part = part.strip_prefix("error: ").unwrap_or(part);
        let separator = match part {
            _ if line.is_empty() => "",
            tip if tip.starts_with("tip:") => "; ",
            _ => " ",
        };
        line.push_str(separator);
        line.push_str(part.strip_prefix("tip: ").unwrap_or(part));
    }
    line + " (--help shows what can be given)"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(arguments: &[&str]) -> String {
        let line = std::iter::once("dragline").chain(arguments.iter().copied());
        let line: Vec<OsString> = line.map(Into::into).collect();
        let command = help::command_without_environment();
        explain(&command.try_get_matches_from(&line).expect_err("no valid line"), &line).message
    }

    #[test]
    fn errors_are_one_line_and_name_the_thing() {
        let rows: [(&[&str], &[&str]); 12] = [
            (&["crawl", "--memroy", "1"], &["--memroy", "similar", "--memory"]),
            (&["crawl", "--memory", "much"], &["--memory much: not a size", "64MiB"]),
            (&["crawl", "--scope", "all"], &["--scope all: none of page", "domain"]),
            (&["crawl", "-d", "-1"], &["--depth -1: not a whole number"]),
            (&["demo", "--listen", "here"], &["--listen here: not an address", "127.0.0.1:8080"]),
            (&["crawl", "-o"], &["--output: a value is missing; write --output DIR"]),
            (&["crawl", "--output="], &["--output: a value is missing; write --output DIR"]),
            (&["crawl", "--scope"], &["--scope: a value is missing; write --scope SCOPE"]),
            (&["resume", "c", "--delay", "0s"], &["--delay: a crawl goes on as it began", "--max-pages,"]),
            (&["status", "c", "--delay"], &["--delay"]),
            (&["normalize"], &["<URL>"]),
            (&["crowl"], &["crowl", "crawl"]),
        ];
        for (arguments, parts) in rows {
            let line = refused(arguments);
            assert!(!line.contains('\n') && !line.contains("'-- "), "{line}");
            for part in parts {
                assert!(line.contains(part), "{line}");
            }
        }
    }
}
