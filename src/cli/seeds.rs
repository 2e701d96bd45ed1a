//! Seeds from arguments and lists, into one file in the crawl directory.

use std::fs::File;
use std::io::BufRead;
use std::path::Path;

use dragline::config::{ConfigError, seeds};
use dragline::engine::{SeedSpool, SetupError, StopHandle};

use super::layers::Layers;
use super::{ExitCode, Failure, beside, escape, say};

/// What became of the seeds given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spooled {
    pub(super) accepted: u64,
    pub(super) refused: u64,
}

/// Fails where there are neither seeds nor sitemaps, or a list that cannot be opened, before
/// anything is written.
pub(super) fn check(layers: &Layers<'_>) -> Result<(), Failure> {
    let options = &layers.options;
    if options.urls.is_empty() && options.seeds.is_empty() && options.sitemap.is_empty() {
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
        // A pipe is opened once only: who writes to it would take the first reader's going for the end.
        let looked = std::fs::metadata(path).and_then(|about| {
            if about.is_file() {
                File::open(path)?;
            }
            Ok(about)
        });
        match looked {
            Ok(about) if about.is_dir() => {
                let (option, value) = ("seeds", path.display().to_string());
                let problem = "is a directory; give a file".to_owned();
                return Err(layers.failure(&ConfigError::Value { option, value, problem }));
            }
            Ok(_) => {}
            Err(error) => return Err(unreadable(layers, path, error)),
        }
    }
    Ok(())
}

fn unreadable(layers: &Layers<'_>, path: &Path, source: std::io::Error) -> Failure {
    layers.failure(&ConfigError::Unreadable { option: "seeds", path: path.to_owned(), source })
}

/// Puts the seeds that the judge accepts into a file; each other one is reported on standard error with its
/// place. Fails where it is to stop meanwhile.
pub(super) fn spool(
    layers: &Layers<'_>,
    mut into: SeedSpool,
    stop: &StopHandle,
    mut judge: impl FnMut(&str) -> Result<(), String>,
) -> Result<Spooled, Failure> {
    let failed = |error| layers.setup_failure(error);
    let mut spooled = Spooled::default();
    for (position, url) in layers.options.urls.iter().enumerate() {
        let url = url.trim();
        match judge(url) {
            Ok(()) => {
                into.add(url).map_err(failed)?;
                spooled.accepted += 1;
            }
            Err(reason) => complain(&mut spooled, &format!("seed {}: {reason}", position + 1)),
        }
    }
    for path in &layers.options.seeds {
        let spooled_list =
            beside::open(path, stop).map_err(|error| unreadable(layers, path, error)).and_then(|list| {
                spool_list(path, list, &mut into, &mut judge, &mut spooled, stop).map_err(failed)
            });
        // What cannot be read on since it is to stop is no fault of the list.
        if stop.is_requested() {
            return Err(SetupError::Stopped.into());
        }
        spooled_list?;
    }
    into.finish().map_err(failed)?;
    Ok(spooled)
}

fn spool_list(
    path: &Path,
    list: impl BufRead,
    into: &mut SeedSpool,
    judge: impl FnMut(&str) -> Result<(), String>,
    spooled: &mut Spooled,
    stop: &StopHandle,
) -> Result<(), SetupError> {
    let name = if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
    for seed in seeds::read(list, judge) {
        match seed {
            Ok(seed) => {
                into.add(&seed.text)?;
                spooled.accepted += 1;
            }
            Err(_) if stop.is_requested() => break,
            Err(problem) => complain(spooled, &format!("{name}, {problem}")),
        }
    }
    Ok(())
}

fn complain(spooled: &mut Spooled, problem: &str) {
    say::line(&format!("dragline: {}", escape::escape(problem)));
    spooled.refused += 1;
}
