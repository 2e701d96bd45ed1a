//! The seeds of a crawl: their file, what they take before the crawl begins, and how they are taken in.
//!
//! The file is read as a stream, several times over, and may be of any length; a line is not. Where
//! somebody asks the crawl to stop meanwhile, reading ends: nothing has begun then, or what was taken in
//! is kept and the rest follows when the crawl is resumed.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::core::{Core, CoreError};
use super::crawl::SetupError;
use super::hashes::hashes;
use super::plan::{PlanError, plan_beside};
use super::shutdown::StopHandle;
use crate::config::seeds::LONGEST_LINE;
use crate::config::{Config, ConfigError, HeaderScope, ScopeKind};
use crate::fetch::SeedHost;
use crate::frontier::Moment;
use crate::human;
use crate::model::{LinkBatch, Via};
use crate::store::{FileSystem, Seal, StateError, Storage};
use crate::url::{Canonicalizer, KeySecret};

/// What a file of seeds is.
pub(super) fn seal(path: &Path) -> Result<Seal, StateError> {
    Seal::of(path, &*FileSystem.open(path).map_err(StateError::io(path))?)
}

/// The lines of a file of seeds. After an error there are no more.
pub(super) struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    /// Where the next line begins.
    offset: u64,
    ended: bool,
}

/// Opens a file of seeds.
pub(super) fn lines(path: &Path) -> Result<Lines, StateError> {
    let file = File::open(path).map_err(StateError::io(path))?;
    Ok(Lines { path: path.to_owned(), reader: BufReader::new(file), offset: 0, ended: false })
}

impl Lines {
    fn read(&mut self) -> Result<Option<String>, StateError> {
        let mut line = Vec::new();
        let most = LONGEST_LINE as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut line);
        if read.map_err(StateError::io(&self.path))? == 0 {
            return Ok(None);
        }
        let damaged = |place, problem| StateError::damaged(&self.path, self.offset + place, problem);
        if line.len() as u64 == most && line.last() != Some(&b'\n') {
            return Err(damaged(0, "its lines are longer than any seed"));
        }
        let length = line.len() as u64;
        line.pop_if(|last| *last == b'\n');
        let text = String::from_utf8(line);
        let text =
            text.map_err(|error| damaged(error.utf8_error().valid_up_to() as u64, "it is not UTF-8"))?;
        self.offset += length;
        Ok(Some(text))
    }
}

impl Iterator for Lines {
    type Item = Result<String, StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let line = self.read().transpose();
        self.ended = !matches!(line, Some(Ok(_)));
        line
    }
}

/// What the scope is made of: the seeds in a file, or the sitemaps that the user names where there are none.
pub(super) fn spanning(
    path: &Path,
    config: &Config,
) -> Result<Box<dyn Iterator<Item = Result<String, StateError>>>, StateError> {
    let mut seeds = lines(path)?.peekable();
    if seeds.peek().is_none() {
        return Ok(Box::new(config.sitemap.clone().into_iter().map(Ok)));
    }
    Ok(Box::new(seeds))
}

/// What the seeds are, before any is taken in.
#[derive(Debug, Default)]
pub(super) struct SeedList {
    /// How many there are.
    pub(super) seeds: u64,
    /// Their hosts, where anybody asks for them.
    pub(super) hosts: HashSet<SeedHost>,
}

/// Bytes that a seed takes in the scope, while its table grows.
const SEED_BYTES: u64 = 24;
/// Bytes that the host of a seed takes for the address guard and for headers, while that is made.
const SEED_HOST_BYTES: u64 = 320;
/// Hosts gathered before it is looked whether they still fit.
const HOSTS_AT_A_TIME: usize = 1024;

impl SeedList {
    /// Goes through the seeds.
    ///
    /// # Errors
    /// Where one cannot be read, it is to stop, or their hosts do not fit into the budget: they are not gathered
    /// further than it goes.
    pub(super) fn read(
        seeds: impl Iterator<Item = Result<String, StateError>>,
        canonicalizer: &Canonicalizer,
        config: &Config,
        stop: &StopHandle,
    ) -> Result<Self, SetupError> {
        let for_headers = !config.headers.is_empty() && config.header_scope == HeaderScope::Seeds;
        let wanted = !config.allow_private || for_headers;
        let mut list = Self::default();
        let sitemaps = config.sitemap.iter().filter_map(|text| canonicalizer.parse(text).ok());
        list.hosts.extend(sitemaps.filter(|_| wanted).filter_map(|target| SeedHost::of(&target.requested)));
        for seed in seeds {
            stop.check()?;
            if let Ok(target) = canonicalizer.parse(&seed?) {
                list.seeds += 1;
                let is_new =
                    wanted && SeedHost::of(&target.requested).is_some_and(|host| list.hosts.insert(host));
                if is_new && list.hosts.len().is_multiple_of(HOSTS_AT_A_TIME) {
                    list.check_hosts(config)?;
                }
            }
        }
        Ok(list)
    }

    /// Fails where the hosts met so far do not fit beside the least that everything else needs.
    fn check_hosts(&self, config: &Config) -> Result<(), SetupError> {
        match plan_beside(config, self.bytes(config)) {
            Err(PlanError::Budget(ConfigError::Memory { given, .. })) => {
                let hosts = self.hosts.len();
                let problem = format!(
                    "the seeds name more hosts than fit, and {hosts} of them take {} alone; give more",
                    human::bytes(hosts as u64 * SEED_HOST_BYTES)
                );
                Err(SetupError::Config(ConfigError::Value { option: "memory", value: given, problem }))
            }
            Err(error) => Err(error.into()),
            Ok(_) => Ok(()),
        }
    }

    /// The hosts alone.
    pub(super) fn into_hosts(self) -> Vec<SeedHost> {
        self.hosts.into_iter().collect()
    }

    /// Bytes of memory that grow with the seeds.
    pub(super) fn bytes(&self, config: &Config) -> u64 {
        let of_scope = if config.scope == ScopeKind::Any { 0 } else { self.seeds * SEED_BYTES };
        of_scope + self.hosts.len() as u64 * SEED_HOST_BYTES
    }

    /// A budget that is too small, told so that it is known that it has no room for the seeds.
    pub(super) fn blamed(&self, config: &Config, error: PlanError) -> PlanError {
        let PlanError::Budget(ConfigError::Memory { given, source }) = error else { return error };
        let taken = human::bytes(self.bytes(config));
        let problem =
            format!("too little beside the {taken} that the seeds take: {source}; give more, or fewer seeds");
        ConfigError::Value { option: "memory", value: given, problem }.into()
    }
}

/// Seeds taken in at a time, usually.
pub(super) const SEEDS_AT_A_TIME: u64 = 128;

/// How seeds are taken in.
pub(super) struct Taking<'a> {
    pub(super) canonicalizer: &'a Canonicalizer,
    pub(super) secret: &'a KeySecret,
    /// Seeds after which what was taken in is written down.
    pub(super) at_a_time: u64,
    /// Whoever may ask to stop; what has not been taken in by then is left.
    pub(super) stop: &'a StopHandle,
    /// Bytes on disk at which the crawl stops; what has not been taken in by then is left as well.
    pub(super) most_disk: Option<u64>,
}

impl Taking<'_> {
    /// Takes in the seeds that have not been taken in yet, then the sitemaps that the user names, and
    /// settles their doubts: all of that comes before the first page, or a seed first met as a link would
    /// never move its scope. Sitemaps are counted on behind the seeds; where there are none, they
    /// stand in for them: the scope is what they span, and their redirects move it.
    pub(super) fn take(
        &self,
        core: &mut Core,
        seeds: impl Iterator<Item = Result<String, StateError>>,
        sitemaps: &[String],
    ) -> Result<(), CoreError> {
        if core.seeds_complete {
            return Ok(());
        }
        let mut batch = LinkBatch::default();
        let (already, mut met) = (core.seeds_taken, 0);
        for text in seeds {
            let text = text?;
            met += 1;
            if met <= already {
                continue;
            }
            if let Ok(target) = self.canonicalizer.parse(&text) {
                core.scope_mut().add_seed(&target.requested);
                let hashes = hashes(self.secret, &target.canonical);
                batch.push(&target.requested, target.parts.origin_length, hashes, Via::Seed, None);
            }
            if met - core.seeds_taken >= self.at_a_time || batch.text.len() >= LinkBatch::MAX_TEXT / 2 {
                core.add_seeds(&std::mem::take(&mut batch), met, true)?;
                core.keep(Moment::START)?;
                if self.stop.is_requested() || self.most_disk.is_some_and(|most| core.disk_bytes() >= most) {
                    return Ok(());
                }
            }
        }
        core.add_seeds(&std::mem::take(&mut batch), met.max(already), true)?;
        let alone = met == 0;
        let further = usize::try_from(already.saturating_sub(met)).unwrap_or(usize::MAX);
        for target in sitemaps.iter().skip(further).filter_map(|text| self.canonicalizer.parse(text).ok()) {
            if alone {
                core.scope_mut().add_seed(&target.requested);
            }
            let hashes = hashes(self.secret, &target.canonical);
            batch.push(&target.requested, target.parts.origin_length, hashes, Via::SitemapFile, None);
        }
        core.add_seeds(&batch, met + sitemaps.len() as u64, alone)?;
        core.finish_seeds()
    }
}

impl Core {
    /// Puts back the seeds' part of the scope that a log said was taken in after the manifest.
    pub(super) fn widen_scope(
        &mut self,
        seeds: impl Iterator<Item = Result<String, StateError>>,
        from: u64,
        canonicalizer: &Canonicalizer,
    ) -> Result<(), StateError> {
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        for seed in seeds.take(self.seeds_taken as usize).skip(from as usize) {
            if let Ok(target) = canonicalizer.parse(&seed?) {
                scope.add_seed(&target.requested);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Result<String, StateError>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("seeds");
        std::fs::write(&path, bytes).expect("written");
        lines(&path).expect("opened").collect()
    }

    #[test]
    fn lines_come_as_they_stand() {
        let lines = read(b"a\n\n\xc3\xa9\nlast");
        let lines: Vec<String> = lines.into_iter().map(|line| line.expect("text")).collect();
        assert_eq!(lines, ["a", "", "é", "last"]);
        let longest = "x".repeat(LONGEST_LINE);
        assert!(read(format!("{longest}\n{longest}").as_bytes()).iter().all(Result::is_ok));
    }

    #[test]
    fn what_is_no_text_is_damage_at_its_place_and_the_end() {
        let long = vec![b'x'; LONGEST_LINE + 1];
        let cases: [(&[u8], u64); 3] = [(b"ab\n\xc3\xa9\xff\nc\n", 5), (b"\xff", 0), (&long, 0)];
        for (bytes, place) in cases {
            let mut lines = read(bytes);
            let error = lines.pop().expect("a line").expect_err("damaged");
            assert!(matches!(error, StateError::Damaged { offset, .. } if offset == place), "{error}");
            assert!(lines.iter().all(Result::is_ok));
        }
    }
}
