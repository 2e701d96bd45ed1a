//! From the bytes of robots.txt, as they come, to its lines.
//!
//! Owns the size limit, encodings and ends of lines; what the lines mean is
//! [`parse`](super::parse)'s. Beside the rules only a line that is not over yet is held.

use super::build::LONGEST_RULE;
use super::line::read;
use super::parse::Groups;
use super::{MAX_BYTES, RobotsRules};
use encoding_rs::{Decoder, UTF_16BE, UTF_16LE};

/// Bytes that are decoded at a time.
const DECODED: usize = 4 << 10;

/// Bytes of buffer that are kept from line to line.
const KEPT_OF_LINE: usize = 4 << 10;

/// Reads a robots.txt for one agent, piece by piece.
///
/// ```
/// use dragline::robots::RobotsReader;
///
/// let mut reader = RobotsReader::new("dragline");
/// reader.feed(b"User-agent: *\nDisal");
/// reader.feed(b"low: /private\n");
/// assert!(!reader.finish().allowed("/private"));
/// ```
pub struct RobotsReader<'a> {
    groups: Groups<'a>,
    /// The first bytes, until they tell whether they are a byte order mark.
    first: Vec<u8>,
    encoding: Encoding,
    /// The line that is not over yet.
    line: Vec<u8>,
    /// Its number, from 1.
    number: u32,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_return: bool,
    /// Bytes of the file that were taken.
    taken: usize,
    truncated: bool,
}

enum Encoding {
    Unknown,
    Octets,
    /// UTF-16, turned into UTF-8.
    Decoded(Box<Decoder>),
}

impl<'a> RobotsReader<'a> {
    /// A reader for the agent with this product token.
    pub fn new(agent_token: &'a str) -> Self {
        RobotsReader {
            groups: Groups::new(agent_token),
            first: Vec::new(),
            encoding: Encoding::Unknown,
            line: Vec::new(),
            number: 1,
            after_return: false,
            taken: 0,
            truncated: false,
        }
    }

    /// Takes a piece of the file; what passes [`MAX_BYTES`] is left out.
    pub fn feed(&mut self, bytes: &[u8]) {
        let (within, beyond) = bytes.split_at(bytes.len().min(MAX_BYTES - self.taken));
        self.taken += within.len();
        match self.encoding {
            Encoding::Unknown => {
                self.first.extend_from_slice(within);
                if self.first.len() >= 3 {
                    self.begin();
                }
            }
            _ => self.take(within),
        }
        if let (Some(next), false) = (beyond.first(), self.truncated) {
            self.truncated = true;
            // a rule cut in two would cover more, or other, paths than its author meant
            if !matches!(next, b'\r' | b'\n') {
                self.line = Vec::new();
            }
        }
    }

    /// Bytes on the heap.
    pub fn held_bytes(&self) -> usize {
        self.first.capacity() + self.line.capacity() + self.groups.held_bytes()
    }

    /// Bytes that it may come to hold as soon as the line ends that is not over yet: its octets outside
    /// US-ASCII become three each, up to the longest rule, and the line is held meanwhile.
    pub fn most_bytes(&self) -> usize {
        self.held_bytes() + (3 * (self.first.len() + self.line.len())).min(LONGEST_RULE)
    }

    /// The rules, once the file is over.
    pub fn finish(mut self) -> RobotsRules {
        if matches!(self.encoding, Encoding::Unknown) {
            self.begin();
        }
        if matches!(self.encoding, Encoding::Decoded(_)) && !self.truncated {
            self.decode(&[], true);
        }
        let line = std::mem::take(&mut self.line);
        self.groups.take(read(&line), self.number);
        drop(line);
        self.groups.finish(self.truncated)
    }

    /// Takes the first bytes, without a mark that tells how the file is encoded.
    fn begin(&mut self) {
        let first = std::mem::take(&mut self.first);
        let (encoding, mark) = match first.as_slice() {
            [0xfe, 0xff, ..] => (Encoding::decoded(UTF_16BE), 2),
            [0xff, 0xfe, ..] => (Encoding::decoded(UTF_16LE), 2),
            // a part of the mark is no less a mistake than all of it
            octets => {
                let mark = octets.iter().zip([0xef, 0xbb, 0xbf]).take_while(|(octet, mark)| *octet == mark);
                (Encoding::Octets, mark.count())
            }
        };
        self.encoding = encoding;
        self.take(&first[mark..]);
    }

    fn take(&mut self, bytes: &[u8]) {
        match self.encoding {
            Encoding::Decoded(_) => self.decode(bytes, false),
            _ => self.split(bytes),
        }
    }

    fn decode(&mut self, mut bytes: &[u8], last: bool) {
        let mut text = [0; DECODED];
        loop {
            let Encoding::Decoded(decoder) = &mut self.encoding else { return };
            let (result, read, written, _) = decoder.decode_to_utf8(bytes, &mut text, last);
            bytes = &bytes[read..];
            self.split(&text[..written]);
            if result == encoding_rs::CoderResult::InputEmpty {
                return;
            }
        }
    }

    /// Takes the lines of a piece, each ended by CR, LF or CRLF.
    fn split(&mut self, mut bytes: &[u8]) {
        if let ([b'\n', rest @ ..], true) = (bytes, self.after_return) {
            bytes = rest;
            self.after_return = false;
        }
        self.after_return &= bytes.is_empty();
        while let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) {
            self.line_ends(&bytes[..end]);
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            match bytes {
                [b'\n', rest @ ..] if is_return => bytes = rest,
                rest => self.after_return = is_return && rest.is_empty(),
            }
        }
        self.line.extend_from_slice(bytes);
    }

    /// Takes a line that ends with `rest`.
    fn line_ends(&mut self, rest: &[u8]) {
        if self.line.is_empty() {
            self.groups.take(read(rest), self.number);
        } else {
            self.line.extend_from_slice(rest);
            self.groups.take(read(&self.line), self.number);
            self.line.clear();
            self.line.shrink_to(KEPT_OF_LINE);
        }
        self.number += 1;
    }
}

impl Encoding {
    fn decoded(encoding: &'static encoding_rs::Encoding) -> Encoding {
        Encoding::Decoded(Box::new(encoding.new_decoder_without_bom_handling()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_pieces(body: &[u8], mut cuts: Vec<usize>) -> RobotsRules {
        for cut in &mut cuts {
            *cut %= body.len() + 1;
        }
        cuts.push(body.len());
        cuts.sort_unstable();
        let mut reader = RobotsReader::new("spinner");
        let mut from = 0;
        for cut in cuts {
            reader.feed(&body[from..cut]);
            from = cut;
        }
        reader.finish()
    }

    proptest! {
            #[test]
            fn pieces_make_no_difference(
    mark in proptest::sample::select(vec![&b""[..], b"\xef\xbb\xbf", b"\xef\xbb", b"\xff\xfe", b"\xfe\xff"]),
                lines in proptest::collection::vec(("(User-agent: (\\*|spinner)|Disallow: /[a-c*]{0,3}|Allow: /[ab]|Crawl-delay: [0-9]|[a-z]{0,5})", "(\r|\n|\r\n)"), 0..12),
                cuts in proptest::collection::vec(0..300_usize, 0..9),
            ) {
                let text: String = lines.into_iter().map(|(line, end)| line + &end).collect();
                let mut body = mark.to_vec();
                match mark {
                    [0xff, 0xfe] => body.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
                    [0xfe, 0xff] => body.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
                    _ => body.extend(text.bytes()),
                }
                let whole = RobotsRules::parse(&body, "spinner");
                prop_assert_eq!(&whole, &RobotsRules::parse(text.as_bytes(), "spinner"), "a mark changes nothing");
                prop_assert_eq!(in_pieces(&body, cuts), whole);
            }
        }

    #[test]
    fn the_limit_stands_wherever_a_piece_ends() {
        let head = "User-agent: *\nDisallow: /first\n";
        let body = format!("{head}{}\nDisallow: /last\nDisallow: /", "#".repeat(MAX_BYTES - head.len() - 16));
        let at = MAX_BYTES;
        assert_eq!(&body[at - 5..at], "/last");
        let whole = RobotsRules::parse(body.as_bytes(), "spinner");
        assert!(whole.truncated() && !whole.allowed("/last") && whole.allowed("/"));
        for cuts in [vec![at], vec![at - 1, at], vec![at + 1], vec![at - 1, at + 1, at + 2], vec![7]] {
            assert_eq!(in_pieces(body.as_bytes(), cuts), whole);
        }
        let one_more = body.replacen('#', "##", 1);
        let cut = RobotsRules::parse(one_more.as_bytes(), "spinner");
        assert!(cut.truncated() && cut.allowed("/last"));
        assert_eq!(in_pieces(one_more.as_bytes(), vec![at]), cut);
    }

    #[test]
    fn a_rule_that_is_longer_than_any_url_is_left_out() {
        let rules = |length| {
            let rule = "\u{e9}".repeat(length / 6);
            RobotsRules::parse(
                format!("User-agent: *\nDisallow: /{rule}\nDisallow: /b").as_bytes(),
                "spinner",
            )
        };
        let (longest, longer) = (rules(LONGEST_RULE - 6), rules(LONGEST_RULE + 6));
        assert_eq!((longest.rule_count(), longest.ignored_lines()), (2, 0));
        assert_eq!((longer.rule_count(), longer.ignored_lines()), (1, 1));
        assert!(!longer.allowed("/b") && longer.memory_bytes() < 1 << 10);
        let stars = format!("User-agent: *\nDisallow: /{}", "*".repeat(400_000));
        assert!(!RobotsRules::parse(stars.as_bytes(), "spinner").allowed("/"), "a run of * is short");
    }

    #[test]
    fn what_the_end_of_a_line_takes_is_told_before() {
        for line in [
            b"Disallow: /".to_vec(),
            vec![0xff; 70_000],
            [&b"Disallow: /"[..], &vec![0xff; 200_000]].concat(),
        ] {
            let mut reader = RobotsReader::new("spinner");
            reader.feed(b"User-agent: *\n");
            for piece in line.chunks(1 << 14) {
                reader.feed(piece);
            }
            let most = reader.most_bytes();
            reader.feed(b"\n");
            // a vector may have grown to twice what is in it, which is not touched
            let text = reader.groups.held_bytes().min(3 * line.len() + 200);
            assert!(text + reader.line.capacity() <= most + 200, "{text} told as {most}");
            assert!(reader.line.capacity() <= KEPT_OF_LINE);
        }
    }

    #[test]
    fn what_is_held_is_a_few_times_the_file_at_most() {
        for rule in
            ["allow:/\n".to_owned(), "Allow: /\u{e9}\u{e9}\u{e9}\u{e9}\n".to_owned(), "/".repeat(300) + "\n"]
        {
            let mut reader = RobotsReader::new("spinner");
            reader.feed(b"User-agent: *\n");
            let body = rule.repeat(MAX_BYTES / rule.len());
            body.as_bytes().chunks(4096).for_each(|piece| reader.feed(piece));
            // a vector may have grown to twice what is in it
            assert!(reader.held_bytes() <= 6 * body.len(), "{} for {}", reader.held_bytes(), body.len());
        }
    }
}
