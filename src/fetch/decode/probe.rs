//! Trial of a coding that has no mark at its beginning: brotli, and deflate as servers send it.
//!
//! Servers label plain text as coded often enough. The first output is held
//! back until so much has been decoded that chance is ruled out; where the trial
//! fails, what was read is handed on as it came.

use super::layer::{Engine, Step};

/// Coded and decoded bytes that together settle the question.
const ENOUGH: (usize, usize) = (64, 1024);

/// Coded bytes that settle it alone, and decoded ones.
const MOST_INPUT: usize = 4096;
const MOST_OUTPUT: usize = 32 * 1024;

/// How a trial stands.
pub(super) enum Verdict {
    /// More input is needed.
    Open(Box<Probe>),
    /// It is what it was said to be; so much was decoded already.
    Coded(Engine, Vec<u8>),
    /// It is not; this is what was read.
    Plain(Vec<u8>),
}

/// A decoder on trial.
pub(super) struct Probe {
    engine: Engine,
    read: Vec<u8>,
    output: Vec<u8>,
}

impl Probe {
    pub(super) fn new(engine: Engine) -> Probe {
        Probe { engine, read: Vec::new(), output: Vec::new() }
    }

    /// Tries some more input; gives the verdict and how much of `input` was used.
    /// `last`: no more will come.
    pub(super) fn run(mut self: Box<Self>, input: &[u8], last: bool) -> (Verdict, usize) {
        let mut used = 0;
        loop {
            let room = MOST_INPUT - self.read.len();
            let part = &input[used..input.len().min(used + room)];
            let mut buffer = [0; ENOUGH.1];
            let Ok(Step { consumed, produced }) = self.engine.run(part, &mut buffer) else {
                self.read.extend_from_slice(part);
                return (Verdict::Plain(self.read), used + part.len());
            };
            self.read.extend_from_slice(&part[..consumed]);
            self.output.extend_from_slice(&buffer[..produced]);
            used += consumed;
            let stuck = consumed == 0 && produced == 0;
            if self.is_settled() || last && stuck {
                return (self.judge(), used);
            }
            if stuck {
                return (Verdict::Open(self), used);
            }
        }
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
    fn judge(self) -> Verdict {
        let gibberish = !is_text(&self.output) || self.output.is_empty() && !self.engine.is_ended();
        if gibberish && is_text(&self.read) {
            Verdict::Plain(self.read)
        } else {
            Verdict::Coded(self.engine, self.output)
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
