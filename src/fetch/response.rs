//! An answer: its head, and its body as a stream of decoded pieces.
//!
//! Owns the limits of one body: decoded bytes, coded bytes, time. What was
//! given out before something went wrong stays good.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::FetchError;
use super::decode::{Chain, DecodeError, Progress, parse_codings};
use super::error::{Situation, classify};
use super::window::{WindowLease, WindowPool};
use crate::model::{ErrorKind, Truncation};

/// Bytes of a piece at most.
const PIECE: usize = 64 * 1024;
/// Bytes of a decoded piece at most.
const DECODED_PIECE: usize = 32 * 1024;

/// How the body is coded.
enum Coding {
    Plain,
    Coded(Box<Chain>),
    Unknown(DecodeError),
}

/// What became of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyReport {
    /// Bytes received, as coded (without the framing of the transfer).
    pub wire_bytes: u64,
    /// Bytes given out.
    pub decoded_bytes: u64,
    /// Why the body was not read to its end, where a limit or the connection was to blame.
    pub truncated: Option<Truncation>,
    /// The body was not coded as its header says, and was given out as it came.
    pub mislabelled_encoding: bool,
    /// Whether the body was read to its end.
    pub complete: bool,
}

/// An answer to a request.
pub struct Response {
    status: u16,
    headers: HeaderMap,
    remote: Option<SocketAddr>,
    set_new_cookie: bool,
    /// None once nothing more is wanted from the connection.
    body: Option<reqwest::Body>,
    coding: Coding,
    /// Received, not yet given out or decoded.
    wire: Bytes,
    wire_ended: bool,
    /// How the connection broke off, while the decoders still hold something.
    broken: Option<FetchError>,
    /// Nothing more is given out.
    done: bool,
    /// The piece given out last: a part of what was received, or a buffer.
    piece: Bytes,
    buffer: Vec<u8>,
    limit: u64,
    report: BodyReport,
    lease: WindowLease,
    windows: WindowPool,
    situation: Situation,
    deadline: Instant,
    timeout: Duration,
}

impl Response {
    pub(super) fn new(
        answer: reqwest::Response,
        limit: u64,
        set_new_cookie: bool,
        windows: WindowPool,
        situation: Situation,
        timeout: Duration,
    ) -> Response {
        let status = answer.status().as_u16();
        let remote = answer.remote_addr();
        let mut message = hyper::Response::<reqwest::Body>::from(answer);
        let headers = std::mem::take(message.headers_mut());
        let coding = coding_of(&headers, limit);
        Response {
            status,
            headers,
            remote,
            set_new_cookie,
            body: Some(message.into_body()),
            coding,
            wire: Bytes::new(),
            wire_ended: false,
            broken: None,
            done: false,
            piece: Bytes::new(),
            buffer: Vec::new(),
            limit,
            report: BodyReport {
                wire_bytes: 0,
                decoded_bytes: 0,
                truncated: None,
                mislabelled_encoding: false,
                complete: false,
            },
            lease: WindowLease::default(),
            windows,
            situation: Situation {
                in_body: true,
                ..situation
            },
            // the client began to count a little earlier; this is for waits of our own only
            deadline: Instant::now() + timeout,
            timeout,
        }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The first header of that name, as text.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.headers.get(name).map(|value| text(value.as_bytes()))
    }

    /// Every header of that name, as text.
    pub fn header_values<'a>(&'a self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        self.headers
            .get_all(name)
            .into_iter()
            .map(|value| text(value.as_bytes()))
    }

    /// All headers, names in lower case, in order.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    /// The `Content-Type` header.
    pub fn content_type(&self) -> Option<Cow<'_, str>> {
        self.headers.get(CONTENT_TYPE).map(|value| text(value.as_bytes()))
    }

    /// The `Content-Length` header: bytes of body as coded.
    pub fn content_length(&self) -> Option<u64> {
        self.headers
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.trim().parse().ok())
    }

    /// The address that answered: the server's, or the proxy's.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// Whether this answer changed the cookies that a repeat of its request would send.
    pub fn set_new_cookie(&self) -> bool {
        self.set_new_cookie
    }

    /// The next piece of the decoded body, 64 KiB at most; `None` at its end or at the limit.
    ///
    /// # Errors
    /// The body broke off, took too long or cannot be decoded. What was given out before is good;
    /// nothing comes after it.
    pub async fn chunk(&mut self) -> Result<Option<&[u8]>, FetchError> {
        let next = match &self.coding {
            Coding::Plain => self.plain_piece().await,
            Coding::Coded(_) => self.decoded_piece().await,
            Coding::Unknown(error) => {
                let error = error.clone();
                match self.receive().await {
                    // without a body there is nothing to decode
                    Ok(false) => Ok(None),
                    Ok(true) => Err(error.into()),
                    Err(error) => Err(error),
                }
            }
        };
        match next {
            Ok(Some(Piece::Received)) => Ok(Some(&self.piece)),
            Ok(Some(Piece::Decoded(length))) => Ok(Some(&self.buffer[..length])),
            Ok(None) => Ok(None),
            Err(error) => {
                self.stop();
                Err(error)
            }
        }
    }

    /// What became of the body so far. Dropping the rest closes the connection, unless all was read.
    pub fn finish(self) -> BodyReport {
        self.report
    }

    async fn plain_piece(&mut self) -> Result<Option<Piece>, FetchError> {
        while self.wire.is_empty() {
            if !self.receive().await? {
                return Ok(None);
            }
        }
        let room = self.limit - self.report.decoded_bytes;
        if room == 0 {
            self.cut();
            return Ok(None);
        }
        let length = self
            .wire
            .len()
            .min(PIECE)
            .min(usize::try_from(room).unwrap_or(usize::MAX));
        self.piece = if length == self.wire.len() {
            std::mem::take(&mut self.wire)
        } else {
            self.wire.split_to(length)
        };
        self.report.decoded_bytes += length as u64;
        Ok(Some(Piece::Received))
    }

    async fn decoded_piece(&mut self) -> Result<Option<Piece>, FetchError> {
        loop {
            if self.done {
                return Ok(None);
            }
            self.lease_window().await?;
            match self.decode()? {
                Progress::Output(_) if self.report.decoded_bytes == self.limit => self.cut(),
                Progress::Output(length) => {
                    self.report.decoded_bytes += length as u64;
                    return Ok(Some(Piece::Decoded(length)));
                }
                Progress::Excess => self.cut(),
                Progress::NeedInput if self.report.wire_bytes > wire_limit(self.limit) => self.cut(),
                Progress::NeedInput => {
                    if let Err(error) = self.receive().await {
                        // what is held back by the decoders comes out first
                        self.broken = Some(error);
                        self.body = None;
                        self.wire_ended = true;
                    }
                }
                Progress::End => match self.broken.take() {
                    Some(error) => self.forgive(error)?,
                    None => self.drain().await,
                },
            }
        }
    }

    /// Decodes into the buffer, no more than the limit leaves room for (one byte past it, to see whether there is more).
    fn decode(&mut self) -> Result<Progress, FetchError> {
        let Coding::Coded(chain) = &mut self.coding else {
            return Ok(Progress::End);
        };
        self.buffer.resize(DECODED_PIECE, 0);
        let room = usize::try_from(self.limit - self.report.decoded_bytes).unwrap_or(usize::MAX);
        let output = &mut self.buffer[..room.clamp(1, DECODED_PIECE)];
        let mut rest: &[u8] = &self.wire;
        let progress = chain.read(&mut rest, self.wire_ended, output);
        let used = self.wire.len() - rest.len();
        let _ = self.wire.split_to(used);
        self.report.mislabelled_encoding = chain.mislabelled();
        progress.map_err(|error| {
            if error == DecodeError::Incomplete {
                self.report.truncated.get_or_insert(Truncation::Disconnect);
                return self.broken.take().unwrap_or_else(|| error.into());
            }
            error.into()
        })
    }

    async fn lease_window(&mut self) -> Result<(), FetchError> {
        let Coding::Coded(chain) = &self.coding else {
            return Ok(());
        };
        let bytes = chain.window_bytes(DECODED_PIECE);
        if self.lease.try_grow(&self.windows, bytes) {
            return Ok(());
        }
        let grown = tokio::time::timeout_at(self.deadline, self.lease.grow(&self.windows, bytes)).await;
        grown.map_err(|_| {
            self.report.truncated = Some(Truncation::Time);
            let words = format!("no memory for the decoder's window within {:?}", self.timeout);
            FetchError::new(ErrorKind::Timeout, true, words)
        })
    }

    /// Receives some more of the coded body; says whether there was more.
    async fn receive(&mut self) -> Result<bool, FetchError> {
        loop {
            let Some(body) = &mut self.body else {
                self.wire_ended = true;
                return Ok(false);
            };
            match body.frame().await {
                None => {
                    self.body = None;
                    self.wire_ended = true;
                    self.report.complete |= !matches!(self.coding, Coding::Coded(_));
                    return Ok(false);
                }
                Some(Ok(frame)) => {
                    // trailers are of no use here
                    let Ok(data) = frame.into_data() else { continue };
                    if data.is_empty() {
                        continue;
                    }
                    self.report.wire_bytes += data.len() as u64;
                    self.wire = data;
                    return Ok(true);
                }
                Some(Err(error)) => {
                    let error = classify(&error, self.situation);
                    self.report.truncated = Some(match error.kind {
                        ErrorKind::Timeout => Truncation::Time,
                        _ => Truncation::Disconnect,
                    });
                    return Err(error);
                }
            }
        }
    }

    /// Servers code a body and forget to adapt its length. Where the coding itself says
    /// that nothing is missing, nothing is.
    fn forgive(&mut self, error: FetchError) -> Result<(), FetchError> {
        match &self.coding {
            Coding::Coded(chain) if chain.is_complete() => {
                self.report.truncated = None;
                self.report.complete = true;
                self.stop();
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// The decoded body is whole. What may follow on the wire is ignored, but the
    /// connection can be used again only if it is read.
    async fn drain(&mut self) {
        self.report.complete = true;
        while self.body.is_some() && self.report.wire_bytes <= wire_limit(self.limit) {
            if self.receive().await.is_err() {
                // the coding's own end says that nothing is missing
                self.report.truncated = None;
                break;
            }
        }
        self.stop();
    }

    /// The limit is reached: the rest stays unread and its connection goes.
    fn cut(&mut self) {
        self.report.truncated = Some(Truncation::Length);
        self.stop();
    }

    fn stop(&mut self) {
        self.done = true;
        self.body = None;
        self.wire = Bytes::new();
        self.lease = WindowLease::default();
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("Response");
        debug
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("report", &self.report);
        debug.finish_non_exhaustive()
    }
}

/// What the headers say about the coding of a body of `limit` bytes at most.
fn coding_of(headers: &HeaderMap, limit: u64) -> Coding {
    if !headers.contains_key(CONTENT_ENCODING) {
        return Coding::Plain;
    }
    match parse_codings(
        headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .map(HeaderValue::as_bytes),
    ) {
        Ok(codings) if codings.is_empty() => Coding::Plain,
        Ok(codings) => Coding::Coded(Box::new(Chain::new(&codings, wire_limit(limit)))),
        Err(error) => Coding::Unknown(error),
    }
}

/// Where the piece lies that is given out.
enum Piece {
    Received,
    Decoded(usize),
}

/// Bytes of coded body at most: no honest coding is longer than what it codes by more than a little.
fn wire_limit(limit: u64) -> u64 {
    limit.saturating_add(limit / 64).saturating_add(1 << 20)
}

/// A header's value as text: UTF-8 where it is that, else Latin-1 (as the Fetch standard's isomorphic decode).
fn text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(value.iter().copied().map(char::from).collect()),
    }
}
