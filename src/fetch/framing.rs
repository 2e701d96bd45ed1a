//! How answers are framed: what a connection brings beside bodies, and what of that is refused.
//!
//! A [`Meter`] on each connection counts what is read and what was given out as body. Where the
//! difference passes a bound, reading fails: endless interim answers, chunk sizes of a million
//! zeros, and whatever else keeps a connection busy without bringing anything. It must not know
//! what an answer says; whoever reads answers tells it when a head or the end of a body came.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};

use super::FetchError;
use crate::model::ErrorKind;

/// Bytes that may be read beside bodies from one head to the next: half of it for framing, half for
/// what was read ahead of whoever reads the body (over HTTP/2 a window of 256 KiB).
const MOST_FRAMING: u64 = 512 << 10;
/// Bytes that may be read for each byte of body: six where a server makes a chunk of every byte.
const MOST_PER_BYTE: u64 = 8;
/// Bytes of the beginning of an answer that are kept, for saying why it could not be read.
const BEGINNING: usize = 1024;
/// The longest body that the client can count: two values above it stand for other things.
const LONGEST_BODY: u64 = u64::MAX - 2;

/// What was read from one connection. Clones share everything.
#[derive(Clone, Default)]
pub(super) struct Meter(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Bytes read since the last head, or the last end of a body.
    read: AtomicU64,
    /// Bytes of body given out since then.
    given: AtomicU64,
    /// The first bytes read since then.
    beginning: Mutex<Vec<u8>>,
}

impl Meter {
    /// Takes note of bytes that were read.
    ///
    /// # Errors
    /// They are too many for what they brought.
    pub(super) fn take(&self, bytes: &[u8]) -> io::Result<()> {
        let before = self.0.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if before < BEGINNING as u64 {
            let mut beginning = self.0.beginning.lock().unwrap_or_else(PoisonError::into_inner);
            let room = BEGINNING.saturating_sub(beginning.len());
            beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let given = self.0.given.load(Ordering::Relaxed);
        if before + bytes.len() as u64 <= MOST_FRAMING.saturating_add(given.saturating_mul(MOST_PER_BYTE)) {
            return Ok(());
        }
        let words = "more framing than content";
        Err(io::Error::other(FetchError::new(ErrorKind::Protocol, true, words)))
    }

    /// Bytes of a body were given out.
    pub(super) fn give(&self, bytes: usize) {
        self.0.given.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A head, or the end of a body, has come: the count begins anew.
    pub(super) fn restart(&self) {
        self.0.read.store(0, Ordering::Relaxed);
        self.0.given.store(0, Ordering::Relaxed);
        self.0.beginning.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether the answer that is being read names a longer body than can be counted.
    pub(super) fn length_overflows(&self) -> bool {
        names_overflowing_length(&self.0.beginning.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a head, or its beginning, has a `Content-Length` past what can be counted.
fn names_overflowing_length(head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).take_while(|line| !line.is_empty());
    let values = lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let named = line[..colon].trim_ascii().eq_ignore_ascii_case(CONTENT_LENGTH.as_str().as_bytes());
        named.then(|| line[colon + 1..].trim_ascii())
    });
    values.flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii).any(|value| {
        let text = std::str::from_utf8(value).unwrap_or_default();
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits && text.parse::<u64>().map_or(true, |length| length > LONGEST_BODY)
    })
}

/// Why a body behind these headers cannot be read as it was transferred. Nobody asks for transfer
/// codings here, so the only one there may be is `chunked`, once (RFC 9112 section 6.1).
pub(super) fn refused_coding(headers: &HeaderMap) -> Option<FetchError> {
    if !headers.contains_key(TRANSFER_ENCODING) {
        return None;
    }
    let all = headers.get_all(TRANSFER_ENCODING);
    let values = all.iter().map(HeaderValue::as_bytes).flat_map(|value| value.split(|byte| *byte == b','));
    // `identity` was once a name for none (RFC 2616 section 3.6)
    let codings = values
        .map(<[u8]>::trim_ascii)
        .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
    let (mut chunked, mut other) = (0, None);
    for coding in codings {
        if coding.eq_ignore_ascii_case(b"chunked") {
            chunked += 1;
        } else {
            other = other.or(Some(coding));
        }
    }
    let words = match other {
        Some(coding) => {
            let coding = String::from_utf8_lossy(coding);
            format!("transfer coding {coding:?}, which was not asked for")
        }
        None if chunked > 1 => format!("transfer coding \"chunked\" {chunked} times over"),
        None => return None,
    };
    Some(FetchError::new(ErrorKind::Protocol, true, words))
}

/// Whether a head says twice how long its body is, once by `Content-Length` and once by
/// `Transfer-Encoding`: someone on the way may have read it otherwise (RFC 9112 section 6.3).
pub(super) fn is_framed_twice(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn codings(values: &[&'static str]) -> Option<String> {
        let pairs = values.iter().map(|value| (TRANSFER_ENCODING, HeaderValue::from_static(value)));
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        refused_coding(&headers).map(|error| error.detail)
    }

    #[test]
    fn chunked_once_is_read_and_all_else_is_refused() {
        for fine in
            [&[][..], &["chunked"], &["Chunked "], &["identity"], &["identity, chunked"], &[", chunked"]]
        {
            assert_eq!(codings(fine), None, "{fine:?}");
        }
        let twice = codings(&["chunked, chunked"]).expect("refused");
        assert!(twice.contains("2 times"), "{twice}");
        assert_eq!(codings(&["chunked", "chunked"]), Some(twice));
        for other in [&["gzip, chunked"][..], &["gzip", "chunked"], &["chunked, gzip"], &["x\"y"]] {
            let words = codings(other).expect("refused");
            assert!(words.contains("not asked for"), "{other:?}: {words}");
        }
    }

    #[test]
    fn what_no_body_can_have_is_told_from_what_one_may() {
        for (value, overflows) in [
            ("18446744073709551613", false),
            ("18446744073709551614", true),
            ("18446744073709551615", true),
            ("18446744073709551616", true),
            ("5, 99999999999999999999999", true),
            ("-1", false),
            ("5", false),
            ("", false),
        ] {
            let head = format!("HTTP/1.1 200 OK\r\nX: 1\r\ncontent-LENGTH : {value}\r\n\r\n");
            assert_eq!(names_overflowing_length(head.as_bytes()), overflows, "{value}");
        }
        assert!(!names_overflowing_length(
            b"HTTP/1.1 200 OK\r\n\r\nContent-Length: 18446744073709551615\r\n"
        ));
        assert!(!names_overflowing_length(b""));
    }

    #[test]
    fn content_buys_room_for_framing_until_the_next_head() {
        let meter = Meter::default();
        let piece = vec![b'0'; 64 << 10];
        let mut read = 0;
        let mut take = |meter: &Meter| {
            read += piece.len() as u64;
            (meter.take(&piece).is_ok(), read)
        };
        while take(&meter).0 {}
        let (_, so_far) = take(&meter);
        assert!((MOST_FRAMING..MOST_FRAMING + (256 << 10)).contains(&so_far), "{so_far}");
        meter.give(1 << 20);
        assert!(take(&meter).0, "a body may have framing of its own");
        meter.restart();
        assert!(take(&meter).0);
        assert_eq!(meter.0.given.load(Ordering::Relaxed), 0);
        assert_eq!(meter.0.beginning.lock().expect("no test panicked").len(), BEGINNING);
    }
}
