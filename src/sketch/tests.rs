//! The laws of the sketches, against simple models.

mod bytes;
mod counts;
mod distinct;
mod hours;
mod overlap;
mod quantiles;
mod sizes;

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::store::{Decoder, Encoder};

/// Hashes, as keys are: numbers whose bits all count.
pub(super) fn key(number: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
}

/// A stream in which some keys are frequent and most are not.
fn stream() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(prop_oneof![3 => 0..6_u64, 5 => 0..2000_u64], 0..3000)
}

proptest! {
    #[test]
    fn counts_are_lower_bounds_and_miss_little(stream in stream(), most in 1..60_usize) {
        let (mut sketch, mut truth) = (HeavyHitters::<u8>::new(most), HashMap::new());
        for number in &stream {
            let before = sketch.count(key(*number));
            let met = sketch.meet(key(*number)).map(|(count, _)| count);
            prop_assert_eq!(sketch.count(key(*number)), met.unwrap_or(0));
            prop_assert!(met.is_none_or(|count| count == before + 1));
            *truth.entry(*number).or_insert(0_u64) += 1;
        }
        let missed = stream.len() as u64 / (most as u64 + 1);
        let mut held = 0;
        for (number, count) in truth {
            let estimate = sketch.count(key(number));
            held += usize::from(estimate > 0);
            prop_assert!(estimate <= count && count - estimate <= missed, "{estimate} of {count}");
        }
        prop_assert!(held <= most);
    }

    #[test]
    fn what_was_met_is_never_new(numbers in proptest::collection::vec(0..3000_u64, 0..2000), bytes in 8..4096_usize) {
        let (mut filter, mut truth) = (SeenOnce::new(bytes), HashSet::new());
        for number in numbers {
            let was_new = truth.insert(number);
            let says = filter.is_new(key(number));
            prop_assert_eq!(filter.meet(key(number)), says);
            prop_assert!(was_new || !says, "{number} was met before");
            prop_assert!(!filter.is_new(key(number)));
        }
    }

    #[test]
    fn sketches_come_back(stream in stream(), most in 1..60_usize) {
        let (mut keys, mut seen) = (HeavyHitters::<Faces>::new(most), SeenOnce::new(256));
        for number in stream {
            if let Some((_, faces)) = keys.meet(key(number % 7)) {
                faces.meet(key(number));
            }
            seen.meet(key(number));
        }
        let mut bytes = Vec::new();
        keys.encode(&mut Encoder(&mut bytes), |encoder, faces| faces.encode(encoder));
        seen.encode(&mut Encoder(&mut bytes));
        let mut decoder = Decoder(&bytes);
        let (mut keys_again, mut seen_again) = (HeavyHitters::<Faces>::new(most), SeenOnce::new(256));
        prop_assert!(keys_again.restore(&mut decoder, Faces::decode).is_ok());
        prop_assert!(seen_again.restore(&mut decoder).is_ok() && decoder.is_empty());
        prop_assert_eq!((keys_again, seen_again), (keys, seen));
    }

    #[test]
    fn faces_never_count_too_much(hashes in proptest::collection::vec((0..9_u64, 0..70_u32), 0..400)) {
        let (mut faces, mut met) = (Faces::default(), Vec::new());
        for (number, flipped) in hashes {
            let simhash = key(number) ^ 1_u64.checked_shl(flipped).unwrap_or(0);
            met.push(simhash);
            // those near to one face are at most twice as far from each other
            let near = met.iter().filter(|one| distance(**one, simhash) <= 2 * NEAR).count();
            prop_assert!(faces.meet(simhash) as usize <= near);
        }
    }

    #[test]
    fn pieces_make_the_same_fingerprint(text in "([a-zA-Z0-9 .é日本“—]|\u{a0}|[\u{80}-\u{ffff}]){0,400}", cuts in proptest::collection::vec(0..400_usize, 0..60)) {
        let mut hasher = SimHasher::default();
        hasher.feed(text.as_bytes());
        let whole = hasher.finish();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts {
            hasher.feed(&text.as_bytes()[from..cut]);
            from = cut;
        }
        hasher.feed(&text.as_bytes()[from..]);
        prop_assert_eq!(hasher.finish(), whole);
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let mut hasher = SimHasher::default();
        hasher.feed(&bytes);
        hasher.finish();
        prop_assert_eq!(hasher.finish(), None, "it is ready for another text");
    }

    /// Against plain reading and plain addition, as the documentation defines them.
    #[test]
    fn the_fingerprint_is_the_majority_of_pairs(
        text in "([a-z]{1,20} |[A-Za-z]{60,140}\n|[0-9<—\u{a0}]|[éßж]{1,40}|[日本😀]|[\u{80}-\u{ffff}] ?){0,300}"
    ) {
        prop_assume!(text.len() <= TEXT_BYTES);
        let mut before = 0_u64;
        let words = words_of(&text);
        let hashes: Vec<u64> = words
            .iter()
            .map(|word| {
                let number = number_of(word);
                mix(number, std::mem::replace(&mut before, number))
            })
            .collect();
        let majority = |bit: &u32| hashes.iter().filter(|hash| *hash >> bit & 1 == 1).count() * 2 > hashes.len();
        let expected = (0..64).filter(majority).fold(0, |bits, bit| bits | 1 << bit);
        let enough = hashes.len() >= LEAST_WORDS as usize;
        prop_assert_eq!(simhash_of(&text), enough.then_some(expected), "{:?}", words);
    }
}

/// The words of a text, character by character.
pub(super) fn words_of(text: &str) -> Vec<Vec<u8>> {
    let (mut words, mut word) = (Vec::new(), Vec::new());
    for character in text.chars() {
        let alone = matches!(character, '\u{3000}'..='\u{d7ff}' | '\u{10000}'..);
        let separates = match character {
            '\0'..='\u{7f}' => !character.is_ascii_alphabetic(),
            _ => matches!(character, '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{2fff}' | '\u{e000}'..='\u{ffff}'),
        };
        if alone || separates {
            words.push(std::mem::take(&mut word));
        }
        if !separates {
            let mut bytes = [0; 4];
            word.extend_from_slice(character.to_ascii_lowercase().encode_utf8(&mut bytes).as_bytes());
        }
        if alone {
            words.push(std::mem::take(&mut word));
        }
    }
    words.push(word);
    words.iter().flat_map(|word| word.chunks(64)).map(<[u8]>::to_vec).collect()
}

pub(super) fn number_of(word: &[u8]) -> u64 {
    let group = |group: &[u8]| group.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let last = (word.len() - 1) / 8 * 8;
    word[..last].chunks(8).fold(0, |hash, one| mix(hash, group(one))) ^ group(&word[last..])
}

pub(super) fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one ^ 0x9E37_79B9_7F4A_7C15) * u128::from(other ^ 0xBF58_476D_1CE4_E5B9);
    product as u64 ^ (product >> 64) as u64
}

fn simhash_of(text: &str) -> Option<u64> {
    let mut hasher = SimHasher::default();
    hasher.feed(text.as_bytes());
    hasher.finish()
}

/// A text of so many words with the frequencies of a language (Zipf), some of them replaced.
pub(super) fn prose(words: u64, seed: u64, replaced: &HashSet<u64>) -> String {
    let word = |place: u64| {
        let bits = key(place.wrapping_mul(31).wrapping_add(seed << 40));
        let rank = 2000_f64.powf((bits >> 11) as f64 / (1_u64 << 53) as f64) as u64;
        if replaced.contains(&place) { letters(bits) } else { letters(rank) }
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// A number in letters: digits would be no words.
pub(super) fn letters(mut number: u64) -> String {
    let mut text = String::new();
    while number > 0 {
        text.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    text
}

#[test]
fn few_changed_words_change_few_bits() {
    let mut found = 0;
    for seed in 0..200 {
        let words = 200 + seed * 10;
        let replaced: HashSet<u64> = (0..words / 200).map(|n| key(n + seed) % words).collect();
        let one = simhash_of(&prose(words, seed, &HashSet::new())).unwrap_or(0);
        let other = simhash_of(&prose(words, seed, &replaced)).unwrap_or(u64::MAX);
        found += u32::from(distance(one, other) <= NEAR);
    }
    // words that follow no other are harsher than a language, of which nine in ten are found
    assert!(found >= 150, "{found} of 200 with half a percent of their words changed are near");
}

#[test]
fn different_texts_are_far_apart() {
    let hashes: Vec<u64> =
        (0..60).filter_map(|seed| simhash_of(&prose(300, seed, &HashSet::new()))).collect();
    let pairs = hashes
        .iter()
        .enumerate()
        .flat_map(|(place, one)| hashes[..place].iter().map(move |other| distance(*one, *other)));
    let near = pairs.filter(|distance| *distance <= NEAR).count();
    assert_eq!((hashes.len(), near), (60, 0), "pairs of different texts that are near");
}

#[test]
fn numbers_do_not_matter_and_short_texts_have_none() {
    let text = |n: u32| {
        format!(
            "On day {n} of the year the calendar of our club has nothing to say: {n}, {n}:00, try the next one"
        )
    };
    assert_eq!(simhash_of(&text(3)), simhash_of(&text(365)));
    assert!(simhash_of(&text(3)).is_some());
    assert_eq!(simhash_of(&"word ".repeat(15)), None);
    assert!(simhash_of(&"word ".repeat(16)).is_some());
    assert_eq!(simhash_of(&"123 ".repeat(40)), None);
    assert!(simhash_of(&"暦".repeat(16)).is_some(), "each such character is a word");
    assert_eq!(simhash_of(&"\u{a0}\u{2014}".repeat(90)), None, "these are none");
}

#[test]
fn what_comes_late_does_not_count() {
    let words: Vec<String> = (0..40_000).map(|n| letters(n + 1)).collect();
    let long = words.join(" ");
    assert!(long.len() > 2 * TEXT_BYTES);
    assert_eq!(simhash_of(&long), simhash_of(&long[..TEXT_BYTES]));
}

#[test]
fn sizes_are_kept() {
    // so many keys fit that the table need not grow past the bytes given
    for bytes in [1_000, 9_000, 40_000, 100_000] {
        let most = HeavyHitters::<()>::most_within(bytes);
        let places = (most / 7 * 8).next_power_of_two();
        assert!(places * 17 <= bytes && places * 34 > bytes, "{most} keys in {bytes}");
    }
}
