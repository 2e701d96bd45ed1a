//! A small HTTP/1.1 server on loopback that answers as a script says, faults included.
//!
//! It knows nothing of crawling. It is bounded in connections, requests and
//! time, so that a crawler gone wild meets a wall rather than a busy machine.

mod answer;
mod connection;
mod script;

pub(crate) use answer::{Answer, Body, brotli_stored, deflate, gzip, page, zstd};
pub(crate) use connection::parse;
pub(crate) use script::Script;

use crate::harness::{guard, size};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Connections served at one time; more are closed at once.
const CONNECTIONS: usize = 1024;
/// Requests answered in all.
fn requests_answered() -> usize {
    size(50_000, 5_000_000)
}

/// The life of a server.
fn life() -> Duration {
    guard() + Duration::from_secs(60)
}

/// The one clock of all servers, so that their logs can be laid side by side.
pub(crate) fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// One request, as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// When its head had been read.
    pub(crate) at: Duration,
    /// Just before the last byte of the answer was handed over; absent while it is being answered.
    pub(crate) finished: Option<Duration>,
    /// The request target, byte for byte.
    pub(crate) path: String,
    /// The `Host` header without its port.
    pub(crate) host: String,
    /// All headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Whether the `Cookie` header holds `pair`.
    pub(crate) fn has_cookie(&self, pair: &str) -> bool {
        self.header("cookie").is_some_and(|all| all.split(';').any(|one| one.trim() == pair))
    }
}

/// All requests, and how often each host and path was asked for.
#[derive(Default)]
struct Log {
    requests: Vec<Request>,
    asked: HashMap<(String, String), usize>,
}

/// What the connections share.
struct Shared {
    script: Script,
    log: Mutex<Log>,
    stopped: AtomicBool,
    connections: AtomicUsize,
    started: Instant,
}

impl Shared {
    fn over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.started.elapsed() > life()
    }
}

/// A running server; it stops when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Starts on `127.0.0.1`.
    pub(crate) fn start(script: Script) -> Server {
        Server::start_at(Ipv4Addr::LOCALHOST, script)
    }

    /// Starts on a loopback address of the caller's choice.
    pub(crate) fn start_at(address: Ipv4Addr, script: Script) -> Server {
        assert!(address.is_loopback(), "tests stay on loopback");
        now();
        let listener = TcpListener::bind((IpAddr::V4(address), 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script,
            log: Mutex::default(),
            stopped: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            started: Instant::now(),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &accepting));
        Server { address, shared }
    }

    /// `address:port`.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The port alone.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL of a path by the plain address.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The URL of a path under a host name that the crawl is told to resolve to this server.
    pub(crate) fn url_of(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port())
    }

    /// `HOST:ADDR`, for `--resolve`.
    pub(crate) fn resolve(&self, host: &str) -> String {
        format!("{host}:{}", self.address.ip())
    }

    /// All requests so far, in order of arrival.
    pub(crate) fn log(&self) -> Vec<Request> {
        let mut log = self.shared.log.lock().unwrap().requests.clone();
        log.sort_by_key(|request| request.at);
        log
    }

    /// How many requests there were so far.
    pub(crate) fn asked(&self) -> usize {
        self.shared.log.lock().unwrap().requests.len()
    }

    /// The requests of one path.
    pub(crate) fn requests(&self, path: &str) -> Vec<Request> {
        self.log().into_iter().filter(|request| request.path == path).collect()
    }

    /// How often one path was requested.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.requests(path).len()
    }

    /// The requested paths but for robots.txt, sorted, as often as they were requested.
    pub(crate) fn pages(&self) -> Vec<String> {
        let mut pages: Vec<String> =
            self.log().into_iter().map(|request| request.path).filter(|path| path != "/robots.txt").collect();
        pages.sort();
        pages
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // wakes the accepting thread
        drop(TcpStream::connect(self.address));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.over() {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // an error here is the peer's going away, which the peer's records tell
            let _ended = connection::serve(stream, &shared);
            shared.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

#[test]
fn brotli_and_the_other_codings_of_the_server_are_sound() {
    use std::io::Read;
    let text: Vec<u8> = (0..200_000_u32).map(|i| b'a' + (i % 23) as u8).collect();
    let mut decoded = Vec::new();
    brotli_decompressor::Decompressor::new(&brotli_stored(&text)[..], 4096)
        .read_to_end(&mut decoded)
        .unwrap();
    assert_eq!(decoded, text);
    assert_eq!(::zstd::decode_all(&zstd(&text)[..]).unwrap(), text);
    decoded.clear();
    flate2::read::GzDecoder::new(&gzip(&text)[..]).read_to_end(&mut decoded).unwrap();
    assert_eq!(decoded, text);
}
