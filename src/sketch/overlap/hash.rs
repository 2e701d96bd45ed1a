//! The hash of Apache's Theta sketches.
//!
//! Source: A. Appleby, MurmurHash3, x64, 128 bits (2011), of which the first half is taken, for a key of
//! eight bytes; the seed is the default of the libraries.

const SEED: u64 = 9001;

/// Tells which seed the hashes are made with; stands in the bytes of a sketch.
pub(super) const SEED_HASH: u16 = murmur(SEED, 0) as u16;

/// The hash of a fingerprint: 63 bits, as Java has no more that are positive.
#[inline]
pub(super) const fn of(fingerprint: u64) -> u64 {
    murmur(fingerprint, SEED) >> 1
}

#[inline]
const fn murmur(key: u64, seed: u64) -> u64 {
    let mixed = key.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f);
    let length = size_of::<u64>() as u64;
    let first = (seed ^ mixed) ^ length;
    let second = seed ^ length;
    let first = first.wrapping_add(second);
    let second = second.wrapping_add(first);
    finish(first).wrapping_add(finish(second))
}

#[inline]
const fn finish(mut half: u64) -> u64 {
    half = (half ^ half >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    half = (half ^ half >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    half ^ half >> 33
}
