//! How places are spelled as paths, and how a path is read back.
//!
//! A path ends in the number of its place. Reading it back takes that number,
//! spells the place again and compares: constant time, and no second spelling of
//! a page exists. It must not know of links, hosts' names or bodies.

use super::words::{push_number, word};
use super::{Kind, Place, Site};

/// Digits of the number in a path; enough for [`super::MAX_PAGES`].
const DIGITS: usize = 8;

/// The end of every path but the seeds' and robots.txt.
const SUFFIX: &str = ".html";

/// Pages that stand in one directory.
const PAGES_PER_DIRECTORY: u32 = 64;

/// Room for any path.
const LONGEST: usize = 96;

impl Kind {
    /// The first segment of the paths of a kind, where the kind decides it.
    fn section(self) -> Option<&'static str> {
        match self {
            Kind::Page | Kind::Robots => None,
            Kind::Redirect => Some("moved"),
            Kind::Missing => Some("removed"),
            Kind::Disallowed => Some("private"),
        }
    }

    /// What [`Site::bits`] is asked for a path of this kind.
    fn purpose(self) -> u64 {
        match self {
            Kind::Page | Kind::Robots => 1,
            Kind::Redirect => 2,
            Kind::Missing => 3,
            Kind::Disallowed => 4,
        }
    }
}

impl Site {
    /// The path of a place, about eighty bytes but for seeds and robots.txt.
    pub fn path(&self, place: Place) -> String {
        let mut path = Vec::with_capacity(LONGEST);
        self.write_path(place, &mut path);
        String::from_utf8_lossy(&path).into_owned()
    }

    /// What stands at a path of a host: nothing, unless it is spelled exactly as the site links it.
    pub fn locate(&self, host: u32, path: &str) -> Option<Place> {
        let place = match path {
            "/" => Place { kind: Kind::Page, host, index: 0 },
            "/robots.txt" => Place { kind: Kind::Robots, host, index: 0 },
            _ => guess(host, path)?,
        };
        if place.index >= self.count(place.kind, host) {
            return None;
        }
        let mut spelled = Vec::with_capacity(LONGEST);
        self.write_path(place, &mut spelled);
        (spelled == path.as_bytes()).then_some(place)
    }

    /// Appends the path of a place.
    pub(super) fn write_path(&self, place: Place, out: &mut Vec<u8>) {
        match (place.kind, place.index) {
            (Kind::Page, 0) => out.push(b'/'),
            (Kind::Robots, _) => out.extend_from_slice(b"/robots.txt"),
            _ => self.write_numbered_path(place, out),
        }
    }

    fn write_numbered_path(&self, place: Place, out: &mut Vec<u8>) {
        let directory = self.bits(0, place.host, place.index / PAGES_PER_DIRECTORY);
        let name = self.bits(place.kind.purpose(), place.host, place.index);
        let section = place.kind.section().unwrap_or(word(directory));
        let pieces = [
            ("/", section),
            ("/", word(directory >> 6)),
            ("/", word(directory >> 12)),
            ("-", word(directory >> 18)),
            ("/", word(name >> 12)),
            ("-", word(name >> 18)),
            ("-", word(name)),
            ("-", word(name >> 6)),
        ];
        for (separator, piece) in pieces {
            out.extend_from_slice(separator.as_bytes());
            out.extend_from_slice(piece.as_bytes());
        }
        out.push(b'-');
        push_number(place.index, DIGITS, out);
        out.extend_from_slice(SUFFIX.as_bytes());
    }

    /// Appends the two words that a place is called by in titles and link texts: the last of its path.
    pub(super) fn write_name(&self, place: Place, out: &mut Vec<u8>) {
        if place.kind == Kind::Page && place.index == 0 {
            out.extend_from_slice(b"Home");
            return;
        }
        let name = self.bits(place.kind.purpose(), place.host, place.index);
        super::words::push_capitalized(word(name), out);
        out.push(b' ');
        out.extend_from_slice(word(name >> 6).as_bytes());
    }
}

/// The only place that a path can be, by its first segment and its number.
fn guess(host: u32, path: &str) -> Option<Place> {
    let section = path.strip_prefix('/')?.split('/').next()?;
    let stem = path.strip_suffix(SUFFIX)?;
    let index = stem.get(stem.len().checked_sub(DIGITS)?..)?.parse().ok()?;
    let numbered = [Kind::Redirect, Kind::Missing, Kind::Disallowed];
    let kind = numbered.into_iter().find(|kind| kind.section() == Some(section)).unwrap_or(Kind::Page);
    Some(Place { kind, host, index })
}
