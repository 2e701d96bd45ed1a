//! How much more or less often a key was met than before: Count-Sketch.
//!
//! Source: M. Charikar, K. Chen, M. Farach-Colton, Finding Frequent Items in Data Streams (2002).

use super::rows::{MOST_DEPTH, Shape, encode_cells};
use super::{Estimate, MergeError};
use crate::store::{Decoder, Encoder, Malformed};

/// What is said of it in an error.
const NAME: &str = "Count-Sketch";

/// The share of estimates that may be out of their bounds.
const OUT_OF_BOUNDS: f64 = 0.05;

/// Sums up weights by key, negative ones too, in a table of fixed size.
///
/// Every other key of a cell is as likely added as subtracted there, so a sum is wrong in either direction alike, and
/// two tables can be subtracted. It is exact enough for keys that make up much of the Euclidean norm of all sums.
///
/// ```
/// use dragline::sketch::{CountSketch, fingerprint};
///
/// let (mut before, mut after) = (CountSketch::new(512, 5), CountSketch::new(512, 5));
/// before.add(fingerprint("a.test"), 100);
/// after.add(fingerprint("a.test"), 30);
/// let grown = after.subtract(&before)?;
/// assert_eq!(grown.estimate(fingerprint("a.test")).value, -70.0);
/// # Ok::<_, dragline::sketch::MergeError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CountSketch {
    shape: Shape,
    /// Row by row. They stop at the ends of their range.
    cells: Vec<i32>,
}

impl CountSketch {
    /// A table of so many columns and rows; of four million cells and 32 rows at most.
    pub fn new(width: usize, depth: usize) -> Self {
        let shape = Shape::new(width, depth);
        Self { shape, cells: vec![0; shape.cells()] }
    }

    /// Columns of the table.
    pub fn width(&self) -> usize {
        self.shape.width
    }

    /// Rows of the table.
    pub fn depth(&self) -> usize {
        self.shape.depth
    }

    /// Adds a weight to the sum of a fingerprint.
    pub fn add(&mut self, fingerprint: u64, weight: i64) {
        for (place, is_subtracted) in self.shape.places(fingerprint) {
            let weight = if is_subtracted { weight.saturating_neg() } else { weight };
            self.cells[place] = limited(weight.saturating_add(i64::from(self.cells[place])));
        }
    }

    /// By how much the sum of a key is off, in one case of twenty at most. Looks at the whole table.
    ///
    /// What other keys add to a key's cell is spread as what stands in all cells. So the numbers in the table tell what
    /// only so small a share of them exceeds that in so few cases half of the rows are off by more, and with them their
    /// median.
    pub fn off_by(&self) -> f64 {
        let mut sizes: Vec<u32> = self.cells.iter().map(|cell| cell.unsigned_abs()).collect();
        let exceeding = (chance_of_a_row(self.shape.depth) * sizes.len() as f64) as usize;
        let place = sizes.len() - 1 - exceeding.min(sizes.len() - 1);
        f64::from(*sizes.select_nth_unstable(place).1)
    }

    /// The sum of a fingerprint. Looks at the whole table; who asks for many asks once what sums are
    /// [off by](Self::off_by), and for each [`estimate_within`](Self::estimate_within).
    pub fn estimate(&self, fingerprint: u64) -> Estimate {
        self.estimate_within(fingerprint, self.off_by())
    }

    /// The sum of a fingerprint, where sums are off by so much.
    pub fn estimate_within(&self, fingerprint: u64, off_by: f64) -> Estimate {
        let mut sums = [0.0; MOST_DEPTH];
        for (sum, (place, is_subtracted)) in sums.iter_mut().zip(self.shape.places(fingerprint)) {
            let cell = f64::from(self.cells[place]);
            *sum = if is_subtracted { -cell } else { cell };
        }
        let value = median(&mut sums[..self.shape.depth]);
        Estimate { value, lower: value - off_by, upper: value + off_by }
    }

    fn combined(&self, other: &Self, combine: fn(i64, i64) -> i64) -> Result<Self, MergeError> {
        MergeError::unless_equal(NAME, "width", &self.shape.width, &other.shape.width)?;
        MergeError::unless_equal(NAME, "depth", &self.shape.depth, &other.shape.depth)?;
        let both = self.cells.iter().zip(&other.cells);
        let cells = both.map(|(one, other)| limited(combine(i64::from(*one), i64::from(*other)))).collect();
        Ok(Self { shape: self.shape, cells })
    }

    /// The sums of this one less those of another.
    ///
    /// # Errors
    /// [`MergeError`] where the other has another size.
    pub fn subtract(&self, other: &Self) -> Result<Self, MergeError> {
        self.combined(other, |one, other| one - other)
    }

    /// Adds the sums of another one.
    ///
    /// # Errors
    /// [`MergeError`] where the other has another size.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        *self = self.combined(other, |one, other| one + other)?;
        Ok(())
    }

    /// Bytes that it takes, from the first key to the last.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.cells.len() * size_of::<i32>()
    }

    /// Its bytes: width, depth, and the cells, of which the sign is the lowest bit.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder(&mut bytes);
        self.shape.encode(&mut encoder);
        encode_cells(self.cells.iter().map(|cell| u64::from((cell << 1 ^ cell >> 31) as u32)), &mut encoder);
        bytes
    }

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut decoder = Decoder(bytes);
        let shape = Shape::decode(&mut decoder)?;
        let signed = |cell| u32::try_from(cell).map(|cell| (cell >> 1) as i32 ^ -((cell & 1) as i32));
        let cells = shape.decode_cells(&mut decoder, |cell| signed(cell).map_err(|_| Malformed))?;
        Ok(Self { shape, cells })
    }
}

fn limited(sum: i64) -> i32 {
    sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 { numbers[middle] } else { f64::midpoint(numbers[middle - 1], numbers[middle]) }
}

/// The chance with which each of so many rows may be off, for half of them to be so in one case of twenty.
fn chance_of_a_row(rows: usize) -> f64 {
    let (mut safe, mut risky) = (0.0, 1.0);
    for _ in 0..30 {
        let chance = f64::midpoint(safe, risky);
        if chance_of_half(rows, chance) <= OUT_OF_BOUNDS { safe = chance } else { risky = chance }
    }
    safe
}

/// The chance that half of so many come about, or more, where each does with a chance.
fn chance_of_half(trials: usize, chance: f64) -> f64 {
    let (trials, least) = (trials as i32, trials.div_ceil(2) as i32);
    let mut ways = 1.0;
    let mut sum = 0.0;
    for come in 0..=trials {
        if come >= least {
            sum += ways * chance.powi(come) * (1.0 - chance).powi(trials - come);
        }
        ways *= f64::from(trials - come) / f64::from(come + 1);
    }
    sum
}
