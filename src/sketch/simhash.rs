//! A fingerprint of text that changes little where the text does.
//!
//! Source: M. Charikar, Similarity Estimation Techniques from Rounding Algorithms (2002); its use
//! on web pages: Manku, Jain and Das Sarma (2007). Every word, together with the one before it, is
//! hashed to 64 bits; bit *i* of the fingerprint is set where more than half of these hashes have
//! bit *i* set. Pairs tell pages of one site apart that single words do not: on 10,137 pages of
//! the documentation of Java 0.011 % of all pairs of pages are near with them, 0.27 % without; of copies
//! with half a percent of their words changed 91 % are found.
//!
//! A *word* is what stands between separators, in UTF-8:
//! - ASCII letters (upper case counts as lower case), and every other character not named here,
//!   are parts of words;
//! - of the characters from U+3000 to U+DFFF and from U+10000 on (Chinese, Japanese, Korean,
//!   emoji) each is a word by itself;
//! - all other ASCII, digits among it, U+0080 to U+00BF, U+2000 to U+2FFF and U+E000 to U+FFFF are separators:
//!   pages that differ in nothing but numbers are the same;
//! - what is longer than 64 bytes is as many words of 64 bytes and one of the rest.
//!
//! The number of a word: *h* is 0 at first. Its bytes are taken in groups of eight, the last one
//! filled up with zeros, each read as a little-endian number *n*; with each but the last *h*
//! becomes mix(*h*, *n*), and with the last the number is *h* xor *n*. The hash of a pair is
//! mix(number, number of the word before), where the first word has 0 before it. It depends on
//! nothing but the text, so that crawls can be compared. [`mix`] is that of `wyhash` (Wang Yi).

use super::blocks::{Block, BlockSampler};
use super::letters::kinds;

/// Bytes of text that count; what comes later does not.
pub const TEXT_BYTES: usize = 64 << 10;

/// Words that a text must have to be given a fingerprint: fewer say too little.
pub const LEAST_WORDS: u32 = 16;

/// Binary digits of the counters: more words than this cannot stand in [`TEXT_BYTES`].
const DIGITS: usize = 17;

/// Bytes gathered before they are looked at, and then 64 at a time.
const GATHERED: usize = 1024;

/// Bytes of a word at most.
const LONGEST: usize = 64;

/// Bytes of a piece that is copied without a call: most of what stands between two tags is as short.
const SHORT: usize = 32;

/// Reads a text in pieces of any size, cut anywhere, and makes its fingerprint.
///
/// ```
/// use dragline::sketch::{SimHasher, distance};
///
/// let mut hasher = SimHasher::default();
/// hasher.feed(b"All the pages of a calendar say the same, and only the day, No. 24 of 365, ");
/// hasher.feed(b"is another one each time.");
/// let one = hasher.finish();
/// hasher.feed(b"All the pages of a calendar say the same, and only the day, No. 3 of 365, is ano");
/// hasher.feed(b"ther one each time. Sure.");
/// let other = hasher.finish();
/// assert!(one.zip(other).is_some_and(|(one, other)| distance(one, other) < 16));
/// ```
#[derive(Debug, Clone)]
pub struct SimHasher {
    counters: Counters,
    blocks: BlockSampler,
    /// Bytes that may still come.
    room: usize,
    /// Bytes not looked at yet, and room behind them, so that a look never reaches past its end.
    gathered: [u8; GATHERED + LONGEST + 8],
    length: usize,
    /// The number of the word before.
    before: u64,
}

impl Default for SimHasher {
    fn default() -> Self {
        Self {
            counters: Counters::default(),
            blocks: BlockSampler::default(),
            room: TEXT_BYTES,
            gathered: [0; GATHERED + LONGEST + 8],
            length: 0,
            before: 0,
        }
    }
}

impl SimHasher {
    /// Takes the next piece of the text.
    #[inline]
    pub fn feed(&mut self, text: &[u8]) {
        let mut text = &text[..text.len().min(self.room)];
        self.room -= text.len();
        if text.len() <= SHORT && self.length + SHORT < GATHERED {
            copy_short(text, &mut self.gathered[self.length..]);
            self.length += text.len();
            return;
        }
        while !text.is_empty() {
            let (now, rest) = text.split_at(text.len().min(GATHERED - self.length));
            self.gathered[self.length..self.length + now.len()].copy_from_slice(now);
            self.length += now.len();
            text = rest;
            if self.length == GATHERED {
                let read = self.read(false);
                self.gathered.copy_within(read..GATHERED, 0);
                self.length -= read;
            }
        }
    }

    /// The text has ended: its fingerprint, where it has [`LEAST_WORDS`]. Ready for another one.
    pub fn finish(&mut self) -> Option<u64> {
        self.finish_with_blocks().map(|(simhash, _)| simhash)
    }

    /// The same, and the list of its blocks (see [`Block`]).
    pub fn finish_with_blocks(&mut self) -> Option<(u64, Vec<Block>)> {
        self.read(true);
        let blocks = self.blocks.finish();
        let simhash = (self.counters.added >= LEAST_WORDS).then(|| self.counters.majority());
        self.counters = Counters::default();
        (self.room, self.length, self.before) = (TEXT_BYTES, 0, 0);
        Some((simhash?, blocks))
    }

    /// Reads what was gathered, all of it if it is the last; else what may go on is left. Says how much was read.
    fn read(&mut self, last: bool) -> usize {
        let mut at = 0;
        while at < self.length {
            let (read, stopped) = self.read_letters(at, last);
            at += read;
            match stopped {
                Stopped::Goes => {}
                Stopped::Open => return at,
                Stopped::Foreign => match self.read_foreign(at, last) {
                    0 => return at,
                    read => at += read,
                },
            }
        }
        at
    }

    /// Reads the words of nothing but ASCII in the next 64 bytes; how far, and why no further.
    #[inline]
    fn read_letters(&mut self, at: usize, last: bool) -> (usize, Stopped) {
        let left = (self.length - at).min(64);
        let Some(block) = self.gathered[at..].first_chunk::<64>() else { return (left, Stopped::Goes) };
        let (mut letters, mut foreign) = kinds(block);
        if left < 64 {
            letters &= (1 << left) - 1;
            foreign &= (1 << left) - 1;
        }
        let end = if foreign == 0 { left } else { foreign.trailing_zeros() as usize };
        while letters != 0 {
            let start = letters.trailing_zeros() as usize;
            if start >= end {
                break;
            }
            // adding one at its beginning carries through a run of letters
            let carried = letters.wrapping_add(1 << start);
            let stop = (carried & !letters).trailing_zeros() as usize;
            if stop >= end {
                // it may go on behind what was looked at
                match () {
                    () if foreign != 0 => return (start, Stopped::Foreign),
                    () if stop - start == LONGEST || (last && at + left == self.length && left < 64) => {}
                    () if start > 0 && left == 64 => return (start, Stopped::Goes),
                    () if !last => return (start, Stopped::Open),
                    () => {}
                }
            }
            let number = number(&self.gathered[at + start..], stop - start);
            self.add(number);
            letters &= carried;
        }
        (end, if foreign == 0 { Stopped::Goes } else { Stopped::Foreign })
    }

    /// Reads words up to the next separator among ASCII, character by character; how far. Nothing where
    /// the first may go on behind what was gathered.
    #[cold]
    fn read_foreign(&mut self, from: usize, last: bool) -> usize {
        let mut at = from;
        while at < self.length {
            let text = &self.gathered[at..self.length];
            let (kind, length) = token(text);
            if !last && length == text.len() && length < LONGEST {
                break;
            }
            if kind == Kind::Word {
                let number = number(&self.gathered[at..], length);
                self.add(number);
            }
            at += length;
            if kind == Kind::Separator {
                break;
            }
        }
        at - from
    }

    /// Adds the pair of the word of this number and the one before it.
    #[inline]
    fn add(&mut self, number: u64) {
        let pair = mix(number, self.before);
        self.counters.add(pair);
        self.blocks.add(number, pair);
        self.before = number;
    }
}

/// Copies a text of [`SHORT`] bytes or fewer: its first and its last bytes, which may overlap.
#[inline]
fn copy_short(text: &[u8], to: &mut [u8]) {
    #[inline]
    fn both_ends<const WIDTH: usize>(text: &[u8], to: &mut [u8]) {
        let ends = (text.first_chunk::<WIDTH>(), text.last_chunk::<WIDTH>());
        if let (Some(first), Some(last)) = ends {
            to[..WIDTH].copy_from_slice(first);
            to[text.len() - WIDTH..text.len()].copy_from_slice(last);
        }
    }
    match text {
        [] => {}
        &[only] => to[0] = only,
        &[first, .., last] if text.len() < 4 => (to[0], to[1], to[text.len() - 1]) = (first, text[1], last),
        _ if text.len() < 8 => both_ends::<4>(text, to),
        _ if text.len() < 16 => both_ends::<8>(text, to),
        _ => both_ends::<16>(text, to),
    }
}

/// Why reading of letters went no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// There may be more behind.
    Goes,
    /// The word may go on in what is not gathered yet.
    Open,
    /// Something else than ASCII comes, or a word that it is part of.
    Foreign,
}

/// The number of a word of this length; at least 8 bytes must stand behind its last whole group.
#[inline]
fn number(text: &[u8], length: usize) -> u64 {
    let group = |from: usize| {
        let eight = text[from..].first_chunk::<8>().copied().unwrap_or_default();
        lower_case(u64::from_le_bytes(eight))
    };
    let (mut hash, mut from) = (0, 0);
    while length - from > 8 {
        hash = mix(hash, group(from));
        from += 8;
    }
    hash ^ (group(from) & (u64::MAX >> (64 - 8 * (length - from))))
}

/// Letters of ASCII in lower case; the bytes of other characters stay as they are.
#[inline]
fn lower_case(eight: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // no byte of a word is ASCII but its letters
    eight | ((!eight & (ONES * 0x80)) >> 2)
}

/// What a character, or a run of some, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    /// It separates, and is ASCII.
    Separator,
    /// It separates.
    Gap,
}

/// What a text that is not empty begins with, and its length.
fn token(text: &[u8]) -> (Kind, usize) {
    let inner = |from: usize| text[from..].iter().take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    match text[0] {
        0xc2 | 0xe2 | 0xee | 0xef => (Kind::Gap, 1 + inner(1)),
        0xe3..=0xed | 0xf0..=0xff => (Kind::Word, 1 + inner(1).min(3)),
        byte if byte.is_ascii() && !byte.is_ascii_alphabetic() => (Kind::Separator, 1),
        _ => {
            let part = |byte: &&u8| byte.is_ascii_alphabetic() || matches!(**byte, 0x80..=0xc1 | 0xc3..=0xe1);
            (Kind::Word, text.iter().take(LONGEST).take_while(part).count())
        }
    }
}

/// The bits in which two fingerprints differ.
pub fn distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}

/// Lets every bit depend on all of both: the halves of a product of 128 bits, put together.
#[inline]
pub(super) fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one ^ 0x9E37_79B9_7F4A_7C15) * u128::from(other ^ 0xBF58_476D_1CE4_E5B9);
    product as u64 ^ (product >> 64) as u64
}

/// Numbers that are added at once.
const AT_ONCE: usize = 8;

/// 64 counters, one for each bit of what is added, kept digit by digit: word *d* holds digit *d*
/// of all of them, so that adding costs few operations for all 64 together. Eight numbers at a
/// time go in by carry-save adders (R. Harley's method, in H. Warren, Hacker's Delight, section 5-1).
#[derive(Debug, Clone, Default)]
struct Counters {
    digits: [u64; DIGITS],
    /// The last numbers, as many as `added` has beyond a multiple of eight.
    waiting: [u64; AT_ONCE],
    added: u32,
}

/// The digits of the sum of three: its ones and its twos.
#[inline]
fn sum(one: u64, two: u64, three: u64) -> (u64, u64) {
    let half = one ^ two;
    (half ^ three, (one & two) | (half & three))
}

impl Counters {
    #[inline]
    fn add(&mut self, number: u64) {
        self.waiting[self.added as usize % AT_ONCE] = number;
        self.added += 1;
        if (self.added as usize).is_multiple_of(AT_ONCE) {
            self.add_eight();
        }
    }

    fn add_eight(&mut self) {
        let new = self.waiting;
        let [ones, twos, fours, higher @ ..] = &mut self.digits;
        let (sum_1, two_1) = sum(*ones, new[0], new[1]);
        let (sum_1, two_2) = sum(sum_1, new[2], new[3]);
        let (sum_2, four_1) = sum(*twos, two_1, two_2);
        let (sum_1, two_1) = sum(sum_1, new[4], new[5]);
        let (sum_1, two_2) = sum(sum_1, new[6], new[7]);
        let (sum_2, four_2) = sum(sum_2, two_1, two_2);
        let (sum_4, mut carry) = sum(*fours, four_1, four_2);
        (*ones, *twos, *fours) = (sum_1, sum_2, sum_4);
        for digit in higher {
            (*digit, carry) = (*digit ^ carry, *digit & carry);
            if carry == 0 {
                break;
            }
        }
    }

    /// The bits that more than half of the numbers had.
    fn majority(&self) -> u64 {
        let mut digits = self.digits;
        for number in &self.waiting[..self.added as usize % AT_ONCE] {
            let mut carry = *number;
            for digit in &mut digits {
                (*digit, carry) = (*digit ^ carry, *digit & carry);
            }
        }
        // from the highest digit down: above half of what was added, or level with it so far
        let half = self.added / 2;
        let (mut above, mut level) = (0, u64::MAX);
        for (digit, &bits) in digits.iter().enumerate().rev() {
            if half >> digit & 1 == 0 {
                above |= level & bits;
                level &= !bits;
            } else {
                level &= bits;
            }
        }
        above
    }
}
