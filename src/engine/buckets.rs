//! Candidates of hosts that are not open: how they get into buckets, and out again.
//!
//! While every host fits into its share, none gets there. Then, whenever there is room, candidates
//! are taken from the buckets, one bucket after another, each for as many as it held when its turn
//! began: so a host's candidates, which share a bucket, mostly find it open, and its robots.txt
//! is asked for once a turn at most. Each is *moved* to the queue of its own host, so that no host holds up its
//! neighbours. The first whose host cannot be opened ends it until a host has left.

use std::collections::VecDeque;

use super::best_first::BestFirst;
use super::core::{Core, CoreError};
use super::skip::skip_reason;
use crate::frontier::{BUCKETS, Claimed, Frontier, Moment, OriginId, QueueId, Ticket, class_of};
use crate::model::Candidate;

/// The class of all that waits in a bucket: its order is that in which it was found, which is nearly that of depth. A
/// class for each depth took 2.7 MiB for the places of 4,096 buckets, in a crawl of pages that link to ever new hosts.
const BUCKET_CLASS: u8 = 0;

/// Candidates claimed from a bucket at a time, and moved before the loop looks for a job again.
const MOVES_AT_A_TIME: usize = 16;
/// Idle origins closed to make room for one.
const CLOSED_FOR_ONE: usize = 8;

/// What the buckets hold, and whose turn it is.
#[derive(Debug)]
pub(super) struct Buckets {
    /// Candidates in all buckets.
    waiting: u64,
    turn: QueueId,
    /// Candidates that its turn still holds for.
    left: u64,
    /// Claimed, and to be moved next.
    claimed: VecDeque<Claimed>,
}

impl Buckets {
    /// The buckets of a frontier.
    pub(super) fn of(frontier: &dyn Frontier) -> Self {
        let waiting = (0..BUCKETS).map(|bucket| frontier.queue_len(QueueId(bucket))).sum();
        Self { waiting, turn: QueueId(0), left: 0, claimed: VecDeque::new() }
    }

    /// Candidates that wait for their hosts to be opened.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting + self.claimed.len() as u64
    }

    /// Whether any candidate waits for its host to be opened.
    pub(super) fn hold_any(&self) -> bool {
        self.waiting > 0 || !self.claimed.is_empty()
    }
}

impl Core {
    /// Queues a candidate that is new: at its origin where that is open, or can be and no others
    /// wait for room; else in the bucket of its host. One in a trap, or that an earlier crawl fetched, is skipped.
    pub(super) fn accept(&mut self, candidate: &Candidate) -> Result<(), CoreError> {
        if self.is_crawled(candidate)? || self.is_trapped(candidate)? {
            return Ok(());
        }
        let ticket = self.queue(candidate)?;
        self.journal.accept(ticket, candidate);
        Ok(())
    }

    /// The same for a doubt that was new after all.
    pub(super) fn rescue(&mut self, candidate: &Candidate) -> Result<(), CoreError> {
        if self.is_crawled(candidate)? || self.is_trapped(candidate)? {
            return Ok(());
        }
        let ticket = self.queue(candidate)?;
        self.journal.rescue(ticket, candidate);
        Ok(())
    }

    fn queue(&mut self, candidate: &Candidate) -> Result<Ticket, CoreError> {
        self.shadow.accepted(candidate.key, candidate.depth);
        self.note_unique(candidate);
        self.counters.unique += 1;
        let mut id = self.schedule.find(candidate.origin());
        if id.is_none() && !self.buckets.hold_any() {
            id = self.open_origin(candidate.origin());
        }
        if let Some(id) = id {
            return self.push_to(id, candidate);
        }
        self.buckets.waiting += 1;
        Ok(self.frontier.push_as(self.schedule.bucket(candidate.origin()), BUCKET_CLASS, candidate)?)
    }

    /// The class of a candidate in its queue, by the strategy.
    fn class(&self, candidate: &Candidate) -> u8 {
        if self.order.is_some() { BestFirst::class(candidate) } else { class_of(candidate) }
    }

    fn push_to(&mut self, id: OriginId, candidate: &Candidate) -> Result<Ticket, CoreError> {
        let class = self.class(candidate);
        let ticket = self.frontier.push_as(self.schedule.origin(id).queue, class, candidate)?;
        self.schedule.pushed(id);
        Ok(ticket)
    }

    /// Opens an origin, if need be in the place of idle ones.
    fn open_origin(&mut self, name: &str) -> Option<OriginId> {
        for _ in 0..CLOSED_FOR_ONE {
            if let Some(id) = self.schedule.open(name) {
                return Some(id);
            }
            if self.schedule.close_idle(self.now, 1).is_empty() {
                return None;
            }
        }
        self.schedule.open(name)
    }

    /// Moves some candidates from the buckets to the queues of their hosts; whether more could be
    /// moved at once.
    pub(super) fn open_from_buckets(&mut self) -> Result<bool, CoreError> {
        for _ in 0..MOVES_AT_A_TIME {
            if self.buckets.claimed.is_empty() && !self.claim_from_bucket()? {
                return Ok(false);
            }
            let Some(claimed) = self.buckets.claimed.pop_front() else { return Ok(false) };
            if let Some(claimed) = self.place(claimed)? {
                self.buckets.claimed.push_front(claimed);
                return Ok(false);
            }
        }
        Ok(self.buckets.hold_any())
    }

    /// Claims the next candidates of the bucket whose turn it is; whether there were any.
    fn claim_from_bucket(&mut self) -> Result<bool, CoreError> {
        if self.buckets.waiting == 0 {
            return Ok(false);
        }
        if self.buckets.left == 0 || self.frontier.queue_len(self.buckets.turn) == 0 {
            let after = QueueId((self.buckets.turn.0 + 1) % BUCKETS);
            let Some(next) = self.frontier.next_bucket(after) else { return Ok(false) };
            self.buckets.turn = next;
            self.buckets.left = self.frontier.queue_len(next);
        }
        let most = self.buckets.left.min(MOVES_AT_A_TIME as u64) as usize;
        self.frontier.claim(self.buckets.turn, most, &mut self.buckets.claimed)?;
        let taken = self.buckets.claimed.len() as u64;
        self.buckets.left -= taken.min(self.buckets.left);
        self.buckets.waiting -= taken.min(self.buckets.waiting);
        self.held += taken;
        Ok(taken > 0)
    }

    /// Moves a candidate from its bucket to its host, or skips it where its host was given up; gives it
    /// back where its host cannot be opened.
    fn place(&mut self, claimed: Claimed) -> Result<Option<Claimed>, CoreError> {
        if let Some((reason, _)) = self.schedule.standing(claimed.candidate.origin()) {
            self.held -= 1;
            self.skip_candidate(&claimed.candidate, skip_reason(reason))?;
            self.acknowledge(claimed.ticket)?;
            return Ok(None);
        }
        match self.open_origin(claimed.candidate.origin()) {
            Some(id) => self.move_candidate(id, &claimed).map(|()| None),
            None => Ok(Some(claimed)),
        }
    }

    /// Moves a candidate claimed from a bucket to the queue of its origin.
    fn move_candidate(&mut self, id: OriginId, claimed: &Claimed) -> Result<(), CoreError> {
        self.held -= 1;
        let ticket = self.push_to(id, &claimed.candidate)?;
        self.journal.move_candidate(claimed.ticket, ticket, &claimed.candidate);
        self.frontier.acknowledge(claimed.ticket)?;
        Ok(())
    }

    /// Nothing can be asked before this moment; candidates may wait for a host to leave sooner.
    pub(super) fn room_before(&self, at: Moment) -> Moment {
        let room = if self.buckets.hold_any() { self.schedule.next_leaving(self.now) } else { None };
        room.map_or(at, |room| room.min(at))
    }

    /// Nothing is in flight and no open host has anything to do, and yet none can be opened: says
    /// when one that is idle may leave. If that is never, the next is opened past the share.
    pub(super) fn wait_for_room(&mut self) -> Result<Option<Moment>, CoreError> {
        if let Some(at) = self.schedule.next_leaving(self.now) {
            return Ok(Some(at));
        }
        if self.buckets.claimed.is_empty() {
            self.claim_from_bucket()?;
        }
        if let Some(claimed) = self.buckets.claimed.pop_front() {
            let id = self.schedule.origin_of(claimed.candidate.origin());
            self.move_candidate(id, &claimed)?;
        }
        Ok(None)
    }
}
