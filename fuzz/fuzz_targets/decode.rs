//! Content codings of any bytes, given in two pieces: no panic, no endless loop, no piece larger than asked for.
#![no_main]

use dragline::fetch::decode::{Chain, Progress, parse_codings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, &[u8])| {
    let names: [&[u8]; 8] = [b"gzip", b"deflate", b"br", b"zstd", b"gzip, gzip", b"br, deflate", b"zstd, gzip", b"zstd, br, gzip"];
    let (name, cut, wire) = (names[usize::from(input.0 & 7)], usize::from(input.1).min(input.2.len()), input.2);
    let mut chain = Chain::new(&parse_codings([name]).expect("known codings"), 1 << 20, 48 << 20);
    let (mut output, mut total, mut rest, mut last) = ([0; 4096], 0, &wire[..cut], false);
    while total < 1 << 20 {
        match chain.read(&mut rest, last, &mut output) {
            Ok(Progress::Output(length)) => total += length,
            Ok(Progress::NeedInput) if !last => (rest, last) = (&wire[cut..], true),
            Ok(progress) => return assert_ne!(progress, Progress::NeedInput),
            Err(_) => return,
        }
    }
});
