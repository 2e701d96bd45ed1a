//! Content codings of any bytes: cut anywhere, and read into buffers of any size, they give the same bytes and end the
//! same way; no panic, no endless loop, and memory is bounded.
#![no_main]

use std::io::Write as _;

use dragline::fetch::decode::{Chain, Progress, parse_codings};
use dragline_fuzz::{Input, Pieces, input, lay, peak_of};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use libfuzzer_sys::fuzz_target;

const CODINGS: [&[u8]; 8] =
    [b"gzip", b"deflate", b"br", b"zstd", b"gzip, gzip", b"br, deflate", b"zstd, gzip", b"zstd, br, gzip"];
/// Bytes that are decoded at most.
const MOST: usize = 1 << 20;
/// Bytes of all windows, as with little memory.
const WINDOWS: usize = 8 << 20;
/// Bytes that the decoders may hold beside their windows. zstd takes its window and as much again for what
/// it has not given out.
const BESIDE: usize = 4 << 20;

/// 64 MiB of zeros, by an encoder of brotli.
const BROTLI_BOMB: &[u8] =
    b"\xcb\xff\xff\x3f\x00\x24\x00\xe2\xb1\x40\x72\xef\xff\xf8\xff\xff\x07\x80\x04\x40\x1c\x16\x80\xee\
    \xfd\x1f\xff\xff\xff\x00\x90\x00\x88\xc3\x02\xd0\xbd\xff\xe3\xff\xff\x1f\x00\x12\x00\x71\x58\x00\
    \xba\xf7\x7f\xfc\xff\xff\x03\x40\x02\x20\x0e\x0b\x40\xf7\xfe\x8f\xff\xff\x7f\x00\x48\x00\xc4\x61\
    \x01\xe8\xde\xff\xf1\xff\xff\x0f\x00\x09\x80\x38\x2c\x00\xdd\xfb\x3f\xfe\xff\xff\x01\x20\x01\x10\
    \x87\x05\xa0\x7b\xff\x37";

/// How decoding ended: with so many bytes, and by what.
#[derive(Debug, PartialEq)]
enum End {
    Whole,
    Excess,
    Damaged,
    Enough,
}

fn decode(names: &[u8], wire: &[u8], mut cuts: Pieces) -> (Vec<u8>, End) {
    let mut chain = Chain::new(&parse_codings([names]).expect("known codings"), MOST as u64, WINDOWS);
    let (mut output, mut decoded, mut taken) = (vec![0; 1 << 16], Vec::new(), 0);
    let mut piece: &[u8] = &[];
    while decoded.len() < MOST {
        let room = cuts.length().min(output.len());
        match chain.read(&mut piece, taken == wire.len(), &mut output[..room]) {
            Ok(Progress::Output(length)) => decoded.extend_from_slice(&output[..length]),
            Ok(Progress::NeedInput) => {
                assert!(piece.is_empty() && taken < wire.len(), "more is asked for than there is");
                let length = cuts.length().min(wire.len() - taken);
                piece = &wire[taken..taken + length];
                taken += length;
            }
            Ok(Progress::End) => return (decoded, End::Whole),
            Ok(Progress::Excess) => return (decoded, End::Excess),
            Err(_) => return (decoded, End::Damaged),
        }
    }
    decoded.truncate(MOST);
    (decoded, End::Enough)
}

fn seeds() -> Vec<Vec<u8>> {
    let texts = [b"<a href=/x>x</a> ".repeat(20), vec![0; 300_000], (0..=255).collect(), Vec::new()];
    let mut seeds = Vec::new();
    for text in &texts {
        let gzip = |text: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
        };
        let zlib_of = |text: &[u8]| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
        };
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::default());
        let bare = bare.write_all(text).and_then(|()| bare.finish()).expect("memory");
        let zstd = |text: &[u8]| zstd::encode_all(text, 3).expect("memory");
        let wires = [
            (0, gzip(text)),
            (0, [gzip(b"one "), gzip(text)].concat()),
            (1, zlib_of(text)),
            (1, bare),
            (2, stored_brotli(&text[..text.len().min(4000)])),
            (3, zstd(text)),
            (4, gzip(&gzip(text))),
            (5, zlib_of(&stored_brotli(&text[..text.len().min(4000)]))),
            (6, gzip(&zstd(text))),
            (7, gzip(&stored_brotli(&zstd(text)[..zstd(text).len().min(4000)]))),
            (0, text[..text.len().min(100)].to_vec()),
        ];
        seeds.extend(wires.map(|(coding, wire)| input(&[coding, 3, 0x60], &[], &wire)));
    }
    seeds.push(input(&[2, 3, 0x60], &[], BROTLI_BOMB));
    seeds
}

/// Brotli without compression (RFC 7932 section 9.2): one metablock.
fn stored_brotli(data: &[u8]) -> Vec<u8> {
    if data.is_empty() {
        return vec![0x06];
    }
    // a window of 2^16, not the last, four nibbles of length, not compressed
    let header = (data.len() as u32 - 1) << 4 | 1 << 20;
    let mut wire = header.to_le_bytes()[..3].to_vec();
    wire.extend_from_slice(data);
    wire.push(0x03);
    wire
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let (names, cuts) = (CODINGS[usize::from(input.byte() & 7)], input.number());
    let wire = input.0;
    // large pieces, and any
    let whole = decode(names, wire, Pieces::new(0xf000));
    let (pieces, peak) = peak_of(|| decode(names, wire, Pieces::new(cuts | 0x1000)));
    // what a decoder has not given out yet when it meets damage is lost
    let common = whole.0.len().min(pieces.0.len());
    assert!(whole.0[..common] == pieces.0[..common], "other bytes in pieces");
    // and a layer within may have come to its end before that
    let is_lost = names.contains(&b',') && [&whole, &pieces].iter().any(|read| read.1 == End::Damaged);
    if !is_lost && (whole.1 == End::Whole || pieces.1 == End::Whole) {
        assert_eq!((whole.0.len(), whole.1), (pieces.0.len(), pieces.1));
    }
    // what was decoded is kept here, in a buffer that doubles
    assert!(peak <= 2 * WINDOWS + BESIDE + 4 * pieces.0.len(), "{peak} bytes for {}", pieces.0.len());
});
