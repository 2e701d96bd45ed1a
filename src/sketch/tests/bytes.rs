//! That sketches come back from their bytes, and that no bytes do harm.

use proptest::prelude::*;

use super::key;
use crate::sketch::file::{Kept, Kind, Section, SketchFileError, read, write};
use crate::sketch::{
    CountMin, CountSketch, Distinct, Estimate, Frequent, FrequentKeys, Overlap, Quantiles, Update,
};

/// One of each kind, fed with the same.
fn sections(items: &[u64]) -> Vec<Section> {
    let (mut distinct, mut overlap) = (Distinct::new(9), Overlap::new(5));
    let (mut frequent, mut keys) = (Frequent::new(8), FrequentKeys::new(8));
    let mut plain = CountMin::new(0.05, 0.1, Update::Plain);
    let mut conservative = CountMin::new(0.05, 0.1, Update::Conservative);
    let (mut sums, mut quantiles) = (CountSketch::new(40, 3), Quantiles::default());
    for item in items {
        distinct.add(key(*item));
        overlap.add(key(*item));
        frequent.add(&item.to_string(), 1 + item % 3);
        keys.add(key(*item), 1 + item % 3, Some(&item.to_string()));
        plain.add(key(*item), 2);
        conservative.add(key(*item), 2);
        sums.add(key(*item), *item as i64 - 50);
        quantiles.add(*item as f64);
    }
    vec![
        Section::of("urls", &distinct),
        Section::of("urls", &overlap),
        Section::of("hosts", &frequent),
        Section::of("targets", &keys),
        Section::of("links", &plain),
        Section::of("links", &conservative),
        Section::of("pages of hosts", &sums),
        Section::of("latency", &quantiles),
    ]
}

/// Decodes what a section is, uses it as it may be used, and encodes it again.
fn used(section: &Section) -> Result<Section, SketchFileError> {
    Ok(match section.kind {
        Kind::Distinct => {
            let mut sketch: Distinct = section.sketch()?;
            let same = Section::of(&section.subject, &sketch);
            (0..300).for_each(|item| sketch.add(key(item)));
            sketch.merge(&sketch.clone()).expect("it is itself");
            is_estimate(sketch.estimate());
            same
        }
        Kind::Overlap => {
            let mut sketch: Overlap = section.sketch()?;
            let same = Section::of(&section.subject, &sketch);
            (0..300).for_each(|item| sketch.add(key(item)));
            sketch.merge(&sketch.clone()).expect("it is itself");
            is_estimate(sketch.estimate());
            is_estimate(Overlap::compare(&sketch, &Overlap::new(5)).only_first);
            same
        }
        Kind::Frequent => {
            let mut sketch: Frequent = section.sketch()?;
            let same = Section::of(&section.subject, &sketch);
            (0..300_u64).for_each(|item| sketch.add(&item.to_string(), item));
            let _ = sketch.merge(&sketch.clone());
            assert!(sketch.top(9).iter().all(|item| item.lower <= item.upper));
            same
        }
        Kind::FrequentKeys => {
            let mut sketch: FrequentKeys = section.sketch()?;
            let same = Section::of(&section.subject, &sketch);
            (0..300).for_each(|item| sketch.add(key(item), item, Some("text")));
            let _ = sketch.merge(&sketch.clone());
            assert!(sketch.top(9).iter().all(|item| item.lower <= item.upper));
            same
        }
        Kind::CountMin => {
            let mut sketch: CountMin = section.sketch()?;
            let same = Section::of(&section.subject, &sketch);
            (0..300).for_each(|item| sketch.add(key(item), u32::MAX));
            sketch.merge(&sketch.clone()).expect("it is itself");
            assert!((0..300).all(|item| sketch.estimate(key(item)).at_most >= u64::from(u32::MAX)));
            same
        }
        Kind::CountSketch => {
            let mut sketch: CountSketch = section.sketch()?;
            let same = Section::of(&section.subject, &sketch);
            (0..300).for_each(|item| sketch.add(key(item), i64::MAX));
            sketch.merge(&sketch.clone()).expect("it is itself");
            is_estimate(sketch.estimate(7));
            same
        }
        Kind::Quantiles => {
            let mut sketch: Quantiles = section.sketch()?;
            let same = Section::of(&section.subject, &sketch);
            (0..300).for_each(|number| sketch.add(f64::from(number)));
            let _ = sketch.merge(&sketch.clone());
            let answers: Vec<f64> =
                (0..=10).filter_map(|tenth| sketch.quantile(f64::from(tenth) / 10.0)).collect();
            assert!(answers.len() == 11 && answers.iter().all(|answer| answer.is_finite()));
            same
        }
    })
}

fn is_estimate(estimate: Estimate) {
    assert!(estimate.holds(estimate.value), "{estimate:?}");
}

/// The bytes of those whose items have no order of their own are as long as before, the others' the same.
fn is_same(one: &Section, other: &Section) -> bool {
    let has_order = !matches!(one.kind, Kind::Distinct | Kind::Frequent | Kind::FrequentKeys);
    one.bytes.len() == other.bytes.len() && (!has_order || one == other) && one.parameters == other.parameters
}

proptest! {
    #[test]
    fn sketches_come_back(items in proptest::collection::vec(0..900_u64, 0..1500)) {
        let written = sections(&items);
        let read = read(&write(&written));
        prop_assert_eq!(read.as_ref(), Ok(&written));
        for section in &written {
            let again = used(section);
            prop_assert!(again.as_ref().is_ok_and(|again| is_same(section, again)), "{:?}: {:?}", section.kind, again);
        }
    }

    /// What a sketch says after it came back is what it said before.
    #[test]
    fn sketches_say_the_same_again(items in proptest::collection::vec(0..900_u64, 0..1500)) {
        let sections = sections(&items);
        let distinct: Distinct = sections[0].sketch()?;
        let again: Distinct = Section::of("", &distinct).sketch()?;
        prop_assert_eq!(distinct.estimate(), again.estimate());
        prop_assert_eq!(&distinct, &again);
        let keys: FrequentKeys = sections[3].sketch()?;
        let mut fresh = FrequentKeys::new(8);
        for item in &items {
            fresh.add(key(*item), 1 + item % 3, Some(&item.to_string()));
        }
        prop_assert_eq!(keys.top(99), fresh.top(99));
        prop_assert_eq!((keys.total(), keys.most_unseen()), (fresh.total(), fresh.most_unseen()));
        let quantiles: Quantiles = sections[7].sketch()?;
        let mut fresh = Quantiles::default();
        for item in &items {
            fresh.add(*item as f64);
        }
        prop_assert_eq!(quantiles.quantile(0.9), fresh.quantile(0.9));
        prop_assert_eq!((quantiles.count(), quantiles.max()), (fresh.count(), fresh.max()));
    }

    /// Whatever is changed in a sketch, it is refused, or it is one that can be used like any other.
    #[test]
    fn damaged_sketches_do_no_harm(
        items in proptest::collection::vec(0..900_u64, 0..600),
        changes in proptest::collection::vec((0.0..1.0_f64, any::<u8>()), 1..4),
        length in prop_oneof![3 => Just(1.0), 1 => 0.0..1.2_f64],
    ) {
        for section in sections(&items) {
            let mut section = section;
            for (place, byte) in &changes {
                let place = (place * place * section.bytes.len() as f64) as usize;
                section.bytes[place] = *byte;
            }
            section.bytes.resize((section.bytes.len() as f64 * length) as usize, 1);
            let _ = used(&section);
        }
    }

    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        for kind in Kind::ALL {
            let section = Section { subject: String::new(), kind, parameters: String::new(), bytes: bytes.clone() };
            let _ = used(&section);
        }
    }

    /// One byte that is another, and the file is refused as a whole.
    #[test]
    fn damaged_files_are_refused(place in 0.0..1.0_f64, change in 1..=255_u8) {
        let mut file = write(&sections(&[1, 2, 3]));
        let place = (place * file.len() as f64) as usize;
        file[place] ^= change;
        prop_assert!(read(&file).is_err());
        prop_assert!(read(&file[..place]).is_err());
    }
}

/// A file of one section whose texts are these.
fn file_of(version: u32, texts: [&str; 4], bytes: &[u8]) -> Vec<u8> {
    let mut section = Vec::new();
    for text in texts {
        crate::store::Encoder(&mut section).text(text);
    }
    section.extend_from_slice(bytes);
    let words = |number: u32| number.to_le_bytes().to_vec();
    let length = section.len() as u32;
    let checksum = crc32fast::hash(&section);
    [b"draglineskch".to_vec(), words(version), words(1), words(length), section, words(checksum)].concat()
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let sketch = Distinct::new(10);
    let hash = Kind::Distinct.hash();
    let known = file_of(1, ["urls", "hyperloglog", "lg_k=10", hash], &sketch.encode());
    assert_eq!(read(&known), Ok(vec![Section::of("urls", &sketch)]));
    let refused = |file: &[u8]| read(file).expect_err("it is not known").to_string();
    assert_eq!(
        [
            refused(b"draglinelog "),
            refused(&file_of(2, ["urls", "hyperloglog", "lg_k=10", hash], &[])),
            refused(&file_of(1, ["urls", "cuckoo", "", hash], &[])),
            refused(&file_of(1, ["urls", "hyperloglog", "lg_k=10", "md5"], &[])),
            refused(&[known.clone(), vec![0]].concat()),
            refused(&known[..known.len() - 1]),
        ],
        [
            "this is no file of sketches",
            "sketches of version 2 are not known here, only those of version 1",
            "the sketch of urls is of a kind that is not known here, \"cuckoo\"",
            "the sketch of urls knows keys by a hash that is not known here, \"md5\"",
            "the file of sketches is not whole",
            "the file of sketches is not whole",
        ]
    );
    let section = Section::of("urls", &sketch);
    let said = section.sketch::<Overlap>().expect_err("it is no such sketch").to_string();
    assert_eq!(said, "the sketch of urls is a hyperloglog, not a theta");
    let other = Section { parameters: "lg_k=12".to_owned(), ..section };
    let said = other.sketch::<Distinct>().expect_err("it has other parameters").to_string();
    assert_eq!(said, "the sketch of urls is malformed");
}

/// Bytes once written are read for good: a change of a layout or of a hash is a new version or another name.
/// Those of frequent items have no order of their own.
#[test]
fn bytes_stay_what_they_are() {
    let items: Vec<u64> = (0..600).collect();
    let ordered = sections(&items).into_iter().filter(|section| !section.kind.name().starts_with("frequent"));
    let checksums: Vec<u32> = ordered.map(|section| crc32fast::hash(&section.bytes)).collect();
    assert_eq!(
        checksums,
        [1_771_088_857, 2_432_024_643, 2_695_678_524, 52_612_350, 564_112_596, 2_489_111_789]
    );
}

/// What was counted down stands in no count any more, of several items; who says otherwise would soon say that
/// an item was counted more often than all together.
#[test]
fn frequent_items_lost_no_more_than_was_counted() {
    let mut sketch = Frequent::new(8);
    (0..600_u64).for_each(|item| sketch.add(&item.to_string(), 1 + item % 9));
    let bytes = sketch.encode();
    let error = sketch.most_unseen();
    let held: u64 = sketch.top(99).iter().map(|item| item.lower).sum();
    assert!(error > 0 && 3 * error + held <= sketch.total());
    let with = |error: u64| [&bytes[..24], &error.to_le_bytes()[..], &bytes[32..]].concat();
    assert_eq!(with(error), bytes);
    assert!(Frequent::decode(&with((sketch.total() - held) / 3)).is_ok());
    assert!(Frequent::decode(&with((sketch.total() - held) / 3 + 1)).is_err());
}

#[test]
fn each_kind_has_a_name_of_its_own() {
    let names: std::collections::HashSet<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
    assert_eq!((Distinct::KIND, Quantiles::KIND), (Kind::Distinct, Kind::Quantiles));
}
