//! The crawl itself: the owner's core, the workers, the loop between them, and the public builder.
//!
//! One owner decides; workers share nothing mutable. [`Crawl`] is the way in.

mod apply;
mod best_first;
mod buckets;
mod builder;
mod canonical;
mod core;
#[cfg(test)]
mod core_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod crash_tests;
mod crawl;
mod crawled;
mod delivery;
mod drive;
mod explain;
mod gather;
mod hashes;
mod inspect;
mod intake;
mod job;
mod journal;
mod judge;
mod keeper;
mod likeness;
mod lines;
mod names;
mod near_duplicates;
mod next;
mod observer;
mod plan;
mod pressure;
#[doc(hidden)]
pub mod probe;
mod recovery;
mod reporter;
mod robots;
mod robots_kept;
mod seed_file;
mod seeds;
mod settle;
mod setup;
mod shadow;
mod shutdown;
mod sitemap;
mod sketches;
mod skip;
mod state;
mod status;
mod timestamp;
mod together;
mod traps;
mod worker;

pub use builder::CrawlBuilder;
pub use core::CoreError;
pub use crawl::{Crawl, CrawlError, SetupError};
pub use explain::{Cause, ExplainError, Explanation, Fate, Found, Linked, Tried};
pub use near_duplicates::{Group, Member, NearDuplicates, NearDuplicatesError, PagesCompared, Search};
pub use observer::{Event, Observer, Silent, TrapAlarm, TrapKind};
pub use plan::{FilterPlan, PlanError, plan};
pub use robots::{RobotsError, robots_verdict};
pub use seeds::SeedSpool;
pub use shutdown::{StopHandle, Urgency};
pub use status::{Disk, FrontierStatus, Standing, Status, StatusError, Waiting};
pub use together::{AsOf, Compared, Merged, SharedUrls, Side, TogetherError, compare, merge};
