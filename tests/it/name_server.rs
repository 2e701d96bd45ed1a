//! A name server on loopback that answers as a test says, and keeps a log of what it was asked.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A question: a name in lower case, without the root's dot, and whether it is for IPv6 (AAAA).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) name: String,
    pub(crate) ipv6: bool,
}

/// What a question gets.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These addresses, of the family that was asked for.
    Addresses(Vec<IpAddr>),
    /// The same over TCP; over UDP that they are too long for it (TC).
    TooLong(Vec<IpAddr>),
    /// There is no such name (NXDOMAIN), for so many seconds.
    NoSuchName(u32),
    /// The server failed (SERVFAIL).
    Failure,
    /// Nothing, for ever.
    Silence,
}

/// A running name server; it stops when dropped.
pub(crate) struct NameServer {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Question>>>,
    over_tcp: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
}

type Replies = dyn Fn(&Question, usize) -> Reply + Send + Sync;

impl NameServer {
    /// Answers by `reply`, which is told how often the same question was asked before. Each reply
    /// may take its time: others do not wait for it.
    pub(crate) fn start(reply: impl Fn(&Question, usize) -> Reply + Send + Sync + 'static) -> NameServer {
        let (socket, listener) = bind();
        let socket = Arc::new(socket);
        let address = socket.local_addr().unwrap();
        let (log, stopped) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let over_tcp = Arc::new(AtomicUsize::new(0));
        let server = NameServer {
            address,
            log: Arc::clone(&log),
            over_tcp: Arc::clone(&over_tcp),
            stopped: Arc::clone(&stopped),
        };
        let reply: Arc<Replies> = Arc::new(reply);
        serve_tcp(listener, Arc::clone(&reply), over_tcp, Arc::clone(&stopped));
        std::thread::spawn(move || {
            let mut query = [0; 1024];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut query) else { continue };
                let query = query[..length].to_vec();
                let question = question(&query);
                let before = {
                    let mut log = log.lock().unwrap();
                    log.push(question.clone());
                    log.iter().filter(|other| **other == question).count() - 1
                };
                let (socket, reply) = (Arc::clone(&socket), Arc::clone(&reply));
                std::thread::spawn(move || {
                    if let Some(bytes) = encode(&query, &question, &reply(&question, before), false) {
                        let _gone = socket.send_to(&bytes, from);
                    }
                });
            }
        });
        server
    }

    /// `address:port`, for `--dns`.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    /// How many questions came over TCP.
    pub(crate) fn over_tcp(&self) -> usize {
        self.over_tcp.load(Ordering::Relaxed)
    }

    /// All questions over UDP so far, in order.
    pub(crate) fn log(&self) -> Vec<Question> {
        self.log.lock().unwrap().clone()
    }

    /// How often a name was asked for, by family: IPv4, IPv6.
    pub(crate) fn asked(&self, name: &str) -> (usize, usize) {
        let log = self.log();
        let count = |ipv6| log.iter().filter(|asked| asked.name == name && asked.ipv6 == ipv6).count();
        (count(false), count(true))
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// The same port for UDP and TCP.
fn bind() -> (UdpSocket, TcpListener) {
    loop {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        if let Ok(listener) = TcpListener::bind(socket.local_addr().unwrap()) {
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            listener.set_nonblocking(true).unwrap();
            return (socket, listener);
        }
    }
}

fn serve_tcp(listener: TcpListener, reply: Arc<Replies>, asked: Arc<AtomicUsize>, stopped: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            let (reply, asked) = (Arc::clone(&reply), Arc::clone(&asked));
            std::thread::spawn(move || answer_over(stream, &*reply, &asked));
        }
    });
}

/// RFC 1035 section 4.2.2: each message has its length before it. None where the other end has gone.
fn answer_over(mut stream: TcpStream, reply: &Replies, asked: &AtomicUsize) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length).ok()?;
        let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut query).ok()?;
        let question = question(&query);
        let before = asked.fetch_add(1, Ordering::Relaxed);
        if let Some(bytes) = encode(&query, &question, &reply(&question, before), true) {
            stream.write_all(&(bytes.len() as u16).to_be_bytes()).ok()?;
            stream.write_all(&bytes).ok()?;
        }
    }
}

/// Where the question's name ends: at its zero byte.
fn name_end(query: &[u8]) -> usize {
    12 + query[12..].iter().position(|byte| *byte == 0).unwrap()
}

fn question(query: &[u8]) -> Question {
    let end = name_end(query);
    let (mut labels, mut at) = (Vec::new(), 12);
    while query[at] != 0 {
        let length = usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..=at + length]).to_lowercase());
        at += 1 + length;
    }
    Question { name: labels.join("."), ipv6: query[end + 2] == 28 }
}

/// RFC 1035 section 4: the question again, and what was found; RFC 2308 section 3: how long a
/// refusal holds stands in a record SOA.
fn encode(query: &[u8], question: &Question, reply: &Reply, over_tcp: bool) -> Option<Vec<u8>> {
    const TRUNCATED: u8 = 2;
    let too_long = matches!(reply, Reply::TooLong(_)) && !over_tcp;
    let flags = if too_long { 0x81 | TRUNCATED } else { 0x81 };
    let (code, addresses, refused): (u8, &[IpAddr], Option<u32>) = match reply {
        Reply::TooLong(_) if too_long => (0, &[], None),
        Reply::Addresses(addresses) | Reply::TooLong(addresses) => (0, addresses, None),
        Reply::NoSuchName(seconds) => (3, &[], Some(*seconds)),
        Reply::Failure => (2, &[], None),
        Reply::Silence => return None,
    };
    let fitting: Vec<&IpAddr> =
        addresses.iter().filter(|address| address.is_ipv6() == question.ipv6).collect();
    let mut bytes = query[..2].to_vec();
    bytes.extend_from_slice(&[flags, 0x80 | code, 0, 1, 0, fitting.len() as u8]);
    bytes.extend_from_slice(&[0, u8::from(refused.is_some()), 0, 0]);
    bytes.extend_from_slice(&query[12..name_end(query) + 5]);
    for address in fitting {
        let octets = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let kind = if question.ipv6 { 28 } else { 1 };
        bytes.extend_from_slice(&[0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, octets.len() as u8]);
        bytes.extend_from_slice(&octets);
    }
    if let Some(seconds) = refused {
        // of the root: names "." for server and mailbox, then serial, refresh, retry, expire, minimum
        bytes.extend_from_slice(&[0, 0, 6, 0, 1]);
        bytes.extend_from_slice(&seconds.to_be_bytes());
        bytes.extend_from_slice(&[0, 22, 0, 0]);
        for number in [1, 60, 60, 60, seconds] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
    }
    Some(bytes)
}
