//! Connections: TCP to the addresses that the resolver gives, through a proxy
//! where one is set, and TLS on top of it.
//!
//! Knows nothing of requests. The client asks for a connection by scheme, host
//! and port, and so what the resolver's rules and the guard need to know is known here.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::header::{HeaderMap, HeaderValue, USER_AGENT};
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use super::framing::Meter;
use super::proxy::Proxies;
use super::resolver::{ClientResolver, HostResolver, TARGET, Target};
use super::tls::{Protocols, Tls};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<Wire>, BoxError>> + Send>>;

/// Makes the connections of a crawl. Clones share everything.
#[derive(Clone)]
pub(super) struct Connector(Arc<Inner>);

struct Inner {
    tcp: HttpConnector<ClientResolver>,
    resolver: Arc<HostResolver>,
    tls: Tls,
    proxies: Arc<Proxies>,
    agent: HeaderValue,
    patience: Duration,
}

impl Connector {
    /// A connector that tells proxies it is `agent`, and gives up after `patience`.
    pub(super) fn new(
        resolver: Arc<HostResolver>,
        tls: Tls,
        proxies: Arc<Proxies>,
        agent: HeaderValue,
        patience: Duration,
    ) -> Connector {
        let mut tcp = HttpConnector::new_with_resolver(ClientResolver(resolver.clone()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(patience));
        Connector(Arc::new(Inner { tcp, resolver, tls, proxies, agent, patience }))
    }

    async fn connect(self, to: Uri) -> Result<TokioIo<Wire>, BoxError> {
        let host = to.host().ok_or("no host in the URL")?.to_owned();
        let secure = is_secure(&to);
        let port = to.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let target = Target { host: host.as_str().into(), port };
        let work = TARGET.scope(target, self.0.connect(&to, secure, &host));
        let connected = tokio::time::timeout(self.0.patience, work).await;
        let wire = connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        Ok(TokioIo::new(wire.metered()))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Connecting {
        Box::pin(self.clone().connect(to))
    }
}

/// Makes connections to proxies, for what is spoken through them.
#[derive(Clone)]
struct ProxyConnector(Arc<Inner>);

impl Service<Uri> for ProxyConnector {
    type Response = TokioIo<Wire>;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Connecting {
        let inner = self.0.clone();
        Box::pin(async move { inner.to_proxy(&to).await.map(TokioIo::new) })
    }
}

impl Inner {
    async fn connect(self: &Arc<Self>, to: &Uri, secure: bool, host: &str) -> Result<Wire, BoxError> {
        let wire = match self.proxies.intercept(to) {
            None => Wire::plain(self.tcp(to).await?),
            Some(proxy) if proxy.uri().scheme_str().is_some_and(|scheme| scheme.starts_with("socks")) => {
                self.through_socks(&proxy, to).await?
            }
            Some(proxy) if secure => self.through_tunnel(&proxy, to).await?,
            // the proxy is sent the request itself
            Some(proxy) => return Ok(Wire { proxied: true, ..self.to_proxy(proxy.uri()).await? }),
        };
        if secure { self.secure(wire, host, Protocols::All).await } else { Ok(wire) }
    }

    async fn tcp(&self, to: &Uri) -> Result<TcpStream, BoxError> {
        Ok(self.tcp.clone().call(to.clone()).await?.into_inner())
    }

    async fn to_proxy(&self, proxy: &Uri) -> Result<Wire, BoxError> {
        let wire = Wire::plain(self.tcp(proxy).await?);
        match proxy.host().filter(|_| is_secure(proxy)) {
            Some(host) => self.secure(wire, host, Protocols::Http1).await,
            None => Ok(wire),
        }
    }

    async fn secure(&self, wire: Wire, host: &str, protocols: Protocols) -> Result<Wire, BoxError> {
        let name = ServerName::try_from(host.trim_start_matches('[').trim_end_matches(']').to_owned())?;
        let stream = TlsConnector::from(self.tls.config(protocols)?).connect(name, wire).await?;
        Ok(Wire::new(Stream::Secure(Box::new(stream))))
    }

    async fn through_tunnel(self: &Arc<Self>, proxy: &Intercept, to: &Uri) -> Result<Wire, BoxError> {
        let mut tunnel = Tunnel::new(proxy.uri().clone(), ProxyConnector(self.clone()))
            .with_headers(HeaderMap::from_iter([(USER_AGENT, self.agent.clone())]));
        if let Some(secret) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(secret.clone());
        }
        Ok(tunnel.call(to.clone()).await?.into_inner())
    }

    async fn through_socks(self: &Arc<Self>, proxy: &Intercept, to: &Uri) -> Result<Wire, BoxError> {
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        // these are given an address, so it is looked up, and checked, here
        if !matches!(scheme, "socks4" | "socks5") {
            return self.through_socks_to(proxy, to.clone()).await;
        }
        let mut addresses = self.at_addresses(to).await?;
        let last = addresses.pop().ok_or("no address")?;
        // a proxy may wait for a silent address as long as it is let
        let part = self.patience / u32::try_from(addresses.len() + 1).unwrap_or(u32::MAX);
        let mut failed = None;
        for to in addresses {
            match tokio::time::timeout(part, self.through_socks_to(proxy, to)).await {
                Ok(Ok(wire)) => return Ok(wire),
                Ok(Err(error)) => failed = failed.or(Some(error)),
                Err(_) => {}
            }
        }
        self.through_socks_to(proxy, last).await.map_err(|error| failed.unwrap_or(error))
    }

    async fn through_socks_to(self: &Arc<Self>, proxy: &Intercept, to: Uri) -> Result<Wire, BoxError> {
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        let connector = ProxyConnector(self.clone());
        let connected = if scheme.starts_with("socks4") {
            SocksV4::new(proxy.uri().clone(), connector).call(to).await?
        } else {
            let mut socks = SocksV5::new(proxy.uri().clone(), connector);
            if let Some((name, password)) = proxy.raw_auth() {
                socks = socks.with_auth(name.to_owned(), password.to_owned());
            }
            socks.call(to).await?
        };
        Ok(connected.into_inner())
    }

    /// The same scheme and port at each of the host's addresses.
    async fn at_addresses(&self, to: &Uri) -> Result<Vec<Uri>, BoxError> {
        let host = to.host().unwrap_or_default();
        let port = to.port_u16().unwrap_or(if is_secure(to) { 443 } else { 80 });
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses = match bare.parse() {
            Ok(literal) => vec![literal],
            Err(_) => self.resolver.resolve(host, Some(port)).await?,
        };
        let scheme = to.scheme_str().unwrap_or("http");
        let at = |address| Ok(format!("{scheme}://{}/", std::net::SocketAddr::new(address, port)).parse()?);
        addresses.into_iter().map(at).collect()
    }
}

fn is_secure(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// A connection.
pub(super) struct Wire {
    stream: Stream,
    /// The other end is a proxy, which wants whole URLs.
    proxied: bool,
    /// What is read for answers is counted; a tunnel's or TLS's own bytes are not.
    meter: Option<Meter>,
}

enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<Wire>>),
}

impl Wire {
    fn new(stream: Stream) -> Wire {
        Wire { stream, proxied: false, meter: None }
    }

    fn plain(stream: TcpStream) -> Wire {
        Wire::new(Stream::Plain(stream))
    }

    /// From now on answers come over it.
    fn metered(self) -> Wire {
        Wire { meter: Some(Meter::default()), ..self }
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        let connected = match &self.stream {
            Stream::Plain(stream) => stream.connected(),
            Stream::Secure(stream) => {
                let (below, tls) = stream.get_ref();
                let connected = below.connected();
                if tls.alpn_protocol() == Some(b"h2") { connected.negotiated_h2() } else { connected }
            }
        };
        let connected = connected.proxy(self.proxied);
        match &self.meter {
            Some(meter) => connected.extra(meter.clone()),
            None => connected,
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Secure(stream) => Pin::new(stream).poll_read(context, buffer),
        };
        match (read, &self.meter) {
            (Poll::Ready(Ok(())), Some(meter)) => Poll::Ready(meter.take(&buffer.filled()[before..])),
            (read, _) => read,
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Secure(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Stream::Secure(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Secure(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Secure(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Secure(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
