//! What DNS said of names, for as long as it holds, within a bound of bytes.
//!
//! Knows nothing of servers: who asks them puts in what they said. Where there is no room an answer goes
//! whose name was asked for less often than others, whether or not it still holds; what was just said stays
//! until many others have come (see `cache`). An answer of which one family of addresses is missing can be
//! doubted: then it is not given any more, but that it was doubted is known.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cache::Cache;

/// Bytes of shared addresses beside themselves, allocator included.
const SHARED_BYTES: usize = 32;

/// What was said of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// It has these addresses.
    Addresses(Arc<[IpAddr]>),
    /// It does not exist, or has no address; in these words.
    Nothing(&'static str),
}

/// How much of what there is to say of a name was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// Nobody spoke of one of the families.
    Half,
}

/// The answers.
#[derive(Debug)]
pub(super) struct Answers(Mutex<Cache<Answer>>);

#[derive(Debug)]
struct Answer {
    said: Said,
    until: Instant,
    extent: Extent,
    doubted: bool,
}

impl Answers {
    /// Room for so many bytes of answers.
    pub(super) fn new(most_bytes: usize) -> Answers {
        Answers(Mutex::new(Cache::new(most_bytes)))
    }

    /// What was said of a name, and how long it still holds; nothing where that ended longer ago
    /// than `slack`, or where that is in doubt.
    pub(super) fn get(&self, name: &str, now: Instant, slack: Duration) -> Option<(Said, Duration)> {
        let mut cache = self.cache();
        let answer = cache.peek(name).filter(|answer| now < answer.until + slack && !answer.doubted)?;
        let found = (answer.said.clone(), answer.until.saturating_duration_since(now));
        cache.note_use(name);
        Some(found)
    }

    /// No address that was said of a name could be connected to: half an answer counts for nothing now.
    pub(super) fn doubt(&self, name: &str) {
        if let Some(answer) = self.cache().peek_mut(name) {
            answer.doubted = answer.extent == Extent::Half;
        }
    }

    /// Whether what was said of a name last is in doubt.
    pub(super) fn is_doubted(&self, name: &str) -> bool {
        self.cache().peek(name).is_some_and(|answer| answer.doubted)
    }

    /// Puts in what was said of a name, which holds until then.
    pub(super) fn put(&self, name: &str, said: Said, extent: Extent, until: Instant) {
        let heap_bytes = match &said {
            Said::Addresses(addresses) => SHARED_BYTES + size_of_val(&**addresses),
            Said::Nothing(_) => 0,
        };
        self.cache().put(name, Answer { said, until, extent, doubted: false }, heap_bytes);
    }

    fn cache(&self) -> MutexGuard<'_, Cache<Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(last: u8) -> Said {
        Said::Addresses([IpAddr::from([192, 0, 2, last])].into())
    }

    #[test]
    fn an_answer_holds_for_its_time_and_may_serve_a_little_longer() {
        let answers = Answers::new(1 << 20);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        answers.put("a.test", one(1), Extent::Whole, at(30));
        answers.put("b.test", Said::Nothing("no such host"), Extent::Whole, at(20));
        let none = Duration::ZERO;
        assert_eq!(answers.get("a.test", at(10), none), Some((one(1), Duration::from_secs(20))));
        assert_eq!(answers.get("a.test", at(30), none), None);
        assert_eq!(answers.get("a.test", at(50), Duration::from_secs(21)), Some((one(1), Duration::ZERO)));
        assert!(
            answers.get("b.test", at(19), none).is_some_and(|(said, _)| matches!(said, Said::Nothing(_)))
        );
        assert_eq!(answers.get("c.test", at(0), none), None);
        answers.put("a.test", one(2), Extent::Whole, at(90));
        assert_eq!(answers.get("a.test", at(80), none), Some((one(2), Duration::from_secs(10))));
    }

    #[test]
    fn only_half_an_answer_can_be_doubted_and_another_one_ends_that() {
        let answers = Answers::new(1 << 20);
        let now = Instant::now();
        let until = now + Duration::from_secs(30);
        let known = |name| answers.get(name, now, Duration::from_secs(60)).is_some();
        answers.put("whole.test", one(1), Extent::Whole, until);
        answers.put("half.test", one(2), Extent::Half, until);
        assert!(known("half.test") && !answers.is_doubted("half.test"));
        for name in ["whole.test", "half.test", "unknown.test"] {
            answers.doubt(name);
        }
        let doubted = ["whole.test", "half.test", "unknown.test"].map(|name| answers.is_doubted(name));
        assert_eq!(doubted, [false, true, false]);
        assert!(known("whole.test") && !known("half.test"));
        answers.put("half.test", one(3), Extent::Half, until);
        assert!(known("half.test") && !answers.is_doubted("half.test"));
    }

    #[test]
    fn a_scan_of_a_million_hosts_leaves_the_answers_of_those_in_use() {
        let answers = Answers::new(96 << 10);
        let now = Instant::now();
        let until = now + Duration::from_secs(60);
        // One visit: a look-up and two connections. Whether the answer was there.
        let visit = |name: &str| {
            let known = answers.get(name, now, Duration::ZERO).is_some();
            if !known {
                answers.put(name, one(1), Extent::Whole, until);
            }
            for _connection in 0..2 {
                assert!(answers.get(name, now, Duration::from_secs(60)).is_some(), "{name} is needed now");
            }
            known
        };
        let (in_use, every) = (60, 10);
        let (mut visits, mut known) = (0, 0);
        for number in 0..1_000_000_usize {
            assert!(!visit(&format!("once-{number}.test")));
            if number % every == 0 {
                visits += 1;
                known += usize::from(visit(&format!("used-{}.test", number / every % in_use)));
            }
        }
        let kept = answers.cache().len();
        assert!(
            kept < in_use * every,
            "by order of arrival or of use each would be gone when it is asked for"
        );
        assert!(known * 10 > visits * 9, "{known} of {visits}");
    }

    proptest! {
        #[test]
        fn the_bound_holds_and_what_came_last_is_there(
            names in proptest::collection::vec(0..40_u8, 1..200),
            most in 1500..8000_usize,
        ) {
            let answers = Answers::new(most);
            let now = Instant::now();
            let until = now + Duration::from_secs(60);
            for name in names {
                let text = format!("host-{name}.test");
                answers.put(&text, one(name), Extent::Whole, until);
                prop_assert_eq!(answers.get(&text, now, Duration::ZERO).map(|found| found.0), Some(one(name)));
                prop_assert!(answers.cache().bytes() <= most);
            }
        }
    }
}
