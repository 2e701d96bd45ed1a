//! The gzip file format (RFC 1952) around a deflate stream: headers, checksums, members.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::DecodeError;
use super::layer::Step;

/// Bytes of a member's header at most; name and comment have no bound of their own.
const MAX_HEADER: usize = 64 * 1024;

/// Members that may hold nothing. Each costs the decoder a reset and the sender twenty bytes.
const MAX_EMPTY_MEMBERS: u32 = 1000;

const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const HEADER_CRC: u8 = 1 << 1;

/// Where in a member the next byte belongs.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// One of the first ten bytes of a header.
    Fixed(usize),
    /// The length of the extra field.
    ExtraLength(usize),
    /// This many bytes of the header are to be skipped.
    Extra(usize),
    Name,
    Comment,
    HeaderCrc(usize),
    Body,
    Trailer(usize),
    /// Whatever follows a whole member.
    Between,
    /// What follows is no member; it is ignored.
    Ended,
}

/// A gzip stream of any number of members.
pub(super) struct Gzip {
    inflate: Decompress,
    place: Place,
    flags: u8,
    little: [u8; 8],
    header_length: usize,
    checksum: Crc,
    members: u32,
    empty_members: u32,
}

impl Gzip {
    pub(super) fn new() -> Gzip {
        Gzip {
            inflate: Decompress::new(false),
            place: Place::Fixed(0),
            flags: 0,
            little: [0; 8],
            header_length: 0,
            checksum: Crc::new(),
            members: 0,
            empty_members: 0,
        }
    }

    /// Whether the stream may end here.
    pub(super) fn is_complete(&self) -> bool {
        match self.place {
            Place::Between | Place::Ended => true,
            // a single stray byte after the last member
            Place::Fixed(read) => self.members > 0 && read < 2,
            _ => false,
        }
    }

    /// Whether everything that follows would be ignored.
    pub(super) fn is_ended(&self) -> bool {
        matches!(self.place, Place::Ended)
    }

    pub(super) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, DecodeError> {
        let mut consumed = 0;
        loop {
            if matches!(self.place, Place::Ended) {
                return Ok(Step { consumed: input.len(), produced: 0 });
            }
            if matches!(self.place, Place::Body) {
                let step = self.inflate_some(&input[consumed..], output)?;
                consumed += step.consumed;
                let waits = matches!(self.place, Place::Body);
                if step.produced > 0 || waits {
                    return Ok(Step { consumed, produced: step.produced });
                }
                continue;
            }
            let Some(byte) = input.get(consumed) else {
                return Ok(Step { consumed, produced: 0 });
            };
            self.take(*byte)?;
            consumed += 1;
        }
    }

    fn inflate_some(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, DecodeError> {
        let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(input, output, FlushDecompress::None)
            .map_err(|error| DecodeError::damaged("gzip", error.to_string()))?;
        let consumed = (self.inflate.total_in() - read) as usize;
        let produced = (self.inflate.total_out() - written) as usize;
        self.checksum.update(&output[..produced]);
        if status == Status::StreamEnd {
            self.place = Place::Trailer(0);
        }
        Ok(Step { consumed, produced })
    }

    /// One byte of header, trailer or what lies between members.
    fn take(&mut self, byte: u8) -> Result<(), DecodeError> {
        self.place = match self.place {
            Place::Trailer(read) => return self.take_trailer(read, byte),
            Place::Between if byte == 0x1f => {
                self.header_length = 1;
                Place::Fixed(1)
            }
            Place::Between => Place::Ended,
            place => {
                self.header_length += 1;
                if self.header_length > MAX_HEADER {
                    return Err(DecodeError::damaged("gzip", "header is too long"));
                }
                self.header_byte(place, byte)?
            }
        };
        Ok(())
    }

    fn header_byte(&mut self, place: Place, byte: u8) -> Result<Place, DecodeError> {
        Ok(match place {
            Place::Fixed(at) => {
                let wrong = match at {
                    0 => byte != 0x1f,
                    1 => byte != 0x8b,
                    2 => byte != 8,
                    _ => false,
                };
                match (wrong, self.members) {
                    (true, 0) => return Err(DecodeError::damaged("gzip", "header is none")),
                    // junk that happens to begin like a member
                    (true, _) => return Ok(Place::Ended),
                    _ => {}
                }
                if at == 3 {
                    self.flags = byte;
                }
                if at == 9 { self.after(EXTRA) } else { Place::Fixed(at + 1) }
            }
            Place::ExtraLength(0) => {
                self.little[0] = byte;
                Place::ExtraLength(1)
            }
            Place::ExtraLength(_) => match usize::from(u16::from_le_bytes([self.little[0], byte])) {
                0 => self.after(NAME),
                length => Place::Extra(length),
            },
            Place::Extra(1) => self.after(NAME),
            Place::Extra(left) => Place::Extra(left - 1),
            Place::Name if byte == 0 => self.after(COMMENT),
            Place::Comment if byte == 0 => self.after(HEADER_CRC),
            Place::HeaderCrc(0) => Place::HeaderCrc(1),
            Place::HeaderCrc(_) => self.begin_body(),
            place => place,
        })
    }

    /// The part of the header that comes next: `field` or, where its flag is not set, a later one.
    fn after(&mut self, field: u8) -> Place {
        let order = [
            (EXTRA, Place::ExtraLength(0)),
            (NAME, Place::Name),
            (COMMENT, Place::Comment),
            (HEADER_CRC, Place::HeaderCrc(0)),
        ];
        let rest = order.iter().skip_while(|(flag, _)| *flag != field);
        match rest.into_iter().find(|(flag, _)| self.flags & flag != 0) {
            Some((_, place)) => *place,
            None => self.begin_body(),
        }
    }

    fn begin_body(&mut self) -> Place {
        if self.members > 0 {
            self.inflate.reset(false);
        }
        self.members = self.members.saturating_add(1);
        self.checksum.reset();
        Place::Body
    }

    fn take_trailer(&mut self, read: usize, byte: u8) -> Result<(), DecodeError> {
        self.little[read] = byte;
        if read < 7 {
            self.place = Place::Trailer(read + 1);
            return Ok(());
        }
        let trailer = u64::from_le_bytes(self.little);
        if trailer as u32 != self.checksum.sum() || (trailer >> 32) as u32 != self.checksum.amount() {
            return Err(DecodeError::damaged("gzip", "checksum does not match"));
        }
        if self.inflate.total_out() == 0 {
            self.empty_members += 1;
            if self.empty_members > MAX_EMPTY_MEMBERS {
                return Err(DecodeError::damaged("gzip", "too many empty members"));
            }
        }
        self.place = Place::Between;
        Ok(())
    }
}
