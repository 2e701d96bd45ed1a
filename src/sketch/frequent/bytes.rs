//! Reading the bytes of the library's sketches of frequent items, with limits.
//!
//! The library takes the memory that the bytes ask for, and adds up what stands there.
//! The layout: <https://datasketches.apache.org/docs/Frequency/FrequentItemsOverview.html>.

use datasketches::frequencies::{FrequentItemValue, FrequentItemsSketch};

use super::super::estimate::MOST_WEIGHT;
use super::MOST_PLACES;
use crate::store::Malformed;

/// Refuses what the sketch's own bytes would not be.
pub(super) fn decode<Item: FrequentItemValue>(bytes: &[u8]) -> Result<FrequentItemsSketch<Item>, Malformed> {
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(Malformed)?;
    if header[3] > MOST_PLACES.ilog2() as u8 {
        return Err(Malformed);
    }
    if let Some((numbers, _)) = rest.split_first_chunk::<24>() {
        let number = |place: usize| u64::from_le_bytes(numbers.as_chunks().0[place]);
        let (total, error) = (number(1), number(2));
        if total > MOST_WEIGHT || error > total {
            return Err(Malformed);
        }
    }
    let sketch = FrequentItemsSketch::deserialize(bytes).map_err(|_| Malformed)?;
    // an item that stands there twice, one without weight, and what is behind the last one are lost
    if sketch.serialize().len() == bytes.len() { Ok(sketch) } else { Err(Malformed) }
}
