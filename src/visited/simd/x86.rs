//! The probes of x86-64: SSE2, AVX2, AVX-512.
//!
//! Owns how each finds and sets a key's bits in a block; the layout itself is defined by
//! [`super::set_one`], which they must agree with to the bit.
// one intrinsic after another: naming each in an import says nothing
#![allow(clippy::wildcard_imports)]

use std::arch::x86_64::*;

use super::{MULTIPLIERS, Tally, UrlKey, in_order, place_in, start_of};
use crate::visited::memory::Line;

/// The multipliers as eight 64-bit lanes.
static WIDE_MULTIPLIERS: Line = wide_multipliers();

const fn wide_multipliers() -> Line {
    let mut lanes = [0; 8];
    let mut index = 0;
    while index < 8 {
        lanes[index] = MULTIPLIERS[index] as u64;
        index += 1;
    }
    Line(lanes)
}

/// For each start of a run, `inside` in each word of it and 0 in the others.
fn runs(hashes: u32, inside: u64) -> [Line; 8] {
    std::array::from_fn(|start| {
        let covers = |word: usize| (word + 8 - start) & 7 < hashes as usize;
        Line(std::array::from_fn(|word| if covers(word) { inside } else { 0 }))
    })
}

/// Every bit of a word by its place: quicker to load than to shift without BMI2.
static BITS: [u64; 64] = bits();

const fn bits() -> [u64; 64] {
    let mut table = [0; 64];
    let mut place = 0;
    while place < 64 {
        table[place] = 1 << place;
        place += 1;
    }
    table
}

/// For each of eight masks, how many bits it has.
#[inline(always)]
fn bits_in_masks(masks: u64) -> u64 {
    let pairs = masks - ((masks >> 1) & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + ((pairs >> 2) & 0x3333_3333_3333_3333);
    (fours + (fours >> 4)) & 0x0F0F_0F0F_0F0F_0F0F
}

#[target_feature(enable = "sse2")]
pub(super) fn test_and_set_sse2(
    blocks: &mut [Line],
    hashes: u32,
    keys: impl Iterator<Item = UrlKey>,
    answer: impl FnMut(&[u8]),
) -> Tally {
    let runs = runs(hashes, u64::MAX);
    let probe = |block: &mut Line, key| probe_sse2(block, &runs[start_of(key)], key);
    in_order(blocks, keys, answer, probe, |counts| counts)
}

/// How many bits were set.
#[inline]
#[target_feature(enable = "sse2")]
fn probe_sse2(block: &mut Line, run: &Line, key: UrlKey) -> u8 {
    let place = std::ptr::from_mut(block).cast::<__m128i>();
    let run = std::ptr::from_ref(run).cast::<__m128i>();
    let bit = |word| BITS[place_in(word, key) as usize] as i64;
    let mut fresh = _mm_setzero_si128();
    for pair in 0..4 {
        // SAFETY: a `Line` is four aligned registers long; `block` is borrowed exclusively.
        unsafe {
            let bits = _mm_set_epi64x(bit(2 * pair + 1), bit(2 * pair));
            let bits = _mm_and_si128(bits, _mm_load_si128(run.add(pair)));
            let held = _mm_load_si128(place.add(pair));
            _mm_store_si128(place.add(pair), _mm_or_si128(held, bits));
            // the negative of a single bit has the sign set, that of zero has not
            let missing = _mm_sub_epi64(_mm_setzero_si128(), _mm_andnot_si128(held, bits));
            fresh = _mm_add_epi64(fresh, _mm_srli_epi64::<63>(missing));
        }
    }
    _mm_cvtsi128_si64(_mm_add_epi64(fresh, _mm_unpackhi_epi64(fresh, fresh))) as u8
}

#[target_feature(enable = "avx512f,avx2,bmi2")]
pub(super) fn test_and_set_avx512(
    blocks: &mut [Line],
    hashes: u32,
    keys: impl Iterator<Item = UrlKey>,
    answer: impl FnMut(&[u8]),
) -> Tally {
    // SAFETY: a `Line` is 64 aligned bytes, as the load demands.
    let multipliers = unsafe { _mm512_load_si512(std::ptr::from_ref(&WIDE_MULTIPLIERS).cast::<__m512i>()) };
    let ones = _mm512_set1_epi64(1);
    // byte s is the mask of the run that begins in word s
    let first = u8::MAX >> (8 - hashes);
    let runs = u64::from_le_bytes(std::array::from_fn(|start| first.rotate_left(start as u32)));
    let probe = |block: &mut Line, key: UrlKey| {
        let run = (runs >> (start_of(key) * 8)) as u8;
        let products = _mm512_mul_epu32(_mm512_set1_epi64(key as i64), multipliers);
        // a rotation counts modulo 64: of the product's bits 26 and up the low six remain
        let bits = _mm512_maskz_rolv_epi64(run, ones, _mm512_srli_epi64::<26>(products));
        let place = std::ptr::from_mut(block).cast::<__m512i>();
        // SAFETY: a `Line` is 64 aligned bytes and `block` is borrowed exclusively.
        let held = unsafe { _mm512_load_si512(place) };
        // SAFETY: as above.
        unsafe { _mm512_store_si512(place, _mm512_or_si512(held, bits)) };
        _mm512_mask_testn_epi64_mask(run, held, bits)
    };
    in_order(blocks, keys, answer, probe, bits_in_masks)
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn test_and_set_avx2(
    blocks: &mut [Line],
    hashes: u32,
    keys: impl Iterator<Item = UrlKey>,
    answer: impl FnMut(&[u8]),
) -> Tally {
    let multipliers = halves(&WIDE_MULTIPLIERS);
    let runs = runs(hashes, 1);
    let probe = |block: &mut Line, key: UrlKey| {
        let wide = _mm256_set1_epi64x(key as i64);
        let run = halves(&runs[start_of(key)]);
        let held = halves(block);
        let low = bits_avx2(wide, multipliers[0], run[0]);
        let high = bits_avx2(wide, multipliers[1], run[1]);
        let place = std::ptr::from_mut(block).cast::<__m256i>();
        // SAFETY: a `Line` is two aligned registers long and `block` is borrowed exclusively.
        unsafe {
            _mm256_store_si256(place, _mm256_or_si256(held[0], low));
            _mm256_store_si256(place.add(1), _mm256_or_si256(held[1], high));
        }
        fresh_avx2(held[0], low) | fresh_avx2(held[1], high) << 4
    };
    in_order(blocks, keys, answer, probe, bits_in_masks)
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(line: &Line) -> [__m256i; 2] {
    let place = std::ptr::from_ref(line).cast::<__m256i>();
    // SAFETY: a `Line` is 64 aligned bytes, two registers.
    unsafe { [_mm256_load_si256(place), _mm256_load_si256(place.add(1))] }
}

#[inline]
#[target_feature(enable = "avx2")]
fn bits_avx2(key: __m256i, multipliers: __m256i, run: __m256i) -> __m256i {
    let places = _mm256_srli_epi64::<26>(_mm256_mul_epu32(key, multipliers));
    let places = _mm256_and_si256(places, _mm256_set1_epi64x(63));
    _mm256_sllv_epi64(run, places)
}

/// One bit per word that `bits` would change.
#[inline]
#[target_feature(enable = "avx2")]
fn fresh_avx2(held: __m256i, bits: __m256i) -> u8 {
    // the negative of a single bit has the sign set, that of zero has not
    let missing = _mm256_sub_epi64(_mm256_setzero_si256(), _mm256_andnot_si256(held, bits));
    _mm256_movemask_pd(_mm256_castsi256_pd(missing)) as u8
}
