//! What may go wrong with a fetch, and who is to blame.

/// Who is to blame for a failed fetch, and so what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// This request may go better next time.
    Transient,
    /// Asking again would give the same.
    Permanent,
    /// The host as a whole is in trouble.
    Host,
}

/// What went wrong with a fetch. The name is what records and summaries show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The host name has no address.
    Dns,
    /// No connection could be made.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// A time limit passed.
    Timeout,
    /// The connection ended before any answer.
    Disconnected,
    /// The body ended before its declared end.
    Incomplete,
    /// What came back is not HTTP.
    Protocol,
    /// The answer's header is too large.
    HeaderTooLarge,
    /// The body cannot be decoded as its `Content-Encoding` says.
    Decode,
    /// A redirect without a usable `Location`.
    BadRedirect,
    /// A redirect to the very same request.
    RedirectLoop,
    /// More than `--max-redirects` redirects in one chain.
    TooManyRedirects,
    /// The proxy refused or failed.
    Proxy,
    /// The address guard refused an address after a request had been made.
    PrivateAddress,
    /// Its host was given up after this URL had been asked.
    HostUnreachable,
    /// The process died twice while this URL alone was in flight.
    Crashed,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// Every kind, in the order of declaration. Only ever appended to, for their places stand in files.
    pub const ALL: [ErrorKind; 17] = [
        ErrorKind::Dns,
        ErrorKind::Connect,
        ErrorKind::Tls,
        ErrorKind::Timeout,
        ErrorKind::Disconnected,
        ErrorKind::Incomplete,
        ErrorKind::Protocol,
        ErrorKind::HeaderTooLarge,
        ErrorKind::Decode,
        ErrorKind::BadRedirect,
        ErrorKind::RedirectLoop,
        ErrorKind::TooManyRedirects,
        ErrorKind::Proxy,
        ErrorKind::PrivateAddress,
        ErrorKind::HostUnreachable,
        ErrorKind::Crashed,
        ErrorKind::Other,
    ];

    /// The name that records and summaries show.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Dns => "dns",
            ErrorKind::Connect => "connect",
            ErrorKind::Tls => "tls",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Disconnected => "disconnected",
            ErrorKind::Incomplete => "incomplete",
            ErrorKind::Protocol => "protocol",
            ErrorKind::HeaderTooLarge => "header_too_large",
            ErrorKind::Decode => "decode",
            ErrorKind::BadRedirect => "bad_redirect",
            ErrorKind::RedirectLoop => "redirect_loop",
            ErrorKind::TooManyRedirects => "too_many_redirects",
            ErrorKind::Proxy => "proxy",
            ErrorKind::PrivateAddress => "private_address",
            ErrorKind::HostUnreachable => "host_unreachable",
            ErrorKind::Crashed => "crashed",
            ErrorKind::Other => "other",
        }
    }

    /// What waits after it.
    pub fn class(self) -> FailureClass {
        match self {
            ErrorKind::Timeout | ErrorKind::Disconnected | ErrorKind::Incomplete => FailureClass::Transient,
            ErrorKind::Dns | ErrorKind::Connect | ErrorKind::Proxy | ErrorKind::HostUnreachable => {
                FailureClass::Host
            }
            ErrorKind::Tls
            | ErrorKind::Protocol
            | ErrorKind::HeaderTooLarge
            | ErrorKind::Decode
            | ErrorKind::BadRedirect
            | ErrorKind::RedirectLoop
            | ErrorKind::TooManyRedirects
            | ErrorKind::PrivateAddress
            | ErrorKind::Crashed
            | ErrorKind::Other => FailureClass::Permanent,
        }
    }
}

/// What went wrong with a page, as written in its record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageError {
    /// The kind, for counting.
    pub kind: ErrorKind,
    /// What a person needs to know beyond that.
    pub detail: String,
}
