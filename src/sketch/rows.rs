//! Where a key is counted in a table of several rows.
//!
//! Each row has a hash of its own, made from the fingerprint with fixed constants: sketches of different crawls
//! count the same key in the same cells.

use crate::store::{Decoder, Encoder, Malformed};

/// Names the hash in a file: another one, and sketches are not to be merged.
pub(super) const HASH: &str = "xxh3-64, rows-1";

/// Rows of a table at most.
pub(super) const MOST_DEPTH: usize = 32;
/// Cells of a table at most.
pub(super) const MOST_CELLS: usize = 1 << 22;

/// A number of each row. Source: S. Vigna, SplitMix64 (2015), from 0 on.
const ROWS: [u64; MOST_DEPTH] = {
    let mut rows = [0; MOST_DEPTH];
    let mut row = 0;
    while row < MOST_DEPTH {
        let mut mixed = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        rows[row] = mixed ^ mixed >> 31;
        row += 1;
    }
    rows
};

/// How large a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) width: usize,
    pub(super) depth: usize,
}

impl Shape {
    /// So many cells a row and rows, as far as there may be so many.
    pub(super) fn new(width: usize, depth: usize) -> Self {
        let depth = depth.clamp(1, MOST_DEPTH);
        Self { width: width.clamp(2, MOST_CELLS / depth), depth }
    }

    pub(super) fn cells(self) -> usize {
        self.width * self.depth
    }

    /// For each row the cell of a key, and a bit that is as good as thrown.
    #[inline]
    pub(super) fn places(self, fingerprint: u64) -> impl Iterator<Item = (usize, bool)> {
        (0..self.depth).map(move |row| {
            // the two halves of a product depend on all bits of both factors
            let product = u128::from(fingerprint ^ ROWS[row]) * u128::from(ROWS[row] | 1);
            let mixed = (product >> 64) as u64 ^ product as u64;
            let column = ((mixed >> 32) * self.width as u64) >> 32;
            (row * self.width + column as usize, mixed & 1 == 1)
        })
    }
}

impl Shape {
    /// Appends width and depth.
    pub(super) fn encode(self, encoder: &mut Encoder<'_>) {
        encoder.number(self.width as u64);
        encoder.number(self.depth as u64);
    }

    /// What was encoded, where a table may be so large.
    pub(super) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let shape = Self { width: decoder.small()?, depth: decoder.small()? };
        if shape == Self::new(shape.width, shape.depth) { Ok(shape) } else { Err(Malformed) }
    }

    /// The cells of a table, up to the end of the bytes.
    pub(super) fn decode_cells<Cell: Clone + Default>(
        self,
        decoder: &mut Decoder<'_>,
        cell: impl Fn(u64) -> Result<Cell, Malformed>,
    ) -> Result<Vec<Cell>, Malformed> {
        let mut cells = Vec::with_capacity(self.cells());
        while !decoder.is_empty() {
            match decoder.number()? {
                0 => {
                    let zeros = decoder.small::<usize>()?;
                    let is_room = zeros > 0 && zeros <= self.cells() - cells.len();
                    if !is_room {
                        return Err(Malformed);
                    }
                    cells.resize(cells.len() + zeros, Cell::default());
                }
                _ if cells.len() == self.cells() => return Err(Malformed),
                number => cells.push(cell(number)?),
            }
        }
        if cells.len() == self.cells() { Ok(cells) } else { Err(Malformed) }
    }
}

/// A table's cells as numbers, from the first to the last; of zeros in a row one, and how many.
pub(super) fn encode_cells(cells: impl Iterator<Item = u64>, encoder: &mut Encoder<'_>) {
    let mut zeros = 0_u64;
    for cell in cells {
        if cell == 0 {
            zeros += 1;
            continue;
        }
        encode_zeros(&mut zeros, encoder);
        encoder.number(cell);
    }
    encode_zeros(&mut zeros, encoder);
}

fn encode_zeros(zeros: &mut u64, encoder: &mut Encoder<'_>) {
    if *zeros > 0 {
        encoder.number(0);
        encoder.number(std::mem::take(zeros));
    }
}
