//! Test-and-set of URLs never seen before, URL hashing included, by everything that can do it.
//!
//! All sides take the same URLs in the same order, one after another in every round,
//! so that what slows the machine slows them alike; a ratio is the median of the
//! ratios of single rounds.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use dragline::config::FilterKind;
use dragline::visited::{BlockedFilter, Filter, InstructionSet, Line, Lines, Sizing};
use fastbloom::BloomFilter;

use super::input::{Urls, median, resident, time};

const BITS_PER_URL: f64 = 10.0;

/// URLs handed over at a time.
const GROUP: usize = 1024;

/// Lines that the floor has on their way at once.
const AHEAD: usize = 128;

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
        side("blocked, in batches of keys made before", sizing.bytes(), 1, blocked(), Filter::clear, in_batches_of_keys),
        side(FLOOR, sizing.bytes(), 1, floor, Lines::clear, touch::<false>),
        side("floor with a write to the line", sizing.bytes(), 1, Lines::zeroed((sizing.bits / 512) as usize).unwrap(), Lines::clear, touch::<true>),
    ]
}

fn in_table(table: &mut HashSet<String>, urls: &Urls) -> usize {
    urls.iter().filter(|url| table.insert(std::str::from_utf8(url).unwrap().to_owned())).count()
}

/// URLs are hashed as the filter asks for their keys.
fn in_batches(filter: &mut BlockedFilter, urls: &Urls) -> usize {
    let mut new = Vec::with_capacity(GROUP);
    let mut count = 0;
    for group in urls.groups(GROUP) {
        filter.test_and_set_all(group.map(|url| urls.key(url)), &mut new);
        count += new.iter().filter(|new| **new).count();
    }
    count
}

/// URLs are hashed first, then the filter is asked, through the trait.
fn in_batches_of_keys(filter: &mut BlockedFilter, urls: &Urls) -> usize {
    let (mut keys, mut new) = (Vec::with_capacity(GROUP), Vec::with_capacity(GROUP));
    let mut count = 0;
    for group in urls.groups(GROUP) {
        keys.clear();
        keys.extend(group.map(|url| urls.key(url)));
        filter.test_and_set_batch(&keys, &mut new);
        count += new.iter().filter(|new| **new).count();
    }
    count
}

/// The least that any such filter must do: hash every URL and read (or write) one word of one line.
fn touch<const WRITE: bool>(lines: &mut Lines, urls: &Urls) -> usize {
    let lines: &mut [Line] = lines;
    let mut places = Vec::with_capacity(AHEAD);
    let (mut sum, mut count) = (0, 0);
    for group in urls.groups(AHEAD) {
        places.clear();
        places.extend(group.map(|url| {
            let place = ((u128::from(urls.key(url)) * lines.len() as u128) >> 64) as usize;
            prefetch(&lines[place]);
            place
        }));
        for place in &places {
            if WRITE {
                lines[*place].0[0] |= 1;
            } else {
                sum ^= lines[*place].0[0];
            }
        }
        count += places.len();
    }
    std::hint::black_box(sum);
    count
}

fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing architecturally; SSE is part of every x86-64 processor.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// A Bloom filter as first written down: k independent hashes, bits anywhere, by modulo.
struct Naive {
    words: Vec<u64>,
    hashes: u32,
}

impl Naive {
    fn insert(&mut self, url: &[u8]) -> bool {
        let mut new = false;
        for seed in 0..self.hashes {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            url.hash(&mut hasher);
            let bit = hasher.finish() % (self.words.len() as u64 * 64);
            let word = &mut self.words[(bit / 64) as usize];
            new |= *word & 1 << (bit % 64) == 0;
            *word |= 1 << (bit % 64);
        }
        new
    }

    fn clear(&mut self) {
        self.words.fill(0);
    }
}

/// What the filled table adds to resident memory, or where that is not told, what it must at least.
fn hash_table_bytes(urls: &Urls) -> u64 {
    let before = resident();
    let mut table = HashSet::new();
    in_table(&mut table, urls);
    let least = table.capacity() * (size_of::<String>() + 1) + table.iter().map(String::len).sum::<usize>();
    match (before, resident()) {
        (Some(before), Some(after)) => after.saturating_sub(before).max(least as u64),
        _ => least as u64,
    }
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
