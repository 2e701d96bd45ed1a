//! How many idle connections are kept, over all hosts.
//!
//! The client's pool is bounded per host only, and a crawl sees very many hosts.
//! So a connection goes back to the pool only if its origin is among the few
//! hundred that were asked within the pool's idle time; the others are used once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The origins whose connections are kept.
#[derive(Debug)]
pub(super) struct IdleBound {
    most: usize,
    keep_for: Duration,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    last_used: HashMap<Box<str>, Instant>,
    swept: Option<Instant>,
}

impl IdleBound {
    /// At most `most` origins, each for `keep_for` after its last request.
    pub(super) fn new(most: usize, keep_for: Duration) -> IdleBound {
        IdleBound { most, keep_for, inner: Mutex::new(Inner { last_used: HashMap::new(), swept: None }) }
    }

    /// Whether the connection of a request to `origin`, made now, may be kept afterwards.
    pub(super) fn may_keep(&self, origin: &str, now: Instant) -> bool {
        if self.most == 0 {
            return false;
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = inner.last_used.get_mut(origin) {
            *last = now;
            return true;
        }
        if inner.last_used.len() >= self.most {
            // sweeping looks at every origin, so it is done a few times per idle time only
            if inner.swept.is_some_and(|swept| now.duration_since(swept) < self.keep_for / 4) {
                return false;
            }
            inner.swept = Some(now);
            inner.last_used.retain(|_, last| now.duration_since(*last) < self.keep_for);
            if inner.last_used.len() >= self.most {
                return false;
            }
        }
        inner.last_used.insert(origin.into(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_origins_are_kept() {
        let bound = IdleBound::new(2, Duration::from_secs(8));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(bound.may_keep("http://a", at(0)));
        assert!(bound.may_keep("http://b", at(1)));
        assert!(!bound.may_keep("http://c", at(2)));
        assert!(bound.may_keep("http://a", at(7)));
        assert!(!bound.may_keep("http://c", at(8)));
        assert!(bound.may_keep("http://c", at(12)), "b has been idle for too long");
        assert!(!bound.may_keep("http://b", at(13)));
        assert!(!IdleBound::new(0, Duration::from_secs(8)).may_keep("http://a", at(0)));
    }
}
