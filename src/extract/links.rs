//! The links of one page: one arena of text, equal ones folded, bounded in number and size.

use super::character_references::{Place, decode_into};
use crate::model::Via;
use memchr::memchr;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Places looked at for an equal link; a page made to collide is left for the engine to sort out.
///
/// In a table half full a run is longer than so many places about once in 10^10 links (each place
/// more is 0.82 times as likely: Knuth, The Art of Computer Programming, section 6.4).
const MAX_PROBES: usize = 128;

/// Places of the table at the beginning.
const FIRST_PLACES: usize = 128;

/// Bounds on what one page may yield; what is beyond is dropped and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtractLimits {
    /// Different links at most.
    pub max_links: usize,
    /// Bytes of text of all links together at most.
    pub max_link_bytes: usize,
}

impl Default for ExtractLimits {
    /// 100,000 links, 8 MiB of text.
    fn default() -> ExtractLimits {
        ExtractLimits { max_links: 100_000, max_link_bytes: 8 << 20 }
    }
}

/// One link; its text is part of the page's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Where it begins in [`Extracted::text`](super::Extracted::text), in bytes.
    pub start: u32,
    /// Its length in bytes.
    pub length: u32,
    /// How often an equal one (same text, `via` and `nofollow`) came after it.
    pub repeats: u32,
    /// The kind of element.
    pub via: Via,
    /// Its own `rel` says `nofollow`.
    pub nofollow: bool,
}

/// Whether what a page embeds under this text has to be asked for: nothing, another place of the
/// page itself and what stands in the text as `data:` have not.
fn is_apart(text: &str) -> bool {
    let text = text.trim_start_matches(|character| character <= ' ');
    let is_data = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    !text.is_empty() && !text.starts_with('#') && !is_data
}

/// A place in the table: part of a link's hash, and its number from 1; 0 is free.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u32,
    link: u32,
}

/// The links so far.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) limits: ExtractLimits,
    /// Fragments tell pages apart, and so links.
    pub(super) keep_fragments: bool,
    pub(super) references: Vec<Reference>,
    pub(super) text: String,
    pub(super) dropped: u64,
    pub(super) repeated: u64,
    table: Vec<Slot>,
    seed: u64,
}

impl Links {
    /// Ready for another page; buffers are kept.
    pub(super) fn reset(&mut self, limits: ExtractLimits, keep_fragments: bool) {
        // places in the text are 32 bits wide
        let max_link_bytes = limits.max_link_bytes.min(1 << 30);
        self.limits = ExtractLimits { max_link_bytes, ..limits };
        self.keep_fragments = keep_fragments;
        self.references.clear();
        self.text.clear();
        self.dropped = 0;
        self.repeated = 0;
        self.table.truncate(FIRST_PLACES);
        self.table.shrink_to(FIRST_PLACES);
        self.table.fill(Slot::default());
        if self.seed == 0 {
            self.seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u8);
        }
    }

    /// Bytes of the largest buffer.
    pub(super) fn largest_buffer(&self) -> usize {
        let references = self.references.capacity() * size_of::<Reference>();
        let table = self.table.capacity() * size_of::<Slot>();
        references.max(table).max(self.text.capacity())
    }

    /// Bytes of all buffers.
    pub(super) fn held_bytes(&self) -> usize {
        let references = self.references.capacity() * size_of::<Reference>();
        references + self.table.capacity() * size_of::<Slot>() + self.text.capacity()
    }

    /// A link that was there but could not be kept.
    pub(super) fn drop_one(&mut self) {
        self.dropped += 1;
    }

    /// A link whose text is an attribute's value as written.
    pub(super) fn add(&mut self, raw: &[u8], via: Via, nofollow: bool) {
        let start = self.text.len();
        decode_into(raw, Place::Attribute, &mut self.text);
        self.finish(start, via, nofollow);
    }

    /// A link whose text is already decoded.
    pub(super) fn add_decoded(&mut self, target: &str, via: Via, nofollow: bool) {
        let start = self.text.len();
        self.text.push_str(target);
        self.finish(start, via, nofollow);
    }

    /// The text from `start` on is a link: keeps it, folds it into an equal one, or drops it.
    fn finish(&mut self, start: usize, via: Via, nofollow: bool) {
        if !self.keep_fragments
            && let Some(length) = memchr(b'#', &self.text.as_bytes()[start..])
        {
            self.text.truncate(start + length);
        }
        if via == Via::Resource && !is_apart(&self.text[start..]) {
            self.text.truncate(start);
            return;
        }
        let length = self.text.len() - start;
        let one = Reference { start: start as u32, length: length as u32, repeats: 0, via, nofollow };
        let hash = self.hash(one);
        match self.find(one, hash) {
            Ok(equal) => {
                self.text.truncate(start);
                self.repeated += 1;
                let repeats = &mut self.references[equal].repeats;
                *repeats = repeats.saturating_add(1);
            }
            Err(_) if !self.has_room() => {
                self.text.truncate(start);
                self.dropped += 1;
            }
            Err(place) => self.keep(one, hash, place),
        }
    }

    fn keep(&mut self, one: Reference, hash: u64, place: Option<usize>) {
        self.references.push(one);
        if let Some(place) = place {
            self.table[place] = Slot { hash: hash as u32, link: self.references.len() as u32 };
        }
        self.grow();
    }

    fn has_room(&self) -> bool {
        self.references.len() < self.limits.max_links && self.text.len() <= self.limits.max_link_bytes
    }

    fn text_of(&self, one: Reference) -> &str {
        let start = one.start as usize;
        &self.text[start..start + one.length as usize]
    }

    fn hash(&self, one: Reference) -> u64 {
        let kind = (one.via as u64) << 1 | u64::from(one.nofollow);
        xxh3_64_with_seed(self.text_of(one).as_bytes(), self.seed ^ kind)
    }

    /// The number of an equal link, or the free place where this one belongs (none where all near are taken).
    fn find(&self, one: Reference, hash: u64) -> Result<usize, Option<usize>> {
        let Some(mask) = self.table.len().checked_sub(1) else {
            return Err(None);
        };
        for probe in 0..MAX_PROBES {
            let place = ((hash >> 32) as usize + probe) & mask;
            let slot = self.table[place];
            let Some(number) = slot.link.checked_sub(1) else {
                return Err(Some(place));
            };
            let number = number as usize;
            if slot.hash == hash as u32 && self.are_equal(self.references[number], one) {
                return Ok(number);
            }
        }
        Err(None)
    }

    fn are_equal(&self, a: Reference, b: Reference) -> bool {
        a.via == b.via && a.nofollow == b.nofollow && self.text_of(a) == self.text_of(b)
    }

    /// Keeps the table at most half full.
    fn grow(&mut self) {
        if self.references.len() * 2 <= self.table.len() {
            return;
        }
        let places = (self.table.len() * 2).max(FIRST_PLACES);
        self.table.clear();
        self.table.resize(places, Slot::default());
        for number in 0..self.references.len() {
            let one = self.references[number];
            let hash = self.hash(one);
            if let Err(Some(place)) = self.find(one, hash) {
                self.table[place] = Slot { hash: hash as u32, link: number as u32 + 1 };
            }
        }
    }
}
