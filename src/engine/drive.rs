//! The fetch loop: outcomes in, jobs out, until the core says that the crawl is over.
//!
//! The loop never waits for itself: the channel of outcomes holds as many as may be in flight, and
//! so does that of parts of sitemaps, of which each job has one on its way at most.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::core::{Core, CoreError};
use super::delivery::Delivered;
use super::job::Job;
use super::next::Next;
use super::observer::{Event, Observer};
use super::pressure::Pressure;
use super::shutdown::Urgency;
use super::sitemap::Part;
use super::worker::{self, Shared};
use crate::budget::{Change, Step};
use crate::frontier::Moment;
use crate::stats::EndReason;

/// How often gathered lines are given to the system and the observer is told where things stand.
const TICK: Duration = Duration::from_millis(200);

/// How often memory is read in between, while much of it is used.
const GLANCE: Duration = Duration::from_millis(20);

/// Time that requests in flight are given once `--max-time` has passed.
const GRACE: Duration = Duration::from_secs(2);

/// What is done several times a second.
pub(crate) type Tick<'a> = dyn FnMut(&mut Core, Moment, &mut dyn Observer) -> Result<(), CoreError> + 'a;

/// What the loop needs beside the core.
pub(crate) struct Drive<'a> {
    pub(crate) pressure: Pressure,
    pub(crate) core: &'a mut Core,
    pub(crate) shared: Arc<Shared>,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) stop: watch::Receiver<Urgency>,
    /// Called every [`TICK`] with the time since the start.
    pub(crate) tick: &'a mut Tick<'a>,
    pub(crate) started: Instant,
    /// Bytes on disk at which the crawl stops, with room for what is written then.
    pub(crate) most_disk: Option<u64>,
}

/// How workers reach the owner.
type Senders = (mpsc::Sender<Delivered>, mpsc::Sender<Part>);

enum Wake {
    Part(Part),
    Outcome(Delivered),
    Time,
    Stop,
}

impl Drive<'_> {
    fn now(&self) -> Moment {
        Moment::START.after(self.started.elapsed())
    }

    /// Runs to the end.
    pub(crate) async fn run(mut self) -> Result<EndReason, CoreError> {
        let concurrency = self.shared.config.concurrency.max(1);
        let (sender, mut outcomes) = mpsc::channel(concurrency + self.core.most_lookups());
        let (part_sender, mut parts) = mpsc::channel(concurrency);
        let senders = (sender, part_sender);
        let before = self.core.elapsed_before();
        let end = self.shared.config.max_time.map(|time| Moment::START.after(time.saturating_sub(before)));
        let mut tick = self.now().after(TICK);
        let mut glance = tick;
        // Who asked while seeds were taken in is heard before anything is fetched.
        if self.stopping() {
            return Ok(EndReason::Signal);
        }
        loop {
            // Whoever sent one sends the next at once, and is not to keep everyone else waiting.
            for _ in 0..concurrency {
                let Ok(part) = parts.try_recv() else { break };
                self.core.apply_part(part, self.now())?;
                if self.core.has_much_to_write() {
                    break;
                }
            }
            while let Ok(delivered) = outcomes.try_recv() {
                self.take(delivered)?;
                if self.core.has_much_to_write() {
                    break;
                }
            }
            // Nothing is asked for on the strength of what is not written down.
            self.core.commit()?;
            if self.most_disk.is_some_and(|most| self.core.disk_bytes() >= most) {
                self.core.stop(EndReason::SizeLimit);
            }
            let now = self.now();
            if end.is_some_and(|end| now >= end) {
                self.core.stop(EndReason::TimeLimit);
            }
            if end.is_some_and(|end| now >= end.after(GRACE)) {
                return Ok(EndReason::TimeLimit);
            }
            let mut until = match self.dispatch(concurrency, &senders)? {
                Dispatched::Done(reason) => return Ok(reason),
                Dispatched::Until(at) => at.unwrap_or(tick).min(tick),
            };
            self.core.commit()?;
            if now >= tick {
                self.tell(now)?;
                tick = now.after(TICK);
                until = until.min(tick);
            }
            if self.pressure.is_close() {
                if now >= glance {
                    let change = self.pressure.glance();
                    self.react(change, now)?;
                    glance = now.after(GLANCE);
                }
                until = until.min(glance);
            }
            match self.wait(&mut outcomes, &mut parts, until).await {
                Wake::Part(part) => self.core.apply_part(part, self.now())?,
                Wake::Outcome(delivered) => self.take(delivered)?,
                Wake::Time => {}
                Wake::Stop => {
                    if self.stopping() {
                        return Ok(EndReason::Signal);
                    }
                }
            }
        }
    }

    /// Starts what may be started; says when something more may be.
    fn dispatch(&mut self, concurrency: usize, senders: &Senders) -> Result<Dispatched, CoreError> {
        while self.core.requests_in_flight() < self.pressure.most_in_flight(concurrency) {
            match self.core.next(self.now())? {
                Next::Ready(job) => self.spawn(job, senders),
                Next::NotBefore(at) => return Ok(Dispatched::Until(Some(at))),
                Next::Blocked => return Ok(Dispatched::Until(None)),
                Next::Again => return Ok(Dispatched::Until(Some(self.now()))),
                Next::Done(reason) => return Ok(Dispatched::Done(reason)),
            }
        }
        Ok(Dispatched::Until(None))
    }

    /// Applies an outcome; its memory is free for others after that.
    fn take(&mut self, delivered: Delivered) -> Result<(), CoreError> {
        let Delivered { outcome, lease } = delivered;
        self.core.apply(outcome, self.now())?;
        drop(lease);
        Ok(())
    }

    fn spawn(&self, job: Job, (outcomes, parts): &Senders) {
        tokio::spawn(worker::run(self.shared.clone(), job, outcomes.clone(), parts.clone()));
    }

    async fn wait(
        &mut self,
        outcomes: &mut mpsc::Receiver<Delivered>,
        parts: &mut mpsc::Receiver<Part>,
        until: Moment,
    ) -> Wake {
        let deadline = self.started + Duration::from_micros(until.0);
        tokio::select! {
            biased;
            Ok(()) = self.stop.changed() => Wake::Stop,
            Some(part) = parts.recv() => Wake::Part(part),
            Some(delivered) = outcomes.recv() => Wake::Outcome(delivered),
            () = tokio::time::sleep_until(deadline.into()) => Wake::Time,
        }
    }

    /// Reacts to a request to stop; says whether the loop ends at once.
    fn stopping(&mut self) -> bool {
        let urgency = *self.stop.borrow_and_update();
        if urgency == Urgency::Finish {
            self.core.stop(EndReason::Signal);
            self.observer.event(&Event::Stopping { in_flight: self.core.requests_in_flight() });
        }
        urgency == Urgency::SaveNow
    }

    /// Puts a step into practice that was taken, or left, for want of memory.
    fn react(&mut self, change: Option<Change>, now: Moment) -> Result<(), CoreError> {
        let Some(change) = change else { return Ok(()) };
        *self.shared.steps.lock().unwrap_or_else(PoisonError::into_inner) = self.pressure.counts();
        self.observer.event(&Event::MemoryStep(change));
        if matches!(change.to, Step::Spill | Step::Pause) {
            self.core.checkpoint(now)?;
        }
        Ok(())
    }

    fn tell(&mut self, now: Moment) -> Result<(), CoreError> {
        let change = self.pressure.look();
        self.react(change, now)?;
        for event in self.core.take_events() {
            self.observer.event(&event);
        }
        for sink in self.core.sinks() {
            sink.flush()?;
        }
        self.core.keep(now)?;
        (self.tick)(self.core, now, self.observer)
    }
}

enum Dispatched {
    Until(Option<Moment>),
    Done(EndReason),
}
