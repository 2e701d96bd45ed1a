//! Where a crawl stands, in figures, and the warnings that follow from them.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::core::{Core, CoreError};
use super::observer::{Event, Observer};
use super::worker::Shared;
use crate::budget::{Plan, peak_resident_bytes, resident_bytes};
use crate::frontier::Moment;
use crate::sink::CrawlDirectory;
use crate::stats::{Bytes, EndReason, FilterState, Memory, Notes, Pages, Requests, Snapshot, Summary, Urls};

/// Cache lines of the filter looked at in one tick: about half a millisecond.
const LINES_AT_A_TIME: usize = 16_384;

/// Tells observer and crawl directory how a crawl is going.
pub(crate) struct Reporter {
    shared: Arc<Shared>,
    plan: Plan,
    started: Instant,
    next_line: Moment,
}

impl Reporter {
    pub(crate) fn new(shared: Arc<Shared>, plan: Plan, started: Instant) -> Self {
        let next_line = Moment::START.after(shared.config.stats_interval);
        Self { shared, plan, started, next_line }
    }

    /// To be called several times a second.
    pub(crate) fn tick(
        &mut self,
        core: &mut Core,
        now: Moment,
        observer: &mut dyn Observer,
        directory: Option<&mut CrawlDirectory>,
    ) -> Result<(), CoreError> {
        // A part of the filter each time, so that no tick takes long.
        core.visited().refresh(LINES_AT_A_TIME);
        if let Some(crossing) = core.visited().take_crossing()
            && let Some(health) = core.visited().health()
        {
            observer.event(&Event::FilterHealth { verdict: crossing.to, sentence: health.sentence() });
        }
        let snapshot = self.snapshot(core);
        observer.snapshot(&snapshot);
        if let Some(directory) = directory
            && now >= self.next_line
        {
            self.next_line = self.next_line.after(self.shared.config.stats_interval).max(now);
            directory.statistics(&snapshot)?;
            core.statistics_bytes = directory.statistics_bytes();
        }
        Ok(())
    }

    /// Where things stand.
    pub(crate) fn snapshot(&self, core: &mut Core) -> Snapshot {
        let filter = filter(core);
        let estimates = Some(core.sketches.portrait(false));
        let counters = core.counters();
        Snapshot {
            pages: Pages {
                fetched: counters.records(),
                ok: counters.ok,
                failed: counters.failed,
                by_status: counters.by_status.clone(),
                by_error: counters.by_error.clone(),
            },
            urls: Urls {
                discovered: counters.discovered,
                unique: counters.unique,
                repeats: counters.repeats,
                doubts_pending: core.doubts_pending(),
                doubts_settled: counters.doubts_settled,
                rescued: counters.rescued,
                queued: core.queued(),
                in_flight: core.pages_in_flight(),
                skipped_before_queue: counters.skipped_before_queue.iter().collect(),
                skipped_after_queue: counters.skipped_after_queue.iter().collect(),
                examples: BTreeMap::new(),
            },
            requests: Requests {
                pages: counters.page_requests,
                retries: counters.retries,
                robots: counters.robots_requests,
            },
            notes: Notes {
                truncated: counters.truncated,
                mislabelled_encodings: counters.mislabelled_encodings,
                depth_shadowed: counters.depth_shadowed,
                scope_moves: counters.scope_moves,
                crawl_delays_clamped: counters.crawl_delays_clamped,
                hosts_forgotten: counters.hosts_forgotten,
                sitemaps: counters.sitemaps,
                sitemap_entries: counters.sitemap_entries,
                sitemaps_cut: counters.sitemaps_cut,
                sitemaps_too_large: counters.sitemaps_too_large,
                traps: counters.traps,
                cookies_dropped: self.shared.fetcher.cookies_dropped(),
            },
            filter,
            estimates,
            memory: Memory {
                budget_bytes: self.shared.config.memory,
                rss_bytes: resident_bytes(),
                peak_rss_bytes: peak_resident_bytes(),
                steps: *self.shared.steps.lock().unwrap_or_else(PoisonError::into_inner),
                plan: None,
            },
            bytes: Bytes { wire: counters.wire_bytes, decoded: counters.decoded_bytes },
            elapsed: core.elapsed_before() + self.started.elapsed(),
        }
    }

    /// The last word.
    pub(crate) fn summary(&self, core: &mut Core, end: EndReason) -> Summary {
        let mut totals = self.snapshot(core);
        totals.memory.rss_bytes = None;
        totals.memory.plan = Some(self.plan);
        totals.urls.examples = core.examples.to_map();
        totals.estimates = Some(core.sketches.portrait(true));
        let nothing = end == EndReason::Done && totals.pages.ok == 0;
        let end_reason = if nothing { EndReason::NothingFetched } else { end };
        Summary { end_reason, totals }
    }
}

fn filter(core: &mut Core) -> Option<FilterState> {
    let health = core.visited().health()?;
    Some(FilterState {
        dedup: health.dedup,
        kind: health.kind,
        bits: health.bits,
        bits_per_url: health.bits_per_url,
        hashes: health.hashes,
        items: health.items,
        fill_ratio: health.fill_ratio,
        estimated_fpr: health.estimated_fpr,
        expected_pages_missed: health.expected_pages_missed,
        health: health.verdict,
    })
}
