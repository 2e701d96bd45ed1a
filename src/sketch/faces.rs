//! How many of the pages of one place look nearly the same.

use super::simhash::distance;
use crate::store::{Decoder, Encoder, Malformed};

/// Bits in which the fingerprints of two pages that are nearly the same differ at most
/// (G. Manku, A. Jain, A. Das Sarma, Detecting Near-Duplicates for Web Crawling, 2007).
pub const NEAR: u32 = 3;

/// Fingerprints held of one place.
const FACES: usize = 4;

/// A fingerprint, and how many came near to it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Face {
    simhash: u64,
    pages: u32,
}

/// The most frequent fingerprints of one place, with near ones taken for the same.
///
/// Like [`HeavyHitters`](super::HeavyHitters), it never counts too much: whoever comes where
/// there is no room cancels one of each.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Faces([Face; FACES]);

impl Faces {
    /// Counts a page; how many pages near to one and the same there were, this one included,
    /// at least. Nothing where there is no room for it.
    pub fn meet(&mut self, simhash: u64) -> u32 {
        let near = |face: &&mut Face| face.pages > 0 && distance(face.simhash, simhash) <= NEAR;
        if let Some(face) = self.0.iter_mut().find(near) {
            face.pages = face.pages.saturating_add(1);
            return face.pages;
        }
        if let Some(face) = self.0.iter_mut().find(|face| face.pages == 0) {
            *face = Face { simhash, pages: 1 };
            return 1;
        }
        for face in &mut self.0 {
            face.pages -= 1;
            if face.pages == 0 {
                *face = Face::default();
            }
        }
        // those that are held come first
        self.0.sort_by_key(|face| face.pages == 0);
        0
    }

    /// Appends what it holds: how many fingerprints, then of each the fingerprint and its pages.
    pub fn encode(&self, encoder: &mut Encoder<'_>) {
        let held = || self.0.iter().filter(|face| face.pages > 0);
        encoder.number(held().count() as u64);
        for face in held() {
            encoder.key(face.simhash);
            encoder.number(u64::from(face.pages));
        }
    }

    /// What was held.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let mut faces = Self::default();
        for place in 0..decoder.small::<usize>()? {
            let face = faces.0.get_mut(place).ok_or(Malformed)?;
            *face = Face { simhash: decoder.key()?, pages: decoder.small()? };
        }
        Ok(faces)
    }
}
