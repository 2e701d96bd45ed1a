//! Whether something was met before: sure of what was, not of what was not.
//!
//! Source: B. Bloom, Space/Time Trade-offs in Hash Coding with Allowable Errors (1970); probes by
//! double hashing after A. Kirsch and M. Mitzenmacher, Less Hashing, Same Performance (2006).

use crate::store::{Decoder, Encoder, Malformed};

/// Bits that each key sets.
const PROBES: u64 = 4;

/// A small Bloom filter that tells which keys come for the first time.
///
/// What it has met it never calls new. Of what is new it says so less and less often the fuller
/// it is (one in 42 is missed at 16 bits a key, one in 6 at 4), so that whoever counts what is
/// new counts too little, never too much.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenOnce {
    /// Empty until the first key comes.
    words: Vec<u64>,
    bytes: usize,
}

impl SeenOnce {
    /// A filter of so many bytes, taken when the first key comes.
    pub fn new(bytes: usize) -> Self {
        Self { words: Vec::new(), bytes: bytes.max(8) / 8 * 8 }
    }

    /// Whether it is sure that a key was never met.
    pub fn is_new(&self, key: u64) -> bool {
        self.words.is_empty() || places(key, self.words.len()).any(|(word, bit)| self.words[word] & bit == 0)
    }

    /// Takes note of a key; whether it is sure that it was never met before.
    pub fn meet(&mut self, key: u64) -> bool {
        if self.words.is_empty() {
            self.words = vec![0; self.bytes / 8];
        }
        let mut new = false;
        for (word, bit) in places(key, self.words.len()) {
            new |= self.words[word] & bit == 0;
            self.words[word] |= bit;
        }
        new
    }

    /// Appends what it holds, for [`restore`](Self::restore): nothing where nothing was met, else all its words.
    pub fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.number(self.words.len() as u64);
        for word in &self.words {
            encoder.key(*word);
        }
    }

    /// Takes over what another one held, with that one's size.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not what [`encode`](Self::encode) made.
    pub fn restore(&mut self, decoder: &mut Decoder<'_>) -> Result<(), Malformed> {
        self.words.clear();
        for _ in 0..decoder.number()? {
            self.words.push(decoder.key()?);
        }
        Ok(())
    }
}

/// Where the bits of a key are in so many words.
fn places(key: u64, words: usize) -> impl Iterator<Item = (usize, u64)> {
    let bits = words as u64 * 64;
    let step = key.rotate_left(32) | 1;
    (0..PROBES).map(move |probe| {
        let mixed = key.wrapping_add(probe.wrapping_mul(step));
        let bit = ((u128::from(mixed) * u128::from(bits)) >> 64) as u64;
        ((bit / 64) as usize, 1 << (bit % 64))
    })
}
