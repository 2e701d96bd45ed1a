//! The spool in manifests: its state, and when its files are durable.

use super::super::exact::ExactError;
use super::super::shelf::{Place, RestoreError, Shelf};
use super::spill::Spill;
use super::{Disk, Doubts};
use crate::store::{Decoder, Encoder, FileKind, Malformed};

impl Doubts {
    /// Takes up what [`Doubts::encode_state`] told of. Length and header of each file are checked
    /// now, its content when it is read.
    ///
    /// # Errors
    /// A file is missing or of another length, or the state makes no sense.
    pub fn restore(place: Place, memory_bytes: u64, decoder: &mut Decoder<'_>) -> Result<Self, RestoreError> {
        let mut shelf = Shelf::restore(place.clone(), FileKind::Doubts, decoder)?;
        let mut doubts = Doubts::in_memory();
        (doubts.first, doubts.next) = (decoder.count()?, decoder.count()?);
        for _ in 0..decoder.number()? {
            let spill = Spill::restore(&mut shelf, decoder)?;
            let follows = doubts.spills.back().is_none_or(|last| last.end() == spill.first);
            if !follows || spill.end() <= doubts.first {
                return Err(Malformed.into());
            }
            doubts.spills.push_back(spill);
        }
        let begins = doubts.spills.front().map_or(doubts.next, |first| first.first);
        let ends = doubts.spills.back().map_or(doubts.first, Spill::end);
        if begins > doubts.first || ends != doubts.next {
            return Err(Malformed.into());
        }
        doubts.disk = Some(Disk { shelf, place, memory_bytes });
        Ok(doubts)
    }

    /// Reads and checks all files.
    ///
    /// # Errors
    /// A file cannot be read or is damaged.
    pub fn verify(&mut self) -> Result<(), ExactError> {
        self.guard(|this| {
            let Doubts { disk: Some(disk), spills, scratch, .. } = this else { return Ok(()) };
            spills.iter_mut().try_for_each(|spill| spill.verify(&disk.shelf, scratch))
        })
    }

    /// Appends the state as of the last [`Doubts::prepare_checkpoint`]: next file; oldest doubt
    /// pending, next number; files, each with its number, first doubt, doubts, keys, where those begin.
    pub fn encode_state(&self, encoder: &mut Encoder<'_>) {
        let Some(disk) = &self.disk else { return };
        disk.shelf.encode_state(encoder);
        encoder.number(self.first);
        encoder.number(self.next);
        encoder.number(self.spills.len() as u64);
        self.spills.iter().for_each(|spill| spill.encode_state(encoder));
    }

    /// Appends the names of the files that the state names.
    pub fn named_files(&self, names: &mut Vec<String>) {
        if let Some(disk) = &self.disk {
            names.extend(self.spills.iter().map(|spill| disk.shelf.name(spill.number)));
        }
    }

    /// Writes what is in memory and makes every file durable, so that the state can be named.
    pub fn prepare_checkpoint(&mut self) -> Result<(), ExactError> {
        self.guard(|this| {
            this.spill()?;
            let numbers = this.spills.iter().map(|spill| spill.number);
            this.disk.as_mut().map_or(Ok(()), |disk| disk.shelf.prepare_checkpoint(numbers))
        })
    }

    /// The manifest with the state is durable: what only earlier ones name may go.
    pub fn checkpoint_done(&mut self) -> Result<(), ExactError> {
        self.guard(|this| this.disk.as_mut().map_or(Ok(()), |disk| disk.shelf.checkpoint_done()))
    }
}
