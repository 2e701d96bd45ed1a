//! One coding of a chain: finds out from the first bytes whether the data are
//! coded as the header says, then decodes, or lets them through as they are.

use flate2::{Decompress, FlushDecompress, Status};

use super::brotli::Brotli;
use super::gzip::Gzip;
use super::probe::{Probe, Verdict};
use super::zstd::Zstd;
use super::{Coding, DecodeError};

/// What one call did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Bytes of input that are done with.
    pub(super) consumed: usize,
    /// Bytes of output.
    pub(super) produced: usize,
}

/// The decoder of one coding.
pub(super) enum Engine {
    Gzip(Box<Gzip>),
    /// Bare deflate or zlib; whether its end was reached.
    Inflate(Decompress, bool),
    Brotli(Brotli),
    Zstd(Zstd),
}

impl Engine {
    pub(super) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, DecodeError> {
        match self {
            Engine::Gzip(gzip) => gzip.run(input, output),
            Engine::Inflate(_, true) => Ok(Step { consumed: input.len(), produced: 0 }),
            Engine::Inflate(inflate, ended) => {
                let (read, written) = (inflate.total_in(), inflate.total_out());
                let status = inflate
                    .decompress(input, output, FlushDecompress::None)
                    .map_err(|error| DecodeError::damaged("deflate", error.to_string()))?;
                *ended = status == Status::StreamEnd;
                let consumed = (inflate.total_in() - read) as usize;
                Ok(Step { consumed, produced: (inflate.total_out() - written) as usize })
            }
            Engine::Brotli(brotli) => brotli.run(input, output),
            Engine::Zstd(zstd) => zstd.run(input, output),
        }
    }

    /// Whether everything that follows would be ignored.
    pub(super) fn is_ended(&self) -> bool {
        match self {
            Engine::Gzip(gzip) => gzip.is_ended(),
            Engine::Inflate(_, ended) => *ended,
            Engine::Brotli(brotli) => brotli.is_ended(),
            Engine::Zstd(zstd) => zstd.is_ended(),
        }
    }

    /// Whether the input may end here.
    fn is_complete(&self) -> bool {
        match self {
            Engine::Gzip(gzip) => gzip.is_complete(),
            Engine::Zstd(zstd) => zstd.is_complete(),
            other => other.is_ended(),
        }
    }
}

enum State {
    /// Too few bytes are there to tell.
    Start,
    Trial(Box<Probe>),
    Coded(Engine),
    Plain,
}

/// One coding of a chain.
pub(super) struct Layer {
    coding: Coding,
    state: State,
    /// Input taken in but not yet decoded, and how much of it is done with.
    pending: (Vec<u8>, usize),
    /// Output of the trial not yet given out, and how much of it is.
    ready: (Vec<u8>, usize),
    window: usize,
    most_window: usize,
    mislabelled: bool,
    produced: u64,
}

impl Layer {
    /// `most_window`: bytes that a decoder's window may have.
    pub(super) fn new(coding: Coding, most_window: usize) -> Layer {
        Layer {
            coding,
            state: State::Start,
            pending: (Vec::new(), 0),
            ready: (Vec::new(), 0),
            window: 0,
            most_window,
            mislabelled: false,
            produced: 0,
        }
    }

    /// Whether the data turned out not to be coded as the header says.
    pub(super) fn mislabelled(&self) -> bool {
        self.mislabelled
    }

    /// Bytes given out so far.
    pub(super) fn produced(&self) -> u64 {
        self.produced
    }

    /// Bytes of window that the decoder may hold beyond the few dozen KiB that every one needs.
    pub(super) fn window(&self) -> usize {
        match &self.state {
            // frames after the first have windows of their own
            State::Coded(Engine::Zstd(zstd)) if zstd.frames() > 0 => {
                super::zstd::MAX_WINDOW.min(self.most_window)
            }
            State::Plain => 0,
            _ => self.window,
        }
    }

    /// Whether everything that follows would be ignored.
    pub(super) fn is_ended(&self) -> bool {
        let all_out = self.ready.1 == self.ready.0.len();
        all_out && matches!(&self.state, State::Coded(engine) if engine.is_ended())
    }

    /// Whether a coded stream was read to an end.
    pub(super) fn is_complete(&self) -> bool {
        let all_out = self.ready.1 == self.ready.0.len() && self.pending.1 == self.pending.0.len();
        all_out && matches!(&self.state, State::Coded(engine) if engine.is_complete())
    }

    /// Decodes some of `input`; `last`: no more will come after it.
    /// Nothing produced and nothing consumed means that more input is needed or all is done.
    pub(super) fn decode(
        &mut self,
        input: &[u8],
        last: bool,
        output: &mut [u8],
    ) -> Result<Step, DecodeError> {
        let mut consumed = 0;
        if matches!(self.state, State::Start) {
            consumed = self.look(input, last)?;
        }
        if matches!(self.state, State::Start) {
            return Ok(Step { consumed, produced: 0 });
        }
        loop {
            let produced = self.drain_ready(output);
            if produced > 0 {
                return Ok(Step { consumed, produced });
            }
            if self.pending.1 < self.pending.0.len() {
                let pending = std::mem::take(&mut self.pending);
                let only = last && consumed == input.len();
                let step = self.run(&pending.0[pending.1..], only, output)?;
                self.merge_pending(pending, step.consumed);
                if step.produced > 0 {
                    return Ok(Step { consumed, produced: step.produced });
                }
                if step.consumed > 0 || self.ready.1 < self.ready.0.len() {
                    continue;
                }
                return Ok(Step { consumed, produced: 0 });
            }
            let step = self.run(&input[consumed..], last, output)?;
            consumed += step.consumed;
            let more_inside = self.pending.1 < self.pending.0.len() || self.ready.1 < self.ready.0.len();
            if step.produced > 0 || !more_inside {
                return Ok(Step { consumed, produced: step.produced });
            }
        }
    }

    /// Called when all input was decoded.
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        match &self.state {
            State::Coded(engine) if !engine.is_complete() => Err(DecodeError::Incomplete),
            State::Trial(_) => Err(DecodeError::Incomplete),
            _ => Ok(()),
        }
    }

    fn drain_ready(&mut self, output: &mut [u8]) -> usize {
        let (ready, at) = &mut self.ready;
        let length = output.len().min(ready.len() - *at);
        output[..length].copy_from_slice(&ready[*at..*at + length]);
        *at += length;
        self.produced += length as u64;
        if length > 0 && *at == ready.len() {
            self.ready = (Vec::new(), 0);
        }
        length
    }

    /// What a trial hands back comes before the rest of what was pending.
    fn merge_pending(&mut self, (mut old, at): (Vec<u8>, usize), consumed: usize) {
        let at = at + consumed;
        if self.pending.0.is_empty() {
            self.pending = if at == old.len() { (Vec::new(), 0) } else { (old, at) };
        } else {
            self.pending.0.extend(old.drain(at..));
        }
    }

    fn run(&mut self, input: &[u8], last: bool, output: &mut [u8]) -> Result<Step, DecodeError> {
        let step = match &mut self.state {
            State::Start => Step { consumed: 0, produced: 0 },
            State::Coded(engine) => engine.run(input, output)?,
            State::Plain => {
                let length = input.len().min(output.len());
                output[..length].copy_from_slice(&input[..length]);
                Step { consumed: length, produced: length }
            }
            State::Trial(_) => Step { consumed: self.try_some(input, last), produced: 0 },
        };
        self.produced += step.produced as u64;
        Ok(step)
    }

    /// Goes on with the trial; gives the bytes of `input` used.
    fn try_some(&mut self, input: &[u8], last: bool) -> usize {
        let State::Trial(probe) = std::mem::replace(&mut self.state, State::Plain) else {
            return 0;
        };
        let (verdict, used) = probe.run(input, last);
        match verdict {
            Verdict::Open(probe) => self.state = State::Trial(probe),
            Verdict::Coded(engine, output, rest) => {
                self.state = State::Coded(engine);
                self.ready = (output, 0);
                self.pending = (rest, 0);
            }
            Verdict::Plain(read) => {
                self.mislabelled = true;
                self.pending = (read, 0);
            }
        }
        used
    }

    /// Takes in the first bytes and, once they are enough, decides what they are.
    fn look(&mut self, input: &[u8], last: bool) -> Result<usize, DecodeError> {
        let enough = match self.coding {
            Coding::Gzip => 3,
            Coding::Deflate => 2,
            Coding::Brotli => 1,
            Coding::Zstd => super::zstd::MAX_FRAME_HEADER,
        };
        let head = &mut self.pending.0;
        let used = input.len().min(enough - head.len());
        head.extend_from_slice(&input[..used]);
        // an empty body stays what it is, whatever its label says
        if head.is_empty() || head.len() < enough && !(last && used == input.len()) {
            return Ok(used);
        }
        let engine = self.choose()?;
        self.state = match engine {
            None => {
                self.mislabelled = true;
                State::Plain
            }
            Some(engine @ (Engine::Gzip(_) | Engine::Zstd(_))) => State::Coded(engine),
            Some(engine) => State::Trial(Box::new(Probe::new(engine))),
        };
        Ok(used)
    }

    /// `window`, if the memory for it can be had.
    fn allowed(&self, coding: &'static str, window: usize) -> Result<usize, DecodeError> {
        if window <= self.most_window {
            return Ok(window);
        }
        Err(DecodeError::Window { coding, window, most: self.most_window })
    }

    /// The decoder for data that begin with `pending`; none where they are not coded as said.
    fn choose(&mut self) -> Result<Option<Engine>, DecodeError> {
        let head = self.pending.0.as_slice();
        let is_gzip = [0x1f, 0x8b, 8].iter().zip(head).all(|(expected, byte)| expected == byte);
        Ok(match self.coding {
            Coding::Gzip | Coding::Deflate if is_gzip => Some(Engine::Gzip(Box::new(Gzip::new()))),
            Coding::Gzip if is_zlib(head) => Some(Engine::Inflate(Decompress::new(true), false)),
            Coding::Deflate => Some(Engine::Inflate(Decompress::new(is_zlib(head)), false)),
            Coding::Brotli => {
                self.window = self.allowed("brotli", super::brotli::window(head))?;
                Some(Engine::Brotli(Brotli::new()))
            }
            Coding::Zstd if super::zstd::begins_frame(head) => {
                self.window = self.allowed("zstd", super::zstd::window(head))?;
                Some(Engine::Zstd(Zstd::new(self.most_window)?))
            }
            Coding::Gzip | Coding::Zstd => None,
        })
    }
}

/// RFC 1950 section 2.2: method deflate, window of 32 KiB at most, check bits; no preset dictionary.
fn is_zlib(head: &[u8]) -> bool {
    match head {
        [method, flags, ..] => {
            method & 0x0f == 8
                && method >> 4 <= 7
                && flags & 0x20 == 0
                && u16::from_be_bytes([*method, *flags]) % 31 == 0
        }
        _ => false,
    }
}
