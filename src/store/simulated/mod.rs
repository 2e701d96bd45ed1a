//! A disk in memory that can lose power, for the tests of crashes.
//!
//! Keeps what a process sees apart from what is durable, and the content of files apart from the
//! entries of directories: syncing a file keeps its content, syncing a directory keeps what was
//! created, renamed and deleted in it (directories made in it, too), and neither does the other's
//! work. Every operation that changes or syncs something has a number, counted from 0; at any of
//! them the power can fail, or the operation can.
//!
//! What a disk may do to data that was not synced is in `outcome`. `cuts` runs something once for
//! every operation it consists of, and cuts the power there.

mod cuts;
mod nodes;
mod outcome;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use cuts::{Aftermath, Crash, Cuts, for_each_cut};

use super::{Storage, StorageFile};
use nodes::Nodes;

/// An operation that has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Create,
    CreateDirectory,
    Append,
    Truncate,
    Sync,
    Rename,
    Remove,
    SyncDirectory,
}

/// When in an operation the power fails. Whoever called it gets an error in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CutPoint {
    /// It has done nothing.
    Before,
    /// An append has done half of its work; any other operation, nothing.
    Amid,
    /// It has done everything.
    After,
}

/// Operations that fail.
#[derive(Debug, Clone, Copy)]
struct Fault {
    from: u64,
    only_one: bool,
    kind: io::ErrorKind,
}

impl Fault {
    /// Whether it strikes here. A full disk refuses new files and bytes, and lets all else be done.
    fn strikes(&self, number: u64, operation: Operation) -> bool {
        use Operation::{Append, Create, CreateDirectory};
        let full = matches!(self.kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let spared = full && !matches!(operation, Append | Create | CreateDirectory);
        let now = if self.only_one { number == self.from } else { number >= self.from };
        now && !spared
    }
}

#[derive(Debug, Default)]
struct State {
    nodes: Nodes,
    operations: Vec<Operation>,
    cut: Option<(u64, CutPoint)>,
    fault: Option<Fault>,
    dead: bool,
}

/// A disk in memory; clones are the same disk.
#[derive(Clone, Default)]
pub(crate) struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let mut debug = formatter.debug_struct("SimulatedDisk");
        debug.field("operations", &state.operations.len()).field("dead", &state.dead).finish_non_exhaustive()
    }
}

impl SimulatedDisk {
    /// An empty disk. Its root is the directory `""` (or `/`).
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A failed check in one test thread says nothing about the disk.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(nodes: Nodes) -> Self {
        Self { state: Arc::new(Mutex::new(State { nodes, ..State::default() })) }
    }

    /// The operations so far, in order, those that failed included.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        self.state().operations.clone()
    }

    /// Lets the power fail at an operation: it and all later ones give an error.
    pub(crate) fn crash_at(&self, operation: u64, point: CutPoint) {
        self.state().cut = Some((operation, point));
    }

    /// Lets the power fail now.
    pub(crate) fn crash(&self) {
        self.state().dead = true;
    }

    /// Whether the power has failed.
    pub(crate) fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// Lets all operations from this one on fail with this error; with `StorageFull` only those
    /// that need room. Of an append that fails, half gets into the file.
    pub(crate) fn fail_from(&self, operation: u64, kind: io::ErrorKind) {
        self.state().fault = Some(Fault { from: operation, only_one: false, kind });
    }

    /// Lets one operation fail.
    pub(crate) fn fail_once(&self, operation: u64, kind: io::ErrorKind) {
        self.state().fault = Some(Fault { from: operation, only_one: true, kind });
    }

    /// Ends the failures.
    pub(crate) fn free(&self) {
        self.state().fault = None;
    }

    /// The disk as the next process finds it after this one was killed: with all that was done,
    /// and with no more of it durable than before. A disk of its own.
    pub(crate) fn after_kill(&self) -> SimulatedDisk {
        Self::with(self.state().nodes.clone())
    }

    /// The disk as it may be after a power cut. Equal numbers choose equal outcomes. A disk of
    /// its own, and all that is on it is durable.
    pub(crate) fn after_power_cut(&self, random: u64) -> SimulatedDisk {
        let mut random = outcome::Random::new(random);
        Self::with(self.state().nodes.after_power_cut(&mut random))
    }

    /// The bytes of a file.
    pub(crate) fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.state();
        let node = state.nodes.file_at(path)?;
        Ok(state.nodes.file(node)?.live.clone())
    }

    /// Puts a file there as if it had always been: durable, without an operation. For damage.
    pub(crate) fn plant(&self, path: &Path, bytes: &[u8]) {
        self.state().nodes.plant(path, bytes);
    }

    /// Does one numbered operation: all of it, or of one that fails amid, the part.
    fn perform<T>(
        &self,
        operation: Operation,
        whole: impl FnOnce(&mut Nodes) -> io::Result<T>,
        part: impl FnOnce(&mut Nodes),
    ) -> io::Result<T> {
        let mut state = self.state();
        if state.dead {
            return Err(power_failed());
        }
        let number = state.operations.len() as u64;
        state.operations.push(operation);
        if let Some((_, point)) = state.cut.filter(|(cut, _)| *cut == number) {
            state.dead = true;
            match point {
                CutPoint::Before => {}
                CutPoint::Amid => part(&mut state.nodes),
                CutPoint::After => drop(whole(&mut state.nodes)?),
            }
            return Err(power_failed());
        }
        if let Some(fault) = state.fault.filter(|fault| fault.strikes(number, operation)) {
            part(&mut state.nodes);
            return Err(fault.kind.into());
        }
        whole(&mut state.nodes)
    }

    fn look<T>(&self, at: impl FnOnce(&Nodes) -> io::Result<T>) -> io::Result<T> {
        let state = self.state();
        if state.dead { Err(power_failed()) } else { at(&state.nodes) }
    }
}

fn power_failed() -> io::Error {
    io::Error::other("the power has failed")
}

fn nothing(_: &mut Nodes) {}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    node: usize,
}

impl Storage for SimulatedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let node = self.perform(Operation::Create, |nodes| nodes.create(path), nothing)?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), node }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let node = self.look(|nodes| nodes.file_at(path))?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), node }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.perform(Operation::Rename, |nodes| nodes.rename(from, to), nothing)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.perform(Operation::Remove, |nodes| nodes.remove(path), nothing)
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.look(|nodes| nodes.names(directory))
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        self.perform(Operation::CreateDirectory, |nodes| nodes.create_directory(directory), nothing)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.perform(Operation::SyncDirectory, |nodes| nodes.sync_directory(directory), nothing)
    }
}

impl StorageFile for SimulatedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let node = self.node;
        let half = &bytes[..bytes.len() / 2];
        self.disk.perform(
            Operation::Append,
            |nodes| nodes.append(node, bytes),
            |nodes| drop(nodes.append(node, half)),
        )
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.disk.look(|nodes| {
            let live = &nodes.file(self.node)?.live;
            let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
            let bytes = live.get(start..).and_then(|rest| rest.get(..buffer.len()));
            buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.disk.look(|nodes| Ok(nodes.file(self.node)?.live.len() as u64))
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let node = self.node;
        self.disk.perform(Operation::Truncate, |nodes| nodes.truncate(node, length), nothing)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.perform(Operation::Sync, |nodes| nodes.sync(self.node), nothing)
    }

    fn share(&self) -> io::Result<Box<dyn StorageFile>> {
        self.disk.look(|_| Ok(()))?;
        Ok(Box::new(SimulatedFile { disk: self.disk.clone(), node: self.node }))
    }
}
