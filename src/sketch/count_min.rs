//! How often a key was met, at most: Count-Min.
//!
//! Source: G. Cormode and S. Muthukrishnan, An Improved Data Stream Summary: The Count-Min Sketch and its
//! Applications (2005); the conservative update: C. Estan and G. Varghese, New Directions in Traffic Measurement and
//! Accounting (2002).

use super::MergeError;
use super::rows::{MOST_DEPTH, Shape, encode_cells};
use crate::budget::link_count_shape;
use crate::store::{Decoder, Encoder, Malformed};

/// What is said of it in an error.
const NAME: &str = "Count-Min";

/// What becomes of a key's cells when it is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// Only those grow that would else be too low. Its counts are nearer to the truth.
    Conservative,
    /// Each grows. Merged sketches are what one sketch of the whole would be.
    Plain,
}

impl Update {
    /// As it stands in a file and in an error.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conservative => "conservative",
            Self::Plain => "plain",
        }
    }
}

impl std::fmt::Display for Update {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How often a key was met.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct CountEstimate {
    /// It was not met more often.
    pub at_most: u64,
    /// With the chance of `confidence` that is too much by no more than this.
    pub off_by: u64,
    /// From 0 to 1.
    pub confidence: f64,
}

impl CountEstimate {
    /// It was not met less often, with the chance of `confidence`.
    pub fn at_least(&self) -> u64 {
        self.at_most.saturating_sub(self.off_by)
    }

    /// Whether it may as well not have been met at all, so that nothing should be said about it.
    pub fn is_noise(&self) -> bool {
        self.at_most > 0 && self.at_least() == 0
    }
}

/// Counts keys in a table of fixed size, never too low.
///
/// A count is too high by what else was counted in the same cells. Of *N* in all it is so by more than *εN* for a share
/// of *δ* of the keys, at most; the conservative update comes closer, but gives no better warrant.
///
/// ```
/// use dragline::sketch::{CountMin, Update, fingerprint};
///
/// let mut links = CountMin::new(5e-4, 1e-2, Update::Conservative);
/// links.add(fingerprint("/a"), 3);
/// links.add(fingerprint("/b"), 1);
/// assert_eq!(links.estimate(fingerprint("/a")).at_most, 3);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CountMin {
    shape: Shape,
    mode: Update,
    total: u64,
    /// Row by row. One that is full stays so.
    cells: Vec<u32>,
}

impl CountMin {
    /// A table of ⌈e/`epsilon`⌉ columns and ⌈ln(1/`delta`)⌉ rows; of four million cells and 32 rows at most.
    pub fn new(epsilon: f64, delta: f64, mode: Update) -> Self {
        let (width, depth) = link_count_shape(epsilon, delta);
        Self::of_shape(Shape::new(width, depth), mode)
    }

    fn of_shape(shape: Shape, mode: Update) -> Self {
        Self { shape, mode, total: 0, cells: vec![0; shape.cells()] }
    }

    /// Columns of the table.
    pub fn width(&self) -> usize {
        self.shape.width
    }

    /// Rows of the table.
    pub fn depth(&self) -> usize {
        self.shape.depth
    }

    /// How it counts.
    pub fn mode(&self) -> Update {
        self.mode
    }

    /// Counts a fingerprint so often.
    #[inline]
    pub fn add(&mut self, fingerprint: u64, weight: u32) {
        self.total = self.total.saturating_add(u64::from(weight));
        match self.mode {
            Update::Conservative => self.raise(fingerprint, weight),
            Update::Plain => {
                for (place, _) in self.shape.places(fingerprint) {
                    self.cells[place] = self.cells[place].saturating_add(weight);
                }
            }
        }
    }

    fn raise(&mut self, fingerprint: u64, weight: u32) {
        let (mut places, mut least) = ([0; MOST_DEPTH], u32::MAX);
        for (kept, (place, _)) in places.iter_mut().zip(self.shape.places(fingerprint)) {
            *kept = place as u32;
            least = least.min(self.cells[place]);
        }
        let raised = least.saturating_add(weight);
        for place in &places[..self.shape.depth] {
            let cell = &mut self.cells[*place as usize];
            *cell = raised.max(*cell);
        }
    }

    /// How often a fingerprint was counted.
    pub fn estimate(&self, fingerprint: u64) -> CountEstimate {
        let cells = self.shape.places(fingerprint).map(|(place, _)| self.cells[place]);
        let least = cells.min().unwrap_or(u32::MAX);
        // a full cell may have missed some
        let at_most = if least == u32::MAX { self.total } else { u64::from(least).min(self.total) };
        let off_by = (std::f64::consts::E / self.shape.width as f64 * self.total as f64).ceil() as u64;
        CountEstimate { at_most, off_by, confidence: 1.0 - (-(self.shape.depth as f64)).exp() }
    }

    /// How much was counted in all, *N*.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds what another one counted, cell by cell.
    ///
    /// Of plain ones it makes what one of the whole would be. Of conservative ones it makes one that is still never
    /// too low and within the same bound, though further from the truth than one of the whole would be: in each of the two
    /// a key's cells are no lower than its count there, so their sums are no lower than its count in both; and no cell is
    /// higher than that of a plain sketch, so no sum is higher than that of the plain sketch of the whole, of which the
    /// bound speaks.
    ///
    /// # Errors
    /// [`MergeError`] where the other has another size or counts otherwise.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        MergeError::unless_equal(NAME, "width", &self.shape.width, &other.shape.width)?;
        MergeError::unless_equal(NAME, "depth", &self.shape.depth, &other.shape.depth)?;
        MergeError::unless_equal(NAME, "update", &self.mode, &other.mode)?;
        for (cell, other) in self.cells.iter_mut().zip(&other.cells) {
            *cell = cell.saturating_add(*other);
        }
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }

    /// Bytes that it takes, from the first key to the last.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.cells.len() * size_of::<u32>()
    }

    /// Its bytes: how it counts, width, depth, total, and the cells.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder(&mut bytes);
        encoder.byte(u8::from(self.mode == Update::Plain));
        self.shape.encode(&mut encoder);
        encoder.number(self.total);
        encode_cells(self.cells.iter().map(|cell| u64::from(*cell)), &mut encoder);
        bytes
    }

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut decoder = Decoder(bytes);
        let mode = match decoder.byte()? {
            0 => Update::Conservative,
            1 => Update::Plain,
            _ => return Err(Malformed),
        };
        let shape = Shape::decode(&mut decoder)?;
        let total = decoder.number()?;
        let cells = shape.decode_cells(&mut decoder, |cell| u32::try_from(cell).map_err(|_| Malformed))?;
        // no cell counts what was not counted
        if cells.iter().any(|cell| u64::from(*cell) > total) {
            return Err(Malformed);
        }
        Ok(Self { shape, mode, total, cells })
    }
}
