//! Pages fetched at the depth limit that are met again nearer to a seed.
//!
//! Their links were left out as too deep, though by the nearer way they are not.
//! Candidates of a host are served shallow ones first, so this is rare; it is
//! counted, so that it is not silent.

use std::collections::HashSet;

use crate::model::UrlKey;

/// Keys remembered at most; beyond, the count is a lower bound.
const MOST: usize = 250_000;

/// Remembers what was accepted at the depth limit.
#[derive(Debug, Default)]
pub(crate) struct DepthShadow {
    limit: Option<u32>,
    keys: HashSet<UrlKey>,
}

impl DepthShadow {
    pub(crate) fn new(limit: Option<u32>) -> Self {
        Self { limit, keys: HashSet::new() }
    }

    /// A candidate was accepted at this depth.
    pub(crate) fn accepted(&mut self, key: UrlKey, depth: u32) {
        if self.limit == Some(depth) && self.keys.len() < MOST {
            self.keys.insert(key);
        }
    }

    /// A candidate was met again at this depth; whether that makes it a shadowed page, told once.
    pub(crate) fn met_again(&mut self, key: UrlKey, depth: u32) -> bool {
        self.limit.is_some_and(|limit| depth < limit) && self.keys.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_nearer_meeting_of_a_page_at_the_limit_counts_and_once() {
        let mut shadow = DepthShadow::new(Some(2));
        shadow.accepted(1, 2);
        shadow.accepted(2, 1);
        assert!(!shadow.met_again(1, 2), "no nearer");
        assert!(!shadow.met_again(2, 0), "was not at the limit");
        assert!(shadow.met_again(1, 1));
        assert!(!shadow.met_again(1, 1), "told already");
        let mut unlimited = DepthShadow::new(None);
        unlimited.accepted(1, 2);
        assert!(!unlimited.met_again(1, 1));
    }
}
