//! How many connections are kept for reuse, over all hosts.
//!
//! The client's pool is bounded per host only, and a crawl sees very many hosts.
//! So a request uses the pool only if its origin has a *slot* to spare: as many
//! slots as an origin has, so many of its connections may stand, busy or idle, and
//! the slots of all origins are bounded, those of https counting twice, for what
//! they cost. Every other connection is used once.
//! (Where an idle connection comes free while a new one is being made, both stay;
//! the pool's own bound per host holds even then.)

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The origins whose connections are kept.
#[derive(Debug, Clone)]
pub(super) struct IdleBound {
    most: usize,
    keep_for: Duration,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    origins: HashMap<Arc<str>, Slots>,
    /// Slots of all origins, by their weight.
    slots: usize,
    swept: Option<Instant>,
}

#[derive(Debug)]
struct Slots {
    all: usize,
    busy: usize,
    last_used: Instant,
    /// Until then its connections are used once: where one answer ends, and the next begins, is in doubt.
    distrusted: Option<Instant>,
    /// How often that happened.
    offences: u32,
}

/// How long an origin is not trusted the first time, twice as long each further time, …
const DISTRUST: Duration = Duration::from_secs(60);
/// … this often: to an hour and a bit.
const DISTRUST_DOUBLINGS: u32 = 6;

/// A slot in use, until dropped.
#[derive(Debug)]
pub(super) struct Kept {
    bound: IdleBound,
    origin: Arc<str>,
}

impl IdleBound {
    /// Slots of this weight at most (http 1, https 2), each for `keep_for` after its origin's last request.
    pub(super) fn new(most: usize, keep_for: Duration) -> IdleBound {
        IdleBound { most, keep_for, inner: Arc::default() }
    }

    /// A slot for a request to `origin`, made now; none where its connection is to be used once.
    pub(super) fn take(&self, origin: &str, now: Instant) -> Option<Kept> {
        if self.most == 0 {
            return None;
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, spare) = match inner.origins.get_key_value(origin) {
            Some((_, slots)) if slots.distrusted.is_some_and(|until| now < until) => return None,
            Some((name, slots)) => (name.clone(), slots.busy < slots.all),
            None => (Arc::from(origin), false),
        };
        if !spare {
            if inner.slots >= self.most && !inner.sweep(now, self.keep_for) {
                return None;
            }
            inner.slots += weight(origin);
        }
        let fresh = Slots { all: 0, busy: 0, last_used: now, distrusted: None, offences: 0 };
        let slots = inner.origins.entry(name.clone()).or_insert(fresh);
        slots.all += usize::from(!spare);
        slots.busy += 1;
        slots.last_used = now;
        Some(Kept { bound: self.clone(), origin: name })
    }
}

impl Kept {
    /// No connection of this origin is used again for a while, by the end of which those that stand have
    /// been idle too long. Each further time that lasts twice as long, so that an origin is trusted in
    /// vain ever less often; its past is forgotten with its slots, which are given up for want of room.
    pub(super) fn distrust(&self, now: Instant) {
        let keep_for = self.bound.keep_for;
        let mut inner = self.bound.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slots) = inner.origins.get_mut(&self.origin) {
            // answers that were under way together are one offence
            if slots.distrusted.is_none_or(|until| now >= until) {
                let doubled = DISTRUST.saturating_mul(1 << slots.offences.min(DISTRUST_DOUBLINGS));
                slots.distrusted = Some(now + doubled.max(keep_for));
                slots.offences += 1;
            }
        }
    }
}

impl Inner {
    /// Lets go of the slots whose connections have been closed by now; says whether any was.
    fn sweep(&mut self, now: Instant, keep_for: Duration) -> bool {
        // it looks at every origin, so it is done a few times per idle time only
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < keep_for / 4) {
            return false;
        }
        self.swept = Some(now);
        let before = self.slots;
        let left = &mut self.slots;
        self.origins.retain(|origin, slots| {
            if now.saturating_duration_since(slots.last_used) >= keep_for {
                *left -= (slots.all - slots.busy) * weight(origin);
                slots.all = slots.busy;
            }
            slots.all > 0
        });
        self.slots < before
    }
}

/// What a slot of an origin counts: TLS takes as much memory as the connection below it.
fn weight(origin: &str) -> usize {
    if origin.starts_with("https:") { 2 } else { 1 }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut inner = self.bound.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slots) = inner.origins.get_mut(&self.origin) {
            slots.busy -= 1;
            slots.last_used = Instant::now().max(slots.last_used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_connections_are_kept() {
        let bound = IdleBound::new(3, Duration::from_secs(800));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = bound.take("http://a", at(0)).expect("room");
        let second = bound.take("http://a", at(0)).expect("room");
        assert!(bound.take("http://b", at(100)).is_some());
        assert!(bound.take("http://b", at(150)).is_some(), "its slot is free again");
        assert!(bound.take("http://c", at(200)).is_none());
        assert!(bound.take("http://a", at(200)).is_none(), "both of its slots are busy");
        drop((first, second));
        assert!(bound.take("http://a", at(700)).is_some());
        assert!(bound.take("http://c", at(990)).is_some(), "b has been idle for too long");
        assert!(bound.take("http://b", at(1000)).is_none());
        assert!(IdleBound::new(0, Duration::from_secs(8)).take("http://a", at(0)).is_none());
    }

    #[test]
    fn distrust_ends_and_lasts_twice_as_long_each_time() {
        let bound = IdleBound::new(4, Duration::from_secs(8));
        let mut now = Instant::now();
        for minutes in [1, 2, 4, 8, 16, 32, 64, 64] {
            let slot = bound.take("http://a", now).expect("trusted again");
            let other = bound.take("http://a", now).expect("room");
            slot.distrust(now);
            other.distrust(now + Duration::from_secs(1));
            drop((slot, other));
            let end = now + Duration::from_secs(minutes * 60);
            assert!(
                bound.take("http://a", end.checked_sub(Duration::from_secs(1)).expect("later")).is_none()
            );
            assert!(bound.take("http://b", now).is_some(), "no other is touched");
            now = end;
        }
        assert!(bound.take("http://a", now).is_some());
    }

    #[test]
    fn distrust_outlasts_the_connections_that_stand() {
        let bound = IdleBound::new(2, Duration::from_secs(800));
        let start = Instant::now();
        bound.take("http://a", start).expect("room").distrust(start);
        assert!(bound.take("http://a", start + Duration::from_secs(799)).is_none());
        assert!(bound.take("http://a", start + Duration::from_secs(800)).is_some());
    }

    #[test]
    fn the_past_of_an_origin_is_forgotten_with_its_slots() {
        let bound = IdleBound::new(2, Duration::from_secs(800));
        let start = Instant::now();
        bound.take("http://a", start).expect("room").distrust(start);
        assert!(bound.take("http://b", start).is_some());
        let later = start + Duration::from_secs(1700);
        assert!(bound.take("http://c", later).is_some(), "which sweeps");
        let inner = bound.inner.lock().expect("no test panicked");
        assert!(!inner.origins.contains_key("http://a"), "what is kept of origins has a bound");
    }

    #[test]
    fn https_counts_twice() {
        let bound = IdleBound::new(3, Duration::from_secs(8));
        let now = Instant::now();
        assert!(bound.take("https://a", now).is_some());
        assert!(bound.take("https://b", now).is_some(), "the last one may pass the bound by one");
        assert!(bound.take("http://c", now).is_none());
        assert!(bound.take("http://c", now + Duration::from_secs(10)).is_some());
    }

    #[test]
    fn a_busy_slot_outlives_its_time() {
        let bound = IdleBound::new(1, Duration::from_secs(8));
        let start = Instant::now();
        let busy = bound.take("http://a", start).expect("room");
        assert!(bound.take("http://b", start + Duration::from_secs(100)).is_none());
        drop(busy);
        assert!(bound.take("http://b", start + Duration::from_secs(200)).is_some());
    }
}
