//! Files and directories of the simulated disk: what is seen, and what is durable.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};

/// The content of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct FileNode {
    pub(super) live: Vec<u8>,
    /// The content at the last sync.
    pub(super) durable: Vec<u8>,
    /// Bytes at the start that were never cut off since the last sync: equal in both.
    pub(super) kept: usize,
}

/// A change to a directory that is not durable yet.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Put { name: String, node: usize },
    Remove { name: String },
    Rename { from: String, to: String, node: usize },
}

pub(super) type Entries = BTreeMap<String, usize>;

/// The entries of a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct DirectoryNode {
    pub(super) live: Entries,
    pub(super) durable: Entries,
    /// What makes the one of the other, in order.
    pub(super) pending: Vec<Change>,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    File(FileNode),
    Directory(DirectoryNode),
}

/// All files and directories, by number; the root is 0.
#[derive(Debug, Clone)]
pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self { all: vec![Node::Directory(DirectoryNode::default())] }
    }
}

impl DirectoryNode {
    fn change(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.pending.push(change);
    }
}

/// Does to entries what a change says, as far as it can be done to them.
pub(super) fn apply(entries: &mut Entries, change: &Change) {
    match change {
        Change::Put { name, node } => {
            entries.insert(name.clone(), *node);
        }
        Change::Remove { name } => {
            entries.remove(name);
        }
        Change::Rename { from, to, node } => {
            if entries.get(from) == Some(node) {
                entries.remove(from);
            }
            entries.insert(to.clone(), *node);
        }
    }
}

fn names_of(path: &Path) -> impl Iterator<Item = &str> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    })
}

impl Nodes {
    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut node = 0;
        for name in names_of(path) {
            node = *self.directory(node)?.live.get(name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    /// The directory a path is in, and its name there.
    fn place<'a>(&self, path: &'a Path) -> io::Result<(usize, &'a str)> {
        let name = names_of(path).last().ok_or(io::ErrorKind::InvalidInput)?;
        let directory = self.find(path.parent().unwrap_or(Path::new("")))?;
        self.directory(directory)?;
        Ok((directory, name))
    }

    fn directory(&self, node: usize) -> io::Result<&DirectoryNode> {
        match &self.all[node] {
            Node::Directory(directory) => Ok(directory),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn directory_mut(&mut self, node: usize) -> io::Result<&mut DirectoryNode> {
        match &mut self.all[node] {
            Node::Directory(directory) => Ok(directory),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn file(&self, node: usize) -> io::Result<&FileNode> {
        match &self.all[node] {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn file_mut(&mut self, node: usize) -> io::Result<&mut FileNode> {
        match &mut self.all[node] {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    pub(super) fn file_at(&self, path: &Path) -> io::Result<usize> {
        let node = self.find(path)?;
        self.file(node)?;
        Ok(node)
    }

    fn put(&mut self, directory: usize, name: &str, node: Node) -> io::Result<usize> {
        let number = self.all.len();
        self.directory_mut(directory)?.change(Change::Put { name: name.to_owned(), node: number });
        self.all.push(node);
        Ok(number)
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        let (directory, name) = self.place(path)?;
        if self.directory(directory)?.live.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.put(directory, name, Node::File(FileNode::default()))
    }

    pub(super) fn create_directory(&mut self, path: &Path) -> io::Result<()> {
        let mut node = 0;
        for name in names_of(path) {
            node = match self.directory(node)?.live.get(name) {
                Some(there) => *there,
                None => self.put(node, name, Node::Directory(DirectoryNode::default()))?,
            };
        }
        self.directory(node).map(drop)
    }

    /// Within one directory only: across two, a real disk may keep both names or one, and no
    /// state of ours is moved so.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.file_at(from)?;
        let ((directory, from), (other, to)) = (self.place(from)?, self.place(to)?);
        if directory != other {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        let change = Change::Rename { from: from.to_owned(), to: to.to_owned(), node };
        self.directory_mut(directory)?.change(change);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.file_at(path)?;
        let (directory, name) = self.place(path)?;
        self.directory_mut(directory)?.change(Change::Remove { name: name.to_owned() });
        Ok(())
    }

    pub(super) fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = &self.directory(self.find(path)?)?.live;
        let files = entries.iter().filter(|(_, node)| self.file(**node).is_ok());
        Ok(files.map(|(name, _)| name.clone()).collect())
    }

    pub(super) fn sync_directory(&mut self, path: &Path) -> io::Result<()> {
        let node = self.find(path)?;
        let directory = self.directory_mut(node)?;
        for change in std::mem::take(&mut directory.pending) {
            apply(&mut directory.durable, &change);
        }
        Ok(())
    }

    pub(super) fn append(&mut self, node: usize, bytes: &[u8]) -> io::Result<()> {
        self.file_mut(node)?.live.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn truncate(&mut self, node: usize, length: u64) -> io::Result<()> {
        let file = self.file_mut(node)?;
        file.live.resize(usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?, 0);
        file.kept = file.kept.min(file.live.len());
        Ok(())
    }

    pub(super) fn sync(&mut self, node: usize) -> io::Result<()> {
        let file = self.file_mut(node)?;
        file.durable.truncate(file.kept);
        file.durable.extend_from_slice(&file.live[file.kept..]);
        file.kept = file.live.len();
        Ok(())
    }

    pub(super) fn plant(&mut self, path: &Path, bytes: &[u8]) {
        let planted = FileNode { live: bytes.to_vec(), durable: bytes.to_vec(), kept: bytes.len() };
        let there = self.file_at(path).or_else(|_| {
            self.create_directory(path.parent().unwrap_or(Path::new("")))?;
            self.create(path)
        });
        if let Ok(node) = there {
            self.all[node] = Node::File(planted);
        }
        let mut directory = Some(path);
        while let Some(parent) = directory.and_then(Path::parent) {
            // What was planted stands in directories that exist.
            let _ = self.sync_directory(parent);
            directory = Some(parent);
        }
    }
}
