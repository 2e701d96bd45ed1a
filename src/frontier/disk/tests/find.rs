//! What is looked for among all candidates is found, and nothing that is done with.

use std::collections::VecDeque;
use std::sync::Arc;

use super::world::{OnDisk, Subject, TINY, candidate};
use crate::frontier::{DiskFrontier, Frontier, QueueId};
use crate::store::{Decoder, FileSystem};

#[test]
fn what_is_not_acknowledged_is_found_and_nothing_else() {
    let mut disk = OnDisk::new(TINY);
    for number in 0..600 {
        disk.push(QueueId(number as u32 % 7), &candidate(number, 1)).expect("pushed");
    }
    let mut claimed = VecDeque::new();
    disk.frontier.claim(QueueId(3), 40, &mut claimed).expect("claimed");
    let done: Vec<u64> = claimed.iter().step_by(2).map(|claimed| claimed.candidate.key).collect();
    for claimed in claimed.iter().step_by(2) {
        disk.frontier.acknowledge(claimed.ticket).expect("acknowledged");
    }
    let state = disk.checkpoint();
    let directory = disk.directory.path();
    let restored = DiskFrontier::restore(Arc::new(FileSystem), directory, TINY, &mut Decoder(&state));
    let restored = restored.expect("restored");
    for number in 0..600 {
        let wanted = candidate(number, 1);
        let found = restored.find(wanted.key).expect("readable");
        let expected = usize::from(!done.contains(&wanted.key));
        assert_eq!(found.len(), expected, "{number}");
        assert!(found.iter().all(|claimed| claimed.candidate == wanted));
        assert!(found.iter().all(|claimed| claimed.ticket.queue == QueueId(number as u32 % 7)));
    }
    assert_eq!(restored.find(candidate(600, 1).key).expect("readable"), []);
}
