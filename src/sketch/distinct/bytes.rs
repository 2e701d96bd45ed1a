//! Whether bytes are an HLL sketch in which everything agrees.
//!
//! The library refuses bytes that it cannot read, and believes what they say of themselves; a sketch in which a
//! register is said to stand out and is not listed would end the process later. So all that can be worked out
//! from the registers is worked out here, and held against what stands there.
//! The layout: <https://datasketches.apache.org/docs/HLL/HLL.html>.

use crate::store::Malformed;

/// Least and most binary logarithm of registers.
pub(super) const LEAST_LG_K: u8 = 4;
pub(super) const MOST_LG_K: u8 = 21;

const VERSION: u8 = 1;
const FAMILY: u8 = 7;
const IS_EMPTY: u8 = 4;
const IS_COMPACT: u8 = 8;
const IS_MERGED: u8 = 16;

/// Keys one by one, first in a list of this many places, then in a table of at least 2^5.
const LIST_PLACES: usize = 8;
const LEAST_LG_TABLE: u8 = 5;

/// In four bits: the register stands out so far that it is listed by itself.
const STANDS_OUT: u8 = 15;
/// No register is higher.
const HIGHEST: u8 = 63;

/// Refuses what [`encode`](super::Distinct::encode) cannot have made.
pub(super) fn check(bytes: &[u8]) -> Result<(), Malformed> {
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(Malformed)?;
    let [words, version, family, lg_k, lg_table, flags, state, mode] = *header;
    let is_known = version == VERSION && family == FAMILY && (LEAST_LG_K..=MOST_LG_K).contains(&lg_k);
    let holds = is_known
        && match (mode, words) {
            (0, 2) => lg_table == 3 && is_list(rest, state, flags),
            (1, 3) => state == 0 && flags == IS_COMPACT && is_table(rest, lg_k, lg_table)?,
            (2, 10) => lg_table == 0 && is_array(rest, lg_k, state, flags)?,
            _ => false,
        };
    if holds { Ok(()) } else { Err(Malformed) }
}

/// A register in its low 26 bits and its value in the others.
fn coupons(bytes: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    bytes.as_chunks().0.iter().map(|coupon| {
        let coupon = u32::from_le_bytes(*coupon);
        ((coupon & 0x3ff_ffff) as usize, (coupon >> 26) as u8)
    })
}

fn are_coupons(bytes: &[u8], count: usize) -> bool {
    bytes.len() == count * 4 && coupons(bytes).all(|(_, value)| value > 0)
}

fn is_list(coupons: &[u8], count: u8, flags: u8) -> bool {
    let empty = if count == 0 { IS_EMPTY } else { 0 };
    let count = usize::from(count);
    let (list, _) = coupons.as_chunks::<4>();
    let is_repeated = (1..list.len()).any(|place| list[..place].contains(&list[place]));
    flags == IS_COMPACT | empty && count < LIST_PLACES && are_coupons(coupons, count) && !is_repeated
}

fn is_table(rest: &[u8], lg_k: u8, lg_table: u8) -> Result<bool, Malformed> {
    let (count, coupons) = rest.split_first_chunk().ok_or(Malformed)?;
    let count = u32::from_le_bytes(*count) as usize;
    let is_sized = (LEAST_LG_TABLE..=lg_k.saturating_sub(3)).contains(&lg_table);
    // the next one past three quarters would have made it larger
    Ok(is_sized && count <= (1 << lg_table) / 4 * 3 && are_coupons(coupons, count))
}

/// The figures before the registers, which say again what the registers say.
struct Figures {
    history: f64,
    /// The sum of 2^-value of all registers below 32, and of the others.
    sums: [f64; 2],
    at_least_value: u32,
    standing_out: u32,
}

impl Figures {
    fn take(rest: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (numbers, rest) = rest.split_at_checked(24).ok_or(Malformed)?;
        let (counts, rest) = rest.split_at_checked(8).ok_or(Malformed)?;
        let number = |place: usize| f64::from_le_bytes(numbers.as_chunks().0[place]);
        let count = |place: usize| u32::from_le_bytes(counts.as_chunks().0[place]);
        let figures = Self {
            history: number(0),
            sums: [number(1), number(2)],
            at_least_value: count(0),
            standing_out: count(1),
        };
        Ok((figures, rest))
    }
}

fn is_array(rest: &[u8], lg_k: u8, least: u8, flags: u8) -> Result<bool, Malformed> {
    let (figures, rest) = Figures::take(rest)?;
    let (registers, listed) = rest.split_at_checked((1 << lg_k) / 2).ok_or(Malformed)?;
    if least > HIGHEST - STANDS_OUT {
        return Err(Malformed);
    }
    let is_history = match flags {
        flags if flags == IS_COMPACT => figures.history.is_finite() && figures.history >= 0.0,
        flags if flags == IS_COMPACT | IS_MERGED => figures.history.to_bits() == 0,
        _ => false,
    };
    let is_listed = are_coupons(listed, figures.standing_out as usize)
        && coupons(listed).all(|(register, value)| {
            register < 1 << lg_k
                && four_bits(registers, register) == STANDS_OUT
                && value >= least + STANDS_OUT
        });
    Ok(is_history && is_listed && agrees(&figures, registers, listed, least))
}

fn four_bits(registers: &[u8], register: usize) -> u8 {
    registers[register / 2] >> (4 * (register % 2)) & 15
}

/// Whether the figures are those of the registers. All sums are exact: they are multiples of 2^-31 below 2^22,
/// and of 2^-63 below 2^-10.
fn agrees(figures: &Figures, registers: &[u8], listed: &[u8], least: u8) -> bool {
    let mut of_bits = [0_u32; 16];
    for byte in registers {
        of_bits[usize::from(byte & 15)] += 1;
        of_bits[usize::from(byte >> 4)] += 1;
    }
    let mut sums = [0.0; 2];
    let mut add = |value: u8, count: u32| {
        sums[usize::from(value >= 32)] += f64::from(count) / (1_u64 << value) as f64;
    };
    for (bits, count) in (0..STANDS_OUT).zip(of_bits) {
        add(least + bits, count);
    }
    coupons(listed).for_each(|(_, value)| add(value, 1));
    figures.at_least_value == of_bits[0]
        && figures.at_least_value > 0
        && figures.standing_out == of_bits[usize::from(STANDS_OUT)]
        && figures.sums.map(f64::to_bits) == sums.map(f64::to_bits)
}
