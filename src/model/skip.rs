//! Why a URL is not fetched.

/// Why a URL was not fetched. The name is what files and summaries show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It could not be parsed as a URL.
    BadUrl,
    /// Its scheme is not http or https.
    OtherScheme,
    /// Longer than `--max-url-length`.
    UrlTooLong,
    /// Outside the scope of the crawl.
    OutOfScope,
    /// No `--include` matches.
    NotIncluded,
    /// An `--exclude` matches.
    Excluded,
    /// Further from the seeds than `--depth`.
    TooDeep,
    /// The link, the page or its header said `nofollow`.
    Nofollow,
    /// Past the number or size of links that one page may have.
    TooManyLinks,
    /// Its address, or every address of its host, is private (`--allow-private`).
    PrivateAddress,
    /// robots.txt disallows it.
    RobotsDenied,
    /// robots.txt could not be read.
    RobotsUnreachable,
    /// Its host failed again and again and was given up.
    HostUnreachable,
    /// Its host has reached `--max-pages-per-host`.
    HostLimit,
    /// At the end of a chain of more than `--max-redirects` redirects.
    TooManyRedirects,
    /// Its path has more segments than `--max-path-depth`.
    PathTooDeep,
    /// One segment stands in its path more often than `--max-repeated-segments`.
    RepeatedSegments,
    /// One parameter stands in its query more often than `--max-repeated-parameters`.
    RepeatedParameters,
    /// Its path was met with more queries than `--max-query-variants`.
    QueryVariants,
    /// Its domain was met with more hosts than `--max-subdomains`.
    TooManySubdomains,
    /// In a branch of a host that was found to be a trap (`--stop-traps`).
    Trap,
    /// Linked from a page that names another one as canonical (`--canonical`).
    NotCanonical,
    /// Its sitemap says that it has not changed since `--sitemap-since`.
    SitemapStale,
    /// An earlier crawl fetched it (`--skip-crawled`).
    AlreadyCrawled,
}

impl SkipReason {
    /// Every reason, in the order of display. Only ever appended to, for their places stand in files.
    pub const ALL: [SkipReason; 24] = [
        SkipReason::BadUrl,
        SkipReason::OtherScheme,
        SkipReason::UrlTooLong,
        SkipReason::OutOfScope,
        SkipReason::NotIncluded,
        SkipReason::Excluded,
        SkipReason::TooDeep,
        SkipReason::Nofollow,
        SkipReason::TooManyLinks,
        SkipReason::PrivateAddress,
        SkipReason::RobotsDenied,
        SkipReason::RobotsUnreachable,
        SkipReason::HostUnreachable,
        SkipReason::HostLimit,
        SkipReason::TooManyRedirects,
        SkipReason::PathTooDeep,
        SkipReason::RepeatedSegments,
        SkipReason::RepeatedParameters,
        SkipReason::QueryVariants,
        SkipReason::TooManySubdomains,
        SkipReason::Trap,
        SkipReason::NotCanonical,
        SkipReason::SitemapStale,
        SkipReason::AlreadyCrawled,
    ];

    /// The name that files and summaries show.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::BadUrl => "bad_url",
            SkipReason::OtherScheme => "other_scheme",
            SkipReason::UrlTooLong => "url_too_long",
            SkipReason::OutOfScope => "out_of_scope",
            SkipReason::NotIncluded => "not_included",
            SkipReason::Excluded => "excluded",
            SkipReason::TooDeep => "too_deep",
            SkipReason::Nofollow => "nofollow",
            SkipReason::TooManyLinks => "too_many_links",
            SkipReason::PrivateAddress => "private_address",
            SkipReason::RobotsDenied => "robots_denied",
            SkipReason::RobotsUnreachable => "robots_unreachable",
            SkipReason::HostUnreachable => "host_unreachable",
            SkipReason::HostLimit => "host_limit",
            SkipReason::TooManyRedirects => "too_many_redirects",
            SkipReason::PathTooDeep => "path_too_deep",
            SkipReason::RepeatedSegments => "repeated_segments",
            SkipReason::RepeatedParameters => "repeated_parameters",
            SkipReason::QueryVariants => "query_variants",
            SkipReason::TooManySubdomains => "too_many_subdomains",
            SkipReason::Trap => "trap",
            SkipReason::NotCanonical => "not_canonical",
            SkipReason::SitemapStale => "sitemap_stale",
            SkipReason::AlreadyCrawled => "already_crawled",
        }
    }
}
