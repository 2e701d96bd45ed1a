//! Asking DNS for the addresses of a name, and remembering what it said.
//!
//! Owns the servers, the time and the number of look-ups, and what a failure means: that a name
//! does not exist holds for a while, that a server did not answer means nothing. Every address is
//! handed on as it came; which of them may be connected to is not decided here.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::answers::{Answers, Extent, Said};
use super::error::FetchError;
use super::name_servers::{DnsServers, Finding, NameServers};
use crate::model::ErrorKind;

/// Addresses of one answer that are tried at most.
const MAX_ADDRESSES: usize = 16;
/// Time for a name that has not failed before; four times as much with each failure. Most names are
/// answered well before that, and those that are not give way to others.
const FIRST_PATIENCE: Duration = Duration::from_secs(2);
/// So long after its time an answer still serves a connection: who plans requests has it asked
/// anew before the next one.
const SLACK: Duration = Duration::from_secs(60);

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
    name_servers: OnceLock<Result<NameServers, String>>,
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
            name_servers: OnceLock::new(),
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

    /// No address of a name could be connected to. Where one family was not answered for in time, its
    /// addresses may be the ones that can be: the name is asked for anew, and the wait for both families is
    /// as long as it may be. Only then: a server that never speaks of one family is no cause to wait.
    pub(super) fn doubt(&self, host: &str) {
        self.answers.doubt(host);
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
        let start = || NameServers::new(&self.servers, self.patience, self.most_lookups);
        let name_servers = self.name_servers.get_or_init(start).as_ref().map_err(String::clone)?;
        // a name with a dot is complete: the system's search list is for short names only
        let complete = host.contains('.') && !host.ends_with('.');
        let name = if complete { format!("{host}.") } else { host.to_owned() };
        let whole = self.answers.is_doubted(host);
        let patience = if whole { self.patience } else { patience };
        let begun = Instant::now();
        let slot = tokio::time::timeout(patience, self.lookups.acquire()).await;
        let slot = slot.map_err(|_| "look-up timed out".to_owned())?;
        let finding = name_servers.ask(&name, patience.saturating_sub(begun.elapsed()), whole).await?;
        drop(slot);
        let now = Instant::now();
        let Lifetimes { least, most, most_of_nothing } = self.lifetimes;
        let half = matches!(finding, Finding::Addresses { until: None, .. });
        let (said, holds_for) = match finding {
            Finding::Addresses { addresses, until } => {
                let told = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
                (Said::Addresses(in_order(addresses)), told.clamp(least, most))
            }
            Finding::Nothing(words, told) => {
                let told = told.unwrap_or(most_of_nothing);
                (Said::Nothing(words), told.clamp(least.min(most_of_nothing), most_of_nothing))
            }
        };
        let extent = if half { Extent::Half } else { Extent::Whole };
        self.answers.put(host, said.clone(), extent, now + holds_for);
        Ok((said, holds_for))
    }
}

/// The addresses of an answer as they are tried: most machines reach IPv4, and the client tries the
/// other family soon after.
fn in_order(mut addresses: Vec<IpAddr>) -> Arc<[IpAddr]> {
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    addresses.into()
}
