//! The log: what happened since the last checkpoint, one record after the other.
//!
//! Owns how records are framed and how far they can be trusted after a crash; what a record says
//! is not its matter. The bytes (numbers little endian):
//!
//! ```text
//! header   16 bytes  see `format`
//! salt     12 bytes  random
//! crc32     4 bytes  of the 28 bytes above
//! then frames:
//! word      4 bytes  bits 30 and 31: kind; the others: bytes of the body
//! crc32     4 bytes  of salt, the frame's offset in the file (8 bytes), word, body
//! body
//! ```
//!
//! | kind | body |
//! |---|---|
//! | 0 | a record |
//! | 1 | a record, compressed: its length (4 bytes), then an LZ4 block |
//! | 2 | a synced mark: 8 bytes, how many bytes of this file were durable before the mark was written |
//!
//! Salt and offset in the checksum see to it that a frame counts in one place of one log only: a
//! disk block of an older log that turns up behind the end after a power cut is no record.
//!
//! What a bad frame means depends on where it stands. What comes before the place up to which a
//! synced mark covers was durable, so if it is bad, the disk is: damage. What comes after may
//! never have reached the disk: the log ends there, as a torn tail. A mark that covers the bad
//! frame stands somewhere behind it, where frames can no longer be followed from one to the next;
//! so marks are looked for at every byte.

mod frame;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use frame::MAX_RECORD;
pub use reader::{LogEnd, LogReader, LogRecord};
pub use writer::LogWriter;
