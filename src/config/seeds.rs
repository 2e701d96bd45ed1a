//! Seed lists, one URL a line, read as a stream.
//!
//! Owns the form of the lines; whether a text is a URL that can be crawled is
//! judged by whoever asks. Memory is bounded by the longest line allowed, so a
//! list may be of any length.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// The longest line that is taken for a seed, in bytes.
pub const LONGEST_LINE: usize = 64 << 10;

/// The first bytes of every gzip member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A line that holds a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedLine {
    /// The line without white space around it.
    pub text: String,
    /// Its number, counted from 1.
    pub line: u64,
}

/// A line that does not, or the end of what can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedProblem {
    /// What the judge said.
    #[error("line {line}: {reason}")]
    Refused {
        /// The line's number, counted from 1.
        line: u64,
        /// Why it is no seed.
        reason: String,
    },
    /// More bytes than [`LONGEST_LINE`].
    #[error("line {line}: longer than {LONGEST_LINE} bytes, no URL; is this a list with one URL a line?")]
    TooLong {
        /// The line's number, counted from 1.
        line: u64,
    },
    /// Bytes that are no UTF-8.
    #[error("line {line}: not UTF-8; save the list as UTF-8, or percent-encode the URL")]
    NotUtf8 {
        /// The line's number, counted from 1.
        line: u64,
    },
    /// Reading failed; nothing follows.
    #[error("line {line}: cannot be read ({source}); the rest of the list is left out")]
    Read {
        /// The number of the line that could not be read, counted from 1.
        line: u64,
        /// Why not.
        source: io::Error,
    },
}

/// What `reader` gives, unpacked where it begins as gzip does (any number of members).
///
/// # Errors
/// Where the first bytes cannot be read.
pub fn unpacked(mut reader: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    let mut head = Vec::with_capacity(GZIP_MAGIC.len());
    // A pipe may give one byte at a time, so a look into its buffer is not enough.
    reader.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
    let is_gzip = head == GZIP_MAGIC;
    let whole = io::Cursor::new(head).chain(reader);
    if is_gzip { Ok(Box::new(BufReader::new(MultiGzDecoder::new(whole)))) } else { Ok(Box::new(whole)) }
}

/// The seeds of a list: blank lines and lines that begin with `#` are passed
/// over, and the judge is asked about every other one.
pub fn read<R, J>(reader: R, judge: J) -> Seeds<R, J>
where
    R: BufRead,
    J: FnMut(&str) -> Result<(), String>,
{
    Seeds { reader, judge, line: 0, buffer: Vec::new(), ended: false }
}

/// The iterator behind [`read`].
#[derive(Debug)]
pub struct Seeds<R, J> {
    reader: R,
    judge: J,
    line: u64,
    buffer: Vec<u8>,
    ended: bool,
}

/// What one attempt to read a line came to.
enum Line {
    Whole,
    TooLong,
    End,
}

impl<R: BufRead, J> Seeds<R, J> {
    /// Reads one line into the buffer, without its line feed; of a line that is
    /// too long the rest is passed over.
    fn next_line(&mut self) -> io::Result<Line> {
        self.buffer.clear();
        let mut any = false;
        let mut too_long = false;
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                break;
            }
            any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            too_long |= self.buffer.len() + part.len() > LONGEST_LINE;
            if !too_long {
                self.buffer.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.reader.consume(consumed);
            if end.is_some() {
                break;
            }
        }
        Ok(match (any, too_long) {
            (false, _) => Line::End,
            (true, true) => Line::TooLong,
            (true, false) => Line::Whole,
        })
    }
}

impl<R, J> Iterator for Seeds<R, J>
where
    R: BufRead,
    J: FnMut(&str) -> Result<(), String>,
{
    type Item = Result<SeedLine, SeedProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            self.line += 1;
            let line = self.line;
            match self.next_line() {
                Ok(Line::Whole) => {}
                Ok(Line::TooLong) => return Some(Err(SeedProblem::TooLong { line })),
                Ok(Line::End) => break,
                Err(source) => {
                    self.ended = true;
                    return Some(Err(SeedProblem::Read { line, source }));
                }
            }
            let Ok(text) = std::str::from_utf8(&self.buffer) else {
                return Some(Err(SeedProblem::NotUtf8 { line }));
            };
            let text = if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            return Some(match (self.judge)(text) {
                Ok(()) => Ok(SeedLine { text: text.to_owned(), line }),
                Err(reason) => Err(SeedProblem::Refused { line, reason }),
            });
        }
        self.ended = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    /// Seeds as `line text`, problems as their text.
    fn outcome(bytes: &[u8]) -> Vec<String> {
        let judge = |text: &str| {
            if text.starts_with("http") { Ok(()) } else { Err(format!("no URL: {text}")) }
        };
        let reader = unpacked(io::Cursor::new(bytes.to_vec())).expect("memory can be read");
        read(reader, judge)
            .map(|seed| match seed {
                Ok(seed) => format!("{} {}", seed.line, seed.text),
                Err(problem) => problem.to_string(),
            })
            .collect()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("memory can be written");
        encoder.finish().expect("memory can be written")
    }

    #[test]
    fn what_a_list_may_hold() {
        let list = b"\xef\xbb\xbfhttp://a/\r\n\n  # comment\n\t http://b/#part \n#http://c/\nhttp://d/";
        assert_eq!(outcome(list), ["1 http://a/", "4 http://b/#part", "6 http://d/"]);
        assert!(outcome(b"").is_empty());
        assert!(outcome(b"\n").is_empty());
        assert_eq!(outcome(b"h"), ["line 1: no URL: h"]);
    }

    #[test]
    fn bad_lines_do_not_stop_the_rest() {
        let list = b"ftp://a/\nhttp://\xff/\nhttp://b/\n";
        let outcome = outcome(list);
        assert_eq!(outcome[0], "line 1: no URL: ftp://a/");
        assert!(outcome[1].starts_with("line 2: not UTF-8"));
        assert_eq!(outcome[2], "3 http://b/");
    }

    #[test]
    fn long_lines_are_bounded_and_passed_over() {
        let mut list = b"http://".to_vec();
        list.resize(LONGEST_LINE, b'a');
        list.push(b'\n');
        list.resize(list.len() + LONGEST_LINE * 3, b'b');
        list.extend_from_slice(b"\nhttp://c/\n");
        let outcome = outcome(&list);
        assert_eq!(outcome.len(), 3);
        assert!(outcome[0].starts_with("1 http://aaa"));
        assert!(outcome[1].starts_with("line 2: longer than"));
        assert_eq!(outcome[2], "3 http://c/");
    }

    #[test]
    fn gzip_of_several_members_is_one_list() {
        let mut list = packed(b"http://a/\nhttp:");
        list.extend(packed(b"//b/\n"));
        assert_eq!(outcome(&list), ["1 http://a/", "2 http://b/"]);
    }

    #[test]
    fn a_broken_gzip_gives_what_it_held_and_says_so() {
        let list = packed(b"http://a/\nhttp://b/\n");
        let outcome = outcome(&list[..list.len() - 4]);
        assert_eq!(outcome[..2], ["1 http://a/", "2 http://b/"]);
        assert!(outcome[2].contains("cannot be read"), "{outcome:?}");
        assert_eq!(outcome.len(), 3);
    }

    /// Gives one byte at a time, as a terminal or a pipe may.
    struct Drip(Vec<u8>);

    impl Read for Drip {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() || into.is_empty() {
                return Ok(0);
            }
            into[0] = self.0.remove(0);
            Ok(1)
        }
    }

    #[test]
    fn gzip_is_known_from_a_pipe_that_drips() {
        let reader = unpacked(BufReader::new(Drip(packed(b"http://a/\n")))).expect("readable");
        let seeds: Vec<_> = read(reader, |_| Ok(())).collect();
        assert_eq!(seeds.len(), 1);
        assert!(seeds[0].is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(bytes: Vec<u8>, prefix in "(\u{1f})?") {
            let mut list = prefix.into_bytes();
            list.extend(&bytes);
            let seeds = outcome(&list);
            prop_assert!(seeds.len() <= list.len() + 1);
        }

        #[test]
        fn every_line_is_numbered_as_an_editor_does(lines in proptest::collection::vec("[a-z]{0,5}", 0..20)) {
            let list = lines.iter().map(|line| if line.is_empty() { String::new() } else { format!("http:{line}") });
            let list: Vec<String> = list.collect();
            let expected: Vec<String> = list.iter().enumerate()
                .filter(|(_, line)| !line.is_empty())
                .map(|(number, line)| format!("{} {line}", number + 1))
                .collect();
            prop_assert_eq!(outcome(list.join("\n").as_bytes()), expected);
        }
    }
}
