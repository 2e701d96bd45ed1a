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
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::address::{AddressGuard, Special, host_name};
use super::dns::{Dns, NoAddress};
use super::error::FetchError;
use crate::config::ResolveRule;

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

/// What a look-up gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookedUp {
    /// The address that will be connected to; absent where the guard refuses all.
    pub address: Option<IpAddr>,
    /// How long that holds.
    pub holds_for: Duration,
}

/// Rules, DNS and guard.
pub(super) struct HostResolver {
    rules: Rules,
    dns: Dns,
    guard: Arc<AddressGuard>,
    proxied: bool,
}

impl HostResolver {
    /// `proxied`: a proxy is in use, whose own name is looked up as well.
    pub(super) fn new(
        rules: &[ResolveRule],
        guard: Arc<AddressGuard>,
        proxied: bool,
        dns: Dns,
    ) -> HostResolver {
        HostResolver { rules: Rules::new(rules), dns, guard, proxied }
    }

    /// Whether requests to a host wait for DNS: no rule speaks of it, and no proxy does that for us.
    pub(super) fn asks_dns(&self, host: &str) -> bool {
        !self.proxied && !self.rules.speak_of(host)
    }

    /// Looks a name up, for a host of which something will be requested at `port`, and whose look-up
    /// failed so often before.
    pub(super) async fn look_up(&self, host: &str, port: u16, failures: u32) -> Result<LookedUp, NoAddress> {
        let (answers, holds_for) = match self.rules.answers(host, Some(port)) {
            answers if !answers.is_empty() => (answers.into(), Duration::MAX),
            _ => self.dns.look_up(host, failures).await?,
        };
        let allowed = |address: &&IpAddr| self.guard.check(**address, host, Some(port)).is_ok();
        Ok(LookedUp { address: answers.iter().find(allowed).copied(), holds_for })
    }

    /// No connection to a host could be made: what DNS said of it is doubted, where that was not all.
    pub(super) fn doubt(&self, host: &str) {
        self.dns.doubt(host);
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
            _ => Ok(self.dns.addresses(host).await?.to_vec()),
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

    /// Whether any rule is for this host, at whichever port.
    fn speak_of(&self, host: &str) -> bool {
        if self.exact.is_empty() && self.wildcard.is_empty() {
            return false;
        }
        let host = host_name(host);
        self.exact.contains_key(&host) || above(&host).any(|name| self.wildcard.contains_key(name))
    }

    /// The addresses of the most telling rules: exact before wildcard, longer before
    /// shorter, with a port before without. Empty where none applies.
    fn answers(&self, host: &str, port: Option<u16>) -> Vec<IpAddr> {
        if self.exact.is_empty() && self.wildcard.is_empty() {
            return Vec::new();
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let wildcards = above(&host).filter_map(|name| self.wildcard.get(name));
        let candidates = self.exact.get(&host).into_iter().chain(wildcards);
        candidates.map(|rules| of_port(rules, port)).find(|answers| !answers.is_empty()).unwrap_or_default()
    }
}

/// The domains above a name, the nearest first.
fn above(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(name.split_once('.').map(|(_, rest)| rest), |name| {
        name.split_once('.').map(|(_, rest)| rest)
    })
}

fn of_port(rules: &[(Option<u16>, IpAddr)], port: Option<u16>) -> Vec<IpAddr> {
    let with = |wanted: Option<u16>| rules.iter().filter(move |rule| rule.0 == wanted).map(|rule| rule.1);
    let specific: Vec<IpAddr> = if port.is_some() { with(port).collect() } else { Vec::new() };
    if specific.is_empty() { with(None).collect() } else { specific }
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
        for (host, spoken_of) in
            [("A.test.", true), ("x.y.test", true), ("test", false), ("a.example", false)]
        {
            assert_eq!(rules.speak_of(host), spoken_of, "{host}");
        }
    }
}
