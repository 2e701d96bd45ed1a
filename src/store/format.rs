//! What every state file begins with, and what is said of one that is not as it should be.
//!
//! ```text
//! magic "dragline"  8 bytes
//! kind              4 bytes, ASCII
//! version           4 bytes, little endian
//! ```

use std::io;
use std::path::{Path, PathBuf};

/// Bytes of a file's header.
pub const HEADER_BYTES: usize = 16;

const MAGIC: [u8; 8] = *b"dragline";

/// The kinds of state files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// The log.
    Log,
    /// The manifest.
    Manifest,
    /// Candidates of the frontier.
    Segment,
    /// Sorted keys.
    Run,
    /// Doubts.
    Doubts,
}

impl FileKind {
    fn code(self) -> [u8; 4] {
        match self {
            FileKind::Log => *b"log ",
            FileKind::Manifest => *b"mani",
            FileKind::Segment => *b"segm",
            FileKind::Run => *b"keys",
            FileKind::Doubts => *b"doub",
        }
    }

    /// The version of its format that this program writes, and the only one that it reads.
    fn version(self) -> u32 {
        match self {
            FileKind::Manifest => 4,
            FileKind::Log => 3,
            FileKind::Segment | FileKind::Doubts => 2,
            FileKind::Run => 1,
        }
    }
}

/// State on disk that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Its bytes are not what was written.
    #[error("{}: damaged at byte {offset}: {problem}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        problem: &'static str,
    },
    /// A program newer than this one wrote it.
    #[error("{}: has format version {found}, and this dragline knows versions up to {known}; use the newer dragline that wrote it", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// A program older than this one wrote it.
    #[error("{}: has format version {found}, an older version than {known}, the only one that this dragline knows; use the older dragline that wrote it, or begin another crawl", file.display())]
    Older {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program knows.
        known: u32,
    },
    /// The system refused.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl StateError {
    /// Makes the error of an operation on a file that ought to be there.
    pub fn io(file: &Path) -> impl FnOnce(io::Error) -> StateError {
        use io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory, NotFound, UnexpectedEof};
        let file = file.to_owned();
        |source| match source.kind() {
            NotFound => StateError::Damaged { file, offset: 0, problem: "it is missing" },
            IsADirectory | NotADirectory => StateError::Damaged { file, offset: 0, problem: "it is no file" },
            AlreadyExists => {
                StateError::Damaged { file, offset: 0, problem: "something else is in its place" }
            }
            UnexpectedEof => StateError::Damaged { file, offset: 0, problem: "it ends too early" },
            _ => StateError::Io { file, source },
        }
    }

    /// A place in a file that is not as it was written.
    pub fn damaged(file: &Path, offset: u64, problem: &'static str) -> StateError {
        StateError::Damaged { file: file.to_owned(), offset, problem }
    }

    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let full = |source: &io::Error| matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        matches!(self, StateError::Io { source, .. } if full(source))
    }
}

/// The header of a file of this kind.
pub fn header(kind: FileKind) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&kind.code());
    header[12..].copy_from_slice(&kind.version().to_le_bytes());
    header
}

/// Holds the first bytes of a file against what they should be.
///
/// # Errors
/// [`StateError::Damaged`] for another kind of file, [`StateError::Newer`] for a later version,
/// [`StateError::Older`] for an earlier one.
pub fn check_header(file: &Path, bytes: &[u8; HEADER_BYTES], kind: FileKind) -> Result<(), StateError> {
    if bytes[..8] != MAGIC {
        return Err(StateError::damaged(file, 0, "it is no state file of dragline"));
    }
    if bytes[8..12] != kind.code() {
        return Err(StateError::damaged(file, 8, "it is a state file of another kind"));
    }
    let found = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    let (file, known) = (file.to_owned(), kind.version());
    match found {
        _ if found == known => Ok(()),
        0 => Err(StateError::damaged(&file, 12, "there is no format version 0")),
        _ if found < known => Err(StateError::Older { file, found, known }),
        _ => Err(StateError::Newer { file, found, known }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_kind_and_version() {
        let file = Path::new("runs/7");
        let good = header(FileKind::Run);
        assert!(check_header(file, &good, FileKind::Run).is_ok());
        assert!(matches!(
            check_header(file, &good, FileKind::Log),
            Err(StateError::Damaged { offset: 8, .. })
        ));
        let mut newer = good;
        newer[12] = 2;
        let error = check_header(file, &newer, FileKind::Run).expect_err("newer");
        assert!(error.to_string().contains("runs/7: has format version 2"), "{error}");
        let mut older = header(FileKind::Doubts);
        older[12] = 1;
        let error = check_header(file, &older, FileKind::Doubts).expect_err("older");
        assert!(error.to_string().contains("runs/7: has format version 1"), "{error}");
        assert!(error.to_string().contains("an older version"), "{error}");
        for place in 0..HEADER_BYTES {
            for bit in 0..8 {
                let mut flipped = good;
                flipped[place] ^= 1 << bit;
                assert!(check_header(file, &flipped, FileKind::Run).is_err());
            }
        }
    }
}
