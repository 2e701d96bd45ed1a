//! Trial of a coding that has no mark at its beginning: brotli, and deflate as servers send it.
//!
//! Servers label plain text as coded often enough. The first output is held
//! back until so much has been decoded that chance is ruled out; where the trial
//! fails, what was read is handed on as it came.

use super::DecodeError;
use super::layer::{Engine, Step};

/// Coded and decoded bytes that together settle the question.
const ENOUGH: (usize, usize) = (64, 1024);

/// Coded bytes that settle it alone, and decoded ones.
const MOST_INPUT: usize = 4096;
const MOST_OUTPUT: usize = 32 * 1024;

/// Bytes that are tried at a time, wherever the network cut them: what a trial comes to must not
/// depend on that. They divide [`MOST_INPUT`].
const BLOCK: usize = 64;

/// How a trial stands.
pub(super) enum Verdict {
    /// More input is needed.
    Open(Box<Probe>),
    /// It is what it was said to be; so much was decoded already, and this was read and not decoded.
    Coded(Engine, Vec<u8>, Vec<u8>),
    /// It is not; this is what was read.
    Plain(Vec<u8>),
}

/// A decoder on trial.
pub(super) struct Probe {
    engine: Engine,
    read: Vec<u8>,
    /// Bytes of `read` that the engine has taken.
    tried: usize,
    output: Vec<u8>,
}

impl Probe {
    pub(super) fn new(engine: Engine) -> Probe {
        Probe { engine, read: Vec::new(), tried: 0, output: Vec::new() }
    }

    /// Tries some more input; gives the verdict and how much of `input` was used.
    /// `last`: no more will come.
    pub(super) fn run(mut self: Box<Self>, input: &[u8], last: bool) -> (Verdict, usize) {
        let mut used = 0;
        loop {
            let wanted = BLOCK - self.read.len() % BLOCK;
            let part = &input[used..input.len().min(used + wanted)];
            self.read.extend_from_slice(part);
            used += part.len();
            let is_all = last && used == input.len();
            if part.len() < wanted && !is_all {
                return (Verdict::Open(self), used);
            }
            if self.try_block().is_err() {
                return (Verdict::Plain(self.read), used);
            }
            if self.is_settled() || is_all {
                return (self.judge(), used);
            }
        }
    }

    /// Has the engine take what was read, as far as that is worth it.
    fn try_block(&mut self) -> Result<(), DecodeError> {
        let mut buffer = [0; ENOUGH.1];
        while self.output.len() < MOST_OUTPUT && !self.engine.is_ended() {
            let Step { consumed, produced } = self.engine.run(&self.read[self.tried..], &mut buffer)?;
            self.tried += consumed;
            self.output.extend_from_slice(&buffer[..produced]);
            if consumed == 0 && produced == 0 {
                break;
            }
        }
        Ok(())
    }

    fn is_settled(&self) -> bool {
        let (read, decoded) = (self.read.len(), self.output.len());
        read >= ENOUGH.0 && decoded >= ENOUGH.1
            || read >= MOST_INPUT
            || decoded >= MOST_OUTPUT
            || self.engine.is_ended()
    }

    /// No fault was found; but a few words of text may pass for a coded stream by chance,
    /// and then give gibberish or nothing. Coded streams do not look like text.
    fn judge(mut self) -> Verdict {
        let gibberish = !is_text(&self.output) || self.output.is_empty() && !self.engine.is_ended();
        if gibberish && is_text(&self.read) {
            Verdict::Plain(self.read)
        } else {
            // what follows the end is ignored
            let rest = if self.engine.is_ended() { Vec::new() } else { self.read.split_off(self.tried) };
            Verdict::Coded(self.engine, self.output, rest)
        }
    }
}

/// Whether these are characters of UTF-8 (the last may be cut off) without control characters.
fn is_text(bytes: &[u8]) -> bool {
    let utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    utf8 && bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}
