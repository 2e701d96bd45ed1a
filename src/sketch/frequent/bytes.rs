//! Reading the bytes of the library's sketches of frequent items, with limits.
//!
//! The library takes the memory that the bytes ask for, and adds up what stands there.
//! The layout: <https://datasketches.apache.org/docs/Frequency/FrequentItemsOverview.html>.

use datasketches::frequencies::{FrequentItemValue, FrequentItemsSketch};

use super::super::estimate::MOST_WEIGHT;
use super::MOST_PLACES;
use crate::store::Malformed;

/// All are counted down by the median of six or more, the greater one of two, so that at least three lose as much.
const COUNTED_DOWN: u64 = 3;

/// Refuses what the sketch's own bytes would not be.
pub(super) fn decode<Item: FrequentItemValue>(bytes: &[u8]) -> Result<FrequentItemsSketch<Item>, Malformed> {
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(Malformed)?;
    if header[3] > MOST_PLACES.ilog2() as u8 {
        return Err(Malformed);
    }
    let sketch = FrequentItemsSketch::<Item>::deserialize(bytes).map_err(|_| Malformed)?;
    // words: how many items, what was counted, by how much it may be off, and the weights of the items
    let weights = rest.as_chunks().0.iter().skip(3).take(sketch.num_active_items());
    let held: u64 = weights.map(|weight| u64::from_le_bytes(*weight)).sum();
    let total = sketch.total_weight();
    if total > MOST_WEIGHT || sketch.maximum_error() > (total - held) / COUNTED_DOWN {
        return Err(Malformed);
    }
    // an item that stands there twice, one without weight, and what is behind the last one are lost
    if sketch.serialize().len() == bytes.len() { Ok(sketch) } else { Err(Malformed) }
}
