//! Requests: one GET after another, nothing followed, nothing decoded by the client.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::url::{Host, Url};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, COOKIE, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION, SET_COOKIE,
    USER_AGENT,
};
use hyper::{Request, StatusCode, Uri};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::address::AddressGuard;
use super::body::{Limits, MOST_HELD};
use super::connect::Connector;
use super::cookies::CookieJar;
use super::decode::MAX_LAYERS;
use super::dns::{Dns, Lifetimes, NoAddress};
use super::error::{Situation, no_answer, too_slow};
use super::framing::Meter;
use super::headers::{self, ExtraHeaders};
use super::idle::IdleBound;
use super::name_servers::{DnsServers, at_once, servers_at};
use super::proxy::Proxies;
use super::resolver::{HostResolver, LookedUp};
use super::response::Response;
use super::tls::Tls;
use super::{FetchError, FetchSetupError, SeedHost};
use crate::budget::{FetchMemory, LeasePool};
use crate::config::{Config, user_agent};
use crate::model::{ErrorKind, FailureClass};

/// Headers of an answer at most.
const MAX_HEADERS: usize = 256;
/// Bytes that are read ahead from an HTTP/1 connection at a time, and so the most that the head of an
/// answer may have. Of a body, so much stands in the buffer, as much in the channel behind it, and as
/// much in the hands of whoever reads it.
pub(super) const READ_BUFFER: usize = 32 << 10;
/// Bytes of all headers of an HTTP/2 answer at most.
const MAX_HTTP2_HEADERS: u32 = READ_BUFFER as u32;
/// Bytes that a server may send ahead in one HTTP/2 stream, and over all streams of a connection.
const STREAM_WINDOW: u32 = 64 * 1024 - 1;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// Idle connections are kept for the pause between two requests to a host, and this time more.
const IDLE_SLACK: Duration = Duration::from_secs(2);
/// Where hosts wait longer than this, connections are used once.
const MAX_IDLE: Duration = Duration::from_secs(15);
/// Connections kept at most beyond one per request in flight, which is their number too where that is less.
const SPARE_CONNECTIONS: usize = 64;

/// Bytes that the windows of one body's decoders may have, however large the budget is.
const MOST_WINDOWS: usize = MAX_LAYERS * (16 << 20);

type Client = HyperClient<Connector, Empty<Bytes>>;

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct FetchRequest<'a> {
    /// The URL in WHATWG serialization.
    pub url: &'a str,
    /// Further headers, over and above the user's; an invalid one is left out.
    pub headers: &'a [(&'a str, &'a str)],
    /// Bytes of decoded body at most; `--max-body` where absent.
    pub max_body: Option<u64>,
    /// Time for the whole request, body included; `--timeout` where absent.
    pub timeout: Option<Duration>,
    /// Whether another request to this host is likely soon.
    pub keep_alive: bool,
}

impl<'a> FetchRequest<'a> {
    /// A request with the crawl's own limits.
    pub fn new(url: &'a str) -> FetchRequest<'a> {
        FetchRequest { url, headers: &[], max_body: None, timeout: None, keep_alive: true }
    }
}

/// Makes the requests of a crawl. Clones share everything.
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>);

struct Inner {
    /// Connections go back to the pool.
    pooled: Client,
    /// Connections are used once.
    single: Client,
    idle: IdleBound,
    guard: Arc<AddressGuard>,
    resolver: Arc<HostResolver>,
    proxies: Arc<Proxies>,
    /// What every request says of itself.
    defaults: HeaderMap,
    /// None where cookies are not wanted.
    cookies: Option<CookieJar>,
    extra: ExtraHeaders,
    room: LeasePool,
    /// Bytes that the decoder windows of one body may have.
    windows: usize,
    timeout: Duration,
    max_body: u64,
}

impl Fetcher {
    /// A fetcher for a crawl, within `memory`. `seed_hosts`: what the user typed, which the address
    /// guard lets pass and which sees the user's own headers.
    ///
    /// # Errors
    /// Settings that cannot be used, each naming the option to blame.
    pub fn new(
        config: &Config,
        seed_hosts: impl AsRef<[SeedHost]>,
        memory: FetchMemory,
    ) -> Result<Fetcher, FetchSetupError> {
        Fetcher::with_sources(config, seed_hosts.as_ref(), memory, true, servers_at(&config.dns))
    }

    /// Name servers that a look-up may ask at once, where they are silent: one to three.
    pub fn servers_at_once(config: &Config) -> usize {
        at_once(&servers_at(&config.dns))
    }

    /// As [`Fetcher::new`], with proxies from the environment or without, and names looked up at `dns`.
    pub(super) fn with_sources(
        config: &Config,
        seeds: &[SeedHost],
        memory: FetchMemory,
        environment: bool,
        dns: DnsServers,
    ) -> Result<Fetcher, FetchSetupError> {
        let guard = Arc::new(AddressGuard::new(config.allow_private, seeds));
        let proxies = Arc::new(Proxies::new(config.proxy.as_deref(), environment)?);
        // a little less than the client's own limit, so that it is DNS that is blamed
        let patience = config.connect_timeout.mul_f32(0.9);
        let answers = usize::try_from(memory.answers).unwrap_or(usize::MAX);
        let lookups = memory.lookups / at_once(&dns);
        let dns = Dns::new(dns, patience, Lifetimes::default(), lookups, answers);
        let resolver = Arc::new(HostResolver::new(&config.resolve, guard.clone(), proxies.any(), dns));
        let windows = memory.in_flight.one.saturating_sub(MOST_HELD as u64);
        let windows = usize::try_from(windows).unwrap_or(usize::MAX).min(MOST_WINDOWS);
        let agent = HeaderValue::from_str(&user_agent(&config.user_agent)?)
            .map_err(|error| FetchSetupError::Client(error.to_string()))?;
        let tls = Tls::new(config.ca_file.as_deref(), config.insecure)?;
        let connector =
            Connector::new(resolver.clone(), tls, proxies.clone(), agent.clone(), config.connect_timeout);
        let keep_for = config.delay.saturating_mul(if config.random_wait { 3 } else { 2 }) / 2 + IDLE_SLACK;
        let kept = keep_for <= MAX_IDLE;
        Ok(Fetcher(Arc::new(Inner {
            pooled: client(connector.clone(), config.per_host.clamp(1, config.concurrency.max(1)), keep_for),
            single: client(connector, 0, keep_for),
            idle: IdleBound::new(if kept { most_kept(config.concurrency) } else { 0 }, keep_for),
            guard,
            proxies,
            defaults: HeaderMap::from_iter([
                (USER_AGENT, agent),
                (ACCEPT, HeaderValue::from_static(headers::ACCEPT)),
                (ACCEPT_ENCODING, HeaderValue::from_static(headers::accepted_codings(windows))),
            ]),
            cookies: config
                .cookies
                .then(|| CookieJar::new(usize::try_from(memory.cookies).unwrap_or(usize::MAX))),
            extra: ExtraHeaders::new(&config.headers, config.header_scope, seeds)?,
            room: LeasePool::new(memory.in_flight.pool),
            windows,
            timeout: config.timeout,
            max_body: config.max_body,
            resolver,
        })))
    }

    /// The memory that bodies in flight share.
    pub fn room(&self) -> &LeasePool {
        &self.0.room
    }

    /// Asks for a URL; gives the answer once its head is there, whatever its status.
    ///
    /// # Errors
    /// No answer. [`FetchError::requested`] tells whether the server may have seen the request.
    pub async fn get(&self, request: &FetchRequest<'_>) -> Result<Response, FetchError> {
        let inner = &*self.0;
        let url = parse(request.url)?;
        let host = url.host_str().unwrap_or_default();
        self.check_parsed(&url)?;
        let (message, cookies) = inner.message(request, &url, host)?;
        let kept = if request.keep_alive { inner.idle.take(origin(&url), Instant::now()) } else { None };
        let client = if kept.is_some() { &inner.pooled } else { &inner.single };
        let timeout = request.timeout.unwrap_or(inner.timeout);
        let deadline = tokio::time::Instant::now() + timeout;
        let answer = match tokio::time::timeout_at(deadline, client.request(message)).await {
            Ok(answer) => answer.map_err(|error| inner.blame(&error, &url, host))?,
            Err(_) => return Err(too_slow(timeout)),
        };
        inner.refuse_status(answer.status(), &url)?;
        let set_new_cookie = inner.take_cookies(&answer, &url, cookies.as_deref());
        let bytes = request.max_body.unwrap_or(inner.max_body);
        let limits = Limits { bytes, timeout, deadline, windows: inner.windows, lease: inner.room.lease() };
        Ok(Response::new(answer, set_new_cookie, limits, kept))
    }

    /// Checks a URL's address, where its host is one, before any look-up; names pass.
    ///
    /// # Errors
    /// [`ErrorKind::PrivateAddress`] where the guard refuses it.
    pub fn check_literal(&self, url: &str) -> Result<(), FetchError> {
        // only a host that ends in a digit or a bracket can be an address, and most links are names
        let host = url.split_once("://").map_or("", |(_, rest)| rest);
        let host = &host[..host.find(['/', '?', '#']).unwrap_or(host.len())];
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let name =
            if host.ends_with(']') { host } else { host.rsplit_once(':').map_or(host, |(name, _)| name) };
        let last = name.strip_suffix('.').unwrap_or(name).rsplit('.').next().unwrap_or_default();
        if name.starts_with('[')
            || last.starts_with(|first: char| first.is_ascii_digit() || !first.is_ascii())
        {
            return self.check_parsed(&parse(url)?);
        }
        Ok(())
    }

    fn check_parsed(&self, url: &Url) -> Result<(), FetchError> {
        let address: IpAddr = match url.host() {
            Some(Host::Ipv4(address)) => address.into(),
            Some(Host::Ipv6(address)) => address.into(),
            _ => return Ok(()),
        };
        let host = url.host_str().unwrap_or_default();
        let checked = self.0.guard.check(address, host, url.port_or_known_default());
        checked.map_err(|special| FetchError::refused(host, special))
    }

    /// Whether requests to a host (as in a URL) wait for DNS, so that it is worth asking ahead.
    pub fn asks_dns(&self, host: &str) -> bool {
        literal(host).is_none() && self.0.resolver.asks_dns(host)
    }

    /// Looks up the address of a host, of which something will be requested at `port`. Requests
    /// made while it holds need not wait for DNS. Servers are given more time for a name whose
    /// look-up failed before.
    ///
    /// # Errors
    /// [`NoAddress`]. That the guard refuses an address is none: it is asked again for each request.
    pub async fn look_up(&self, host: &str, port: u16, failures: u32) -> Result<LookedUp, NoAddress> {
        if let Some(address) = literal(host) {
            let allowed = self.0.guard.check(address, host, Some(port)).is_ok();
            return Ok(LookedUp { address: allowed.then_some(address), holds_for: Duration::MAX });
        }
        self.0.resolver.look_up(host, port, failures).await
    }

    /// The addresses that a request to `host` and `port` may connect to; at least one.
    #[cfg(test)]
    pub(super) async fn resolve(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, FetchError> {
        let Some(address) = literal(host) else {
            return self.0.resolver.resolve(host, Some(port)).await;
        };
        let checked = self.0.guard.check(address, host, Some(port));
        checked.map(|()| vec![address]).map_err(|special| FetchError::refused(host, special))
    }

    /// What the address guard cannot check, to be told to the user.
    pub fn guard_note(&self) -> Option<&str> {
        self.0.proxies.guard_note()
    }

    /// Cookies refused or given up for room so far.
    pub fn cookies_dropped(&self) -> u64 {
        self.0.cookies.as_ref().map_or(0, CookieJar::dropped)
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Fetcher").field("guard", &self.0.guard).finish_non_exhaustive()
    }
}

impl Inner {
    /// The request as it is sent, and the jar's cookies in it.
    fn message(
        &self,
        request: &FetchRequest<'_>,
        url: &Url,
        host: &str,
    ) -> Result<(Request<Empty<Bytes>>, Option<String>), FetchError> {
        let wrong = |error: &dyn std::fmt::Display| {
            FetchError::new(ErrorKind::Other, false, format!("cannot be requested: {error}"))
        };
        let uri: Uri = url.as_str().parse().map_err(|error| wrong(&error))?;
        let (mut headers, cookies) = self.headers(request, url, host);
        if url.scheme() == "http"
            && let Some(secret) = self.proxies.intercept(&uri).and_then(|proxy| proxy.basic_auth().cloned())
        {
            headers.entry(PROXY_AUTHORIZATION).or_insert(secret);
        }
        let mut message = Request::new(Empty::new());
        *message.uri_mut() = uri;
        *message.headers_mut() = headers;
        Ok((message, cookies))
    }

    /// The headers of a request, and the jar's cookies among them.
    fn headers(&self, request: &FetchRequest<'_>, url: &Url, host: &str) -> (HeaderMap, Option<String>) {
        let mut headers = HeaderMap::new();
        self.extra.add_to(&mut headers, host);
        for (name, value) in request.headers {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        }
        let cookies = self.cookies_for(url, host);
        if let Some(cookies) = &cookies {
            let given = headers.get(COOKIE).and_then(|value| value.to_str().ok());
            let all = given.map_or(Cow::Borrowed(cookies), |given| Cow::Owned(format!("{given}; {cookies}")));
            if let Ok(value) = HeaderValue::from_bytes(all.as_bytes()) {
                headers.insert(COOKIE, value);
            }
        }
        for (name, value) in &self.defaults {
            headers.entry(name).or_insert_with(|| value.clone());
        }
        (headers, cookies)
    }

    /// The jar's cookies for a request, where there is a jar.
    fn cookies_for(&self, url: &Url, host: &str) -> Option<String> {
        self.cookies.as_ref()?.header(url, self.extra.cookie_names(host))
    }

    /// Puts the answer's cookies into the jar; says whether a repeat of its request would send others.
    fn take_cookies(&self, answer: &hyper::Response<Incoming>, url: &Url, sent: Option<&str>) -> bool {
        let Some(jar) = self.cookies.as_ref().filter(|_| answer.headers().contains_key(SET_COOKIE)) else {
            return false;
        };
        let values = answer.headers().get_all(SET_COOKIE);
        jar.store(url, values.iter().map(HeaderValue::as_bytes));
        self.cookies_for(url, url.host_str().unwrap_or_default()).as_deref() != sent
    }

    /// What an error is called; what is known of the host's name suffers by it.
    fn blame(&self, error: &hyper_util::client::legacy::Error, url: &Url, host: &str) -> FetchError {
        let found = self.explain(error, url);
        if found.kind.class() == FailureClass::Host {
            self.resolver.doubt(host);
        }
        found
    }

    fn explain(&self, error: &hyper_util::client::legacy::Error, url: &Url) -> FetchError {
        let proxied = self.proxies.any() && self.proxies.takes(url);
        let mut found = no_answer(error, Situation { secure: url.scheme() == "https", proxied });
        if found.kind == ErrorKind::HeaderTooLarge && names_overflowing_length(error) {
            // the client says the same of both
            found = FetchError::new(ErrorKind::Protocol, true, "Content-Length of more than can be counted");
        }
        self.proxies.redact(&mut found.detail);
        found
    }

    /// Statuses that are no answers to what was asked. A plain-text proxy answers in the server's
    /// place where it refuses.
    fn refuse_status(&self, status: StatusCode, url: &Url) -> Result<(), FetchError> {
        if status == StatusCode::SWITCHING_PROTOCOLS {
            let words = "switches to another protocol (101), which nobody asked for";
            return Err(FetchError::new(ErrorKind::Protocol, true, words));
        }
        if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED && self.proxies.takes(url) {
            let words = "the proxy asks for a user name and password (407)";
            return Err(FetchError::new(ErrorKind::Proxy, false, words));
        }
        Ok(())
    }
}

/// Whether the answer on whose connection an error came up names a longer body than can be counted.
fn names_overflowing_length(error: &hyper_util::client::legacy::Error) -> bool {
    let mut extensions = hyper::http::Extensions::new();
    error.connect_info().into_iter().for_each(|connected| connected.get_extras(&mut extensions));
    extensions.get::<Meter>().is_some_and(Meter::length_overflows)
}

fn parse(url: &str) -> Result<Url, FetchError> {
    let wrong = |words: String| FetchError::new(ErrorKind::Other, false, words);
    let parsed = Url::parse(url).map_err(|error| wrong(format!("not a URL: {error}")))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => Err(wrong(format!("cannot fetch {scheme} URLs"))),
    }
}

/// The address that a host (as in a URL) is.
fn literal(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

/// `scheme://host[:port]` of a URL.
fn origin(url: &Url) -> &str {
    &url[..::url::Position::BeforePath]
}

/// Connections that are kept at most, busy and idle.
fn most_kept(concurrency: usize) -> usize {
    concurrency.saturating_add(concurrency.min(SPARE_CONNECTIONS))
}

/// A client that keeps `idle` connections of a host, each for `keep_for`.
fn client(connector: Connector, idle: usize, keep_for: Duration) -> Client {
    HyperClient::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(keep_for)
        .pool_max_idle_per_host(idle)
        .http1_max_buf_size(READ_BUFFER)
        .http1_max_headers(MAX_HEADERS)
        // what browsers forgive
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_header_list_size(MAX_HTTP2_HEADERS)
        .build(connector)
}
