//! A valve in front of a server: it lets so many requests through and holds back the others, so that a crawler
//! gets no further than a test wants, however fast or slow the machine is.

use crate::harness::guard;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Another address of loopback than any server of the tests has.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);

/// What is let through.
#[derive(Default)]
struct State {
    /// Requests that still may pass.
    left: u32,
    /// Connections from before the last turn of the valve are those of a process that is gone.
    turn: u64,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// A running valve, shut at first; its port is that of the server behind it.
pub(crate) struct Valve {
    address: IpAddr,
    shared: Shared,
}

impl Valve {
    /// Begins to listen before `server`.
    pub(crate) fn before(server: SocketAddr) -> Valve {
        let listener = TcpListener::bind((IpAddr::V4(ADDRESS), server.port())).unwrap();
        let shared = Shared::default();
        let address = listener.local_addr().unwrap().ip();
        let valve = Valve { address, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(pass(client, server, &shared)));
            }
        });
        valve
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Lets so many more requests through and no more; connections that stand get none of them.
    pub(crate) fn let_through(&self, requests: u32) {
        let (state, turned) = &*self.shared;
        let mut state = state.lock().unwrap();
        (state.left, state.turn) = (requests, state.turn + 1);
        turned.notify_all();
    }

    /// Whether nothing more is let through.
    pub(crate) fn is_shut(&self) -> bool {
        self.shared.0.lock().unwrap().left == 0
    }
}

/// Carries one connection. The crawler sends a request in one piece, and the next only after the answer.
fn pass(mut client: TcpStream, server: SocketAddr, shared: &Shared) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || {
        let _gone = std::io::copy(&mut answers, &mut back);
        let _gone = back.shutdown(std::net::Shutdown::Both);
    });
    let turn = shared.0.lock().unwrap().turn;
    let mut piece = vec![0; 16 << 10];
    loop {
        let read = client.read(&mut piece)?;
        if read == 0 || !may_pass(shared, turn) {
            return server.shutdown(std::net::Shutdown::Both);
        }
        server.write_all(&piece[..read])?;
    }
}

/// Waits until one more request may pass; false where the valve was turned meanwhile.
fn may_pass((state, turned): &(Mutex<State>, Condvar), turn: u64) -> bool {
    let waits = |state: &mut State| state.turn == turn && state.left == 0;
    let (mut state, _) = turned.wait_timeout_while(state.lock().unwrap(), guard(), waits).unwrap();
    let may = state.turn == turn && state.left > 0;
    state.left -= u32::from(may);
    may
}
