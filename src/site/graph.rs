//! Which links a page has.
//!
//! Three families keep the promises of the site, the rest is filled at random:
//!
//! * a tree, in which page *i* links to pages 6*i*+1 … 6*i*+6: all pages are reachable, at logarithmic depth;
//! * three strides around the ring of the host's pages (next, previous, and one across): each
//!   is a bijection, so every page is linked from three different others;
//! * navigation, the same on all pages: the seed and the first pages.
//!
//! It must not know of paths, names or bodies.

use super::words::mix;
use super::{Kind, PAGES_PER_EXTRA, Place, Site};

/// Links of a page at least and at most.
pub(super) const LINKS: (usize, usize) = (20, 60);

/// Children of a page in the tree.
const FAN_OUT: u64 = 6;

/// Pages that every page links to: the seed and those after it.
const NAVIGATION: u32 = 4;

/// Links that are no pages of the same host, at most: one of each kind of [`Target`] but pages.
const MOST_OTHERS: usize = 5;

// What the promises rest on must fit into the shortest list of links.
const _: () = assert!(NAVIGATION as usize + FAN_OUT as usize + 3 + MOST_OTHERS <= LINKS.0);

/// Where a link leads that is no page of the same host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A redirect, missing or disallowed URL of the same host.
    Here(Place),
    /// A page of another host of the site.
    OtherHost(Place),
    /// A host that is not of the site.
    Outside,
}

/// The links of one page.
#[derive(Debug)]
pub(super) struct Links {
    /// Pages of the same host; the first [`navigation`](Links::navigation) are navigation.
    pub(super) pages: Vec<u32>,
    /// How many pages are navigation.
    pub(super) navigation: usize,
    /// Everything else.
    pub(super) others: Vec<Target>,
}

impl Site {
    /// The links of a page, in the order of the document.
    pub(super) fn links(&self, host: u32, index: u32) -> Links {
        let others = self.other_links(host, index);
        let bits = self.bits(10, host, index);
        let wanted = LINKS.0 + (bits % (LINKS.1 - LINKS.0 + 1) as u64) as usize - others.len();
        let mut picker = Picker::new(self.count(Kind::Page, host), index);
        (0..NAVIGATION).for_each(|page| picker.push(page));
        let navigation = picker.picked.len();
        for child in 1..=FAN_OUT {
            picker.push(u32::try_from(u64::from(index) * FAN_OUT + child).unwrap_or(u32::MAX));
        }
        picker.push_stride(1);
        picker.push_stride(picker.pages - 1);
        if picker.pages > 3 {
            // neither 0 (the page itself) nor one of the two above
            let across = self.bits(11, host, 0) % u64::from(picker.pages - 3);
            picker.push_stride(across as u32 + 2);
        }
        picker.fill(wanted, bits);
        Links { pages: picker.picked, navigation, others }
    }

    /// The page of its host that a redirect leads to.
    pub(super) fn redirect_target(&self, redirect: Place) -> Place {
        let pages = self.count(Kind::Page, redirect.host).max(1);
        let index = self.bits(12, redirect.host, redirect.index) % u64::from(pages);
        Place { kind: Kind::Page, host: redirect.host, index: index as u32 }
    }

    /// Pages are taken in groups of fifty, with a redirect, a missing and a disallowed URL for
    /// each group. The first of a group links to all three, so that none is left out in a
    /// group cut short; some of the others repeat them.
    fn other_links(&self, host: u32, index: u32) -> Vec<Target> {
        let group = index / PAGES_PER_EXTRA;
        let here = |kind| Target::Here(Place { kind, host, index: group });
        let mut others = Vec::with_capacity(MOST_OTHERS);
        let position = index % PAGES_PER_EXTRA;
        if matches!(position, 0 | 20) {
            others.push(here(Kind::Redirect));
        }
        if matches!(position, 0 | 30) {
            others.push(here(Kind::Missing));
        }
        if matches!(position, 0 | 10 | 40) {
            others.push(here(Kind::Disallowed));
        }
        if matches!(position, 0 | 5) {
            others.push(Target::Outside);
        }
        if position.is_multiple_of(10) && self.host_count() > 1 {
            others.push(Target::OtherHost(self.page_elsewhere(host, index)));
        }
        others
    }

    /// A page of another host; there must be one.
    fn page_elsewhere(&self, host: u32, index: u32) -> Place {
        let bits = self.bits(13, host, index);
        let hosts = u64::from(self.host_count());
        let other = (u64::from(host) + 1 + bits % (hosts - 1)) % hosts;
        let pages = self.count(Kind::Page, other as u32).max(1);
        Place { kind: Kind::Page, host: other as u32, index: (mix(bits) % u64::from(pages)) as u32 }
    }
}

/// Collects distinct pages of one host for the links of one of them.
struct Picker {
    pages: u32,
    own: u32,
    picked: Vec<u32>,
}

impl Picker {
    fn new(pages: u32, own: u32) -> Picker {
        Picker { pages, own, picked: Vec::with_capacity(LINKS.1) }
    }

    fn is_free(&self, page: u32) -> bool {
        page != self.own && !self.picked.contains(&page)
    }

    /// Takes a page, unless it is the own one, taken already or beyond the last.
    fn push(&mut self, page: u32) {
        if page < self.pages && self.is_free(page) {
            self.picked.push(page);
        }
    }

    /// Takes the page that is so many pages further on, around the ring.
    fn push_stride(&mut self, stride: u32) {
        self.push(self.after(self.own, stride));
    }

    fn after(&self, page: u32, stride: u32) -> u32 {
        ((u64::from(page) + u64::from(stride)) % u64::from(self.pages)) as u32
    }

    /// Takes random pages until there are as many as wanted; once no other page is left, repeats
    /// what there is (or, on a host of one page, that page).
    fn fill(&mut self, wanted: usize, mut bits: u64) {
        let others = self.pages as usize - 1;
        while self.picked.len() < wanted.min(others) {
            bits = mix(bits);
            let mut page = (bits % u64::from(self.pages)) as u32;
            while !self.is_free(page) {
                page = self.after(page, 1);
            }
            self.picked.push(page);
        }
        for position in self.picked.len()..wanted {
            self.picked.push(if others == 0 { self.own } else { self.picked[position % others] });
        }
    }
}
