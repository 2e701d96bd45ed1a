//! The storage seam: the few file operations that the state of a crawl is made of.
//!
//! All state files are written once, from front to back, and read at any place. Two
//! implementations: the file system, and a simulated disk that loses what was not synced, for
//! the tests of power cuts.

use std::fmt::Debug;
use std::fs::File;
use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
use std::io::{self, Write};
use std::path::Path;

/// Where state files live.
pub trait Storage: Send + Sync + Debug {
    /// Makes a new file; one that exists is an error.
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Opens a file that exists, to read it and, where that is allowed, to append to it.
    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Gives a file another name, in place of whatever had that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Deletes a file. That it is not there is an error of kind `NotFound`.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// The names of the files in a directory, in no particular order.
    fn names(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// Makes a directory where there is none.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes what was created, renamed and deleted in a directory durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
}

/// A state file.
pub trait StorageFile: Send + Sync + Debug {
    /// Appends all bytes. After an error it is not known how many of them are in the file.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills the buffer from this place on; a file that ends before is an error of kind
    /// `UnexpectedEof`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Bytes in it.
    fn length(&self) -> io::Result<u64>;

    /// Cuts it back to so many bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes its content durable; its directory entry is the directory's matter.
    fn sync(&self) -> io::Result<()>;

    /// The same file once more, so that it can be synced beside whoever writes it.
    fn share(&self) -> io::Result<Box<dyn StorageFile>>;
}

/// The files of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileSystem;

impl Storage for FileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(File::options().read(true).append(true).create_new(true).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        match File::options().read(true).append(true).open(path) {
            // Who only looks at a crawl may not be allowed to write.
            Err(error) if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) => {
                Ok(Box::new(File::open(path)?))
            }
            opened => Ok(Box::new(opened?)),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                // A name that is no Unicode is none of ours.
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        std::fs::create_dir_all(directory)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        super::sync_directory(directory)
    }
}

impl StorageFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn share(&self) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(self.try_clone()?))
    }
}
