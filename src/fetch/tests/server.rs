//! Servers that say what a test wants them to say.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_resolver::config::ResolverConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::fetch::name_servers::{DnsServers, servers_at};

/// What a server does once it has read a request's head.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Send(Vec<u8>),
    /// The same bytes again and again, until the other side closes.
    SendForever(&'static [u8]),
    Wait(Duration),
    /// Neither answers nor closes.
    Hang,
    /// Closes with a reset.
    Reset,
    /// Reads the next request on the same connection and starts over.
    Again,
}

pub(super) fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

/// A whole answer with its length.
pub(super) fn answer(headers: &str, body: &[u8]) -> Step {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    Step::Send([head.as_bytes(), body].concat())
}

/// A server on loopback that plays the same script on every connection.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl Server {
    pub(super) async fn start(script: Vec<Step>) -> Server {
        Server::start_at("127.0.0.1:0", script).await
    }

    pub(super) async fn start_at(address: &str, script: Vec<Step>) -> Server {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let server = Server {
            address: listener.local_addr().expect("an address"),
            requests: Arc::default(),
            connections: Arc::default(),
            closed: Arc::default(),
        };
        let handle = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                handle.connections.fetch_add(1, Ordering::SeqCst);
                let (handle, script) = (handle.clone(), script.clone());
                tokio::spawn(async move {
                    handle.play(stream, script).await;
                    handle.closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The heads of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no test panicked").clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until a connection is closed by the other side.
    pub(super) async fn wait_for_close(&self) {
        while self.closed.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn play(&self, mut stream: TcpStream, script: Vec<Step>) {
        'request: loop {
            let Some(head) = read_head(&mut stream).await else {
                return;
            };
            self.requests.lock().expect("no test panicked").push(head);
            for step in &script {
                match step {
                    Step::Send(bytes) => {
                        if stream.write_all(bytes).await.is_err() {
                            return;
                        }
                    }
                    Step::SendForever(bytes) => while stream.write_all(bytes).await.is_ok() {},
                    Step::Wait(time) => tokio::time::sleep(*time).await,
                    Step::Hang => {
                        let _ = stream.read(&mut [0; 16]).await;
                    }
                    Step::Reset => {
                        let _ = stream.set_zero_linger();
                        return;
                    }
                    Step::Again => continue 'request,
                }
            }
            return;
        }
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// No server at all: every look-up fails at once.
pub(super) fn no_dns() -> ResolverConfig {
    ResolverConfig::from_parts(None, Vec::new(), Vec::new())
}

/// A DNS server on loopback that gives these addresses for every name, or says that there is none.
pub(super) async fn dns(addresses: Vec<[u8; 4]>) -> (DnsServers, Arc<AtomicUsize>) {
    dns_in_turn(vec![addresses]).await
}

/// The same with other addresses for each question after the first; the last ones stay. The
/// questions for IPv4 are counted, those for IPv6 not: no name has any.
pub(super) async fn dns_in_turn(turns: Vec<Vec<[u8; 4]>>) -> (DnsServers, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let address = socket.local_addr().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        let mut query = [0; 1024];
        while let Ok((length, from)) = socket.recv_from(&mut query).await {
            let turn = if is_ipv4(&query[..length]) {
                count.fetch_add(1, Ordering::SeqCst)
            } else {
                count.load(Ordering::SeqCst)
            };
            let addresses = &turns[turn.min(turns.len() - 1)];
            let _ = socket.send_to(&dns_answer(&query[..length], addresses), from).await;
        }
    });
    (servers_at(&[address]), asked)
}

fn end_of_name(query: &[u8]) -> usize {
    12 + query[12..].iter().position(|byte| *byte == 0).unwrap_or(0)
}

fn is_ipv4(query: &[u8]) -> bool {
    query[end_of_name(query) + 2] == 1
}

/// RFC 1035 section 4: the question again, with an answer of type A per address.
fn dns_answer(query: &[u8], addresses: &[[u8; 4]]) -> Vec<u8> {
    let name_end = end_of_name(query);
    let given = if is_ipv4(query) { addresses } else { &[] };
    let code = if addresses.is_empty() { 3 } else { 0 };
    let mut answer = query[..2].to_vec();
    answer.extend_from_slice(&[0x81, 0x80 | code, 0, 1, 0, given.len() as u8, 0, 0, 0, 0]);
    answer.extend_from_slice(&query[12..name_end + 5]);
    for address in given {
        answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4]);
        answer.extend_from_slice(address);
    }
    answer
}
