//! Whole-file replacement, and the lock of a crawl directory.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` as the whole content of `path`: a reader sees the old file or the new one,
/// never a part. Written aside, synced, renamed, and the directory entry synced.
pub fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let aside = aside(path);
    let mut file = File::create(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(&aside, path)?;
    sync_directory(path.parent().unwrap_or(Path::new(".")))
}

/// Where the next content of a file is written before it takes the file's name. What is left of it
/// after a crash is garbage.
pub(super) fn aside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    path.with_file_name(name)
}

/// Makes the entries of a directory durable.
pub fn sync_directory(path: &Path) -> std::io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Why a file could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("held by {holder}")]
    Held {
        /// What the holder wrote into the file: its process number.
        holder: String,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Held for as long as this process uses a crawl directory; the system lets go of it when the
/// process ends, however it ends.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

/// Further tries to take a lock, and the pause between them.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Locks a directory through a file in it, which is made where it is missing.
///
/// # Errors
/// [`LockError::Held`] where another process holds it.
pub fn lock_file(path: &Path) -> Result<DirectoryLock, LockError> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Whoever only looks who holds it has it for a moment, too.
    let mut tries = 0;
    let locked = loop {
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) if tries < LOCK_TRIES => tries += 1,
            locked => break locked,
        }
        std::thread::sleep(LOCK_PAUSE);
    };
    match locked {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // The holder's own words help, but are not needed to refuse.
            let _ = file.take(64).read_to_string(&mut holder);
            return Err(LockError::Held { holder: holder.trim().to_owned() });
        }
        Err(std::fs::TryLockError::Error(source)) => return Err(source.into()),
    }
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "process {}", std::process::id())?;
    Ok(DirectoryLock { _file: file })
}

/// Who holds a lock file; nobody where it is free or missing. The lock is looked at, not kept.
pub fn lock_holder(path: &Path) -> std::io::Result<Option<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.take(64).read_to_string(&mut holder);
            Ok(Some(holder.trim().to_owned()))
        }
        Err(std::fs::TryLockError::Error(source)) => Err(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_holds_the_new_bytes_and_leaves_nothing_aside() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("summary.json");
        replace_file(&path, b"old and longer").expect("first");
        replace_file(&path, b"new").expect("second");
        assert_eq!(std::fs::read(&path).expect("readable"), b"new");
        assert_eq!(std::fs::read_dir(directory.path()).expect("listable").count(), 1);
    }

    #[test]
    fn a_second_lock_is_refused_and_names_the_holder() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("lock");
        let held = lock_file(&path).expect("free");
        match lock_file(&path) {
            Err(LockError::Held { holder }) => {
                assert_eq!(holder, format!("process {}", std::process::id()));
            }
            other => panic!("expected a refusal, got {other:?}"),
        }
        assert_eq!(lock_holder(&path).expect("readable"), Some(format!("process {}", std::process::id())));
        drop(held);
        assert_eq!(lock_holder(&path).expect("readable"), None);
        lock_file(&path).expect("free again");
    }
}
