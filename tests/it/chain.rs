//! A chain of pages, each of which leads to the next, that ends where it is told to.

use crate::harness::{kill, rows_so_far, start, until};
use crate::server::{Script, Server, page};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

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

    /// Crawls the chain for about a second, until its log vouches for some of itself, and kills the crawl. The chain ends a hundred pages after what was asked for; returns how many it has.
    pub(crate) fn killed_crawl(&self, output: &Path) -> usize {
        let child = start(output, &[&self.server.url("/c0"), "--delay", "0s", "--stats-interval", "100ms"]);
        let statistics = output.join("stats.jsonl");
        until("the crawl has begun", || {
            rows_so_far(&statistics).len() >= 10 && vouched(&log(output)) >= 4096
        });
        kill(child);
        let last = self.server.asked() as u32 + 100;
        self.last.store(last, Ordering::Relaxed);
        last as usize + 1
    }
}

/// The newest log of a crawl; a path to nothing where there is none yet.
pub(crate) fn log(output: &Path) -> PathBuf {
    let entries = std::fs::read_dir(output.join("state")).into_iter().flatten().flatten();
    let named =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"log-"));
    entries.map(|entry| entry.path()).filter(named).max().unwrap_or_default()
}

/// How many bytes of a log its last synced mark says were durable; frames as `docs/FORMATS.md` draws them.
pub(crate) fn vouched(log: &Path) -> usize {
    let bytes = std::fs::read(log).unwrap_or_default();
    let (mut at, mut vouched) = (32, 0);
    while let Some(head) = bytes.get(at..at + 4) {
        let head = u32::from_le_bytes(head.try_into().unwrap());
        let length = (head & 0x3FFF_FFFF) as usize;
        let Some(body) = bytes.get(at + 8..at + 8 + length) else { break };
        if head >> 30 == 2 {
            vouched = u64::from_le_bytes(body.try_into().unwrap()) as usize;
        }
        at += 8 + length;
    }
    vouched
}
