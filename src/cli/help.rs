//! The command with its help completed: every default, every exit code.

use clap::{Arg, Command, CommandFactory};
use dragline::config::defaults;

use super::{Cli, demo, exit, normalize, plan, robots};

/// The whole command line, ready to parse.
pub(super) fn command() -> Command {
    let command = Cli::command().after_help(exit::table());
    command
        .mut_subcommand("crawl", |command| {
            with_defaults(command, &[]).after_help(format!("{VALUES}\n{}", exit::table()))
        })
        .mut_subcommand("resume", |command| command.after_help(VALUES))
        .mut_subcommand("plan", |command| only(command, &plan::OPTIONS, &[]))
        .mut_subcommand("normalize", |command| only(command, &normalize::OPTIONS, &[]))
        .mut_subcommand("robots", |command| renamed(only(command, &robots::OPTIONS, &[]), &robots::RENAMED))
        .mut_subcommand("demo", |command| only(command, &demo::OPTIONS, &demo::DEFAULTS))
}

/// How the values are written for which `config::quantity` owns the grammar.
const VALUES: &str = "\
Values:
  SIZE  bytes, or with a unit: 64MiB, 1.5GiB (KiB, MiB, GiB, TiB: powers of 1024);
        500MB, 1G, 10k (k, M, G, T, with or without B: powers of 1000)
  TIME  250ms, 2s, 5m, 1h30m, 1d; a bare number is seconds
  N     10000, 10_000, 10k, 2.5M (powers of 1000)
";

/// The same, deaf to the environment.
pub(super) fn command_without_environment() -> Command {
    command().mut_subcommands(|command| command.mut_args(|argument| argument.env(None::<&str>)))
}

/// Adds to the help of each option what it is where nothing is said; `own` are
/// the defaults that a command has of its own.
fn with_defaults(command: Command, own: &[(&str, &str)]) -> Command {
    command.mut_args(|argument| {
        let name = argument.get_long().unwrap_or_default();
        let own = own.iter().find(|(option, _)| *option == name).map(|(_, default)| (*default).to_owned());
        let default = own.or_else(|| defaults::describe(name));
        // A variable may hold a cookie or a password, so help names it alone. And `-1` is no
        // flag: what is wrong with it is said of the option.
        let valued = argument.get_action().takes_values();
        let argument = argument.hide_env_values(true).allow_negative_numbers(valued);
        match (default, argument.get_help()) {
            (Some(default), Some(help)) => {
                let help = format!("{help} [default: {default}]");
                argument.help(help)
            }
            _ => argument,
        }
    })
}

/// Shows only the options that matter to a command. The others are known to it, since they may stand in the
/// environment or in a file made for `crawl`; typed, they are refused (see `layers`).
fn only(command: Command, shown: &[&str], own: &[(&str, &str)]) -> Command {
    let names = shared_options();
    with_defaults(command, own).after_help(VALUES).mut_args(|argument: Arg| {
        let name = argument.get_long().unwrap_or_default();
        let hidden = names.iter().any(|shared| shared == name) && !shown.contains(&name);
        argument.hide(hidden)
    })
}

/// Gives options another flag; their own one still works.
fn renamed(command: Command, names: &'static [(&'static str, &'static str)]) -> Command {
    command.mut_args(|argument| {
        let name = argument.get_long().unwrap_or_default();
        match names.iter().find(|(own, _)| *own == name) {
            Some((own, other)) => argument.long(*other).alias(*own),
            None => argument,
        }
    })
}

/// The long flags of the options type.
pub(super) fn shared_options() -> Vec<String> {
    let options = <dragline::config::Options as clap::Args>::augment_args(Command::new(""));
    options.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn values_are_written_as_help_says() {
        use dragline::config::{Count, Size, Span};
        let told = |text: &str| VALUES.contains(text);
        for text in ["64MiB", "1.5GiB", "500MB", "1G", "10k"] {
            assert!(told(text) && text.parse::<Size>().is_ok(), "{text}");
        }
        for text in ["250ms", "2s", "5m", "1h30m", "1d"] {
            assert!(told(text) && text.parse::<Span>().is_ok(), "{text}");
        }
        for text in ["10000", "10_000", "10k", "2.5M"] {
            assert!(told(text) && text.parse::<Count>().is_ok(), "{text}");
        }
        assert_eq!("1G".parse(), Ok(Size(1_000_000_000)));
        assert_eq!("24MB".parse(), Ok(Size(24_000_000)));
    }

    #[test]
    fn shown_options_exist() {
        let names = shared_options();
        let lists: [&[&str]; 4] = [&plan::OPTIONS, &normalize::OPTIONS, &robots::OPTIONS, &demo::OPTIONS];
        let own = demo::DEFAULTS.iter().chain(&robots::RENAMED).map(|(name, _)| *name);
        for name in lists.concat().into_iter().chain(own) {
            assert!(names.iter().any(|shared| shared == name), "{name}");
        }
    }
}
