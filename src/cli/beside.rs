//! Reads a list of seeds on a thread of its own: a pipe or a terminal may keep its reader waiting for
//! ever, and whoever waits for seeds must still hear that it is to stop.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use dragline::config::seeds;
use dragline::engine::StopHandle;

/// Bytes read at a time; two such pieces may wait.
const PIECE: usize = 64 << 10;

/// How long nobody looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Opens a list: `-` is standard input; what begins as gzip does is unpacked. Once it is to stop,
/// reading fails.
///
/// # Errors
/// Where the first bytes cannot be read.
pub(super) fn open(path: &Path, stop: &StopHandle) -> io::Result<Box<dyn BufRead>> {
    let (give, pieces) = mpsc::sync_channel(1);
    let path = path.to_owned();
    let reader = move || {
        if let Err(error) = read(&path, &give) {
            // Who has gone away needs no answer.
            let _ = give.send(Err(error));
        }
    };
    std::thread::Builder::new().name("seeds".into()).spawn(reader)?;
    seeds::unpacked(Beside { pieces, piece: Vec::new(), taken: 0, stop: stop.clone() })
}

fn read(path: &PathBuf, give: &SyncSender<io::Result<Vec<u8>>>) -> io::Result<()> {
    let mut list: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    loop {
        let mut piece = vec![0; PIECE];
        match list.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => piece.truncate(read?),
        }
        if piece.is_empty() || give.send(Ok(piece)).is_err() {
            return Ok(());
        }
    }
}

/// What the thread has read.
struct Beside {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    taken: usize,
    stop: StopHandle,
}

impl Read for Beside {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Beside {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.taken == self.piece.len() {
            if self.stop.is_requested() {
                return Err(io::Error::other("stopped"));
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => (self.piece, self.taken) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(&self.piece[self.taken..])
    }

    fn consume(&mut self, amount: usize) {
        self.taken = (self.taken + amount).min(self.piece.len());
    }
}
