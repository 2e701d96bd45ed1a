//! Name servers: which one is asked, when the next one is, and what their answers come to.
//!
//! Owns the order of the servers and the waits between servers and between families. Each server has a resolver of its
//! own: one for all of them would let a silent one use up the time in which another's truncated answer
//! is asked for again over TCP. Knows nothing of how long an answer is remembered.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{Hosts, TokioResolver};
use tokio::task::JoinSet;
use tokio::time::timeout_at;

/// Time for one try.
const MAX_TRY: Duration = Duration::from_secs(5);
/// A server that has not answered by then is joined by the next one.
const NEXT_SERVER: Duration = Duration::from_millis(250);
/// Servers that are asked the same at one time; resolver configurations have no more most often.
const AT_ONCE: usize = 3;
/// How long IPv6 is waited for once there are addresses of IPv4: the "Resolution Delay" of RFC 8305
/// section 3, longer than its 50 ms since no user waits.
const WAIT_FOR_IPV6: Duration = Duration::from_millis(250);
/// How long IPv4 is waited for once there are addresses of IPv6, which fewer machines can reach.
const WAIT_FOR_IPV4: Duration = Duration::from_secs(1);

const TIMED_OUT: &str = "look-up timed out";
const NO_SUCH_HOST: &str = "no such host";
const NO_ADDRESS: &str = "the host has no address";

/// Servers where names are looked up that no rule answers; as the system is configured where absent.
pub(super) type DnsServers = Option<ResolverConfig>;

/// The servers at these addresses, asked over UDP and, where an answer is too long for it, TCP.
pub(super) fn servers_at(addresses: &[SocketAddr]) -> DnsServers {
    let server = |address: &SocketAddr| {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
        let connections = connections.map(|mut connection| {
            connection.port = address.port();
            connection
        });
        NameServerConfig::new(address.ip(), true, connections.to_vec())
    };
    let servers: Vec<_> = addresses.iter().map(server).collect();
    (!servers.is_empty()).then(|| ResolverConfig::from_parts(None, Vec::new(), servers))
}

/// Servers that may be asked the same at one time; the most there can be where the system's configuration cannot
/// be read.
pub(super) fn at_once(servers: &DnsServers) -> usize {
    let count = match servers {
        Some(config) => config.name_servers().len(),
        None => read_system_conf().map_or(AT_ONCE, |(config, _)| config.name_servers().len()),
    };
    count.clamp(1, AT_ONCE)
}

/// What was found out about a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// Its addresses, of both families or of the one that was answered for; IPv4 first.
    Addresses {
        addresses: Vec<IpAddr>,
        /// How long that holds; absent where the other family is not known.
        until: Option<Instant>,
    },
    /// It does not exist or has no address, in words, and how long that holds, where that was said.
    Nothing(&'static str, Option<Duration>),
}

/// What became of one question: a name, and a family.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Addresses(Vec<IpAddr>, Instant),
    Nothing(&'static str, Option<Duration>),
    /// Nobody said anything of use.
    Failed(String),
}

/// The name servers of a crawl.
pub(super) struct NameServers {
    /// For each, what asks it for IPv4 and for IPv6.
    servers: Vec<[TokioResolver; 2]>,
    /// The server that answered last is asked first.
    answered: AtomicUsize,
}

impl NameServers {
    /// Gets ready to ask `servers`, so many names at a time, each for `patience` at most.
    ///
    /// # Errors
    /// In words, where the system's configuration is needed and cannot be read, or nothing can be asked by it.
    pub(super) fn new(
        servers: &DnsServers,
        patience: Duration,
        most_lookups: usize,
    ) -> Result<NameServers, String> {
        let (config, mut options) = match servers {
            Some(config) => (config.clone(), ResolverOpts::default()),
            None => read_system_conf()
                .map_err(|error| format!("the system's resolver configuration cannot be read: {error}"))?,
        };
        adjust(&mut options, patience, most_lookups);
        let (domain, search, servers) = config.into_parts();
        // read once for all: it may be long
        let hosts = Arc::new(Hosts::from_system().unwrap_or_default());
        let resolver = |server: &NameServerConfig, strategy| -> Result<TokioResolver, String> {
            let config = ResolverConfig::from_parts(domain.clone(), search.clone(), vec![server.clone()]);
            let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
            *builder.options_mut() = options.clone();
            builder.options_mut().ip_strategy = strategy;
            let mut resolver = builder.build().map_err(|error| error.to_string())?;
            resolver.set_hosts(hosts.clone());
            Ok(resolver)
        };
        let both = |server: &NameServerConfig| {
            Ok([resolver(server, LookupIpStrategy::Ipv4Only)?, resolver(server, LookupIpStrategy::Ipv6Only)?])
        };
        let servers = servers.iter().map(both).collect::<Result<Vec<_>, String>>()?;
        Ok(NameServers { servers, answered: AtomicUsize::new(0) })
    }

    /// Asks for the addresses of a name in both families at once. Addresses of one are enough: the
    /// other is waited for a little, whatever became of it. Where the answer must be `whole`, that little is
    /// all the patience there is.
    ///
    /// # Errors
    /// In words, why nothing was said.
    pub(super) async fn ask(&self, name: &str, patience: Duration, whole: bool) -> Result<Finding, String> {
        let deadline = tokio::time::Instant::now() + patience;
        let (ipv4, ipv6) = (self.ask_for(name, 0), self.ask_for(name, 1));
        tokio::pin!(ipv4, ipv6);
        let [for_ipv4, for_ipv6] = if whole { [patience; 2] } else { [WAIT_FOR_IPV4, WAIT_FOR_IPV6] };
        let in_time = |answer: Result<Answer, _>| answer.unwrap_or_else(|_| Answer::Failed(TIMED_OUT.into()));
        let (ipv4, ipv6) = tokio::select! {
            ipv4 = timeout_at(deadline, &mut ipv4) => {
                let ipv4 = in_time(ipv4);
                let until = patience_beside(&ipv4, for_ipv6, deadline);
                (ipv4, in_time(timeout_at(until, ipv6).await))
            }
            ipv6 = timeout_at(deadline, &mut ipv6) => {
                let ipv6 = in_time(ipv6);
                let until = patience_beside(&ipv6, for_ipv4, deadline);
                (in_time(timeout_at(until, ipv4).await), ipv6)
            }
        };
        taken_together(ipv4, ipv6)
    }

    /// Asks one server after another, the next one where one fails or is silent for a while, until one of them answers.
    async fn ask_for(&self, name: &str, family: usize) -> Answer {
        let (count, first) = (self.servers.len(), self.answered.load(Ordering::Relaxed));
        let mut further = (0..count).map(|place| (first + place) % count);
        let mut asked = JoinSet::new();
        let mut failed = None;
        loop {
            if let Some(place) = further.next() {
                let (resolver, name) = (self.servers[place][family].clone(), name.to_owned());
                asked.spawn(async move { (place, resolver.lookup_ip(name).await) });
            } else if asked.is_empty() {
                return Answer::Failed(failed.unwrap_or_else(|| "there is no name server".to_owned()));
            }
            let may_join = further.len() > 0 && asked.len() < AT_ONCE;
            let wait = if may_join { NEXT_SERVER } else { Duration::MAX };
            // whatever ends the wait, the next one is asked
            let Ok(Some(said)) = tokio::time::timeout(wait, asked.join_next()).await else { continue };
            match said {
                Ok((place, said)) => match read(said) {
                    Answer::Failed(words) => failed = failed.or(Some(words)),
                    answer => {
                        self.answered.store(place, Ordering::Relaxed);
                        return answer;
                    }
                },
                Err(broken) => failed = failed.or(Some(broken.to_string())),
            }
        }
    }
}

fn adjust(options: &mut ResolverOpts, patience: Duration, most_lookups: usize) {
    // answers are remembered elsewhere, where their bytes are counted
    options.cache_size = 0;
    options.preserve_intermediates = false;
    // that file is read once, for all resolvers
    options.use_hosts_file = ResolveHosts::Never;
    options.timeout = MAX_TRY.min(patience / 2);
    options.attempts = 1;
    options.max_active_requests = options.max_active_requests.max(2 * most_lookups);
}

/// How long one family is waited for once the other one is answered for.
fn patience_beside(answer: &Answer, wait: Duration, deadline: tokio::time::Instant) -> tokio::time::Instant {
    match answer {
        Answer::Addresses(..) => deadline.min(tokio::time::Instant::now() + wait),
        // what the other one says decides
        Answer::Nothing(..) | Answer::Failed(_) => deadline,
    }
}

/// What the answers for both families come to. That a name does not exist holds for all that could be
/// asked of it (RFC 8020), but some servers say so of IPv6 by mistake (RFC 4074 section 4.2).
fn taken_together(ipv4: Answer, ipv6: Answer) -> Result<Finding, String> {
    use Answer::{Addresses, Failed, Nothing};
    let found = |addresses, until| Ok(Finding::Addresses { addresses, until });
    match (ipv4, ipv6) {
        (Addresses(mut addresses, until), Addresses(more, also_until)) => {
            addresses.extend(more);
            found(addresses, Some(until.min(also_until)))
        }
        (Addresses(addresses, until), Nothing(..)) | (Nothing(..), Addresses(addresses, until)) => {
            found(addresses, Some(until))
        }
        (Addresses(addresses, _), Failed(_)) | (Failed(_), Addresses(addresses, _)) => found(addresses, None),
        (Nothing(words, told), Nothing(..)) => Ok(Finding::Nothing(words, told)),
        (Nothing(NO_SUCH_HOST, told), Failed(_)) => Ok(Finding::Nothing(NO_SUCH_HOST, told)),
        (Nothing(..), Failed(words)) | (Failed(words), _) => Err(words),
    }
}

fn read(said: Result<LookupIp, NetError>) -> Answer {
    match said {
        Ok(found) => {
            let addresses: Vec<IpAddr> = found.iter().collect();
            if addresses.is_empty() {
                return Answer::Nothing(NO_ADDRESS, None);
            }
            Answer::Addresses(addresses, found.valid_until())
        }
        Err(NetError::Timeout) => Answer::Failed(TIMED_OUT.to_owned()),
        Err(error) => match nothing(&error) {
            Some((words, told)) => Answer::Nothing(words, told),
            None => Answer::Failed(error.to_string()),
        },
    }
}

/// That a name does not exist or has no address (RFC 2308 section 2), and how long that holds;
/// nothing where a server failed to say.
fn nothing(error: &NetError) -> Option<(&'static str, Option<Duration>)> {
    let NetError::Dns(DnsError::NoRecordsFound(found)) = error else { return None };
    let words = match found.response_code {
        ResponseCode::NXDomain => NO_SUCH_HOST,
        ResponseCode::NoError => NO_ADDRESS,
        _ => return None,
    };
    Some((words, found.negative_ttl.map(|seconds| Duration::from_secs(seconds.into()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_either_family_are_enough_and_a_refusal_needs_both() {
        let now = Instant::now();
        let later = now + Duration::from_secs(9);
        let (four, six) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([0_u16; 8]));
        let found = |address, until| Answer::Addresses(vec![address], until);
        let none = |words| Answer::Nothing(words, Some(Duration::from_secs(7)));
        let failed = || Answer::Failed("broken".to_owned());
        let both =
            |addresses: &[IpAddr], until| Ok(Finding::Addresses { addresses: addresses.to_vec(), until });
        let refused = |words| Ok(Finding::Nothing(words, Some(Duration::from_secs(7))));
        let nobody = || Err("broken".to_owned());
        for (ipv4, ipv6, expected) in [
            (found(four, later), found(six, now), both(&[four, six], Some(now))),
            (found(four, later), none(NO_SUCH_HOST), both(&[four], Some(later))),
            (none(NO_ADDRESS), found(six, now), both(&[six], Some(now))),
            (found(four, later), failed(), both(&[four], None)),
            (failed(), found(six, later), both(&[six], None)),
            (none(NO_ADDRESS), none(NO_SUCH_HOST), refused(NO_ADDRESS)),
            (none(NO_SUCH_HOST), none(NO_SUCH_HOST), refused(NO_SUCH_HOST)),
            (none(NO_SUCH_HOST), failed(), refused(NO_SUCH_HOST)),
            (none(NO_ADDRESS), failed(), nobody()),
            (failed(), none(NO_SUCH_HOST), nobody()),
            (failed(), Answer::Failed("late".to_owned()), nobody()),
        ] {
            assert_eq!(taken_together(ipv4.clone(), ipv6.clone()), expected, "{ipv4:?} {ipv6:?}");
        }
    }

    #[test]
    fn no_more_than_three_servers_are_asked_at_once() {
        let server = SocketAddr::from(([127, 0, 0, 1], 53));
        let counts = (1..=5).map(|count| at_once(&servers_at(&vec![server; count])));
        assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 3, 3, 3]);
        let of_the_system = at_once(&servers_at(&[]));
        assert!((1..=AT_ONCE).contains(&of_the_system), "{of_the_system}");
    }

    #[test]
    fn only_addresses_cut_the_wait_for_the_other_family_short() {
        let now = tokio::time::Instant::now();
        let deadline = now + Duration::from_secs(60);
        let found = Answer::Addresses(vec![[127, 0, 0, 1].into()], Instant::now());
        assert!(patience_beside(&found, WAIT_FOR_IPV6, deadline) < deadline);
        assert_eq!(patience_beside(&found, WAIT_FOR_IPV4, now), now, "the deadline holds all the same");
        for other in [Answer::Nothing(NO_ADDRESS, None), Answer::Failed(String::new())] {
            assert_eq!(patience_beside(&other, WAIT_FOR_IPV6, deadline), deadline);
        }
    }
}
