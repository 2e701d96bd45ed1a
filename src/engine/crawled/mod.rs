//! What earlier crawls fetched, which `--skip-crawled` does not fetch again.
//!
//! When a crawl begins, the records of each earlier crawl are read once ([`gather`], [`reading`]): the keys of
//! the pages it fetched, sorted, become a file in the state of the new crawl, which needs the earlier
//! directory no more from then on. A candidate is asked for where it is accepted, so only what is new to
//! this crawl is, and never a repeat: its canonical form is hashed under the secret of that crawl, a filter in
//! memory denies nearly all that it does not hold, and a block on disk decides the rest. Nothing new is
//! skipped by mistake, but for two URLs of one 64-bit key.
//!
//! Must not know how the keys are held ([`KnownKeys`]).

mod gather;
mod reading;

use std::path::Path;
use std::sync::Arc;

use super::core::{Core, CoreError};
use super::recovery::malformed_manifest;
use crate::human;
use crate::model::{Candidate, SkipReason, Via};
use crate::store::{Decoder, Encoder, Malformed, StateError, Storage};
use crate::url::{Canonicalizer, KeySecret};
use crate::visited::{KnownKeys, KnownSettings, Place, RestoreError, SortedKeys, SortedSet};

pub(super) use self::gather::{gather, kept_in, kept_nowhere};

/// Where in the state directory the keys of earlier crawls are.
pub(crate) const CRAWLED: &str = "crawled";

/// What is remembered of one earlier crawl.
#[derive(Debug, Clone, PartialEq)]
struct EarlierCrawl {
    /// Its directory, as the user named it.
    directory: Box<str>,
    /// Under which its URLs are hashed.
    secret: KeySecret,
    /// The keys of the pages that it fetched.
    set: SortedSet,
}

/// What is remembered of all earlier crawls: a part of the manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EarlierCrawls(Vec<EarlierCrawl>);

impl EarlierCrawls {
    /// The sets of their keys.
    pub(super) fn sets(&self) -> impl Iterator<Item = SortedSet> {
        self.0.iter().map(|crawl| crawl.set)
    }

    /// One of which this is remembered.
    #[cfg(test)]
    pub(super) fn one(directory: &str, secret: KeySecret, set: SortedSet) -> Self {
        Self(vec![EarlierCrawl { directory: directory.into(), secret, set }])
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of their files.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.sets().map(SortedSet::disk_bytes).sum()
    }

    /// What the user should know of them.
    pub(super) fn notes(&self, known: KnownSettings) -> Vec<String> {
        let pages = |crawl: &EarlierCrawl| {
            let pages = human::of(crawl.set.keys, "page");
            format!("--skip-crawled {}: {pages} that it fetched, not to be fetched again", crawl.directory)
        };
        let unfiltered = known.stretch.is_none() && !self.is_empty();
        let slower = unfiltered.then(|| {
            "--skip-crawled: --memory leaves no room for a filter of these pages, so every new URL is looked \
             up on disk: that is slower, and changes nothing else"
                .to_owned()
        });
        self.0.iter().map(pages).chain(slower).collect()
    }

    /// Appends them, for [`decode`](Self::decode): how many; of each its directory, its secret, and its set.
    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.number(self.0.len() as u64);
        for crawl in &self.0 {
            encoder.text(&crawl.directory);
            encoder.bytes(crawl.secret.as_bytes());
            crawl.set.encode(encoder);
        }
    }

    /// Takes what [`encode`](Self::encode) appended.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are none.
    pub(super) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let mut crawls = Vec::new();
        for _ in 0..decoder.number()? {
            let directory = decoder.text()?.into();
            let secret = decoder.bytes()?.try_into().map_err(|_| Malformed)?;
            let set = SortedSet::decode(decoder)?;
            crawls.push(EarlierCrawl { directory, secret: KeySecret::from_bytes(secret), set });
        }
        Ok(Self(crawls))
    }

    /// Names of their files.
    pub(super) fn named_files(&self, place: &Place) -> impl Iterator<Item = String> {
        self.sets().map(|set| SortedKeys::file_name(place, set))
    }

    /// The rule by which a page is not fetched again, found without opening the sets; `state` is the
    /// directory of the state.
    ///
    /// # Errors
    /// A file is missing, or damaged where it is read.
    pub(super) fn rule(
        &self,
        storage: Arc<dyn Storage>,
        state: &Path,
        canonical: &str,
    ) -> Result<Option<String>, StateError> {
        let place = Place { storage, directory: state.join(CRAWLED) };
        for crawl in &self.0 {
            let holds = SortedKeys::set_holds(&place, crawl.set, crawl.secret.key(canonical));
            if holds.map_err(|error| unusable(state, error))? {
                return Ok(Some(rule(&crawl.directory)));
            }
        }
        Ok(None)
    }

    /// Reads and checks all files.
    ///
    /// # Errors
    /// One is missing or damaged.
    pub(super) fn verify(&self, storage: &Arc<dyn Storage>, state: &Path) -> Result<(), StateError> {
        let place = Place { storage: storage.clone(), directory: state.join(CRAWLED) };
        self.sets().try_for_each(|set| {
            let opened = SortedKeys::open(&place, set, &mut |_| Ok(()));
            opened.map(drop).map_err(|error| unusable(state, error))
        })
    }
}

/// The option that a skip is owed to.
fn rule(directory: &str) -> String {
    format!("--skip-crawled {directory}")
}

fn unusable(state: &Path, error: RestoreError) -> StateError {
    match error {
        RestoreError::Exact(error) => error.0,
        _ => malformed_manifest(state),
    }
}

/// The pages that earlier crawls fetched, to be asked.
#[derive(Debug, Default)]
pub(super) struct Crawled {
    earlier: EarlierCrawls,
    /// The keys of each of them.
    keys: Vec<KnownKeys>,
    canonicalizer: Canonicalizer,
    /// Which of them held the page that was asked for last, if any did.
    held_by: Option<usize>,
}

impl Crawled {
    /// Opens the files in a state directory: reads and checks all of them.
    ///
    /// # Errors
    /// One is missing or damaged.
    pub(super) fn open(
        earlier: EarlierCrawls,
        storage: &Arc<dyn Storage>,
        state: &Path,
        known: KnownSettings,
        canonicalizer: &Canonicalizer,
    ) -> Result<Self, StateError> {
        let place = Place { storage: storage.clone(), directory: state.join(CRAWLED) };
        let open = |set| KnownKeys::open(&place, set, known).map_err(|error| unusable(state, error));
        let keys = earlier.sets().map(open).collect::<Result<_, _>>()?;
        Ok(Self { earlier, keys, canonicalizer: canonicalizer.clone(), held_by: None })
    }

    /// What the manifest has to say.
    pub(super) fn earlier(&self) -> &EarlierCrawls {
        &self.earlier
    }

    /// The option that the last skip is owed to, as a person would type it.
    pub(super) fn rule(&self) -> Option<String> {
        Some(rule(&self.earlier.0.get(self.held_by?)?.directory))
    }

    /// Whether an earlier crawl fetched a page, by its URL as requested.
    fn holds(&mut self, url: &str) -> Result<bool, StateError> {
        self.held_by = None;
        let Ok(target) = self.canonicalizer.parse(url) else { return Ok(false) };
        for (place, (crawl, keys)) in self.earlier.0.iter().zip(&mut self.keys).enumerate() {
            if keys.holds(crawl.secret.key(&target.canonical))? {
                self.held_by = Some(place);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a candidate is fetched whoever fetched it before: the user named it, or it is how new pages are
/// found. A seed, and where it redirects to, is a wish; and a crawl that did not read its seeds and
/// sitemaps again would never meet what is new.
fn is_asked_anyway(candidate: &Candidate) -> bool {
    candidate.carries_scope || matches!(candidate.via, Via::Seed | Via::SitemapFile)
}

impl Core {
    /// Whether an earlier crawl fetched a new candidate, which then is skipped rather than queued.
    pub(super) fn is_crawled(&mut self, candidate: &Candidate) -> Result<bool, CoreError> {
        if self.crawled.keys.is_empty() || is_asked_anyway(candidate) {
            return Ok(false);
        }
        if !self.crawled.holds(&candidate.url)? {
            return Ok(false);
        }
        self.skip_found(candidate, SkipReason::AlreadyCrawled)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
