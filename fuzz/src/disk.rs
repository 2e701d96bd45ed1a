//! A disk in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use dragline::store::{Storage, StorageFile};

type Content = Arc<Mutex<Vec<u8>>>;

/// Files by their paths; clones are the same disk. Directories are wherever they are asked for.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<BTreeMap<PathBuf, Content>>>);

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryDisk {
    /// Puts a file there.
    pub fn put(&self, path: &Path, content: &[u8]) {
        lock(&self.0).insert(path.to_owned(), Arc::new(Mutex::new(content.to_vec())));
    }

    /// All files, in the order of their paths.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        lock(&self.0).iter().map(|(path, content)| (path.clone(), lock(content).clone())).collect()
    }
}

impl Storage for MemoryDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let content = Content::default();
        let mut files = lock(&self.0);
        if files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        files.insert(path.to_owned(), content.clone());
        Ok(Box::new(MemoryFile(content)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let content = lock(&self.0).get(path).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(MemoryFile(content)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = lock(&self.0);
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        lock(&self.0).remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        let files = lock(&self.0);
        let within = files.keys().filter(|path| path.parent() == Some(directory));
        Ok(within.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn create_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryFile(Content);

impl StorageFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let content = lock(&self.0);
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(content.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(lock(&self.0).len() as u64)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        lock(&self.0).truncate(length as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn share(&self) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(MemoryFile(self.0.clone())))
    }
}
