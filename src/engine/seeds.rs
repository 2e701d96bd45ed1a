//! Seeds that the builder is given, on their way to the crawl: those that can be none are left out and told of.
//!
//! It must not know what makes a seed ([`SeedJudge`]) nor how seeds are taken in.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

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

/// Writes seeds to a file, one a line, without user names and passwords.
pub(super) fn spool(seeds: impl Iterator<Item = String>, path: &Path) -> Result<(), StateError> {
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for seed in seeds {
            writeln!(file, "{}", without_userinfo(seed.trim()))?;
        }
        file.flush()
    };
    write().map_err(StateError::io(path))
}
