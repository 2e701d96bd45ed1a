//! What runs in parallel: fetch, decode, extract, resolve, encode. Shares
//! with its like the scope, spare buffers and the fetcher (cookies, connections), and knows nothing
//! of what has been seen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use xxhash_rust::xxh3::Xxh3Default;

use super::delivery::{BROKEN, Delivered, Delivery};
use super::gather::take_links;
use super::job::{Job, KEPT_BYTES, Outcome, PageJob, PageOutcome, RobotsAnswer, Verdict};
use super::judge::{canonical_of, is_redirect, judge, told_by_head, verdict_of};
use super::likeness::Likeness;
use super::robots::Reply;
use super::sitemap::Part;
use super::{robots, sitemap, timestamp};
use crate::budget::{Lease, StepCounts};
use crate::config::Config;
use crate::extract::{ExtractLimits, Extracted, PageContext, PageReader};
use crate::fetch::{BodyReport, FetchError, FetchRequest, Fetcher, LookedUp, NoAddress, Response};
use crate::model::{ErrorKind, KeyHash, Link, LinkBatch, PageError, Record, Truncation, UrlKey, Via};
use crate::scope::Scope;
use crate::url::{Canonicalizer, KeySecret};

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) fetcher: Fetcher,
    pub(crate) canonicalizer: Canonicalizer,
    pub(crate) secret: KeySecret,
    pub(crate) scope: Arc<RwLock<Scope>>,
    pub(crate) keep_bodies: bool,
    pub(crate) limits: ExtractLimits,
    /// Bytes of URLs that the links of one page may take.
    pub(crate) batch_text: usize,
    /// How often memory ran short.
    pub(crate) steps: Mutex<StepCounts>,
    /// Buffers that are free; never more than requests in flight.
    #[expect(clippy::vec_box, reason = "tasks take them out and hold them, and are to be small")]
    pub(crate) scratch: Mutex<Vec<Box<Scratch>>>,
}

/// What reading a page needs for a while: kept from page to page, since allocating
/// it anew cost a fifth of the processor time.
pub(crate) struct Scratch {
    pub(super) reader: PageReader,
    /// Takes the fingerprint of its text.
    pub(super) likeness: Likeness,
    /// Key to the place of its link in the batch.
    pub(super) seen: HashMap<UrlKey, usize, KeyHash>,
    pub(super) requested: String,
    pub(super) canonical: String,
}

impl Shared {
    fn take_scratch(&self) -> Box<Scratch> {
        let spare = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| {
            Box::new(Scratch {
                reader: PageReader::new(&PageContext::default()),
                likeness: Likeness::default(),
                seen: HashMap::default(),
                requested: String::new(),
                canonical: String::new(),
            })
        })
    }

    fn give_back(&self, scratch: Box<Scratch>) {
        // What an extraordinary page needed is not kept for the ordinary ones.
        if scratch.largest_buffer() <= KEPT_BYTES {
            self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        }
    }
}

impl Scratch {
    /// Bytes of the largest buffer.
    fn largest_buffer(&self) -> usize {
        // a place of the map takes its entry and a byte of control
        let seen = self.seen.capacity() * (size_of::<(UrlKey, usize)>() + 1);
        let others = [seen, self.requested.capacity(), self.canonical.capacity()];
        others.into_iter().fold(self.reader.largest_buffer(), usize::max)
    }
}

/// Does one job and sends what came of it, even if the work panics: an outcome that
/// never arrives would keep the crawl from ending.
///
/// The entries of a sitemap go ahead of its outcome, by `parts`.
pub(crate) async fn run(
    shared: Arc<Shared>,
    job: Job,
    sender: mpsc::Sender<Delivered>,
    parts: mpsc::Sender<Part>,
) {
    let broken = || PageError { kind: ErrorKind::Other, detail: BROKEN.to_owned() };
    match job {
        Job::Page(job) => {
            let mut delivery = Delivery::new(Outcome::Page(Box::new(new_outcome(*job))), sender);
            if let Some(Outcome::Page(outcome)) = &mut delivery.outcome {
                delivery.lease = page(&shared, outcome, &parts).await;
            }
        }
        Job::Robots { origin, url, hops } => {
            let answer = RobotsAnswer::Failed { retry_after: None, error: broken() };
            let (asked, sitemaps) = (robots::asked(&url), LinkBatch::default());
            let mut delivery = Delivery::new(Outcome::Robots { origin, answer, asked, sitemaps }, sender);
            let Reply { asked, answer, lease } =
                robots::ask(&shared.fetcher, &shared.canonicalizer, &shared.config, &url, hops).await;
            let sitemaps = sitemap::named(&shared, &url, &answer);
            delivery.lease = lease;
            delivery.outcome = Some(Outcome::Robots { origin, answer, asked, sitemaps });
        }
        Job::Address { origin, name, failures } => {
            let error = FetchError::new(ErrorKind::Other, false, BROKEN);
            let found = Err(NoAddress { error, holds_for: None });
            let mut delivery = Delivery::new(Outcome::Address { origin, found }, sender);
            let found = look_up(&shared, &name, failures).await;
            delivery.outcome = Some(Outcome::Address { origin, found });
        }
    }
}

async fn look_up(shared: &Shared, origin: &str, failures: u32) -> Result<LookedUp, NoAddress> {
    let url = ::url::Url::parse(origin).map_err(|error| NoAddress {
        error: FetchError::new(ErrorKind::Other, false, error.to_string()),
        holds_for: None,
    })?;
    let port = url.port_or_known_default().unwrap_or(80);
    shared.fetcher.look_up(url.host_str().unwrap_or_default(), port, failures).await
}

pub(super) fn page_error(error: FetchError) -> PageError {
    PageError { kind: error.kind, detail: error.detail }
}

/// Fetches a page and reads it; gives the lease of what came of it.
async fn page(shared: &Shared, outcome: &mut PageOutcome, parts: &mpsc::Sender<Part>) -> Option<Lease> {
    let started = Instant::now();
    let url = outcome.job.attempt.candidate.url.clone();
    outcome.record.canonical = canonical_of(shared, &url);
    // What failed on a kept connection is asked on a new one.
    let keep_alive = outcome.job.attempt.failures == 0;
    let mut lease = None;
    let max_body = sitemap::most_bytes(outcome.job.attempt.candidate.via);
    match shared.fetcher.get(&FetchRequest { max_body, keep_alive, ..FetchRequest::new(&url) }).await {
        Ok(response) => {
            outcome.record.first_byte_ms = Some(milliseconds_since(started));
            lease = Some(read(shared, outcome, response, parts).await);
        }
        Err(error) if error.skip_reason().is_some() => {
            outcome.refused = true;
            outcome.record.error = Some(page_error(error));
        }
        Err(error) => {
            outcome.verdict = verdict_of(error.kind);
            outcome.record.error = Some(page_error(error));
        }
    }
    outcome.record.elapsed_ms = milliseconds_since(started);
    lease
}

fn milliseconds_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn new_outcome(mut job: PageJob) -> PageOutcome {
    let buffers = std::mem::take(&mut job.buffers);
    let candidate = &job.attempt.candidate;
    let record = Record {
        url: candidate.url.to_string(),
        canonical: None,
        status: None,
        error: None,
        depth: candidate.depth,
        via: candidate.via,
        referrer: candidate.referrer.clone(),
        redirect_to: None,
        content_type: None,
        charset: None,
        wire_bytes: 0,
        decoded_bytes: 0,
        truncated: None,
        title: None,
        rel_canonical: None,
        links: 0,
        // entries that a request brought which broke off afterwards are in, whatever comes of the next one
        sitemap: job.attempt.fallback.as_ref().and_then(|last| last.sitemap),
        simhash: None,
        blocks: None,
        digest: None,
        fetched_at: timestamp::now(),
        first_byte_ms: None,
        elapsed_ms: 0,
        attempts: job.attempt.requests + 1,
    };
    PageOutcome {
        job,
        record,
        line: buffers.line,
        verdict: Verdict::Final,
        retry_after: None,
        links: buffers.links,
        canonical: None,
        scope_generation: 0,
        body: None,
        mislabelled_encoding: false,
        refused: false,
    }
}

/// Reads an answer into the outcome; gives the lease of what it holds from then on.
async fn read(
    shared: &Shared,
    outcome: &mut PageOutcome,
    mut response: Response,
    parts: &mpsc::Sender<Part>,
) -> Lease {
    let status = response.status();
    outcome.record.status = Some(status);
    outcome.record.content_type = response.content_type().map(Cow::into_owned);
    let is_there = (200..300).contains(&status);
    if is_there && outcome.job.attempt.candidate.via == Via::SitemapFile {
        // boxed, or every task would have its size
        return Box::pin(sitemap::read(shared, outcome, response, parts)).await;
    }
    let mut scratch = is_there.then(|| begin_page(shared, outcome, &response));
    let failed = read_body(shared, outcome, &mut response, scratch.as_deref_mut()).await.err();
    let failed_at_all = failed.is_some();
    let failed = failed.filter(|_| !told_by_head(status));
    if failed.is_none() {
        judge(shared, outcome, status, &response);
    }
    let (report, mut lease) = response.finish_holding();
    note_body(outcome, &report, failed_at_all);
    if let Some(scratch) = scratch {
        finish_page(shared, outcome, scratch, &mut lease).await;
    }
    if let Some(error) = failed {
        outcome.verdict = verdict_of(error.kind);
        outcome.record.error = Some(page_error(error));
    }
    lease.shrink_to(leased(outcome_bytes(outcome)));
    lease
}

/// Notes what is known of a body once it has been read, or has `failed`.
pub(super) fn note_body(outcome: &mut PageOutcome, report: &BodyReport, failed: bool) {
    outcome.record.wire_bytes = report.wire_bytes;
    outcome.record.decoded_bytes = report.decoded_bytes;
    let broken_off = failed.then_some(Truncation::Disconnect);
    outcome.record.truncated = report.truncated.or(outcome.record.truncated).or(broken_off);
    outcome.mislabelled_encoding = report.mislabelled_encoding;
}

/// What an answer is read with, if it is a page.
pub(super) fn begin_page(shared: &Shared, outcome: &PageOutcome, response: &Response) -> Box<Scratch> {
    let mut scratch = shared.take_scratch();
    reset_reader(shared, outcome, response, &mut scratch.reader);
    scratch
}

/// Takes from a page that was read what it links to, and what it is like.
pub(super) async fn finish_page(
    shared: &Shared,
    outcome: &mut PageOutcome,
    mut scratch: Box<Scratch>,
    lease: &mut Lease,
) {
    let page = scratch.reader.finish_with(&mut scratch.likeness);
    (outcome.record.simhash, outcome.record.blocks) = scratch.likeness.finish().unzip();
    let body = outcome.body.as_ref().map_or(0, Vec::capacity);
    lease
        .hold(leased(body + scratch.reader.held_bytes() + page.held_bytes() + batch_bytes(shared, &page)))
        .await;
    take_links(shared, outcome, &page, &mut scratch);
    scratch.reader.recycle(page);
    shared.give_back(scratch);
}

/// Bytes that every page may hold while it is read, and while its outcome waits, without a lease.
const FREE_BYTES: usize = 32 << 10;

/// What must be leased of `bytes` in all.
pub(super) fn leased(bytes: usize) -> usize {
    bytes.saturating_sub(FREE_BYTES)
}

/// The most that the batch of links of a page will take, with the table that tells them apart.
fn batch_bytes(shared: &Shared, page: &Extracted) -> usize {
    let text = page.text.len() + page.references.len() * shared.config.max_url_length.min(MEAN_GROWTH);
    // a table of keys is between half and fully used
    let each = size_of::<Link>() + 2 * (size_of::<(UrlKey, usize)>() + 1);
    text.min(shared.batch_text) + page.references.len() * each
}

/// Bytes by which references grow in being resolved, one with another.
const MEAN_GROWTH: usize = 64;

/// Bytes of an outcome that waits for the owner.
pub(super) fn outcome_bytes(outcome: &PageOutcome) -> usize {
    let links = outcome.links.text.capacity() + outcome.links.links.capacity() * size_of::<Link>();
    links + outcome.body.as_ref().map_or(0, Vec::capacity) + outcome.line.capacity()
}

fn reset_reader(shared: &Shared, outcome: &PageOutcome, response: &Response, reader: &mut PageReader) {
    let robots_tags: Vec<_> = response.header_values("x-robots-tag").collect();
    let robots_tags: Vec<&str> = robots_tags.iter().map(AsRef::as_ref).collect();
    let host = crate::url::host_of(&outcome.record.url);
    reader.reset(&PageContext {
        content_type: outcome.record.content_type.as_deref(),
        x_robots_tag: &robots_tags,
        robots_agent: &shared.config.robots_agent,
        top_level_domain: host.rsplit_once('.').map(|(_, label)| label),
        keep_fragments: shared.config.canonicalization.keep_fragments,
        resources: shared.config.resources,
        limits: shared.limits,
    });
}

/// Bytes of a redirect's body that are read, for the connection's sake.
const REDIRECT_BYTES: usize = 64 << 10;
/// How long a redirect's body is waited for: its head said it all.
const REDIRECT_PATIENCE: Duration = Duration::from_secs(2);

/// The next piece of a body, waited for until then.
async fn next_piece<'a>(
    response: &'a mut Response,
    until: Option<tokio::time::Instant>,
    truncated: &mut Option<Truncation>,
) -> Result<Option<&'a [u8]>, FetchError> {
    let Some(until) = until else {
        return response.chunk().await;
    };
    tokio::time::timeout_at(until, response.chunk()).await.unwrap_or_else(|_| {
        *truncated = Some(Truncation::Time);
        Ok(None)
    })
}

async fn read_body(
    shared: &Shared,
    outcome: &mut PageOutcome,
    response: &mut Response,
    mut scratch: Option<&mut Scratch>,
) -> Result<(), FetchError> {
    let mut hasher = Xxh3Default::new();
    let mut body = shared.keep_bodies.then(Vec::new);
    let until = is_redirect(response.status()).then(|| tokio::time::Instant::now() + REDIRECT_PATIENCE);
    let mut so_far = 0;
    let result = loop {
        match next_piece(response, until, &mut outcome.record.truncated).await {
            Ok(Some(chunk)) => {
                let enough = until.is_some() && so_far >= REDIRECT_BYTES;
                so_far += chunk.len();
                hasher.update(chunk);
                if let Some(Scratch { reader, likeness, .. }) = scratch.as_deref_mut() {
                    reader.feed_with(chunk, likeness);
                }
                if let Some(body) = &mut body {
                    body.extend_from_slice(chunk);
                }
                let held = scratch.as_ref().map_or(0, |scratch| scratch.reader.held_bytes())
                    + body.as_ref().map_or(0, Vec::capacity);
                if held > FREE_BYTES {
                    response.also_hold(leased(held)).await;
                }
                if enough {
                    outcome.record.truncated = Some(Truncation::Length);
                    break Ok(());
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    outcome.record.digest = Some(format!("xxh3:{:032x}", hasher.digest128()));
    outcome.body = body;
    result
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
