//! A synthetic website that knows exactly which pages it has.
//!
//! It owns a graph of pages that is computed, never stored: what stands at a
//! URL follows from [`SiteSettings`] and the URL alone, so a site of millions of
//! pages takes no memory but its request counters. It must not know of the
//! crawler that walks over it: nothing here is shared with the modules it is
//! there to check.
//!
//! # What the site consists of
//!
//! The *N* pages are split evenly (± 1) among the *H* hosts `h0.site.test` to
//! `h{H-1}.site.test`. On each host, page 0 is the seed, `/`. A host of *n*
//! pages has, besides, ⌈n/50⌉ of each:
//!
//! * redirects (`/moved/…`, 301 or 302, to a page of the same host),
//! * missing URLs (`/removed/…`, 404),
//! * disallowed URLs (`/private/…`, which its `robots.txt` forbids; 200 if asked all the same),
//!
//! and every one of them is linked from a page. So a complete crawl that obeys
//! robots.txt and stays on the site's hosts requests
//! [`page_count`](Site::page_count) + [`redirect_count`](Site::redirect_count) +
//! [`missing_count`](Site::missing_count) URLs ([`Site::record_count`]), each
//! once, a `robots.txt` for each host, and nothing else. Pages are those *N*
//! that answer 200 with links; none of the others is counted as one.
//!
//! Every page has 20 to 60 links, 40 in the mean: to the seed and three further
//! top pages, to its children in a tree (which keeps all pages reachable and the
//! depth logarithmic), to its neighbours, and to pages picked at random. Every
//! page but the seed is linked from at least three other pages of its host, as
//! far as the host has so many. The links of a page are distinct, unless its host
//! has too few pages: then they repeat. A few lead to other hosts of the site,
//! by absolute URL, and to `http://outside.test/`, which does not exist.
//!
//! # Serving it
//!
//! ```
//! use std::sync::Arc;
//! use dragline::site::{Site, SiteSettings, serve};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let site = Arc::new(Site::new(SiteSettings { pages: 1_000, hosts: 4, seed: 1 })?);
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let banner = site.banner(address); // what `demo --serve` prints
//! assert!(banner.contains("--resolve"));
//!
//! let until = async {}; // in `demo --serve`: Ctrl-C
//! let report = serve(site, listener, until).await?;
//! assert_eq!(report.requests, 0);
//! # Ok(())
//! # })
//! # }
//! ```

mod answer;
mod graph;
mod html;
mod listing;
mod log;
mod paths;
mod server;
#[cfg(test)]
mod tests;
mod words;

pub use answer::Answer;
pub use listing::Naming;
pub use log::SiteReport;
pub use server::serve;

/// Pages that one site may have; the paths number them with eight digits.
pub const MAX_PAGES: u64 = 100_000_000;

/// Pages of a host for each of its redirects, missing and disallowed URLs.
const PAGES_PER_EXTRA: u32 = 50;

/// What makes one site differ from another; equal settings give equal sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteSettings {
    /// Pages that can be reached from the seeds, the seeds included.
    pub pages: u64,
    /// Hosts they are split among.
    pub hosts: u32,
    /// Any number; another one gives other paths, links and texts.
    pub seed: u64,
}

/// Settings that no site can be made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// A site without pages.
    #[error("a site of 0 pages has nothing to serve, ask for at least 1 page")]
    NoPages,
    /// A site without hosts.
    #[error("a site on 0 hosts cannot be reached, ask for at least 1 host")]
    NoHosts,
    /// A host would be left without a seed.
    #[error("{pages} pages cannot be split among {hosts} hosts, ask for at most as many hosts as pages")]
    MoreHostsThanPages {
        /// Pages asked for.
        pages: u64,
        /// Hosts asked for.
        hosts: u32,
    },
    /// More than [`MAX_PAGES`].
    #[error("a site of {pages} pages is too large, ask for at most {MAX_PAGES} pages")]
    TooManyPages {
        /// Pages asked for.
        pages: u64,
    },
}

/// What stands at a URL of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One of the pages that the site promises.
    Page,
    /// The rules of a host, `/robots.txt`.
    Robots,
    /// A redirect to a page of the same host.
    Redirect,
    /// Linked, but answered with 404.
    Missing,
    /// Linked, but forbidden by robots.txt.
    Disallowed,
}

impl Kind {
    /// Every kind, in the order of `/_log`.
    pub const ALL: [Kind; 5] = [Kind::Page, Kind::Robots, Kind::Redirect, Kind::Missing, Kind::Disallowed];
}

/// One URL of the site, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// What stands there.
    pub kind: Kind,
    /// The number of its host.
    pub host: u32,
    /// Its number among those of its kind on its host; page 0 is the seed.
    pub index: u32,
}

/// A synthetic website: a pure function from URLs to answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    settings: SiteSettings,
}

impl Site {
    /// The site that `settings` describe; no work is done ahead.
    pub fn new(settings: SiteSettings) -> Result<Site, SiteError> {
        let SiteSettings { pages, hosts, .. } = settings;
        match (pages, hosts) {
            (0, _) => Err(SiteError::NoPages),
            (_, 0) => Err(SiteError::NoHosts),
            _ if pages > MAX_PAGES => Err(SiteError::TooManyPages { pages }),
            _ if u64::from(hosts) > pages => Err(SiteError::MoreHostsThanPages { pages, hosts }),
            _ => Ok(Site { settings }),
        }
    }

    /// What the site was made from.
    pub fn settings(&self) -> SiteSettings {
        self.settings
    }

    /// Pages that can be reached from the seeds within the hosts of the site, the seeds included.
    pub fn page_count(&self) -> u64 {
        self.settings.pages
    }

    /// Hosts of the site.
    pub fn host_count(&self) -> u32 {
        self.settings.hosts
    }

    /// Distinct URLs that redirect to a page; each is linked.
    pub fn redirect_count(&self) -> u64 {
        self.total(Kind::Redirect)
    }

    /// Distinct URLs that are linked but answered with 404.
    pub fn missing_count(&self) -> u64 {
        self.total(Kind::Missing)
    }

    /// Distinct URLs that are linked but forbidden by robots.txt.
    pub fn disallowed_count(&self) -> u64 {
        self.total(Kind::Disallowed)
    }

    /// URLs that a complete crawl of all hosts records when it obeys robots.txt:
    /// pages, redirects and missing ones.
    pub fn record_count(&self) -> u64 {
        self.page_count() + self.redirect_count() + self.missing_count()
    }

    /// URLs of a kind on one host; 0 where there is no such host.
    pub fn count(&self, kind: Kind, host: u32) -> u32 {
        if host >= self.settings.hosts {
            return 0;
        }
        let hosts = u64::from(self.settings.hosts);
        let larger = u64::from(host) < self.settings.pages % hosts;
        of_kind(kind, (self.settings.pages / hosts) as u32 + u32::from(larger))
    }

    /// URLs of a kind on all hosts.
    pub fn total(&self, kind: Kind) -> u64 {
        self.before(kind, self.settings.hosts)
    }

    /// URLs of a kind on the hosts before `host`.
    fn before(&self, kind: Kind, host: u32) -> u64 {
        let hosts = u64::from(self.settings.hosts);
        let smaller_pages = (self.settings.pages / hosts) as u32;
        let larger = u64::from(host).min(self.settings.pages % hosts);
        let smaller = u64::from(host) - larger;
        larger * u64::from(of_kind(kind, smaller_pages + 1))
            + smaller * u64::from(of_kind(kind, smaller_pages))
    }

    /// The number of a place among all those of its kind on the site.
    fn number(&self, place: Place) -> u64 {
        self.before(place.kind, place.host) + u64::from(place.index)
    }

    /// Every place of a kind, by host and index: in the order of their numbers.
    pub fn places(&self, kind: Kind) -> impl Iterator<Item = Place> + Send + use<> {
        let site = *self;
        (0..site.settings.hosts)
            .flat_map(move |host| (0..site.count(kind, host)).map(move |index| Place { kind, host, index }))
    }

    /// Sixty-four bits that depend on the site, a purpose and a number on a host, and on nothing else.
    fn bits(&self, purpose: u64, host: u32, number: u32) -> u64 {
        let start = words::mix(self.settings.seed ^ words::mix(purpose));
        words::mix(start ^ (u64::from(host) << 32 | u64::from(number)))
    }
}

/// URLs of a kind on a host of so many pages.
fn of_kind(kind: Kind, pages: u32) -> u32 {
    match kind {
        Kind::Page => pages,
        Kind::Robots => 1,
        Kind::Redirect | Kind::Missing | Kind::Disallowed => pages.div_ceil(PAGES_PER_EXTRA),
    }
}
