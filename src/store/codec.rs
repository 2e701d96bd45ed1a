//! Numbers, text and candidates as bytes.
//!
//! Whole numbers are LEB128 (seven bits a byte, the lowest first, as in DWARF 5 section 7.6);
//! text is its length and its bytes. What is decoded has passed a checksum; all the same nothing
//! here trusts it: a length is held against what is left before anything is allocated.

use std::sync::Arc;

use crate::model::{Candidate, UrlKey, Via};

/// Bytes that do not say what they should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a value is malformed")]
pub struct Malformed;

/// Nothing is counted so far.
const MOST_COUNTED: u64 = 10_000_000_000_000_000;

/// Steps from a seed and redirects in a row that no candidate has.
const MOST_STEPS: u32 = 1_000_000_000;

/// Appends values to a buffer.
#[derive(Debug)]
pub struct Encoder<'a>(pub &'a mut Vec<u8>);

impl Encoder<'_> {
    /// A whole number.
    #[inline]
    pub fn number(&mut self, mut number: u64) {
        // Most are small.
        if number < 0x80 {
            return self.0.push(number as u8);
        }
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A key: 8 bytes, little endian.
    #[inline]
    pub fn key(&mut self, key: u64) {
        self.0.extend_from_slice(&key.to_le_bytes());
    }

    /// A byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Bytes, with their number before them.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Text.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

/// Takes values from the front of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Decoder<'a>(pub &'a [u8]);

impl<'a> Decoder<'a> {
    /// A whole number.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Malformed> {
        // Most are small.
        match self.0 {
            [byte @ 0..0x80, rest @ ..] => {
                self.0 = rest;
                Ok(u64::from(*byte))
            }
            [low, high @ 0..0x80, rest @ ..] => {
                self.0 = rest;
                Ok(u64::from(*low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_number(),
        }
    }

    #[cold]
    fn long_number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    /// A number that is counted on from. To 10^16 nobody counts: a number from there on is refused, so
    /// that what is added to one, and the sum of a few, is in range.
    #[inline]
    pub fn count(&mut self) -> Result<u64, Malformed> {
        self.number().and_then(|count| if count < MOST_COUNTED { Ok(count) } else { Err(Malformed) })
    }

    /// A whole number that fits the narrower type.
    #[inline]
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.number()?).map_err(|_| Malformed)
    }

    /// A key.
    #[inline]
    pub fn key(&mut self) -> Result<u64, Malformed> {
        let (key, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*key))
    }

    /// A byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (byte, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*byte)
    }

    /// Bytes, with their number before them.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Text.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// In the first byte of a candidate, beside the way it was found.
const CARRIES_SCOPE: u8 = 0x10;
const HAS_REFERRER: u8 = 0x20;
/// The referrer is that of the candidate before.
const SAME_REFERRER: u8 = 0x40;

/// What a candidate is beside its key, its URL and the text of its referrer. Candidates that follow
/// one another mostly have it in common, so it is good to have it in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateKind {
    first: u8,
    depth: u32,
    hops: u32,
    origin_length: u16,
}

impl CandidateKind {
    /// That of a candidate; `same_referrer` says that its referrer need not stand beside it.
    #[inline]
    pub fn of(candidate: &Candidate, same_referrer: bool) -> Self {
        let via = candidate.via as u8;
        let flag = |flag, holds| if holds { flag } else { 0 };
        let first = via
            | flag(CARRIES_SCOPE, candidate.carries_scope)
            | flag(HAS_REFERRER, candidate.referrer.is_some())
            | flag(SAME_REFERRER, same_referrer && candidate.referrer.is_some());
        let Candidate { depth, hops, origin_length, .. } = *candidate;
        Self { first, depth, hops, origin_length }
    }

    /// Appends it: flags, depth, redirects and length of the origin.
    #[inline]
    pub fn encode(self, encoder: &mut Encoder<'_>) {
        encoder.byte(self.first);
        self.encode_numbers(encoder);
    }

    fn encode_numbers(self, encoder: &mut Encoder<'_>) {
        encoder.number(u64::from(self.depth));
        encoder.number(u64::from(self.hops));
        encoder.number(u64::from(self.origin_length));
    }

    /// Takes what [`encode`](Self::encode) appended.
    ///
    /// # Errors
    /// [`Malformed`] where the numbers are not in their range.
    #[inline]
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let first = decoder.byte()?;
        Self::decode_numbers(first, decoder)
    }

    #[inline]
    fn decode_numbers(first: u8, decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        // Most are small.
        if let [depth @ 0..0x80, hops @ 0..0x80, origin @ 0..0x80, rest @ ..] = decoder.0 {
            decoder.0 = rest;
            let (depth, hops, origin_length) = ((*depth).into(), (*hops).into(), (*origin).into());
            return Ok(Self { first, depth, hops, origin_length });
        }
        let (depth, hops) = (decoder.small()?, decoder.small()?);
        if depth >= MOST_STEPS || hops >= MOST_STEPS {
            return Err(Malformed);
        }
        Ok(Self { first, depth, hops, origin_length: decoder.small()? })
    }

    /// Whether the candidate has a referrer.
    pub fn has_referrer(self) -> bool {
        self.first & HAS_REFERRER != 0
    }

    /// Puts the candidate together again; of one without a referrer the one given is dropped.
    ///
    /// # Errors
    /// [`Malformed`] where the origin does not end within the URL, or the referrer is missing.
    #[inline]
    pub fn candidate(
        self,
        key: UrlKey,
        url: Box<str>,
        referrer: Option<Arc<str>>,
    ) -> Result<Candidate, Malformed> {
        let via = *Via::ALL.get(usize::from(self.first & 0x0f)).ok_or(Malformed)?;
        if !url.is_char_boundary(usize::from(self.origin_length)) {
            return Err(Malformed);
        }
        let referrer = referrer.filter(|_| self.has_referrer());
        if self.has_referrer() && referrer.is_none() {
            return Err(Malformed);
        }
        Ok(Candidate {
            url,
            origin_length: self.origin_length,
            key,
            depth: self.depth,
            via,
            hops: self.hops,
            carries_scope: self.first & CARRIES_SCOPE != 0,
            referrer,
        })
    }
}

/// Appends a candidate. The links of one page follow one another and share their referrer:
/// where it is the one of the candidate `before` it is not written again.
pub fn encode_candidate(candidate: &Candidate, before: Option<&Arc<str>>, buffer: &mut Vec<u8>) {
    encode(candidate, Some(candidate.key), before, buffer);
}

/// As [`encode_candidate`], without the key: a hash among text is a burden to compression.
pub fn encode_candidate_without_key(candidate: &Candidate, before: Option<&Arc<str>>, buffer: &mut Vec<u8>) {
    encode(candidate, None, before, buffer);
}

#[inline]
fn encode(candidate: &Candidate, key: Option<UrlKey>, before: Option<&Arc<str>>, buffer: &mut Vec<u8>) {
    let both = candidate.referrer.as_ref().zip(before);
    let same = both.is_some_and(|(one, other)| Arc::ptr_eq(one, other) || one == other);
    let kind = CandidateKind::of(candidate, same);
    let mut encoder = Encoder(buffer);
    encoder.byte(kind.first);
    if let Some(key) = key {
        encoder.key(key);
    }
    kind.encode_numbers(&mut encoder);
    encoder.text(&candidate.url);
    if let (Some(referrer), false) = (&candidate.referrer, same) {
        encoder.text(referrer);
    }
}

/// Takes a candidate; `before` is the referrer of the candidate before it, and becomes this one's.
///
/// # Errors
/// [`Malformed`] where the bytes are no candidate.
pub fn decode_candidate(
    decoder: &mut Decoder<'_>,
    before: &mut Option<Arc<str>>,
) -> Result<Candidate, Malformed> {
    decode(decoder, None, before)
}

/// Takes a candidate that was written without its key, which is this.
///
/// # Errors
/// [`Malformed`] where the bytes are no candidate.
pub fn decode_candidate_without_key(
    decoder: &mut Decoder<'_>,
    key: UrlKey,
    before: &mut Option<Arc<str>>,
) -> Result<Candidate, Malformed> {
    decode(decoder, Some(key), before)
}

#[inline]
fn decode(
    decoder: &mut Decoder<'_>,
    key: Option<UrlKey>,
    before: &mut Option<Arc<str>>,
) -> Result<Candidate, Malformed> {
    let first = decoder.byte()?;
    let key = key.map_or_else(|| decoder.key(), Ok)?;
    let kind = CandidateKind::decode_numbers(first, decoder)?;
    let url = decoder.text()?.into();
    if kind.has_referrer() && first & SAME_REFERRER == 0 {
        *before = Some(Arc::from(decoder.text()?));
    }
    let candidate = kind.candidate(key, url, before.clone())?;
    if !kind.has_referrer() {
        *before = None;
    }
    Ok(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate() -> impl Strategy<Value = Candidate> {
        let referrer = proptest::option::of(prop_oneof!["http://a/[a-c]", Just("http://same/".to_owned())]);
        (
            any::<u64>(),
            0..MOST_STEPS,
            0..MOST_STEPS,
            0..Via::ALL.len(),
            any::<bool>(),
            "[a-zé]{0,40}",
            referrer,
        )
            .prop_map(|(key, depth, hops, via, carries_scope, path, referrer)| Candidate {
                url: format!("http://h/{path}").into(),
                origin_length: 8,
                key,
                depth,
                via: Via::ALL[via],
                hops,
                carries_scope,
                referrer: referrer.map(Arc::from),
            })
    }

    proptest! {
        #[test]
        fn numbers_come_back(number: u64) {
            let mut bytes = Vec::new();
            Encoder(&mut bytes).number(number);
            let mut decoder = Decoder(&bytes);
            prop_assert_eq!(decoder.number(), Ok(number));
            prop_assert!(decoder.is_empty());
        }

        #[test]
        fn candidates_come_back(candidates in proptest::collection::vec(candidate(), 0..12)) {
            let mut bytes = Vec::new();
            let mut before = None;
            for candidate in &candidates {
                encode_candidate(candidate, before.as_ref(), &mut bytes);
                before.clone_from(&candidate.referrer);
            }
            let mut decoder = Decoder(&bytes);
            let mut before = None;
            for candidate in candidates {
                prop_assert_eq!(decode_candidate(&mut decoder, &mut before), Ok(candidate));
            }
            prop_assert!(decoder.is_empty());
        }

        #[test]
        fn candidates_come_back_without_their_keys(candidates in proptest::collection::vec(candidate(), 0..12)) {
            let mut bytes = Vec::new();
            let mut before = None;
            for candidate in &candidates {
                encode_candidate_without_key(candidate, before.as_ref(), &mut bytes);
                before.clone_from(&candidate.referrer);
            }
            let mut decoder = Decoder(&bytes);
            let mut before = None;
            for candidate in candidates {
                let decoded = decode_candidate_without_key(&mut decoder, candidate.key, &mut before);
                prop_assert_eq!(decoded, Ok(candidate));
            }
            prop_assert!(decoder.is_empty());
        }

        #[test]
        fn what_is_counted_on_from_leaves_room(count: u64, shift in 0..64) {
            let count = count >> shift;
            let mut bytes = Vec::new();
            Encoder(&mut bytes).number(count);
            let expected = if count < 10_000_000_000_000_000 { Ok(count) } else { Err(Malformed) };
            prop_assert_eq!(Decoder(&bytes).count(), expected);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode_candidate(&mut Decoder(&bytes), &mut None);
        }
    }
}
