//! The table, in parts by what goes wrong.

use super::row::{Row, Site};

mod answers;
mod busy;
mod codings;
mod endless;
mod framing;
mod heads;
mod redirects;
mod robots;
mod slow;
mod traps;

pub(super) use framing::late_surplus;
pub(super) use redirects::MOST_REDIRECTS;
pub(super) use traps::CAPS;

/// All rows.
pub(super) fn all(site: Site) -> Vec<Row> {
    [
        endless::rows(site),
        framing::lengths(site),
        framing::chunks(site),
        heads::heads(site),
        heads::statuses(),
        codings::rows(site),
        slow::rows(site),
        redirects::rows(site),
        redirects::guarded(site),
        busy::rows(),
        answers::rows(site),
        robots::rows(site),
        traps::rows(site),
    ]
    .into_iter()
    .flatten()
    .collect()
}
