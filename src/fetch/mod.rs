//! Asking for one URL over HTTP, within bounds.
//!
//! Owns the connection, the address guard, name resolution, cookies, content
//! codings and the words for what goes wrong. It follows no redirect and repeats
//! nothing: what an answer means for the crawl (scope, robots, retries, delays)
//! is none of its business, and it must not know of the frontier.
//!
//! ```text
//! FetchRequest ─▶ guard (literals) ─▶ client ─▶ resolver ─▶ guard (answers) ─▶ connect
//!                                       │
//!                      Response ◀───────┘   head, cookies, then pieces of body ─▶ decode
//! ```

mod address;
mod answers;
mod body;
mod client;
mod connect;
mod cookies;
pub mod decode;
mod dns;
mod error;
mod framing;
mod headers;
mod idle;
mod name_servers;
#[doc(hidden)]
pub mod probe;
mod proxy;
mod resolver;
mod response;
mod tls;

#[cfg(test)]
mod tests;

pub use address::{Special, special};
pub use body::BodyReport;
pub use client::{FetchRequest, Fetcher};
pub use dns::NoAddress;
pub use error::{FetchError, FetchSetupError};
pub use resolver::LookedUp;
pub use response::Response;

/// A host and port that the user typed as part of a seed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeedHost {
    /// The host as in the URL: a name, an IPv4 address, or an IPv6 address in brackets.
    pub host: String,
    /// The port, the scheme's own where the URL has none.
    pub port: u16,
}

impl SeedHost {
    /// The host and port of a requested URL.
    pub fn of(requested: &str) -> Option<SeedHost> {
        let url = ::url::Url::parse(requested).ok()?;
        Some(SeedHost { host: url.host_str()?.to_owned(), port: url.port_or_known_default()? })
    }
}
