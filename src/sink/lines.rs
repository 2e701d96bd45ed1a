//! Files of JSON lines (one value a line, UTF-8, `\n`), appended to.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes gathered before they are given to the system.
const BUFFER: usize = 64 * 1024;

/// Appends `value` as one line of JSON to `buffer`.
pub fn encode_line<T: serde::Serialize>(value: &T, buffer: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *buffer, value)?;
    buffer.push(b'\n');
    Ok(())
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
