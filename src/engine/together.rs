//! What several crawls say together: their sketches merged, or held against each other.
//!
//! Only reads the directories of the crawls, and takes no lock: of one that runs, or whose process died,
//! it is what stood at the last checkpoint.
//!
//! ```text
//! a merged directory:  sketches       as in a crawl's state, of all crawls that it holds
//!                      summary.json   what they say
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::inspect::is_running;
use super::recovery::peek_state;
use super::sketches;
use crate::config::{ConfigError, Options};
use crate::sink::{holds_crawl, is_complete, pretty_json};
use crate::sketch::{Comparison, Estimate, MergeError};
use crate::stats::{CrawlPart, HostChange, KeptSketches, KeptSketchesError, Portrait};
use crate::store::{FileSystem, StateError, replace_file};

/// The file of sketches in a merged directory.
const MERGED: &str = "sketches";

/// Why crawls cannot be taken together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TogetherError {
    /// There is neither a crawl in a directory nor what was merged.
    #[error("{}: holds neither a crawl nor merged ones; name the --output of a crawl, or the OUT of a merge", .0.display())]
    NothingThere(PathBuf),
    /// Its state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Its sketches cannot be used.
    #[error(transparent)]
    Sketches(#[from] KeptSketchesError),
    /// Two directories hold the same crawl.
    #[error("{}: holds crawl {id:016x}, which {} holds, too; name each crawl once", .second.display(), .first.display())]
    Twice {
        /// The crawl.
        id: u64,
        /// The directory named first …
        first: PathBuf,
        /// … and the other one.
        second: PathBuf,
    },
    /// The sketches of two directories were made otherwise.
    #[error("{} and {}: {source}; crawls with the same options and enough memory for sketches of the usual size (see 'dragline plan') can be merged", .first.display(), .second.display())]
    Unlike {
        /// The directory named first …
        first: PathBuf,
        /// … and the other one.
        second: PathBuf,
        /// What they differ in.
        source: Box<MergeError>,
    },
    /// Two crawls took other spellings for one page.
    #[error("{} and {}: crawls of other canonicalization, {first_rules} and {second_rules}, cannot be held together; their URLs mean other pages", .first.display(), .second.display())]
    Canonicalization {
        /// The directory named first …
        first: PathBuf,
        /// … and its rules that are not the usual ones.
        first_rules: String,
        /// The other directory …
        second: PathBuf,
        /// … and its rules.
        second_rules: String,
    },
    /// The configuration of a crawl cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What was merged is not overwritten.
    #[error("{}: exists; name another directory for what is merged", .0.display())]
    Exists(PathBuf),
    /// It cannot be written.
    #[error("cannot write {}: {source}", .file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Up to when sketches tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AsOf {
    /// The end of a crawl that is complete.
    End,
    /// The last checkpoint of a crawl that goes on, or can.
    LastCheckpoint,
    /// What was merged.
    Merge,
}

/// What a directory says.
#[derive(Debug)]
struct Told {
    directory: PathBuf,
    as_of: AsOf,
    kept: KeptSketches,
}

impl Told {
    /// Reads the sketches of a crawl directory, or of a merged one.
    ///
    /// # Errors
    /// [`TogetherError`] where there are none, or they cannot be used.
    fn read(directory: &Path) -> Result<Self, TogetherError> {
        let merged = directory.join(MERGED);
        let (as_of, kept) = if merged.is_file() {
            let bytes = fs::read(&merged).map_err(StateError::io(&merged))?;
            (AsOf::Merge, KeptSketches::decode(&merged, &bytes)?)
        } else if holds_crawl(directory)? {
            let ended = is_complete(directory) && !is_running(directory)?;
            let as_of = if ended { AsOf::End } else { AsOf::LastCheckpoint };
            let mut kept = of_crawl(&directory.join("state"))?;
            let config = Options::read(&directory.join("crawl.toml"))?.resolve()?;
            for part in &mut kept.crawls {
                part.canonicalization = config.canonicalization.told();
            }
            (as_of, kept)
        } else {
            return Err(TogetherError::NothingThere(directory.into()));
        };
        Ok(Self { directory: directory.into(), as_of, kept })
    }

    /// Records of all crawls that it holds.
    fn records(&self) -> u64 {
        self.kept.crawls.iter().map(|crawl| crawl.records).sum()
    }

    /// The rules of canonicalization, which all crawls that it holds have.
    fn rules(&self) -> &str {
        self.kept.crawls.first().map_or("", |crawl| crawl.canonicalization.as_str())
    }

    fn spells_otherwise(&self, other: &Told) -> TogetherError {
        let shown = |rules: &str| if rules.is_empty() { "none".to_owned() } else { rules.to_owned() };
        TogetherError::Canonicalization {
            first: self.directory.clone(),
            first_rules: shown(self.rules()),
            second: other.directory.clone(),
            second_rules: shown(other.rules()),
        }
    }
}

/// A checkpoint may take the files away while they are read: then there is a newer manifest.
fn of_crawl(state: &Path) -> Result<KeptSketches, TogetherError> {
    let missing = || StateError::damaged(&state.join(super::keeper::MANIFEST), 0, "it is missing");
    let log =
        || -> Result<u64, StateError> { Ok(peek_state(&FileSystem, state)?.ok_or_else(missing)?.1.log) };
    let mut named = log()?;
    loop {
        let read = sketches::read(&FileSystem, state, named);
        let now = log()?;
        if read.is_ok() || now == named {
            return Ok(read?);
        }
        named = now;
    }
}

/// Several crawls as one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Merged {
    /// The crawls, each once.
    pub crawls: Vec<CrawlPart>,
    /// Records of all crawls; a page that two of them fetched counts twice here, and once in the estimates.
    pub records: u64,
    /// What all of them say.
    pub estimates: Portrait,
}

/// Merges what several directories say into a new directory.
///
/// # Errors
/// [`TogetherError`] where one cannot be read, two hold the same crawl, their sketches are unlike, or
/// the result cannot be written.
pub fn merge(out: &Path, directories: &[PathBuf]) -> Result<Merged, TogetherError> {
    if out.exists() {
        return Err(TogetherError::Exists(out.into()));
    }
    let mut held: Vec<(u64, PathBuf)> = Vec::new();
    let mut whole: Option<Told> = None;
    for directory in directories {
        let told = Told::read(directory)?;
        for part in &told.kept.crawls {
            if let Some((_, first)) = held.iter().find(|(id, _)| *id == part.id) {
                let (first, second) = (first.clone(), directory.clone());
                return Err(TogetherError::Twice { id: part.id, first, second });
            }
            held.push((part.id, directory.clone()));
        }
        match &mut whole {
            None => whole = Some(told),
            Some(whole) if whole.rules() != told.rules() => return Err(whole.spells_otherwise(&told)),
            Some(whole) => whole.kept.merge(&told.kept).map_err(|source| TogetherError::Unlike {
                first: whole.directory.clone(),
                second: directory.clone(),
                source: source.into(),
            })?,
        }
    }
    let whole = whole.ok_or_else(|| TogetherError::NothingThere(PathBuf::new()))?;
    let merged = Merged {
        crawls: whole.kept.crawls.clone(),
        records: whole.records(),
        estimates: whole.kept.sketches.portrait(true),
    };
    write_merged(out, &whole.kept, &merged)?;
    Ok(merged)
}

fn write_merged(out: &Path, kept: &KeptSketches, merged: &Merged) -> Result<(), TogetherError> {
    let failed = |file: &Path| {
        let file = file.to_owned();
        |source| TogetherError::Write { file, source }
    };
    fs::create_dir_all(out).map_err(failed(out))?;
    let (summary, file) = (out.join("summary.json"), out.join(MERGED));
    let text = pretty_json(merged).map_err(|error| failed(&summary)(std::io::Error::other(error)))?;
    replace_file(&summary, text.as_bytes()).map_err(failed(&summary))?;
    replace_file(&file, &kept.encode()).map_err(failed(&file))
}

/// Two crawls held against each other.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Compared {
    /// What the first is …
    pub first: Side,
    /// … and the second.
    pub second: Side,
    /// URLs that were answered for.
    pub urls: SharedUrls,
    /// Hosts whose pages have become more or fewer by more than three times what the estimate may be off by.
    pub hosts: Vec<HostChange>,
    /// Why nothing can be said of hosts, where it cannot.
    pub hosts_unlike: Option<String>,
}

/// One of two crawls.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Side {
    /// Its directory.
    pub directory: PathBuf,
    /// Up to when it tells.
    pub as_of: AsOf,
    /// Its records.
    pub records: u64,
    /// What it says.
    pub estimates: Portrait,
}

/// What two crawls share.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct SharedUrls {
    /// In one of them at least.
    pub either: Estimate,
    /// In both.
    pub both: Estimate,
    /// In the first alone.
    pub only_first: Estimate,
    /// In the second alone.
    pub only_second: Estimate,
}

impl From<Comparison> for SharedUrls {
    fn from(compared: Comparison) -> Self {
        let Comparison { union, both, only_first, only_second, .. } = compared;
        Self { either: union, both, only_first, only_second }
    }
}

/// Hosts that are told.
const HOSTS_TOLD: usize = 10;

/// Holds what two directories say against each other.
///
/// # Errors
/// [`TogetherError`] where one of them cannot be read.
pub fn compare(first: &Path, second: &Path) -> Result<Compared, TogetherError> {
    let (first, second) = (Told::read(first)?, Told::read(second)?);
    if first.rules() != second.rules() {
        return Err(first.spells_otherwise(&second));
    }
    let urls = first.kept.sketches.shared_urls(&second.kept.sketches).into();
    let (hosts, hosts_unlike) = match first.kept.sketches.host_changes(&second.kept.sketches, HOSTS_TOLD) {
        Ok(hosts) => (hosts, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let side = |told: &Told| Side {
        directory: told.directory.clone(),
        as_of: told.as_of,
        records: told.records(),
        estimates: told.kept.sketches.portrait(true),
    };
    Ok(Compared { first: side(&first), second: side(&second), urls, hosts, hosts_unlike })
}
