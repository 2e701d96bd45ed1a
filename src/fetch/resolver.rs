//! From a host's name to the addresses that may be connected to: rules of
//! `--resolve`, the system's hosts file, DNS; every answer passes the guard.
//!
//! The client connects to the answers given here and to nothing else, so what
//! was checked is what is connected to, whatever a second look-up would say.
//! The client hands its resolver a name without a port, but rules and guard
//! depend on the port. So the [`Target`] of a connection travels along in a task-local.

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use hickory_resolver::config::{LookupIpStrategy, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{ResolverBuilder, TokioResolver};
use hyper_util::client::legacy::connect::dns::Name;
use tokio::sync::Semaphore;
use tower_service::Service;

use super::address::{AddressGuard, Special, host_name};
use super::error::FetchError;
use crate::config::ResolveRule;
use crate::model::ErrorKind;

/// DNS answers kept at most.
const CACHE_SIZE: u64 = 4096;
/// Look-ups under way at most.
const MAX_LOOKUPS: usize = 64;
/// Addresses of one answer that are tried at most.
const MAX_ADDRESSES: usize = 16;
/// Answers are kept at least so long: a crawl asks the same host again and again.
const MIN_TTL: Duration = Duration::from_secs(30);
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);
const MAX_NEGATIVE_TTL: Duration = Duration::from_secs(300);
/// Time for one try.
const MAX_TRY: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// What the connection that is being made is for.
    pub(super) static TARGET: Target;
}

/// The host (as in the URL) and port of a connection.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) host: Box<str>,
    pub(super) port: u16,
}

/// Servers where names are looked up that no rule answers; as the system is configured where absent.
pub(super) type DnsServers = Option<ResolverConfig>;

/// Rules, DNS and guard.
pub(super) struct HostResolver {
    rules: Rules,
    dns: Dns,
    guard: Arc<AddressGuard>,
    proxied: bool,
}

impl HostResolver {
    /// `proxied`: a proxy is in use, whose own name is looked up as well. `patience`: time for one look-up.
    pub(super) fn new(
        rules: &[ResolveRule],
        guard: Arc<AddressGuard>,
        proxied: bool,
        servers: DnsServers,
        patience: Duration,
    ) -> HostResolver {
        HostResolver { rules: Rules::new(rules), dns: Dns::new(servers, patience), guard, proxied }
    }

    /// The addresses of `host` that a request to `port` may connect to; at least one.
    pub(super) async fn resolve(&self, host: &str, port: Option<u16>) -> Result<Vec<IpAddr>, FetchError> {
        let answers = self.answers(host, port).await?;
        let mut refused = None;
        let mut allowed = Vec::with_capacity(answers.len());
        for address in answers {
            match self.guard.check(address, host, port) {
                Ok(()) => allowed.push(address),
                Err(special) => refused = Some((address, special)),
            }
        }
        match refused {
            Some((address, special)) if allowed.is_empty() => Err(refuse(host, address, special)),
            _ => Ok(allowed),
        }
    }

    async fn answers(&self, host: &str, port: Option<u16>) -> Result<Vec<IpAddr>, FetchError> {
        match self.rules.answers(host, port) {
            answers if !answers.is_empty() => Ok(answers),
            _ => self.dns.look_up(host).await,
        }
    }

    async fn answer_client(&self, name: &str, target: Option<Target>) -> Result<Vec<IpAddr>, FetchError> {
        match target {
            Some(target) if *target.host == *name => self.resolve(name, Some(target.port)).await,
            // not the request's host, so the proxy's, which the user chose
            Some(_) if self.proxied => self.answers(name, None).await,
            _ => self.resolve(name, None).await,
        }
    }
}

fn refuse(host: &str, address: IpAddr, special: Special) -> FetchError {
    FetchError::refused(&format!("{address}, the address of {host},"), special)
}

/// What the client is given: a handle to the resolver.
#[derive(Clone)]
pub(super) struct ClientResolver(pub(super) Arc<HostResolver>);

impl Service<Name> for ClientResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = FetchError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, FetchError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let target = TARGET.try_with(Target::clone).ok();
        let resolver = self.0.clone();
        Box::pin(async move {
            let addresses = resolver.answer_client(name.as_str(), target).await?;
            // port 0 stands for the URL's
            let addresses: Vec<_> =
                addresses.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
            Ok(addresses.into_iter())
        })
    }
}

/// The rules of `--resolve`, by host name.
#[derive(Debug, Default)]
struct Rules {
    exact: HashMap<String, Vec<(Option<u16>, IpAddr)>>,
    /// By what stands behind `*.`.
    wildcard: HashMap<String, Vec<(Option<u16>, IpAddr)>>,
}

impl Rules {
    fn new(rules: &[ResolveRule]) -> Rules {
        let mut sorted = Rules::default();
        for rule in rules {
            let (map, name) = match rule.host.strip_prefix("*.") {
                Some(rest) => (&mut sorted.wildcard, rest),
                None => (&mut sorted.exact, rule.host.as_str()),
            };
            map.entry(host_name(name)).or_default().push((rule.port, rule.address));
        }
        sorted
    }

    /// The addresses of the most telling rules: exact before wildcard, longer before
    /// shorter, with a port before without. Empty where none applies.
    fn answers(&self, host: &str, port: Option<u16>) -> Vec<IpAddr> {
        if self.exact.is_empty() && self.wildcard.is_empty() {
            return Vec::new();
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let above = std::iter::successors(host.split_once('.').map(|(_, rest)| rest), |name| {
            name.split_once('.').map(|(_, rest)| rest)
        });
        let wildcards = above.filter_map(|name| self.wildcard.get(name));
        let candidates = self.exact.get(&host).into_iter().chain(wildcards);
        candidates.map(|rules| of_port(rules, port)).find(|answers| !answers.is_empty()).unwrap_or_default()
    }
}

fn of_port(rules: &[(Option<u16>, IpAddr)], port: Option<u16>) -> Vec<IpAddr> {
    let with = |wanted: Option<u16>| rules.iter().filter(move |rule| rule.0 == wanted).map(|rule| rule.1);
    let specific: Vec<IpAddr> = if port.is_some() { with(port).collect() } else { Vec::new() };
    if specific.is_empty() { with(None).collect() } else { specific }
}

/// The system's hosts file and DNS, started at the first look-up.
struct Dns {
    servers: DnsServers,
    patience: Duration,
    resolver: OnceLock<Result<TokioResolver, String>>,
    lookups: Semaphore,
}

impl Dns {
    fn new(servers: DnsServers, patience: Duration) -> Dns {
        Dns { servers, patience, resolver: OnceLock::new(), lookups: Semaphore::new(MAX_LOOKUPS) }
    }

    async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, FetchError> {
        let failed = |words: &str| FetchError::new(ErrorKind::Dns, false, format!("{host}: {words}"));
        let resolver = self.resolver.get_or_init(|| self.start()).as_ref().map_err(|error| failed(error))?;
        // a name with a dot is complete: the system's search list is for short names only
        let complete = host.contains('.') && !host.ends_with('.');
        let name = if complete { format!("{host}.") } else { host.to_owned() };
        let ask = async {
            let _slot = self.lookups.acquire().await;
            resolver.lookup_ip(name).await
        };
        let answer =
            tokio::time::timeout(self.patience, ask).await.map_err(|_| failed("look-up timed out"))?;
        let answer = answer.map_err(|error| failed(&explain(&error)))?;
        let mut addresses: Vec<IpAddr> = answer.iter().collect();
        // most machines reach IPv4; the client tries the other family soon after
        addresses.sort_by_key(IpAddr::is_ipv6);
        addresses.dedup();
        addresses.truncate(MAX_ADDRESSES);
        if addresses.is_empty() { Err(failed("no address")) } else { Ok(addresses) }
    }

    fn start(&self) -> Result<TokioResolver, String> {
        let mut builder: ResolverBuilder<TokioRuntimeProvider> = match &self.servers {
            None => TokioResolver::builder_tokio()
                .map_err(|error| format!("the system's resolver configuration cannot be read: {error}"))?,
            Some(config) => {
                TokioResolver::builder_with_config(config.clone(), TokioRuntimeProvider::default())
            }
        };
        self.adjust(builder.options_mut());
        builder.build().map_err(|error| error.to_string())
    }

    fn adjust(&self, options: &mut ResolverOpts) {
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.cache_size = CACHE_SIZE;
        options.positive_min_ttl = Some(MIN_TTL);
        options.negative_min_ttl = Some(MIN_TTL);
        options.positive_max_ttl = Some(MAX_TTL);
        options.negative_max_ttl = Some(MAX_NEGATIVE_TTL);
        options.preserve_intermediates = false;
        options.use_hosts_file = ResolveHosts::Always;
        options.timeout = MAX_TRY.min(self.patience / 2);
        options.attempts = 1;
    }
}

fn explain(error: &NetError) -> String {
    if error.is_nx_domain() {
        "no such host".to_owned()
    } else if error.is_no_records_found() {
        "the host has no address".to_owned()
    } else {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(host: &str, port: Option<u16>, last: u8) -> ResolveRule {
        ResolveRule { host: host.to_owned(), port, address: [127, 0, 0, last].into() }
    }

    #[test]
    fn the_most_telling_rule_answers() {
        let rules = Rules::new(&[
            rule("a.test", None, 1),
            rule("a.test", Some(81), 2),
            rule("a.test", Some(81), 3),
            rule("*.test", None, 4),
            rule("*.b.test", None, 5),
            rule("*.b.test", Some(82), 6),
            rule("only.b.test", Some(99), 7),
        ]);
        let last = |host: &str, port: Option<u16>| -> Vec<u8> {
            let octet = |address: IpAddr| match address {
                IpAddr::V4(address) => address.octets()[3],
                IpAddr::V6(_) => 0,
            };
            rules.answers(host, port).into_iter().map(octet).collect()
        };
        assert_eq!(last("a.test", Some(80)), [1]);
        assert_eq!(last("A.test.", Some(81)), [2, 3]);
        assert_eq!(last("a.test", None), [1]);
        assert_eq!(last("x.test", Some(80)), [4]);
        assert_eq!(last("x.y.b.test", Some(80)), [5]);
        assert_eq!(last("x.b.test", Some(82)), [6]);
        assert_eq!(last("b.test", Some(80)), [4], "a wildcard does not stand for the name itself");
        assert_eq!(last("only.b.test", Some(80)), [5], "a rule for another port does not hide the wildcard");
        assert_eq!(last("test", Some(80)), [] as [u8; 0]);
        assert_eq!(last("other.example", Some(80)), [] as [u8; 0]);
    }
}
