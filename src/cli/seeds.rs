//! Seeds from arguments and lists, into one file in the crawl directory.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use dragline::config::{Options, seeds};

use super::{ExitCode, Failure, escape, say};

/// What became of the seeds given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spooled {
    pub(super) accepted: u64,
    pub(super) refused: u64,
}

/// Fails where there are no seeds, or a list that cannot be opened, before
/// anything is written.
pub(super) fn check(options: &Options) -> Result<(), Failure> {
    if options.urls.is_empty() && options.seeds.is_empty() {
        let message = "no seeds; give URLs, or a list of them with --seeds FILE";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    if let Some(word) =
        options.urls.iter().find(|word| !word.trim().is_empty() && !word.contains([':', '/', '.']))
    {
        let message = format!(
            "'{word}' is no URL (a switch takes its value after '=', as in --fresh=true; \
             a host is written http://{word}/)"
        );
        return Err(Failure::new(ExitCode::Usage, message));
    }
    for path in options.seeds.iter().filter(|path| path.as_os_str() != "-") {
        let opened = File::open(path).and_then(|file| file.metadata());
        match opened {
            Ok(about) if about.is_dir() => return Err(unreadable(path, "is a directory; give a file")),
            Ok(_) => {}
            Err(error) => return Err(unreadable(path, &format!("cannot be read ({error})"))),
        }
    }
    Ok(())
}

fn unreadable(path: &Path, problem: &str) -> Failure {
    Failure::new(ExitCode::Configuration, format!("--seeds {}: {problem}", path.display()))
}

/// Writes the seeds the judge accepts to a file, one a line; each other one is
/// reported on standard error with its place.
pub(super) fn spool(
    options: &Options,
    into: &Path,
    mut judge: impl FnMut(&str) -> Result<(), String>,
) -> Result<Spooled, Failure> {
    let failed = |error| Failure::writing(&into.display().to_string(), &error);
    let mut file = BufWriter::new(File::create(into).map_err(failed)?);
    let mut spooled = Spooled::default();
    for (position, url) in options.urls.iter().enumerate() {
        let url = url.trim();
        match judge(url) {
            Ok(()) => {
                writeln!(file, "{url}").map_err(failed)?;
                spooled.accepted += 1;
            }
            Err(reason) => complain(&mut spooled, &format!("seed {}: {reason}", position + 1)),
        }
    }
    for path in &options.seeds {
        spool_list(path, &mut file, &mut judge, &mut spooled)?;
    }
    file.flush().map_err(failed)?;
    Ok(spooled)
}

fn spool_list(
    path: &Path,
    file: &mut impl Write,
    judge: impl FnMut(&str) -> Result<(), String>,
    spooled: &mut Spooled,
) -> Result<(), Failure> {
    let name = if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
    let reader = seeds::open(path).map_err(|error| unreadable(path, &format!("cannot be read ({error})")))?;
    for seed in seeds::read(reader, judge) {
        match seed {
            Ok(seed) => {
                writeln!(file, "{}", seed.text).map_err(|error| Failure::writing("the seeds", &error))?;
                spooled.accepted += 1;
            }
            Err(problem) => complain(spooled, &format!("{name}, {problem}")),
        }
    }
    Ok(())
}

fn complain(spooled: &mut Spooled, problem: &str) {
    say::line(&format!("dragline: {}", escape::escape(problem)));
    spooled.refused += 1;
}
