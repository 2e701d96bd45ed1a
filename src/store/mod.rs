//! Files that must survive a crash: the storage seam, how bytes are laid out and checked, whole-file
//! replacement, and the lock of a crawl directory.
//!
//! Knows bytes, paths and the plain data of [`model`](crate::model), nothing of how a crawl is done.

mod codec;
mod format;
mod replace;
mod storage;

pub use codec::{Decoder, Encoder, Malformed, decode_candidate, encode_candidate};
pub use format::{FileKind, HEADER_BYTES, StateError, check_header, header};
pub use replace::{DirectoryLock, LockError, lock_file, replace_file, sync_directory};
pub use storage::{FileSystem, Storage, StorageFile};
