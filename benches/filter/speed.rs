//! Test-and-set of URLs never seen before, URL hashing included, by everything that can do it.
//!
//! All sides take the same URLs in the same order, one after another in every round,
//! so that what slows the machine slows them alike; a ratio is the median of the
//! ratios of single rounds.

use std::collections::HashSet;

use dragline::config::FilterKind;
use dragline::visited::{BlockedFilter, Filter, InstructionSet, Lines, Sizing};
use fastbloom::BloomFilter;

use super::input::{Urls, median, time};
use super::sides::{Naive, hash_table_bytes, in_batches, in_batches_of_keys, in_table, touch};

const BITS_PER_URL: f64 = 10.0;

const HASH_TABLE: &str = "hash table (HashSet<String>)";
const FAST_SAME: &str = "fastbloom, same hash";
const BATCHES: &str = "blocked, in batches";
const FLOOR: &str = "floor: hash + touch one prefetched line";

/// One way to do it: its name, its memory, and how long it took per URL in each round it took part in.
struct Side {
    name: &'static str,
    bytes: u64,
    /// It takes part in every so many rounds.
    every: usize,
    contestant: Box<dyn Contestant>,
    times: Vec<Option<f64>>,
}

trait Contestant {
    fn reset(&mut self);
    /// How many URLs were new.
    fn run(&mut self, urls: &Urls) -> usize;
}

struct With<T> {
    state: T,
    reset: fn(&mut T),
    run: fn(&mut T, &Urls) -> usize,
}

impl<T> Contestant for With<T> {
    fn reset(&mut self) {
        (self.reset)(&mut self.state);
    }

    fn run(&mut self, urls: &Urls) -> usize {
        (self.run)(&mut self.state, urls)
    }
}

fn side<T: 'static>(
    name: &'static str,
    bytes: u64,
    every: usize,
    state: T,
    reset: fn(&mut T),
    run: fn(&mut T, &Urls) -> usize,
) -> Side {
    Side { name, bytes, every, contestant: Box::new(With { state, reset, run }), times: Vec::new() }
}

pub fn run(count: usize, set: InstructionSet, quick: bool) {
    let urls = Urls::new(count);
    let rounds: usize = match (quick, count) {
        (true, _) => 5,
        (false, ..=1_000_000) => 25,
        _ => 9,
    };
    // what takes seconds takes part three times only
    let seldom = if count > 1_000_000 { rounds.div_ceil(3) } else { rounds.div_ceil(5) };
    let mut sides = sides(&urls, set, seldom);
    for round in 0..rounds {
        for side in &mut sides {
            side.times.push((round % side.every == 0).then(|| measure(side.contestant.as_mut(), &urls)));
        }
    }
    report(count, &sides, set);
}

/// Nanoseconds per URL.
fn measure(contestant: &mut dyn Contestant, urls: &Urls) -> f64 {
    contestant.reset();
    let (nanoseconds, new) = time(|| contestant.run(urls));
    assert!(new > urls.len() / 100 * 97 && new <= urls.len(), "{new} of {} were new", urls.len());
    nanoseconds / urls.len() as f64
}

fn sides(urls: &Urls, set: InstructionSet, seldom: usize) -> Vec<Side> {
    let count = urls.len() as u64;
    let table_bytes = hash_table_bytes(urls);
    let classic = Sizing::from_bits_per_url(FilterKind::Classic, count, BITS_PER_URL).unwrap();
    let sizing = Sizing::from_bits_per_url(FilterKind::Blocked, count, BITS_PER_URL).unwrap();
    let (words, bytes) = ((classic.bits / 64) as usize, classic.bytes());
    let fast = || BloomFilter::from_vec(vec![0; words]).hashes(classic.hashes);
    let blocked = || BlockedFilter::with_instruction_set(sizing.bits, sizing.hashes, set).unwrap();
    let naive = Naive { words: vec![0; words], hashes: classic.hashes };
    let floor = Lines::zeroed((sizing.bits / 512) as usize).unwrap();
    vec![
        side(HASH_TABLE, table_bytes, seldom, HashSet::new(), |table| *table = HashSet::new(), in_table),
        side("naive Bloom (SipHash per bit, modulo)", bytes, seldom, naive, Naive::clear, |naive, urls| {
            urls.iter().filter(|url| naive.insert(url)).count()
        }),
        side("fastbloom, default", bytes, 1, fast(), BloomFilter::clear, |filter, urls| {
            urls.iter().filter(|url| !filter.insert(*url)).count()
        }),
        side(FAST_SAME, bytes, 1, fast(), BloomFilter::clear, |filter, urls| {
            urls.iter().filter(|url| !filter.insert_hash(urls.key(url))).count()
        }),
        side("blocked, one at a time", sizing.bytes(), 1, blocked(), Filter::clear, |filter, urls| {
            urls.iter().filter(|url| filter.test_and_set(urls.key(url))).count()
        }),
        side(BATCHES, sizing.bytes(), 1, blocked(), Filter::clear, in_batches),
        side(
            "blocked, in batches of keys made before",
            sizing.bytes(),
            1,
            blocked(),
            Filter::clear,
            in_batches_of_keys,
        ),
        side(FLOOR, sizing.bytes(), 1, floor, Lines::clear, touch::<false>),
        side(
            "floor with a write to the line",
            sizing.bytes(),
            1,
            Lines::zeroed((sizing.bits / 512) as usize).unwrap(),
            Lines::clear,
            touch::<true>,
        ),
    ]
}

fn report(count: usize, sides: &[Side], set: InstructionSet) {
    println!("\n{} million 80-byte URLs, all new, {BITS_PER_URL} bits each", count / 1_000_000);
    println!("| test-and-set, URL hashing included | ns per URL | ÷ floor | memory, MB |");
    println!("|---|---|---|---|");
    for side in sides {
        let times: Vec<f64> = side.times.iter().flatten().copied().collect();
        let ratio = ratio(sides, side.name, FLOOR);
        println!("| {} | {:.1} | {ratio:.2} | {:.2} |", side.name, median(&times), side.bytes as f64 / 1e6);
    }
    println!();
    let most = if set == InstructionSet::Avx512 { 1.15 } else { 1.25 };
    check("batched ÷ floor", ratio(sides, BATCHES, FLOOR), most, false);
    let least = if count > 1_000_000 { 8.0 } else { 1.6 };
    check("fastbloom with the same hash ÷ batched", ratio(sides, FAST_SAME, BATCHES), least, true);
    if count == 1_000_000 {
        check("hash table ÷ batched", ratio(sides, HASH_TABLE, BATCHES), 50.0, true);
        let bytes = |name| sides.iter().find(|side| side.name == name).map_or(0.0, |side| side.bytes as f64);
        check("memory of the hash table ÷ filter", bytes(HASH_TABLE) / bytes(BATCHES), 100.0, true);
    }
}

/// The median over the rounds in which both took part.
fn ratio(sides: &[Side], above: &str, below: &str) -> f64 {
    let times = |name| sides.iter().find(|side| side.name == name).map_or(&[][..], |side| &side.times[..]);
    let pairs = times(above).iter().zip(times(below));
    median(&pairs.filter_map(|(above, below)| Some((*above)? / (*below)?)).collect::<Vec<_>>())
}

fn check(what: &str, value: f64, bound: f64, at_least: bool) {
    let (sign, met) = if at_least { ("≥", value >= bound) } else { ("≤", value <= bound) };
    println!("{what}: {value:.2} (must be {sign} {bound}): {}", if met { "met" } else { "MISSED" });
}
