//! The manifest: one small file that names everything a crawl's state consists of, replaced whole.
//!
//! Owns its frame and how it is replaced; what the body says is not its matter. The bytes
//! (numbers little endian):
//!
//! ```text
//! header      16 bytes  see `format`
//! generation   8 bytes  one more with each checkpoint
//! length       8 bytes  of the body
//! body
//! crc32        4 bytes  of all before
//! ```

use std::io;
use std::path::Path;

use super::replace::aside;
use super::{Decoder, FileKind, HEADER_BYTES, StateError, Storage, check_header, header};

/// Bytes before the body.
const HEAD_BYTES: usize = HEADER_BYTES + 16;
const CRC_BYTES: usize = 4;

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Puts a manifest in place of the one before: written aside, synced, renamed, and its directory
/// synced. Whatever happens, a reader finds the old one or the new one.
///
/// Everything that it names must be durable before.
///
/// # Errors
/// [`StateError::Io`]. It is then unknown which of the two will be found after a crash: nothing
/// may be deleted, nothing dispatched; end there, and recover.
pub fn write_manifest(
    storage: &dyn Storage,
    path: &Path,
    generation: u64,
    body: &[u8],
) -> Result<(), StateError> {
    let aside = aside(path);
    match storage.remove(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(StateError::io(&aside)(error)),
        _ => {}
    }
    let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len() + CRC_BYTES);
    bytes.extend_from_slice(&header(FileKind::Manifest));
    bytes.extend_from_slice(&generation.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    let mut file = storage.create(&aside).map_err(StateError::io(&aside))?;
    file.append(&bytes).and_then(|()| file.sync()).map_err(StateError::io(&aside))?;
    storage.rename(&aside, path).map_err(StateError::io(path))?;
    storage.sync_directory(directory_of(path)).map_err(StateError::io(path))
}

/// Reads the manifest for a recovery: generation and body; none where there is no manifest.
///
/// Its directory is synced first. After a crash in the middle of a checkpoint the system may show
/// the new manifest while the disk still holds the old one; whatever recovery deletes on the word
/// of the new one must not be missed by the old one after a power cut.
///
/// # Errors
/// [`StateError`] where it is not as it was written, of a newer version, or cannot be read.
pub fn read_manifest(storage: &dyn Storage, path: &Path) -> Result<Option<(u64, Vec<u8>)>, StateError> {
    storage.sync_directory(directory_of(path)).map_err(StateError::io(path))?;
    peek_manifest(storage, path)
}

/// Reads the manifest and touches nothing: for looking at the directory of a running crawl.
///
/// # Errors
/// As [`read_manifest`].
pub fn peek_manifest(storage: &dyn Storage, path: &Path) -> Result<Option<(u64, Vec<u8>)>, StateError> {
    let file = match storage.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(StateError::io(path))?,
    };
    let length = file.length().map_err(StateError::io(path))?;
    if length < (HEAD_BYTES + CRC_BYTES) as u64 {
        return Err(StateError::damaged(path, length, "it is shorter than any manifest"));
    }
    let mut head = [0; HEAD_BYTES];
    file.read_at(0, &mut head).map_err(StateError::io(path))?;
    let (generation, body_length) = check_head(path, &head, length)?;
    let mut rest = vec![0; body_length + CRC_BYTES];
    file.read_at(HEAD_BYTES as u64, &mut rest).map_err(StateError::io(path))?;
    let crc = rest.split_off(body_length);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&head);
    checksum.update(&rest);
    if checksum.finalize().to_le_bytes() != *crc {
        return Err(StateError::damaged(path, length - CRC_BYTES as u64, "its checksum does not match"));
    }
    Ok(Some((generation, rest)))
}

/// Generation and length of the body, which is held against that of the file before it is believed.
fn check_head(path: &Path, head: &[u8; HEAD_BYTES], length: u64) -> Result<(u64, usize), StateError> {
    let damaged = |problem| StateError::damaged(path, HEADER_BYTES as u64 + 8, problem);
    let (header, numbers) = head.split_first_chunk().ok_or_else(|| damaged("it ends here"))?;
    check_header(path, header, FileKind::Manifest)?;
    let mut numbers = Decoder(numbers);
    let (Ok(generation), Ok(body)) = (numbers.key(), numbers.key()) else {
        return Err(damaged("it ends here"));
    };
    if body != length - (HEAD_BYTES + CRC_BYTES) as u64 {
        return Err(damaged("it is not as long as it says"));
    }
    Ok((generation, usize::try_from(body).map_err(|_| damaged("it is too long for this machine"))?))
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
