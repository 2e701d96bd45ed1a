//! Asking DNS for the addresses of a name, and remembering what it said.
//!
//! Owns the servers, the time and the number of look-ups, and what a failure means: that a name
//! does not exist holds for a while, that a server did not answer means nothing. Every address is
//! handed on as it came; which of them may be connected to is not decided here.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::{ResolverBuilder, TokioResolver};
use tokio::sync::Semaphore;

use super::answers::{Answers, Said};
use super::error::FetchError;
use crate::model::ErrorKind;

/// Addresses of one answer that are tried at most.
const MAX_ADDRESSES: usize = 16;
/// Time for one try.
const MAX_TRY: Duration = Duration::from_secs(5);
/// Time for a name that has not failed before; four times as much with each failure. Most names are
/// answered well before that, and those that are not give way to others.
const FIRST_PATIENCE: Duration = Duration::from_secs(2);
/// So long after its time an answer still serves a connection: who plans requests has it asked
/// anew before the next one.
const SLACK: Duration = Duration::from_secs(60);

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

/// How long answers are kept, whatever their servers say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lifetimes {
    /// At least: a crawl asks the same host again and again.
    pub(super) least: Duration,
    /// At most, where there are addresses.
    pub(super) most: Duration,
    /// At most, where there are none; and where the server does not say.
    pub(super) most_of_nothing: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            least: Duration::from_secs(30),
            most: Duration::from_secs(24 * 3600),
            most_of_nothing: Duration::from_secs(300),
        }
    }
}

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAddress {
    /// What went wrong.
    pub error: FetchError,
    /// How long that holds, where the name does not exist or has no address; absent where
    /// asking again may help.
    pub holds_for: Option<Duration>,
}

/// DNS.
pub(super) struct Dns {
    servers: DnsServers,
    patience: Duration,
    lifetimes: Lifetimes,
    resolver: OnceLock<Result<TokioResolver, String>>,
    lookups: Semaphore,
    most_lookups: usize,
    answers: Answers,
}

impl Dns {
    /// Looks up at `servers`, so many names at a time and each for `patience`; remembers so many
    /// bytes of answers. Nothing is started before the first look-up.
    pub(super) fn new(
        servers: DnsServers,
        patience: Duration,
        lifetimes: Lifetimes,
        most_lookups: usize,
        answer_bytes: usize,
    ) -> Dns {
        let most_lookups = most_lookups.max(1);
        Dns {
            servers,
            patience,
            lifetimes,
            resolver: OnceLock::new(),
            lookups: Semaphore::new(most_lookups),
            most_lookups,
            answers: Answers::new(answer_bytes),
        }
    }

    /// The addresses of a name for a connection; an answer that has just run out still serves.
    pub(super) async fn addresses(&self, host: &str) -> Result<Arc<[IpAddr]>, FetchError> {
        self.ask(host, SLACK, self.patience).await.map(|found| found.0).map_err(|failed| failed.error)
    }

    /// The addresses of a name whose look-up failed so often before, and how long they hold.
    ///
    /// # Errors
    /// [`NoAddress`].
    pub(super) async fn look_up(
        &self,
        host: &str,
        failures: u32,
    ) -> Result<(Arc<[IpAddr]>, Duration), NoAddress> {
        let patience = FIRST_PATIENCE.saturating_mul(1 << (2 * failures.min(8)));
        self.ask(host, Duration::ZERO, patience.min(self.patience)).await
    }

    async fn ask(
        &self,
        host: &str,
        slack: Duration,
        patience: Duration,
    ) -> Result<(Arc<[IpAddr]>, Duration), NoAddress> {
        let failed = |words: &str, holds_for| NoAddress {
            error: FetchError::new(ErrorKind::Dns, false, format!("{host}: {words}")),
            holds_for,
        };
        let known = self.answers.get(host, Instant::now(), slack);
        let (said, holds_for) = match known {
            Some(known) => known,
            None => self.ask_servers(host, patience).await.map_err(|words| failed(&words, None))?,
        };
        match said {
            Said::Addresses(addresses) => Ok((addresses, holds_for)),
            Said::Nothing(words) => Err(failed(words, Some(holds_for))),
        }
    }

    /// Asks, and remembers; in words why nothing was said.
    async fn ask_servers(&self, host: &str, patience: Duration) -> Result<(Said, Duration), String> {
        let resolver = self.resolver.get_or_init(|| self.start()).as_ref().map_err(String::clone)?;
        // a name with a dot is complete: the system's search list is for short names only
        let complete = host.contains('.') && !host.ends_with('.');
        let name = if complete { format!("{host}.") } else { host.to_owned() };
        let ask = async {
            let _slot = self.lookups.acquire().await;
            resolver.lookup_ip(name).await
        };
        let answer = tokio::time::timeout(patience, ask).await;
        let now = Instant::now();
        let Lifetimes { least, most, most_of_nothing } = self.lifetimes;
        let (said, holds_for) = match answer.map_err(|_| "look-up timed out".to_owned())? {
            Ok(found) => {
                let addresses = in_order(found.iter());
                let holds_for = found.valid_until().saturating_duration_since(now).clamp(least, most);
                if addresses.is_empty() {
                    (Said::Nothing("no address"), holds_for.min(most_of_nothing))
                } else {
                    (Said::Addresses(addresses), holds_for)
                }
            }
            Err(error) => {
                let (words, told) = nothing(&error).ok_or_else(|| error.to_string())?;
                let told = told.unwrap_or(most_of_nothing);
                (Said::Nothing(words), told.clamp(least.min(most_of_nothing), most_of_nothing))
            }
        };
        self.answers.put(host, said.clone(), now + holds_for);
        Ok((said, holds_for))
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
        // answers are remembered here, where their bytes are counted
        options.cache_size = 0;
        options.preserve_intermediates = false;
        options.use_hosts_file = ResolveHosts::Always;
        options.timeout = MAX_TRY.min(self.patience / 2);
        options.attempts = 1;
        // both families of each name
        options.max_active_requests = options.max_active_requests.max(2 * self.most_lookups);
    }
}

/// The addresses of an answer as they are tried: most machines reach IPv4, and the client tries the
/// other family soon after.
fn in_order(found: impl Iterator<Item = IpAddr>) -> Arc<[IpAddr]> {
    let mut addresses: Vec<IpAddr> = found.collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    addresses.into()
}

/// That a name does not exist or has no address (RFC 2308 section 2), and how long that holds;
/// nothing where a server failed to say.
fn nothing(error: &NetError) -> Option<(&'static str, Option<Duration>)> {
    let NetError::Dns(DnsError::NoRecordsFound(found)) = error else { return None };
    let words = match found.response_code {
        ResponseCode::NXDomain => "no such host",
        ResponseCode::NoError => "the host has no address",
        _ => return None,
    };
    Some((words, found.negative_ttl.map(|seconds| Duration::from_secs(seconds.into()))))
}
