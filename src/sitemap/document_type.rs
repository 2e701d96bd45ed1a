//! A document type declaration (XML 1.0 section 2.8), passed over byte by byte: nothing in it counts.

/// Where in a document type declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DocumentType {
    in_subset: bool,
    quote: Option<u8>,
    /// Characters of `<!--` seen.
    comment_begun: u8,
    in_comment: bool,
    dashes: u8,
}

impl DocumentType {
    /// Takes one byte; whether it ends the declaration.
    pub(super) fn step(&mut self, byte: u8) -> bool {
        if self.in_comment {
            match byte {
                b'-' => self.dashes = (self.dashes + 1).min(2),
                b'>' if self.dashes == 2 => self.in_comment = false,
                _ => self.dashes = 0,
            }
            return false;
        }
        if let Some(quote) = self.quote {
            self.quote = (quote != byte).then_some(quote);
            return false;
        }
        self.comment_begun = match (self.comment_begun, byte) {
            (_, b'<') => 1,
            (1, b'!') => 2,
            (2, b'-') => 3,
            (3, b'-') => {
                (self.in_comment, self.dashes) = (true, 0);
                0
            }
            _ => 0,
        };
        match byte {
            b'"' | b'\'' => self.quote = Some(byte),
            b'[' => self.in_subset = true,
            b']' => self.in_subset = false,
            b'>' => return !self.in_subset,
            _ => {}
        }
        false
    }
}
