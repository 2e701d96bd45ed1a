//! Seeds on their way to the crawl, before it begins: those that can be none are left out and told of.
//!
//! Owns the file in which seeds wait and what it may take of the disk. It must not know what makes a seed
//! ([`SeedJudge`]) nor how seeds are taken in.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::crawl::{SetupError, most_disk};
use super::plan::plan;
use crate::budget::Plan;
use crate::config::{Config, ConfigError, Size};
use crate::human;
use crate::scope::{SeedJudge, SeedRefusal};
use crate::store::StateError;
use crate::url::without_userinfo;

/// Seeds that are left out, since they can be none.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    count: u64,
    first: Option<SeedRefusal>,
}

impl LeftOut {
    /// Those of the seeds that can be seeds; takes note of the others.
    pub(super) fn sort(
        &mut self,
        seeds: impl Iterator<Item = String>,
        judge: &SeedJudge,
    ) -> impl Iterator<Item = String> {
        seeds.filter(|seed| match judge.judge(seed) {
            Ok(_) => true,
            // an empty line is none rather than a bad one
            Err(_) if seed.trim().is_empty() => false,
            Err(refusal) => {
                self.count += 1;
                self.first.get_or_insert(refusal);
                false
            }
        })
    }

    /// What is to be told of them, where there are any.
    pub(super) fn note(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let seeds = human::of(self.count, "seed");
        Some(format!("{seeds} left out, since they can be none; the first: {first}"))
    }
}

/// The file in which seeds wait until it is certain that the crawl begins: one a line, without user names and
/// passwords, and no more of them than `--max-disk` leaves room for.
#[derive(Debug)]
pub struct SeedSpool {
    file: BufWriter<File>,
    path: PathBuf,
    room: SeedRoom,
    bytes: u64,
}

impl SeedSpool {
    /// Makes the file, or empties it.
    ///
    /// # Errors
    /// [`SetupError`] where the system refuses, or the configuration cannot be given its memory.
    pub fn create(path: &Path, config: &Config) -> Result<Self, SetupError> {
        let room = SeedRoom::beside(config, &plan(config)?.0);
        let file = BufWriter::new(File::create(path).map_err(StateError::io(path))?);
        Ok(Self { file, path: path.to_owned(), room, bytes: 0 })
    }

    /// Appends a seed; white space around it counts for nothing.
    ///
    /// # Errors
    /// [`SetupError`] where the system refuses, or the seeds alone take all that the crawl may have of the disk.
    pub fn add(&mut self, seed: &str) -> Result<(), SetupError> {
        let seed = without_userinfo(seed.trim());
        self.bytes += seed.len() as u64 + 1;
        self.room.check(self.bytes)?;
        Ok(writeln!(self.file, "{seed}").map_err(StateError::io(&self.path))?)
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// [`SetupError`] where it refuses.
    pub fn finish(mut self) -> Result<(), SetupError> {
        Ok(self.file.flush().map_err(StateError::io(&self.path))?)
    }
}

/// What the seeds may take of the disk: all that the crawl may, if anybody says how much that is.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeedRoom {
    limit: Option<u64>,
    most: Option<u64>,
}

impl SeedRoom {
    /// The room beside a crawl with this plan.
    pub(super) fn beside(config: &Config, plan: &Plan) -> Self {
        Self { limit: config.max_disk, most: config.max_disk.map(|limit| most_disk(limit, plan)) }
    }

    /// Fails where the seeds alone take what the crawl may have of the disk.
    pub(super) fn check(self, bytes: u64) -> Result<(), SetupError> {
        match (self.limit, self.most) {
            (Some(limit), Some(most)) if bytes >= most => Err(SetupError::Config(ConfigError::Value {
                option: "max-disk",
                value: Size(limit).to_string(),
                problem: format!("the seeds alone take {} at least; give more", human::bytes(bytes)),
            })),
            _ => Ok(()),
        }
    }

    /// The same where the keys of what earlier crawls fetched are kept beside them.
    pub(super) fn check_with(self, seeds: u64, keys: u64) -> Result<(), SetupError> {
        self.check(seeds)?;
        match (self.limit, self.most) {
            (Some(limit), Some(most)) if seeds + keys >= most => {
                Err(SetupError::Config(ConfigError::Value {
                    option: "max-disk",
                    value: Size(limit).to_string(),
                    problem: format!("--skip-crawled takes {} of it; give more", human::bytes(keys)),
                }))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Options;
    use crate::engine::{Crawl, CrawlBuilder, StopHandle, Urgency};

    fn builder(folder: &Path) -> CrawlBuilder {
        let options = Options {
            max_disk: Some(Size(16 << 20)),
            sitemap: vec!["http://a.test/s.xml".to_owned()],
            ..Options::default()
        };
        Crawl::builder().options(options).output(folder.join("crawl"))
    }

    fn left(folder: &Path) -> usize {
        std::fs::read_dir(folder).expect("readable").count()
    }

    #[test]
    fn a_seed_longer_than_a_line_is_left_out_and_told_of() {
        let folder = tempfile::tempdir().expect("a folder");
        let long = format!("http://a.test/#{}", "x".repeat(70_000));
        let seeds = [long.clone(), "http://b.test/".to_owned()];
        let crawl = builder(folder.path()).seeds(seeds).build().expect("one is left");
        let notes: Vec<&str> = crawl.notes().collect();
        assert!(notes.iter().any(|note| note.contains("1 seed left out") && note.len() < 400), "{notes:?}");
        let kept = std::fs::read_to_string(folder.path().join("crawl/state/seeds")).expect("kept");
        assert_eq!(kept, "http://b.test/\n");
        let alone = Crawl::builder().seed(long).build().err().expect("no seed is left");
        assert!(matches!(alone, SetupError::NoSeedLeft(_)), "{alone}");
    }

    #[test]
    fn seeds_without_end_are_refused_once_they_pass_max_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let seed = format!("http://a.test/{}", "x".repeat(1900));
        let refused = builder(folder.path()).seeds(std::iter::repeat(seed)).build().err().expect("refused");
        assert!(matches!(refused, SetupError::Config(ConfigError::Value { option: "max-disk", .. })));
        assert_eq!(left(folder.path()), 0, "nothing is left behind");
    }

    #[test]
    fn a_budget_without_room_for_the_seeds_says_so() {
        let options = Options { memory: Some(Size(16 << 20)), ..Options::default() };
        let seeds = (0..200_000).map(|number| format!("http://a.test/{number}"));
        let refused = Crawl::builder().options(options.clone()).seeds(seeds).build().err().expect("too many");
        let told = refused.to_string();
        assert!(
            told.starts_with("--memory 16MiB: too little beside the 4.6 MiB that the seeds take"),
            "{told}"
        );
        assert!(Crawl::builder().options(options).seed("http://a.test/").build().is_ok(), "one has room");
    }

    #[test]
    fn a_stop_before_the_first_seed_is_no_lack_of_seeds() {
        let folder = tempfile::tempdir().expect("a folder");
        let asked = || {
            let stop = StopHandle::default();
            stop.request(Urgency::Finish);
            stop
        };
        let seeds = || std::iter::repeat("http://a.test/".to_owned());
        let kept = builder(folder.path()).seeds(seeds()).stop_handle(asked()).build();
        let forgotten = Crawl::builder().seeds(seeds()).stop_handle(asked()).build();
        for stopped in [kept, forgotten] {
            let error = stopped.err().expect("it has not begun");
            assert!(matches!(error, SetupError::Stopped), "{error}");
        }
        assert_eq!(left(folder.path()), 0, "nothing is left behind");
    }
}
