//! Taking candidates from the head of a queue, and acknowledging them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::DiskFrontier;
use super::block::Run;
use super::files::{Files, Found};
use super::lanes::{Lane, LaneKey};
use super::memtable::{Memtable, Reading};
use crate::frontier::{Claimed, FrontierError, QueueId, Ticket};
use crate::store::Malformed;

impl DiskFrontier {
    pub(super) fn claim_from(
        &mut self,
        queue: QueueId,
        most: usize,
        claimed: &mut VecDeque<Claimed>,
    ) -> Result<(), FrontierError> {
        let Some(held) = self.lanes.queue_mut(queue) else { return Ok(()) };
        let mut left = most;
        let mut reading = Reading::default();
        for lane in &mut held.lanes {
            let key = LaneKey { queue, class: lane.class };
            while lane.waiting > 0 && left > 0 {
                left -= if lane.waiting_on_disk > 0 {
                    from_disk(&mut self.files, key, lane, left, claimed)?
                } else {
                    from_memtable(&self.memtable, key, lane, &mut reading, claimed)?
                };
            }
        }
        self.lanes.remove_waiting(queue, (most - left) as u64);
        Ok(())
    }

    pub(super) fn note_acknowledged(&mut self, ticket: Ticket) -> Result<(), FrontierError> {
        let key = LaneKey::of(ticket);
        let Some(lane) = self.lanes.get_mut(key) else {
            // Of a lane that was forgotten everything is acknowledged.
            return if ticket.sequence < self.lanes.fresh { Ok(()) } else { Err(never_pushed(ticket)) };
        };
        if ticket.sequence >= lane.tail {
            return Err(never_pushed(ticket));
        }
        if lane.is_acknowledged(ticket.sequence) {
            return Ok(());
        }
        let waiting = ticket.sequence >= lane.cursor;
        if ticket.sequence < lane.memtable_from {
            let age = age_of(&mut self.files, lane, ticket)?;
            lane.waiting_on_disk -= u64::from(waiting && lane.waiting_on_disk > 0);
            if !self.files.discount(age)? {
                return Err(FrontierError::Inconsistent {
                    ticket,
                    problem: "its segment is wholly acknowledged",
                });
            }
        }
        lane.note_acknowledged(ticket.sequence);
        lane.waiting -= u64::from(waiting && lane.waiting > 0);
        let done = lane.head == lane.tail;
        if waiting {
            self.lanes.remove_waiting(key.queue, 1);
        }
        if done {
            self.lanes.forget_if_done(key);
        }
        Ok(())
    }
}

fn never_pushed(ticket: Ticket) -> FrontierError {
    FrontierError::Inconsistent { ticket, problem: "it is acknowledged but was never pushed" }
}

pub(super) fn missing(ticket: Ticket) -> FrontierError {
    FrontierError::Inconsistent { ticket, problem: "no file holds it" }
}

/// The age of the segment that holds an entry.
fn age_of(files: &mut Files, lane: &Lane, ticket: Ticket) -> Result<u64, FrontierError> {
    if let Some(age) = lane.age_of(ticket.sequence) {
        return Ok(age);
    }
    // Only what waits can be acknowledged without a claim: when the log is replayed.
    let found = files.age_of(LaneKey::of(ticket), ticket.sequence, lane.floor)?;
    found.ok_or_else(|| missing(ticket))
}

/// Takes the next entries of the run in which the lane's cursor is; gives their number.
fn from_disk(
    files: &mut Files,
    key: LaneKey,
    lane: &mut Lane,
    most: usize,
    claimed: &mut VecDeque<Claimed>,
) -> Result<usize, FrontierError> {
    let found = if let Some(found) = files.remembered(key, lane.cursor) {
        found
    } else {
        let found = files.locate(key, lane.cursor, lane.floor)?;
        found.ok_or_else(|| missing(key.ticket(lane.cursor)))?
    };
    lane.floor = found.age;
    let raw = files.block(&found)?;
    let taken = from_run(raw, &found, key, lane, most, claimed);
    if lane.cursor <= found.run.last {
        files.remember(&found);
    } else {
        files.release(&found);
    }
    taken.map_err(|Malformed| files.malformed(&found).into())
}

fn from_run(
    raw: &[u8],
    found: &Found,
    key: LaneKey,
    lane: &mut Lane,
    most: usize,
    claimed: &mut VecDeque<Claimed>,
) -> Result<usize, Malformed> {
    let mut entries = Run::find(raw, &found.run)?;
    let mut referrer: Option<(&[u8], Arc<str>)> = None;
    let mut span: Option<(u64, u64)> = None;
    let mut taken = 0;
    while taken < most {
        let Some(entry) = entries.next()? else {
            lane.cursor = lane.cursor.max(found.run.last + 1);
            break;
        };
        if entry.sequence < lane.cursor {
            continue;
        }
        if entry.sequence > found.run.last {
            return Err(Malformed);
        }
        lane.cursor = entry.sequence + 1;
        if lane.is_acknowledged(entry.sequence) {
            continue;
        }
        // Entries of one page give the same text, at the same place in the block.
        let same = match (&referrer, entry.referrer) {
            (Some((held, _)), Some(text)) => std::ptr::eq(*held, text),
            (_, text) => text.is_none(),
        };
        if !same {
            let text = entry.referrer.map(|bytes| str::from_utf8(bytes).map(|text| (bytes, Arc::from(text))));
            referrer = text.transpose().map_err(|_| Malformed)?;
        }
        let referrer = referrer.as_ref().map(|(_, referrer)| Arc::clone(referrer));
        let candidate = entry.parts()?.candidate(referrer)?;
        if lane.waiting_on_disk == 0 {
            return Err(Malformed);
        }
        claimed.push_back(Claimed { ticket: key.ticket(entry.sequence), candidate });
        span = Some((span.map_or(entry.sequence, |(first, _)| first), entry.sequence));
        lane.waiting -= 1;
        lane.waiting_on_disk -= 1;
        taken += 1;
    }
    if let Some((first, last)) = span {
        lane.note_span(first, last, found.age);
    }
    Ok(taken)
}

/// Takes the next entry of the lane, which is in the memtable.
fn from_memtable(
    memtable: &Memtable,
    key: LaneKey,
    lane: &mut Lane,
    reading: &mut Reading,
    claimed: &mut VecDeque<Claimed>,
) -> Result<usize, FrontierError> {
    let mut sequence = lane.cursor.max(lane.memtable_from);
    while sequence < lane.tail && lane.is_acknowledged(sequence) {
        sequence += 1;
    }
    let taken = memtable.take(&mut lane.listed, sequence, reading);
    let candidate = taken.map_err(|Malformed| missing(key.ticket(sequence)))?;
    claimed.push_back(Claimed { ticket: key.ticket(sequence), candidate });
    lane.cursor = sequence + 1;
    lane.waiting -= 1;
    Ok(1)
}
