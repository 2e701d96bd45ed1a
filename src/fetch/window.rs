//! Memory of decoder windows, shared by all bodies in flight.
//!
//! The server chooses the window (brotli up to 16 MiB, zstd up to 8 MiB), so a
//! decoder leases what it has touched so far before it touches more. One
//! overflow token lets one body at a time pass the bound, so that someone can
//! always finish; what is held in all is at most the pool and one body's windows.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of one unit. The first unit of a body is free: every decoder needs it.
const UNIT: usize = 64 * 1024;

/// What all bodies share.
#[derive(Debug, Clone)]
pub(super) struct WindowPool {
    room: Arc<Semaphore>,
    overflow: Arc<Semaphore>,
}

impl WindowPool {
    /// A pool of `bytes`.
    pub(super) fn new(bytes: u64) -> WindowPool {
        let units = usize::try_from(bytes / UNIT as u64).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        WindowPool { room: Arc::new(Semaphore::new(units)), overflow: Arc::new(Semaphore::new(1)) }
    }
}

/// What one body holds; given back when dropped.
#[derive(Debug, Default)]
pub(super) struct WindowLease {
    units: usize,
    held: Option<OwnedSemaphorePermit>,
    overflow: Option<OwnedSemaphorePermit>,
}

impl WindowLease {
    /// Grows the lease to cover `bytes`, without waiting; says whether it could.
    pub(super) fn try_grow(&mut self, pool: &WindowPool, bytes: usize) -> bool {
        let missing = self.missing(bytes);
        if missing == 0 {
            return true;
        }
        match pool.room.clone().try_acquire_many_owned(missing) {
            Ok(permit) => {
                self.keep(permit);
                true
            }
            Err(_) => false,
        }
    }

    /// Grows the lease to cover `bytes`, waiting for room or for the overflow token.
    pub(super) async fn grow(&mut self, pool: &WindowPool, bytes: usize) {
        let missing = self.missing(bytes);
        tokio::select! {
            biased;
            permit = pool.room.clone().acquire_many_owned(missing) => {
                // the pool is never closed
                if let Ok(permit) = permit { self.keep(permit) }
            }
            token = pool.overflow.clone().acquire_owned() => self.overflow = token.ok(),
        }
    }

    fn missing(&self, bytes: usize) -> u32 {
        if self.overflow.is_some() {
            return 0;
        }
        (bytes.div_ceil(UNIT).saturating_sub(1).saturating_sub(self.units)) as u32
    }

    fn keep(&mut self, permit: OwnedSemaphorePermit) {
        self.units += permit.num_permits();
        match &mut self.held {
            Some(held) => held.merge(permit),
            None => self.held = Some(permit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_body_may_pass_the_bound() {
        let pool = WindowPool::new(4 * UNIT as u64);
        let (mut first, mut second, mut third) =
            (WindowLease::default(), WindowLease::default(), WindowLease::default());
        assert!(first.try_grow(&pool, UNIT) && second.try_grow(&pool, UNIT), "the first unit is free");
        assert!(first.try_grow(&pool, 5 * UNIT));
        assert!(!second.try_grow(&pool, 2 * UNIT));
        second.grow(&pool, 2 * UNIT).await;
        assert!(second.try_grow(&pool, 100 * UNIT), "the token covers everything");
        assert!(!third.try_grow(&pool, 2 * UNIT));
        drop(second);
        third.grow(&pool, 2 * UNIT).await;
        drop(third);
        drop(first);
        assert_eq!(pool.room.available_permits(), 4);
        assert_eq!(pool.overflow.available_permits(), 1);
    }
}
