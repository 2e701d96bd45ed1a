//! Taking an input apart, and putting one together.

/// Ends a text: no UTF-8 has this byte.
pub const END: u8 = 0xff;

/// What is left of an input. Past its end all numbers are 0 and all texts empty.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Two bytes.
    pub fn number(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Bytes up to [`END`].
    pub fn part(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == END);
        let (part, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest.get(1..).unwrap_or_default();
        part
    }

    /// The same as text, empty where it is none.
    pub fn text(&mut self) -> &'a str {
        std::str::from_utf8(self.part()).unwrap_or_default()
    }
}

/// An input of these numbers, these texts, and the rest.
pub fn input(numbers: &[u8], texts: &[&str], rest: &[u8]) -> Vec<u8> {
    let mut bytes = numbers.to_vec();
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(END);
    }
    bytes.extend_from_slice(rest);
    bytes
}

/// Lengths that look random, of pieces that something is to be cut into. The same number gives the
/// same ones: a small number small pieces, one of 0x1000 and more those up to some thousand bytes.
#[derive(Debug, Clone, Copy)]
pub struct Pieces {
    state: u32,
    most: u32,
}

impl Pieces {
    /// Lengths by a number of the input.
    pub fn new(number: u16) -> Self {
        Self { state: u32::from(number) | 0x5eed_0000, most: 1 << (number >> 12) }
    }

    /// The next length, at least 1.
    pub fn length(&mut self) -> usize {
        // xorshift (Marsaglia, 2003)
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        (self.state % self.most + 1) as usize
    }

    /// Cuts bytes.
    pub fn of(mut self, mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        std::iter::from_fn(move || {
            let (piece, rest) = bytes.split_at(bytes.len().min(self.length()));
            bytes = rest;
            (!piece.is_empty()).then_some(piece)
        })
    }
}
