//! The ways to do a test-and-set that are not simply a call: each takes all URLs and says how many were new.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use dragline::visited::{BlockedFilter, Filter, Line, Lines};

use super::input::{Urls, resident};

/// URLs handed over at a time.
const GROUP: usize = 1024;

/// Lines that the floor has on their way at once.
const AHEAD: usize = 128;

pub fn in_table(table: &mut HashSet<String>, urls: &Urls) -> usize {
    urls.iter().filter(|url| table.insert(std::str::from_utf8(url).unwrap().to_owned())).count()
}

/// URLs are hashed as the filter asks for their keys.
pub fn in_batches(filter: &mut BlockedFilter, urls: &Urls) -> usize {
    let mut new = Vec::with_capacity(GROUP);
    let mut count = 0;
    for group in urls.groups(GROUP) {
        filter.test_and_set_all(group.map(|url| urls.key(url)), &mut new);
        count += new.iter().filter(|new| **new).count();
    }
    count
}

/// URLs are hashed first, then the filter is asked, through the trait.
pub fn in_batches_of_keys(filter: &mut BlockedFilter, urls: &Urls) -> usize {
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
pub fn touch<const WRITE: bool>(lines: &mut Lines, urls: &Urls) -> usize {
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
pub struct Naive {
    pub words: Vec<u64>,
    pub hashes: u32,
}

impl Naive {
    pub fn insert(&mut self, url: &[u8]) -> bool {
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

    pub fn clear(&mut self) {
        self.words.fill(0);
    }
}

/// What the filled table adds to resident memory, or where that is not told, what it must at least.
pub fn hash_table_bytes(urls: &Urls) -> u64 {
    let before = resident();
    let mut table = HashSet::new();
    in_table(&mut table, urls);
    let least = table.capacity() * (size_of::<String>() + 1) + table.iter().map(String::len).sum::<usize>();
    match (before, resident()) {
        (Some(before), Some(after)) => after.saturating_sub(before).max(least as u64),
        _ => least as u64,
    }
}
