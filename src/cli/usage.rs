//! Errors of the command line, in one line like all others.

use clap::error::ErrorKind;

use super::{ExitCode, escape, say};

/// Prints what clap has to say: help and version in full on standard output,
/// an error as one line.
pub(super) fn report(error: &clap::Error) -> ExitCode {
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
            say::line(&format!("dragline: {}", escape::escape(&one_line(error))));
            ExitCode::Usage
        }
    }
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
    use super::super::help;
    use super::*;

    fn refused(arguments: &[&str]) -> String {
        let line = std::iter::once("dragline").chain(arguments.iter().copied());
        one_line(&help::command().try_get_matches_from(line).expect_err("no valid line"))
    }

    #[test]
    fn errors_are_one_line_and_name_the_thing() {
        let rows: [(&[&str], &[&str]); 5] = [
            (&["crawl", "--memroy", "1"], &["--memroy", "similar", "--memory"]),
            (&["crawl", "--memory", "much"], &["much", "--memory", "64MiB"]),
            (&["crawl", "--scope", "all"], &["all", "possible values", "domain"]),
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
