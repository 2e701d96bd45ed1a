//! One example of a skipped URL for each reason.

use std::collections::BTreeMap;

use crate::model::SkipReason;

/// Bytes of an example at most; of a longer URL the beginning is kept.
const MOST_BYTES: usize = 256;

/// The first URL that was skipped for each reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examples([Option<Box<str>>; SkipReason::ALL.len()]);

impl Examples {
    /// Keeps a URL where it is the first one skipped for a reason, its beginning where it is long;
    /// what is kept, in that case.
    pub fn note(&mut self, reason: SkipReason, url: &str) -> Option<&str> {
        let place = &mut self.0[reason as usize];
        if place.is_some() || url.is_empty() {
            return None;
        }
        Some(place.insert(cut(url)))
    }

    /// Reason and example, for those that have one.
    pub fn iter(&self) -> impl Iterator<Item = (SkipReason, &str)> {
        SkipReason::ALL.into_iter().zip(&self.0).filter_map(|(reason, url)| Some((reason, url.as_deref()?)))
    }

    /// The same as a map.
    pub fn to_map(&self) -> BTreeMap<SkipReason, String> {
        self.iter().map(|(reason, url)| (reason, url.to_owned())).collect()
    }
}

fn cut(url: &str) -> Box<str> {
    if url.len() <= MOST_BYTES {
        return url.into();
    }
    let most = MOST_BYTES - '…'.len_utf8();
    let end = (0..=most).rev().find(|end| url.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &url[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_reason_stays() {
        let mut examples = Examples::default();
        assert_eq!(examples.note(SkipReason::Trap, "http://a.test/1"), Some("http://a.test/1"));
        assert_eq!(examples.note(SkipReason::Trap, "http://a.test/2"), None);
        assert_eq!(examples.note(SkipReason::Nofollow, ""), None);
        examples.note(SkipReason::BadUrl, "http://");
        let all: Vec<_> = examples.iter().collect();
        assert_eq!(all, [(SkipReason::BadUrl, "http://"), (SkipReason::Trap, "http://a.test/1")]);
        assert_eq!(examples.to_map().len(), 2);
    }

    #[test]
    fn a_long_one_is_cut_between_characters() {
        for shift in 0..3 {
            let url = format!("{}{}", "x".repeat(shift), "é".repeat(200));
            let mut examples = Examples::default();
            let kept = examples.note(SkipReason::BadUrl, &url).expect("the first");
            assert!(kept.len() <= MOST_BYTES && kept.len() > MOST_BYTES - 3, "{}", kept.len());
            assert!(kept.ends_with('…'));
        }
    }
}
