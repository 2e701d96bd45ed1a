//! The spool against a plain list.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::super::tests::{candidate, place};
use super::*;
use crate::store::{Decoder, Encoder};

proptest! {
    #[test]
    fn what_is_pushed_is_found_by_key_and_read_by_number(
        pushes in prop::collection::vec((0..50_u64, any::<bool>()), 0..400),
        memory_bytes in prop::option::of(0..4000_u64),
        retired in 0..400_u64,
        most in 1..40_usize,
        stride in 1..9_usize,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut doubts = memory_bytes.map_or_else(Doubts::in_memory, |bytes| Doubts::on_disk(place(directory.path()), bytes));
        for (key, spill) in &pushes {
            doubts.push(&candidate(*key)).unwrap();
            if *spill {
                doubts.spill().unwrap();
            }
        }
        doubts.retire(retired).unwrap();
        let oldest = retired.min(pushes.len() as u64);
        prop_assert_eq!((doubts.oldest(), doubts.next_number()), (oldest, pushes.len() as u64));
        let pending: Vec<(u64, u64)> =
            (0..).zip(pushes.iter().map(|(key, _)| *key)).skip(oldest as usize).collect();

        // by key: each once, with its lowest number
        let mut expected = BTreeMap::new();
        for (number, key) in pending.iter().rev() {
            expected.insert(*key, *number);
        }
        doubts.rewind();
        let (mut low, mut loaded, mut all) = (0, Vec::new(), Vec::new());
        while low < 50 {
            let mut high = low + 7;
            doubts.load((low, &mut high), doubts.next_number(), most, &mut loaded).unwrap();
            prop_assert!(loaded.len() <= 2 * most);
            all.extend_from_slice(&loaded);
            low = high + 1;
        }
        // what was decided once is a repeat, and need not be told
        let decided: HashSet<u64> = pushes[..oldest as usize].iter().map(|(key, _)| *key).collect();
        all.retain(|(key, _)| !decided.contains(key));
        expected.retain(|key, _| !decided.contains(key));
        prop_assert_eq!(all, expected.into_iter().collect::<Vec<_>>());

        // by number: every so many of them
        let mut found = Found::none(oldest..doubts.next_number());
        let wanted: Vec<(u64, u64)> = pending.into_iter().step_by(stride).collect();
        for (number, _) in &wanted {
            found.insert(*number);
        }
        let (mut from, mut rescued) = (oldest, Vec::new());
        while from < found.range().end {
            (from, _) = doubts.collect(&found, from, &mut rescued).unwrap();
        }
        let expected: Vec<Rescued> =
            wanted.iter().map(|(number, key)| Rescued { number: *number, candidate: candidate(*key) }).collect();
        prop_assert_eq!(rescued, expected);
    }
}

#[test]
fn a_spool_is_taken_up_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut doubts = Doubts::on_disk(place(directory.path()), 3000);
    for key in 0..3000 {
        doubts.push(&candidate(key)).unwrap();
    }
    assert!(doubts.files() > 0 && doubts.disk_bytes() > 0);
    doubts.retire(1234).unwrap();
    doubts.prepare_checkpoint().unwrap();
    let mut state = Vec::new();
    doubts.encode_state(&mut Encoder(&mut state));
    let mut again = Doubts::restore(place(directory.path()), 3000, &mut Decoder(&state)).unwrap();
    assert_eq!((again.oldest(), again.len(), again.files()), (1234, 1766, doubts.files()));
    let mut found = Found::none(1234..3000);
    found.insert(2000);
    let mut rescued = Vec::new();
    assert_eq!(again.collect(&found, 1234, &mut rescued).unwrap(), (3000, true));
    assert_eq!(rescued, [Rescued { number: 2000, candidate: candidate(2000) }]);
    assert_eq!(again.push(&candidate(7)).unwrap(), 3000);
}

#[test]
fn a_candidate_larger_than_a_block_fits_and_gives_its_memory_back() {
    let mut doubts = Doubts::in_memory();
    let mut large = candidate(1);
    large.url = format!("http://h.test/{}", "a".repeat(300_000)).into();
    doubts.push(&large).unwrap();
    doubts.push(&candidate(2)).unwrap();
    let mut found = Found::none(0..2);
    found.insert(0);
    let mut rescued = Vec::new();
    doubts.collect(&found, 0, &mut rescued).unwrap();
    assert_eq!(rescued[0].candidate, large);
    assert!(doubts.memory_bytes() < 300_000, "{}", doubts.memory_bytes());
    doubts.retire(2).unwrap();
    assert!(doubts.is_empty());
}
