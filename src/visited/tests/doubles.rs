//! What stands in for a disk and for an exact stage on it.

use std::io;
use std::path::Path;

use crate::model::UrlKey;
use crate::store::{FileSystem, Storage, StorageFile};
use crate::visited::{ExactError, ExactKeys, MemoryKeys};

/// The file system without syncing, which these tests do not need and would wait for.
#[derive(Debug)]
pub(super) struct Hasty;

#[derive(Debug)]
struct HastyFile(Box<dyn StorageFile>);

impl Storage for Hasty {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(HastyFile(FileSystem.create(path)?)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(HastyFile(FileSystem.open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        FileSystem.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        FileSystem.remove(path)
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        FileSystem.names(directory)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        FileSystem.create_directory(directory)
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl StorageFile for HastyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer)
    }

    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.truncate(length)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn share(&self) -> io::Result<Box<dyn StorageFile>> {
        self.0.share()
    }
}

/// An exact stage that must get every key, as the one on disk will.
pub(super) struct Durable(pub(super) MemoryKeys);

impl ExactKeys for Durable {
    fn append(&mut self, keys: &[UrlKey]) -> Result<(), ExactError> {
        self.0.append(keys)
    }

    fn remove_seen(&mut self, asked: &mut Vec<(UrlKey, u64)>) -> Result<(), ExactError> {
        self.0.remove_seen(asked)
    }

    fn for_each(&mut self, visit: &mut dyn FnMut(&[UrlKey])) -> Result<(), ExactError> {
        self.0.for_each(visit)
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn is_durable(&self) -> bool {
        true
    }
}
