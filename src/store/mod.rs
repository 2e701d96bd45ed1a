//! Files that must survive a crash: the storage seam, how bytes are laid out and checked, the log
//! and the manifest, sink files, whole-file replacement, and the lock of a crawl directory.
//!
//! Knows bytes, paths and the plain data of [`model`](crate::model), nothing of how a crawl is done.

mod codec;
mod format;
mod garbage;
mod growing;
mod log;
mod manifest;
mod replace;
mod seal;
#[cfg(test)]
pub(crate) mod simulated;
mod sink_file;
mod storage;
mod window;

pub use codec::{
    CandidateKind, Decoder, Encoder, Malformed, decode_candidate, decode_candidate_without_key,
    encode_candidate, encode_candidate_without_key,
};
pub use format::{FileKind, HEADER_BYTES, StateError, check_header, header};
pub use garbage::remove_unnamed;
pub use growing::{SyncHandle, Synced};
pub use log::{LogEnd, LogReader, LogRecord, LogWriter, MAX_RECORD};
pub use manifest::{peek_manifest, read_manifest, write_manifest};
pub use replace::{DirectoryLock, LockError, lock_file, lock_holder, replace_file, sync_directory};
pub use seal::Seal;
pub use sink_file::{RecoveringSink, SinkFile, SinkRange, SinkSeal};
pub use storage::{FileSystem, Storage, StorageFile};
