//! A file of sketches that says what each of them is.
//!
//! It must not know what they count: that is a text that whoever writes the file makes up, and finds again.
//!
//! ```text
//! magic "dragline"  8 bytes
//! kind "skch"       4 bytes
//! version           4 bytes, little endian
//! sections          4 bytes, little endian: how many
//! then of each section
//!   length          4 bytes, little endian: of what follows, up to the checksum
//!   subject, kind, parameters, hash   texts, each after its length
//!   bytes           up to the checksum
//!   checksum        CRC-32 of what follows the length, 4 bytes, little endian
//! ```

use super::{CountMin, CountSketch, Distinct, Frequent, FrequentKeys, Overlap, Quantiles, rows};
use crate::store::{Decoder, Encoder, Malformed};

const MAGIC: &[u8; 12] = b"draglineskch";
/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// What a section can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// [`Distinct`].
    Distinct,
    /// [`Overlap`].
    Overlap,
    /// [`Frequent`].
    Frequent,
    /// [`FrequentKeys`].
    FrequentKeys,
    /// [`CountMin`].
    CountMin,
    /// [`CountSketch`].
    CountSketch,
    /// [`Quantiles`].
    Quantiles,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Distinct,
        Self::Overlap,
        Self::Frequent,
        Self::FrequentKeys,
        Self::CountMin,
        Self::CountSketch,
        Self::Quantiles,
    ];

    /// As it stands in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Distinct => "hyperloglog",
            Self::Overlap => "theta",
            Self::Frequent => "frequent-items",
            Self::FrequentKeys => "frequent-keys",
            Self::CountMin => "count-min",
            Self::CountSketch => "count-sketch",
            Self::Quantiles => "t-digest",
        }
    }

    /// The hash by which it knows keys again, as it stands in a file.
    pub fn hash(self) -> &'static str {
        match self {
            Self::Distinct | Self::Overlap => "xxh3-64, murmur3-x64-128 seed 9001",
            Self::FrequentKeys => "xxh3-64",
            Self::CountMin | Self::CountSketch => rows::HASH,
            Self::Frequent | Self::Quantiles => "none",
        }
    }
}

/// A sketch that can stand in a file.
pub trait Kept: Sized {
    /// What it is.
    const KIND: Kind;

    /// How it was made, as text; those of unlike parameters cannot be merged.
    fn parameters(&self) -> String;

    /// Its bytes.
    fn to_bytes(&self) -> Vec<u8>;

    /// What was encoded.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are no such sketch.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed>;
}

macro_rules! kept {
    ($($sketch:ident: |$this:ident| $parameters:expr;)*) => {$(
        impl Kept for $sketch {
            const KIND: Kind = Kind::$sketch;

            fn parameters(&self) -> String {
                let $this = self;
                $parameters
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.encode()
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
                Self::decode(bytes)
            }
        }
    )*};
}

kept! {
    Distinct: |sketch| format!("lg_k={}", sketch.lg_k());
    Overlap: |sketch| format!("lg_k={}", sketch.lg_k());
    Frequent: |sketch| format!("items={}", sketch.most_items());
    FrequentKeys: |sketch| format!("items={}", sketch.most_items());
    CountMin: |sketch| format!("width={} depth={} update={}", sketch.width(), sketch.depth(), sketch.mode());
    CountSketch: |sketch| format!("width={} depth={}", sketch.width(), sketch.depth());
    Quantiles: |sketch| format!("k={}", sketch.compression());
}

/// A sketch in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it counts.
    pub subject: String,
    /// What it is.
    pub kind: Kind,
    /// How it was made.
    pub parameters: String,
    /// Itself.
    pub bytes: Vec<u8>,
}

impl Section {
    /// That of a sketch that counts this.
    pub fn of<Sketch: Kept>(subject: &str, sketch: &Sketch) -> Self {
        Self {
            subject: subject.to_owned(),
            kind: Sketch::KIND,
            parameters: sketch.parameters(),
            bytes: sketch.to_bytes(),
        }
    }

    /// The sketch.
    ///
    /// # Errors
    /// [`SketchFileError`] where it is another kind of sketch, or is not what it says of itself.
    pub fn sketch<Sketch: Kept>(&self) -> Result<Sketch, SketchFileError> {
        let subject = || self.subject.clone();
        if self.kind != Sketch::KIND {
            let (found, wanted) = (self.kind.name(), Sketch::KIND.name());
            return Err(SketchFileError::OtherKind { subject: subject(), found, wanted });
        }
        let sketch =
            Sketch::from_bytes(&self.bytes).map_err(|Malformed| SketchFileError::Section(subject()))?;
        if sketch.parameters() != self.parameters {
            return Err(SketchFileError::Section(subject()));
        }
        Ok(sketch)
    }
}

/// A file of sketches that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SketchFileError {
    /// It begins otherwise.
    #[error("this is no file of sketches")]
    NoSketches,
    /// It was written by another version of the program.
    #[error("sketches of version {0} are not known here, only those of version {VERSION}")]
    UnknownVersion(u32),
    /// It ends too early, or goes on.
    #[error("the file of sketches is not whole")]
    NotWhole,
    /// The checksum of a section is another one.
    #[error("section {0} of the file of sketches is damaged")]
    Damaged(usize),
    /// A sketch that this version of the program cannot read.
    #[error("the sketch of {subject} is of a kind that is not known here, {kind:?}")]
    UnknownKind {
        /// What it counts.
        subject: String,
        /// The name of its kind.
        kind: String,
    },
    /// A sketch whose keys were hashed otherwise.
    #[error("the sketch of {subject} knows keys by a hash that is not known here, {hash:?}")]
    UnknownHash {
        /// What it counts.
        subject: String,
        /// The name of the hash.
        hash: String,
    },
    /// A sketch of another kind than was looked for.
    #[error("the sketch of {subject} is a {found}, not a {wanted}")]
    OtherKind {
        /// What it counts.
        subject: String,
        /// What it is.
        found: &'static str,
        /// What was looked for.
        wanted: &'static str,
    },
    /// A sketch whose bytes are none, or are of another one than it says.
    #[error("the sketch of {0} is malformed")]
    Section(String),
}

/// The bytes of a file.
pub fn write(sections: &[Section]) -> Vec<u8> {
    let mut file = Vec::new();
    begin(&mut file, sections.len());
    for section in sections {
        append(&mut file, section);
    }
    file
}

/// Appends the beginning of a file of so many sections, each of which is to be [appended](append).
pub fn begin(file: &mut Vec<u8>, sections: usize) {
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(&(sections as u32).to_le_bytes());
}

/// Appends a section, so that no more than one of them is held beside the file.
pub fn append(file: &mut Vec<u8>, section: &Section) {
    let place = file.len();
    file.reserve(section.bytes.len() + 256);
    file.extend_from_slice(&[0; 4]);
    let mut encoder = Encoder(file);
    for text in [&section.subject, section.kind.name(), &section.parameters, section.kind.hash()] {
        encoder.text(text);
    }
    file.extend_from_slice(&section.bytes);
    let length = (file.len() - place - 4) as u32;
    file[place..place + 4].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&file[place + 4..]);
    file.extend_from_slice(&checksum.to_le_bytes());
}

/// The sections of a file.
///
/// # Errors
/// [`SketchFileError`] where any of it is not known or not whole: half of the sketches are none.
pub fn read(file: &[u8]) -> Result<Vec<Section>, SketchFileError> {
    let mut rest = file.strip_prefix(MAGIC).ok_or(SketchFileError::NoSketches)?;
    let version = word(&mut rest)?;
    if version != VERSION {
        return Err(SketchFileError::UnknownVersion(version));
    }
    let mut sections = Vec::new();
    for number in 1..=word(&mut rest)? as usize {
        let length = word(&mut rest)? as usize;
        let (bytes, after) = rest.split_at_checked(length).ok_or(SketchFileError::NotWhole)?;
        rest = after;
        if word(&mut rest)? != crc32fast::hash(bytes) {
            return Err(SketchFileError::Damaged(number));
        }
        sections.push(section(bytes, number)?);
    }
    if rest.is_empty() { Ok(sections) } else { Err(SketchFileError::NotWhole) }
}

fn word(rest: &mut &[u8]) -> Result<u32, SketchFileError> {
    let (word, after) = rest.split_first_chunk().ok_or(SketchFileError::NotWhole)?;
    *rest = after;
    Ok(u32::from_le_bytes(*word))
}

fn section(bytes: &[u8], number: usize) -> Result<Section, SketchFileError> {
    let mut decoder = Decoder(bytes);
    let mut text = || decoder.text().map(str::to_owned).map_err(|Malformed| SketchFileError::Damaged(number));
    let (subject, kind, parameters, hash) = (text()?, text()?, text()?, text()?);
    let Some(known) = Kind::ALL.into_iter().find(|known| known.name() == kind) else {
        return Err(SketchFileError::UnknownKind { subject, kind });
    };
    if known.hash() != hash {
        return Err(SketchFileError::UnknownHash { subject, hash });
    }
    Ok(Section { subject, kind: known, parameters, bytes: decoder.0.to_vec() })
}
