//! One sitemap, read by a worker: unpacked, taken apart, its entries resolved, held against the scope,
//! and sent to the owner part by part.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use xxhash_rust::xxh3::Xxh3Default;

use super::super::hashes::hashes;
use super::{MOST_STEPS, Part, wanted};
use crate::budget::Lease;
use crate::config::date::moments;
use crate::engine::job::PageOutcome;
use crate::engine::judge::verdict_of;
use crate::engine::worker::{
    Scratch, Shared, begin_page, finish_page, leased, note_body, outcome_bytes, page_error,
};
use crate::fetch::Response;
use crate::fetch::decode::{Chain, Coding, Progress};
use crate::model::{KeyHash, Link, LinkBatch, SitemapNote, SkipReason, Truncation, UrlHashes, UrlKey, Via};
use crate::sitemap::{Entry, MOST_BYTES, MOST_ENTRIES, SitemapReader};
use crate::url::{Parts, Reject, Resolver, host_of, without_userinfo};

/// Bytes of URLs in a part, and how many URLs: a part is full when the next might not fit.
const PART_TEXT: usize = 32 << 10;
const PART_LINKS: usize = 512;
/// Bytes decoded, and then read, at a time; they bound what waits in the reader.
const PIECE: usize = 4 << 10;
/// What reading a sitemap is reckoned with before it is known what it takes: the next piece may need a
/// decoder and fill a part, and many sitemaps may get there at once.
const READING: usize = 384 << 10;
/// What undoing gzip takes: its state, the last 32 KiB, and what has been decoded.
const DECODER: usize = 128 << 10;

/// Reads a sitemap into its outcome, part by part; gives the lease of what the outcome holds.
pub(in crate::engine) async fn read(
    shared: &Shared,
    outcome: &mut PageOutcome,
    mut response: Response,
    parts: &mpsc::Sender<Part>,
) -> Lease {
    let url = outcome.job.attempt.candidate.url.clone();
    let Ok(base) = ::url::Url::parse(&url) else { return response.finish_holding().1 };
    let resolver = shared.canonicalizer.resolver(&base, None);
    let mut reading = Reading::new(shared, outcome, &resolver, parts);
    // Whoever writes a robots.txt may call any page a sitemap: one that is in scope is read as what it is.
    let mut page = is_wanted_page(shared, &url).then(|| begin_page(shared, outcome, &response));
    let mut body = shared.keep_bodies.then(Vec::new);
    let mut hasher = Xxh3Default::new();
    let failed = loop {
        let kept = body.as_ref().map_or(0, Vec::capacity)
            + page.as_ref().map_or(0, |scratch| scratch.reader.held_bytes());
        response.also_hold(leased(reading.held_bytes().max(READING) + kept)).await;
        match response.chunk().await {
            Ok(Some(chunk)) => {
                hasher.update(chunk);
                if let Some(body) = &mut body {
                    body.extend_from_slice(chunk);
                }
                if let Some(Scratch { reader, likeness, .. }) = page.as_deref_mut() {
                    reader.feed_with(chunk, likeness);
                }
                reading.feed(chunk, false).await;
                response.excuse(std::mem::take(&mut reading.waited));
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
        if reading.too_many_bytes {
            outcome.record.truncated = Some(Truncation::Length);
            break None;
        }
    };
    let (is_sitemap, mut note) = reading.finish(failed.is_some()).await;
    let (report, mut lease) = response.finish_holding();
    outcome.record.digest = Some(format!("xxh3:{:032x}", hasher.digest128()));
    note_body(outcome, &report, failed.is_some());
    note.too_large |= outcome.record.truncated == Some(Truncation::Length);
    note.cut |= outcome.record.truncated.is_some();
    outcome.record.links = note.entries;
    outcome.record.sitemap = Some(note);
    outcome.body = body;
    if let Some(scratch) = page.filter(|_| !is_sitemap) {
        finish_page(shared, outcome, scratch, &mut lease).await;
    }
    if let Some(error) = failed {
        outcome.verdict = verdict_of(error.kind);
        outcome.record.error = Some(page_error(error));
    }
    lease.shrink_to(leased(outcome_bytes(outcome)));
    lease
}

/// Whether a URL is in scope as a page.
fn is_wanted_page(shared: &Shared, url: &str) -> bool {
    let scope = shared.scope.read().unwrap_or_else(PoisonError::into_inner);
    scope.check(url, &Parts::of(url)).is_ok()
}

/// A sitemap that is being read.
struct Reading<'a> {
    shared: &'a Shared,
    resolver: &'a Resolver<'a>,
    parts: &'a mpsc::Sender<Part>,
    url: Arc<str>,
    hops: u32,
    /// The last second at which what is stale was changed.
    stale: Option<i64>,
    /// gzip inside of what the transfer made of it, by its first bytes: `.xml.gz` is served as it is.
    chain: Chain,
    piece: Box<[u8; PIECE]>,
    reader: SitemapReader,
    /// The part that is being filled, and the keys in it.
    links: LinkBatch,
    seen: HashSet<UrlKey, KeyHash>,
    scope_generation: u64,
    requested: String,
    canonical: String,
    /// Bytes after all decoding.
    decoded: u64,
    too_many_bytes: bool,
    /// The packing is damaged or ended: what follows is not read.
    over: bool,
    damaged: bool,
    /// Time that the owner took.
    waited: Duration,
}

impl<'a> Reading<'a> {
    fn new(
        shared: &'a Shared,
        outcome: &PageOutcome,
        resolver: &'a Resolver<'a>,
        parts: &'a mpsc::Sender<Part>,
    ) -> Self {
        let candidate = &outcome.job.attempt.candidate;
        let since = shared.config.sitemap_since.as_deref().and_then(moments);
        let mut links = LinkBatch::default();
        links.text.reserve(PART_TEXT);
        links.links.reserve(PART_LINKS);
        Self {
            shared,
            resolver,
            parts,
            url: (&*candidate.url).into(),
            hops: candidate.hops + 1,
            stale: since.map(|since| since.start().saturating_sub(1)),
            chain: Chain::new(&[Coding::Gzip], u64::MAX, 0),
            piece: Box::new([0; PIECE]),
            reader: SitemapReader::new(outcome.record.content_type.as_deref()),
            links,
            seen: HashSet::with_capacity_and_hasher(PART_LINKS, KeyHash::default()),
            scope_generation: 0,
            requested: String::new(),
            canonical: String::new(),
            decoded: 0,
            too_many_bytes: false,
            over: false,
            damaged: false,
            waited: Duration::ZERO,
        }
    }

    /// Bytes of memory that it holds.
    fn held_bytes(&self) -> usize {
        let unpacking = if self.decoded > 0 && !self.chain.mislabelled() { DECODER } else { 0 };
        // a place of the set takes its key and a byte of control
        let seen = self.seen.capacity() * (size_of::<UrlKey>() + 1);
        let links = self.links.text.capacity() + self.links.links.capacity() * size_of::<Link>();
        let urls = self.requested.capacity() + self.canonical.capacity();
        unpacking + PIECE + self.reader.held_bytes() + links + seen + urls
    }

    /// Takes in some more of the body; `last`: nothing follows.
    async fn feed(&mut self, mut bytes: &[u8], last: bool) {
        while !self.over {
            match self.chain.read(&mut bytes, last, &mut self.piece[..]) {
                Ok(Progress::Output(length)) => {
                    // one byte more shows that there are more
                    let room = usize::try_from(MOST_BYTES - self.decoded).unwrap_or(usize::MAX);
                    self.too_many_bytes = length > room;
                    let length = length.min(room);
                    self.decoded += length as u64;
                    self.reader.feed(&self.piece[..length]);
                    self.take_entries().await;
                    self.over |= self.too_many_bytes;
                }
                Ok(Progress::NeedInput) => return,
                Ok(Progress::End | Progress::Excess) => self.over = true,
                Err(_) => (self.over, self.damaged) = (true, true),
            }
        }
    }

    /// Nothing more comes: gives out the last part, and says whether it is a sitemap, and what was found
    /// out.
    async fn finish(&mut self, failed: bool) -> (bool, SitemapNote) {
        // of what broke off, what is held back comes out all the same
        self.feed(&[], true).await;
        let report = self.reader.finish();
        self.take_entries().await;
        self.send().await;
        let note = SitemapNote {
            entries: report.entries,
            cut: report.broken || self.damaged || failed,
            too_large: report.entries > MOST_ENTRIES || self.too_many_bytes,
        };
        (report.form.is_some(), note)
    }

    /// Takes what waits in the reader into parts, and sends those that are full.
    async fn take_entries(&mut self) {
        let longest = self.shared.config.max_url_length.max(LinkBatch::MAX_UNUSABLE);
        let reader = std::mem::replace(&mut self.reader, SitemapReader::new(None));
        for entry in reader.entries() {
            let text = self.links.text.len();
            if self.links.links.len() == PART_LINKS || text > 0 && text + longest > PART_TEXT {
                self.send().await;
            }
            self.take_entry(&entry);
        }
        self.reader = reader;
        self.reader.clear();
    }

    fn take_entry(&mut self, entry: &Entry<'_>) {
        let via = if entry.is_sitemap { Via::SitemapFile } else { Via::Sitemap };
        let parts = match self.resolver.resolve(entry.url, &mut self.requested, &mut self.canonical) {
            Ok(parts) if entry.usable => parts,
            Err(Reject::OtherScheme(_)) if entry.usable => {
                self.links.push(
                    &without_userinfo(entry.url),
                    0,
                    UrlHashes::NONE,
                    via,
                    Some(SkipReason::OtherScheme),
                );
                return;
            }
            _ => {
                self.links.push(
                    &without_userinfo(entry.url),
                    0,
                    UrlHashes::NONE,
                    via,
                    Some(SkipReason::BadUrl),
                );
                return;
            }
        };
        let hashes = hashes(&self.shared.secret, &self.canonical);
        if !self.seen.insert(hashes.key) {
            self.links.repeats += 1;
            return;
        }
        let is_stale = self.stale.zip(entry.last_modified).is_some_and(|(stale, last)| last <= stale);
        let skip = self.why_skipped(via, &parts).or(is_stale.then_some(SkipReason::SitemapStale));
        self.links.push(&self.requested, parts.origin_length, hashes, via, skip);
    }

    /// Why an entry is not to be queued, where it is not. A page must be in scope, a sitemap that, or
    /// on the host of the sitemap that names it, as the protocol wants it.
    fn why_skipped(&mut self, via: Via, parts: &Parts) -> Option<SkipReason> {
        let scope = self.shared.scope.read().unwrap_or_else(PoisonError::into_inner);
        if self.links.links.is_empty() {
            self.scope_generation = scope.generation();
        }
        let url = self.requested.as_str();
        if via == Via::Sitemap {
            return scope.check(url, parts).err();
        }
        let elsewhere = url[parts.host.clone()] != *host_of(&self.url);
        wanted(&scope, self.shared.config.max_url_length, url, parts, elsewhere)
            .err()
            .or((self.hops > MOST_STEPS).then_some(SkipReason::TooDeep))
    }

    /// Gives the part to the owner, and waits until it has been taken in.
    async fn send(&mut self) {
        let LinkBatch { links, repeats, dropped, .. } = &self.links;
        if links.is_empty() && *repeats == 0 && *dropped == 0 {
            return;
        }
        let started = Instant::now();
        let (taken, answer) = oneshot::channel();
        let (from, hops, scope_generation) = (self.url.clone(), self.hops, self.scope_generation);
        let links = std::mem::take(&mut self.links);
        let sent = self.parts.send(Part { from, hops, scope_generation, links, taken }).await;
        match answer.await {
            Ok(emptied) if sent.is_ok() => self.links = emptied,
            // nobody wants entries any more: the crawl is over
            _ => self.over = true,
        }
        self.seen.clear();
        self.waited += started.elapsed();
    }
}
