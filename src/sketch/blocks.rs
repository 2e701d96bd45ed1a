//! A bounded list of the blocks of a text, from which what repeats elsewhere can be left out later.
//!
//! A *block* is four words in a row, and is named by the last two of them. Of all pairs of words
//! that follow each other the [`MOST_BLOCKS`] with the smallest hashes are listed, each with the block
//! that it ends: texts that are nearly the same choose nearly the same pairs, wherever they stand (A.
//! Broder, On the Resemblance and Containment of Documents, 1997: the *bottom-k* sketch). The
//! block tells a pair of words in a menu from the same pair in a sentence, so that the one can be left
//! out and the other not.
//!
//! The words and the hash of a pair are those of the fingerprint ([`SimHasher`](super::SimHasher)).
//! - The number of a block: the sum of the numbers of its words, each times [`FACTOR`] to the power of
//!   how many words of the block follow it, in 64 bits. A pair that ends several blocks has the smallest
//!   of their numbers.
//! - A listed block is 36 bits: the highest 22 of the hash of its pair, then the lowest 14 of
//!   mix(number of the block, hash of the pair). Lists go from the smallest to the largest.
//!
//! It must not know where the text comes from.

use super::simhash::mix;

/// Blocks listed of one text at most.
pub const MOST_BLOCKS: usize = 48;

/// Words of a block.
const WORDS: usize = 4;

/// What the number of a block is made with: odd, so that no bit is lost.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Pairs gathered before the smallest are picked out.
const GATHERED: usize = 128;

/// Bits of a listed block that are of its four words.
const CONTEXT_BITS: u32 = 14;

/// Bits of a listed block that are of its pair.
pub(super) const PAIR_BITS: u32 = 22;

/// Bits of a listed block.
pub(super) const BITS: u32 = PAIR_BITS + CONTEXT_BITS;

/// Characters of a listed block, of six bits each.
const CHARACTERS: usize = 6;

/// What the six bits are written as: that of URLs (RFC 4648, section 5).
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A listed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u64);

impl Block {
    /// All of it, in 36 bits.
    pub fn number(self) -> u64 {
        self.0
    }

    /// What is of its last two words.
    pub fn pair(self) -> u64 {
        self.0 >> CONTEXT_BITS
    }
}

/// Picks the blocks of one text after another.
#[derive(Debug, Clone)]
pub(super) struct BlockSampler {
    /// Hashes of pairs that may be among the smallest, and the numbers of their blocks.
    gathered: Vec<(u64, u64)>,
    /// Hashes past this one are not among the smallest.
    bound: u64,
    /// The numbers of the last words, in a ring.
    words: [u64; WORDS],
    /// Words so far.
    count: usize,
}

impl Default for BlockSampler {
    fn default() -> Self {
        Self { gathered: Vec::new(), bound: u64::MAX, words: [0; WORDS], count: 0 }
    }
}

impl BlockSampler {
    /// Takes the next word, by its number, and the hash of the pair that it ends.
    #[inline]
    pub(super) fn add(&mut self, word: u64, pair: u64) {
        self.words[self.count % WORDS] = word;
        self.count += 1;
        if pair <= self.bound {
            self.gather(pair);
        }
    }

    fn gather(&mut self, pair: u64) {
        if self.gathered.len() == GATHERED {
            self.pick();
            if pair > self.bound {
                return;
            }
        }
        let block = (0..WORDS).fold(0_u64, |sum, place| {
            sum.wrapping_mul(FACTOR).wrapping_add(self.words[(self.count + place) % WORDS])
        });
        self.gathered.reserve_exact(GATHERED - self.gathered.len());
        self.gathered.push((pair, block));
    }

    /// Keeps the smallest, each once.
    fn pick(&mut self) {
        self.gathered.sort_unstable();
        self.gathered.dedup_by_key(|(pair, _)| *pair);
        self.gathered.truncate(MOST_BLOCKS);
        if let Some((largest, _)) = self.gathered.get(MOST_BLOCKS - 1) {
            self.bound = *largest;
        }
    }

    /// The blocks of the text that has ended, by the hashes of their pairs. Ready for another text.
    pub(super) fn finish(&mut self) -> Vec<Block> {
        self.pick();
        let listed = |(pair, block): (u64, u64)| {
            let context = mix(block, pair) & ((1 << CONTEXT_BITS) - 1);
            Block(pair >> (64 - PAIR_BITS) << CONTEXT_BITS | context)
        };
        let blocks = self.gathered.drain(..).map(listed).collect();
        *self = Self { gathered: std::mem::take(&mut self.gathered), ..Self::default() };
        blocks
    }
}

/// Blocks as text: six characters each, the highest bits first.
pub fn encode_blocks(blocks: &[Block]) -> String {
    let mut text = String::with_capacity(blocks.len() * CHARACTERS);
    for block in blocks {
        let shifts = (0..BITS).step_by(6).rev();
        text.extend(shifts.map(|shift| char::from(ALPHABET[(block.0 >> shift) as usize % 64])));
    }
    text
}

/// Puts the blocks of a text that [`encode_blocks`] made in the place of what is in `blocks`, as many as a
/// text may have. Whether it is such a text; where not, there are none.
pub fn decode_blocks(text: &str, blocks: &mut Vec<Block>) -> bool {
    blocks.clear();
    let (pieces, rest) = text.as_bytes().as_chunks::<CHARACTERS>();
    let is_text = rest.is_empty()
        && pieces.len() <= MOST_BLOCKS
        && pieces.iter().all(|piece| {
            let number =
                piece.iter().try_fold(0, |number, character| Some(number << 6 | six_bits(*character)?));
            number.map(|number| blocks.push(Block(number))).is_some()
        });
    if !is_text {
        blocks.clear();
    }
    is_text
}

fn six_bits(character: u8) -> Option<u64> {
    let place = match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(u64::from(place))
}
