//! Errors of the command line, in one line like all others.

use std::ffi::OsString;

use clap::error::ErrorKind;
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
    let Some(mistake) = mistake(error) else {
        return Failure::new(ExitCode::Usage, one_line(error));
    };
    let typed = help::command_without_environment().try_get_matches_from(line).err();
    let (origin, code) = if typed.and_then(|error| self::mistake(&error)).as_ref() == Some(&mistake) {
        (Origin::Flag, ExitCode::Usage)
    } else {
        (Origin::Variable, ExitCode::Configuration)
    };
    Failure::new(code, format!("{}: {}", origin.spell(&mistake.option, &mistake.value), mistake.problem))
}

/// The message and its tips, without the reminder of how the command is used.
pub(super) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let told = text.split("\n\nUsage:").next().unwrap_or_default();
    let told = told.split("\n\nFor more information").next().unwrap_or_default();
    let mut line = String::new();
    for part in told.lines().map(str::trim).filter(|part| !part.is_empty()) {
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
        let rows: [(&[&str], &[&str]); 7] = [
            (&["crawl", "--memroy", "1"], &["--memroy", "similar", "--memory"]),
            (&["crawl", "--memory", "much"], &["--memory much: not a size", "64MiB"]),
            (&["crawl", "--scope", "all"], &["--scope all: none of page", "domain"]),
            (&["crawl", "-d", "-1"], &["--depth -1: not a whole number"]),
            (&["demo", "--listen", "here"], &["--listen here: not an address", "127.0.0.1:8080"]),
            (&["normalize"], &["<URL>"]),
            (&["crowl"], &["crowl", "crawl"]),
        ];
        for (arguments, parts) in rows {
            let line = refused(arguments);
            assert!(!line.contains('\n'), "{line}");
            for part in parts {
                assert!(line.contains(part), "{line}");
            }
        }
    }
}
