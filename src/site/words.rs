//! The raw material of paths and texts: words, digits and repeatable bits.
//!
//! It must not know of pages or hosts.

/// Words of six to eight letters; a path of eight of them has about eighty bytes.
pub(super) const WORDS: [&str; 64] = [
    "harbour", "lantern", "meadows", "thicket", "estuary", "granite", "orchard", "sparrow", "furnace",
    "compass", "velvet", "timber", "voyager", "kestrel", "lighten", "glacier", "almanac", "bramble",
    "cascade", "drifter", "eastern", "foundry", "gateway", "heather", "islands", "journey", "kindred",
    "limpets", "mariner", "nothing", "outpost", "pasture", "quarries", "railways", "seasons", "terrace",
    "uplands", "viaduct", "weather", "yearling", "anchors", "brigades", "chimney", "dunlins", "evening",
    "farmyard", "gardens", "highland", "inkwell", "juniper", "knotted", "longboat", "moorland", "northern",
    "openings", "pebbles", "quietly", "riverbed", "saltings", "tidemark", "unbroken", "villages", "westward",
    "zephyrs",
];

/// The word that the low six bits choose.
pub(super) fn word(bits: u64) -> &'static str {
    WORDS[(bits & 63) as usize]
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
/// Number Generators, 2014): every bit of the argument reaches every bit of the result.
pub(super) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Appends a word with its first letter in upper case.
pub(super) fn push_capitalized(word: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(word.as_bytes());
    if let Some(first) = out.get_mut(start) {
        first.make_ascii_uppercase();
    }
}

/// Appends a number in decimal, with zeros in front up to `width` digits
/// (by hand: the formatting machinery costs more than the rest of a path).
pub(super) fn push_number(mut number: u32, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 10];
    let mut first = digits.len();
    while number > 0 || digits.len() - first < width.clamp(1, digits.len()) {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[first..]);
}
