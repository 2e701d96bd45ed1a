//! A candidate in pieces, as the memtable and the blocks keep it: it is put together only when it
//! is claimed, and copied from one to the other without that.

use std::sync::Arc;

use crate::model::{Candidate, UrlKey};
use crate::store::{CandidateKind, Decoder, Encoder, Malformed};

/// All of a candidate but its referrer, which stands elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) key: UrlKey,
    pub(super) kind: CandidateKind,
    /// The URL, in two pieces; text, but not looked at yet.
    pub(super) url: [&'a [u8]; 2],
}

/// Appends key, kind and URL of a candidate, in this order.
#[inline]
pub(super) fn encode_parts(candidate: &Candidate, bytes: &mut Vec<u8>) {
    // What key and kind take at most.
    bytes.reserve(candidate.url.len() + 32);
    let mut encoder = Encoder(bytes);
    encoder.key(candidate.key);
    CandidateKind::of(candidate, true).encode(&mut encoder);
    bytes.extend_from_slice(candidate.url.as_bytes());
}

impl<'a> Parts<'a> {
    /// What [`encode_parts`] appended, whose end is that of the bytes.
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut decoder = Decoder(bytes);
        let key = decoder.key()?;
        let kind = CandidateKind::decode(&mut decoder)?;
        Ok(Self { key, kind, url: [decoder.0, &[]] })
    }

    /// The candidate; `referrer` is the text that it may refer to.
    pub(super) fn candidate(&self, referrer: Option<Arc<str>>) -> Result<Candidate, Malformed> {
        let [begin, end] = self.url;
        let mut url = Vec::with_capacity(begin.len() + end.len());
        url.extend_from_slice(begin);
        url.extend_from_slice(end);
        let url = String::from_utf8(url).map_err(|_| Malformed)?;
        self.kind.candidate(self.key, url.into_boxed_str(), referrer)
    }

    /// About as many bytes as it takes where nothing is shared.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<UrlKey>() + size_of::<CandidateKind>() + self.url[0].len() + self.url[1].len()
    }

    /// With how many bytes both its URL and another begin.
    pub(super) fn shared_with(&self, other: &[u8]) -> usize {
        let [begin, end] = self.url;
        let shared = shared(begin, other);
        if shared < begin.len() { shared } else { shared + self::shared(end, &other[shared..]) }
    }

    /// What is left of its URL after so many bytes.
    pub(super) fn url_from(&self, place: usize) -> [&'a [u8]; 2] {
        let [begin, end] = self.url;
        let rest = |piece: &'a [u8], from: usize| piece.get(from..).unwrap_or_default();
        [rest(begin, place), rest(end, place.saturating_sub(begin.len()))]
    }
}

/// With how many bytes both begin; eight are looked at together.
fn shared(one: &[u8], other: &[u8]) -> usize {
    let mut shared = 0;
    for (one, other) in one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0) {
        let differing = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return shared + differing.trailing_zeros() as usize / 8;
        }
        shared += 8;
    }
    let same = one[shared..].iter().zip(&other[shared..]).take_while(|(one, other)| one == other);
    shared + same.count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Via;

    fn candidate(url: &str) -> Candidate {
        Candidate {
            url: url.into(),
            origin_length: 3,
            key: 7,
            depth: 300,
            via: Via::Redirect,
            hops: 2,
            carries_scope: true,
            referrer: None,
        }
    }

    proptest! {
        #[test]
        fn a_url_is_cut_where_it_ceases_to_be_another(
            one in "abc[ab]{0,40}",
            other in "abc[ab]{0,40}",
            split in 0..40_usize,
        ) {
            let candidate = candidate(&one);
            let mut bytes = Vec::new();
            encode_parts(&candidate, &mut bytes);
            let mut parts = Parts::decode(&bytes).expect("whole");
            let (begin, end) = one.as_bytes().split_at(split.min(one.len()));
            parts.url = [begin, end];
            let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
            prop_assert_eq!(parts.shared_with(other.as_bytes()), same);
            prop_assert_eq!(parts.url_from(same).concat(), &one.as_bytes()[same..]);
            prop_assert_eq!(parts.candidate(Some(Arc::from("dropped"))), Ok(candidate));
        }
    }
}
