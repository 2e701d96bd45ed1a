//! What the user may say: one type for flags, environment and file.
//!
//! Owns names and grammar of the options and how their layers lie over each
//! other. What they mean together is decided in `resolve`.

use std::path::PathBuf;

use serde::Serialize;

use super::typed::{real_number, switch, whole_number};
use super::{
    Count, CrawlStrategy, Dedup, FilterKind, HeaderScope, RobotsPolicy, ScopeKind, Sitemaps, Size, Span,
};

const INPUT: &str = "Input and output";
const BUDGET: &str = "Memory and the visited set";
const STATISTICS: &str = "Statistics (estimates)";
const SCOPE: &str = "Scope and limits";
const DISCOVERY: &str = "What is followed";
const TRAPS: &str = "Traps (what is skipped is counted, with an example)";
const POLITENESS: &str = "Politeness";
const NETWORK: &str = "Network";
const IDENTITY: &str = "Canonical URLs (each merges pages, all are off)";

/// How progress is shown on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ProgressMode {
    /// A live display on a terminal, plain lines otherwise.
    Auto,
    /// A live display.
    Bar,
    /// A line every `--stats-interval`.
    Plain,
    /// Nothing but warnings.
    None,
}

/// Everything that can be set, as it was typed; what is absent is decided by a
/// lower layer: flag, environment, file, default.
///
/// As TOML the keys are the long flags, and an unknown key is refused.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Options {
    /// Seed URLs: the arguments of the command line
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,

    /// Read seed URLs from FILE, one a line; `-` is standard input, gzip is unpacked (repeatable)
    #[arg(short = 'i', long, value_name = "FILE", env = "DRAGLINE_SEEDS", help_heading = INPUT)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<PathBuf>,
    /// Write the crawl directory DIR
    #[arg(short = 'o', long, value_name = "DIR", env = "DRAGLINE_OUTPUT", help_heading = INPUT)]
    pub output: Option<PathBuf>,
    /// Start over in a crawl directory that exists; what it holds is deleted
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_FRESH", help_heading = INPUT,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub fresh: Option<bool>,
    /// How progress is shown on standard error
    #[arg(long, value_name = "HOW", env = "DRAGLINE_PROGRESS", help_heading = INPUT)]
    pub progress: Option<ProgressMode>,
    /// Time between two lines of stats.jsonl, and of plain progress
    #[arg(long, value_name = "TIME", env = "DRAGLINE_STATS_INTERVAL", help_heading = INPUT)]
    pub stats_interval: Option<Span>,
    /// Write a row to skipped.jsonl for every URL that is not fetched, with the reason
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_LOG_SKIPPED", help_heading = INPUT,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub log_skipped: Option<bool>,

    /// Wait for the disk before a page counts as done, so that a power cut costs no record either
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_STRICT", help_heading = INPUT,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub strict: Option<bool>,

    /// Bound on the peak resident memory of the process
    #[arg(long, value_name = "SIZE", env = "DRAGLINE_MEMORY", help_heading = BUDGET)]
    pub memory: Option<Size>,
    /// Bits of filter per expected URL (not used by --dedup exact)
    #[arg(long, value_name = "F", env = "DRAGLINE_BITS_PER_URL", help_heading = BUDGET, value_parser = real_number)]
    pub bits_per_url: Option<f64>,
    /// Make the filter for N URLs; it still grows where the budget allows, but not with --dedup bloom
    #[arg(long, value_name = "N", env = "DRAGLINE_EXPECTED_URLS", help_heading = BUDGET)]
    pub expected_urls: Option<Count>,
    /// False-positive rate of the filter at its expected URLs, such as 0.01; instead of --bits-per-url
    #[arg(long, value_name = "P", env = "DRAGLINE_FP_RATE", help_heading = BUDGET, value_parser = real_number)]
    pub fp_rate: Option<f64>,
    /// How the visited set decides: two-stage loses no page, bloom is leanest, exact is for small crawls
    #[arg(long, value_name = "HOW", env = "DRAGLINE_DEDUP", help_heading = BUDGET)]
    pub dedup: Option<Dedup>,
    /// Which filter stands in front of the exact keys (not used by --dedup exact)
    #[arg(long, value_name = "KIND", env = "DRAGLINE_FILTER", help_heading = BUDGET)]
    pub filter: Option<FilterKind>,

    /// How far the count of how often a URL was linked may be too high, as a part of all links and the hosts of all links; 0.005 where memory is short
    #[arg(long, value_name = "F", env = "DRAGLINE_LINK_COUNT_ERROR", help_heading = STATISTICS, value_parser = real_number)]
    pub link_count_error: Option<f64>,
    /// The part of all URLs whose count may be off by more than that
    #[arg(long, value_name = "P", env = "DRAGLINE_LINK_COUNT_RISK", help_heading = STATISTICS, value_parser = real_number)]
    pub link_count_risk: Option<f64>,

    /// Which discovered URLs are wanted
    #[arg(long, value_name = "SCOPE", env = "DRAGLINE_SCOPE", help_heading = SCOPE)]
    pub scope: Option<ScopeKind>,
    /// Only URLs that match the regular expression RX, or another one given so (repeatable)
    #[arg(long, value_name = "RX", env = "DRAGLINE_INCLUDE", help_heading = SCOPE, allow_hyphen_values = true)]
    pub include: Vec<String>,
    /// No URLs that match the regular expression RX (repeatable)
    #[arg(long, value_name = "RX", env = "DRAGLINE_EXCLUDE", help_heading = SCOPE, allow_hyphen_values = true)]
    pub exclude: Vec<String>,
    /// In which order what a host has is fetched; both take what is nearest to a seed first
    #[arg(long, value_name = "HOW", env = "DRAGLINE_STRATEGY", help_heading = SCOPE)]
    pub strategy: Option<CrawlStrategy>,
    /// Links followed at most, one after the other, from a seed or from what a sitemap names, which counts as one; 0 fetches these only
    #[arg(short = 'd', long, value_name = "N", env = "DRAGLINE_DEPTH", help_heading = SCOPE, value_parser = whole_number)]
    pub depth: Option<u32>,
    /// Stop after N pages
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_PAGES", help_heading = SCOPE)]
    pub max_pages: Option<Count>,
    /// Fetch at most N pages of one host name
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_PAGES_PER_HOST", help_heading = SCOPE)]
    pub max_pages_per_host: Option<Count>,
    /// Stop after this time; what is in flight then gets two seconds more
    #[arg(long, value_name = "TIME", env = "DRAGLINE_MAX_TIME", help_heading = SCOPE)]
    pub max_time: Option<Span>,
    /// Stop before the crawl directory takes more than this
    #[arg(long, value_name = "SIZE", env = "DRAGLINE_MAX_DISK", help_heading = SCOPE)]
    pub max_disk: Option<Size>,
    /// Skip URLs of more bytes
    #[arg(long, value_name = "SIZE", env = "DRAGLINE_MAX_URL_LENGTH", help_heading = SCOPE)]
    pub max_url_length: Option<Size>,

    /// Fetch what pages embed as well: images, scripts, style sheets, media, objects
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_RESOURCES", help_heading = DISCOVERY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub resources: Option<bool>,
    /// Follow links that say nofollow, by link, page or header; robots.txt still holds
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_FOLLOW_NOFOLLOW", help_heading = DISCOVERY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub follow_nofollow: Option<bool>,
    /// Believe rel=canonical: once the page that others name has given its links, those of the others are left out
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_CANONICAL", help_heading = DISCOVERY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub canonical: Option<bool>,
    /// Read the sitemap URL as well; without seeds its host is the scope (repeatable)
    #[arg(long, value_name = "URL", env = "DRAGLINE_SITEMAP", help_heading = DISCOVERY)]
    pub sitemap: Vec<String>,
    /// Whether the sitemaps that robots.txt names are read
    #[arg(long, value_name = "HOW", env = "DRAGLINE_SITEMAPS", help_heading = DISCOVERY)]
    pub sitemaps: Option<Sitemaps>,
    /// Leave out what a sitemap says was last changed before this: a date such as 2026-01-31, or a time ago such as 30d
    #[arg(long, value_name = "WHEN", env = "DRAGLINE_SITEMAP_SINCE", help_heading = DISCOVERY)]
    pub sitemap_since: Option<String>,
    /// Skip what the crawl in DIR fetched (a 404 too, a failure not); seeds and sitemaps are fetched all the same (repeatable)
    #[arg(long, value_name = "DIR", env = "DRAGLINE_SKIP_CRAWLED", help_heading = DISCOVERY)]
    pub skip_crawled: Vec<PathBuf>,

    /// Skip URLs whose path has more segments
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_PATH_DEPTH", help_heading = TRAPS, value_parser = whole_number)]
    pub max_path_depth: Option<u32>,
    /// Skip URLs in whose path one segment stands more often
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_REPEATED_SEGMENTS", help_heading = TRAPS, value_parser = whole_number)]
    pub max_repeated_segments: Option<u32>,
    /// Skip URLs in whose query one parameter stands more often
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_REPEATED_PARAMETERS", help_heading = TRAPS, value_parser = whole_number)]
    pub max_repeated_parameters: Option<u32>,
    /// Skip further queries of a path that was met with so many
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_QUERY_VARIANTS", help_heading = TRAPS)]
    pub max_query_variants: Option<Count>,
    /// Skip further hosts of a registrable domain that was met with so many
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_SUBDOMAINS", help_heading = TRAPS)]
    pub max_subdomains: Option<Count>,
    /// Follow at most N links of one page
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_LINKS_PER_PAGE", help_heading = TRAPS)]
    pub max_links_per_page: Option<Count>,
    /// End a branch of a host where page after page is nearly the same; otherwise it is only told
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_STOP_TRAPS", help_heading = TRAPS,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub stop_traps: Option<bool>,

    /// Pause between the end of a fetch and the next one of the same host; 0s for none
    #[arg(long, value_name = "TIME", env = "DRAGLINE_DELAY", help_heading = POLITENESS)]
    pub delay: Option<Span>,
    /// Multiply each pause by a random factor of 0.5 to 1.5
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_RANDOM_WAIT", help_heading = POLITENESS,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub random_wait: Option<bool>,
    /// Pause between the end of a fetch and the next one of the same address
    #[arg(long, value_name = "TIME", env = "DRAGLINE_IP_DELAY", help_heading = POLITENESS)]
    pub ip_delay: Option<Span>,
    /// Honour a Crawl-delay of robots.txt up to this
    #[arg(long, value_name = "TIME", env = "DRAGLINE_MAX_CRAWL_DELAY", help_heading = POLITENESS)]
    pub max_crawl_delay: Option<Span>,
    /// Honour a Retry-After header up to this
    #[arg(long, value_name = "TIME", env = "DRAGLINE_MAX_RETRY_AFTER", help_heading = POLITENESS)]
    pub max_retry_after: Option<Span>,
    /// Requests in flight at most
    #[arg(long, value_name = "N", env = "DRAGLINE_CONCURRENCY", help_heading = POLITENESS, value_parser = whole_number)]
    pub concurrency: Option<u32>,
    /// Requests in flight at most for one host name; more than 1 only with --delay 0s
    #[arg(long, value_name = "N", env = "DRAGLINE_PER_HOST", help_heading = POLITENESS, value_parser = whole_number)]
    pub per_host: Option<u32>,
    /// Whether robots.txt is obeyed; ignore does not even ask for it
    #[arg(long, value_name = "HOW", env = "DRAGLINE_ROBOTS", help_heading = POLITENESS)]
    pub robots: Option<RobotsPolicy>,
    /// The product token that is looked for in robots.txt
    #[arg(long, value_name = "TOKEN", env = "DRAGLINE_ROBOTS_AGENT", help_heading = POLITENESS)]
    pub robots_agent: Option<String>,
    /// The User-Agent header; say who you are and how to reach you
    #[arg(short = 'A', long, value_name = "TEXT", env = "DRAGLINE_USER_AGENT", help_heading = POLITENESS)]
    pub user_agent: Option<String>,

    /// Time for one whole request, body included
    #[arg(long, value_name = "TIME", env = "DRAGLINE_TIMEOUT", help_heading = NETWORK)]
    pub timeout: Option<Span>,
    /// Time for a connection to stand
    #[arg(long, value_name = "TIME", env = "DRAGLINE_CONNECT_TIMEOUT", help_heading = NETWORK)]
    pub connect_timeout: Option<Span>,
    /// Further attempts after a failed one
    #[arg(long, value_name = "N", env = "DRAGLINE_RETRIES", help_heading = NETWORK, value_parser = whole_number)]
    pub retries: Option<u32>,
    /// Read at most this much of a body, counted after decoding
    #[arg(long, value_name = "SIZE", env = "DRAGLINE_MAX_BODY", help_heading = NETWORK)]
    pub max_body: Option<Size>,
    /// Redirects in one chain at most
    #[arg(long, value_name = "N", env = "DRAGLINE_MAX_REDIRECTS", help_heading = NETWORK, value_parser = whole_number)]
    pub max_redirects: Option<u32>,
    /// Send a further request header, as 'Name: value' (repeatable)
    #[arg(short = 'H', long, value_name = "HEADER", env = "DRAGLINE_HEADER", help_heading = NETWORK, allow_hyphen_values = true)]
    pub header: Vec<String>,
    /// To which hosts the headers of -H are sent
    #[arg(long, value_name = "WHO", env = "DRAGLINE_HEADER_SCOPE", help_heading = NETWORK)]
    pub header_scope: Option<HeaderScope>,
    /// Trust the certificate authorities in the PEM file FILE as well
    #[arg(long, value_name = "FILE", env = "DRAGLINE_CA_FILE", help_heading = NETWORK)]
    pub ca_file: Option<PathBuf>,
    /// Do not verify certificates
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_INSECURE", help_heading = NETWORK,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub insecure: Option<bool>,
    /// Send all requests through the proxy URL (http, https or socks5); only literal addresses can be guarded then
    #[arg(long, value_name = "URL", env = "DRAGLINE_PROXY", help_heading = NETWORK)]
    pub proxy: Option<String>,
    /// Answer for a host name with ADDR rather than by DNS, as `HOST[:PORT]:ADDR`; `*.example.com` is every name below (repeatable)
    #[arg(long, value_name = "RULE", env = "DRAGLINE_RESOLVE", help_heading = NETWORK)]
    pub resolve: Vec<String>,
    /// Keep cookies and send them back, within one run
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_COOKIES", help_heading = NETWORK,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub cookies: Option<bool>,
    /// Ask the name server `ADDR[:PORT]` rather than those of the system (repeatable)
    #[arg(long, value_name = "ADDR", env = "DRAGLINE_DNS", help_heading = NETWORK)]
    pub dns: Vec<String>,
    /// Allow private, loopback, link-local and metadata addresses everywhere; without it those of the very hosts and ports that were given as seeds are allowed alone
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_ALLOW_PRIVATE", help_heading = NETWORK,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub allow_private: Option<bool>,

    /// Compare the parameters of a query in sorted order
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_SORT_QUERY", help_heading = IDENTITY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub sort_query: Option<bool>,
    /// Drop these query parameters, names separated by commas
    #[arg(long, value_name = "LIST", env = "DRAGLINE_STRIP_PARAMS", help_heading = IDENTITY, value_delimiter = ',')]
    pub strip_params: Vec<String>,
    /// Drop utm_*, gclid, fbclid and their like
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_STRIP_TRACKING", help_heading = IDENTITY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub strip_tracking: Option<bool>,
    /// Drop session ids in path or query
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_STRIP_SESSION_IDS", help_heading = IDENTITY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub strip_session_ids: Option<bool>,
    /// Drop `www.` in front of a host name
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_FOLD_WWW", help_heading = IDENTITY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub fold_www: Option<bool>,
    /// Take http and https (on default ports) for one
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_FOLD_HTTPS", help_heading = IDENTITY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub fold_https: Option<bool>,
    /// Take a path with and without its last slash for one
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_STRIP_TRAILING_SLASH", help_heading = IDENTITY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub strip_trailing_slash: Option<bool>,
    /// Let fragments tell pages apart
    #[arg(long, value_name = "BOOL", env = "DRAGLINE_KEEP_FRAGMENTS", help_heading = IDENTITY,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch)]
    pub keep_fragments: Option<bool>,
}

impl Options {
    /// Lays these options over `lower`: what is said here wins, a list replaces
    /// a list, and the two ways to size a filter replace each other.
    #[must_use]
    pub fn over(self, lower: Options) -> Options {
        let sized = self.bits_per_url.is_some() || self.fp_rate.is_some();
        let (lower_bits, lower_rate) = if sized { (None, None) } else { (lower.bits_per_url, lower.fp_rate) };
        macro_rules! layered {
            (lists: $($list:ident),*; values: $($value:ident),* $(,)?) => {
                Options {
                    $($list: if self.$list.is_empty() { lower.$list } else { self.$list },)*
                    $($value: self.$value.or(lower.$value),)*
                    bits_per_url: self.bits_per_url.or(lower_bits),
                    fp_rate: self.fp_rate.or(lower_rate),
                }
            };
        }
        layered! {
            lists: urls, seeds, include, exclude, header, resolve, strip_params, sitemap, skip_crawled, dns;
            values: output, fresh, progress, stats_interval, log_skipped, strict,
                memory, expected_urls, dedup, filter, link_count_error, link_count_risk, strategy,
                scope, depth, max_pages, max_pages_per_host, max_time, max_disk, max_url_length,
                delay, random_wait, ip_delay, max_crawl_delay, max_retry_after,
                concurrency, per_host, robots, robots_agent, user_agent,
                timeout, connect_timeout, retries, max_body, max_redirects,
                header_scope, ca_file, insecure, proxy, allow_private,
                sort_query, strip_tracking, strip_session_ids, fold_www, fold_https,
                strip_trailing_slash, keep_fragments,
                resources, follow_nofollow, canonical, sitemaps, sitemap_since,
                max_path_depth, max_repeated_segments, max_repeated_parameters,
                max_query_variants, max_subdomains, max_links_per_page, stop_traps, cookies,
        }
    }
}
