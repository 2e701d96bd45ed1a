//! Leases of memory: whoever is about to hold bytes of a body, of its decoder or of
//! what comes of it takes them from one pool first, and waits while it is empty.
//!
//! A holder that needs more may wait for those who wait for it. So there is one
//! overflow token: its owner need not wait any more, finishes, and passes it on.
//! What is held in all is at most the pool and what one holder may ever need.
//! Knows nothing of what the bytes are.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that are leased at a time.
const UNIT: usize = 4 << 10;

/// Memory that many share. Clones are the same pool.
#[derive(Debug, Clone)]
pub struct LeasePool {
    room: Arc<Semaphore>,
    overflow: Arc<Semaphore>,
}

impl LeasePool {
    /// A pool of so many bytes, rounded down to whole units of 4 KiB.
    pub fn new(bytes: u64) -> LeasePool {
        let most = Semaphore::MAX_PERMITS.min(u32::MAX as usize);
        let units = usize::try_from(bytes / UNIT as u64).unwrap_or(most).min(most);
        LeasePool { room: Arc::new(Semaphore::new(units)), overflow: Arc::new(Semaphore::new(1)) }
    }

    /// A lease of nothing yet.
    pub fn lease(&self) -> Lease {
        Lease { pool: self.clone(), permit: None, overflow: None }
    }

    /// Bytes that nobody holds.
    pub fn free_bytes(&self) -> usize {
        self.room.available_permits().saturating_mul(UNIT)
    }
}

/// What one holder has of a pool; all of it is given back when this is dropped.
#[derive(Debug)]
pub struct Lease {
    pool: LeasePool,
    permit: Option<OwnedSemaphorePermit>,
    overflow: Option<OwnedSemaphorePermit>,
}

impl Lease {
    /// Bytes held of the pool.
    pub fn bytes(&self) -> usize {
        self.units().saturating_mul(UNIT)
    }

    /// Bytes of the pool that nobody holds.
    pub fn free_bytes(&self) -> usize {
        self.pool.free_bytes()
    }

    /// Covers `bytes` in all from now on, if that takes no waiting; says whether it does.
    pub fn try_hold(&mut self, bytes: usize) -> bool {
        let missing = self.missing(bytes);
        if missing == 0 {
            return true;
        }
        match self.pool.room.clone().try_acquire_many_owned(missing) {
            Ok(permit) => {
                self.keep(permit);
                true
            }
            Err(_) => false,
        }
    }

    /// Covers `bytes` in all from now on, waiting for room or for the overflow token.
    pub async fn hold(&mut self, bytes: usize) {
        let missing = self.missing(bytes);
        if missing == 0 {
            return;
        }
        tokio::select! {
            biased;
            // the semaphores are never closed
            Ok(permit) = self.pool.room.clone().acquire_many_owned(missing) => self.keep(permit),
            Ok(token) = self.pool.overflow.clone().acquire_owned() => self.overflow = Some(token),
            else => {}
        }
    }

    /// Gives back what is held beyond `bytes`, and the overflow token if `bytes` are covered without it.
    pub fn shrink_to(&mut self, bytes: usize) {
        let wanted = bytes.div_ceil(UNIT);
        let spare = self.units().saturating_sub(wanted);
        if let Some(permit) = &mut self.permit {
            drop(permit.split(spare));
        }
        if self.units() >= wanted {
            self.overflow = None;
        }
    }

    fn units(&self) -> usize {
        self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }

    fn missing(&self, bytes: usize) -> u32 {
        if self.overflow.is_some() {
            return 0;
        }
        u32::try_from(bytes.div_ceil(UNIT).saturating_sub(self.units())).unwrap_or(u32::MAX)
    }

    fn keep(&mut self, permit: OwnedSemaphorePermit) {
        match &mut self.permit {
            Some(held) => held.merge(permit),
            None => self.permit = Some(permit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    /// Whether holding `bytes` succeeds at once.
    fn holds(lease: &mut Lease, bytes: usize) -> bool {
        pin!(lease.hold(bytes)).as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn what_is_held_is_given_back() {
        let pool = LeasePool::new(10 * UNIT as u64 + 1);
        let (mut first, mut second) = (pool.lease(), pool.lease());
        assert!(first.try_hold(6 * UNIT) && first.try_hold(3 * UNIT), "less than is held is held");
        assert_eq!((first.bytes(), pool.free_bytes()), (6 * UNIT, 4 * UNIT));
        assert!(!second.try_hold(4 * UNIT + 1) && second.try_hold(4 * UNIT - 1));
        first.shrink_to(UNIT + 1);
        assert_eq!((first.bytes(), pool.free_bytes()), (2 * UNIT, 4 * UNIT));
        drop((first, second));
        assert_eq!(pool.free_bytes(), 10 * UNIT);
    }

    #[test]
    fn one_holder_may_pass_the_bound() {
        let pool = LeasePool::new(4 * UNIT as u64);
        let (mut first, mut second, mut third) = (pool.lease(), pool.lease(), pool.lease());
        assert!(first.try_hold(3 * UNIT));
        assert!(holds(&mut second, 2 * UNIT), "by the token");
        assert!(holds(&mut second, 1000 * UNIT), "the token covers everything");
        assert!(!holds(&mut third, 2 * UNIT));
        drop(second);
        assert!(holds(&mut third, 2 * UNIT));
        drop(first);
        third.shrink_to(UNIT);
        assert_eq!(third.bytes(), 0, "what the token covered was never held of the pool");
        assert!(!holds(&mut pool.lease(), 5 * UNIT), "so it is kept until nothing is needed");
        third.shrink_to(0);
        assert!(holds(&mut pool.lease(), 5 * UNIT));
    }

    /// Many holders that all need more than there is, each in several steps, all come to their end.
    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let pool = LeasePool::new(3 * UNIT as u64);
        let mut holders = Vec::new();
        for number in 0..50_usize {
            let mut lease = pool.lease();
            holders.push(tokio::spawn(async move {
                for step in 1..6 {
                    lease.hold((number % 3 + 1) * step * UNIT).await;
                    tokio::task::yield_now().await;
                }
            }));
        }
        for holder in holders {
            holder.await.expect("no panic");
        }
        assert_eq!(pool.free_bytes(), 3 * UNIT);
    }
}
