//! Files of JSON lines (one value a line, UTF-8, `\n`), appended to.
//!
//! Owns how JSON is spelt: whatever a text from the network holds, nothing in the file acts on a
//! terminal that shows it, reorders what stands around it, or is taken for the end of a line.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes gathered before they are given to the system.
const BUFFER: usize = 64 * 1024;

/// Appends `value` as one line of JSON to `buffer`, in which no character acts on its reader.
///
/// JSON itself escapes U+0000 to U+001F. Of the others that act, U+007F to U+009F (a terminal takes
/// U+009B for the begin of a command), U+2028 and U+2029 (line ends to some readers) and the
/// bidirectional controls U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069 are escaped here.
pub fn encode_line<T: serde::Serialize>(value: &T, buffer: &mut Vec<u8>) -> io::Result<()> {
    let start = buffer.len();
    serde_json::to_writer(&mut *buffer, value)?;
    make_safe(buffer, start);
    buffer.push(b'\n');
    Ok(())
}

/// A value as indented JSON that ends in a line break, spelt as by [`encode_line`].
///
/// # Errors
/// Where the value cannot be told in JSON.
pub fn pretty_json<T: serde::Serialize>(value: &T) -> io::Result<String> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    make_safe(&mut bytes, 0);
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Escapes in JSON, from `start` on, what acts on its reader and may stand in a JSON string as it is.
/// Outside of strings JSON is ASCII without such characters, so that all of it is one search.
fn make_safe(json: &mut Vec<u8>, start: usize) {
    let Some(first) = next_acting(json, start) else { return };
    let tail = json.split_off(first);
    let mut at = 0;
    while let Some(place) = next_acting(&tail, at) {
        json.extend_from_slice(&tail[at..place]);
        let (code, length) = code_point(&tail[place..]);
        // Writing to memory cannot fail.
        let _ = write!(json, "\\u{code:04x}");
        at = place + length;
    }
    json.extend_from_slice(&tail[at..]);
}

/// The place of the next character that acts.
fn next_acting(json: &[u8], mut from: usize) -> Option<usize> {
    loop {
        // 0xC2 leads U+0080 to U+00BF, 0xE2 U+2000 to U+2FFF: common text passes at full speed
        from += memchr::memchr3(0x7f, 0xc2, 0xe2, json.get(from..)?)?;
        let acts = match json[from..] {
            [0x7f, ..] | [0xc2, 0x80..=0x9f, ..] | [0xe2, 0x80, 0x8e | 0x8f | 0xa8..=0xae, ..] => true,
            [0xe2, 0x81, last, ..] => (0xa6..=0xa9).contains(&last),
            _ => false,
        };
        if acts {
            return Some(from);
        }
        from += 1;
    }
}

/// The number of a character that acts, at the front of these bytes, and how many of them it takes.
fn code_point(bytes: &[u8]) -> (u32, usize) {
    match *bytes {
        [0xc2, second, ..] => (u32::from(second), 2),
        [0xe2, second, third, ..] => (0x2000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f), 3),
        _ => (0x7f, 1),
    }
}

/// A file of lines. After a failed write it refuses further ones: what
/// follows a torn line could not be told from it.
#[derive(Debug)]
pub struct LineFile {
    file: File,
    buffer: Vec<u8>,
    /// Bytes of whole lines in the file.
    length: u64,
    poisoned: bool,
}

impl LineFile {
    /// Makes a new file; one that exists is an error.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create_new(true).open(path)?;
        Ok(Self { file, buffer: Vec::new(), length: 0, poisoned: false })
    }

    /// Goes on with a file, or makes it where there is none; a torn last line is cut off.
    pub fn append(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).append(true).create(true).open(path)?;
        let length = whole_lines(&file)?;
        file.set_len(length)?;
        Ok(Self { file, buffer: Vec::new(), length, poisoned: false })
    }

    /// Bytes of whole lines that the system has been given.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends a value.
    pub fn write<T: serde::Serialize>(&mut self, value: &T) -> io::Result<()> {
        encode_line(value, &mut self.buffer)?;
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Gives what is gathered to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.poisoned {
            return Err(io::Error::other("an earlier write to this file failed"));
        }
        let before = self.length;
        let written = self.file.write_all(&self.buffer);
        if written.is_ok() {
            self.length += self.buffer.len() as u64;
        } else {
            self.poisoned = true;
            // Back to the last whole line, as far as the system still does anything.
            let _ = self.file.set_len(before);
        }
        self.buffer.clear();
        written
    }
}

/// Bytes of a file up to its last line break.
fn whole_lines(mut file: &File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut piece = [0; 4096];
    while end > 0 {
        let size = end.min(piece.len() as u64) as usize;
        let start = end - size as u64;
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece[..size])?;
        if let Some(place) = piece[..size].iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// Character by character against the list; and the value that comes back is the same.
        #[test]
        fn what_acts_is_escaped_and_all_else_stays(
            texts in proptest::collection::vec(
                "(\\PC|[\u{0}-\u{a0}]|[\u{2000}-\u{2070}]|[a-z\\\\\"]){0,30}", 0..4
            ),
            before in "[a-z\u{7f}]{0,9}",
        ) {
            let mut buffer = before.clone().into_bytes();
            encode_line(&texts, &mut buffer).expect("JSON");
            let line = String::from_utf8(buffer).expect("UTF-8");
            let line = line.strip_prefix(&before).and_then(|line| line.strip_suffix('\n')).expect("a line");
            proptest::prop_assert!(!line.chars().any(acts), "{line}");
            let back: Vec<String> = serde_json::from_str(line).expect("JSON");
            proptest::prop_assert_eq!(&back, &texts);
            let plain = serde_json::to_string(&texts).expect("JSON");
            let expected: String = plain.chars().map(|character| match character {
                character if acts(character) => format!("\\u{:04x}", u32::from(character)),
                character => character.to_string(),
            }).collect();
            proptest::prop_assert_eq!(line, expected);
            let pretty = pretty_json(&texts).expect("JSON");
            proptest::prop_assert!(!pretty.chars().any(|character| acts(character) && character != '\n'));
            proptest::prop_assert_eq!(serde_json::from_str::<Vec<String>>(&pretty).expect("JSON"), texts);
        }
    }

    fn acts(character: char) -> bool {
        character.is_control()
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    }

    #[test]
    fn a_file_goes_on_after_its_last_whole_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("stats.jsonl");
        let long = "x".repeat(9000);
        for (before, kept) in [("", ""), ("torn", ""), ("1\n2\ntorn", "1\n2\n"), ("1\n", "1\n")] {
            std::fs::write(&path, format!("{before}{}", if before.ends_with("torn") { &long } else { "" }))
                .expect("written");
            let mut file = LineFile::append(&path).expect("opened");
            file.write(&3).and_then(|()| file.flush()).expect("written");
            assert_eq!(std::fs::read_to_string(&path).expect("text"), format!("{kept}3\n"));
        }
    }
}
