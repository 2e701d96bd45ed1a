//! A body as a stream of decoded pieces.
//!
//! Owns the limits of one body: decoded bytes, coded bytes, time, memory. What was
//! given out before something went wrong stays good.
//!
//! A body is asked for more only under a lease of what that brings into memory:
//! what the client reads ahead, and what a decoder needs. The first bytes are
//! free, so that most pages never wait.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::FetchError;
use super::client::READ_BUFFER;
use super::decode::{Chain, DecodeError, Progress, parse_codings};
use super::error::{broken_body, too_slow};
use super::framing::{Meter, refused_coding};
use crate::budget::Lease;
use crate::model::{ErrorKind, Truncation};

/// Bytes of a piece at most.
const PIECE: usize = 64 * 1024;
/// Bytes of a decoded piece at most.
const DECODED_PIECE: usize = 16 * 1024;
/// Bytes of a body that come without a lease; its connection is reckoned with them.
const FREE: u64 = READ_BUFFER as u64;
/// What a longer body may have in memory as it came: in the client's buffer, in the channel behind
/// it, and here.
const READ_AHEAD: usize = 3 * READ_BUFFER;
/// What one decoder needs beside its window: tables, state, the last 64 KiB, its output.
const DECODER: usize = 128 << 10;

/// The most that reading a body holds in memory, in bytes, beside the windows of its decoders.
pub(super) const MOST_HELD: usize = READ_AHEAD + super::decode::MAX_LAYERS * DECODER;

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

/// What a body may cost.
pub(super) struct Limits {
    /// Decoded bytes at most.
    pub(super) bytes: u64,
    /// Time for the whole request, for messages.
    pub(super) timeout: Duration,
    /// When that is over.
    pub(super) deadline: Instant,
    /// Bytes that all windows of its decoders together may have.
    pub(super) windows: usize,
    /// What the body's memory is taken from.
    pub(super) lease: Lease,
}

/// How the body is coded.
enum Coding {
    Plain,
    Coded(Box<Chain>),
    Refused(FetchError),
}

/// A body on its way in.
pub(super) struct Body {
    /// None once nothing more is wanted from the connection.
    source: Option<Incoming>,
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
    report: BodyReport,
    /// Bytes that whoever reads the body holds because of it.
    also_held: usize,
    /// What its connection has brought.
    meter: Option<Meter>,
    limits: Limits,
}

impl Body {
    /// The body that comes from `source` behind these headers.
    pub(super) fn new(source: Incoming, headers: &HeaderMap, limits: Limits, meter: Option<Meter>) -> Body {
        Body {
            source: Some(source),
            coding: coding_of(headers, &limits),
            wire: Bytes::new(),
            wire_ended: false,
            broken: None,
            done: false,
            piece: Bytes::new(),
            buffer: Vec::new(),
            report: BodyReport {
                wire_bytes: 0,
                decoded_bytes: 0,
                truncated: None,
                mislabelled_encoding: false,
                complete: false,
            },
            also_held: 0,
            meter,
            limits,
        }
    }

    /// What became of it so far.
    pub(super) fn report(&self) -> &BodyReport {
        &self.report
    }

    /// The next piece of the decoded body, 64 KiB at most; `None` at its end or at the limit.
    ///
    /// # Errors
    /// The body broke off, took too long or cannot be decoded. What was given out before is good;
    /// nothing comes after it.
    pub(super) async fn chunk(&mut self) -> Result<Option<&[u8]>, FetchError> {
        let next = match &self.coding {
            Coding::Plain => self.plain_piece().await,
            Coding::Coded(_) => self.decoded_piece().await,
            Coding::Refused(error) => {
                let error = error.clone();
                match self.receive().await {
                    // without a body there is nothing to decode
                    Ok(false) => Ok(None),
                    Ok(true) => Err(error),
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

    async fn plain_piece(&mut self) -> Result<Option<Piece>, FetchError> {
        while self.wire.is_empty() {
            if !self.receive().await? {
                return Ok(None);
            }
        }
        let room = self.limits.bytes - self.report.decoded_bytes;
        if room == 0 {
            self.cut();
            return Ok(None);
        }
        let length = self.wire.len().min(PIECE).min(usize::try_from(room).unwrap_or(usize::MAX));
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
            self.hold_enough().await;
            match self.decode()? {
                Progress::Output(_) if self.report.decoded_bytes == self.limits.bytes => self.cut(),
                Progress::Output(length) => {
                    self.report.decoded_bytes += length as u64;
                    return Ok(Some(Piece::Decoded(length)));
                }
                Progress::Excess => self.cut(),
                Progress::NeedInput if self.report.wire_bytes > wire_limit(self.limits.bytes) => self.cut(),
                Progress::NeedInput => {
                    if let Err(error) = self.receive().await {
                        // what is held back by the decoders comes out first
                        self.broken = Some(error);
                        self.leave();
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
        let room = usize::try_from(self.limits.bytes - self.report.decoded_bytes).unwrap_or(usize::MAX);
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

    /// Covers `bytes` that whoever reads the body holds because of it, until it has gone.
    pub(super) async fn also_hold(&mut self, bytes: usize) {
        self.also_held = bytes;
        self.hold_enough().await;
    }

    /// Moves the deadline: whoever reads the body took so long itself.
    pub(super) fn excuse(&mut self, time: Duration) {
        self.limits.deadline += time;
    }

    /// Covers what the next step brings into memory. The time this takes is not the server's fault.
    async fn hold_enough(&mut self) {
        let ahead = if self.source.is_some() && self.report.wire_bytes >= FREE { READ_AHEAD } else { 0 };
        let decoders = match &self.coding {
            Coding::Coded(chain) => chain.layers() * DECODER + chain.window_bytes(DECODED_PIECE),
            Coding::Plain | Coding::Refused(_) => 0,
        };
        let bytes = self.also_held + ahead + decoders;
        if !self.limits.lease.try_hold(bytes) {
            let before = Instant::now();
            self.limits.lease.hold(bytes).await;
            self.limits.deadline += before.elapsed();
        }
    }

    /// The report, and the lease that covers what its reader holds.
    pub(super) fn finish(mut self) -> (BodyReport, Lease) {
        self.stop();
        (self.report, self.limits.lease)
    }

    /// Receives some more of the coded body; says whether there was more.
    async fn receive(&mut self) -> Result<bool, FetchError> {
        if self.report.wire_bytes >= FREE {
            self.hold_enough().await;
        }
        loop {
            let Some(source) = &mut self.source else {
                self.wire_ended = true;
                return Ok(false);
            };
            let Ok(frame) = tokio::time::timeout_at(self.limits.deadline, source.frame()).await else {
                self.report.truncated = Some(Truncation::Time);
                return Err(too_slow(self.limits.timeout));
            };
            match frame {
                None => {
                    self.leave();
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
                    if let Some(meter) = &self.meter {
                        meter.give(data.len());
                    }
                    self.wire = data;
                    return Ok(true);
                }
                Some(Err(error)) => {
                    let error = broken_body(&error);
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
        while self.source.is_some() && self.report.wire_bytes <= wire_limit(self.limits.bytes) {
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

    /// Nothing more is wanted from the connection; what else was on its way counts for nothing.
    fn leave(&mut self) {
        if let (Some(_), Some(meter)) = (self.source.take(), &self.meter) {
            meter.restart();
        }
    }

    fn stop(&mut self) {
        self.done = true;
        self.leave();
        self.wire = Bytes::new();
        self.limits.lease.shrink_to(self.also_held);
    }
}

/// What the headers say about the coding of a body.
fn coding_of(headers: &HeaderMap, limits: &Limits) -> Coding {
    if let Some(error) = refused_coding(headers) {
        return Coding::Refused(error);
    }
    if !headers.contains_key(CONTENT_ENCODING) {
        return Coding::Plain;
    }
    match parse_codings(headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes)) {
        Ok(codings) if codings.is_empty() => Coding::Plain,
        Ok(codings) => {
            Coding::Coded(Box::new(Chain::new(&codings, wire_limit(limits.bytes), limits.windows)))
        }
        Err(error) => Coding::Refused(error.into()),
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
