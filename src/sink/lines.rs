//! Files of JSON lines (one value a line, UTF-8, `\n`), appended to.

use std::fs::File;
use std::io::{self, Write};
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
        Ok(Self { file, buffer: Vec::with_capacity(BUFFER + 4096), length: 0, poisoned: false })
    }

    /// Appends a line that is already encoded.
    pub fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(line);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
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
