//! The site behind a socket: HTTP/1.1 with keep-alive, and the listings for checkers.
//!
//! | path, on any host | answer |
//! |---|---|
//! | `/_truth` | every reachable page, a URL a line |
//! | `/_seeds` | a seed per host, usable as a seed file; comments carry the `--resolve` needed |
//! | `/_log` | `count<TAB>URL` for every URL requested so far, listings aside |
//!
//! Their URLs are by name. A site of one host that is asked under another
//! authority, its plain address for one, answers in that authority's URLs instead
//! (and counts both alike), so ask for the listings as the crawl asks for pages.
//!
//! It must not know how answers are made.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue, LOCATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::answer::{Answer, TEXT};
use super::listing::Naming;
use super::log::{RequestLog, SiteReport};
use super::{Place, Site};

/// Bytes of a listing made at a time.
const CHUNK: usize = 32 << 10;

/// How long to wait when no connection can be accepted (out of file descriptors, for one).
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Serves the site until `shutdown` completes, then drops its connections and says what was requested.
///
/// It needs a tokio runtime with I/O and time enabled. The error is that of a listener that is
/// none; trouble with single connections ends these only.
pub async fn serve(site: Arc<Site>, listener: TcpListener, shutdown: impl Future) -> io::Result<SiteReport> {
    listener.local_addr()?;
    let log = Arc::new(RequestLog::new(&site));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            _ = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(Arc::clone(&site), Arc::clone(&log), stream));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            // takes finished tasks out of the set, which would grow otherwise
            Some(_) = connections.join_next() => {}
        }
    }
    connections.shutdown().await;
    Ok(log.report())
}

/// Answers the requests of one connection until either side ends it.
async fn serve_connection(site: Arc<Site>, log: Arc<RequestLog>, stream: TcpStream) {
    // a connection that is gone by now shows itself at the first read
    let (Ok(()), Ok(address)) = (stream.set_nodelay(true), stream.local_addr()) else {
        return;
    };
    let handler = Handler { site, log, address };
    let service = service_fn(move |request| ready(Ok::<_, Infallible>(handler.handle(&request))));
    // errors here are the client's: it left, or it does not speak HTTP
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Answers requests of one connection.
struct Handler {
    site: Arc<Site>,
    log: Arc<RequestLog>,
    /// Where the client reached us.
    address: SocketAddr,
}

impl Handler {
    fn handle(&self, request: &Request<Incoming>) -> Response<SiteBody> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = Response::new(SiteBody::Whole(Bytes::new()));
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        // a proxy's client names the host in the request line, and only there it counts (RFC 9112, 3.2.2)
        let header = request.headers().get(HOST).and_then(|value| value.to_str().ok());
        let authority =
            request.uri().authority().map(hyper::http::uri::Authority::as_str).or(header).unwrap_or("");
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let (host, naming) = self.site.read_authority(authority);
        if let Some(body) = self.listing(path, &naming) {
            return respond_with(200, TEXT, body);
        }
        match host.and_then(|host| self.site.locate(host, path)) {
            Some(place) => self.answer(place, &naming),
            None => self.answer_unknown(authority, path),
        }
    }

    fn answer(&self, place: Place, naming: &Naming) -> Response<SiteBody> {
        self.log.count(&self.site, place);
        into_response(self.site.answer(place, naming))
    }

    fn answer_unknown(&self, authority: &str, path: &str) -> Response<SiteBody> {
        self.log.count_unknown(format!("http://{}{path}", authority.escape_default()));
        into_response(Answer::not_found())
    }

    fn listing(&self, path: &str, naming: &Naming) -> Option<SiteBody> {
        let lines: Lines = match path {
            "/_truth" => Box::new(self.site.truth(naming)),
            "/_seeds" => Box::new(self.site.seeds_file(naming, self.address)),
            "/_log" => Box::new(Arc::clone(&self.log).lines(*self.site, naming.clone())),
            _ => return None,
        };
        Some(SiteBody::Lines(lines))
    }
}

fn into_response(answer: Answer) -> Response<SiteBody> {
    let mut response = respond_with(answer.status, answer.content_type, SiteBody::Whole(answer.body.into()));
    if let Some(Ok(location)) = answer.location.map(HeaderValue::try_from) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn respond_with(status: u16, content_type: &'static str, body: SiteBody) -> Response<SiteBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

type Lines = Box<dyn Iterator<Item = String> + Send>;

/// A body, whole with its length known, or made line by line as the client reads.
enum SiteBody {
    Whole(Bytes),
    Lines(Lines),
}

impl Body for SiteBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.get_mut() {
            SiteBody::Whole(body) => std::mem::take(body),
            SiteBody::Lines(lines) => next_chunk(lines),
        };
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, SiteBody::Whole(body) if body.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            SiteBody::Whole(body) => SizeHint::with_exact(body.len() as u64),
            SiteBody::Lines(_) => SizeHint::default(),
        }
    }
}

/// The next lines of a listing; empty at its end.
fn next_chunk(lines: &mut Lines) -> Bytes {
    let mut chunk = String::with_capacity(CHUNK + 256);
    while chunk.len() < CHUNK {
        let Some(line) = lines.next() else { break };
        chunk.push_str(&line);
        chunk.push('\n');
    }
    chunk.into()
}
