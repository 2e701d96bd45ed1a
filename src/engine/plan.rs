//! From a configuration to sizes: how the budget is split, and what filter its share makes.

use std::path::Path;
use std::sync::Arc;

use super::crawl::SetupError;
use crate::budget::{self, Plan};
use crate::config::{Config, ConfigError, Dedup, Size};
use crate::frontier::{self, DiskFrontier};
use crate::stats::{CrawlSketches, SketchSizes};
use crate::store::{Decoder, StateError, Storage};
use crate::visited;
use crate::visited::{
    DiskKeysSettings, KnownSettings, MemoryKeys, Place, RestoreError, Sizing, SizingError, SortedSet,
    Visited, VisitedSettings, stretch_within,
};

/// Why a configuration cannot be given its memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] ConfigError),
    /// There is no such filter.
    #[error(transparent)]
    Sizing(#[from] SizingError),
    /// The system does not give the memory.
    #[error("the memory for the visited set cannot be had ({0}); give less --memory")]
    Memory(#[from] std::io::Error),
}

/// What the filter of a configuration is made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterPlan {
    /// At the start: `--expected-urls`, or little, so that a small crawl stays small.
    pub first: Sizing,
    /// At most, once it has grown; the filter it replaces finds room beside it.
    pub largest: Sizing,
}

/// URLs that a filter is made for at the start where nobody said how many to expect …
const FIRST_URLS: u64 = 250_000;
/// … unless it may never take more bytes than this: so little is had at once, and a crawl takes as
/// much memory for its first pages as for its millionth.
const SMALL: u64 = 4 << 20;

/// Splits the budget of a configuration and sizes its filter. With `--dedup exact` there is no
/// filter, and the sizes say what one would be.
///
/// # Errors
/// [`PlanError`] where the budget or the filter is impossible.
pub fn plan(config: &Config) -> Result<(Plan, FilterPlan), PlanError> {
    let mut inputs = config.budget_inputs();
    let below = |source| ConfigError::Memory { given: Size(config.memory).to_string(), source };
    if let Some(urls) = config.expected_urls {
        let sizing = match config.fp_rate {
            Some(rate) => Sizing::from_rate(config.filter, urls, rate)?,
            None => Sizing::from_bits_per_url(config.filter, urls, config.bits_per_url)?,
        };
        inputs.filter_bytes = None;
        if config.dedup == Dedup::TwoStage
            && let Ok(plan) = budget::plan(config.memory, &inputs)
            && let Ok(largest) = largest(config, &plan)
            && largest.bits >= sizing.bits
        {
            return Ok((plan, FilterPlan { first: sizing, largest }));
        }
        // More than the usual share, or a filter that cannot grow: it gets just what it needs.
        inputs.filter_bytes = Some(sizing.bytes());
        let plan = budget::plan(config.memory, &inputs).map_err(below)?;
        return Ok((plan, FilterPlan { first: sizing, largest: sizing }));
    }
    let plan = budget::plan(config.memory, &inputs).map_err(below)?;
    let largest = largest(config, &plan)?;
    let small = Sizing::from_bits_per_url(config.filter, FIRST_URLS, largest.bits_per_url())?;
    // What a filter that decides alone misses while it is small is lost, whatever it grows to later.
    let whole = config.dedup == Dedup::Bloom || largest.bytes() <= SMALL || small.bits > largest.bits;
    let first = if whole { largest } else { small };
    Ok((plan, FilterPlan { first, largest }))
}

/// One part in so many of the reserve may be taken by the seeds without anybody noticing.
const SEEDS_OF_RESERVE: u64 = 4;

/// The same where so many bytes are taken by the seeds; they are told with the process itself.
pub(super) fn plan_beside(config: &Config, seeds: u64) -> Result<(Plan, FilterPlan), PlanError> {
    let (whole, filter) = plan(config)?;
    let taken = seeds.saturating_sub(whole.reserve / SEEDS_OF_RESERVE);
    if taken == 0 {
        return Ok((whole, filter));
    }
    let rest = Config { memory: config.memory.saturating_sub(taken), ..config.clone() };
    match plan(&rest) {
        Ok((rest, filter)) => {
            let beside = Plan { total: whole.total, fixed: rest.fixed + taken, ..rest };
            Ok((beside, filter))
        }
        Err(PlanError::Budget(ConfigError::Memory { source, .. })) => {
            let smallest = (source.smallest + taken).next_multiple_of(1 << 20);
            let given = Size(config.memory).to_string();
            Err(ConfigError::Memory { given, source: budget::BelowFloor { smallest } }.into())
        }
        Err(error) => Err(error),
    }
}

/// The filters of what earlier crawls fetched take at most one part in so many of the budget.
const KNOWN_DIVISOR: u64 = 2;
/// Making one takes at most one part in so many of what is free before the crawl begins.
const MAKING_DIVISOR: u64 = 4;

/// The same where the pages of earlier crawls are known as well, and how their keys are held: behind a filter
/// where there is room for one, or else on disk alone.
pub(super) fn plan_knowing(
    config: &Config,
    seeds: u64,
    sets: &[SortedSet],
) -> Result<(Plan, FilterPlan, KnownSettings), PlanError> {
    let bytes = |known: KnownSettings| sets.iter().map(|set| known.memory_bytes(*set)).sum::<u64>();
    let free = config.memory.saturating_sub(budget::FIXED_BYTES + seeds);
    let filtered = KnownSettings { stretch: Some(stretch_within(free / MAKING_DIVISOR)) };
    if bytes(filtered) <= config.memory / KNOWN_DIVISOR
        && let Ok((plan, filter)) = plan_beside(config, seeds + bytes(filtered))
    {
        return Ok((plan, filter, filtered));
    }
    let bare = KnownSettings { stretch: None };
    let (plan, filter) = plan_beside(config, seeds + bytes(bare))?;
    Ok((plan, filter, bare))
}

/// The largest filter that its share holds, with room for the one it grows from.
fn largest(config: &Config, plan: &Plan) -> Result<Sizing, SizingError> {
    let bytes = match config.dedup {
        Dedup::TwoStage => plan.filter / 5 * 4,
        Dedup::Bloom => plan.filter,
        Dedup::Exact => plan.exact_table,
    };
    match config.fp_rate {
        Some(rate) => Sizing::from_memory_and_rate(config.filter, bytes, rate),
        None => Sizing::from_memory(config.filter, bytes, config.bits_per_url),
    }
}

/// The sketches of a configuration, empty.
pub(super) fn sketches(config: &Config, plan: &Plan) -> CrawlSketches {
    let sizes = SketchSizes::within(plan.sketches, config.link_count_error, config.link_count_risk);
    CrawlSketches::new(sizes)
}

/// Whether the share of the sketches holds those that a crawl has already, which take so many bytes.
///
/// # Errors
/// [`PlanError::Budget`] where it does not, with the smallest budget that would.
pub(super) fn check_sketches(config: &Config, shares: &Plan, bytes: u64) -> Result<(), PlanError> {
    if bytes <= shares.sketches {
        return Ok(());
    }
    let holds = |memory: &u64| {
        plan(&Config { memory: *memory, ..config.clone() }).is_ok_and(|(shares, _)| bytes <= shares.sketches)
    };
    let more = |more: u64| config.memory.next_multiple_of(1 << 20).saturating_add(more << 20);
    let smallest = (0..=MOST_MEBIBYTES_MORE).map(more).find(holds).unwrap_or(more(MOST_MEBIBYTES_MORE));
    let given = Size(config.memory).to_string();
    Err(ConfigError::Memory { given, source: budget::BelowFloor { smallest } }.into())
}

/// A budget that is larger by so many MiB has room for all sketches that options make.
const MOST_MEBIBYTES_MORE: u64 = 256;

/// The visited set of a configuration, empty.
pub(super) fn visited(config: &Config, plan: &Plan, filter: &FilterPlan) -> Result<Visited, PlanError> {
    let settings =
        VisitedSettings { dedup: config.dedup, sizing: filter.first, table_bytes: plan.exact_table };
    Ok(Visited::new(&settings, Box::new(MemoryKeys::new()))?)
}

/// What the doubts' share is spent on: one part in so many for keys that are not written yet …
const BATCH_PART: u64 = 4;
/// … one for the first keys of blocks …
const FENCE_PART: u64 = 8;
/// … and one for settling; the rest holds the doubts themselves.
const SETTLE_PART: u64 = 4;

/// The visited set of a configuration, with its keys and doubts on disk: empty, or as a manifest
/// tells of it.
pub(super) fn visited_on_disk(
    config: &Config,
    plan: &Plan,
    filter: &FilterPlan,
    place: &Place,
    state: Option<&[u8]>,
) -> Result<Visited, SetupError> {
    let settings =
        VisitedSettings { dedup: config.dedup, sizing: filter.first, table_bytes: plan.exact_table };
    let share = plan.doubts.max(LEAST_FOR_KEYS);
    let (batch_bytes, settle_bytes) = (share / BATCH_PART, share / SETTLE_PART);
    let fence_bytes = share / FENCE_PART;
    let disk = visited::DiskSettings {
        place: place.clone(),
        keys: DiskKeysSettings { batch_bytes, fence_bytes },
        doubts_bytes: share - batch_bytes - settle_bytes - fence_bytes,
        settle_bytes,
    };
    let Some(state) = state else {
        return Visited::create(&settings, &disk).map_err(|error| PlanError::Memory(error).into());
    };
    Visited::restore(&settings, &filter.largest, &disk, &mut Decoder(state)).map_err(|error| match error {
        RestoreError::Exact(error) => SetupError::State(error.0),
        RestoreError::Memory(error) => PlanError::Memory(error).into(),
        _ => StateError::damaged(&place.directory, 0, "the manifest says of it what makes no sense").into(),
    })
}

/// The least that exact keys and doubts get, in bytes, where the budget gives them no share of
/// their own.
const LEAST_FOR_KEYS: u64 = 64 << 10;

/// The frontier on disk: empty, or as a manifest tells of it.
pub(super) fn frontier_on_disk(
    plan: &Plan,
    storage: Arc<dyn Storage>,
    directory: &Path,
    state: Option<&[u8]>,
) -> Result<DiskFrontier, SetupError> {
    let settings = frontier::DiskSettings::within(plan.frontier);
    let frontier = match state {
        None => DiskFrontier::create(storage, directory, settings),
        Some(state) => DiskFrontier::restore(storage, directory, settings, &mut Decoder(state)),
    };
    frontier.map_err(|error| SetupError::Core(error.into()))
}
