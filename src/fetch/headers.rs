//! The request headers that the user gave, and which hosts may see them.

use std::collections::HashSet;

use hyper::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};

use super::address::host_name;
use super::{FetchSetupError, SeedHost};
use crate::config::{HeaderScope, request_header};

/// What every request asks for.
pub(super) const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// The codings that can be undone with windows of `bytes` (RFC 7932: brotli's may have 16 MiB; RFC
/// 9659: zstd's 8 MiB).
pub(super) fn accepted_codings(bytes: usize) -> &'static str {
    match bytes >> 20 {
        16.. => "gzip, deflate, br, zstd",
        8..16 => "gzip, deflate, zstd",
        _ => "gzip, deflate",
    }
}

/// The user's own headers.
#[derive(Debug)]
pub(super) struct ExtraHeaders {
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Hosts that see them; all where absent.
    hosts: Option<HashSet<Box<str>>>,
    cookie_names: Vec<String>,
}

impl ExtraHeaders {
    /// Checks the headers and notes who may see them.
    pub(super) fn new(
        headers: &[(String, String)],
        scope: HeaderScope,
        seeds: &[SeedHost],
    ) -> Result<ExtraHeaders, FetchSetupError> {
        let headers =
            headers.iter().map(|(name, value)| parse(name, value)).collect::<Result<Vec<_>, _>>()?;
        let hosts = match scope {
            HeaderScope::Any => None,
            HeaderScope::Seeds if headers.is_empty() => Some(HashSet::new()),
            HeaderScope::Seeds => Some(seeds.iter().map(|seed| host_name(&seed.host).into()).collect()),
        };
        let cookies =
            headers.iter().filter(|(name, _)| name == COOKIE).filter_map(|(_, value)| value.to_str().ok());
        let names = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.split('=').next());
        let cookie_names = names.map(|name| name.trim().to_owned()).collect();
        Ok(ExtraHeaders { headers, hosts, cookie_names })
    }

    /// Adds them to a request for `host`, if it may see them.
    pub(super) fn add_to(&self, request: &mut HeaderMap, host: &str) {
        if self.headers.is_empty() || !self.may_see(host) {
            return;
        }
        for (name, value) in &self.headers {
            request.append(name.clone(), value.clone());
        }
    }

    /// Cookies that the user's own headers set for `host`, which the jar does not overrule.
    pub(super) fn cookie_names(&self, host: &str) -> &[String] {
        if self.cookie_names.is_empty() || !self.may_see(host) { &[] } else { &self.cookie_names }
    }

    fn may_see(&self, host: &str) -> bool {
        self.hosts
            .as_ref()
            .is_none_or(|hosts| hosts.contains(host) || hosts.contains(host_name(host).as_str()))
    }
}

fn parse(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), FetchSetupError> {
    request_header(name, value)?;
    let broken = |error: String| FetchSetupError::Client(format!("--header {name}: {error}"));
    let parsed = name.parse().map_err(|_| broken("no header name".into()))?;
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|error| broken(error.to_string()))?;
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds() -> Vec<SeedHost> {
        vec![SeedHost { host: "Seed.example".to_owned(), port: 443 }]
    }

    fn extra(name: &str, value: &str, scope: HeaderScope) -> Result<ExtraHeaders, FetchSetupError> {
        ExtraHeaders::new(&[(name.to_owned(), value.to_owned())], scope, &seeds())
    }

    #[test]
    fn only_hosts_of_seeds_see_them() {
        let headers = extra("Authorization", "secret", HeaderScope::Seeds).expect("a header");
        let mut map = HeaderMap::new();
        headers.add_to(&mut map, "other.example");
        headers.add_to(&mut map, "sub.seed.example");
        assert!(map.is_empty());
        headers.add_to(&mut map, "seed.example");
        assert_eq!(map.len(), 1);
    }

    #[test]
    fn every_host_sees_them_where_asked() {
        let headers = extra("X-Note", "1", HeaderScope::Any).expect("a header");
        let mut map = HeaderMap::new();
        headers.add_to(&mut map, "other.example");
        assert_eq!(map.len(), 1);
    }

    #[test]
    fn headers_of_the_client_are_refused() {
        for name in ["Host", "Content-Length", "transfer-encoding", "Connection", "bad name", ""] {
            assert!(extra(name, "1", HeaderScope::Any).is_err(), "{name}");
        }
        assert!(extra("X", "a\nb", HeaderScope::Any).is_err());
    }

    #[test]
    fn names_of_cookies_are_known() {
        let headers = extra("Cookie", "a=1; b=2;c", HeaderScope::Any).expect("a header");
        assert_eq!(headers.cookie_names("a.example"), ["a", "b", "c"]);
        let headers = extra("Cookie", "a=1", HeaderScope::Seeds).expect("a header");
        assert!(headers.cookie_names("a.example").is_empty());
    }
}
