//! Trial of a coding that has no mark at its beginning: brotli, and deflate as servers send it.
//!
//! Servers label plain text as coded often enough. The first output is held
//! back until so much has been decoded that chance is ruled out; where the trial
//! fails, what was read is handed on as it came.

use super::layer::{Engine, Step};

/// Decoded bytes that settle the question.
const ENOUGH_OUTPUT: usize = 1024;

/// Coded bytes that settle it, where they give so little.
const ENOUGH_INPUT: usize = 4096;

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
    pub(super) fn new(engine: Engine) -> Box<Probe> {
        Box::new(Probe {
            engine,
            read: Vec::new(),
            output: Vec::new(),
        })
    }

    /// Tries some more input; gives the verdict and how much of `input` was used.
    /// `last`: no more will come.
    pub(super) fn run(mut self: Box<Self>, input: &[u8], last: bool) -> (Verdict, usize) {
        let mut used = 0;
        loop {
            let room = ENOUGH_INPUT - self.read.len();
            let part = &input[used..input.len().min(used + room)];
            let mut buffer = [0; ENOUGH_OUTPUT];
            let Ok(Step { consumed, produced }) = self.engine.run(part, &mut buffer) else {
                self.read.extend_from_slice(part);
                return (Verdict::Plain(self.read), used + part.len());
            };
            self.read.extend_from_slice(&part[..consumed]);
            self.output.extend_from_slice(&buffer[..produced]);
            used += consumed;
            let enough = self.output.len() >= ENOUGH_OUTPUT || self.read.len() >= ENOUGH_INPUT;
            if enough || self.engine.is_ended() {
                return (Verdict::Coded(self.engine, self.output), used);
            }
            if consumed == 0 && produced == 0 {
                return if last {
                    (self.at_the_end(), used)
                } else {
                    (Verdict::Open(self), used)
                };
            }
        }
    }

    /// The input is over, the coded stream is not: text that was never coded, or a stream cut short?
    fn at_the_end(self: Box<Self>) -> Verdict {
        let plain = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
        let is_text = self.read.iter().all(plain) && std::str::from_utf8(&self.read).is_ok();
        if self.output.is_empty() && is_text {
            Verdict::Plain(self.read)
        } else {
            Verdict::Coded(self.engine, self.output)
        }
    }
}
