//! What a failed fetch is called: errors of the client, the connection and the
//! decoders, turned into one kind and one short sentence.
//!
//! Types decide, found by walking the chain of causes; words are for people only.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy::Error as ClientError;
use rustls::CertificateError;

use super::address::Special;
use super::decode::DecodeError;
use crate::config::ConfigError;
use crate::model::{ErrorKind, SkipReason};

/// Bytes of a detail at most.
const MAX_DETAIL: usize = 300;

/// Causes of a chain that are looked at, at most.
const MAX_CAUSES: usize = 16;

/// A fetch that failed, or a body that broke off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", kind.name())]
pub struct FetchError {
    /// The kind, for counting and for what waits.
    pub kind: ErrorKind,
    /// What a person needs to know beyond that; a few hundred bytes at most, without passwords.
    pub detail: String,
    /// Whether the server may have seen a request.
    pub requested: bool,
}

impl FetchError {
    /// An error with a detail of bounded length.
    pub fn new(kind: ErrorKind, requested: bool, detail: impl Into<String>) -> FetchError {
        let mut detail = detail.into();
        if detail.len() > MAX_DETAIL {
            let end = (0..=MAX_DETAIL).rev().find(|end| detail.is_char_boundary(*end)).unwrap_or(0);
            detail.truncate(end);
            detail.push('…');
        }
        FetchError { kind, detail, requested }
    }

    /// The reason for the skip where no request was made and none may be: a refused address.
    pub fn skip_reason(&self) -> Option<SkipReason> {
        (self.kind == ErrorKind::PrivateAddress && !self.requested).then_some(SkipReason::PrivateAddress)
    }

    pub(super) fn refused(what: &str, special: Special) -> FetchError {
        let detail = format!("{what} is a {} address; --allow-private allows it", special.name());
        FetchError::new(ErrorKind::PrivateAddress, false, detail)
    }
}

impl From<DecodeError> for FetchError {
    fn from(error: DecodeError) -> FetchError {
        let kind = match error {
            DecodeError::Incomplete => ErrorKind::Incomplete,
            _ => ErrorKind::Decode,
        };
        FetchError::new(kind, true, error.to_string())
    }
}

/// Why no [`super::Fetcher`] could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchSetupError {
    /// The file of certificate authorities could not be used.
    #[error("--ca-file {path}: {reason}")]
    CaFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting that does not hold to its grammar.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The client could not be built.
    #[error("the network client cannot be made: {0}")]
    Client(String),
}

/// What an error may be, by where it came up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    /// The URL's scheme is https.
    pub secure: bool,
    /// The request goes through a proxy.
    pub proxied: bool,
}

/// Turns an error of the client into ours: no answer came.
pub(super) fn no_answer(error: &ClientError, situation: Situation) -> FetchError {
    if let Some(own) = find::<FetchError>(error) {
        return own.clone();
    }
    let connecting = error.is_connect();
    let kind = match () {
        () if connecting => connect_kind(error, situation),
        () if find::<rustls::Error>(error).is_some() => ErrorKind::Tls,
        () if timed_out(error) => ErrorKind::Timeout,
        () => head_kind(error),
    };
    // the client's own words say nothing beyond their causes
    let detail = distrust(error).map_or_else(|| describe(error, 1), str::to_owned);
    FetchError::new(kind, !connecting, detail)
}

/// What a certificate that nobody vouches for is told as, with what can be done about it.
fn distrust(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let rustls::Error::InvalidCertificate(problem) = find::<rustls::Error>(error)? else { return None };
    match problem {
        CertificateError::UnknownIssuer => Some(UNKNOWN_ISSUER),
        // The verifier's own type is none of ours; its words are only replaced by better ones.
        CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
            Some(AUTHORITY_AS_SERVER)
        }
        _ => None,
    }
}

const UNKNOWN_ISSUER: &str = "its certificate is issued by nobody who is trusted here; \
    give the authority's certificate with --ca-file, or trust every certificate with --insecure";
const AUTHORITY_AS_SERVER: &str = "its certificate is that of an authority and not of a server, as self-made \
    ones often are; make one for a server (basicConstraints CA:FALSE), or trust every certificate with --insecure";

/// Turns an error of the connection into ours: a body broke off.
pub(super) fn broken_body(error: &hyper::Error) -> FetchError {
    if let Some(own) = find::<FetchError>(error) {
        return own.clone();
    }
    let kind = match () {
        () if find::<rustls::Error>(error).is_some() => ErrorKind::Tls,
        () if timed_out(error) => ErrorKind::Timeout,
        () => body_kind(error),
    };
    FetchError::new(kind, true, describe(error, 0))
}

/// The time of a request is up.
pub(super) fn too_slow(limit: Duration) -> FetchError {
    FetchError::new(ErrorKind::Timeout, true, format!("not done within {limit:?}"))
}

fn timed_out(error: &(dyn Error + 'static)) -> bool {
    find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}

/// No connection could be made: who is to blame?
fn connect_kind(error: &ClientError, situation: Situation) -> ErrorKind {
    // a handshake that breaks off shows as an end of file or a reset, which a mere TCP connect never gives
    let broke_off = || {
        let ends = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
        causes(error)
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|io| ends.contains(&io.kind()))
    };
    if find::<rustls::Error>(error).is_some() {
        ErrorKind::Tls
    } else if situation.proxied {
        ErrorKind::Proxy
    } else if situation.secure && broke_off() {
        ErrorKind::Tls
    } else {
        ErrorKind::Connect
    }
}

/// The connection stood, but no answer came, or none that can be read.
fn head_kind(error: &ClientError) -> ErrorKind {
    if let Some(kind) = http2_kind(error) {
        return kind;
    }
    match find::<hyper::Error>(error) {
        Some(hyper) if hyper.is_parse_too_large() => ErrorKind::HeaderTooLarge,
        Some(hyper) if hyper.is_parse() => ErrorKind::Protocol,
        Some(hyper) if hyper.is_incomplete_message() || hyper.is_closed() || hyper.is_canceled() => {
            ErrorKind::Disconnected
        }
        _ if find::<io::Error>(error).is_some() => ErrorKind::Disconnected,
        Some(_) => ErrorKind::Protocol,
        None => ErrorKind::Other,
    }
}

/// The body broke off, or its framing is wrong.
fn body_kind(error: &hyper::Error) -> ErrorKind {
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other) => {
            ErrorKind::Protocol
        }
        _ => ErrorKind::Incomplete,
    }
}

/// Streams that the other side ends may go better next time; frames that we cannot read will not.
fn http2_kind(error: &ClientError) -> Option<ErrorKind> {
    let http2 = find::<h2::Error>(error)?;
    Some(if http2.is_io() || http2.is_remote() { ErrorKind::Disconnected } else { ErrorKind::Protocol })
}

/// The first cause of type `T`, inside `io::Error`s as well.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    causes(error).find_map(|cause| cause.downcast_ref::<T>())
}

/// The chain of causes. `io::Error::source` skips the error it wraps, so that is visited by hand.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause| cause_of(*cause)).take(MAX_CAUSES)
}

fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    }
}

/// Layers of the client that say no more than that there is something below them.
const WRAPPERS: [&str; 3] = ["client error (", "tcp connect error", "error sending request"];

/// The error and its causes in words, but for the outermost ones.
fn describe(error: &(dyn Error + 'static), outermost: usize) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for cause in causes(error).skip(outermost) {
        let words = cause.to_string();
        let wraps = cause_of(cause).is_some() && WRAPPERS.iter().any(|wrapper| words.starts_with(wrapper));
        // wrappers often repeat what they wrap
        if wraps || words.is_empty() || last.contains(&words) {
            continue;
        }
        let separator = if text.is_empty() { "" } else { ": " };
        let _ = write!(text, "{separator}{words}");
        last = words;
        if text.len() > MAX_DETAIL {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_cut_at_a_character() {
        let error = FetchError::new(ErrorKind::Other, true, "é".repeat(1000));
        assert!(error.detail.len() <= MAX_DETAIL + '…'.len_utf8());
        assert!(error.detail.starts_with('é'));
    }

    #[test]
    fn a_cause_inside_an_io_error_is_found() {
        let inner = FetchError::new(ErrorKind::Dns, false, "no such host");
        let error = io::Error::other(io::Error::other(inner.clone()));
        assert_eq!(find::<FetchError>(&error), Some(&inner));
    }

    #[test]
    fn a_cause_is_told_once_and_without_its_wrapping() {
        #[derive(Debug, thiserror::Error)]
        #[error("{0}")]
        struct Layer(&'static str, #[source] Option<Box<dyn Error + Send + Sync>>);
        let chain = |layers: &[&'static str]| {
            let wrap = |below: Option<Box<dyn Error + Send + Sync>>, words: &&'static str| {
                Some(Box::new(Layer(words, below)) as Box<dyn Error + Send + Sync>)
            };
            let chain = layers.iter().rev().fold(None, wrap);
            describe(chain.expect("a layer").as_ref(), 1)
        };
        assert_eq!(chain(&["top", "client error (Connect)", "tcp connect error", "refused"]), "refused");
        assert_eq!(chain(&["top", "proxy said no: 403", "403"]), "proxy said no: 403");
        assert_eq!(chain(&["top", "client error (Connect)"]), "client error (Connect)");
    }

    #[test]
    fn only_a_refusal_before_any_request_is_a_skip() {
        let refused = FetchError::refused("10.0.0.1", Special::Private);
        assert_eq!(refused.skip_reason(), Some(SkipReason::PrivateAddress));
        assert_eq!(FetchError { requested: true, ..refused }.skip_reason(), None);
    }
}
