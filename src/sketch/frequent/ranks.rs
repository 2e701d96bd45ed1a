//! Which of several counts are certainly in their order.

use datasketches::frequencies::Row;

/// The place of each, counted from 1, where the bounds leave no doubt about it.
///
/// The rows come in the order of their lower bounds, and all bounds are alike wide, so that it is enough to look at
/// the neighbours. What is not held at all occurred `unseen` times, at most.
pub(super) fn of<Item>(rows: &[Row<Item>], unseen: u64) -> Vec<Option<usize>> {
    let is_certain = |place: usize| {
        let row = &rows[place];
        let before = place.checked_sub(1).is_none_or(|before| rows[before].lower_bound() > row.upper_bound());
        let after = rows.get(place + 1).is_none_or(|after| row.lower_bound() > after.upper_bound());
        before && after && (unseen == 0 || row.lower_bound() > unseen)
    };
    (0..rows.len()).map(|place| is_certain(place).then_some(place + 1)).collect()
}
