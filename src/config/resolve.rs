//! From what was typed to what it means: validates [`Options`] as a whole and
//! yields the [`Config`] that every other module reads; and back again, for the
//! frozen configuration.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use super::{Canonicalization, Config, ConfigError, Count, Options, Size, Span, address, check, defaults};
use crate::budget::{self, Deciders, Inputs, SketchBytes};

/// The most memory that can be asked for, in bytes.
const MEMORY_LIMIT: u64 = 1 << 50;
/// Longest URL that can be asked for, in bytes.
const URL_LENGTHS: RangeInclusive<u64> = 64..=65_535;
/// Requests in flight that can be asked for.
const CONCURRENCY: RangeInclusive<u32> = 1..=65_535;
/// Retries and redirects that can be asked for.
const AT_MOST_A_HUNDRED: RangeInclusive<u32> = 0..=100;
/// The least that `--max-disk` may be, in bytes: the state of a crawl alone takes some of it.
const LEAST_DISK: u64 = 16 << 20;
/// The least time between two lines of statistics.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

impl Options {
    /// Validates the options as a whole.
    ///
    /// # Errors
    /// The first thing that cannot be used, with its remedy. Files that options
    /// name are looked at; nothing else is touched.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        visited(self, &mut config)?;
        limits(self, &mut config)?;
        discovery(self, &mut config)?;
        politeness(self, &mut config)?;
        network(self, &mut config)?;
        identity(self, &mut config)?;
        config.canonicalization = self.canonicalization()?;
        memory(self, &mut config)?;
        Ok(config)
    }

    /// What these options say of canonical URLs, whatever the others say.
    ///
    /// # Errors
    /// Where a parameter to strip has no name.
    pub fn canonicalization(&self) -> Result<Canonicalization, ConfigError> {
        canonicalization(self)
    }
}

/// `value`, if it lies in the range.
fn in_range<T: PartialOrd + Display + Copy>(
    option: &'static str,
    value: T,
    range: &RangeInclusive<T>,
) -> Result<T, ConfigError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let problem = format!("must lie between {} and {}", range.start(), range.end());
    Err(ConfigError::value(option, value, problem))
}

/// A limit that must leave room for something; absent means none.
fn limit(option: &'static str, value: Option<Count>) -> Result<Option<u64>, ConfigError> {
    match value {
        Some(Count(0)) => {
            Err(ConfigError::value(option, 0, "must be more than zero; leave it out for no limit"))
        }
        value => Ok(value.map(|count| count.0)),
    }
}

/// A time that must be more than nothing.
fn positive(option: &'static str, value: Option<Span>, default: Duration) -> Result<Duration, ConfigError> {
    match value {
        Some(Span(Duration::ZERO)) => Err(ConfigError::value(option, "0s", "must be more than zero")),
        value => Ok(value.map_or(default, |span| span.0)),
    }
}

/// Sizing and kind of the visited set.
fn visited(options: &Options, config: &mut Config) -> Result<(), ConfigError> {
    if options.bits_per_url.is_some() && options.fp_rate.is_some() {
        return Err(ConfigError::Contradiction {
            first: "bits-per-url",
            second: "fp-rate",
            remedy: "each sizes the filter; give one",
        });
    }
    if let Some(bits) = options.bits_per_url {
        config.bits_per_url = in_range("bits-per-url", bits, &(1.0..=64.0))?;
    }
    config.strategy = options.strategy.unwrap_or(config.strategy);
    if let Some(error) = options.link_count_error {
        config.link_count_error = in_range("link-count-error", error, &(1e-6..=0.1))?;
    }
    if let Some(risk) = options.link_count_risk {
        config.link_count_risk = in_range("link-count-risk", risk, &(1e-6..=0.5))?;
    }
    if budget::link_counters(config.link_count_error, config.link_count_risk) > budget::MOST_LINK_COUNTERS {
        let problem = "takes more than 16 MiB of counters with this --link-count-risk; give a larger one";
        return Err(ConfigError::value("link-count-error", config.link_count_error, problem));
    }
    if let Some(rate) = options.fp_rate {
        config.fp_rate = Some(in_range("fp-rate", rate, &(1e-9..=0.5))?);
    }
    if let Some(Count(0)) = options.expected_urls {
        return Err(ConfigError::value("expected-urls", 0, "must be more than zero"));
    }
    config.expected_urls = options.expected_urls.map(|count| count.0);
    config.dedup = options.dedup.unwrap_or(config.dedup);
    config.filter = options.filter.unwrap_or(config.filter);
    Ok(())
}

/// Scope, and where the crawl ends.
fn limits(options: &Options, config: &mut Config) -> Result<(), ConfigError> {
    config.scope = options.scope.unwrap_or(config.scope);
    check::expressions("include", &options.include)?;
    check::expressions("exclude", &options.exclude)?;
    config.include.clone_from(&options.include);
    config.exclude.clone_from(&options.exclude);
    config.depth = options.depth;
    config.max_pages = limit("max-pages", options.max_pages)?;
    config.max_pages_per_host = limit("max-pages-per-host", options.max_pages_per_host)?;
    config.max_time = match options.max_time {
        Some(time) => Some(positive("max-time", Some(time), time.0)?),
        None => None,
    };
    config.max_disk = match options.max_disk {
        Some(Size(bytes)) if bytes < LEAST_DISK => {
            return Err(ConfigError::value(
                "max-disk",
                Size(bytes),
                "must be at least 16MiB; leave it out for no limit",
            ));
        }
        size => size.map(|size| size.0),
    };
    config.strict = options.strict.unwrap_or(false);
    if let Some(Size(length)) = options.max_url_length {
        config.max_url_length = in_range("max-url-length", length, &URL_LENGTHS)? as usize;
    }
    Ok(())
}

/// A cap that must leave room for something.
fn cap(option: &'static str, value: Option<Count>, default: u64) -> Result<u64, ConfigError> {
    Ok(limit(option, value)?.unwrap_or(default))
}

/// What is followed, and what is taken for a trap.
fn discovery(options: &Options, config: &mut Config) -> Result<(), ConfigError> {
    config.resources = options.resources.unwrap_or(false);
    config.follow_nofollow = options.follow_nofollow.unwrap_or(false);
    config.canonical = options.canonical.unwrap_or(false);
    let longest = config.max_url_length;
    config.sitemap =
        options.sitemap.iter().map(|text| check::sitemap(text, longest)).collect::<Result<_, _>>()?;
    config.sitemaps = options.sitemaps.unwrap_or(config.sitemaps);
    let since = options.sitemap_since.as_deref().map(|text| check::sitemap_since(text, SystemTime::now()));
    config.sitemap_since = since.transpose()?;
    config.skip_crawled.clone_from(&options.skip_crawled);
    for (option, value, cap) in [
        ("max-path-depth", options.max_path_depth, &mut config.max_path_depth),
        ("max-repeated-segments", options.max_repeated_segments, &mut config.max_repeated_segments),
        ("max-repeated-parameters", options.max_repeated_parameters, &mut config.max_repeated_parameters),
    ] {
        *cap = in_range(option, value.unwrap_or(*cap), &(1..=u32::MAX))?;
    }
    config.max_query_variants =
        cap("max-query-variants", options.max_query_variants, config.max_query_variants)?;
    config.max_subdomains = cap("max-subdomains", options.max_subdomains, config.max_subdomains)?;
    config.max_links_per_page =
        cap("max-links-per-page", options.max_links_per_page, config.max_links_per_page)?;
    config.stop_traps = options.stop_traps.unwrap_or(false);
    Ok(())
}

/// Pauses, and how much is asked at once.
fn politeness(options: &Options, config: &mut Config) -> Result<(), ConfigError> {
    let span = |value: Option<Span>, default| value.map_or(default, |span| span.0);
    config.delay = span(options.delay, config.delay);
    config.random_wait = options.random_wait.unwrap_or(false);
    config.ip_delay = span(options.ip_delay, config.ip_delay);
    config.max_crawl_delay = span(options.max_crawl_delay, config.max_crawl_delay);
    config.max_retry_after = span(options.max_retry_after, config.max_retry_after);
    config.robots = options.robots.unwrap_or(config.robots);
    if let Some(agent) = &options.robots_agent {
        config.robots_agent = check::robots_agent(agent)?;
    }
    if let Some(agent) = &options.user_agent {
        config.user_agent = check::user_agent(agent)?;
    }
    Ok(())
}

/// What a request is made with.
fn network(options: &Options, config: &mut Config) -> Result<(), ConfigError> {
    config.timeout = positive("timeout", options.timeout, config.timeout)?;
    config.connect_timeout = positive("connect-timeout", options.connect_timeout, config.connect_timeout)?;
    if let Some(retries) = options.retries {
        config.retries = in_range("retries", retries, &AT_MOST_A_HUNDRED)?;
    }
    if let Some(redirects) = options.max_redirects {
        config.max_redirects = in_range("max-redirects", redirects, &AT_MOST_A_HUNDRED)?;
    }
    match options.max_body {
        Some(Size(0)) => return Err(ConfigError::value("max-body", 0, "must be more than zero")),
        Some(Size(bytes)) => config.max_body = bytes,
        None => {}
    }
    if let Some(path) = &options.ca_file {
        check::ca_file(path)?;
    }
    config.ca_file.clone_from(&options.ca_file);
    config.insecure = options.insecure.unwrap_or(false);
    options.proxy.as_deref().map(check::proxy).transpose()?;
    config.proxy.clone_from(&options.proxy);
    config.resolve =
        options.resolve.iter().map(|rule| address::resolve_rule(rule)).collect::<Result<_, _>>()?;
    config.cookies = options.cookies.unwrap_or(false);
    config.dns = options.dns.iter().map(|text| address::name_server(text)).collect::<Result<_, _>>()?;
    config.allow_private = options.allow_private.unwrap_or(false);
    Ok(())
}

/// Headers, and what is written besides pages.
fn identity(options: &Options, config: &mut Config) -> Result<(), ConfigError> {
    config.headers = options.header.iter().map(|text| check::header(text)).collect::<Result<_, _>>()?;
    config.header_scope = options.header_scope.unwrap_or(config.header_scope);
    config.log_skipped = options.log_skipped.unwrap_or(false);
    if let Some(Span(interval)) = options.stats_interval {
        if interval < SHORTEST_INTERVAL {
            let problem = format!("must be at least {}", Span(SHORTEST_INTERVAL));
            return Err(ConfigError::value("stats-interval", Span(interval), problem));
        }
        config.stats_interval = interval;
    }
    Ok(())
}

fn canonicalization(options: &Options) -> Result<Canonicalization, ConfigError> {
    let wrong = |problem: &str| ConfigError::value("strip-params", options.strip_params.join(","), problem);
    if options.strip_params.iter().any(|name| name.trim().is_empty()) {
        return Err(wrong("a name is empty; separate names by single commas"));
    }
    // Most likely a value came along, or a whole query.
    if options.strip_params.iter().any(|name| name.contains(['=', '&'])) {
        let remedy = "a name has '=' or '&' in it; give names alone, separated by commas \
                      (and %3D or %26 where a name does have one)";
        return Err(wrong(remedy));
    }
    Ok(Canonicalization {
        sort_query: options.sort_query.unwrap_or(false),
        strip_params: options.strip_params.iter().map(|name| name.trim().to_owned()).collect(),
        strip_tracking: options.strip_tracking.unwrap_or(false),
        strip_session_ids: options.strip_session_ids.unwrap_or(false),
        fold_www: options.fold_www.unwrap_or(false),
        fold_https: options.fold_https.unwrap_or(false),
        strip_trailing_slash: options.strip_trailing_slash.unwrap_or(false),
        keep_fragments: options.keep_fragments.unwrap_or(false),
    })
}

/// A `--memory` of fewer bytes is a number whose unit was forgotten.
const UNIT_FORGOTTEN: u64 = 64 << 10;

/// The budget, and the requests in flight that follow from it.
fn memory(options: &Options, config: &mut Config) -> Result<(), ConfigError> {
    if let Some(Size(bytes)) = options.memory {
        if bytes < UNIT_FORGOTTEN && !bytes.is_multiple_of(1 << 10) {
            let problem = format!("these are {bytes} bytes; write {bytes}MiB for mebibytes");
            return Err(ConfigError::value("memory", bytes, problem));
        }
        if bytes > MEMORY_LIMIT {
            let problem = format!("more than any machine has; at most {}", Size(MEMORY_LIMIT));
            return Err(ConfigError::value("memory", Size(bytes), problem));
        }
        config.memory = bytes;
    }
    config.concurrency = if let Some(number) = options.concurrency {
        in_range("concurrency", number, &CONCURRENCY)? as usize
    } else {
        let wanted = options.per_host.map_or(0, u64::from).max(defaults::CONCURRENCY as u64);
        let wanted = wanted.min(u64::from(*CONCURRENCY.end()));
        budget::affordable_connections(config.memory, wanted, &config.budget_inputs()) as usize
    };
    config.per_host = per_host(options, config)?;
    match config.plan() {
        Ok(_) => Ok(()),
        Err(source) => Err(ConfigError::Memory { given: Size(config.memory).to_string(), source }),
    }
}

/// Requests in flight for one host name.
fn per_host(options: &Options, config: &Config) -> Result<usize, ConfigError> {
    let Some(number) = options.per_host else {
        return Ok(if config.delay.is_zero() { config.concurrency } else { 1 });
    };
    if number > 1 && !config.delay.is_zero() {
        return Err(ConfigError::Contradiction {
            first: "per-host",
            second: "delay",
            remedy: "with a delay a host is asked one thing at a time; give --per-host 1 or --delay 0s",
        });
    }
    let number = in_range("per-host", number, &CONCURRENCY)? as usize;
    if number > config.concurrency {
        let problem = format!(
            "more than the {} requests in flight altogether; raise --concurrency",
            config.concurrency
        );
        return Err(ConfigError::value("per-host", number, problem));
    }
    Ok(number)
}

impl Config {
    /// What the split of the budget depends on.
    ///
    /// Where the filter is sized by a false-positive rate its bytes are not known
    /// here, only what no filter can do without: log2(1/p) / ln 2 bits per URL
    /// (Bloom 1970). Whoever builds the filter puts in the exact figure.
    pub fn budget_inputs(&self) -> Inputs {
        let bits = self.fp_rate.map_or(self.bits_per_url, |rate| -rate.log2() / std::f64::consts::LN_2);
        let filter_bytes = self.expected_urls.map(|urls| (urls as f64 * bits / 8.0).ceil() as u64);
        let deciders = match self.dedup {
            super::Dedup::TwoStage => Deciders::FilterAndTable,
            super::Dedup::Bloom => Deciders::Filter,
            super::Dedup::Exact => Deciders::Table,
        };
        let sketches = SketchBytes::of(self.link_count_error, self.link_count_risk);
        Inputs { connections: self.concurrency as u64, deciders, filter_bytes, sketches }
    }

    /// The budget, split for these settings.
    ///
    /// # Errors
    /// Where the budget is below what they need; cannot happen for a configuration
    /// that came out of [`Options::resolve`].
    pub fn plan(&self) -> Result<budget::Plan, budget::BelowFloor> {
        budget::plan(self.memory, &self.budget_inputs())
    }
}
