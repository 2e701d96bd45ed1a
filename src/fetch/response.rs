//! An answer: its head, and its body.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use hyper_util::client::legacy::connect::HttpInfo;

use super::FetchError;
use super::body::{Body, BodyReport, Limits};
use super::framing::{Meter, is_framed_twice};
use super::idle::Kept;
use crate::budget::Lease;

/// An answer to a request.
pub struct Response {
    status: u16,
    headers: HeaderMap,
    remote: Option<SocketAddr>,
    set_new_cookie: bool,
    body: Body,
    /// Its connection counts as busy until all of it is done with.
    _kept: Option<Kept>,
}

impl Response {
    pub(super) fn new(
        mut answer: hyper::Response<Incoming>,
        set_new_cookie: bool,
        limits: Limits,
        kept: Option<Kept>,
    ) -> Response {
        let status = answer.status().as_u16();
        let remote = answer.extensions().get::<HttpInfo>().map(HttpInfo::remote_addr);
        let headers = std::mem::take(answer.headers_mut());
        let meter = answer.extensions_mut().remove::<Meter>();
        if let Some(meter) = &meter {
            meter.restart();
        }
        if let Some(kept) = kept.as_ref().filter(|_| is_framed_twice(&headers)) {
            kept.distrust(Instant::now());
        }
        let body = Body::new(answer.into_body(), &headers, limits, meter);
        Response { status, headers, remote, set_new_cookie, body, _kept: kept }
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
        self.headers.get_all(name).into_iter().map(|value| text(value.as_bytes()))
    }

    /// All headers, names in lower case, in order.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    /// The `Content-Type` header; several are one list, joined by `, ` (RFC 9110, section 5.3).
    pub fn content_type(&self) -> Option<Cow<'_, str>> {
        let values = self.headers.get_all(CONTENT_TYPE).iter().map(|value| text(value.as_bytes()));
        values.reduce(|list, value| Cow::Owned(format!("{list}, {value}")))
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
        self.body.chunk().await
    }

    /// What became of the body so far. Dropping the rest closes the connection, unless all was read.
    pub fn finish(self) -> BodyReport {
        self.body.report().clone()
    }

    /// Has the crawl's budget cover `bytes` that the caller holds because of this body, waiting for
    /// room; what is covered stays so until the response, or the lease of
    /// [`Response::finish_holding`], is dropped.
    pub async fn also_hold(&mut self, bytes: usize) {
        self.body.also_hold(bytes).await;
    }

    /// Lets the time for the whole request run longer: so much of it was the caller's own doing.
    pub fn excuse(&mut self, time: std::time::Duration) {
        self.body.excuse(time);
    }

    /// As [`Response::finish`], with the lease of what [`Response::also_hold`] covered.
    pub fn finish_holding(self) -> (BodyReport, Lease) {
        self.body.finish()
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("Response");
        debug
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("report", self.body.report());
        debug.finish_non_exhaustive()
    }
}

/// A header's value as text: UTF-8 where it is that, else Latin-1 (as the Fetch standard's isomorphic decode).
pub(super) fn text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(value.iter().copied().map(char::from).collect()),
    }
}
