//! The shape of a URL: how deep its path is, and what repeats in it.
//!
//! Servers that answer whatever they are asked make paths and queries grow for ever, mostly by
//! links that are relative by mistake. What is judged here is judged from the URL alone, so the
//! verdict is the same for a link, a redirect and a seed, today and after a restart.

use crate::config::Config;
use crate::model::SkipReason;

/// Bounds on the shape of a URL.
///
/// ```
/// use dragline::config::Config;
/// use dragline::model::SkipReason;
/// use dragline::scope::Shape;
///
/// let shape = Shape::of(&Config { max_repeated_segments: 2, ..Config::default() });
/// assert_eq!(shape.check("http://site.test/a/b/a/c"), Ok(()));
/// assert_eq!(shape.check("http://site.test/a/b/a/b/a/"), Err(SkipReason::RepeatedSegments));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Segments of a path at most.
    depth: usize,
    /// How often one of them may stand in it.
    same_segment: usize,
    /// How often one parameter may stand in a query.
    same_parameter: usize,
}

impl Shape {
    /// The bounds that a configuration sets.
    pub fn of(config: &Config) -> Self {
        Self {
            depth: config.max_path_depth as usize,
            same_segment: config.max_repeated_segments as usize,
            same_parameter: config.max_repeated_parameters as usize,
        }
    }

    /// Whether a URL, given as requested, keeps to the bounds.
    ///
    /// Segments are what stands between slashes, parameters are told apart by what stands before
    /// `=`; empty ones are left out. Both are compared as they are spelled.
    ///
    /// # Errors
    /// [`SkipReason::PathTooDeep`], [`SkipReason::RepeatedSegments`] or
    /// [`SkipReason::RepeatedParameters`].
    pub fn check(&self, requested: &str) -> Result<(), SkipReason> {
        // two looks at the bytes settle most; slashes of query and fragment count too, and two of the scheme
        let count = |byte| memchr::memchr_iter(byte, requested.as_bytes()).count();
        let slashes = self.depth.min(self.same_segment).saturating_add(2);
        if count(b'/') <= slashes && count(b'&') < self.same_parameter {
            return Ok(());
        }
        self.look_closer(requested)
    }

    fn look_closer(&self, requested: &str) -> Result<(), SkipReason> {
        let start = requested.find("://").map_or(0, |at| at + 3);
        let bytes = requested.as_bytes();
        let path_end = memchr::memchr2(b'?', b'#', &bytes[start..]).map_or(bytes.len(), |at| start + at);
        // what stands before the first slash is the host
        let segments = || requested[start..path_end].split('/').skip(1);
        let (number, crowded) = tally(segments(), self.same_segment);
        if number > self.depth {
            return Err(SkipReason::PathTooDeep);
        }
        if crowded && repeats(segments(), self.same_segment) {
            return Err(SkipReason::RepeatedSegments);
        }
        let query = requested[path_end..].strip_prefix('?').unwrap_or_default();
        let query = query.split('#').next().unwrap_or_default();
        let parameters = || query.split('&').map(name_of);
        if tally(parameters(), self.same_parameter).1 && repeats(parameters(), self.same_parameter) {
            return Err(SkipReason::RepeatedParameters);
        }
        Ok(())
    }

    /// The option behind a reason of [`check`](Self::check), as a person would type it.
    pub fn rule(&self, reason: SkipReason) -> Option<String> {
        match reason {
            SkipReason::PathTooDeep => Some(format!("--max-path-depth {}", self.depth)),
            SkipReason::RepeatedSegments => Some(format!("--max-repeated-segments {}", self.same_segment)),
            SkipReason::RepeatedParameters => {
                Some(format!("--max-repeated-parameters {}", self.same_parameter))
            }
            _ => None,
        }
    }
}

/// The name of a parameter.
fn name_of(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or_default()
}

/// How many names there are, empty ones left out, and whether any may occur more often than `most`.
fn tally<'n>(names: impl Iterator<Item = &'n str>, most: usize) -> (usize, bool) {
    // names that look alike share a counter: where that is not passed, no name's own would be
    let mut alike = [0_usize; 64];
    let (mut number, mut crowded) = (0, false);
    for name in names {
        let bytes = name.as_bytes();
        if let (Some(first), Some(last)) = (bytes.first(), bytes.last()) {
            number += 1;
            let place = usize::from(first ^ last.rotate_left(3)) ^ (bytes.len() * 11);
            let counter = &mut alike[place % 64];
            *counter += 1;
            crowded |= *counter > most;
        }
    }
    (number, crowded)
}

/// Whether any name that is not empty occurs more often than `most`.
fn repeats<'n>(names: impl Iterator<Item = &'n str>, most: usize) -> bool {
    let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.chunk_by(|one, other| one == other).any(|same| same.len() > most)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn shape(depth: u32, segments: u32, parameters: u32) -> Shape {
        Shape::of(&Config {
            max_path_depth: depth,
            max_repeated_segments: segments,
            max_repeated_parameters: parameters,
            ..Config::default()
        })
    }

    #[test]
    fn each_bound_is_reached_before_it_is_passed() {
        use SkipReason::{PathTooDeep, RepeatedParameters, RepeatedSegments};
        let shape = shape(4, 2, 3);
        for (path, expected) in [
            ("", Ok(())),
            ("/", Ok(())),
            ("/a/b/c/d", Ok(())),
            ("/a/b/c/d/", Ok(())),
            ("//a///b/c//d/", Ok(())),
            ("/a/b/c/d/e", Err(PathTooDeep)),
            ("/a/b/a/b", Ok(())),
            ("/a/b/a/a", Err(RepeatedSegments)),
            ("/a/A/a", Ok(())),
            ("/x?/a/b/c/d/e/f/a/a/a", Ok(())),
            ("/x?q=1&q=2&q=3&r&", Ok(())),
            ("/x?q=1&r&q=2&q=3&q", Err(RepeatedParameters)),
            ("/x?&&&&&&&", Ok(())),
            ("/x?a=q&b=q&c=q&d=q", Ok(())),
            ("/x#?q&q&q&q&q/a/a/a/a/a", Ok(())),
        ] {
            assert_eq!(shape.check(&format!("http://site.test:80{path}")), expected, "{path}");
        }
    }

    #[test]
    fn no_text_panics() {
        for text in ["", "://", "a/a/a/a/a/a", "http://", "é://é:é/é?é&é", "#", "?"] {
            let _ = shape(1, 1, 1).check(text);
        }
    }

    proptest! {
        #[test]
        fn it_says_what_counting_says(path in "(/[ab]?){0,12}", query in "(&?[pq]?=?){0,12}", bounds in any::<[u8; 3]>()) {
            let bounds = bounds.map(|bound| u32::from(bound % 7) + 1);
            let often = |names: Vec<&str>| {
                let mut counts = HashMap::new();
                for name in names {
                    *counts.entry(name.to_owned()).or_insert(0_u32) += 1;
                }
                counts.into_values().max().unwrap_or(0)
            };
            let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
            let names = query.split('&').map(|one| one.split('=').next().unwrap_or_default());
            let names = names.filter(|name| !name.is_empty()).collect();
            let expected = if segments.len() as u32 > bounds[0] {
                Err(SkipReason::PathTooDeep)
            } else if often(segments) > bounds[1] {
                Err(SkipReason::RepeatedSegments)
            } else if often(names) > bounds[2] {
                Err(SkipReason::RepeatedParameters)
            } else {
                Ok(())
            };
            let url = format!("http://site.test{path}?{query}");
            prop_assert_eq!(shape(bounds[0], bounds[1], bounds[2]).check(&url), expected, "{}", url);
        }
    }
}
