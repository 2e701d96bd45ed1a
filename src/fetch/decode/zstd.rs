//! Zstandard frames (RFC 8878) one after another, with windows that RFC 9659 allows.

use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::DecodeError;
use super::layer::Step;

/// RFC 9659: a window of more than 8 MiB is refused.
const MAX_WINDOW_LOG: u32 = 23;
pub(super) const MAX_WINDOW: usize = 1 << MAX_WINDOW_LOG;
/// The least that the decoder takes for a bound (its `ZSTD_WINDOWLOG_ABSOLUTEMIN`).
const LEAST_WINDOW_LOG: u32 = 10;

/// Bytes in front of a frame's first block at most: magic, descriptor, window, dictionary, size.
pub(super) const MAX_FRAME_HEADER: usize = 18;

pub(super) struct Zstd {
    decoder: Decoder<'static>,
    frames: u32,
    /// Bytes read and written since the last frame ended.
    in_frame: (usize, usize),
    ended: bool,
}

impl Zstd {
    /// A decoder for frames with windows of at most so many bytes, and of no more than RFC 9659 allows.
    pub(super) fn new(most_window: usize) -> Result<Zstd, DecodeError> {
        let damaged = |error: std::io::Error| DecodeError::damaged("zstd", error.to_string());
        let mut decoder = Decoder::new().map_err(damaged)?;
        let log = most_window.checked_ilog2().unwrap_or(0).clamp(LEAST_WINDOW_LOG, MAX_WINDOW_LOG);
        decoder.set_parameter(DParameter::WindowLogMax(log)).map_err(damaged)?;
        Ok(Zstd { decoder, frames: 0, in_frame: (0, 0), ended: false })
    }

    /// Whether the stream may end here: after a whole frame, or a stray byte or two after one.
    pub(super) fn is_complete(&self) -> bool {
        self.ended || self.frames > 0 && self.in_frame.0 < 4
    }

    /// Whether everything that follows would be ignored.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Frames read to their end.
    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    pub(super) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, DecodeError> {
        if self.ended {
            return Ok(Step { consumed: input.len(), produced: 0 });
        }
        match self.decoder.run_on_buffers(input, output) {
            Ok(status) => {
                self.in_frame.0 = self.in_frame.0.saturating_add(status.bytes_read);
                self.in_frame.1 = self.in_frame.1.saturating_add(status.bytes_written);
                if status.remaining == 0 && self.in_frame.0 > 0 {
                    self.frames = self.frames.saturating_add(1);
                    self.in_frame = (0, 0);
                }
                Ok(Step { consumed: status.bytes_read, produced: status.bytes_written })
            }
            // what follows the last frame is no frame: junk, to be ignored
            Err(_) if self.frames > 0 && self.in_frame.1 == 0 && self.in_frame.0 < MAX_FRAME_HEADER => {
                self.ended = true;
                Ok(Step { consumed: input.len(), produced: 0 })
            }
            Err(error) => Err(DecodeError::damaged("zstd", error.to_string())),
        }
    }
}

/// Whether `head` begins like a frame (RFC 8878 section 3.1), as far as it goes.
pub(super) fn begins_frame(head: &[u8]) -> bool {
    let data = [0x28, 0xb5, 0x2f, 0xfd];
    let skippable = [0x2a, 0x4d, 0x18];
    let begins = |magic: &[u8], head: &[u8]| head.iter().zip(magic).all(|(byte, expected)| byte == expected);
    begins(&data, head)
        || head.first().is_none_or(|byte| byte & 0xf0 == 0x50)
            && begins(&skippable, head.get(1..).unwrap_or(&[]))
}

/// The window that the first frame's header asks for, in bytes, 8 MiB at most (RFC 8878 section 3.1.1.1).
pub(super) fn window(head: &[u8]) -> usize {
    let asked = match head {
        [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] if descriptor & 0x20 != 0 => {
            let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
            let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
            rest.get(dictionary..dictionary + size).map(little_endian)
        }
        [0x28, 0xb5, 0x2f, 0xfd, _, window, ..] => {
            let base = 1u64 << (10 + (window >> 3));
            Some(base + base / 8 * u64::from(window & 7))
        }
        _ => None,
    };
    asked.and_then(|asked| usize::try_from(asked).ok()).unwrap_or(MAX_WINDOW).min(MAX_WINDOW)
}

fn little_endian(bytes: &[u8]) -> u64 {
    let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    if bytes.len() == 2 { value + 256 } else { value }
}
