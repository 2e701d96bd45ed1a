//! What an earlier crawl fetched, read from its directory alone.
//!
//! Takes no lock and changes nothing. Its records count as far as its manifest and log vouch for them, and
//! all that it rests on is held against its checksums first. A directory that a process is at is refused:
//! where one came and went while it was read, that is noticed by the manifest.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::crawl::SetupError;
use super::super::inspect::is_running;
use super::super::judge::is_for_now;
use super::super::keeper::{MANIFEST, log_name};
use super::super::lines::try_each_line;
use super::super::recovery::{peek_state, replay_log};
use crate::budget::FIXED_BYTES;
use crate::config::{Config, ConfigError, Difference, Options};
use crate::human;
use crate::sink::{RecoveringFiles, ResultFile, check_configuration, holds_crawl, is_complete};
use crate::store::{FileSystem, StateError};
use crate::url::{Canonicalizer, KeySecret};

/// What is needed of a record.
#[derive(Debug, serde::Deserialize)]
struct Line {
    url: String,
    canonical: Option<String>,
    status: Option<u16>,
    error: Option<serde::de::IgnoredAny>,
}

impl Line {
    /// Whether the page was fetched: there is an answer, it is whole, and it does not say "not now".
    fn is_fetched(&self) -> bool {
        self.error.is_none() && self.status.is_some_and(|status| !is_for_now(status))
    }
}

/// Says of a directory why it cannot be skipped by.
pub(super) fn refused(directory: &Path, problem: impl Into<String>) -> SetupError {
    let value = directory.display().to_string();
    SetupError::Config(ConfigError::Value { option: "skip-crawled", value, problem: problem.into() })
}

/// The directory of an earlier crawl.
#[derive(Debug)]
pub(super) struct EarlierDirectory {
    path: PathBuf,
    /// That of its manifest when it was opened.
    generation: u64,
    /// Under which it hashes URLs.
    pub(super) secret: KeySecret,
    /// Bytes of its records that are vouched for.
    length: u64,
}

impl EarlierDirectory {
    /// Looks whether there is a crawl in a directory that URLs can be compared with. Reads little.
    ///
    /// # Errors
    /// [`SetupError`] naming the directory.
    pub(super) fn check(path: &Path, config: &Config) -> Result<(), SetupError> {
        if !holds_crawl(path)? {
            return Err(refused(path, "holds no crawl; name the --output of one"));
        }
        refuse_running(path)?;
        check_configuration(path)?;
        let options = Options::read(&path.join("crawl.toml"))?;
        let theirs = options.canonicalization()?;
        if let Some(Difference { option, one, other }) = theirs.difference(&config.canonicalization) {
            let problem = format!(
                "it was crawled with --{option} {one}, and this crawl has {other}, so their URLs cannot be \
                 compared; give both the same"
            );
            return Err(refused(path, problem));
        }
        let manifest = path.join("state").join(MANIFEST);
        let bytes = fs::metadata(&manifest).map_err(StateError::io(&manifest))?.len();
        // As it stands in the file, and as it is read.
        if bytes.saturating_mul(4) > config.memory.saturating_sub(FIXED_BYTES) {
            let bytes = human::bytes(bytes);
            return Err(refused(path, format!("its manifest alone has {bytes}; give more --memory")));
        }
        Ok(())
    }

    /// Opens a directory that was [checked](Self::check): reads all of its records, and holds them against
    /// what vouches for them.
    ///
    /// # Errors
    /// [`SetupError`] naming the file that is damaged or of another version.
    pub(super) fn open(path: &Path) -> Result<Self, SetupError> {
        let state = path.join("state");
        let missing = || StateError::damaged(&state.join(MANIFEST), 0, "it is missing");
        let (generation, kept) = peek_state(&FileSystem, &state)?.ok_or_else(missing)?;
        let mut sinks = kept.sinks;
        if is_complete(path) {
            // The other results of a complete crawl are the user's to move.
            sinks.retain(|(number, _)| *number == ResultFile::Pages.number());
        }
        let mut files = RecoveringFiles::open(&FileSystem, path, &sinks)?;
        let log = state.join(log_name(kept.log));
        replay_log(&FileSystem, &log, &mut files, |_, _| Ok::<_, StateError>(()))?;
        files.check()?;
        let length = files.length(ResultFile::Pages);
        Ok(Self { path: path.to_owned(), generation, secret: kept.secret, length })
    }

    /// Hands out the canonical form of each page that was fetched.
    ///
    /// # Errors
    /// Where its records cannot be read, a process has been at the crawl meanwhile, and whatever `visit` says.
    pub(super) fn each_fetched(
        &self,
        canonicalizer: &Canonicalizer,
        mut visit: impl FnMut(&str) -> Result<(), SetupError>,
    ) -> Result<(), SetupError> {
        let records = self.path.join(ResultFile::Pages.name());
        try_each_line(&records, self.length, |_, line| {
            let Ok(line) = serde_json::from_slice::<Line>(line) else { return Ok(()) };
            if !line.is_fetched() {
                return Ok(());
            }
            match (line.canonical, canonicalizer.parse(&line.url)) {
                (Some(canonical), _) => visit(&canonical),
                (None, Ok(target)) => visit(&target.canonical),
                (None, Err(_)) => Ok(()),
            }
        })?;
        refuse_running(&self.path)?;
        let now = peek_state(&FileSystem, &self.path.join("state"))?.map(|(generation, _)| generation);
        if now == Some(self.generation) {
            return Ok(());
        }
        Err(refused(&self.path, "the crawl in it went on while it was read; once more, when it has stopped"))
    }
}

fn refuse_running(path: &Path) -> Result<(), SetupError> {
    if is_running(path)? {
        return Err(refused(path, "a dragline is at the crawl in it; wait for its end, or stop it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_answers_that_hold_for_later_are_fetched_pages() {
        let fetched = |line: &str| serde_json::from_str::<Line>(line).expect("a record").is_fetched();
        for status in [200, 204, 301, 403, 404, 410, 451, 501] {
            assert!(
                fetched(&format!(r#"{{"url":"http://a.test/","status":{status},"depth":1}}"#)),
                "{status}"
            );
        }
        for status in [408, 425, 429, 500, 502, 503, 504, 600] {
            assert!(!fetched(&format!(r#"{{"url":"http://a.test/","status":{status}}}"#)), "{status}");
        }
        assert!(!fetched(
            r#"{"url":"http://a.test/","status":200,"error":{"kind":"incomplete","detail":""}}"#
        ));
        assert!(!fetched(r#"{"url":"http://a.test/","error":{"kind":"dns","detail":"x"}}"#));
    }
}
