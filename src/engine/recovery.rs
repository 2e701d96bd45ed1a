//! From what is on disk back to a crawl that goes on.
//!
//! The manifest says where things stood, its log what happened since. What neither of them names
//! is garbage. Recovery may end anywhere, by a crash too, and is simply done again: it changes
//! nothing that the manifest names before its own checkpoint has put a new one in its place.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use super::buckets::Buckets;
use super::core::{Core, CoreError, LONGEST_PAUSE};
use super::journal::{Change, read_record};
use super::keeper::{MANIFEST, log_name, log_number};
use super::observer::Event;
use super::sketches::sketches_name;
use super::state::CrawlState;
use crate::frontier::{Moment, OriginId, QueueId, Ticket};
use crate::model::{Candidate, UrlKey};
use crate::sink::{RecoveringFiles, ResultFile};
use crate::store::{
    Decoder, LogEnd, LogReader, Malformed, SinkRange, StateError, Storage, peek_manifest, read_manifest,
};

/// Reads the manifest of a state directory: its generation and what it says; none where there is none.
pub(crate) fn read_state(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<Option<(u64, CrawlState)>, StateError> {
    decode_state(directory, read_manifest(storage, &directory.join(MANIFEST))?)
}

/// The same, and touches nothing: for looking at the directory of a running crawl.
pub(crate) fn peek_state(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<Option<(u64, CrawlState)>, StateError> {
    decode_state(directory, peek_manifest(storage, &directory.join(MANIFEST))?)
}

fn decode_state(
    directory: &Path,
    manifest: Option<(u64, Vec<u8>)>,
) -> Result<Option<(u64, CrawlState)>, StateError> {
    let Some((generation, body)) = manifest else { return Ok(None) };
    let state = CrawlState::decode(&body).map_err(|Malformed| malformed_manifest(directory))?;
    Ok(Some((generation, state)))
}

/// The manifest in a state directory says what makes no sense.
pub(crate) fn malformed_manifest(directory: &Path) -> StateError {
    StateError::damaged(&directory.join(MANIFEST), 0, "its body is malformed")
}

/// Files of the state directory itself that no manifest names and that stay all the same.
const KEPT: [&str; 3] = [MANIFEST, "lock", "seeds"];

/// Deletes what the manifest does not name from the state directory itself; says which number is
/// above that of every log there was.
pub(crate) fn remove_old_logs(
    storage: &dyn Storage,
    directory: &Path,
    named: u64,
) -> Result<u64, StateError> {
    let present = storage.names(directory).map_err(StateError::io(directory))?;
    let highest = present.iter().filter_map(|name| log_number(name)).fold(named, u64::max);
    let above = highest.saturating_add(1);
    let mut stay: HashSet<String> = KEPT.iter().map(ToString::to_string).collect();
    stay.extend([log_name(named), sketches_name(named)]);
    crate::store::remove_unnamed(storage, directory, &stay)?;
    Ok(above)
}

/// What a log says happened, as far as the core keeps it only until it goes on.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// Microseconds since 1970 at the start of this process.
    epoch: u64,
    /// Keys of doubts that were new after all, until they are retired.
    rescued: Vec<UrlKey>,
    /// How long the crawl had run, where that is told.
    pub(crate) elapsed: Option<Duration>,
    /// Origins that were given a queue of their own.
    pub(crate) opened: BTreeMap<QueueId, Box<str>>,
}

impl Replayed {
    /// A queue that is no bucket belongs to the origin of what is in it.
    fn note(&mut self, ticket: Ticket, candidate: &Candidate) {
        if !ticket.queue.is_bucket() {
            self.opened.entry(ticket.queue).or_insert_with(|| candidate.origin().into());
        }
    }
}

/// What a log tells.
pub(super) enum Replay<'a> {
    /// Something changed.
    Change(Change),
    /// Lines were written to `pages.jsonl`, which is among these files.
    Pages(&'a RecoveringFiles, SinkRange),
}

/// Shows each change that a log tells of, as far as the log counts, and takes the lines that it names into
/// their files; where its torn tail begins, if it has one.
///
/// # Errors
/// What was durable and is not as it was written, what cannot be read, and whatever `apply` says.
pub(super) fn replay_log<E: From<StateError>>(
    storage: &dyn Storage,
    path: &Path,
    files: &mut RecoveringFiles,
    mut apply: impl FnMut(u64, Replay<'_>) -> Result<(), E>,
) -> Result<Option<u64>, E> {
    let mut log = LogReader::open(storage, path)?;
    let mut changes: Vec<Change> = Vec::new();
    let mut ranges: Vec<(u64, SinkRange)> = Vec::new();
    while let Some(record) = log.next_record()? {
        let offset = record.offset;
        changes.clear();
        ranges.clear();
        let read = read_record::<Malformed>(record.payload, |change| {
            match change {
                Change::Sink(sink, range) => ranges.push((sink, range)),
                change => changes.push(change),
            }
            Ok(())
        });
        read.map_err(|Malformed| StateError::damaged(path, offset, "a record is malformed"))?;
        if let Err(problem) = files.accept(&ranges) {
            // Bytes of a sink that were never synced may be missing, but only from the torn tail.
            if !matches!(problem, StateError::Damaged { .. }) || log.is_synced(offset)? {
                return Err(problem.into());
            }
            log.reject(offset, "lines that a record names are not in their file")?;
            break;
        }
        for change in changes.drain(..) {
            apply(offset, Replay::Change(change))?;
        }
        for (_, range) in ranges.iter().filter(|(number, _)| *number == ResultFile::Pages.number()) {
            apply(offset, Replay::Pages(files, *range))?;
        }
    }
    Ok(log.end().and_then(|LogEnd { offset, torn }| torn.map(|_| offset)))
}

impl Core {
    /// Replays the log that the manifest named. Afterwards the sinks are cut back to what was
    /// replayed.
    pub(crate) fn replay(
        &mut self,
        storage: &dyn Storage,
        path: &Path,
        files: &mut RecoveringFiles,
        epoch: u64,
    ) -> Result<Replayed, CoreError> {
        let mut replayed = Replayed { epoch, ..Replayed::default() };
        let torn = replay_log(storage, path, files, |offset, told| match told {
            Replay::Change(change) => self.replay_change(path, offset, change, &mut replayed),
            Replay::Pages(files, range) => {
                let lines = files.lines(ResultFile::Pages, range)?;
                lines.split(|byte| *byte == b'\n').for_each(|line| self.replay_page(line));
                Ok(())
            }
        })?;
        if let Some(offset) = torn {
            self.events.push(Event::TornTail { offset });
        }
        Ok(replayed)
    }

    fn replay_change(
        &mut self,
        path: &Path,
        offset: u64,
        change: Change,
        replayed: &mut Replayed,
    ) -> Result<(), CoreError> {
        match change {
            Change::Accept(ticket, candidate) => {
                self.replay_accepted(&candidate);
                self.visited.replay_new(&[candidate.key])?;
                self.frontier.replay_push(ticket, &candidate)?;
                replayed.note(ticket, &candidate);
            }
            Change::Rescue(ticket, candidate) => {
                self.replay_accepted(&candidate);
                self.frontier.replay_push(ticket, &candidate)?;
                replayed.note(ticket, &candidate);
                replayed.rescued.push(candidate.key);
            }
            Change::Move(from, to, candidate) => {
                self.frontier.replay_push(to, &candidate)?;
                self.frontier.acknowledge(from)?;
                replayed.note(to, &candidate);
            }
            Change::Acknowledge(ticket) => {
                self.frontier.acknowledge(ticket)?;
                self.forget(ticket);
            }
            Change::Doubt(number, candidate) => {
                if !self.visited.replay_doubt(number, &candidate)? {
                    return Err(StateError::damaged(path, offset, "a doubt has not the next number").into());
                }
            }
            Change::Retire(below) => {
                self.visited.commit(below, &replayed.rescued)?;
                replayed.rescued.clear();
            }
            Change::Retry(attempt) => {
                self.tickets_in_flight.remove(&attempt.ticket);
                self.kept_attempts.insert(attempt.ticket, *attempt);
            }
            Change::Scope(url) => self.scope_mut().add_moved_seed(&url),
            Change::Count(slot, n) => {
                if !self.counters.count(slot, n) {
                    return Err(StateError::damaged(path, offset, "a record counts what there is not").into());
                }
            }
            Change::Start(ticket) => {
                self.tickets_in_flight.insert(ticket, None);
            }
            Change::Seeds(taken) => self.seeds_taken = taken,
            Change::SeedsComplete => self.seeds_complete = true,
            Change::Host(state) => {
                self.schedule.restore(&mut Decoder(&state), replayed.epoch).map_err(|Malformed| {
                    StateError::damaged(path, offset, "a record's host state is malformed")
                })?;
            }
            Change::Trap(key) => self.replay_trap(key),
            Change::Observed(observed) => self.replay_observed(&observed),
            Change::Example(reason, url) => {
                self.examples.note(reason, &url);
            }
            Change::Elapsed(elapsed) => replayed.elapsed = Some(elapsed),
            Change::Sink(..) => {}
        }
        Ok(())
    }

    /// Opens the origins whose queues hold something, and lets the attempts that were begun wait
    /// again, each at the origin where it is to be asked.
    pub(super) fn reopen(&mut self, queues: BTreeMap<QueueId, Box<str>>, wall_clock: u64) {
        let mut opened: HashMap<QueueId, OriginId> = HashMap::new();
        for (queue, origin) in queues {
            self.schedule.set_next_queue(queue.0.saturating_add(1));
            let unclaimed = self.frontier.queue_len(queue);
            if unclaimed > 0 {
                let id = self.schedule.reopen(&origin, queue);
                self.schedule.origin_mut(id).unclaimed = unclaimed;
                self.schedule.refresh(id);
                opened.insert(queue, id);
            }
        }
        // Whatever the clock did meanwhile, nobody asked for a longer pause than these.
        let longest = self.settings.max_retry_after.max(LONGEST_PAUSE);
        for kept in std::mem::take(&mut self.kept_attempts).into_values() {
            // What is in no queue has been acknowledged.
            let Some(from) = opened.get(&kept.ticket.queue).copied() else { continue };
            let pause = Duration::from_millis(kept.not_before.saturating_sub(wall_clock)).min(longest);
            let attempt = kept.revive();
            let to = self.schedule.origin_of(attempt.candidate.origin());
            self.go_away(&attempt, from, to);
            self.revived.insert(attempt.ticket);
            self.held += 1;
            self.schedule.wait(to, attempt, Moment::START.after(pause));
        }
        self.buckets = Buckets::of(&*self.frontier);
    }

    /// Nothing more will come of a candidate.
    pub(super) fn forget(&mut self, ticket: Ticket) {
        self.tickets_in_flight.remove(&ticket);
        self.kept_attempts.remove(&ticket);
        self.suspects.remove(&ticket);
    }

    /// Whoever was alone in flight when the process ended may have been the reason.
    pub(super) fn suspect(&mut self) {
        if let (1, Some(ticket)) = (self.tickets_in_flight.len(), self.tickets_in_flight.keys().next()) {
            *self.suspects.entry(*ticket).or_default() += 1;
        }
    }
}
