//! Laws of the decoders: chunks do not matter, bounds hold, junk is survived.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

/// [`repeating_text`] by an encoder of brotli at quality 9, windows of 2^10 and 2^24 bytes.
const BROTLI_SMALL_WINDOW: &str = "a188b80220d658b16e494737ec7cfbb468501044830679fc381880ede110cad210b22efa38408ee864e98a5098a0fffc\
     fff5f9fdfed4f3f3f1bc3d7fefff7f4f56ee738ff7ef33e3f73597e1f389c247bd5e3af3c833afbcf3c9777ef29bbf0b\
     1cc8171cc0011cc0011cc0011cc001000202020202020202020201010101010101010101030303030303030303838080\
     8080808080808080060d1a3468d0a04183060d060c183060c0800103060c58b060c182050b162c58b0e0c08103070e1c\
     3870e0c00d500628039401ca006580324019a00c50162802020202020202020202828282828282828282824242424242\
     4242424242c2c2c2c2c2c2c2c2c2c222222222222222222222a2458b162d5ab468d1a2458b1123468c183162c4881123\
     56ac58b162c58a152b56ac3871e2c48913274e9c38700556815560155805568155601558055683252020202020202020\
     202028282828282828282828242424242424242424242c2c2c2c2c2c2c2c2c2c222222222222222222225ab468d1a245\
     8b162d5ab4183162c4881123468c183162c58a152b56ac58b162c58a13274e9c3871e2c4890357501554055541555015\
     5405554155503554020202020202020202028282828282828282828242424242424242424242c2c2c2c2c2c2c2c2c2c2\
     22222222222222222222a2458b162d5ab468d1a2458b1123468c183162c488112356ac58b162c58a152b56ac3871e2c4\
     8913274e9cb8ec01";
const BROTLI_LARGE_WINDOW: &str = "1f11570004025be17c8dbaf88a9d99fdce4944494808082ae01f9f7b0660bb0a3f4b43c876a28703e41036876145302b\
     0f4f2ff2ff7ffffaf3f58ce7efcfe7c7f3fdf5fffbd995fb3ac7e7df33e3f7732fc3f7270a9f7c7f74ce33ef7cf3737e\
     cdeff9337fe7df820bb2204080000102040810000804028140201008048140201008040281c004134c30c104134c30c1\
     04132cb0c0020b2cb0c0020b2cb0c0061b6cb0c1061b6cb0c1061b1c70c001071c70c001071c70c005175c70c105175c\
     70c10517bce0052f78c10b5ef08217bce03d6038603860386038603860386038603860b860d8798add88955ab162c58a\
     152b36142850a0408102050a142850a0408102050a142850a0408102050a142850a0408102050a142850a0408102050a\
     142850a0408102050a142850a0408102050a142850a0408102050a142850a0408102050a142850a0408102050a088542\
     a15028140a8542a15028140a8542a15028140a8542a15028140a8542a15028140a8542a15028140a8542a15028140a85\
     42a15028140a8542a15028140a8542a15028140a8542a15028140a8542a15028140a8542a14824128944229148241289\
     442291482412894422914824128944229148241289442291482412894422914824128944229148241289442291482412\
     8944229148241289442291482412894422914824128944229148241a0e";

/// 64 MiB of zeros.
const BROTLI_BOMB: &str = "cbffff3f002400e2b14072effff8ffff078004401c1680eefd1fffffff00900088c302d0bdffe3ffff1f001200715800\
     baf77ffcffff034002200e0b40f7fe8fffff7f004800c46101e8defff1ffff0f000980382c00ddfb3ffeffff01200110\
     8705a07bff37";

fn repeating_text() -> Vec<u8> {
    (0..400)
        .flat_map(|i| format!("line {i} of a text that repeats itself, again and again\n").into_bytes())
        .collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit") as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

fn raw_deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(data: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(data, 3).expect("memory")
}

/// Brotli in its plainest form: uncompressed meta-blocks (RFC 7932 section 9.2).
fn stored_brotli(data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut bits = (0u32, 1);
    for block in data.chunks(1 << 16) {
        // not the last, four nibbles of length, uncompressed
        bits.0 |= (block.len() as u32 - 1) << (bits.1 + 3) | 1 << (bits.1 + 19);
        stream.extend_from_slice(&bits.0.to_le_bytes()[..(bits.1 as usize + 20).div_ceil(8)]);
        stream.extend_from_slice(block);
        bits = (0, 0);
    }
    stream.push((bits.0 | 3 << bits.1) as u8);
    stream
}

/// Decodes `wire`, given in pieces of the sizes in `cuts` over and over, into pieces of `room` bytes.
fn decode_in(
    codings: &[Coding],
    wire: &[u8],
    cuts: &[usize],
    room: usize,
) -> (Vec<u8>, Option<DecodeError>, bool) {
    let mut chain = Chain::new(codings, u64::MAX, 48 << 20);
    let mut sizes = cuts.iter().copied().cycle();
    let (mut at, mut end) = (0, 0);
    let mut output = vec![0; room];
    let mut decoded = Vec::new();
    loop {
        let mut rest = &wire[at..end];
        let progress = chain.read(&mut rest, end == wire.len(), &mut output);
        at = end - rest.len();
        match progress {
            Ok(Progress::Output(length)) => decoded.extend_from_slice(&output[..length]),
            Ok(Progress::NeedInput) => end = wire.len().min(end + sizes.next().unwrap_or(1)),
            Ok(Progress::End | Progress::Excess) => return (decoded, None, chain.mislabelled()),
            Err(error) => return (decoded, Some(error), chain.mislabelled()),
        }
    }
}

fn decode(codings: &[Coding], wire: &[u8]) -> (Vec<u8>, Option<DecodeError>, bool) {
    decode_in(codings, wire, &[wire.len().max(1)], 32 * 1024)
}

fn coded(coding: Coding, data: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Gzip => gzip(data),
        Coding::Deflate => zlib(data),
        Coding::Brotli => stored_brotli(data),
        Coding::Zstd => zstd(data),
    }
}

fn any_coding() -> impl Strategy<Value = Coding> {
    prop_oneof![Just(Coding::Gzip), Just(Coding::Deflate), Just(Coding::Brotli), Just(Coding::Zstd)]
}

fn any_data() -> impl Strategy<Value = Vec<u8>> {
    let words =
        prop_oneof![Just(&b"<a href=x>"[..]), Just(&b"lorem ipsum "[..]), Just(&b"\0\0\0\0\0\0\0\0"[..])];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..3000),
        prop::collection::vec(words, 0..4000).prop_map(|words| words.concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_chunks_give_the_same_bytes(
        data in any_data(),
        codings in prop::collection::vec(any_coding(), 1..=MAX_LAYERS),
        cuts in prop::collection::vec(1usize..900, 1..6),
        room in 1usize..5000,
    ) {
        let wire = codings.iter().fold(data.clone(), |data, coding| coded(*coding, &data));
        let (decoded, error, mislabelled) = decode_in(&codings, &wire, &cuts, room);
        prop_assert_eq!(error, None);
        prop_assert!(decoded == data);
        prop_assert!(!mislabelled);
    }

    #[test]
    fn bare_deflate_is_read_as_well(data in any_data(), cut in 1usize..300) {
        prop_assert_eq!(decode_in(&[Coding::Deflate], &raw_deflate(&data), &[cut], 777), (data, None, false));
    }

    #[test]
    fn a_stream_cut_short_is_incomplete(data in any_data(), coding in any_coding(), at in any::<prop::sample::Index>()) {
        let wire = coded(coding, &data);
        // a letter or two may as well be text
        prop_assume!(wire.len() > 4);
        let (decoded, error, _) = decode(&[coding], &wire[..4 + at.index(wire.len() - 4)]);
        prop_assert_eq!(error, Some(DecodeError::Incomplete));
        prop_assert!(data.starts_with(&decoded));
    }

    #[test]
    fn junk_is_survived(
        junk in prop::collection::vec(any::<u8>(), 0..2000),
        head in prop::sample::select(vec![
            &b""[..], b"\x1f\x8b\x08\x00", b"\x1f\x8b\x08\xff", b"\x78\x9c", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18", b"\x0b", b"\x8b",
        ]),
        codings in prop::collection::vec(any_coding(), 1..=MAX_LAYERS),
        cuts in prop::collection::vec(1usize..200, 1..4),
        room in 1usize..300,
    ) {
        decode_in(&codings, &[head, &junk].concat(), &cuts, room);
    }

    #[test]
    fn damage_is_survived(
        data in any_data(),
        coding in any_coding(),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
        cut in 1usize..500,
    ) {
        let mut wire = coded(coding, &data);
        let at = at.index(wire.len());
        wire[at] ^= 1 << bit;
        decode_in(&[coding], &wire, &[cut], 999);
    }
}

/// What of a damaged stream is taken for coded, and what for plain, was once up to the network: found by
/// the fuzz target `decode`.
#[test]
fn a_trial_comes_to_the_same_in_pieces_of_any_size() {
    let mut verdicts = [0, 0];
    for repeats in 10..70 {
        let unit = |number: u8| vec![number.wrapping_mul(167); repeats];
        let wire = raw_deflate(&(0..=255).flat_map(unit).collect::<Vec<u8>>());
        for good in 60..90.min(wire.len()) {
            let damaged = [&wire[..good], &[0xff; 40]].concat();
            let (whole, _, mislabelled) = decode(&[Coding::Deflate], &damaged);
            verdicts[usize::from(mislabelled)] += 1;
            for cut in [1, 7, 64, 65] {
                let (pieces, _, again) = decode_in(&[Coding::Deflate], &damaged, &[cut], 999);
                assert_eq!(again, mislabelled, "{repeats} {good} {cut}");
                let common = whole.len().min(pieces.len());
                assert_eq!(whole[..common], pieces[..common], "{repeats} {good} {cut}");
            }
        }
    }
    assert!(verdicts.iter().all(|count| *count > 100), "{verdicts:?}");
}

#[test]
fn real_brotli_is_decoded_in_chunks_of_any_size() {
    for vector in [BROTLI_SMALL_WINDOW, BROTLI_LARGE_WINDOW] {
        for cut in [1, 2, 7, 10_000] {
            let (decoded, error, mislabelled) = decode_in(&[Coding::Brotli], &unhex(vector), &[cut], 333);
            assert_eq!((error, mislabelled), (None, false));
            assert!(decoded == repeating_text());
        }
    }
}

#[test]
fn codings_are_read_from_headers() {
    use Coding::{Brotli, Deflate, Gzip, Zstd};
    let parse = |values: &[&str]| parse_codings(values.iter().map(|value| value.as_bytes()));
    assert_eq!(parse(&["gzip"]), Ok(vec![Gzip]));
    assert_eq!(parse(&[" X-GZip , br", "identity,, zstd"]), Ok(vec![Gzip, Brotli, Zstd]));
    assert_eq!(parse(&["deflate"]), Ok(vec![Deflate]));
    assert_eq!(parse(&["", "identity"]), Ok(vec![]));
    assert_eq!(parse(&["gzip, gzip, gzip, gzip"]), Err(DecodeError::TooManyLayers));
    assert_eq!(parse(&["compress"]), Err(DecodeError::UnknownCoding("compress".to_owned())));
    assert!(
        matches!(parse(&["\u{1}\u{e9}x".repeat(999).as_str()]), Err(DecodeError::UnknownCoding(name)) if name.len() < 200)
    );
}

#[test]
fn gzip_has_members_fields_and_junk_behind_it() {
    let members = [gzip(b"one "), gzip(b""), gzip(b"two")].concat();
    for cut in [1, 5, 1000] {
        assert_eq!(decode_in(&[Coding::Gzip], &members, &[cut], 100), (b"one two".to_vec(), None, false));
        for junk in [&b"\0\0\0\0"[..], b"trailing", b"\x1f", b"\x1f\x8b\x07junk", b"\x1f\x1f\x8b"] {
            let wire = [&members, junk].concat();
            assert_eq!(
                decode_in(&[Coding::Gzip], &wire, &[cut], 100),
                (b"one two".to_vec(), None, false),
                "{junk:?}"
            );
        }
    }
    let plain = gzip(b"body");
    let mut fields = vec![0x1f, 0x8b, 8, 0x1f, 0, 0, 0, 0, 0, 3];
    fields.extend_from_slice(b"\x03\0abcname\0comment\0\xaa\xbb");
    fields.extend_from_slice(&plain[10..]);
    assert_eq!(decode_in(&[Coding::Gzip], &fields, &[1], 100), (b"body".to_vec(), None, false));
}

#[test]
fn damage_of_gzip_is_named() {
    let mut wire = gzip(b"some text");
    let last = wire.len() - 1;
    wire[last] ^= 1;
    let (decoded, error, _) = decode(&[Coding::Gzip], &wire);
    assert_eq!(decoded, b"some text");
    assert!(matches!(error, Some(DecodeError::Damaged { coding: "gzip", .. })));
    let endless_name = [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], &vec![b'n'; 100_000]].concat();
    assert!(matches!(decode(&[Coding::Gzip], &endless_name).1, Some(DecodeError::Damaged { .. })));
    assert!(matches!(decode(&[Coding::Gzip], &gzip(b"").repeat(2000)).1, Some(DecodeError::Damaged { .. })));
}

#[test]
fn what_is_not_coded_is_kept_as_it_is() {
    let pages: [&[u8]; 6] = [
        b"<!DOCTYPE html><p>plain</p>",
        b"x",
        b"hi",
        b"{\"a\": 1}",
        b"\xef\xbb\xbftext",
        b"  Plain text, longer than most.",
    ];
    for page in pages {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            for cut in [1, 1000] {
                let result = decode_in(&[coding], page, &[cut], 7);
                assert_eq!(result, (page.to_vec(), None, true), "{coding:?} {page:?}");
            }
        }
    }
    let long = repeating_text();
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
        let (decoded, error, mislabelled) = decode_in(&[coding], &long, &[4096], 1000);
        assert!(decoded == long && error.is_none() && mislabelled, "{coding:?}");
    }
}

#[test]
fn labels_of_near_relatives_are_understood() {
    assert_eq!(decode(&[Coding::Gzip], &zlib(b"zlib under gzip")).0, b"zlib under gzip");
    assert_eq!(decode(&[Coding::Deflate], &gzip(b"gzip under deflate")).0, b"gzip under deflate");
    let once = decode(&[Coding::Gzip, Coding::Gzip], &gzip(b"said twice, done once"));
    assert_eq!(once, (b"said twice, done once".to_vec(), None, true));
}

#[test]
fn an_empty_body_is_empty_under_any_label() {
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
        assert_eq!(decode(&[coding], b""), (Vec::new(), None, false));
        assert_eq!(decode(&[coding, coding], b""), (Vec::new(), None, false));
    }
}

#[test]
fn zstd_has_frames_skippable_ones_and_junk_behind_them() {
    let wire = [zstd(b"one "), b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(b"two")].concat();
    for cut in [1, 3, 1000] {
        assert_eq!(decode_in(&[Coding::Zstd], &wire, &[cut], 100), (b"one two".to_vec(), None, false));
        let junk = [wire.as_slice(), b"junk that is no frame"].concat();
        assert_eq!(decode_in(&[Coding::Zstd], &junk, &[cut], 100), (b"one two".to_vec(), None, false));
    }
}

#[test]
fn a_zstd_window_over_8_mib_is_refused() {
    // a frame header asking for a window of 2^(10+14) bytes, then a raw block
    let frame =
        |exponent: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, exponent << 3][..], &[0x21, 0, 0], b"abcd"].concat();
    assert_eq!(decode(&[Coding::Zstd], &frame(13)).0, b"abcd");
    assert!(matches!(
        decode(&[Coding::Zstd], &frame(14)).1,
        Some(DecodeError::Damaged { coding: "zstd", .. })
    ));
}

#[test]
fn a_brotli_window_over_16_mib_is_refused() {
    // RFC 7932 leaves the pattern 0010001 to the large windows of another format
    let (decoded, _, mislabelled) = decode(&[Coding::Brotli], b"\x11\x1e\x21\xff\xff\x00");
    assert!(decoded.is_empty() || mislabelled);
}

#[test]
fn a_bomb_is_met_one_piece_at_a_time() {
    let zeros = vec![0; 16 << 20];
    for (coding, wire) in [
        (Coding::Gzip, gzip(&zeros)),
        (Coding::Deflate, zlib(&zeros)),
        (Coding::Zstd, zstd(&zeros)),
        (Coding::Brotli, unhex(BROTLI_BOMB)),
    ] {
        let mut chain = Chain::new(&[coding], u64::MAX, 16 << 20);
        let mut rest = wire.as_slice();
        let mut output = vec![1; 4096];
        for _ in 0..100 {
            let progress = chain.read(&mut rest, true, &mut output).expect("no error");
            assert!(matches!(progress, Progress::Output(length) if length <= 4096), "{coding:?}");
        }
        assert!(!rest.is_empty() || wire.len() < 5000, "{coding:?}: the rest waits");
        assert!(chain.window_bytes(4096) <= 101 * 4096);
    }
}

#[test]
fn layers_inside_may_not_run_away() {
    // the outer layer's junk-eating inner one would swallow what a bomb gives
    let inner = [gzip(b"short"), vec![b'j'; 8 << 20]].concat();
    let empty_frames = b"\x50\x2a\x4d\x18\x00\0\0\0".repeat(1 << 18);
    let mut chain = Chain::new(&[Coding::Zstd, Coding::Gzip], 100_000, 16 << 20);
    let wire = gzip(&empty_frames);
    let mut output = vec![0; 4096];
    let progress = chain.read(&mut wire.as_slice(), true, &mut output);
    assert!(matches!(progress, Ok(Progress::Excess)));
    let (decoded, error, _) = decode(&[Coding::Gzip, Coding::Gzip], &gzip(&inner));
    assert_eq!((decoded.as_slice(), error), (&b"short"[..], None));
}

#[test]
fn windows_are_read_from_headers() {
    assert_eq!(super::brotli::window(&unhex(&BROTLI_LARGE_WINDOW[..2])), 1 << 24);
    assert_eq!(super::brotli::window(&unhex(&BROTLI_SMALL_WINDOW[..2])), 1 << 10);
    assert_eq!(super::brotli::window(&[0]), 1 << 16);
    assert_eq!(super::zstd::window(&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 200]), 200);
    assert_eq!(super::zstd::window(&[0x28, 0xb5, 0x2f, 0xfd, 0x60, 0, 1]), 512);
    assert_eq!(super::zstd::window(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 8 << 3]), 1 << 18);
    assert_eq!(super::zstd::window(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff]), 8 << 20);
}
