//! The first pass: every page with a fingerprint, in few bytes, and the number of its host.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::reading::{count_lines, each_record, length_of, url_at};
use super::{HOST_BYTES, LEAST_BYTES, NearDuplicatesError, PAGE_BYTES, PagesCompared};
use crate::model::KeyHash;
use crate::sketch::{Block, Fingerprint, RepeatedBlocks, fingerprint};
use crate::store::StateError;
use crate::url::host_of;

/// A page with a fingerprint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// Where its record begins.
    pub(super) place: u64,
    fingerprint: u64,
    pub(super) host: u32,
    /// The fingerprint is of what is its own.
    by_own: bool,
}

impl Page {
    fn new(place: u64, host: u32, simhash: u64) -> Self {
        Self { place, fingerprint: simhash, host, by_own: false }
    }

    /// What it is compared by: the SimHash of all of it, until something else is said.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        if self.by_own { Fingerprint::Own(self.fingerprint) } else { Fingerprint::Whole(self.fingerprint) }
    }

    /// Has it compared by what is its own, where there is enough of that. Whether there is.
    pub(super) fn leave_out(&mut self, blocks: &[Block], place: u32, repeated: &RepeatedBlocks) -> bool {
        if let Fingerprint::Own(own) = Fingerprint::of(self.fingerprint, blocks, place, repeated) {
            (self.fingerprint, self.by_own) = (own, true);
        }
        self.by_own
    }
}

/// All pages with a fingerprint, in the order of their records.
#[derive(Debug)]
pub(super) struct Pages {
    path: PathBuf,
    /// Bytes of the file that were there at the beginning: it may grow meanwhile.
    length: u64,
    pub(super) list: Vec<Page>,
    /// Pages of each host, by its number.
    pub(super) of_host: Vec<u32>,
    pub(super) compared: PagesCompared,
}

impl Pages {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// Where it cannot be read, or its pages do not fit into so many bytes.
    pub(super) fn read(path: &Path, memory: u64) -> Result<Self, NearDuplicatesError> {
        let length = length_of(path)?;
        let lines = count_lines(path, length)?;
        let most = (memory.saturating_sub(LEAST_BYTES) / PAGE_BYTES as u64).min(u64::from(u32::MAX)) as usize;
        let mut pages = Self {
            path: path.into(),
            length,
            list: Vec::with_capacity(lines.min(most)),
            of_host: Vec::new(),
            compared: PagesCompared::default(),
        };
        let (mut found, mut hosts) = (0_u64, HashMap::<u64, u32, KeyHash>::default());
        each_record(path, length, |place, line| {
            let compared = &mut pages.compared;
            compared.records += 1;
            let Some(line) = line else {
                compared.unreadable += 1;
                return;
            };
            let Some(simhash) = line.simhash() else {
                compared.without_fingerprint += 1;
                return;
            };
            found += 1;
            let name = fingerprint(host_of(&line.url));
            let next = hosts.len() as u32;
            if needed(found, u64::from(next) + 1) <= memory {
                let host = *hosts.entry(name).or_insert(next);
                if host == next {
                    pages.of_host.push(0);
                }
                pages.of_host[host as usize] += 1;
                pages.list.push(Page::new(place, host, simhash));
            }
        })?;
        let hosts = hosts.len() as u64;
        pages.compared.hosts = hosts;
        let fitting = pages.list.len() as u64;
        if fitting < found {
            // The others may have as many hosts.
            let needed = needed(found, hosts.max(1) * found.div_ceil(fitting.max(1)));
            return Err(NearDuplicatesError::Memory { memory, needed, pages: found });
        }
        Ok(pages)
    }

    /// Shows every page once more, with the text of its blocks where its record lists them.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn each_again(
        &mut self,
        mut visit: impl FnMut(&mut Page, Option<&str>),
    ) -> Result<(), StateError> {
        let mut pages = self.list.iter_mut().peekable();
        each_record(&self.path, self.length, |place, line| {
            if let Some(page) = pages.next_if(|page| page.place == place) {
                visit(page, line.as_ref().and_then(|line| line.blocks.as_deref()));
            }
        })
    }

    /// The URL of a page.
    ///
    /// # Errors
    /// Where its record cannot be read any more.
    pub(super) fn url(&self, page: &Page) -> Result<String, StateError> {
        url_at(&self.path, page.place)
    }
}

/// Bytes that so many pages of so many hosts need.
fn needed(pages: u64, hosts: u64) -> u64 {
    pages * PAGE_BYTES as u64 + hosts * HOST_BYTES as u64 + LEAST_BYTES
}
