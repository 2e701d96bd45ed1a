//! Host state on its way to the manifest and the log, and back.

use std::time::Duration;

use super::residues::{self, Entry, Residue};
use super::{Host, Moment, OriginId, Schedule};
use crate::store::{Decoder, Encoder, Malformed};

impl Schedule {
    /// Appends what is known of all hosts, open or not: their number, then each as
    /// `residues::encode` lays it out. `epoch` is the time at [`Moment::START`], in microseconds
    /// since 1970. A host may stand there twice; the later entry counts.
    pub fn encode_host_state(&self, epoch: u64, buffer: &mut Vec<u8>) {
        let mut entries = Vec::new();
        let mut number = 0;
        for entry in self.residues.entries() {
            if entry.records > 0 || entry.residue.tells(self.clock) {
                number += residues::encode(&entry, true, epoch, &mut entries);
            }
        }
        for host in self.hosts() {
            number += self.encode_open(host, true, epoch, &mut entries);
        }
        Encoder(buffer).number(number);
        buffer.extend_from_slice(&entries);
    }

    /// Appends what is known of the host of an origin and of its origins, in the same form, where
    /// that is nothing too: for the log, when something of it has changed.
    pub fn encode_host(&self, id: OriginId, epoch: u64, buffer: &mut Vec<u8>) {
        let mut entries = Vec::new();
        let number = self.encode_open(self.host(id), false, epoch, &mut entries);
        Encoder(buffer).number(number);
        buffer.extend_from_slice(&entries);
    }

    fn encode_open(&self, host: &Host, sparse: bool, epoch: u64, buffer: &mut Vec<u8>) -> u64 {
        let records = if self.politeness.max_pages_per_host.is_some() { host.records } else { 0 };
        let entry = Entry { key: self.hash(&host.name), residue: Residue::of(host), records };
        let mut number = residues::encode(&entry, sparse, epoch, buffer);
        for id in &host.origins {
            let origin = self.origin(*id);
            if let Some(residue) = Residue::of_origin(origin) {
                let entry = Entry { key: self.hash(&origin.name), residue, records: 0 };
                number += residues::encode(&entry, true, epoch, buffer);
            }
        }
        number
    }

    /// Takes what [`Schedule::encode_host_state`] or [`Schedule::encode_host`] wrote, before any
    /// host is opened; what comes later replaces what came before. From then on every host
    /// waits for its full delay before it is first asked.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes say no such thing.
    pub fn restore(&mut self, decoder: &mut Decoder<'_>, epoch: u64) -> Result<(), Malformed> {
        self.restored = true;
        for _ in 0..decoder.number()? {
            let Entry { key, mut residue, records } = residues::decode(decoder, epoch)?;
            let delay = Duration::from_secs(residue.crawl_delay.into());
            residue.until = residue.until.max(Moment::START.after(delay));
            self.residues.take(key);
            if residue.tells(Moment::START) {
                self.residues.put(key, residue);
            }
            self.residues.set_count(key, records);
        }
        self.any_drained |= self.residues.any_drained();
        Ok(())
    }
}
