//! What a power cut leaves of data that was not synced.
//!
//! As hostile as a file system may be without being broken: contents and entries are decided
//! apart; of unsynced bytes none, some or all are there, with zeros or garbage among them where
//! only the length arrived; changes to a directory arrive as far as they please, in order or not.
//! What is promised all the same: what was synced is there, a rename is done whole or not at all,
//! and a file that was cut back is not shorter than it ever was.

use super::nodes::{DirectoryNode, FileNode, Node, Nodes, apply};

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `most`, both included.
    fn up_to(&mut self, most: usize) -> usize {
        (self.next() % (most as u64 + 1)) as usize
    }

    /// Often an end of the range: nothing, or all.
    fn share_of(&mut self, most: usize) -> usize {
        match self.up_to(3) {
            0 => 0,
            1 => most,
            _ => self.up_to(most),
        }
    }
}

impl Nodes {
    pub(super) fn after_power_cut(&self, random: &mut Random) -> Nodes {
        let all = self.all.iter().map(|node| match node {
            Node::File(file) => {
                let live = content(file, random);
                Node::File(FileNode { durable: live.clone(), kept: live.len(), live })
            }
            Node::Directory(directory) => {
                let live = entries(directory, random);
                Node::Directory(DirectoryNode { durable: live.clone(), live, pending: Vec::new() })
            }
        });
        Nodes { all: all.collect() }
    }
}

fn content(file: &FileNode, random: &mut Random) -> Vec<u8> {
    // Cutting back may not have happened, or not so far.
    let undone = file.durable.len() - file.kept;
    if undone > 0 && random.up_to(1) == 0 {
        return file.durable[..file.kept + random.share_of(undone)].to_vec();
    }
    let mut bytes = file.live[..file.kept].to_vec();
    let unsynced = &file.live[file.kept..];
    let arrived = random.share_of(unsynced.len());
    bytes.extend_from_slice(&unsynced[..arrived]);
    if arrived > 0 && random.up_to(2) == 0 {
        spoil(&mut bytes[file.kept..], random);
    }
    bytes
}

/// Some of the bytes did not arrive though those around them did: a stretch to the end, or one
/// in the middle.
fn spoil(bytes: &mut [u8], random: &mut Random) {
    let start = random.up_to(bytes.len() - 1);
    let length = random.share_of(bytes.len() - start);
    let zeros = random.up_to(1) == 0;
    for byte in &mut bytes[start..start + length] {
        *byte = if zeros { 0 } else { random.next() as u8 };
    }
}

fn entries(directory: &DirectoryNode, random: &mut Random) -> std::collections::BTreeMap<String, usize> {
    let mut entries = directory.durable.clone();
    let pending = &directory.pending;
    if random.up_to(1) == 0 {
        let arrived = random.share_of(pending.len());
        pending[..arrived].iter().for_each(|change| apply(&mut entries, change));
    } else {
        pending.iter().filter(|_| random.up_to(1) == 0).for_each(|change| apply(&mut entries, change));
    }
    entries
}
