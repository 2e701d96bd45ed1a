//! From a configuration to sizes: how the budget is split, and what filter its share makes.

use crate::budget::{self, Plan};
use crate::config::{Config, ConfigError, Dedup, Size};
use crate::visited::{MemoryKeys, Sizing, SizingError, Visited, VisitedSettings};

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

/// Splits the budget of a configuration and sizes its filter, which is made for
/// `--expected-urls` where that is given, and else for as many URLs as its share holds.
/// With `--dedup exact` there is no filter, and its sizing says what one would be.
///
/// # Errors
/// [`PlanError`] where the budget or the filter is impossible.
pub fn plan(config: &Config) -> Result<(Plan, Sizing), PlanError> {
    let mut inputs = config.budget_inputs();
    let below = |source| ConfigError::Memory { given: Size(config.memory).to_string(), source };
    if let Some(urls) = config.expected_urls {
        let sizing = match config.fp_rate {
            Some(rate) => Sizing::from_rate(config.filter, urls, rate)?,
            None => Sizing::from_bits_per_url(config.filter, urls, config.bits_per_url)?,
        };
        inputs.filter_bytes = Some(sizing.bytes());
        return Ok((budget::plan(config.memory, &inputs).map_err(below)?, sizing));
    }
    let plan = budget::plan(config.memory, &inputs).map_err(below)?;
    let bytes = if config.dedup == Dedup::Exact { plan.exact_table } else { plan.filter };
    let sizing = match config.fp_rate {
        Some(rate) => Sizing::from_memory_and_rate(config.filter, bytes, rate)?,
        None => Sizing::from_memory(config.filter, bytes, config.bits_per_url)?,
    };
    Ok((plan, sizing))
}

/// The visited set of a configuration, empty.
pub(super) fn visited(config: &Config, plan: &Plan, sizing: Sizing) -> Result<Visited, PlanError> {
    let settings = VisitedSettings { dedup: config.dedup, sizing, table_bytes: plan.exact_table };
    Ok(Visited::new(&settings, Box::new(MemoryKeys::new()))?)
}
