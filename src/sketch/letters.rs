//! Which of 64 bytes are letters of ASCII, and which are no ASCII.
//!
//! One of the few modules with `unsafe`: an x86-64 processor compares sixteen bytes at once.
//! It must not know what a word is, or what letters are looked for.
#![allow(unsafe_code)]

/// Which of 64 bytes are ASCII letters, and which are no ASCII: a bit for each, the first one lowest.
#[inline]
pub(super) fn kinds(block: &[u8; 64]) -> (u64, u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of the architecture.
    let found = unsafe { by_sixteen(block) };
    #[cfg(not(target_arch = "x86_64"))]
    let found = by_eight(block);
    found
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn by_sixteen(block: &[u8; 64]) -> (u64, u64) {
    use std::arch::x86_64::{
        _mm_add_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let (mut letters, mut foreign) = (0, 0);
    for (place, sixteen) in block.as_chunks::<16>().0.iter().enumerate() {
        let sixteen = u128::from_le_bytes(*sixteen);
        let bytes = _mm_set_epi64x((sixteen >> 64) as i64, sixteen as i64);
        let lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        // so that they become the least of all signed bytes
        let shifted = _mm_add_epi8(lower, _mm_set1_epi8((0x80 - b'a') as i8));
        let is_letter = _mm_cmplt_epi8(shifted, _mm_set1_epi8(i8::MIN + 26));
        letters |= u64::from(_mm_movemask_epi8(is_letter) as u16) << (16 * place);
        foreign |= u64::from(_mm_movemask_epi8(bytes) as u16) << (16 * place);
    }
    (letters, foreign)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn by_eight(block: &[u8; 64]) -> (u64, u64) {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    // brings the high bits of eight bytes together
    let gather = |high: u64| (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let (mut letters, mut foreign) = (0, 0);
    for (place, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        // in each byte the high bit tells whether it is at or past the bound
        let lower = (eight | (ONES * 0x20)) & !HIGH;
        let from_a = lower + ONES * (0x80 - u64::from(b'a'));
        let past_z = lower + ONES * (0x7f - u64::from(b'z'));
        letters |= gather(from_a & !past_z & !eight & HIGH) << (8 * place);
        foreign |= gather(eight & HIGH) << (8 * place);
    }
    (letters, foreign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_is_told() {
        for byte in 0..=u8::MAX {
            for place in 0..64 {
                // what is around it is of the other kind
                let mut block = [if byte.is_ascii_alphabetic() { b'1' } else { b'z' }; 64];
                block[place] = byte;
                let bits = |is: fn(&u8) -> bool| {
                    (0..64).filter(|at| is(&block[*at])).fold(0, |bits, at| bits | 1_u64 << at)
                };
                let expected = (bits(u8::is_ascii_alphabetic), bits(|byte| !byte.is_ascii()));
                assert_eq!(kinds(&block), expected, "{byte} at {place}");
                assert_eq!(by_eight(&block), expected, "{byte} at {place}");
            }
        }
    }
}
