//! Which of many fingerprints are near to each other: all pairs, exactly, in memory of so many bytes each.
//!
//! Source: M. Norouzi, A. Punjani, D. Fleet, Fast Exact Search in Hamming Space with Multi-Index
//! Hashing (2014), after the tables of Manku, Jain and Das Sarma (2007). A fingerprint is cut into four parts of 16 bits.
//! Two that differ in 4*r* + *a* bits at most (*a* < 4) differ in *r* bits at most in one of the first *a* + 1 parts,
//! or in *r* − 1 in one of the others: else there would be more in all. So for each part
//! fingerprints are laid out by it, and only those are compared whose parts are as near as that.
//!
//! It must not know what the fingerprints are of.

use super::simhash::distance;

/// Bits in which two fingerprints may differ, at most.
pub const MOST_DISTANCE: u32 = 10;

/// Bytes that the search takes for each fingerprint, beside the fingerprint itself.
pub const SEARCH_BYTES: usize = size_of::<u64>() + size_of::<u32>();

/// Parts of a fingerprint.
const PARTS: u32 = 4;

/// Values that a part may have.
const VALUES: usize = 1 << 16;

fn part(fingerprint: u64, number: u32) -> usize {
    (fingerprint >> (16 * number)) as u16 as usize
}

/// Bits in which a part may differ for all of it to be within the distance; none where it need not be looked at.
fn radius(most: u32, number: u32) -> Option<u32> {
    if number <= most % PARTS { Some(most / PARTS) } else { (most / PARTS).checked_sub(1) }
}

/// Fingerprints laid out by one part.
struct Laid {
    /// Where those of each value begin.
    starts: Vec<u32>,
    fingerprints: Vec<u64>,
    places: Vec<u32>,
}

impl Laid {
    fn new(fingerprints: &[u64]) -> Self {
        let count = fingerprints.len();
        Self { starts: vec![0; VALUES + 1], fingerprints: vec![0; count], places: vec![0; count] }
    }

    fn lay(&mut self, fingerprints: &[u64], number: u32) {
        self.starts.fill(0);
        for fingerprint in fingerprints {
            self.starts[part(*fingerprint, number)] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        // from the last down, so that each start ends where its first one is
        for (place, fingerprint) in fingerprints.iter().enumerate().rev() {
            let start = &mut self.starts[part(*fingerprint, number)];
            *start -= 1;
            self.fingerprints[*start as usize] = *fingerprint;
            self.places[*start as usize] = place as u32;
        }
    }

    fn of(&self, value: usize) -> std::ops::Range<usize> {
        self.starts[value] as usize..self.starts[value + 1] as usize
    }
}

/// Shows every pair of fingerprints that differ in `most` bits or fewer, once, by their places (the smaller one
/// first), with the bits in which they differ.
///
/// There may be 2³² of them, and `most` may be [`MOST_DISTANCE`]. Equal ones are pairs like others,
/// so whoever may have many of them shows each once.
///
/// ```
/// use dragline::sketch::near_pairs;
///
/// let mut pairs = Vec::new();
/// near_pairs(&[0b0111, u64::MAX, 0b1100], 3, |one, other, distance| pairs.push((one, other, distance)));
/// assert_eq!(pairs, [(0, 2, 3)]);
/// ```
pub fn near_pairs(fingerprints: &[u64], most: u32, mut visit: impl FnMut(usize, usize, u32)) {
    let most = most.min(MOST_DISTANCE);
    let mut laid = Laid::new(fingerprints);
    for number in 0..PARTS {
        let Some(bits) = radius(most, number) else { break };
        laid.lay(fingerprints, number);
        // A pair that an earlier part has brought together is known.
        let is_new = |one: u64, other: u64| {
            (0..number).all(|earlier| {
                let differing = part(one ^ other, earlier).count_ones();
                radius(most, earlier).is_none_or(|bits| differing > bits)
            })
        };
        let mut compare = |one: usize, other: usize| {
            let (left, right) = (laid.fingerprints[one], laid.fingerprints[other]);
            let differing = distance(left, right);
            if differing <= most && is_new(left, right) {
                let (one, other) = (laid.places[one] as usize, laid.places[other] as usize);
                visit(one.min(other), one.max(other), differing);
            }
        };
        for change in (0..VALUES).filter(|change| change.count_ones() <= bits) {
            for value in (0..VALUES).filter(|value| value ^ change >= *value) {
                for one in laid.of(value) {
                    let others = laid.of(value ^ change);
                    let first = if change == 0 { one + 1 } else { others.start };
                    (first..others.end).for_each(|other| compare(one, other));
                }
            }
        }
    }
}

/// Things that are joined to groups, two at a time (R. Tarjan's disjoint sets, 1975).
#[derive(Debug)]
pub struct Groups(Vec<u32>);

impl Groups {
    /// So many things, each by itself.
    pub fn new(count: u32) -> Self {
        Self((0..count).collect())
    }

    /// Puts two things, and all that is in one group with either, into one group.
    pub fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other) as usize] = one.min(other);
    }

    /// The first thing of the group that this one is in.
    pub fn first(&mut self, mut thing: u32) -> u32 {
        while self.0[thing as usize] != thing {
            // on the way each is hung higher, so that ways stay short
            let above = self.0[self.0[thing as usize] as usize];
            self.0[thing as usize] = above;
            thing = above;
        }
        thing
    }
}
