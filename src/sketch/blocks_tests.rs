//! The laws of block lists, of what repeats, and of the search for near fingerprints, against plain models.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::blocks::{Block, MOST_BLOCKS, decode_blocks, encode_blocks};
use super::tests::{key, mix, number_of, prose, words_of};
use super::*;

fn read(text: &str) -> Option<(u64, Vec<Block>)> {
    let mut hasher = SimHasher::default();
    hasher.feed(text.as_bytes());
    hasher.finish_with_blocks()
}

/// The blocks of a text as the documentation defines them.
fn blocks_of(text: &str) -> Vec<u64> {
    let numbers: Vec<u64> = words_of(text).iter().map(|word| number_of(word)).collect();
    let mut smallest = BTreeMap::new();
    for (place, number) in numbers.iter().enumerate() {
        let pair = mix(*number, place.checked_sub(1).map_or(0, |before| numbers[before]));
        let words = numbers[..=place].iter().rev().take(4);
        let block = (0..).zip(words).fold(0_u64, |sum, (power, word)| {
            sum.wrapping_add(word.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.wrapping_pow(power)))
        });
        let least = smallest.entry(pair).or_insert(block);
        *least = block.min(*least);
    }
    let listed = smallest.into_iter().take(MOST_BLOCKS);
    listed.map(|(pair, block)| ((pair >> 42) << 14) | (mix(block, pair) % (1 << 14))).collect()
}

/// Fingerprints some of which are near to others.
fn fingerprints() -> impl Strategy<Value = Vec<u64>> {
    let one = (0..9_u64, proptest::collection::vec(0..64_u32, 0..9));
    proptest::collection::vec(one, 0..90).prop_map(|all| {
        let flipped = |bits: &[u32]| bits.iter().fold(0, |flipped, bit| flipped ^ 1_u64 << bit);
        all.iter().map(|(number, bits)| key(*number) ^ flipped(bits)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn blocks_are_the_smallest_pairs_with_their_words(
        text in "((one |two |three |four )|[a-d]{1,3}[ <]|[a-z]{1,12} |é |日|[0-9.]){0,900}"
    ) {
        let listed = read(&text).map(|(_, blocks)| blocks.iter().map(|block| block.number()).collect::<Vec<_>>());
        let enough = words_of(&text).len() >= LEAST_WORDS as usize;
        prop_assert_eq!(listed, enough.then(|| blocks_of(&text)));
    }

    #[test]
    fn blocks_come_back_from_their_text(text in "([a-z]{1,4} ){16,90}", at in 0..300_usize) {
        let (_, blocks) = read(&text).expect("words enough");
        let mut written = encode_blocks(&blocks);
        prop_assert_eq!(written.len(), 6 * blocks.len());
        let mut back = Vec::new();
        prop_assert!(decode_blocks(&written, &mut back) && back == blocks);
        let at = at % written.len();
        written.replace_range(at..=at, "!");
        prop_assert!(!decode_blocks(&written, &mut back) && back.is_empty());
        written.truncate(at);
        prop_assert_eq!(decode_blocks(&written, &mut back), at.is_multiple_of(6));
        prop_assert!(!decode_blocks(&"A".repeat(6 * MOST_BLOCKS + 6), &mut back), "too many");
    }

    #[test]
    fn what_is_left_out_is_on_enough_pages_of_the_host(
        pages in proptest::collection::vec((0..3_u32, 0..12_usize), 0..150)
    ) {
        let texts: Vec<Vec<Block>> =
            (0..12).map(|seed| read(&prose(40 + 20 * (seed % 5), seed % 4, &HashSet::from([seed % 7, 30]))).expect("words").1).collect();
        let mut counter = BlockCounter::default();
        for (host, text) in &pages {
            counter.meet(*host, &texts[*text]);
        }
        let repeated = counter.finish();
        let mut count = 0;
        for (host, block) in (0..3).flat_map(|host| texts.iter().flatten().map(move |block| (host, *block))).collect::<HashSet<_>>() {
            let met = || pages.iter().filter(|(at, _)| *at == host).map(|(_, text)| &texts[*text]);
            let times = met().filter(|text| text.contains(&block)).count();
            let reaching = met().filter(|text| text.len() < MOST_BLOCKS || text.last().is_some_and(|last| last.pair() >= block.pair()));
            let expected = times >= REPEATED_LEAST as usize && times * 20 >= reaching.count();
            prop_assert_eq!(repeated.contains(host, block), expected);
            count += u64::from(expected);
        }
        prop_assert_eq!(repeated.count(), count);
    }

    #[test]
    fn every_near_pair_is_shown_once_and_no_other(fingerprints in fingerprints(), most in 0..=MOST_DISTANCE) {
        let mut found = Vec::new();
        near_pairs(&fingerprints, most, |one, other, bits| found.push((one, other, bits)));
        found.sort_unstable();
        let mut expected = Vec::new();
        for (one, left) in fingerprints.iter().enumerate() {
            for (other, right) in fingerprints.iter().enumerate().skip(one + 1) {
                if distance(*left, *right) <= most {
                    expected.push((one, other, distance(*left, *right)));
                }
            }
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn what_is_joined_has_one_first(pairs in proptest::collection::vec((0..40_u32, 0..40_u32), 0..40)) {
        let (mut groups, mut names) = (Groups::new(40), (0..40_u32).collect::<Vec<_>>());
        for (one, other) in pairs {
            groups.join(one, other);
            let (one, other) = (names[one as usize], names[other as usize]);
            names.iter_mut().filter(|name| **name == one.max(other)).for_each(|name| *name = one.min(other));
        }
        prop_assert_eq!((0..40).map(|thing| groups.first(thing)).collect::<Vec<_>>(), names);
    }
}

#[test]
fn a_menu_does_not_make_pages_alike() {
    let menu = prose(200, 1000, &HashSet::new());
    let page = |seed: u64, changed: &[u64]| {
        read(&format!("{menu} {} {menu}", prose(90, seed, &changed.iter().copied().collect())))
            .expect("words")
    };
    let mut counter = BlockCounter::default();
    (0..40).for_each(|seed| counter.meet(7, &page(seed, &[]).1));
    // long pages do not list all of the menu
    let bare = read(&menu).expect("words");
    (0..5).for_each(|_| counter.meet(7, &bare.1));
    let repeated = counter.finish();
    let of = |(simhash, blocks): &(u64, Vec<Block>)| Fingerprint::of(*simhash, blocks, 7, &repeated);
    let mut alike = [0; 2];
    for seed in 0..40 {
        let (one, copy, other) = (page(seed, &[]), page(seed, &[45]), page(seed + 1, &[]));
        alike[0] += u32::from(of(&one).distance(of(&copy)).is_some_and(|bits| bits <= 6));
        alike[1] += u32::from(of(&one).distance(of(&other)).is_some_and(|bits| bits <= 10));
        assert_ne!(of(&one), Fingerprint::of(one.0, &one.1, 8, &repeated), "another host has other menus");
    }
    assert!(alike[0] >= 36 && alike[1] == 0, "{alike:?} of 40 copies, and of 40 others");
    assert_eq!(of(&bare), Fingerprint::Whole(bare.0), "what has nothing of its own is compared as a whole");
    assert_eq!(of(&bare).distance(of(&page(1, &[]))), None);
}
