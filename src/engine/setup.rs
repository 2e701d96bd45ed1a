//! Makes the core of a crawl: in memory, in a new crawl directory, or from what an earlier process left.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use super::canonical::ReadPages;
use super::core::{Core, CoreError, CoreSettings};
use super::crawl::SetupError;
use super::keeper::{FRONTIER, Keeper, KeeperSettings, MANIFEST, Pace, VISITED, log_name};
use super::names;
use super::plan::{self, FilterPlan};
use super::recovery::{read_state, remove_old_logs};
use super::state::SeedsSeal;
use super::traps::Traps;
use crate::budget::Plan;
use crate::config::{Config, HeaderScope, ScopeKind};
use crate::fetch::SeedHost;
use crate::frontier::{Frontier, HostShare, MemoryFrontier, Moment, Politeness, QueueId, Schedule};
use crate::model::{LinkBatch, Via};
use crate::scope::Scope;
use crate::sink::{RecoveringFiles, ResultFiles, Sink};
use crate::store::{Decoder, StateError, Storage, remove_unnamed};
use crate::url::{Canonicalizer, KeySecret};
use crate::visited::{Place, Visited};

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
    pub(super) seeds: SeedsSeal,
    pub(super) canonicalizer: Canonicalizer,
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
        let share = host_share(&self.plan, of_canonical, secret);
        let mut schedule = Schedule::new(self.politeness, share, self.settings.obey_robots);
        // where they are silent, so many of them are asked at once for one name
        let servers = self.config.dns.len().clamp(1, 3);
        let lookups = self.plan.fetch_memory().lookups / servers;
        schedule.look_up_names(names::most_lookups(lookups, self.config.concurrency));
        let traps = Traps::new(&self.config, self.plan.sketches, secret.key("what is counted of traps"));
        let mut core = Core::new(self.settings, frontier, visited, schedule, self.scope, self.sinks, traps);
        core.read_pages = ReadPages::new(of_canonical);
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
        let files = ResultFiles::create(&*storage, directory, self.config.log_skipped)?;
        storage.sync_directory(directory).map_err(StateError::io(directory))?;
        let keeper = Keeper::new(self.keeping(&state, secret.clone(), Duration::ZERO), 1, None, 0)?;
        let frontier = plan::frontier_on_disk(&self.plan, storage.clone(), &places[0], None)?;
        let visited =
            plan::visited_on_disk(&self.config, &self.plan, &self.filter, &place(storage, &places[1]), None)?;
        let seeds = self.seeds;
        let mut core = self.core(secret, Box::new(frontier), visited);
        core.seeds = seeds;
        core.keep_state(keeper, files);
        core.checkpoint(Moment::START)?;
        Ok(core)
    }

    /// The core of a crawl that another process left, as it left it.
    /// `seeds` are all that it began with; `died`: nobody told why it ended.
    pub(super) fn resumed(
        self,
        directory: &Path,
        seeds: impl Iterator<Item = std::io::Result<String>>,
        died: bool,
    ) -> Result<(Core, KeySecret), SetupError> {
        let storage = self.storage.clone();
        let state_directory = directory.join("state");
        let (generation, state) = read_state(&*storage, &state_directory)?
            .ok_or_else(|| StateError::damaged(&state_directory.join(MANIFEST), 0, "it is missing"))?;
        if state.seeds != self.seeds {
            let problem = "it is not as it was when the crawl began";
            return Err(StateError::damaged(&state_directory.join("seeds"), 0, problem).into());
        }
        let places = [state_directory.join(FRONTIER), state_directory.join(VISITED)];
        let number = remove_old_logs(&*storage, &state_directory, state.log)?;
        let malformed = |_| StateError::damaged(&state_directory.join(MANIFEST), 0, "its body is malformed");
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
        let keeping = self.keeping(&state_directory, state.secret.clone(), state.elapsed);
        let wall_clock = keeping.started_at;
        let epoch = wall_clock.saturating_mul(1000);
        let secret = state.secret.clone();
        let mut core = self.core(&secret, Box::new(frontier), visited);
        core.scope_mut().restore(&mut Decoder(&state.scope)).map_err(malformed)?;
        core.schedule.restore(&mut Decoder(&state.schedule), epoch).map_err(malformed)?;
        core.traps.restore(&mut Decoder(&state.traps)).map_err(malformed)?;
        let mut files = RecoveringFiles::open(&*storage, directory, &state.sinks)?;
        let log = state_directory.join(log_name(state.log));
        let mut queues: BTreeMap<QueueId, Box<str>> =
            state.queues.iter().map(|queue| (queue.queue, queue.origin.clone())).collect();
        let replayed = state.log;
        core.restore(state);
        let seeds_in_manifest = core.seeds_taken;
        queues.extend(core.replay(&*storage, &log, &mut files, epoch)?.opened);
        core.widen_scope(seeds, seeds_in_manifest, &canonicalizer).map_err(StateError::io(directory))?;
        if died {
            core.suspect();
        }
        core.tickets_in_flight.clear();
        core.reopen(queues, wall_clock);
        core.keep_state(Keeper::new(keeping, number, Some(replayed), generation)?, files.finish()?);
        core.checkpoint(Moment::START)?;
        Ok((core, secret))
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

/// Half of what the caches have is for hosts in use and their rules, less what was `taken` of it, a quarter for
/// what is remembered of others; the rest is for fetching (see `Plan::fetch_memory`).
fn host_share(plan: &Plan, taken: u64, secret: &KeySecret) -> HostShare {
    HostShare {
        open_bytes: plan.caches / 2 - taken,
        residue_bytes: plan.caches / 4,
        secret: name_secret(secret),
    }
}

/// Under what the names of hosts and origins are hashed.
pub(super) fn name_secret(secret: &KeySecret) -> u64 {
    secret.key("names of hosts and origins")
}

/// What a file of seeds is.
pub(super) fn seal(path: &Path) -> Result<SeedsSeal, StateError> {
    let read = || -> std::io::Result<SeedsSeal> {
        let mut file = BufReader::new(File::open(path)?);
        let (mut length, mut hasher) = (0, crc32fast::Hasher::new());
        loop {
            let bytes = file.fill_buf()?;
            if bytes.is_empty() {
                return Ok(SeedsSeal { length, crc32: hasher.finalize() });
            }
            hasher.update(bytes);
            length += bytes.len() as u64;
            let read = bytes.len();
            file.consume(read);
        }
    };
    read().map_err(StateError::io(path))
}

/// The lines of a file of seeds.
pub(super) fn lines(
    path: &Path,
) -> Result<impl Iterator<Item = std::io::Result<String>> + use<>, StateError> {
    Ok(BufReader::new(File::open(path).map_err(StateError::io(path))?).lines())
}

/// What the seeds are, before any is taken in.
#[derive(Debug, Default)]
pub(super) struct SeedList {
    /// How many there are.
    pub(super) seeds: u64,
    /// Their hosts, where anybody asks for them.
    pub(super) hosts: Vec<SeedHost>,
}

/// Bytes that a seed takes in the scope, while its table grows.
const SEED_BYTES: u64 = 24;
/// Bytes that the host of a seed takes for the address guard and for headers, while that is made.
const SEED_HOST_BYTES: u64 = 320;

impl SeedList {
    /// Goes through the seeds.
    pub(super) fn read(
        seeds: impl Iterator<Item = std::io::Result<String>>,
        canonicalizer: &Canonicalizer,
        config: &Config,
    ) -> std::io::Result<Self> {
        let for_headers = !config.headers.is_empty() && config.header_scope == HeaderScope::Seeds;
        let wanted = !config.allow_private || for_headers;
        let (mut count, mut hosts) = (0, HashSet::new());
        let sitemaps = config.sitemap.iter().filter_map(|text| canonicalizer.parse(text).ok());
        hosts.extend(sitemaps.filter(|_| wanted).filter_map(|target| SeedHost::of(&target.requested)));
        for seed in seeds {
            if let Ok(target) = canonicalizer.parse(&seed?) {
                count += 1;
                if wanted {
                    hosts.extend(SeedHost::of(&target.requested));
                }
            }
        }
        Ok(Self { seeds: count, hosts: hosts.into_iter().collect() })
    }

    /// Bytes of memory that grow with the seeds.
    pub(super) fn bytes(&self, config: &Config) -> u64 {
        let of_scope = if config.scope == ScopeKind::Any { 0 } else { self.seeds * SEED_BYTES };
        of_scope + self.hosts.len() as u64 * SEED_HOST_BYTES
    }
}

/// Seeds taken in at a time.
const SEEDS_AT_A_TIME: u64 = 128;

/// Takes in the seeds that have not been taken in yet, then the sitemaps that the user names, and
/// settles their doubts: all of that comes before the first page, or a seed first met as a link would
/// never move its scope. Sitemaps are counted on behind the seeds; where there are none, they
/// stand in for them: the scope is what they span, and their redirects move it.
pub(super) fn take_seeds(
    core: &mut Core,
    seeds: impl Iterator<Item = std::io::Result<String>>,
    sitemaps: &[String],
    canonicalizer: &Canonicalizer,
    secret: &KeySecret,
) -> Result<(), CoreError> {
    if core.seeds_complete {
        return Ok(());
    }
    let mut batch = LinkBatch::default();
    let (already, mut met) = (core.seeds_taken, 0);
    for text in seeds {
        let text = text.map_err(StateError::io(Path::new("state/seeds")))?;
        met += 1;
        if met <= already {
            continue;
        }
        if let Ok(target) = canonicalizer.parse(&text) {
            core.scope_mut().add_seed(&target.requested);
            let key = secret.key(&target.canonical);
            batch.push(&target.requested, target.parts.origin_length, key, Via::Seed, None);
        }
        if met - core.seeds_taken >= SEEDS_AT_A_TIME || batch.text.len() >= LinkBatch::MAX_TEXT / 2 {
            core.add_seeds(&std::mem::take(&mut batch), met, true)?;
            core.keep(Moment::START)?;
        }
    }
    core.add_seeds(&std::mem::take(&mut batch), met.max(already), true)?;
    let alone = met == 0;
    let further = usize::try_from(already.saturating_sub(met)).unwrap_or(usize::MAX);
    for target in sitemaps.iter().skip(further).filter_map(|text| canonicalizer.parse(text).ok()) {
        if alone {
            core.scope_mut().add_seed(&target.requested);
        }
        let key = secret.key(&target.canonical);
        batch.push(&target.requested, target.parts.origin_length, key, Via::SitemapFile, None);
    }
    core.add_seeds(&batch, met + sitemaps.len() as u64, alone)?;
    core.finish_seeds()
}

/// What the scope is made of: the seeds in a file, or the sitemaps that the user names where there are none.
pub(super) fn spanning(
    path: &Path,
    config: &Config,
) -> Result<Box<dyn Iterator<Item = std::io::Result<String>>>, StateError> {
    let mut seeds = lines(path)?.peekable();
    if seeds.peek().is_none() {
        return Ok(Box::new(config.sitemap.clone().into_iter().map(Ok)));
    }
    Ok(Box::new(seeds))
}

impl Core {
    /// Puts back the seeds' part of the scope that a log said was taken in after the manifest.
    fn widen_scope(
        &mut self,
        seeds: impl Iterator<Item = std::io::Result<String>>,
        from: u64,
        canonicalizer: &Canonicalizer,
    ) -> std::io::Result<()> {
        let mut scope = self.scope.write().unwrap_or_else(PoisonError::into_inner);
        for seed in seeds.take(self.seeds_taken as usize).skip(from as usize) {
            if let Ok(target) = canonicalizer.parse(&seed?) {
                scope.add_seed(&target.requested);
            }
        }
        Ok(())
    }
}
