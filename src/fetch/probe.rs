//! What reads the heads of answers, without a connection around it: for fuzzing.

use std::borrow::Cow;

use hyper::header::{HeaderMap, HeaderValue, TRANSFER_ENCODING};

use super::FetchError;
use super::cookies::CookieJar;
use super::framing::{Meter, refused_coding};
use super::response::text;

/// A cookie jar whose answers are given by the caller.
pub struct Jar(CookieJar);

impl Jar {
    /// A jar for so many bytes of cookies.
    pub fn new(bytes: usize) -> Self {
        Self(CookieJar::new(bytes))
    }

    /// Takes in the values of `Set-Cookie` headers.
    pub fn store<'a>(&self, url: &::url::Url, values: impl Iterator<Item = &'a [u8]>) {
        self.0.store(url, values);
    }

    /// The `Cookie` header of a request.
    pub fn header(&self, url: &::url::Url) -> Option<String> {
        self.0.header(url, &[])
    }
}

/// Whether the beginning of an answer, read in these pieces, names a longer body than can be counted.
pub fn length_overflows<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> bool {
    let meter = Meter::default();
    // past the bound of framing what was read before is still there
    pieces.for_each(|piece| drop(meter.take(piece)));
    meter.length_overflows()
}

/// Why a body is refused behind these `Transfer-Encoding` headers; what is no header's value is
/// left out.
pub fn refused_transfer_coding(values: &[&[u8]]) -> Option<FetchError> {
    let values = values.iter().filter_map(|value| HeaderValue::from_bytes(value).ok());
    let headers: HeaderMap = values.map(|value| (TRANSFER_ENCODING, value)).collect();
    refused_coding(&headers)
}

/// A header's value as text.
pub fn header_text(value: &[u8]) -> Cow<'_, str> {
    text(value)
}
