//! Which pages of a crawl are nearly the same: from what it has written, beside it or after it.
//!
//! Only reads `pages.jsonl`, and takes no lock. A first pass takes the SimHash of each page. A second one
//! finds on each host which blocks repeat over its pages, and makes of what is left of a page a
//! fingerprint of its own, so that navigation does not make pages alike. Then all pairs within the
//! distance are found, and pages that are joined by such pairs, in any number of steps, are a group.
//!
//! **Memory**: [`PAGE_BYTES`] a page and [`HOST_BYTES`] a host; what is left counts blocks, of
//! as many hosts at a time as there is room for, and pages are read again for the next ones. **Time** grows
//! with the file, and with the square of how many different fingerprints share a quarter of their bits.

mod hosts;
mod pages;
mod reading;

use std::path::{Path, PathBuf};

use self::pages::Pages;
use crate::human::{bytes, of};
use crate::sink::{ResultFile, holds_crawl};
use crate::sketch::{Fingerprint, Groups, MOST_DISTANCE, SEARCH_BYTES, near_pairs};
use crate::store::StateError;

/// Bytes for each page with a fingerprint: what is known of it, its group, and what the search takes.
const PAGE_BYTES: usize = size_of::<pages::Page>() + size_of::<u32>() + 3 * size_of::<u64>() + SEARCH_BYTES;

/// Bytes for each host: a place in a table at most half empty, and a number.
const HOST_BYTES: usize = 2 * (size_of::<(u64, u32)>() + 1) + size_of::<u32>();

/// Bytes that the program takes, and that blocks are counted in at the least.
const LEAST_BYTES: u64 = 32 << 20;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Bits in which the fingerprints of two pages may differ, 10 at most.
    pub distance: u32,
    /// Bytes of memory that may be used in all.
    pub memory: u64,
}

/// Why nothing can be said of a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NearDuplicatesError {
    /// There is no crawl in it.
    #[error("{}: holds no crawl; name the --output of one", .0.display())]
    NoCrawl(PathBuf),
    /// A distance that is not searched.
    #[error(
        "distance {0}: more than {MOST_DISTANCE} bits are no likeness; give one from 0 to {MOST_DISTANCE}"
    )]
    Distance(u32),
    /// The pages do not fit into memory.
    #[error(
        "memory {}: too little for {}; give --memory {} or more",
        bytes(*.memory), of(*.pages, "page"), bytes(*.needed)
    )]
    Memory {
        /// What was allowed.
        memory: u64,
        /// What is needed.
        needed: u64,
        /// Pages with a fingerprint.
        pages: u64,
    },
    /// Something cannot be read, or is not what it was.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Counts of pages: `records` is the sum of the five that follow it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct PagesCompared {
    /// Lines of `pages.jsonl`.
    pub records: u64,
    /// Pages compared by what is their own on their host.
    pub by_own_text: u64,
    /// Pages compared by their whole text, as they have little of their own.
    pub by_whole_text: u64,
    /// Pages compared by their whole text, as their record lists no blocks: an earlier version wrote it.
    pub without_blocks: u64,
    /// Records without a fingerprint: failures, other than HTML, too few words.
    pub without_fingerprint: u64,
    /// Lines that are no record.
    pub unreadable: u64,
    /// Hosts of the pages compared.
    pub hosts: u64,
    /// Blocks that were left out, since they repeat over their host.
    pub repeated_blocks: u64,
}

/// Pages that are nearly the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Where its pages are in the list of all.
    range: std::ops::Range<u32>,
}

impl Group {
    /// How many pages it has, two or more.
    pub fn pages(&self) -> u64 {
        u64::from(self.range.end - self.range.start)
    }
}

/// A page of a group.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Member {
    /// The URL as requested.
    pub url: String,
    /// Bits in which it differs from the first page of the group; more than the distance where others join it to that.
    pub distance: u32,
}

/// The pages of a crawl that are nearly the same.
#[derive(Debug)]
pub struct NearDuplicates {
    /// What was compared.
    pub compared: PagesCompared,
    pages: Pages,
    /// Pages that are in groups, group after group.
    grouped: Vec<u32>,
    /// Where groups end in `grouped`.
    ends: Vec<u32>,
}

impl NearDuplicates {
    /// Searches the pages of a crawl directory, of which nothing is changed. Its file is read four times or more.
    ///
    /// # Errors
    /// [`NearDuplicatesError`] where there is no crawl, something cannot be read, or memory is too little.
    pub fn find(directory: &Path, search: Search) -> Result<Self, NearDuplicatesError> {
        if search.distance > MOST_DISTANCE {
            return Err(NearDuplicatesError::Distance(search.distance));
        }
        if !holds_crawl(directory)? {
            return Err(NearDuplicatesError::NoCrawl(directory.into()));
        }
        let mut pages = Pages::read(&directory.join(ResultFile::Pages.name()), search.memory)?;
        hosts::leave_out_repeated(&mut pages, search.memory)?;
        let mut groups = Groups::new(pages.list.len() as u32);
        let own = |page: Fingerprint| if let Fingerprint::Own(own) = page { Some(own) } else { None };
        let whole = |page: Fingerprint| if let Fingerprint::Whole(whole) = page { Some(whole) } else { None };
        join_near(&pages, own, search.distance, &mut groups);
        join_near(&pages, whole, search.distance, &mut groups);
        let (grouped, ends) = in_order(&pages, &mut groups);
        Ok(Self { compared: pages.compared, pages, grouped, ends })
    }

    /// The groups, host by host in the order in which hosts were met first. A group stands with the host of its first page.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = Group> + '_ {
        (0..self.ends.len()).map(|number| {
            let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            Group { range: start..self.ends[number] }
        })
    }

    /// How many pages are in groups.
    pub fn grouped(&self) -> u64 {
        self.grouped.len() as u64
    }

    /// The pages of a group in the order of their records, which are read once more.
    pub fn members(&self, group: &Group) -> impl Iterator<Item = Result<Member, StateError>> + '_ {
        let members =
            self.grouped.get(group.range.start as usize..group.range.end as usize).unwrap_or_default();
        let page = |number: u32| &self.pages.list[number as usize];
        members.iter().map(move |number| {
            let (first, this) = (page(members[0]).fingerprint(), page(*number).fingerprint());
            let distance = first.distance(this).unwrap_or_default();
            Ok(Member { url: self.pages.url(page(*number))?, distance })
        })
    }
}

/// Joins pages whose fingerprints of one kind are within the distance.
fn join_near(pages: &Pages, by: fn(Fingerprint) -> Option<u64>, distance: u32, groups: &mut Groups) {
    let fingerprints =
        || (0_u32..).zip(&pages.list).filter_map(|(n, page)| Some((by(page.fingerprint())?, n)));
    let mut all = Vec::with_capacity(fingerprints().count());
    all.extend(fingerprints());
    all.sort_unstable();
    // Equal ones are one, so that a million of them are no trillion pairs.
    all.dedup_by(|(fingerprint, page), (kept, first)| {
        let is_same = fingerprint == kept;
        if is_same {
            groups.join(*page, *first);
        }
        is_same
    });
    let different: Vec<u64> = all.iter().map(|(fingerprint, _)| *fingerprint).collect();
    near_pairs(&different, distance, |one, other, _| groups.join(all[one].1, all[other].1));
}

/// The pages that are in groups of two or more, group after group, and where each ends.
fn in_order(pages: &Pages, groups: &mut Groups) -> (Vec<u32>, Vec<u32>) {
    let count = pages.list.len() as u32;
    let mut alone = vec![true; count as usize];
    for page in 0..count {
        let first = groups.first(page);
        if first != page {
            alone[page as usize] = false;
            alone[first as usize] = false;
        }
    }
    let mut grouped: Vec<u32> = (0..count).filter(|page| !alone[*page as usize]).collect();
    drop(alone);
    grouped.sort_by_cached_key(|page| {
        let first = groups.first(*page);
        (pages.list[first as usize].host, first)
    });
    let mut ends = Vec::new();
    for (place, page) in (1_u32..).zip(&grouped) {
        let next = grouped.get(place as usize);
        if next.is_none_or(|next| groups.first(*next) != groups.first(*page)) {
            ends.push(place);
        }
    }
    (grouped, ends)
}
