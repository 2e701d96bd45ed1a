//! The command `dragline`: parses, runs, exits.

mod cli;

fn main() -> std::process::ExitCode {
    dragline::budget::economize();
    cli::run(std::env::args_os()).into()
}
