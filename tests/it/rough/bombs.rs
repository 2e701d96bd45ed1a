//! Bodies that decode to ten gibibytes and more, and cost next to nothing to send: a beginning,
//! then one block again and again. Nothing of such a size is ever encoded here.

use flate2::{Compress, Compression, FlushCompress};

/// What each of them decodes to at least, in bytes.
pub(super) const DECODED: u64 = 10 << 30;
/// What follows the beginning.
const FILLER: u8 = b' ';

/// A coded body that repeats itself.
pub(super) struct Bomb {
    /// The coding's own head, and the coded beginning.
    pub(super) head: Vec<u8>,
    /// What comes again and again.
    pub(super) block: Vec<u8>,
    /// How often.
    pub(super) blocks: u64,
    /// Bytes of filler that one block decodes to.
    decoded_block: u64,
}

impl Bomb {
    fn new(head: Vec<u8>, block: Vec<u8>, decoded_block: u64) -> Bomb {
        Bomb { head, block, blocks: DECODED.div_ceil(decoded_block), decoded_block }
    }
}

/// Codes with raw deflate up to a full flush, after which the coder remembers nothing: the same
/// input gives the same bytes again (RFC 1951; the empty stored block of zlib's `Z_FULL_FLUSH`).
fn flushed(coder: &mut Compress, input: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(input.len() + 1024);
    coder.compress_vec(input, &mut output, FlushCompress::Full).unwrap();
    assert!(output.len() < output.capacity(), "there was room for all of it");
    output
}

/// Deflate behind the head of its wrapping: a mebibyte a block.
fn deflated(wrapping: &[u8], beginning: &[u8]) -> Bomb {
    let mut coder = Compress::new(Compression::best(), false);
    let head = [wrapping, &flushed(&mut coder, beginning)].concat();
    let block = flushed(&mut coder, &vec![FILLER; 1 << 20]);
    Bomb::new(head, block, 1 << 20)
}

/// The head of a member without a name (RFC 1952 section 2.3).
const GZIP: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// In gzip.
pub(super) fn gzip(beginning: &[u8]) -> Bomb {
    deflated(&GZIP, beginning)
}

/// In zlib, which HTTP calls deflate (RFC 1950 section 2.2).
pub(super) fn deflate(beginning: &[u8]) -> Bomb {
    deflated(&[0x78, 0x9c], beginning)
}

/// In gzip, and that in gzip again: 64 MiB a block.
pub(super) fn nested_gzip(beginning: &[u8]) -> Bomb {
    let inner = gzip(beginning);
    let mut coder = Compress::new(Compression::best(), false);
    let head = [&GZIP[..], &flushed(&mut coder, &inner.head)].concat();
    let block = flushed(&mut coder, &inner.block.repeat(64));
    Bomb::new(head, block, 64 * inner.decoded_block)
}

/// The bytes of a zstd block's header: its size, its kind (RFC 8878 section 3.1.1.2).
fn zstd_block(size: usize, kind: u32) -> [u8; 3] {
    let [a, b, c, _] = ((size as u32) << 3 | kind << 1).to_le_bytes();
    [a, b, c]
}

/// The head of a zstd frame without checksum and declared size (RFC 8878 section 3.1.1.1).
///
/// `window` is the binary logarithm of its window in bytes, at least 10.
pub(super) fn zstd_frame(window: u8) -> Vec<u8> {
    [&0xfd2f_b528_u32.to_le_bytes()[..], &[0, (window - 10) << 3]].concat()
}

/// In zstd: blocks of one byte repeated, ten mebibytes of them a block.
pub(super) fn zstd(beginning: &[u8]) -> Bomb {
    const LARGEST: usize = 128 << 10;
    let head = [&zstd_frame(20)[..], &zstd_block(beginning.len(), 0), beginning].concat();
    let block = [&zstd_block(LARGEST, 1)[..], &[FILLER]].concat().repeat(80);
    Bomb::new(head, block, 80 * LARGEST as u64)
}

/// Bits from the lowest up, as brotli packs them (RFC 7932 section 1.5.1).
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: u32,
}

impl Bits {
    /// Adds `count` bits of `value`.
    fn push(&mut self, value: u32, count: u32) {
        for bit in 0..count {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if value >> bit & 1 == 1 {
                *self.bytes.last_mut().unwrap() |= 1 << (self.count % 8);
            }
            self.count += 1;
        }
    }

    /// A prefix code of one symbol, whose use then costs no bits (RFC 7932 section 3.4).
    fn push_only_symbol(&mut self, symbol: u32, alphabet_bits: u32) {
        self.push(1, 2);
        self.push(0, 2);
        self.push(symbol, alphabet_bits);
    }

    /// A meta-block of 16 MiB of filler (RFC 7932 section 9.2): one literal, and a copy of all the
    /// rest from one byte back.
    fn push_filler(&mut self) {
        const LENGTH: u32 = 1 << 24;
        self.push(0, 1); // not the last
        self.push(2, 2); // the length has six nibbles
        self.push(LENGTH - 1, 24);
        self.push(0, 1); // compressed
        self.push(0, 3); // one block type each of literals, commands, distances
        self.push(0, 6); // no postfix bits, no direct distances
        self.push(0, 2); // the context mode
        self.push(0, 2); // one tree each for literals and distances
        self.push_only_symbol(u32::from(FILLER), 8);
        self.push_only_symbol(384 + 8 + 7, 10); // insert code 1: one literal; copy code 23
        self.push_only_symbol(16, 6); // distance 1 or 2 by one further bit
        self.push(LENGTH - 1 - 2118, 24); // copy code 23 begins at 2118
        self.push(0, 1);
    }
}

/// In brotli: four meta-blocks are 51 whole bytes, and 64 MiB.
pub(super) fn brotli(beginning: &[u8]) -> Bomb {
    let mut head = Bits::default();
    head.push(0, 1); // a window of 16 bits
    head.push(0, 1 + 2); // not the last; the length has four nibbles
    head.push(beginning.len() as u32 - 1, 16);
    head.push(1, 1); // uncompressed, from the next whole byte
    head.bytes.extend_from_slice(beginning);
    let mut block = Bits::default();
    (0..4).for_each(|_| block.push_filler());
    assert_eq!(block.count, 51 * 8);
    Bomb::new(head.bytes, block.bytes, 64 << 20)
}

#[test]
fn bombs_are_sound_and_cheap() {
    use std::io::Read;
    const BEGINNING: &[u8] = b"<title>x</title>";
    let bytes = |bomb: &Bomb| [&bomb.head[..], &bomb.block, &bomb.block].concat();
    let check = |name: &str, bomb: Bomb, decoder: &mut dyn Read| {
        assert!(bomb.blocks * bomb.decoded_block >= DECODED, "{name}");
        let sent = bomb.head.len() as u64 + bomb.blocks * bomb.block.len() as u64;
        assert!(sent < 12 << 20, "{name}: {sent} bytes in all");
        let mut beginning = [0; BEGINNING.len()];
        decoder.read_exact(&mut beginning).unwrap();
        assert_eq!(beginning, BEGINNING, "{name}");
        let (mut buffer, mut left) = (vec![0; 1 << 20], 2 * bomb.decoded_block);
        while left > 0 {
            let read = decoder.read(&mut buffer).unwrap_or_else(|e| panic!("{name}: {e}, {left} missing"));
            assert!(read > 0 && buffer[..read].iter().all(|byte| *byte == FILLER), "{name}");
            left -= read as u64;
        }
    };
    let (one, outer, zlib) = (gzip(BEGINNING), nested_gzip(BEGINNING), deflate(BEGINNING));
    let (one_bytes, outer_bytes, zlib_bytes) = (bytes(&one), bytes(&outer), bytes(&zlib));
    let gunzip = flate2::read::GzDecoder::new;
    check("gzip", one, &mut gunzip(&one_bytes[..]));
    check("nested gzip", outer, &mut flate2::read::GzDecoder::new(gunzip(&outer_bytes[..])));
    check("deflate", zlib, &mut flate2::read::ZlibDecoder::new(&zlib_bytes[..]));
    let (zstandard, br) = (zstd(BEGINNING), brotli(BEGINNING));
    let (zstandard_bytes, br_bytes) = (bytes(&zstandard), bytes(&br));
    check("zstd", zstandard, &mut ::zstd::Decoder::new(&zstandard_bytes[..]).unwrap());
    check("brotli", br, &mut brotli_decompressor::Decompressor::new(&br_bytes[..], 4096));
}
