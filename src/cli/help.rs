//! The command with its help completed: every default, every exit code.

use clap::{Arg, Command, CommandFactory};
use dragline::config::defaults;

use super::{Cli, exit};

/// The whole command line, ready to parse.
pub(super) fn command() -> Command {
    let command = Cli::command().after_help(exit::table());
    command
        .mut_subcommand("crawl", |command| with_defaults(command).after_help(exit::table()))
        .mut_subcommand("plan", |command| only(command, &super::plan::OPTIONS))
        .mut_subcommand("normalize", |command| only(command, &super::normalize::OPTIONS))
        .mut_subcommand("demo", |command| only(command, &super::demo::OPTIONS))
}

/// Adds to the help of each option what it is where nothing is said.
fn with_defaults(command: Command) -> Command {
    command.mut_args(|argument| {
        let default = argument.get_long().and_then(defaults::describe);
        // A variable may hold a cookie or a password, so help names it alone.
        let argument = argument.hide_env_values(true);
        match (default, argument.get_help()) {
            (Some(default), Some(help)) => {
                let help = format!("{help} [default: {default}]");
                argument.help(help)
            }
            _ => argument,
        }
    })
}

/// Shows only the options that matter to a command; it takes the others too, so
/// that a line or a file made for `crawl` can be handed to it as it is.
fn only(command: Command, shown: &[&str]) -> Command {
    let names = shared_options();
    with_defaults(command).mut_args(|argument: Arg| {
        let name = argument.get_long().unwrap_or_default();
        let hidden = names.iter().any(|shared| shared == name) && !shown.contains(&name);
        argument.hide(hidden)
    })
}

/// The long flags of the options type.
fn shared_options() -> Vec<String> {
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
    fn shown_options_exist() {
        let names = shared_options();
        let lists: [&[&str]; 3] =
            [&super::super::plan::OPTIONS, &super::super::normalize::OPTIONS, &super::super::demo::OPTIONS];
        for name in lists.concat() {
            assert!(names.iter().any(|shared| shared == name), "{name}");
        }
    }
}
