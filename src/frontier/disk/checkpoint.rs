//! What a manifest says of the frontier, and how it comes back from that and the log.
//!
//! ```text
//! state      next file, next age, where new lanes begin     numbers
//!            segments                                       number
//!            for each, oldest first:
//!              file, age, level, bytes, entries, entries not acknowledged    numbers
//!            queues                                         number
//!            for each, ascending:
//!              queue, lanes                                 numbers
//!              for each, ascending:
//!                class                                      1 byte
//!                head                                       number
//!                tail, less the head                        number
//!                an age that no segment with one that is not acknowledged is below    number
//!                runs acknowledged above the head           number
//!                for each: its first, less the end of the one before (at first the head); its length
//! ```

use std::path::Path;
use std::sync::Arc;

use super::files::Files;
use super::lanes::{Lane, LaneKey, Lanes, Queue};
use super::segment::{Named, Segment, file_name};
use super::{DiskFrontier, DiskSettings};
use crate::frontier::{DEEPEST_CLASS, FrontierError, QueueId, Ticket};
use crate::model::Candidate;
use crate::store::{Decoder, Encoder, Malformed, StateError, Storage};

impl DiskFrontier {
    /// A frontier as it was when [`encode_state`](Self::encode_state) was asked; nothing in it is
    /// claimed. The files are not read but for their roots, and nothing is changed; the directory must exist.
    ///
    /// # Errors
    /// Where a file is missing or damaged, or the state does not fit together.
    pub fn restore(
        storage: Arc<dyn Storage>,
        directory: &Path,
        settings: DiskSettings,
        state: &mut Decoder<'_>,
    ) -> Result<Self, FrontierError> {
        let malformed = |Malformed| FrontierError::Manifest("what it says of the frontier is malformed");
        let mut files = Files::new(storage, directory.to_owned(), settings.cache_bytes);
        files.next_number = state.count().map_err(malformed)?;
        files.next_age = state.count().map_err(malformed)?;
        let mut lanes = Lanes::new(state.count().map_err(malformed)?);
        for named in decode_segments(state, files.next_number, files.next_age).map_err(malformed)? {
            files.segments.push(Segment::open(files.storage.as_ref(), directory, named)?);
        }
        for _ in 0..state.number().map_err(malformed)? {
            let queue = decode_queue(state).map_err(malformed)?;
            if lanes.queue(queue.id).is_some() {
                return Err(FrontierError::Manifest("it names a queue twice"));
            }
            lanes.restore(queue);
        }
        if files.segments.iter().map(|segment| segment.live).sum::<u64>() != lanes.waiting {
            return Err(FrontierError::Manifest("queues and segments hold different numbers of candidates"));
        }
        files.number_above_all()?;
        files.untidy = true;
        Ok(Self::over(files, lanes, settings))
    }

    /// Appends what a manifest is to say of the frontier, right after
    /// [`prepare_checkpoint`](Self::prepare_checkpoint).
    ///
    /// # Errors
    /// Where anything happened since that, or something failed.
    pub fn encode_state(&self, state: &mut Encoder<'_>) -> Result<(), FrontierError> {
        if self.failed {
            return Err(FrontierError::Failed);
        }
        if !self.memtable.is_empty()
            || self.files.segments.iter().any(|segment| !segment.synced || !segment.named)
        {
            return Err(FrontierError::Manifest(
                "the frontier has changed since the checkpoint was prepared",
            ));
        }
        for number in [self.files.next_number, self.files.next_age, self.lanes.fresh] {
            state.number(number);
        }
        state.number(self.files.segments.len() as u64);
        for segment in &self.files.segments {
            let Named { number, age, level, length, total, live } = segment.named();
            for number in [number, age, u64::from(level), length, total, live] {
                state.number(number);
            }
        }
        let mut queues: Vec<&Queue> = self.lanes.queues().collect();
        queues.sort_unstable_by_key(|queue| queue.id);
        state.number(queues.len() as u64);
        for queue in queues {
            state.number(u64::from(queue.id.0));
            state.number(queue.lanes.len() as u64);
            for lane in &queue.lanes {
                encode_lane(lane, state);
            }
        }
        Ok(())
    }

    /// Writes and syncs everything that the next manifest has to name.
    ///
    /// # Errors
    /// Where something cannot be written or synced: there must be no checkpoint then.
    pub fn prepare_checkpoint(&mut self) -> Result<(), FrontierError> {
        self.guarded(|this| {
            this.write_memtable()?;
            Ok(this.files.sync()?)
        })
    }

    /// The manifest with the state that was prepared last is durable: what only an earlier one
    /// named is deleted.
    ///
    /// # Errors
    /// Where a file cannot be deleted.
    pub fn checkpoint_done(&mut self) -> Result<(), FrontierError> {
        self.guarded(|this| Ok(this.files.delete_doomed()?))
    }

    /// Names of the files in its directory that are in use: after [`restore`](Self::restore) every
    /// other one there is garbage.
    pub fn named_files(&self) -> impl Iterator<Item = String> {
        self.files.segments.iter().map(|segment| file_name(segment.number))
    }

    /// Pushes once more what the log says was pushed, and got this ticket.
    ///
    /// # Errors
    /// [`FrontierError::Inconsistent`] where this is not the next ticket of its queue and class.
    /// One that is empty may go on with any number: how far it had come is forgotten.
    pub fn replay_push(&mut self, ticket: Ticket, candidate: &Candidate) -> Result<(), FrontierError> {
        self.guarded(|this| {
            let key = LaneKey::of(ticket);
            if u32::from(ticket.class) > DEEPEST_CLASS {
                return Err(FrontierError::Inconsistent { ticket, problem: "there is no such class" });
            }
            if this.lanes.get(key).is_some_and(|lane| lane.tail != ticket.sequence) {
                return Err(FrontierError::Inconsistent {
                    ticket,
                    problem: "it is not the next to be pushed",
                });
            }
            this.append(key, ticket.sequence, candidate).map(|_| ())
        })
    }
}

fn decode_segments(
    state: &mut Decoder<'_>,
    next_number: u64,
    next_age: u64,
) -> Result<Vec<Named>, Malformed> {
    let mut segments: Vec<Named> = Vec::new();
    for _ in 0..state.number()? {
        let [number, age] = [state.number()?, state.number()?];
        let named = Named {
            number,
            age,
            level: state.small()?,
            length: state.number()?,
            total: state.count()?,
            live: state.count()?,
        };
        let younger = segments.last().is_none_or(|before| before.age < age);
        if !younger || number >= next_number || age >= next_age || named.live > named.total {
            return Err(Malformed);
        }
        segments.push(named);
    }
    Ok(segments)
}

fn decode_queue(state: &mut Decoder<'_>) -> Result<Queue, Malformed> {
    let mut queue = Queue::new(QueueId(state.small()?));
    for _ in 0..state.number()? {
        let lane = decode_lane(state)?;
        if queue.lanes.last().is_some_and(|before| before.class >= lane.class) {
            return Err(Malformed);
        }
        queue.waiting = queue.waiting.checked_add(lane.waiting).ok_or(Malformed)?;
        queue.lanes.reserve_exact(1);
        queue.lanes.push(lane);
    }
    Ok(queue)
}

fn encode_lane(lane: &Lane, state: &mut Encoder<'_>) {
    state.byte(lane.class);
    state.number(lane.head);
    state.number(lane.tail - lane.head);
    state.number(lane.oldest_age());
    state.number(lane.acknowledged.runs().len() as u64);
    let mut before = lane.head;
    for (first, end) in lane.acknowledged.runs() {
        state.number(first - before);
        state.number(end - first);
        before = *end;
    }
}

fn decode_lane(state: &mut Decoder<'_>) -> Result<Lane, Malformed> {
    let mut lane = Lane::new(state.byte()?, state.count()?);
    lane.tail = lane.head + state.count()?;
    lane.memtable_from = lane.tail;
    lane.floor = state.number()?;
    let mut before = lane.head;
    for _ in 0..state.number()? {
        let first = before.checked_add(state.number()?).ok_or(Malformed)?;
        let end = first.checked_add(state.number()?).ok_or(Malformed)?;
        // What begins at the head would have moved it.
        if first == lane.head || end > lane.tail || !lane.acknowledged.append(first, end) {
            return Err(Malformed);
        }
        before = end;
    }
    lane.waiting = lane.unacknowledged();
    lane.waiting_on_disk = lane.waiting;
    if lane.waiting == 0 { Err(Malformed) } else { Ok(lane) }
}

impl Files {
    /// Makes the directory.
    pub(super) fn prepare_directory(&mut self) -> Result<(), StateError> {
        self.storage.create_directory(&self.directory).map_err(StateError::io(&self.directory))?;
        self.number_above_all()
    }

    /// Numbers new files above all that are there, so that garbage which is not deleted yet is in
    /// nobody's way.
    fn number_above_all(&mut self) -> Result<(), StateError> {
        let directory = &self.directory;
        let names = self.storage.names(directory).map_err(StateError::io(directory))?;
        let numbers = names.iter().filter_map(|name| name.strip_suffix(".seg")?.parse::<u64>().ok());
        let above = numbers.max().map_or(0, |number| number.saturating_add(1));
        self.next_number = self.next_number.max(above);
        Ok(())
    }
}
