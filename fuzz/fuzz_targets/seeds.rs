//! Any bytes as a list of seeds, plain or packed: read in pieces of any size it has the same lines, none of them is too
//! long, and memory is bounded.
#![no_main]

use std::io::{BufReader, Read, Write as _};

use dragline::config::seeds::{LONGEST_LINE, SeedProblem, read, unpacked};
use dragline::url::{Canonicalizer, Rules, without_userinfo};
use dragline_fuzz::{Input, Pieces, input, lay, peak_of, reports, rows};
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;

/// Lines that are read at most: a bomb has any number of them.
const MOST_LINES: usize = 20_000;

/// What is said of a list that cannot be read further.
const UNREADABLE: &str = "unreadable";

/// Gives out bytes in pieces.
struct Drip(Vec<u8>, usize, Pieces);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.2.length().min(buffer.len()).min(self.0.len() - self.1);
        buffer[..length].copy_from_slice(&self.0[self.1..self.1 + length]);
        self.1 += length;
        Ok(length)
    }
}

fn lines(list: &[u8], cuts: Option<u16>) -> Vec<String> {
    let judge = |text: &str| if text.len() % 5 == 4 { Err("refused".to_owned()) } else { Ok(()) };
    let reader: Box<dyn Read> = match cuts {
        Some(cuts) => Box::new(Drip(list.to_vec(), 0, Pieces::new(cuts))),
        None => Box::new(std::io::Cursor::new(list.to_vec())),
    };
    let Ok(reader) = unpacked(BufReader::with_capacity(512, reader)) else { return Vec::new() };
    let mut last = 0;
    let one = |seed| {
        let (line, said) = match seed {
            Ok(dragline::config::seeds::SeedLine { text, line }) => {
                assert!(text.len() <= LONGEST_LINE && text == text.trim() && !text.starts_with('#'));
                assert!(!without_userinfo(&text).contains('\n'));
                (line, text)
            }
            Err(SeedProblem::Refused { line, reason }) => (line, reason),
            Err(SeedProblem::TooLong { line }) => (line, "too long".to_owned()),
            Err(SeedProblem::NotUtf8 { line }) => (line, "not UTF-8".to_owned()),
            Err(SeedProblem::Read { line, .. }) => (line, UNREADABLE.to_owned()),
            Err(_) => unreachable!("no other problem"),
        };
        assert!(line > last, "line {line} after {last}");
        last = line;
        format!("{line}: {said}")
    };
    read(reader, judge).take(MOST_LINES).map(one).collect()
}

fn seeds() -> Vec<Vec<u8>> {
    let pairs = rows("url_pairs.jsonl");
    let urls: Vec<&str> = pairs.iter().flat_map(|row| [row.text("a"), row.text("b")]).collect();
    let mut lists: Vec<Vec<u8>> = urls.chunks(8).map(|some| some.join("\n").into_bytes()).collect();
    lists.extend(reports(&["seeds"]).into_iter().map(String::into_bytes));
    lists.push(
        b"\xef\xbb\xbfhttp://a.test/\r\n# no\r\n\r\n  http://user:pass@b.test/ \nnot a url\n\xc3\x28\n"
            .to_vec(),
    );
    let packed = lists.iter().map(|list| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(list).and_then(|()| encoder.finish()).expect("memory")
    });
    let packed: Vec<Vec<u8>> = packed.collect();
    lists.into_iter().chain(packed).map(|list| input(&[5, 0x20], &[], &list)).collect()
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let cuts = input.number();
    let whole = lines(input.0, None);
    let (pieces, peak) = peak_of(|| lines(input.0, Some(cuts)));
    // how much comes out before damage is found is the decoder's own affair
    let common = pieces.len().min(whole.len());
    let is_damaged = [&pieces, &whole].iter().any(|list| list.last().is_some_and(|line| line.ends_with(UNREADABLE)));
    let read = if is_damaged { common.saturating_sub(1) } else { whole.len() };
    assert_eq!(pieces[..if is_damaged { read } else { pieces.len() }], whole[..read]);
    let given_out: usize = whole.iter().map(|line| line.len() + 64).sum();
    assert!(peak <= (1 << 20) + 4 * (bytes.len() + given_out), "{peak} bytes for a list of {}", bytes.len());
    let canonicalizer = Canonicalizer::new(Rules::default());
    for line in whole.iter().take(50) {
        let text = line.split_once(": ").map_or("", |(_, text)| text);
        // no user name, and the same page
        if let (Ok(one), Ok(other)) = (canonicalizer.parse(text), canonicalizer.parse(&without_userinfo(text))) {
            assert_eq!(one, other);
        }
    }
});
