//! Brotli streams (RFC 7932), without the large windows that HTTP does not know.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::DecodeError;
use super::layer::Step;

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

pub(super) struct Brotli {
    state: Box<State>,
    ended: bool,
}

impl Brotli {
    pub(super) fn new() -> Brotli {
        let (bytes, words, codes) =
            (StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default());
        Brotli { state: Box::new(BrotliState::new_strict(bytes, words, codes)), ended: false }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, DecodeError> {
        if self.ended {
            return Ok(Step { consumed: input.len(), produced: 0 });
        }
        let (mut input_left, mut consumed) = (input.len(), 0);
        let (mut output_left, mut produced, mut total) = (output.len(), 0, 0);
        let result = BrotliDecompressStream(
            &mut input_left,
            &mut consumed,
            input,
            &mut output_left,
            &mut produced,
            output,
            &mut total,
            &mut self.state,
        );
        match result {
            BrotliResult::ResultFailure => {
                return Err(DecodeError::damaged("brotli", format!("{:?}", self.state.error_code)));
            }
            BrotliResult::ResultSuccess => self.ended = true,
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
        }
        Ok(Step { consumed, produced })
    }
}

/// The window that a stream's first byte asks for, in bytes (RFC 7932 section 9.1).
pub(super) fn window(head: &[u8]) -> usize {
    let Some(first) = head.first() else { return 0 };
    let bits = match (first & 1, first >> 1 & 7, first >> 4 & 7) {
        (0, _, _) => 16,
        (_, 0, 0) => 17,
        (_, 0, more) => 8 + u32::from(more),
        (_, more, _) => 17 + u32::from(more),
    };
    1 << bits
}
