//! A resolved configuration as complete options: what `crawl.toml` holds.

use super::{Config, Count, Options, ResolveRule, Size, Span};

/// The options that resolve to exactly this configuration on any machine.
///
/// Complete but for what has no value: limits that are not set, and the bits per
/// URL where a rate stands in their place. Seeds, output and display are no part
/// of a configuration and stay absent.
impl From<&Config> for Options {
    fn from(config: &Config) -> Options {
        let rules = &config.canonicalization;
        Options {
            memory: Some(Size(config.memory)),
            bits_per_url: config.fp_rate.is_none().then_some(config.bits_per_url),
            expected_urls: config.expected_urls.map(Count),
            fp_rate: config.fp_rate,
            dedup: Some(config.dedup),
            filter: Some(config.filter),
            strategy: Some(config.strategy),
            link_count_error: Some(config.link_count_error),
            link_count_risk: Some(config.link_count_risk),
            scope: Some(config.scope),
            include: config.include.clone(),
            exclude: config.exclude.clone(),
            depth: config.depth,
            max_pages: config.max_pages.map(Count),
            max_pages_per_host: config.max_pages_per_host.map(Count),
            max_time: config.max_time.map(Span),
            max_disk: config.max_disk.map(Size),
            strict: Some(config.strict),
            max_url_length: Some(Size(config.max_url_length as u64)),
            resources: Some(config.resources),
            follow_nofollow: Some(config.follow_nofollow),
            canonical: Some(config.canonical),
            sitemap: config.sitemap.clone(),
            sitemaps: Some(config.sitemaps),
            sitemap_since: config.sitemap_since.clone(),
            skip_crawled: config.skip_crawled.clone(),
            max_path_depth: Some(config.max_path_depth),
            max_repeated_segments: Some(config.max_repeated_segments),
            max_repeated_parameters: Some(config.max_repeated_parameters),
            max_query_variants: Some(Count(config.max_query_variants)),
            max_subdomains: Some(Count(config.max_subdomains)),
            max_links_per_page: Some(Count(config.max_links_per_page)),
            stop_traps: Some(config.stop_traps),
            delay: Some(Span(config.delay)),
            random_wait: Some(config.random_wait),
            ip_delay: Some(Span(config.ip_delay)),
            max_crawl_delay: Some(Span(config.max_crawl_delay)),
            max_retry_after: Some(Span(config.max_retry_after)),
            concurrency: Some(config.concurrency as u32),
            per_host: Some(config.per_host as u32),
            robots: Some(config.robots),
            robots_agent: Some(config.robots_agent.clone()),
            user_agent: Some(config.user_agent.clone()),
            timeout: Some(Span(config.timeout)),
            connect_timeout: Some(Span(config.connect_timeout)),
            retries: Some(config.retries),
            max_body: Some(Size(config.max_body)),
            max_redirects: Some(config.max_redirects),
            header: config.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
            header_scope: Some(config.header_scope),
            ca_file: config.ca_file.clone(),
            insecure: Some(config.insecure),
            proxy: config.proxy.clone(),
            resolve: config.resolve.iter().map(rule_text).collect(),
            cookies: Some(config.cookies),
            dns: config.dns.iter().map(ToString::to_string).collect(),
            allow_private: Some(config.allow_private),
            sort_query: Some(rules.sort_query),
            strip_params: rules.strip_params.clone(),
            strip_tracking: Some(rules.strip_tracking),
            strip_session_ids: Some(rules.strip_session_ids),
            fold_www: Some(rules.fold_www),
            fold_https: Some(rules.fold_https),
            strip_trailing_slash: Some(rules.strip_trailing_slash),
            keep_fragments: Some(rules.keep_fragments),
            stats_interval: Some(Span(config.stats_interval)),
            log_skipped: Some(config.log_skipped),
            ..Options::default()
        }
    }
}

/// A rule as it would be typed.
fn rule_text(rule: &ResolveRule) -> String {
    let port = rule.port.map_or_else(String::new, |port| format!(":{port}"));
    match rule.address {
        std::net::IpAddr::V4(address) => format!("{}{port}:{address}", rule.host),
        std::net::IpAddr::V6(address) => format!("{}{port}:[{address}]", rule.host),
    }
}
