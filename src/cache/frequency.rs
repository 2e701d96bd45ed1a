//! How often each of many names was asked for lately, in half a byte a counter.
//!
//! Knows names only by their hashes. A Count-Min sketch with conservative update (Estan and Varghese 2002),
//! whose counters are all halved from time to time, so that what was in use once is forgotten: the history
//! that TinyLFU compares by (Einziger, Friedman and Manes 2017, <https://arxiv.org/abs/1512.00727>).

/// Counters of one name: the least of them is closest to the truth.
const ROWS: u32 = 4;
/// Counters in a word, of four bits each.
const PER_WORD: usize = 16;
/// The highest count.
const HIGHEST: u64 = 15;
/// Counts are halved after so many additions for each word.
const ADDITIONS_PER_WORD: usize = 8;
/// The lowest three bits of each counter: what is left of one that was moved down by a bit.
const HALVES: u64 = 0x7777_7777_7777_7777;

/// Counts by hash.
#[derive(Debug)]
pub(super) struct Frequency {
    words: Box<[u64]>,
    additions: usize,
}

impl Frequency {
    /// Bytes of the counters for so many names at a time.
    pub(super) fn bytes_for(names: usize) -> usize {
        Self::words_for(names) * size_of::<u64>()
    }

    fn words_for(names: usize) -> usize {
        names.max(1).next_power_of_two()
    }

    /// Counters for so many names at a time.
    pub(super) fn new(names: usize) -> Self {
        Self { words: vec![0; Self::words_for(names)].into(), additions: 0 }
    }

    /// How often the name of this hash was added lately: 15 at most, and rarely too much.
    pub(super) fn estimate(&self, hash: u64) -> u64 {
        self.counters(hash).map(|(word, shift)| self.words[word] >> shift & HIGHEST).min().unwrap_or(0)
    }

    /// The name of this hash was asked for.
    pub(super) fn add(&mut self, hash: u64) {
        let least = self.estimate(hash);
        if least < HIGHEST {
            for (word, shift) in self.counters(hash) {
                if self.words[word] >> shift & HIGHEST == least {
                    self.words[word] += 1 << shift;
                }
            }
        }
        self.additions += 1;
        if self.additions >= ADDITIONS_PER_WORD * self.words.len() {
            self.additions = 0;
            self.words.iter_mut().for_each(|word| *word = *word >> 1 & HALVES);
        }
    }

    /// Word and bit at which the counters of a hash stand.
    fn counters(&self, hash: u64) -> impl Iterator<Item = (usize, u32)> + use<> {
        let last = self.words.len() - 1;
        // Two halves make any number of hashes (Kirsch and Mitzenmacher 2006); each row has its own quarter
        // of every word, so that no name counts twice in one counter.
        let (first, step) = (hash as u32, (hash >> 32) as u32 | 1);
        (0..ROWS).map(move |row| {
            let place = first.wrapping_add(step.wrapping_mul(row)).wrapping_mul(0x9E37_79B1);
            let column = place as usize % (PER_WORD / ROWS as usize);
            let word = (place >> 2) as usize & last;
            (word, (row * 4 + column as u32) * 4)
        })
    }
}
