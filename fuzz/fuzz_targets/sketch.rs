//! A file of sketches, and each kind of sketch from any bytes: what is read can be fed, asked and merged like any other,
//! comes back from its own bytes, and takes no more memory than its parameters allow.
#![no_main]

use dragline::sketch::file::{Kept, Kind, Section, read, write};
use dragline::sketch::{
    CountMin, CountSketch, Distinct, Frequent, FrequentKeys, Overlap, Quantiles, Update, fingerprint,
};
use dragline_fuzz::{Input, input, lay, peak_of};
use libfuzzer_sys::fuzz_target;

/// Keys that a sketch is fed with after it was read.
const FED: u64 = 200;
/// Bytes that a sketch may take: the largest tables are of 16 MiB, and of frequent items of 2^16 places.
const MOST_BYTES: usize = 32 << 20;

/// Reads a sketch; where it is one, reads again what it writes.
fn revived<Sketch: Kept>(bytes: &[u8]) -> Option<Sketch> {
    let (sketch, peak) = peak_of(|| Sketch::from_bytes(bytes));
    assert!(peak <= MOST_BYTES + 16 * bytes.len(), "{peak} bytes for {}", bytes.len());
    let sketch = sketch.ok()?;
    let section = Section::of("fuzz", &sketch);
    let again: Sketch = section.sketch().unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    assert_eq!(again.parameters(), sketch.parameters());
    Some(again)
}

fn keys() -> impl Iterator<Item = u64> {
    (0..FED).map(|number| fingerprint(&number.to_string()))
}

fn used(kind: Kind, bytes: &[u8]) -> Option<()> {
    match kind {
        Kind::Distinct => {
            let mut sketch: Distinct = revived(bytes)?;
            keys().for_each(|key| sketch.add(key));
            sketch.merge(&sketch.clone()).expect("it is itself");
            let estimate = sketch.estimate();
            assert!(estimate.lower <= estimate.value && estimate.value <= estimate.upper, "{estimate:?}");
            revived::<Distinct>(&sketch.encode()).expect("what was fed is refused");
        }
        Kind::Overlap => {
            let mut sketch: Overlap = revived(bytes)?;
            let before = sketch.clone();
            keys().for_each(|key| sketch.add(key));
            let compared = Overlap::compare(&before, &sketch);
            assert_eq!(compared.only_first.value, 0.0, "nothing that it held is gone");
            sketch.merge(&before).expect("it is of the same size");
            revived::<Overlap>(&sketch.encode()).expect("what was fed is refused");
        }
        Kind::Frequent => {
            let mut sketch: Frequent = revived(bytes)?;
            (0..FED).for_each(|number| sketch.add(&number.to_string(), number));
            let _too_much = sketch.merge(&sketch.clone());
            assert!(sketch.top(9).iter().all(|item| item.lower <= item.upper));
            revived::<Frequent>(&sketch.encode()).expect("what was fed is refused");
        }
        Kind::FrequentKeys => {
            let mut sketch: FrequentKeys = revived(bytes)?;
            keys().for_each(|key| sketch.add(key, key % 9, Some("text")));
            let _too_much = sketch.merge(&sketch.clone());
            assert!(sketch.top(9).iter().all(|item| item.lower <= item.upper));
            revived::<FrequentKeys>(&sketch.encode()).expect("what was fed is refused");
        }
        Kind::CountMin => {
            let mut sketch: CountMin = revived(bytes)?;
            keys().for_each(|key| sketch.add(key, 7));
            assert!(keys().all(|key| sketch.estimate(key).at_most >= 7));
            sketch.merge(&sketch.clone()).expect("it is itself");
            revived::<CountMin>(&sketch.encode()).expect("what was fed is refused");
        }
        Kind::CountSketch => {
            let mut sketch: CountSketch = revived(bytes)?;
            keys().for_each(|key| sketch.add(key, -7));
            let nothing = sketch.subtract(&sketch).expect("it is itself");
            assert_eq!(nothing.estimate(7).value, 0.0);
            let estimate = sketch.estimate(7);
            assert!(estimate.lower <= estimate.value && estimate.value <= estimate.upper, "{estimate:?}");
            revived::<CountSketch>(&sketch.encode()).expect("what was fed is refused");
        }
        Kind::Quantiles => {
            let mut sketch: Quantiles = revived(bytes)?;
            (0..FED).for_each(|number| sketch.add(number as f64));
            let _too_much = sketch.merge(&sketch.clone());
            for tenth in 0..=10 {
                assert!(sketch.quantile(f64::from(tenth) / 10.0).is_some_and(f64::is_finite));
            }
            revived::<Quantiles>(&sketch.encode()).expect("what was fed is refused");
        }
    }
    Some(())
}

fn sections(keys: u64) -> Vec<Section> {
    let (mut distinct, mut overlap) = (Distinct::new(8), Overlap::new(5));
    let (mut items, mut frequent) = (Frequent::new(8), FrequentKeys::new(8));
    let mut conservative = CountMin::new(0.1, 0.1, Update::Conservative);
    let mut plain = CountMin::new(0.1, 0.1, Update::Plain);
    let (mut sums, mut quantiles) = (CountSketch::new(20, 3), Quantiles::default());
    for number in 0..keys {
        let text = format!("http://h/{}", number % 40);
        let key = fingerprint(&text).wrapping_add(number / 3);
        distinct.add(key);
        overlap.add(key);
        items.add(&text, 1);
        frequent.add(key, 1, Some(&text));
        conservative.add(key, 1);
        plain.add(key, 1);
        sums.add(key, 1);
        quantiles.add((number * number) as f64);
    }
    vec![
        Section::of("urls", &distinct),
        Section::of("urls", &overlap),
        Section::of("urls", &items),
        Section::of("urls", &frequent),
        Section::of("urls", &conservative),
        Section::of("urls", &plain),
        Section::of("urls", &sums),
        Section::of("bytes", &quantiles),
    ]
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for keys in [0, 1, 5, 60, 900] {
        let sections = sections(keys);
        // a small file: of two sections
        seeds.push(input(&[0xff], &[], &write(&sections[..2])));
        for section in sections {
            let kind = Kind::ALL.iter().position(|kind| *kind == section.kind).unwrap_or(0);
            seeds.push(input(&[kind as u8], &[], &section.bytes));
        }
    }
    seeds
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let kind = Kind::ALL.get(usize::from(input.byte()));
    if let Some(kind) = kind {
        used(*kind, input.0);
    } else if let Ok(sections) = read(input.0) {
        for section in &sections {
            used(section.kind, &section.bytes);
        }
        assert_eq!(read(&write(&sections)).as_ref(), Ok(&sections));
    }
});
