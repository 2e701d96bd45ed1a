//! What DNS said of names, for as long as it holds, within a bound of bytes.
//!
//! Knows nothing of servers: who asks them puts in what they said. Where there is no room the
//! answer that has been here longest goes, whether or not it still holds. An answer of which one family of
//! addresses is missing can be doubted: then it is not given any more, but that it was doubted is known.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of an answer beside its name and addresses: its entry in the table and in the line.
const OVERHEAD: usize = 160;

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
pub(super) struct Answers {
    most_bytes: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<Arc<str>, Entry>,
    /// Names by when they came, with the stamps of their entries.
    line: VecDeque<(Arc<str>, u64)>,
    bytes: usize,
    stamp: u64,
}

#[derive(Debug)]
struct Entry {
    said: Said,
    until: Instant,
    stamp: u64,
    extent: Extent,
    doubted: bool,
}

impl Answers {
    /// Room for so many bytes of answers.
    pub(super) fn new(most_bytes: usize) -> Answers {
        Answers { most_bytes, inner: Mutex::default() }
    }

    /// What was said of a name, and how long it still holds; nothing where that ended longer ago
    /// than `slack`, or where that is in doubt.
    pub(super) fn get(&self, name: &str, now: Instant, slack: Duration) -> Option<(Said, Duration)> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = inner.entries.get(name).filter(|entry| now < entry.until + slack && !entry.doubted)?;
        Some((entry.said.clone(), entry.until.saturating_duration_since(now)))
    }

    /// No address that was said of a name could be connected to: half an answer counts for nothing now.
    pub(super) fn doubt(&self, name: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = inner.entries.get_mut(name) {
            entry.doubted = entry.extent == Extent::Half;
        }
    }

    /// Whether what was said of a name last is in doubt.
    pub(super) fn is_doubted(&self, name: &str) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.entries.get(name).is_some_and(|entry| entry.doubted)
    }

    /// Puts in what was said of a name, which holds until then.
    pub(super) fn put(&self, name: &str, said: Said, extent: Extent, until: Instant) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.remove(name);
        let bytes = bytes_of(name, &said);
        if bytes > self.most_bytes {
            return;
        }
        inner.bytes += bytes;
        while inner.bytes > self.most_bytes
            && let Some((oldest, stamp)) = inner.line.pop_front()
        {
            if inner.entries.get(&oldest).is_some_and(|entry| entry.stamp == stamp) {
                inner.remove(&oldest);
            }
        }
        inner.stamp += 1;
        let (name, stamp): (Arc<str>, u64) = (name.into(), inner.stamp);
        inner.line.push_back((name.clone(), stamp));
        inner.entries.insert(name, Entry { said, until, stamp, extent, doubted: false });
        if inner.line.len() > 2 * inner.entries.len() + 16 {
            let Inner { entries, line, .. } = &mut *inner;
            line.retain(|(name, stamp)| entries.get(name).is_some_and(|entry| entry.stamp == *stamp));
        }
    }
}

impl Inner {
    fn remove(&mut self, name: &str) {
        if let Some(entry) = self.entries.remove(name) {
            self.bytes -= bytes_of(name, &entry.said);
        }
    }
}

fn bytes_of(name: &str, said: &Said) -> usize {
    let addresses = match said {
        Said::Addresses(addresses) => size_of_val(&**addresses),
        Said::Nothing(_) => 0,
    };
    OVERHEAD + size_of::<Entry>() + name.len() + addresses
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

    proptest! {
        #[test]
        fn the_bound_holds_and_what_came_last_is_there(
            names in proptest::collection::vec(0..40_u8, 1..200),
            most in 300..4000_usize,
        ) {
            let answers = Answers::new(most);
            let now = Instant::now();
            let until = now + Duration::from_secs(60);
            for name in names {
                let text = format!("host-{name}.test");
                answers.put(&text, one(name), Extent::Whole, until);
                prop_assert_eq!(answers.get(&text, now, Duration::ZERO).map(|found| found.0), Some(one(name)));
                let inner = answers.inner.lock().expect("no test panicked");
                let counted: usize =
                    inner.entries.iter().map(|(name, entry)| bytes_of(name, &entry.said)).sum();
                prop_assert_eq!(inner.bytes, counted);
                prop_assert!(counted <= most);
                prop_assert!(inner.line.len() <= 2 * inner.entries.len() + 16);
            }
        }
    }
}
