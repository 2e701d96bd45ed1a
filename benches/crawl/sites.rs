//! The websites that are crawled, and what they were asked for.

#[path = "../../tests/it/sites/nginx.rs"]
#[allow(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
mod nginx;
#[path = "../../tests/it/sites/walk.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "a bench that cannot go on has failed")]
mod walk;

use dragline::site::{Site, SiteReport, SiteSettings, serve};
use nginx::Nginx;
use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use walk::{Walk, key};

/// Where Debian's package `openjdk-17-doc` has its files.
const DOCUMENTATION: &str = "/usr/share/doc/openjdk-17-doc";

/// Where its crawl begins: a page below that directory.
const INDEX: &str = "api/index.html";

/// Which website.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ours, on one host: pages of 5 KB or so with 40 links.
    Synthetic,
    /// Java's documentation.
    Real,
}

/// What was asked of a website.
#[derive(Debug, Clone, Copy)]
pub(super) struct Served {
    /// Different pages that are there.
    pub(super) pages: u64,
    /// Anything, as often as it was asked for.
    pub(super) requests: u64,
}

impl Kind {
    pub(super) const ALL: [Kind; 2] = [Kind::Synthetic, Kind::Real];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Synthetic => "synthetic",
            Kind::Real => "real",
        }
    }

    /// Why it cannot be served here.
    pub(super) fn missing(self) -> Option<&'static str> {
        let there = self == Kind::Synthetic || Path::new(DOCUMENTATION).join(INDEX).is_file();
        (!there).then_some("package openjdk-17-doc is not installed")
    }

    /// Pages that a whole crawl fetches, of a site asked for with so many.
    pub(super) fn pages(self, asked: u64) -> u64 {
        // reading the files takes some seconds
        static REACHABLE: OnceLock<u64> = OnceLock::new();
        match self {
            Kind::Synthetic => asked,
            Kind::Real => *REACHABLE.get_or_init(|| Walk::from(Path::new(DOCUMENTATION), INDEX).html as u64),
        }
    }
}

/// A website that is served.
pub(super) struct Server {
    seed: String,
    running: Running,
}

enum Running {
    Synthetic(oneshot::Sender<()>, JoinHandle<io::Result<SiteReport>>),
    Real(Nginx),
}

impl Server {
    pub(super) fn start(kind: Kind, pages: u64) -> Result<Server, Box<dyn Error>> {
        match kind {
            Kind::Synthetic => synthetic(pages),
            Kind::Real => {
                let nginx = Nginx::start(Path::new(DOCUMENTATION));
                let nginx = nginx.ok_or("package nginx-light is not installed")?;
                Ok(Server { seed: nginx.url(INDEX), running: Running::Real(nginx) })
            }
        }
    }

    pub(super) fn seed(&self) -> &str {
        &self.seed
    }

    /// Ends it, for then it tells what it was asked.
    pub(super) fn stop(self) -> Result<Served, Box<dyn Error>> {
        match self.running {
            Running::Synthetic(stop, thread) => {
                let _gone = stop.send(());
                let report = thread.join().map_err(|_| "the website failed")??;
                Ok(Served { pages: report.distinct_pages, requests: report.requests })
            }
            Running::Real(nginx) => {
                let log = nginx.stop();
                let found = log.iter().filter(|(status, target)| *status == 200 && is_html(target));
                let pages: BTreeSet<String> = found.map(|(_, target)| key(target)).collect();
                Ok(Served { pages: pages.len() as u64, requests: log.len() as u64 })
            }
        }
    }
}

/// Whether a page of HTML stands there, as the server sees it.
fn is_html(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    [".html", ".htm", "/"].iter().any(|end| path.ends_with(end))
}

/// Served by one thread, which leaves the rest of the machine to the crawler.
fn synthetic(pages: u64) -> Result<Server, Box<dyn Error>> {
    let site = Arc::new(Site::new(SiteSettings { pages, hosts: 1, seed: 1 })?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let seed = format!("http://{}/", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = std::thread::spawn(move || runtime.block_on(serve(site, listener, stopped)));
    Ok(Server { seed, running: Running::Synthetic(stop, thread) })
}
