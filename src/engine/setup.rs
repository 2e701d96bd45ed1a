//! Makes the core of a crawl: in memory, in a new crawl directory, or from what an earlier process left.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use super::best_first::BestFirst;
use super::canonical::ReadPages;
use super::core::{Core, CoreSettings};
use super::crawl::SetupError;
use super::crawled::{CRAWLED, Crawled, EarlierCrawls};
use super::keeper::{FRONTIER, Keeper, KeeperSettings, MANIFEST, Pace, VISITED, log_name};
use super::names;
use super::plan::{self, FilterPlan};
use super::recovery::{malformed_manifest, read_state, remove_old_logs};
use super::sketches;
use super::traps::Traps;
use crate::budget::Plan;
use crate::config::{Config, CrawlStrategy};
use crate::fetch::Fetcher;
use crate::frontier::{Frontier, HostShare, MemoryFrontier, Moment, Politeness, QueueId, Schedule};
use crate::scope::Scope;
use crate::sink::{RecoveringFiles, ResultFiles, Sink};
use crate::stats::KeptSketchesError;
use crate::store::{Decoder, Seal, StateError, Storage, remove_unnamed};
use crate::url::{Canonicalizer, KeySecret};
use crate::visited::{KnownSettings, Place, Visited};

/// What every core is made of.
pub(super) struct Parts {
    pub(super) config: Arc<Config>,
    pub(super) settings: CoreSettings,
    pub(super) plan: Plan,
    pub(super) filter: FilterPlan,
    pub(super) politeness: Politeness,
    pub(super) scope: Arc<RwLock<Scope>>,
    pub(super) sinks: Vec<Box<dyn Sink>>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) pace: Pace,
    /// What the file of seeds is, where there is one.
    pub(super) seeds: Seal,
    pub(super) canonicalizer: Canonicalizer,
    /// Of the earlier crawls whose pages are skipped, and how their keys are held.
    pub(super) earlier: EarlierCrawls,
    pub(super) known: KnownSettings,
}

/// Bytes that a doubt in memory is reckoned with: its URL, its key and what belongs to it.
const DOUBT_BYTES: u64 = 256;

impl Parts {
    /// A core that forgets everything when the process ends.
    pub(super) fn in_memory(mut self, secret: &KeySecret) -> Result<Core, SetupError> {
        self.settings.most_doubts = (self.plan.doubts / DOUBT_BYTES).max(1);
        let visited = plan::visited(&self.config, &self.plan, &self.filter)?;
        Ok(self.core(secret, Box::new(MemoryFrontier::new()), visited))
    }

    fn core(self, secret: &KeySecret, frontier: Box<dyn Frontier + Send>, visited: Visited) -> Core {
        let of_canonical = if self.config.canonical { self.plan.caches / CANONICAL_DIVISOR } else { 0 };
        let of_rules =
            if self.settings.obey_robots { closed_rules(&self.plan, self.config.cookies) } else { [0; 2] };
        let share = host_share(&self.plan, of_canonical, of_rules, secret);
        let mut schedule = Schedule::new(self.politeness, share, self.settings.obey_robots);
        let (lookups, servers) = (self.plan.fetch_memory().lookups, Fetcher::servers_at_once(&self.config));
        schedule.look_up_names(names::most_lookups(lookups, self.config.concurrency, servers));
        let traps = Traps::new(&self.config, self.plan.traps, secret.key("what is counted of traps"));
        let sketches = plan::sketches(&self.config, &self.plan);
        let (settings, scope, sinks) = (self.settings, self.scope, self.sinks);
        let mut core = Core::new(settings, frontier, visited, schedule, scope, sinks, (traps, sketches));
        core.read_pages = ReadPages::new(of_canonical);
        core.order =
            (self.config.strategy == CrawlStrategy::BestFirst).then(|| BestFirst::new(self.canonicalizer));
        core
    }

    /// A core whose state is kept in a directory in which nothing is yet.
    pub(super) fn begun(self, directory: &Path, secret: &KeySecret) -> Result<Core, SetupError> {
        let storage = self.storage.clone();
        let state = directory.join("state");
        let places = [state.join(FRONTIER), state.join(VISITED)];
        for place in &places {
            storage.create_directory(place).map_err(StateError::io(place))?;
        }
        storage.sync_directory(&state).map_err(StateError::io(&state))?;
        let crawled = self.open_crawled(self.earlier.clone(), &state)?;
        let files = ResultFiles::create(&*storage, directory, self.config.log_skipped)?;
        storage.sync_directory(directory).map_err(StateError::io(directory))?;
        let keeper = Keeper::new(self.keeping(&state, secret.clone(), Duration::ZERO), 1, None, 0)?;
        let frontier = plan::frontier_on_disk(&self.plan, storage.clone(), &places[0], None)?;
        let visited =
            plan::visited_on_disk(&self.config, &self.plan, &self.filter, &place(storage, &places[1]), None)?;
        let seeds = self.seeds;
        let mut core = self.core(secret, Box::new(frontier), visited);
        core.seeds = seeds;
        core.crawled = crawled;
        core.keep_state(keeper, files);
        core.checkpoint(Moment::START)?;
        Ok(core)
    }

    /// The core of a crawl that another process left, as it left it.
    /// `seeds` are all that it began with; `died`: nobody told why it ended.
    pub(super) fn resumed(
        self,
        directory: &Path,
        seeds: impl Iterator<Item = Result<String, StateError>>,
        died: bool,
    ) -> Result<(Core, KeySecret), SetupError> {
        let storage = self.storage.clone();
        let state_directory = directory.join("state");
        let (generation, state) = read_state(&*storage, &state_directory)?
            .ok_or_else(|| StateError::damaged(&state_directory.join(MANIFEST), 0, "it is missing"))?;
        state.check_seeds(&state_directory.join("seeds"), self.seeds)?;
        let kept = sketches::read(&*storage, &state_directory, state.log);
        let sketches = kept.map_err(KeptSketchesError::into_state)?.sketches;
        plan::check_sketches(&self.config, &self.plan, sketches.most_memory_bytes() as u64)?;
        let places = [state_directory.join(FRONTIER), state_directory.join(VISITED)];
        for place in &places {
            storage.create_directory(place).map_err(StateError::io(place))?;
        }
        let number = remove_old_logs(&*storage, &state_directory, state.log)?;
        let crawled = self.open_crawled(state.earlier.clone(), &state_directory)?;
        let malformed = |_| malformed_manifest(&state_directory);
        let frontier =
            plan::frontier_on_disk(&self.plan, storage.clone(), &places[0], Some(&state.frontier))?;
        remove_unnamed(&*storage, &places[0], &frontier.named_files().collect::<HashSet<String>>())?;
        let visited = plan::visited_on_disk(
            &self.config,
            &self.plan,
            &self.filter,
            &place(storage.clone(), &places[1]),
            Some(&state.visited),
        )?;
        remove_unnamed(
            &*storage,
            &places[1],
            &visited.named_files().into_iter().collect::<HashSet<String>>(),
        )?;
        let canonicalizer = self.canonicalizer.clone();
        let mut keeping = self.keeping(&state_directory, state.secret.clone(), state.elapsed);
        let wall_clock = keeping.started_at;
        let epoch = wall_clock.saturating_mul(1000);
        let secret = state.secret.clone();
        let mut core = self.core(&secret, Box::new(frontier), visited);
        core.scope_mut().restore(&mut Decoder(&state.scope)).map_err(malformed)?;
        core.schedule.restore(&mut Decoder(&state.schedule), epoch).map_err(malformed)?;
        core.traps.restore(&mut Decoder(&state.traps)).map_err(malformed)?;
        core.crawled = crawled;
        let mut files = RecoveringFiles::open(&*storage, directory, &state.sinks)?;
        let log = state_directory.join(log_name(state.log));
        let mut queues: BTreeMap<QueueId, Box<str>> =
            state.queues.iter().map(|queue| (queue.queue, queue.origin.clone())).collect();
        let replayed = state.log;
        core.sketches = sketches;
        core.restore(state);
        let seeds_in_manifest = core.seeds_taken;
        let told = core.replay(&*storage, &log, &mut files, epoch)?;
        queues.extend(told.opened);
        keeping.elapsed_before = told.elapsed.unwrap_or(keeping.elapsed_before);
        core.widen_scope(seeds, seeds_in_manifest, &canonicalizer)?;
        if died {
            core.suspect();
        }
        core.tickets_in_flight.clear();
        core.reopen(queues, wall_clock);
        core.keep_state(Keeper::new(keeping, number, Some(replayed), generation)?, files.finish()?);
        core.checkpoint(Moment::START)?;
        Ok((core, secret))
    }

    /// What earlier crawls fetched, from the state of this one; what belongs to none of them is deleted.
    fn open_crawled(&self, earlier: EarlierCrawls, state: &Path) -> Result<Crawled, SetupError> {
        if earlier.is_empty() {
            return Ok(Crawled::default());
        }
        let place = place(self.storage.clone(), &state.join(CRAWLED));
        let named: HashSet<String> = earlier.named_files(&place).collect();
        let crawled = Crawled::open(earlier, &self.storage, state, self.known, &self.canonicalizer)?;
        remove_unnamed(&*self.storage, &place.directory, &named)?;
        Ok(crawled)
    }

    fn keeping(&self, state: &Path, secret: KeySecret, elapsed_before: Duration) -> KeeperSettings {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        KeeperSettings {
            storage: self.storage.clone(),
            directory: state.to_owned(),
            secret,
            strict: self.config.strict,
            pace: self.pace,
            started_at: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
            elapsed_before,
        }
    }
}

fn place(storage: Arc<dyn Storage>, directory: &Path) -> Place {
    Place { storage, directory: directory.to_owned() }
}

/// With `--canonical` one part in so many of the caches tells which pages were read.
const CANONICAL_DIVISOR: u64 = 16;

/// One part in so many of the caches is for rules of closed origins, …
const CLOSED_RULES_DIVISOR: u64 = 32;

/// … and the part of the cookies where none are kept: what is taken from the hosts, and what from elsewhere.
fn closed_rules(plan: &Plan, cookies: bool) -> [u64; 2] {
    let unused = if cookies { 0 } else { plan.fetch_memory().cookies };
    [plan.caches / CLOSED_RULES_DIVISOR, unused]
}

/// Half of what the caches have is for hosts in use and their rules, less what was `taken` of it and what rules
/// of closed origins take, a quarter for what is remembered of others; the rest is for fetching (see
/// `Plan::fetch_memory`).
fn host_share(plan: &Plan, taken: u64, [of_hosts, unused]: [u64; 2], secret: &KeySecret) -> HostShare {
    HostShare {
        open_bytes: plan.caches / 2 - taken - of_hosts,
        residue_bytes: plan.caches / 4,
        closed_rules_bytes: of_hosts + unused,
        secret: name_secret(secret),
    }
}

/// Under what the names of hosts and origins are hashed.
pub(super) fn name_secret(secret: &KeySecret) -> u64 {
    secret.key("names of hosts and origins")
}
