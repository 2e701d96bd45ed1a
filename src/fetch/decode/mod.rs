//! Content codings (RFC 9110 section 8.4) undone as a stream: gzip, deflate,
//! brotli and zstd, alone or in layers.
//!
//! Owns the chain of decoders and its memory: every call produces at most as
//! much as its output buffer holds, so a bomb is met one piece at a time and
//! the caller counts. Knows nothing of HTTP beyond the header's value.

mod brotli;
mod chain;
mod gzip;
mod layer;
mod probe;
mod zstd;

#[cfg(test)]
mod tests;

pub use chain::{Chain, Progress};

/// Codings applied one over another at most.
pub const MAX_LAYERS: usize = 3;

/// A coding that we can undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// RFC 1952; `x-gzip` is the same.
    Gzip,
    /// RFC 1950, and by wide practice bare RFC 1951.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878, windows of 8 MiB at most (RFC 9659).
    Zstd,
}

/// What keeps a body from being decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// `Content-Encoding` names a coding that nobody offered.
    #[error("unknown content coding {0}")]
    UnknownCoding(String),
    /// More than [`MAX_LAYERS`] codings.
    #[error("more than {MAX_LAYERS} content codings")]
    TooManyLayers,
    /// The coded data are damaged.
    #[error("damaged {coding} data: {reason}")]
    Damaged {
        /// The coding.
        coding: &'static str,
        /// What the decoder found.
        reason: String,
    },
    /// The data ask for a window that the budget does not hold.
    #[error("{coding} with a window of {window} bytes, where --memory leaves {most}")]
    Window {
        /// The coding.
        coding: &'static str,
        /// The window asked for, in bytes.
        window: usize,
        /// The largest allowed, in bytes.
        most: usize,
    },
    /// The coded data end before their own end.
    #[error("coded body ends early")]
    Incomplete,
}

impl DecodeError {
    fn damaged(coding: &'static str, reason: impl Into<String>) -> DecodeError {
        DecodeError::Damaged { coding, reason: reason.into() }
    }
}

/// The codings of a body in the order in which they were applied, from the
/// values of its `Content-Encoding` headers. `identity` and empty members count for nothing.
///
/// # Errors
/// An unknown coding, or more than [`MAX_LAYERS`].
pub fn parse_codings<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Coding>, DecodeError> {
    let mut codings = Vec::new();
    for name in values.into_iter().flat_map(|value| value.split(|byte| *byte == b',')) {
        let coding = match name.trim_ascii() {
            b"" => continue,
            name if name.eq_ignore_ascii_case(b"identity") => continue,
            name if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") => {
                Coding::Gzip
            }
            name if name.eq_ignore_ascii_case(b"deflate") => Coding::Deflate,
            name if name.eq_ignore_ascii_case(b"br") => Coding::Brotli,
            name if name.eq_ignore_ascii_case(b"zstd") => Coding::Zstd,
            name => return Err(DecodeError::UnknownCoding(printable(name))),
        };
        if codings.len() == MAX_LAYERS {
            return Err(DecodeError::TooManyLayers);
        }
        codings.push(coding);
    }
    Ok(codings)
}

/// The beginning of a name from outside, fit to be shown.
fn printable(name: &[u8]) -> String {
    name.iter().take(32).flat_map(|byte| byte.escape_ascii()).map(char::from).collect()
}
