//! What the user asked for: plain, validated settings.
//!
//! [`Config`] is what every other module reads. It is resolved once, at start,
//! from [`Options`], what was typed; nothing else knows of flags or files.
//!
//! ```
//! use dragline::config::{Options, Size};
//!
//! let typed = Options { memory: Some(Size(64 << 20)), ..Options::default() };
//! let file = Options { depth: Some(3), ..Options::default() };
//! let config = typed.over(file).resolve()?;
//! assert_eq!((config.memory, config.depth), (64 << 20, Some(3)));
//! # Ok::<(), dragline::config::ConfigError>(())
//! ```

mod address;
mod check;
pub mod date;
pub mod defaults;
mod difference;
mod error;
mod file;
mod freeze;
mod options;
mod quantity;
mod resolve;
pub mod seeds;
#[cfg(test)]
mod tests;
mod typed;

pub use check::{expressions, proxy, request_header, user_agent};
pub use difference::Difference;
pub use error::{ConfigError, Origin, variable_of};
pub use options::{Options, ProgressMode};
pub use quantity::{Count, LONGEST_SPAN, QuantityError, Size, Span};
pub use typed::{Mistake, mistake};

use std::net::IpAddr;
use std::time::Duration;

/// How the visited set decides (the promises of each are in the README).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Dedup {
    /// The filter answers "new" at once; every "maybe" is settled exactly, late and in bulk.
    TwoStage,
    /// The filter alone decides; its false positives are pages never fetched.
    Bloom,
    /// A table of exact keys in memory decides.
    Exact,
}

/// In which order what a host has is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum CrawlStrategy {
    /// Breadth first: the nearest to a seed, and of these what was found first.
    Bfs,
    /// The nearest to a seed, and of these what most pages link to, as far as that is known by then.
    BestFirst,
}

/// Which filter stands in front of the exact stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum FilterKind {
    /// One cache line per URL.
    Blocked,
    /// Bits spread over the whole array.
    Classic,
}

/// Which discovered URLs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    /// The seed and its redirects.
    Page,
    /// The seed's host, below the seed's directory.
    Prefix,
    /// The seed's host name, any scheme or port.
    Host,
    /// The seed's registrable domain.
    Domain,
    /// Everything.
    Any,
}

/// Whether the sitemaps that robots.txt names are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Sitemaps {
    /// They are.
    Auto,
    /// Only those that the user names.
    Off,
}

/// Whether robots.txt is obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsPolicy {
    /// RFC 9309.
    Obey,
    /// robots.txt is not even asked for.
    Ignore,
}

/// To which hosts the user's own request headers are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderScope {
    /// The hosts of the seeds only.
    Seeds,
    /// Every host.
    Any,
}

/// The lossy rules of canonicalization; each is off unless asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canonicalization {
    /// Parameters of the query are compared in sorted order.
    pub sort_query: bool,
    /// Names of query parameters that are dropped.
    pub strip_params: Vec<String>,
    /// `utm_*`, `gclid`, `fbclid` and their like are dropped.
    pub strip_tracking: bool,
    /// Session ids in path or query are dropped.
    pub strip_session_ids: bool,
    /// `www.` in front of a host name is dropped.
    pub fold_www: bool,
    /// `http` and `https` (on default ports) are one.
    pub fold_https: bool,
    /// A path with and without its last slash are one.
    pub strip_trailing_slash: bool,
    /// Fragments tell pages apart.
    pub keep_fragments: bool,
}

/// One `--resolve HOST[:PORT]:ADDR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveRule {
    /// Host name in lower case, ASCII form; `*.example.com` stands for every name below `example.com`.
    pub host: String,
    /// Only for this port; any port where absent.
    pub port: Option<u16>,
    /// The address that answers.
    pub address: IpAddr,
}

/// Everything a crawl needs to know, validated.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Bound on the peak resident memory of the process, in bytes.
    pub memory: u64,
    /// Bits of filter per expected URL.
    pub bits_per_url: f64,
    /// False-positive rate of the filter at its design load; takes the place of `bits_per_url` where present.
    pub fp_rate: Option<f64>,
    /// In which order what a host has is fetched.
    pub strategy: CrawlStrategy,
    /// How far counts of links may be off, as a part of all links …
    pub link_count_error: f64,
    /// … but for so many of all counts.
    pub link_count_risk: f64,
    /// URLs the filter is made for; derived from the budget where absent.
    pub expected_urls: Option<u64>,
    /// How the visited set decides.
    pub dedup: Dedup,
    /// Which filter is used.
    pub filter: FilterKind,
    /// Which URLs are wanted.
    pub scope: ScopeKind,
    /// A URL must match one of these regular expressions, where there are any.
    pub include: Vec<String>,
    /// A URL must match none of these regular expressions.
    pub exclude: Vec<String>,
    /// Links followed from a seed at most; 0 fetches the seeds only.
    pub depth: Option<u32>,
    /// Records written at most.
    pub max_pages: Option<u64>,
    /// Records written at most for one host name.
    pub max_pages_per_host: Option<u64>,
    /// Time the crawl may take.
    pub max_time: Option<Duration>,
    /// Bytes that the crawl directory may take on disk.
    pub max_disk: Option<u64>,
    /// A page counts as done only once its record has reached the disk.
    pub strict: bool,
    /// Bytes of a URL at most, as requested.
    pub max_url_length: usize,
    /// What pages embed is fetched as well.
    pub resources: bool,
    /// Links that say nofollow are followed.
    pub follow_nofollow: bool,
    /// A page that names another one as canonical hands its place to that one.
    pub canonical: bool,
    /// Sitemaps to read, as they were typed.
    pub sitemap: Vec<String>,
    /// Whether the sitemaps that robots.txt names are read.
    pub sitemaps: Sitemaps,
    /// What a sitemap says was last changed before this is left out: a date or a time, as in [`date`].
    pub sitemap_since: Option<String>,
    /// Directories of crawls whose pages are not fetched again, as they were typed.
    pub skip_crawled: Vec<std::path::PathBuf>,
    /// Segments of a path at most.
    pub max_path_depth: u32,
    /// How often one segment may stand in a path.
    pub max_repeated_segments: u32,
    /// How often one parameter may stand in a query.
    pub max_repeated_parameters: u32,
    /// Queries of one path at most.
    pub max_query_variants: u64,
    /// Hosts of one registrable domain at most.
    pub max_subdomains: u64,
    /// Links of one page at most.
    pub max_links_per_page: u64,
    /// A branch that is a trap is ended.
    pub stop_traps: bool,
    /// Pause between the end of a fetch and the next one of the same host.
    pub delay: Duration,
    /// Each pause is multiplied by a random factor of 0.5 to 1.5.
    pub random_wait: bool,
    /// Pause between the end of a fetch and the next one of the same address.
    pub ip_delay: Duration,
    /// The longest `Crawl-delay` that is honoured as it stands.
    pub max_crawl_delay: Duration,
    /// The longest `Retry-After` that is honoured as it stands.
    pub max_retry_after: Duration,
    /// Requests in flight at most.
    pub concurrency: usize,
    /// Requests in flight at most for one host name.
    pub per_host: usize,
    /// Time for one whole request, body included.
    pub timeout: Duration,
    /// Time for a connection to stand.
    pub connect_timeout: Duration,
    /// Further attempts after a failed one.
    pub retries: u32,
    /// Bytes of a body at most, decoded.
    pub max_body: u64,
    /// Redirects in one chain at most.
    pub max_redirects: u32,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The product token that is looked for in robots.txt.
    pub robots_agent: String,
    /// Further request headers, name and value.
    pub headers: Vec<(String, String)>,
    /// Who gets them.
    pub header_scope: HeaderScope,
    /// A PEM file of further certificate authorities.
    pub ca_file: Option<std::path::PathBuf>,
    /// Certificates are not verified.
    pub insecure: bool,
    /// A proxy for all requests (`http://`, `https://`, `socks5://`); from the environment where absent.
    pub proxy: Option<String>,
    /// Host names answered from here rather than by DNS.
    pub resolve: Vec<ResolveRule>,
    /// Cookies are kept and sent back.
    pub cookies: bool,
    /// Name servers to ask in place of those of the system.
    pub dns: Vec<std::net::SocketAddr>,
    /// Whether robots.txt is obeyed.
    pub robots: RobotsPolicy,
    /// Private, loopback, link-local and metadata addresses are allowed.
    pub allow_private: bool,
    /// The lossy rules of canonicalization.
    pub canonicalization: Canonicalization,
    /// Time between two lines of `stats.jsonl`.
    pub stats_interval: Duration,
    /// A row in `skipped.jsonl` for every page and URL not fetched.
    pub log_skipped: bool,
}

/// What a crawl does where the user says nothing. `concurrency` is what the
/// default budget affords only after [`Options::resolve`].
impl Default for Config {
    fn default() -> Config {
        Config {
            memory: defaults::memory(),
            bits_per_url: defaults::BITS_PER_URL,
            fp_rate: None,
            strategy: defaults::STRATEGY,
            link_count_error: defaults::LINK_COUNT_ERROR,
            link_count_risk: defaults::LINK_COUNT_RISK,
            expected_urls: None,
            dedup: defaults::DEDUP,
            filter: defaults::FILTER,
            scope: defaults::SCOPE,
            include: Vec::new(),
            exclude: Vec::new(),
            depth: None,
            max_pages: None,
            max_pages_per_host: None,
            max_time: None,
            max_disk: None,
            strict: false,
            max_url_length: defaults::MAX_URL_LENGTH,
            resources: false,
            follow_nofollow: false,
            canonical: false,
            sitemap: Vec::new(),
            sitemaps: defaults::SITEMAPS,
            sitemap_since: None,
            skip_crawled: Vec::new(),
            max_path_depth: defaults::MAX_PATH_DEPTH,
            max_repeated_segments: defaults::MAX_REPEATED_SEGMENTS,
            max_repeated_parameters: defaults::MAX_REPEATED_PARAMETERS,
            max_query_variants: defaults::MAX_QUERY_VARIANTS,
            max_subdomains: defaults::MAX_SUBDOMAINS,
            max_links_per_page: defaults::MAX_LINKS_PER_PAGE,
            stop_traps: false,
            delay: defaults::DELAY,
            random_wait: false,
            ip_delay: defaults::IP_DELAY,
            max_crawl_delay: defaults::MAX_CRAWL_DELAY,
            max_retry_after: defaults::MAX_RETRY_AFTER,
            concurrency: defaults::CONCURRENCY,
            per_host: 1,
            timeout: defaults::TIMEOUT,
            connect_timeout: defaults::CONNECT_TIMEOUT,
            retries: defaults::RETRIES,
            max_body: defaults::MAX_BODY,
            max_redirects: defaults::MAX_REDIRECTS,
            user_agent: defaults::USER_AGENT.to_owned(),
            robots_agent: defaults::ROBOTS_AGENT.to_owned(),
            headers: Vec::new(),
            header_scope: defaults::HEADER_SCOPE,
            ca_file: None,
            insecure: false,
            proxy: None,
            resolve: Vec::new(),
            cookies: false,
            dns: Vec::new(),
            robots: defaults::ROBOTS,
            allow_private: false,
            canonicalization: Canonicalization::default(),
            stats_interval: defaults::STATS_INTERVAL,
            log_skipped: false,
        }
    }
}
