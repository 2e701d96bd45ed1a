//! What a manifest says of one key, and whether all that it names is as it was written, without taking the
//! whole set up. Only reads.

use super::doubts::Doubts;
use super::durable::decode_counters;
use super::runs::DiskKeys;
use super::shelf::{Place, RestoreError};
use crate::model::{Candidate, UrlKey};
use crate::store::Decoder;

/// What was known of a key when a manifest was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glimpse {
    /// It was new once: it got its place in the frontier, unless a cap refused it.
    pub accepted: bool,
    /// A doubt with this key was pending, under this number.
    pub doubt: Option<(u64, Candidate)>,
}

impl Glimpse {
    /// Looks a key up in the files that the state of a visited set names. Reads a few blocks of each
    /// run of keys, and the keys of the doubts.
    ///
    /// # Errors
    /// A file is missing or damaged, or the state makes no sense.
    pub fn of(key: UrlKey, place: &Place, state: &[u8]) -> Result<Self, RestoreError> {
        let mut decoder = Decoder(state);
        decode_counters(&mut decoder)?;
        let accepted = DiskKeys::holds(place.clone(), &mut decoder, key)?;
        let doubt = Doubts::restore(place.clone(), 0, &mut decoder)?.find(key)?;
        Ok(Self { accepted, doubt })
    }
}

/// Reads and checks all files that the state of a visited set names.
///
/// # Errors
/// A file is missing or damaged, or the state makes no sense.
pub fn verify_state(place: &Place, state: &[u8]) -> Result<(), RestoreError> {
    let mut decoder = Decoder(state);
    decode_counters(&mut decoder)?;
    DiskKeys::verify(place.clone(), &mut decoder)?;
    Doubts::restore(place.clone(), 0, &mut decoder)?.verify()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{candidate, little_memory};
    use super::super::{Answer, Sizing, Visited, VisitedSettings};
    use super::*;
    use crate::config::{Dedup, FilterKind};
    use crate::store::Encoder;

    #[test]
    fn keys_and_doubts_are_found_and_others_not() {
        let directory = tempfile::tempdir().expect("a folder");
        let settings = little_memory(directory.path());
        // a poor filter and no table: many doubts
        let sizing = Sizing::from_bits_per_url(FilterKind::Blocked, 4000, 2.0).expect("a size");
        let set = VisitedSettings { dedup: Dedup::TwoStage, sizing, table_bytes: 0 };
        let mut visited = Visited::create(&set, &settings).expect("created");
        let (mut answers, mut new, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
        let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for key in (1..4000).map(key) {
            visited.ask(&[key], &mut answers).expect("asked");
            match answers[0] {
                Answer::New => new.push(key),
                Answer::Doubt => doubts.push((visited.doubt(&candidate(key)).expect("kept"), key)),
                Answer::Repeat => {}
            }
        }
        assert!(new.len() > 100 && doubts.len() > 100, "{} {}", new.len(), doubts.len());
        visited.prepare_checkpoint().expect("prepared");
        let mut state = Vec::new();
        visited.encode_state(&mut Encoder(&mut state));
        let glimpse = |key| Glimpse::of(key, &settings.place, &state).expect("readable");
        for key in new {
            assert_eq!(glimpse(key), Glimpse { accepted: true, doubt: None });
        }
        for (number, key) in doubts {
            assert_eq!(glimpse(key), Glimpse { accepted: false, doubt: Some((number, candidate(key))) });
        }
        for key in [0, 1, key(4000), u64::MAX] {
            assert_eq!(glimpse(key), Glimpse { accepted: false, doubt: None });
        }
    }
}
