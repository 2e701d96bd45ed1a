//! The server: raw sockets, so that what goes over them need not be HTTP.
//!
//! It finds the row that a request is for and lets its script write. What was asked is kept with
//! the connection it came over. Where no row speaks, it is the sane web: an index of all rows,
//! and their witnesses.

use super::row::{Row, Site, Witness, page};
use crate::server::{Request, parse};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a read, or a pause, lasts before the end of the server is looked for.
const TICK: Duration = Duration::from_millis(50);
/// Connections in all, so that a crawler gone wild meets a wall.
const CONNECTIONS: usize = 20_000;

/// A request, with what the log knows of it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Connections count from 0.
    pub(super) connection: usize,
    /// The host, without its port.
    pub(super) host: String,
    /// The request target.
    pub(super) path: String,
    /// Requests for this host and path so far, with this one.
    pub(super) times: usize,
}

/// What becomes of the connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It waits for the next request.
    Keep,
    /// It is closed.
    Close,
}

struct Shared {
    site: Site,
    rows: Vec<Row>,
    log: Mutex<Vec<Asked>>,
    /// Bytes, by host and path.
    sent: Mutex<BTreeMap<(String, String), u64>>,
    stopped: AtomicBool,
}

/// A running server; it stops when dropped.
pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Starts on `127.0.0.1` with the rows made for where it is.
    pub(super) fn start(rows: impl FnOnce(Site) -> Vec<Row>) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let site = Site { port: address.port() };
        let shared = Arc::new(Shared {
            site,
            rows: rows(site),
            log: Mutex::default(),
            sent: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &accepting));
        Server { address, shared }
    }

    /// Where it is.
    pub(super) fn site(&self) -> Site {
        self.shared.site
    }

    /// What it was started with.
    pub(super) fn rows(&self) -> &[Row] {
        &self.shared.rows
    }

    /// All requests so far, in the order in which they were read.
    pub(super) fn log(&self) -> Vec<Asked> {
        self.shared.log.lock().unwrap().clone()
    }

    /// Bytes written so far for the pages of a row, its robots.txt among them.
    pub(super) fn sent(&self, row: &Row) -> u64 {
        let sent = self.shared.sent.lock().unwrap();
        sent.iter().filter(|((host, path), _)| row.is_for(host, path)).map(|(_, bytes)| bytes).sum()
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
    for (connection, stream) in listener.incoming().take(CONNECTIONS).enumerate() {
        if shared.stopped.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // an error is the peer's going away, which the peer's records tell
        std::thread::spawn(move || serve(stream, connection, &shared));
    }
}

fn serve(mut stream: TcpStream, connection: usize, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    while let Some(head) = read_head(&mut stream, shared)? {
        let Some(request) = parse(&head) else {
            return Ok(());
        };
        let asked = note(shared, connection, request);
        let mut wire = Wire { stream: &mut stream, shared, sent: 0 };
        let then = answer(&mut wire, &asked);
        *shared.sent.lock().unwrap().entry((asked.host.clone(), asked.path.clone())).or_default() +=
            wire.sent;
        if then? == Then::Close {
            return Ok(());
        }
    }
    Ok(())
}

/// The head of a request; nothing where the peer left. Nobody asks before the answer is there.
fn read_head(stream: &mut TcpStream, shared: &Shared) -> io::Result<Option<Vec<u8>>> {
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while !head.ends_with(b"\r\n\r\n") {
        if shared.stopped.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(read) => head.extend_from_slice(&buffer[..read]),
            Err(error) if is_tick(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(head))
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

fn note(shared: &Shared, connection: usize, request: Request) -> Asked {
    let mut log = shared.log.lock().unwrap();
    let same = |asked: &&Asked| asked.host == request.host && asked.path == request.path;
    let times = log.iter().filter(same).count() + 1;
    let asked = Asked { connection, host: request.host, path: request.path, times };
    log.push(asked.clone());
    asked
}

fn answer(wire: &mut Wire<'_>, asked: &Asked) -> io::Result<Then> {
    let Shared { site, rows, .. } = wire.shared;
    let row = rows.iter().find(|row| row.is_for(&asked.host, &asked.path));
    if asked.path.starts_with("/robots.txt") {
        return match row.and_then(|row| row.robots.as_ref()) {
            Some(script) => script(wire, asked),
            None => wire.whole("404 Not Found", "", b""),
        };
    }
    if let Some(guarded) = Site::is_index(&asked.host, &asked.path) {
        return wire.whole("200 OK", page::HTML, &site.index(rows, guarded));
    }
    if Witness::of(&asked.path).is_some() {
        return wire.whole("200 OK", page::HTML, b"<title>witness</title>");
    }
    match row {
        Some(row) => (row.script)(wire, asked),
        None => wire.whole("404 Not Found", "", b""),
    }
}

/// The server's end of a connection, for one answer.
pub(super) struct Wire<'a> {
    stream: &'a mut TcpStream,
    shared: &'a Shared,
    sent: u64,
}

impl Wire<'_> {
    /// Writes bytes as they are.
    pub(super) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        // in parts, so that what was written before the peer left counts
        for part in bytes.as_ref().chunks(64 << 10) {
            self.stream.write_all(part)?;
            self.sent += part.len() as u64;
        }
        Ok(())
    }

    /// Writes an answer as it should be.
    pub(super) fn whole(&mut self, status: &str, headers: &str, body: &[u8]) -> io::Result<Then> {
        self.send(page::whole(status, headers, body))?;
        Ok(Then::Keep)
    }

    /// Writes the same bytes again and again, until the peer leaves.
    pub(super) fn repeat(&mut self, bytes: &[u8], times: u64) -> io::Result<Then> {
        for _ in 0..times {
            if self.shared.stopped.load(Ordering::Relaxed) {
                break;
            }
            self.send(bytes)?;
        }
        Ok(Then::Close)
    }

    /// The same without end.
    pub(super) fn endlessly(&mut self, bytes: &[u8]) -> io::Result<Then> {
        self.repeat(bytes, u64::MAX)
    }

    /// The same, slowly.
    pub(super) fn drip(&mut self, bytes: &[u8]) -> io::Result<Then> {
        while !self.shared.stopped.load(Ordering::Relaxed) {
            self.send(bytes)?;
            std::thread::sleep(4 * TICK);
        }
        Ok(Then::Close)
    }

    /// Writes nothing more, until the peer leaves.
    pub(super) fn stall(&mut self) -> io::Result<Then> {
        read_head(self.stream, self.shared)?;
        Ok(Then::Close)
    }

    /// Ends the connection by a reset rather than by a close.
    pub(super) fn reset(&mut self) -> io::Result<Then> {
        // a linger of zero makes the close a reset; the option is the socket's, not the handle's
        tokio::net::TcpSocket::from_std_stream(self.stream.try_clone()?).set_zero_linger()?;
        Ok(Then::Close)
    }
}

/// Gives what was written time to arrive.
pub(super) fn settle() {
    std::thread::sleep(2 * TICK);
}
