//! What every option is where the user says nothing.
//!
//! The constants are the whole truth: `--help`, the frozen configuration and
//! the resolved one are all derived from them.

use std::time::Duration;

use super::{Count, Size, Span};
use super::{CrawlStrategy, Dedup, FilterKind, HeaderScope, ProgressMode, RobotsPolicy, ScopeKind, Sitemaps};

/// One part in so many of the available memory is the default of `--memory` …
pub const MEMORY_DIVISOR: u64 = 4;
/// … but no more than this, in bytes …
pub const MEMORY_AT_MOST: u64 = 1 << 30;
/// … and this, in bytes, where the system does not tell how much there is.
pub const MEMORY_UNKNOWN: u64 = 256 << 20;
/// `--bits-per-url`: just under one false positive in a hundred.
pub const BITS_PER_URL: f64 = 10.0;
/// `--dedup`: loses no page.
pub const DEDUP: Dedup = Dedup::TwoStage;
/// `--filter`: one cache line per URL.
pub const FILTER: FilterKind = FilterKind::Blocked;
/// `--scope`: the seeds' hosts.
pub const SCOPE: ScopeKind = ScopeKind::Host;
/// `--max-url-length`, in bytes: what sitemaps and most servers allow.
pub const MAX_URL_LENGTH: usize = 2048;
/// `--max-path-depth`: the deepest paths of large documentation sites have some ten segments.
pub const MAX_PATH_DEPTH: u32 = 64;
/// `--max-repeated-segments`: what links to itself one level further down reaches it soon.
pub const MAX_REPEATED_SEGMENTS: u32 = 5;
/// `--max-repeated-parameters`.
pub const MAX_REPEATED_PARAMETERS: u32 = 8;
/// `--max-query-variants`: a forum may have all its threads under one path.
pub const MAX_QUERY_VARIANTS: u64 = 100_000;
/// `--strategy`.
pub const STRATEGY: CrawlStrategy = CrawlStrategy::Bfs;
/// `--link-count-error`.
pub const LINK_COUNT_ERROR: f64 = 5e-4;
/// `--link-count-risk`.
pub const LINK_COUNT_RISK: f64 = 1e-2;
/// `--max-subdomains`.
pub const MAX_SUBDOMAINS: u64 = 10_000;
/// `--max-links-per-page`.
pub const MAX_LINKS_PER_PAGE: u64 = 100_000;
/// `--sitemaps`: a site that names them wants them read.
pub const SITEMAPS: Sitemaps = Sitemaps::Auto;
/// `--delay`: as polite as wget's usual `--wait=1`.
pub const DELAY: Duration = Duration::from_secs(1);
/// `--ip-delay`: none, the delay per host name counts.
pub const IP_DELAY: Duration = Duration::ZERO;
/// `--max-crawl-delay`: longer ones are almost always mistakes.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(60);
/// `--max-retry-after`: a server may ask for ten minutes.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);
/// `--concurrency`, where the budget affords as many.
pub const CONCURRENCY: usize = 32;
/// `--timeout`, for a whole request.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// `--connect-timeout`.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// `--retries`: Scrapy's number.
pub const RETRIES: u32 = 2;
/// `--max-body`, in bytes, decoded.
pub const MAX_BODY: u64 = 10 << 20;
/// `--max-redirects`.
pub const MAX_REDIRECTS: u32 = 10;
/// `--user-agent`: name, version and where to read about it.
pub const USER_AGENT: &str =
    concat!("dragline/", env!("CARGO_PKG_VERSION"), " (+https://crates.io/crates/dragline)");
/// `--robots-agent`.
pub const ROBOTS_AGENT: &str = "dragline";
/// `--header-scope`: a stranger's server gets no cookie of yours.
pub const HEADER_SCOPE: HeaderScope = HeaderScope::Seeds;
/// `--robots`.
pub const ROBOTS: RobotsPolicy = RobotsPolicy::Obey;
/// `--stats-interval`.
pub const STATS_INTERVAL: Duration = Duration::from_secs(10);
/// `--output`.
pub const OUTPUT: &str = "dragline-crawl";
/// `--progress`.
pub const PROGRESS: ProgressMode = ProgressMode::Auto;

/// The default of `--memory` on this machine, in bytes: a whole number of MiB.
pub fn memory() -> u64 {
    crate::budget::available_memory()
        .map_or(MEMORY_UNKNOWN, |available| (available / MEMORY_DIVISOR).min(MEMORY_AT_MOST))
        >> 20
        << 20
}

/// The default of an option as a person reads it; `None` for a name that is no option.
///
/// `name` is the long flag without its dashes, which is also the key in a file.
pub fn describe(name: &str) -> Option<String> {
    let text = match name {
        "memory" => format!("a quarter of the memory, at most 1GiB; here {}", Size(memory())),
        "bits-per-url" => BITS_PER_URL.to_string(),
        "expected-urls" => "250,000, growing to what the filter's share of the budget holds; all of it at once where that is 4MiB or less, or with --dedup bloom".into(),
        "fp-rate" => "as --bits-per-url gives".into(),
        "dedup" => name_of(&DEDUP),
        "filter" => name_of(&FILTER),
        "strategy" => name_of(&STRATEGY),
        "link-count-error" => LINK_COUNT_ERROR.to_string(),
        "link-count-risk" => LINK_COUNT_RISK.to_string(),
        "scope" => name_of(&SCOPE),
        "max-url-length" => Size(MAX_URL_LENGTH as u64).to_string(),
        "max-path-depth" => MAX_PATH_DEPTH.to_string(),
        "max-repeated-segments" => MAX_REPEATED_SEGMENTS.to_string(),
        "max-repeated-parameters" => MAX_REPEATED_PARAMETERS.to_string(),
        "max-query-variants" => Count(MAX_QUERY_VARIANTS).to_string(),
        "max-subdomains" => Count(MAX_SUBDOMAINS).to_string(),
        "max-links-per-page" => format!("{}, or what --memory affords", Count(MAX_LINKS_PER_PAGE)),
        "sitemaps" => name_of(&SITEMAPS),
        "dns" => "those of the system".into(),
        "delay" => Span(DELAY).to_string(),
        "ip-delay" => Span(IP_DELAY).to_string(),
        "max-crawl-delay" => Span(MAX_CRAWL_DELAY).to_string(),
        "max-retry-after" => Span(MAX_RETRY_AFTER).to_string(),
        "concurrency" => format!("{CONCURRENCY}, or what --memory affords"),
        "per-host" => "1 with a delay, else as --concurrency".into(),
        "timeout" => Span(TIMEOUT).to_string(),
        "connect-timeout" => Span(CONNECT_TIMEOUT).to_string(),
        "retries" => RETRIES.to_string(),
        "max-body" => Size(MAX_BODY).to_string(),
        "max-redirects" => MAX_REDIRECTS.to_string(),
        "user-agent" => USER_AGENT.into(),
        "robots-agent" => ROBOTS_AGENT.into(),
        "header-scope" => name_of(&HEADER_SCOPE),
        "robots" => name_of(&ROBOTS),
        "stats-interval" => Span(STATS_INTERVAL).to_string(),
        "output" => OUTPUT.into(),
        "progress" => name_of(&PROGRESS),
        "depth" | "max-pages" | "max-pages-per-host" | "max-time" | "max-disk" | "sitemap-since" => {
            "no limit".into()
        }
        "seeds" | "include" | "exclude" | "header" | "resolve" | "strip-params" | "sitemap" | "skip-crawled" => "none".into(),
        "ca-file" => "the built-in authorities".into(),
        "proxy" => "from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY".into(),
        "random-wait"
        | "insecure"
        | "allow-private"
        | "sort-query"
        | "strip-tracking"
        | "strip-session-ids"
        | "fold-www"
        | "fold-https"
        | "strip-trailing-slash"
        | "keep-fragments"
        | "log-skipped"
        | "strict"
        | "resources"
        | "follow-nofollow"
        | "canonical"
        | "stop-traps"
        | "cookies"
        | "fresh" => "false".into(),
        _ => return None,
    };
    Some(text)
}

/// The name by which a choice is typed.
fn name_of(choice: &impl clap::ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
