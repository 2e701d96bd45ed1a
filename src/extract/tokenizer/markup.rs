//! Comments, bogus comments, doctypes and CDATA sections: passed over, each by its own end.

use super::{State, Tokenizer};
use memchr::memchr;

/// What follows `<!` where a CDATA section begins.
const CDATA: &[u8] = b"[CDATA[";

/// Where in such a declaration the next byte stands; HTML standard 13.2.5.41 to 13.2.5.53 and 13.2.5.69 to 13.2.5.71.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkupState {
    /// Behind `<!`.
    Declaration,
    /// Behind `<!-`.
    DeclarationDash,
    /// Behind `<!` and this many bytes of [`CDATA`].
    DeclarationCdata(u8),
    /// Up to the next `>`: bogus comments, and doctypes, whose quotes do not hide it either.
    Bogus,
    CommentStart,
    CommentStartDash,
    Comment,
    CommentEndDash,
    CommentEnd,
    CommentEndBang,
    Cdata,
    CdataBracket,
    CdataEnd,
}

impl Tokenizer {
    pub(super) fn markup(&mut self, state: MarkupState, bytes: &[u8], at: usize) -> usize {
        match state {
            MarkupState::Bogus => self.up_to(b'>', State::Data, bytes, at),
            MarkupState::Comment => self.up_to(b'-', State::Markup(MarkupState::CommentEndDash), bytes, at),
            MarkupState::Cdata => self.up_to(b']', State::Markup(MarkupState::CdataBracket), bytes, at),
            MarkupState::Declaration | MarkupState::DeclarationDash | MarkupState::DeclarationCdata(_) => {
                self.declaration(state, bytes[at], at)
            }
            _ => {
                // no byte that leads back into the content could begin its end, so none is looked at twice
                self.state = after(state, bytes[at]);
                at + 1
            }
        }
    }

    fn declaration(&mut self, state: MarkupState, byte: u8, at: usize) -> usize {
        let next = match (state, byte) {
            (MarkupState::Declaration, b'-') => MarkupState::DeclarationDash,
            (MarkupState::DeclarationDash, b'-') => MarkupState::CommentStart,
            (MarkupState::Declaration, b'[') => MarkupState::DeclarationCdata(1),
            (MarkupState::DeclarationCdata(matched), _) if CDATA.get(usize::from(matched)) == Some(&byte) => {
                self.after_cdata_byte(matched + 1)
            }
            _ => {
                // what was matched so far holds no `>`, so the bogus comment may as well begin here
                self.state = State::Markup(MarkupState::Bogus);
                return at;
            }
        };
        self.state = State::Markup(next);
        at + 1
    }

    fn after_cdata_byte(&self, matched: u8) -> MarkupState {
        if usize::from(matched) < CDATA.len() {
            MarkupState::DeclarationCdata(matched)
        } else if self.xhtml || self.foreign.is_current() {
            MarkupState::Cdata
        } else {
            MarkupState::Bogus
        }
    }

    fn up_to(&mut self, byte: u8, then: State, bytes: &[u8], at: usize) -> usize {
        match memchr(byte, &bytes[at..]) {
            Some(offset) => {
                self.state = then;
                at + offset + 1
            }
            None => bytes.len(),
        }
    }
}

/// The state behind one byte, in those where one byte decides.
fn after(state: MarkupState, byte: u8) -> State {
    use MarkupState::{
        Cdata, CdataBracket, CdataEnd, Comment, CommentEnd, CommentEndBang, CommentEndDash, CommentStart,
        CommentStartDash,
    };
    State::Markup(match (state, byte) {
        (CommentStart | CommentStartDash | CommentEnd | CommentEndBang | CdataEnd, b'>') => {
            return State::Data;
        }
        (CommentStart, b'-') => CommentStartDash,
        (CommentStartDash | CommentEndDash | CommentEnd, b'-') => CommentEnd,
        (CommentEndBang, b'-') => CommentEndDash,
        (CommentEnd, b'!') => CommentEndBang,
        (CdataBracket | CdataEnd, b']') => CdataEnd,
        (CdataBracket | CdataEnd, _) => Cdata,
        _ => Comment,
    })
}
