//! The inner loops of the blocked filter, one per instruction set, all with the same answers.
//!
//! Owns how a key's bits are found inside a block and how keys are probed one after
//! another; knows nothing of sizes, health or what a key is. One of the few modules
//! with `unsafe`.
//!
//! The split layout: a key sets one bit in each of `k` of the eight words of its block.
//! The run of words begins at a start taken from the key and wraps around; the bit in
//! word *i* is the top six bits of `low32(key) * MULTIPLIERS[i]`. It is the blocked filter
//! of Putze, Sanders, Singler ("Cache-, Hash- and Space-Efficient Bloom Filters", 2007)
//! with the bits of a key in distinct words, so that one vector operation finds them all.
#![allow(unsafe_code)]
// closures and helpers must become part of loops compiled for another instruction set
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
mod x86;

use super::memory::Line;
use crate::model::UrlKey;

/// Odd powers of the golden ratio's 32-bit fraction, one for each word of a block.
const MULTIPLIERS: [u32; 8] = multipliers();

const fn multipliers() -> [u32; 8] {
    const GOLDEN: u32 = 0x9E37_79B9;
    let mut powers = [GOLDEN; 8];
    let mut index = 1;
    while index < 8 {
        powers[index] = powers[index - 1].wrapping_mul(GOLDEN);
        index += 1;
    }
    powers
}

/// Keys whose lines are on their way while one is probed, and answers handed over at a time.
const GROUP: usize = 64;

/// Which instructions the filter's inner loop uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionSet {
    /// What every processor of the architecture has.
    Portable,
    /// AVX2 (with BMI2): a block in two registers.
    Avx2,
    /// AVX-512 F: a block in one register.
    Avx512,
}

impl InstructionSet {
    /// The widest one of this processor.
    pub fn detect() -> Self {
        Self::available().last().copied().unwrap_or(InstructionSet::Portable)
    }

    /// All that this processor has, narrowest first.
    pub fn available() -> &'static [InstructionSet] {
        const ALL: [InstructionSet; 3] =
            [InstructionSet::Portable, InstructionSet::Avx2, InstructionSet::Avx512];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            let wide = is_x86_feature_detected!("avx512f");
            return if wide { &ALL } else { &ALL[..2] };
        }
        &ALL[..1]
    }

    /// The name a person knows it by.
    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::Portable => "portable",
            InstructionSet::Avx2 => "AVX2",
            InstructionSet::Avx512 => "AVX-512",
        }
    }
}

/// What probing some keys changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Keys that set at least one bit.
    pub(super) new_keys: u64,
    /// Bits that were set.
    pub(super) new_bits: u64,
}

impl Tally {
    /// Adds one group's answers: for each key a byte that is zero where it set no bit.
    /// `bits_in` turns eight of them into eight numbers of bits.
    #[inline(always)]
    fn add(&mut self, answers: &[u8; GROUP], bits_in: impl Fn(u64) -> u64) {
        const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
        const ONES: u64 = 0x0101_0101_0101_0101;
        // no byte of the sums can overflow: eight times eight is 64
        let (mut keys, mut bits) = (0, 0);
        for eight in answers.chunks_exact(8) {
            let eight = u64::from_le_bytes(std::array::from_fn(|index| eight[index]));
            keys += ((((eight & LOW) + LOW) | eight) >> 7) & ONES;
            bits += bits_in(eight);
        }
        self.new_keys += sum_of_bytes(keys);
        self.new_bits += sum_of_bytes(bits);
    }
}

/// The sum of the eight bytes of a word, each at most 64.
#[inline(always)]
fn sum_of_bytes(word: u64) -> u64 {
    const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
    let pairs = (word & EVEN) + ((word >> 8) & EVEN);
    pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48
}

/// The block of a key: multiply-shift, so the key's high bits decide and nothing divides.
#[inline(always)]
pub(super) fn block_of(key: UrlKey, blocks: usize) -> usize {
    ((u128::from(key) * blocks as u128) >> 64) as usize
}

/// The word in which a key's run begins.
#[inline(always)]
fn start_of(key: UrlKey) -> usize {
    (key >> 32) as usize & 7
}

/// Which bit of a word the key sets there.
#[inline(always)]
fn place_in(word: usize, key: UrlKey) -> u32 {
    (key as u32).wrapping_mul(MULTIPLIERS[word]) >> 26
}

/// Asks for the line to be brought near, without waiting for it.
#[inline(always)]
pub(super) fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing architecturally and the address is a valid reference;
    // SSE is part of every x86-64 processor.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Whether all `hashes` bits of the key are set in its block.
#[inline]
pub(super) fn holds(block: &Line, hashes: u32, key: UrlKey) -> bool {
    let start = start_of(key);
    (0..hashes as usize).all(|step| {
        let word = (start + step) & 7;
        block.0[word] & 1 << place_in(word, key) != 0
    })
}

/// Sets the key's bits; how many of them were not set before. The definition of the layout.
#[inline]
pub(super) fn set_one(block: &mut Line, hashes: u32, key: UrlKey) -> u8 {
    let start = start_of(key);
    let mut fresh = 0;
    for step in 0..hashes as usize {
        let word = (start + step) & 7;
        let bit = 1 << place_in(word, key);
        fresh += u8::from(block.0[word] & bit == 0);
        block.0[word] |= bit;
    }
    fresh
}

/// Tests and sets keys in order. `answer` is given, up to [`GROUP`] keys at a time, a byte for
/// each key that is zero where it set no bit.
///
/// The line of a key is prefetched [`GROUP`] keys before it is probed, and keys are taken from
/// the iterator meanwhile, so that what it takes to make them (hashing a URL that is not
/// in the cache) hides what it takes to probe. `hashes` is 1 to 8; there is at least one block.
#[inline]
pub(super) fn test_and_set(
    set: InstructionSet,
    blocks: &mut [Line],
    hashes: u32,
    keys: impl Iterator<Item = UrlKey>,
    answer: impl FnMut(&[u8]),
) -> Tally {
    assert!(!blocks.is_empty() && (1..=8).contains(&hashes));
    #[cfg(target_arch = "x86_64")]
    match set {
        InstructionSet::Avx512 if InstructionSet::available().contains(&set) => {
            // SAFETY: the processor has every feature named there, just checked.
            unsafe { x86::test_and_set_avx512(blocks, hashes, keys, answer) }
        }
        InstructionSet::Avx2 if InstructionSet::available().contains(&set) => {
            // SAFETY: the processor has every feature named there, just checked.
            unsafe { x86::test_and_set_avx2(blocks, hashes, keys, answer) }
        }
        // SAFETY: SSE2 is part of every x86-64 processor.
        _ => unsafe { x86::test_and_set_sse2(blocks, hashes, keys, answer) },
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = set;
        in_order(blocks, keys, answer, |block, key| set_one(block, hashes, key), |counts| counts)
    }
}

/// Probes every key with `probe`; `bits_in` as in [`Tally::add`].
#[inline(always)]
fn in_order(
    blocks: &mut [Line],
    mut keys: impl Iterator<Item = UrlKey>,
    mut answer: impl FnMut(&[u8]),
    mut probe: impl FnMut(&mut Line, UrlKey) -> u8,
    bits_in: impl Fn(u64) -> u64,
) -> Tally {
    let count = blocks.len();
    let mut tally = Tally::default();
    let mut waiting = [0; GROUP];
    let mut answers = [0; GROUP];
    let mut filled = 0;
    for (place, key) in waiting.iter_mut().zip(&mut keys) {
        prefetch(&blocks[block_of(key, count)]);
        *place = key;
        filled += 1;
    }
    while filled == GROUP {
        filled = 0;
        for (place, answer) in waiting.iter_mut().zip(&mut answers) {
            let key = *place;
            // the probed key makes room for one that is yet to come; they stay in order,
            // as an iterator that has ended is not asked to go on
            if let Some(next) = keys.next() {
                prefetch(line_of(blocks, next));
                *place = next;
                filled += 1;
            }
            *answer = probe(line_of(blocks, key), key);
        }
        tally.add(&answers, &bits_in);
        answer(&answers);
    }
    answers = [0; GROUP];
    for (key, answer) in waiting[..filled].iter().zip(&mut answers) {
        *answer = probe(line_of(blocks, *key), *key);
    }
    tally.add(&answers, &bits_in);
    answer(&answers[..filled]);
    tally
}

/// The key's line, without a bounds check that could never fail.
#[inline(always)]
fn line_of(blocks: &mut [Line], key: UrlKey) -> &mut Line {
    let index = block_of(key, blocks.len());
    debug_assert!(index < blocks.len());
    // SAFETY: key < 2^64, so `key * len >> 64` is below `len`; callers have at least one block.
    unsafe { blocks.get_unchecked_mut(index) }
}
