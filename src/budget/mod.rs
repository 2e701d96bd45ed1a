//! How a budget of memory is split, and what the process really uses.
//!
//! Owns the arithmetic of `--memory`: what a crawl needs at least, and who gets
//! what of the rest. Must not know where the figures it is given come from.

mod lease;
mod machine;
mod process;
mod sketches;
mod system;
mod watch;

pub use lease::{Lease, LeasePool};
pub use machine::{GroupReading, available_memory, group_reading};
pub use process::{most_open_files, peak_resident_bytes, resident_bytes};
pub use sketches::{MOST_LINK_COUNTERS, SketchBytes, least_count_error, link_count_shape, link_counters};
pub use system::{allow_arenas, economize, release_unused};
pub use watch::{Change, Reading, Step, StepCounts, Watch};

/// What the process costs beside everything else, in bytes, where [`economize`] was called.
///
/// Measured as the peak of crawls of 3,000 pages over one connection: 5.3 MiB over http, 6.2 over
/// https with its certificate authorities; of that 3.1 MiB are code, 0.6 the first filter and queue.
pub const FIXED_BYTES: u64 = 6400 << 10;

/// What one request in flight costs for its connection and one more that is kept idle, in bytes.
///
/// Measured over 1 to 64 connections: 42 KiB each over http, of which 36 are the client's own
/// channel and buffers; 81 KiB each over https, where none is kept beside it.
pub const CONNECTION_BYTES: u64 = 88 << 10;

/// One part in so many of the budget stays unassigned, for what the allocator
/// holds between what is asked of it and what it takes from the system.
const RESERVE_DIVISOR: u64 = 16;

/// One part in so many of the budget may go to connections by default.
const CONNECTIONS_DIVISOR: u64 = 8;

/// What one body and its outcome can never need more than, in bytes: three layers of decoders with
/// the largest windows, and the most links of a page.
const MOST_OF_ONE: u64 = 96 << 20;

/// What the counts that traps are noticed by make use of at most, in bytes; the rest of their share goes to the
/// caches.
const MOST_OF_TRAPS: u64 = 512 << 10;

/// Sketches have the usual size where that takes no more of what is left than one part in so many.
const SKETCHES_DIVISOR: u64 = 3;

/// Stands for every total that no machine has, so that sums below it cannot overflow.
const OUT_OF_REACH: u64 = 1 << 60;

/// The least each part works with, in bytes.
mod least {
    pub(super) const FILTER: u64 = 64 << 10;
    pub(super) const EXACT_TABLE: u64 = 256 << 10;
    pub(super) const DOUBTS: u64 = 512 << 10;
    /// The smallest memtable, heads and tails of queues.
    pub(super) const FRONTIER: u64 = 2304 << 10;
    /// One robots.txt of full size and some hosts.
    pub(super) const CACHES: u64 = 768 << 10;
    /// Counts of some fifteen hundred paths, and of some hundred domains and branches.
    pub(super) const TRAPS: u64 = 72 << 10;
    /// What is leased: half of it for all, half for the one that has the overflow token.
    pub(super) const BODIES: u64 = 1536 << 10;
    /// What each request in flight holds without a lease: the beginning of its body, the buffers of
    /// its reader, and its outcome as long as that is small.
    pub(super) const BODY: u64 = 48 << 10;
}

/// Who decides whether a URL was seen; each needs other parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deciders {
    /// A filter, a table of exact keys, and doubts waiting on disk.
    FilterAndTable,
    /// A filter alone.
    Filter,
    /// A table of exact keys alone.
    Table,
}

impl Deciders {
    /// Shares of filter, exact table, doubts, frontier, caches, counts for traps and bodies in
    /// what is left once everyone has the least; of 100.
    fn weights(self) -> [u64; 7] {
        match self {
            Deciders::FilterAndTable => [34, 22, 8, 14, 7, 1, 14],
            Deciders::Filter => [56, 0, 0, 18, 9, 1, 16],
            Deciders::Table => [0, 56, 0, 18, 9, 1, 16],
        }
    }

    fn least(self) -> [u64; 3] {
        match self {
            Deciders::FilterAndTable => [least::FILTER, least::EXACT_TABLE, least::DOUBTS],
            Deciders::Filter => [least::FILTER, 0, 0],
            Deciders::Table => [0, least::EXACT_TABLE, 0],
        }
    }
}

/// What the split depends on, besides the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inputs {
    /// Connections that may stand at once.
    pub connections: u64,
    /// Who decides whether a URL was seen.
    pub deciders: Deciders,
    /// Bytes the filter must have; its share decides where absent.
    pub filter_bytes: Option<u64>,
    /// Bytes of the sketches.
    pub sketches: SketchBytes,
}

/// The budget is smaller than what these settings need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the smallest budget that works with these settings is {}MiB", .smallest >> 20)]
pub struct BelowFloor {
    /// The smallest total that works, in bytes: a whole number of MiB.
    pub smallest: u64,
}

/// A budget, split; every figure in bytes. The parts add up to the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// The whole budget.
    pub total: u64,
    /// The process itself: code, runtime, TLS.
    pub fixed: u64,
    /// Connections, their buffers and TLS state.
    pub connections: u64,
    /// The filter.
    pub filter: u64,
    /// Exact keys in memory.
    pub exact_table: u64,
    /// Doubts that wait to be settled.
    pub doubts: u64,
    /// Queues: the memtable, heads and tails, host order.
    pub frontier: u64,
    /// robots.txt rules, DNS answers, host state.
    pub caches: u64,
    /// What is counted to notice traps.
    pub traps: u64,
    /// What the crawl is told of in estimates.
    pub sketches: u64,
    /// Bodies and outcomes in flight.
    pub bodies: u64,
    /// What the allocator may hold beyond all that.
    pub reserve: u64,
}

impl Plan {
    /// Names and bytes of the parts, in the order of display; they add up to the total.
    pub fn parts(&self) -> [(&'static str, u64); 11] {
        [
            ("fixed", self.fixed),
            ("connections", self.connections),
            ("filter", self.filter),
            ("exact table", self.exact_table),
            ("doubts", self.doubts),
            ("frontier", self.frontier),
            ("caches", self.caches),
            ("traps", self.traps),
            ("sketches", self.sketches),
            ("bodies", self.bodies),
            ("reserve", self.reserve),
        ]
    }
}

/// How the share of bodies and outcomes in flight is used; in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// What all of them share, leased piece by piece.
    pub pool: u64,
    /// What one of them may hold at most: one at a time may pass the pool by so much.
    pub one: u64,
}

/// What fetching may hold beside connections; in bytes, but for the number of look-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchMemory {
    /// Bodies and outcomes.
    pub in_flight: InFlight,
    /// Answers of DNS that are remembered.
    pub answers: u64,
    /// Look-ups under way at a time, were each to ask one name server.
    pub lookups: usize,
    /// Cookies, where they are kept.
    pub cookies: u64,
}

/// Of the caches one part in so many is for what DNS said, …
const ANSWERS_DIVISOR: u64 = 8;
/// … one for cookies, where they are kept, and one for look-ups under way. Whoever has
/// the hosts takes three quarters.
const COOKIES_DIVISOR: u64 = 16;
const LOOKUPS_DIVISOR: u64 = 16;
/// What a look-up under way costs, in bytes: two questions, each put several times over sockets
/// with buffers of their own. Measured with 64 names that nobody answers for.
const LOOKUP_BYTES: u64 = 48 << 10;
/// Look-ups under way at least and at most, whatever the budget.
const LOOKUPS: std::ops::RangeInclusive<u64> = 16..=64;

impl Plan {
    /// What fetching may hold.
    pub fn fetch_memory(&self) -> FetchMemory {
        let lookups = self.caches / LOOKUPS_DIVISOR / LOOKUP_BYTES;
        FetchMemory {
            in_flight: self.in_flight(),
            answers: self.caches / ANSWERS_DIVISOR,
            lookups: lookups.clamp(*LOOKUPS.start(), *LOOKUPS.end()) as usize,
            cookies: self.caches / COOKIES_DIVISOR,
        }
    }

    /// How the share of bodies is used: every request has 48 KiB of it for itself.
    pub fn in_flight(&self) -> InFlight {
        let requests = self.connections / CONNECTION_BYTES;
        let shared = self.bodies.saturating_sub(requests.saturating_mul(least::BODY));
        let one = (shared / 2).min(MOST_OF_ONE);
        InFlight { pool: shared - one, one }
    }
}

/// The least bytes of filter, exact table, doubts, frontier, caches, counts for traps and bodies.
fn least_parts(inputs: &Inputs) -> [u64; 7] {
    let [filter, table, doubts] = inputs.deciders.least();
    let bodies = least::BODIES.saturating_add(inputs.connections.saturating_mul(least::BODY));
    let filter = filter.max(wanted_filter(inputs).unwrap_or(0));
    [filter, table, doubts, least::FRONTIER, least::CACHES, least::TRAPS, bodies]
}

/// The bytes of filter that were asked for, where there is a filter at all.
fn wanted_filter(inputs: &Inputs) -> Option<u64> {
    match inputs.deciders {
        Deciders::Table => None,
        Deciders::FilterAndTable | Deciders::Filter => inputs.filter_bytes,
    }
}

/// The smallest total that works with these settings, in bytes: a whole number of MiB.
pub fn floor(inputs: &Inputs) -> u64 {
    let parts = least_parts(inputs).iter().fold(inputs.sketches.least, |sum, part| sum.saturating_add(*part));
    let connections = inputs.connections.saturating_mul(CONNECTION_BYTES);
    let needed = parts.saturating_add(connections).saturating_add(FIXED_BYTES);
    // The reserve is a part of the total, so the total is what leaves `needed` beside it.
    let total = needed.saturating_add(needed.div_ceil(RESERVE_DIVISOR - 1));
    total.checked_next_multiple_of(1 << 20).unwrap_or(OUT_OF_REACH).min(OUT_OF_REACH)
}

/// Splits `total` bytes: everyone gets the least, what is left is shared by weight.
///
/// # Errors
/// [`BelowFloor`] where `total` is less than [`floor`] of the same inputs.
pub fn plan(total: u64, inputs: &Inputs) -> Result<Plan, BelowFloor> {
    let smallest = floor(inputs);
    if total < smallest || smallest == OUT_OF_REACH {
        return Err(BelowFloor { smallest });
    }
    let connections = inputs.connections.saturating_mul(CONNECTION_BYTES);
    let reserve = total / RESERVE_DIVISOR;
    let mut parts = least_parts(inputs);
    let mut free = total
        .saturating_sub(FIXED_BYTES)
        .saturating_sub(connections)
        .saturating_sub(reserve)
        .saturating_sub(inputs.sketches.least)
        .saturating_sub(parts.iter().sum());
    let mut sketches = inputs.sketches.least;
    let more = inputs.sketches.usual.saturating_sub(sketches);
    if more <= free / SKETCHES_DIVISOR {
        (free, sketches) = (free - more, sketches + more);
    }
    let mut weights = inputs.deciders.weights();
    if wanted_filter(inputs).is_some() {
        weights[0] = 0;
    }
    share(free, &weights, &mut parts);
    let [filter, exact_table, doubts, frontier, mut caches, mut traps, bodies] = parts;
    let unused = traps.saturating_sub(MOST_OF_TRAPS);
    (caches, traps) = (caches + unused, traps - unused);
    let assigned = FIXED_BYTES + connections + sketches + parts.iter().sum::<u64>();
    let reserve = total - assigned;
    Ok(Plan {
        total,
        fixed: FIXED_BYTES,
        connections,
        filter,
        exact_table,
        doubts,
        frontier,
        caches,
        traps,
        sketches,
        bodies,
        reserve,
    })
}

/// Adds to each part its share of `free`, rounded down.
fn share(free: u64, weights: &[u64; 7], parts: &mut [u64; 7]) {
    let sum: u64 = weights.iter().sum();
    for (part, weight) in parts.iter_mut().zip(weights) {
        *part += (u128::from(free) * u128::from(*weight) / u128::from(sum)) as u64;
    }
}

/// Connections to allow where the user named no number: `wanted`, or fewer
/// where their share of `total` (or what `total` leaves beside the least of
/// everything else) is smaller; at least one.
pub fn affordable_connections(total: u64, wanted: u64, inputs: &Inputs) -> u64 {
    let share = total / CONNECTIONS_DIVISOR / CONNECTION_BYTES;
    let mut connections = wanted.min(share).max(1);
    while connections > 1 && floor(&Inputs { connections, ..*inputs }) > total {
        connections -= 1;
    }
    connections
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn deciders() -> impl Strategy<Value = Deciders> {
        prop_oneof![Just(Deciders::FilterAndTable), Just(Deciders::Filter), Just(Deciders::Table)]
    }

    fn sketches() -> SketchBytes {
        SketchBytes::of(5e-4, 1e-2)
    }

    fn inputs() -> impl Strategy<Value = Inputs> {
        (1..5000_u64, deciders(), proptest::option::of(0..1_u64 << 36)).prop_map(
            |(connections, deciders, filter_bytes)| Inputs {
                connections,
                deciders,
                filter_bytes,
                sketches: sketches(),
            },
        )
    }

    proptest! {
        #[test]
        fn parts_add_up_and_hold_the_least(inputs in inputs(), beyond in 0..1_u64 << 40) {
            let total = floor(&inputs) + beyond;
            let plan = plan(total, &inputs).expect("at or above the floor");
            prop_assert_eq!(plan.parts().iter().map(|part| part.1).sum::<u64>(), total);
            let parts = [
                plan.filter, plan.exact_table, plan.doubts, plan.frontier, plan.caches, plan.traps, plan.bodies,
            ];
            for (part, least) in parts.iter().zip(least_parts(&inputs)) {
                prop_assert!(*part >= least);
            }
            if let Some(bytes) = wanted_filter(&inputs) {
                prop_assert_eq!(plan.filter, bytes.max(least::FILTER));
            }
            prop_assert!([inputs.sketches.least, inputs.sketches.usual].contains(&plan.sketches));
            prop_assert!(plan.reserve >= total / RESERVE_DIVISOR);
        }

        #[test]
        fn the_smallest_value_named_works_and_nothing_less(inputs in inputs(), total: u32) {
            let smallest = floor(&inputs);
            prop_assert!(smallest.is_multiple_of(1 << 20));
            prop_assert!(plan(smallest, &inputs).is_ok());
            prop_assert_eq!(plan(smallest - 1, &inputs), Err(BelowFloor { smallest }));
            if let Err(error) = plan(u64::from(total), &inputs) {
                prop_assert!(plan(error.smallest, &inputs).is_ok());
            }
        }

        #[test]
        fn connections_follow_from_the_budget(deciders in deciders(), total: u32) {
            let least = Inputs { connections: 1, deciders, filter_bytes: None, sketches: sketches() };
            let total = u64::from(total).max(floor(&least));
            let connections = affordable_connections(total, 32, &least);
            prop_assert!((1..=32).contains(&connections));
            let inputs = Inputs { connections, ..least };
            prop_assert!(plan(total, &inputs).is_ok());
        }
    }

    #[test]
    fn a_small_budget_is_enough() {
        let inputs = Inputs {
            connections: 8,
            deciders: Deciders::FilterAndTable,
            filter_bytes: None,
            sketches: sketches(),
        };
        assert!(floor(&inputs) <= 14 << 20, "{}", floor(&inputs));
        assert!(floor(&Inputs { connections: 32, ..inputs }) <= 17 << 20);
    }

    #[test]
    fn absurd_demands_are_refused_without_overflow() {
        let inputs = Inputs {
            connections: u64::MAX,
            deciders: Deciders::Filter,
            filter_bytes: Some(u64::MAX),
            sketches: sketches(),
        };
        assert!(plan(1 << 40, &inputs).is_err());
        assert!(plan(u64::MAX, &inputs).is_err());
    }
}
