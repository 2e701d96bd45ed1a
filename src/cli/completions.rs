//! `dragline completions SHELL`

use clap_complete::Shell;

use super::{ExitCode, Failure, help, print};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The shell that will read the script
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::command(), "dragline", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Done)
}
