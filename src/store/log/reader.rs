//! Reading a log after a crash.

use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::MAX_RECORD;
use super::frame::{
    Checksums, HEAD_BYTES, Kind, MARK_BYTES, PLAIN_LENGTH_BYTES, PREAMBLE_BYTES, mark_word, parse_mark,
    parse_word,
};
use crate::store::window::Window;
use crate::store::{FileKind, HEADER_BYTES, StateError, Storage, check_header};

/// Room for a record that is kept for the next one; more is given back.
const KEPT_ROOM: usize = 1 << 20;

/// Frames up to this length are looked at in the window whole.
const KEPT_AT_HAND: usize = 16 * 1024;

/// A record as it was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// Where its frame begins in the log.
    pub offset: u64,
    /// What it says.
    pub payload: &'a [u8],
}

/// How a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEnd {
    /// Bytes of the log that count.
    pub offset: u64,
    /// What is wrong with what follows, where something does: a torn tail.
    pub torn: Option<&'static str>,
}

/// Gives the records of a log, one after the other.
///
/// Holds 64 KiB and the largest record, twice where it is compressed. What a length says is not
/// believed before the checksum has been read through.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    window: Window,
    checksums: Checksums,
    /// Where the next frame begins.
    position: u64,
    /// How far the marks cover that were seen.
    covered: u64,
    body: Vec<u8>,
    payload: Vec<u8>,
    end: Option<LogEnd>,
}

/// A frame whose checksum is right.
struct Frame {
    kind: Kind,
    length: usize,
}

/// What is wrong with a frame, or why that cannot be said.
enum Bad {
    Frame(&'static str),
    Error(StateError),
}

impl From<StateError> for Bad {
    fn from(error: StateError) -> Self {
        Bad::Error(error)
    }
}

impl LogReader {
    /// Opens a log.
    ///
    /// # Errors
    /// [`StateError::Damaged`] where it is missing or has no whole beginning: only a log that was
    /// made and synced is ever asked for. [`StateError::Newer`], [`StateError::Older`], [`StateError::Io`].
    pub fn open(storage: &dyn Storage, path: &Path) -> Result<Self, StateError> {
        let file = match storage.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StateError::damaged(path, 0, "the manifest names it and it is missing"));
            }
            opened => opened.map_err(StateError::io(path))?,
        };
        let mut window = Window::new(path, file)?;
        if window.length() < PREAMBLE_BYTES as u64 {
            let problem = "it is shorter than the beginning of a log";
            return Err(StateError::damaged(path, window.length(), problem));
        }
        let mut preamble = [0; PREAMBLE_BYTES];
        window.read(0, &mut preamble)?;
        let checksums = check_preamble(path, &preamble)?;
        Ok(Self {
            path: path.to_owned(),
            window,
            checksums,
            position: PREAMBLE_BYTES as u64,
            covered: 0,
            body: Vec::new(),
            payload: Vec::new(),
            end: None,
        })
    }

    /// The next record; none at the end of the log, of which [`LogReader::end`] then tells.
    ///
    /// # Errors
    /// [`StateError::Damaged`] at a record that is bad though it was durable; [`StateError::Io`].
    pub fn next_record(&mut self) -> Result<Option<LogRecord<'_>>, StateError> {
        while self.end.is_none() {
            let offset = self.position;
            match self.read_frame(offset) {
                Ok(None) => self.end = Some(LogEnd { offset, torn: None }),
                Ok(Some(frame)) => {
                    self.position += (HEAD_BYTES + frame.length) as u64;
                    if frame.kind != Kind::Mark {
                        return Ok(Some(LogRecord { offset, payload: &self.payload }));
                    }
                }
                Err(Bad::Error(error)) => return Err(error),
                Err(Bad::Frame(problem)) => self.reject(offset, problem)?,
            }
        }
        Ok(None)
    }

    /// How the log ended, once all records were given.
    pub fn end(&self) -> Option<LogEnd> {
        self.end
    }

    /// Ends the log before the record that begins at `offset`, since it cannot be followed: its
    /// range of a sink, say, is not in the sink.
    ///
    /// # Errors
    /// [`StateError::Damaged`], naming the log, where a mark says that the record was durable;
    /// [`StateError::Io`].
    pub fn reject(&mut self, offset: u64, problem: &'static str) -> Result<(), StateError> {
        if self.is_synced(offset)? {
            return Err(StateError::damaged(&self.path, offset, problem));
        }
        self.end = Some(LogEnd { offset, torn: Some(problem) });
        Ok(())
    }

    /// Whether a mark says that what begins at `offset` was durable, sinks included. May have to
    /// read the log from there on.
    pub fn is_synced(&mut self, offset: u64) -> Result<bool, StateError> {
        if offset < self.covered {
            return Ok(true);
        }
        let word = mark_word();
        let mut from = offset;
        while let Some(bytes) = self.window.at(from, MARK_BYTES)? {
            let Some(found) = memmem::find(bytes, &word) else {
                // The word may begin in the last bytes.
                from += (bytes.len() - (word.len() - 1)) as u64;
                continue;
            };
            from += found as u64;
            if from > self.window.length().saturating_sub(MARK_BYTES as u64) {
                break;
            }
            let mut mark = [0; MARK_BYTES];
            self.window.read(from, &mut mark)?;
            if let Some(covers) = parse_mark(&self.checksums, from, &mark).filter(|covers| *covers > offset) {
                self.covered = covers;
                return Ok(true);
            }
            from += 1;
        }
        Ok(false)
    }

    /// Reads the frame at `offset` into `payload`; none where the file ends there.
    fn read_frame(&mut self, offset: u64) -> Result<Option<Frame>, Bad> {
        let left = self.window.length() - offset;
        if left == 0 {
            return Ok(None);
        }
        if left < HEAD_BYTES as u64 {
            return Err(Bad::Frame("the file ends within the head of a record"));
        }
        let mut head = [0; HEAD_BYTES];
        self.window.read(offset, &mut head)?;
        let [w0, w1, w2, w3, c0, c1, c2, c3] = head;
        let word = [w0, w1, w2, w3];
        let (kind, length) = parse_word(word).ok_or(Bad::Frame("no record begins like this"))?;
        if length as u64 > left - HEAD_BYTES as u64 {
            return Err(Bad::Frame("the file ends within a record"));
        }
        // So that a small frame which straddles the window's end is read once.
        self.window.at(offset, (HEAD_BYTES + length).min(KEPT_AT_HAND))?;
        if self.checksum(offset, word, length)? != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(Bad::Frame("the checksum of a record does not match"));
        }
        let body = offset + HEAD_BYTES as u64;
        match kind {
            Kind::Mark => {}
            Kind::Plain => fill(&mut self.window, body, length, &mut self.payload)?,
            Kind::Compressed => {
                fill(&mut self.window, body, length, &mut self.body)?;
                decompress(&self.body, &mut self.payload).map_err(Bad::Frame)?;
            }
        }
        Ok(Some(Frame { kind, length }))
    }

    /// The checksum that a frame should have, from what is in the file.
    fn checksum(&mut self, offset: u64, word: [u8; 4], length: usize) -> Result<u32, StateError> {
        let mut hasher = self.checksums.begin(offset, word);
        let (mut from, mut left) = (offset + HEAD_BYTES as u64, length);
        while left > 0 {
            let Some(bytes) = self.window.at(from, 1)? else { break };
            let taken = bytes.len().min(left);
            hasher.update(&bytes[..taken]);
            from += taken as u64;
            left -= taken;
        }
        Ok(hasher.finalize())
    }
}

fn check_preamble(path: &Path, preamble: &[u8; PREAMBLE_BYTES]) -> Result<Checksums, StateError> {
    let (rest, crc) = preamble.split_at(PREAMBLE_BYTES - 4);
    if let Some(header) = rest.first_chunk::<HEADER_BYTES>() {
        check_header(path, header, FileKind::Log)?;
    }
    if crc32fast::hash(rest).to_le_bytes() != *crc {
        let problem = "the checksum of the log's beginning does not match";
        return Err(StateError::damaged(path, HEADER_BYTES as u64, problem));
    }
    Ok(Checksums::new(&rest[HEADER_BYTES..]))
}

/// Puts bytes of the file, whose checksum was right, into `buffer`.
fn fill(window: &mut Window, offset: u64, length: usize, buffer: &mut Vec<u8>) -> Result<(), StateError> {
    resize(buffer, length);
    window.read(offset, buffer)
}

fn decompress(body: &[u8], payload: &mut Vec<u8>) -> Result<(), &'static str> {
    let problem = "a record cannot be decompressed";
    let (length, block) = body.split_first_chunk::<PLAIN_LENGTH_BYTES>().ok_or(problem)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_RECORD {
        return Err(problem);
    }
    resize(payload, length);
    match lz4_flex::block::decompress_into(block, payload) {
        Ok(written) if written == length => Ok(()),
        _ => Err(problem),
    }
}

fn resize(buffer: &mut Vec<u8>, length: usize) {
    if length < KEPT_ROOM {
        buffer.truncate(KEPT_ROOM);
        buffer.shrink_to(KEPT_ROOM);
    }
    buffer.resize(length, 0);
}
