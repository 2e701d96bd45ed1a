//! What a server may answer, and how a body may go wrong on its way.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

/// How the body travels.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// With its true `Content-Length`.
    Whole,
    /// In chunks of one byte.
    ByteByByte,
    /// Declared longer than it is; the connection is closed at its end.
    Short,
    /// Declared longer than it is; the connection is reset in its midst.
    Reset,
    /// Followed by filler up to a declared gibibyte.
    Gibibyte,
    /// Followed by filler up to this many declared bytes.
    Filled(usize),
    /// In chunks of some bytes with a pause after each.
    Drip(usize, Duration),
    /// No head, no framing: these bytes, then the end.
    Raw,
    /// No answer, the connection held open.
    Never,
    /// No answer, the connection closed.
    Close,
}

/// One scripted answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Vec<u8>,
    pub(crate) body: Body,
    pub(crate) pause: Duration,
}

impl Answer {
    /// A status with an empty body.
    pub(crate) fn status(status: u16) -> Answer {
        Answer { status, headers: Vec::new(), content: Vec::new(), body: Body::Whole, pause: Duration::ZERO }
    }

    /// A page of HTML.
    pub(crate) fn html(content: impl Into<Vec<u8>>) -> Answer {
        Answer::status(200).header("Content-Type", "text/html; charset=utf-8").content(content)
    }

    /// A robots.txt.
    pub(crate) fn text(content: impl Into<Vec<u8>>) -> Answer {
        Answer::status(200).header("Content-Type", "text/plain").content(content)
    }

    /// A redirect.
    pub(crate) fn redirect(status: u16, location: &str) -> Answer {
        Answer::status(status).header("Location", location)
    }

    /// Bytes that need not be HTTP.
    pub(crate) fn raw(content: impl Into<Vec<u8>>) -> Answer {
        Answer::status(0).content(content).body(Body::Raw)
    }

    /// One more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The body's bytes, as they travel.
    pub(crate) fn content(mut self, content: impl Into<Vec<u8>>) -> Answer {
        self.content = content.into();
        self
    }

    /// How they travel.
    pub(crate) fn body(mut self, body: Body) -> Answer {
        self.body = body;
        self
    }

    /// A pause before the answer begins.
    pub(crate) fn after(mut self, pause: Duration) -> Answer {
        self.pause = pause;
        self
    }
}

/// A page that links to each of `links`.
pub(crate) fn page<Link: AsRef<str>>(links: &[Link]) -> Answer {
    let mut html = String::from("<!doctype html><title>t</title>");
    for link in links {
        let _infallible = write!(html, "<a href=\"{}\">x</a>", link.as_ref());
    }
    Answer::html(html)
}

/// Codes with gzip.
pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Codes with deflate in its zlib wrapping, as RFC 9110 section 8.4.1.2 wants it.
pub(crate) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Codes with zstd.
pub(crate) fn zstd(content: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(content, 1).unwrap()
}

/// Codes with brotli, in uncompressed meta-blocks (RFC 7932 section 9.2), which need no encoder.
pub(crate) fn brotli_stored(content: &[u8]) -> Vec<u8> {
    let mut coded = Vec::with_capacity(content.len() + 64);
    for (index, block) in content.chunks(1 << 16).enumerate() {
        // ISLAST = 0, MNIBBLES = 0 (four), MLEN - 1 in sixteen bits, ISUNCOMPRESSED = 1
        let header = ((block.len() as u32 - 1) << 3) | (1 << 19);
        // the stream opens with WBITS = 0: a window of 16 bits
        let header = if index == 0 { header << 1 } else { header };
        coded.extend_from_slice(&header.to_le_bytes()[..3]);
        coded.extend_from_slice(block);
    }
    // ISLAST = 1, ISLASTEMPTY = 1
    coded.push(if content.is_empty() { 0b110 } else { 0b11 });
    coded
}
