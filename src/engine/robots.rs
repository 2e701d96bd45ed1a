//! Fetching robots.txt, and asking it one question from the command line.

use std::sync::Arc;
use std::time::Duration;

use super::crawl::SetupError;
use super::job::{Asked, RobotsAnswer};
use super::judge::{redirect_target, retry_after};
use super::timestamp;
use super::worker::page_error;
use crate::budget::Lease;
use crate::config::{Config, Options};
use crate::fetch::{FetchError, FetchRequest, Fetcher, SeedHost};
use crate::model::{ErrorKind, PageError};
use crate::robots::{MAX_BYTES, RobotsReader, RobotsRules, Verdict};
use crate::scope::canonical_rules;
use crate::url::{Canonicalizer, Reject};

/// Redirects followed to a robots.txt (RFC 9309 section 2.3.1.2).
const REDIRECTS: u32 = 5;
/// A robots.txt that takes longer is unreachable: a silent host must not hold its slot for long.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Fetches the robots.txt of an origin (`scheme://host[:port]`), redirects followed at once.
async fn fetch(
    fetcher: &Fetcher,
    canonicalizer: &Canonicalizer,
    config: &Config,
    origin: &str,
) -> Result<Arc<RobotsRules>, PageError> {
    let (mut url, mut hops): (Arc<str>, u32) = (format!("{origin}/robots.txt").into(), 0);
    loop {
        match ask(fetcher, canonicalizer, config, &url, hops).await.answer {
            RobotsAnswer::Elsewhere { url: to, hops: so_far } => (url, hops) = (to, so_far),
            RobotsAnswer::Rules(rules) => return Ok(rules),
            RobotsAnswer::Failed { error, .. } => return Err(error),
        }
    }
}

/// What came of a request for a robots.txt.
pub(super) struct Reply {
    pub(super) asked: Asked,
    pub(super) answer: RobotsAnswer,
    /// Covers the rules until they are among those that the budget counts.
    pub(super) lease: Option<Lease>,
}

/// Makes one request for a robots.txt, `hops` redirects away from where it should stand.
///
/// A redirect is the caller's to follow, so that each request can wait for its time.
pub(super) async fn ask(
    fetcher: &Fetcher,
    canonicalizer: &Canonicalizer,
    config: &Config,
    url: &str,
    hops: u32,
) -> Reply {
    let (mut asked, mut lease) = (asked(url), None);
    let answer = match request(fetcher, canonicalizer, config, (&mut asked, &mut lease), hops).await {
        // Beyond five redirects the file may be taken as unavailable (RFC 9309 section 2.3.1.2).
        Ok(RobotsAnswer::Elsewhere { hops, .. }) if hops > REDIRECTS => allow_all(),
        Ok(answer) => answer,
        Err(error) => {
            let mut error = page_error(error);
            // that a redirect leads to a private address says nothing of this host's own
            if hops > 0 && error.kind == ErrorKind::PrivateAddress {
                error.kind = ErrorKind::Other;
            }
            RobotsAnswer::Failed { retry_after: None, error }
        }
    };
    Reply { asked, answer, lease }
}

/// A request that is about to be made.
pub(super) fn asked(url: &str) -> Asked {
    Asked { url: url.into(), status: None, at: timestamp::now() }
}

fn allow_all() -> RobotsAnswer {
    RobotsAnswer::Rules(Arc::new(RobotsRules::allow_all()))
}

/// What the next piece of a robots.txt may add to its rules: 32 KiB are 4,096 of twenty bytes at most, or
/// a line of octets that become three each.
const GROWTH: usize = 128 << 10;
/// Bytes of rules that come without a lease; most robots.txt have fewer.
const FREE_BYTES: usize = 16 << 10;

async fn request(
    fetcher: &Fetcher,
    canonicalizer: &Canonicalizer,
    config: &Config,
    (asked, lease): (&mut Asked, &mut Option<Lease>),
    hops: u32,
) -> Result<RobotsAnswer, FetchError> {
    let url = &*asked.url;
    let request = FetchRequest {
        // One byte more than is read, so that a file that was cut is known.
        max_body: Some(MAX_BYTES as u64 + 1),
        timeout: Some(config.timeout.min(TIMEOUT)),
        ..FetchRequest::new(url)
    };
    let mut response = fetcher.get(&request).await?;
    let status = response.status();
    asked.status = Some(status);
    Ok(match status {
        200..=299 => {
            let mut reader = RobotsReader::new(&config.robots_agent);
            while let Some(piece) = response.chunk().await? {
                reader.feed(piece);
                let most = reader.most_bytes();
                if most > FREE_BYTES {
                    response.also_hold(most + GROWTH).await;
                }
            }
            let most = reader.most_bytes();
            if most > FREE_BYTES {
                // packing takes up to eight bytes more for a rule of twenty
                response.also_hold(most + most * 2 / 5).await;
            }
            let rules = reader.finish();
            let mut held = response.finish_holding().1;
            held.shrink_to(rules.memory_bytes());
            *lease = Some(held);
            RobotsAnswer::Rules(Arc::new(rules))
        }
        301 | 302 | 303 | 307 | 308 => match redirect_target(canonicalizer, url, &response) {
            Some(Ok(target)) => RobotsAnswer::Elsewhere { url: target.requested.into(), hops: hops + 1 },
            // A redirect to nowhere is an answer without a file.
            _ => allow_all(),
        },
        429 | 500.. => RobotsAnswer::Failed {
            retry_after: retry_after(&response),
            error: PageError { kind: ErrorKind::Other, detail: format!("robots.txt answered {status}") },
        },
        _ => allow_all(),
    })
}

/// Why a robots.txt could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RobotsError {
    /// The URL cannot be crawled.
    #[error(transparent)]
    Url(#[from] Reject),
    /// An option is wrong, or the client cannot be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The file could not be read: a crawl would fetch nothing there for now.
    #[error("robots.txt of {origin} cannot be read, so nothing there may be fetched: {detail}")]
    Unreachable {
        /// Whose file.
        origin: String,
        /// What went wrong.
        detail: String,
    },
}

/// Asks the robots.txt of a URL's origin, over the network, whether the URL may be fetched.
///
/// # Errors
/// [`RobotsError`] where there is no verdict.
pub fn robots_verdict(options: &Options, url: &str) -> Result<Verdict, RobotsError> {
    let config = options.resolve().map_err(SetupError::from)?;
    let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
    let target = canonicalizer.parse(url)?;
    let memory = super::plan::plan(&config).map_err(SetupError::from)?.0.fetch_memory();
    let seeds: Vec<SeedHost> = SeedHost::of(&target.requested).into_iter().collect();
    let fetcher = Fetcher::new(&config, seeds, memory).map_err(SetupError::from)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(SetupError::Runtime)?;
    match runtime.block_on(fetch(&fetcher, &canonicalizer, &config, target.origin())) {
        Ok(rules) => Ok(rules.verdict(&target.requested[target.origin_length()..])),
        Err(error) => {
            Err(RobotsError::Unreachable { origin: target.origin().to_owned(), detail: error.detail })
        }
    }
}
