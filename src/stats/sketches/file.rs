//! Sketches as they are kept: with the crawls that they are of.
//!
//! ```text
//! header    16 bytes, see `store`
//! length     8 bytes, little endian: of the crawls
//! crawls     how many · id of each (8 bytes), its records, and its rules of canonicalization
//! crc32      4 bytes, little endian: of the crawls
//! sketches   see `sketch`: one section for each, found by its subject
//! ```

use std::path::{Path, PathBuf};

use super::CrawlSketches;
use crate::sketch::file::{Section, SketchFileError, append, begin, read};
use crate::sketch::{Comparison, CountSketch, Estimate, MergeError, Overlap, fingerprint};
use crate::store::{Decoder, Encoder, FileKind, HEADER_BYTES, Malformed, StateError, check_header, header};

/// A crawl whose sketches are told.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CrawlPart {
    /// Tells it from every other crawl.
    #[serde(serialize_with = "hexadecimal")]
    pub id: u64,
    /// Its records.
    pub records: u64,
    /// Its rules of canonicalization that are not the usual ones, as options; empty in a crawl's own state, whose
    /// configuration tells them.
    pub canonicalization: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn hexadecimal<S: serde::Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:016x}"))
}

/// Why kept sketches cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptSketchesError {
    /// The file is not as it was written, or of another version.
    #[error(transparent)]
    State(#[from] StateError),
    /// Its sketches are not.
    #[error("{}: {source}", .file.display())]
    Sketches {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: SketchFileError,
    },
}

impl KeptSketchesError {
    /// What it is as an error of a crawl's state.
    pub fn into_state(self) -> StateError {
        const PROBLEM: &str =
            "its sketches are not as they were written, or of a kind that this dragline does not know";
        match self {
            KeptSketchesError::State(error) => error,
            KeptSketchesError::Sketches { file, .. } => StateError::damaged(&file, 0, PROBLEM),
        }
    }
}

/// The sketches of one crawl or of several.
#[derive(Debug, Clone)]
pub struct KeptSketches {
    /// The crawls, each once.
    pub crawls: Vec<CrawlPart>,
    /// What they say together.
    pub sketches: CrawlSketches,
}

impl KeptSketches {
    /// Their bytes, for [`decode`](Self::decode).
    pub fn encode(&self) -> Vec<u8> {
        encode(&self.crawls, &self.sketches)
    }

    /// Reads them back; `file` is named in errors.
    ///
    /// # Errors
    /// [`KeptSketchesError`] where the bytes are not what was written.
    pub fn decode(file: &Path, bytes: &[u8]) -> Result<Self, KeptSketchesError> {
        let damaged = |offset| StateError::damaged(file, offset, "it is not as it was written");
        let (head, rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or_else(|| damaged(0))?;
        check_header(file, head, FileKind::Sketches)?;
        let place = HEADER_BYTES as u64;
        let (length, rest) = rest.split_first_chunk().ok_or_else(|| damaged(place))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged(place))?;
        let (told, rest) = rest.split_at_checked(length).ok_or_else(|| damaged(place))?;
        let (checksum, sketches) = rest.split_first_chunk().ok_or_else(|| damaged(place + 8))?;
        if crc32fast::hash(told) != u32::from_le_bytes(*checksum) {
            return Err(damaged(place + 8).into());
        }
        let crawls = decode_told(told).map_err(|Malformed| damaged(place + 8))?;
        let wrong = |source| KeptSketchesError::Sketches { file: file.to_owned(), source };
        let sketches = read(sketches).and_then(|sections| CrawlSketches::of(&sections)).map_err(wrong)?;
        Ok(Self { crawls, sketches })
    }

    /// Adds other crawls, none of which it may hold.
    ///
    /// # Errors
    /// [`MergeError`] where their sketches were made otherwise; nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        let mut merged = self.sketches.clone();
        merged.merge(&other.sketches)?;
        self.sketches = merged;
        self.crawls.extend(other.crawls.iter().cloned());
        Ok(())
    }
}

/// The bytes of the sketches of some crawls, for [`KeptSketches::decode`].
pub fn encode(crawls: &[CrawlPart], sketches: &CrawlSketches) -> Vec<u8> {
    let mut told = Vec::new();
    let mut encoder = Encoder(&mut told);
    encoder.number(crawls.len() as u64);
    for crawl in crawls {
        encoder.key(crawl.id);
        encoder.number(crawl.records);
        encoder.text(&crawl.canonicalization);
    }
    let mut bytes = header(FileKind::Sketches).to_vec();
    bytes.extend_from_slice(&(told.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&told);
    bytes.extend_from_slice(&crc32fast::hash(&told).to_le_bytes());
    sketches.append(&mut bytes);
    bytes
}

fn decode_told(told: &[u8]) -> Result<Vec<CrawlPart>, Malformed> {
    let mut decoder = Decoder(told);
    let mut crawls = Vec::new();
    for _ in 0..decoder.number()? {
        let (id, records) = (decoder.key()?, decoder.count()?);
        crawls.push(CrawlPart { id, records, canonicalization: decoder.text()?.to_owned() });
    }
    if decoder.is_empty() { Ok(crawls) } else { Err(Malformed) }
}

/// A host that has more or fewer pages than it had.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HostChange {
    /// The host.
    pub host: String,
    /// Pages that it has more; fewer, where that is negative.
    pub change: Estimate,
}

/// A change is told where it is larger than so many times what it may be off by.
const TIMES_THE_ERROR: f64 = 3.0;

macro_rules! subjects {
    ($($field:ident: $subject:literal,)*) => {
        impl CrawlSketches {
            /// Appends a file of them, one after another.
            fn append(&self, file: &mut Vec<u8>) {
                const SECTIONS: usize = [$($subject),*].len();
                begin(file, SECTIONS);
                $(append(file, &Section::of($subject, &self.$field));)*
            }

            /// The sketches of a file.
            fn of(sections: &[Section]) -> Result<Self, SketchFileError> {
                let find = |subject: &str| {
                    let section = sections.iter().find(|section| section.subject == subject);
                    section.ok_or_else(|| SketchFileError::Section(subject.to_owned()))
                };
                Ok(Self { $($field: find($subject)?.sketch()?,)* text: String::new() })
            }

            /// Takes in what another crawl met.
            ///
            /// # Errors
            /// [`MergeError`] where a sketch was made otherwise; those before it are merged then.
            fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
                $(self.$field.merge(&other.$field)?;)*
                Ok(())
            }
        }
    };
}

subjects! {
    discovered: "URLs discovered",
    fetched: "URLs fetched",
    hosts: "hosts",
    domains: "registrable domains",
    contents: "contents",
    crawled: "URLs fetched, to be compared",
    link_counts: "links to each URL and host",
    frequent_hosts: "pages by host",
    frequent_domains: "pages by registrable domain",
    templates: "URLs by template",
    parameters: "URLs by query parameter",
    targets: "links by target",
    latency: "milliseconds of a page",
    first_byte: "milliseconds to the first byte",
    size: "bytes of a page",
    page_links: "links of a page",
    pages_by_host: "pages by host, to be compared",
}

impl CrawlSketches {
    /// How many of the URLs that were answered for are shared with another crawl.
    pub fn shared_urls(&self, other: &Self) -> Comparison {
        Overlap::compare(&self.crawled, &other.crawled)
    }

    /// The hosts that have most pages more, or fewer, in the other crawl; those whose change is larger than three
    /// times what it may be off by.
    ///
    /// # Errors
    /// [`MergeError`] where the sketches were made otherwise.
    pub fn host_changes(&self, later: &Self, most: usize) -> Result<Vec<HostChange>, MergeError> {
        let difference: CountSketch = later.pages_by_host.subtract(&self.pages_by_host)?;
        let off_by = difference.off_by();
        let known = |sketches: &Self| sketches.frequent_hosts.top(usize::MAX);
        let mut hosts: Vec<String> =
            known(self).into_iter().chain(known(later)).map(|host| host.item).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let mut changes: Vec<HostChange> = hosts
            .into_iter()
            .map(|host| HostChange { change: difference.estimate_within(fingerprint(&host), off_by), host })
            .filter(|host| is_large(&host.change))
            .collect();
        changes.sort_by(|one, other| other.change.value.abs().total_cmp(&one.change.value.abs()));
        changes.truncate(most);
        Ok(changes)
    }
}

fn is_large(change: &Estimate) -> bool {
    let off_by = (change.upper - change.value).max(change.value - change.lower);
    change.value != 0.0 && change.value.abs() > TIMES_THE_ERROR * off_by
}
