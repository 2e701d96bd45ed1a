//! A chain of pages, each of which leads to the next, that ends where it is told to.

use crate::harness::{guard, kill, rows, start};
use crate::server::{Script, Server, page};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Pages `/c0`, `/c1` and so on, without end until there is one.
pub(crate) struct Chain {
    server: Server,
    last: Arc<AtomicU32>,
}

impl Chain {
    pub(crate) fn start() -> Chain {
        let last = Arc::new(AtomicU32::new(u32::MAX));
        let end = Arc::clone(&last);
        let server = Server::start(Script::new().rule(move |request| {
            let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
            let next = (n < end.load(Ordering::Relaxed)).then(|| format!("/c{}", n + 1));
            Some(page(next.as_slice()).after(Duration::from_millis(3)))
        }));
        Chain { server, last }
    }

    /// Crawls the chain for about a second, during which state is synced several times, and kills the
    /// crawl. The chain ends a hundred pages after what was asked for; returns how many it has.
    pub(crate) fn killed_crawl(&self, output: &Path) -> usize {
        let child = start(output, &[&self.server.url("/c0"), "--delay", "0s", "--stats-interval", "100ms"]);
        let began = Instant::now();
        while rows(&output.join("stats.jsonl")).len() < 10 {
            assert!(began.elapsed() < guard(), "the crawl does not begin");
            std::thread::sleep(Duration::from_millis(10));
        }
        kill(child);
        let last = self.server.asked() as u32 + 100;
        self.last.store(last, Ordering::Relaxed);
        last as usize + 1
    }
}
