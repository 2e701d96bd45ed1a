//! Resolving the references of one page.

use ::url::Url;
use encoding_rs::Encoding;

use super::canonical::Canonicalizer;
use super::fast::{self, Answer, Frame};
use super::parts::{Parts, Target};
use super::whatwg::{self, Reject};

/// Resolves the references of one page; made once per page, by [`Canonicalizer::resolver`].
pub struct Resolver<'a> {
    canonicalizer: &'a Canonicalizer,
    base: &'a Url,
    encoding: Option<&'static Encoding>,
    frame: Option<Frame>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        canonicalizer: &'a Canonicalizer,
        base: &'a Url,
        encoding: Option<&'static Encoding>,
    ) -> Self {
        Self { canonicalizer, base, encoding, frame: Frame::new(base) }
    }

    /// Resolves a reference as it is written in the page (entities decoded).
    ///
    /// `requested` and `canonical` are cleared and filled; after an error they
    /// hold nothing of use. Linear in the length of the reference.
    pub fn resolve(
        &self,
        reference: &str,
        requested: &mut String,
        canonical: &mut String,
    ) -> Result<Parts, Reject> {
        requested.clear();
        canonical.clear();
        match self.quickly(reference, requested) {
            Some(answer) => {
                self.finish(&answer, requested, canonical);
                Ok(answer.parts)
            }
            None => self.resolve_slowly(reference, requested, canonical),
        }
    }

    /// The same, in strings of its own.
    pub fn target(&self, reference: &str) -> Result<Target, Reject> {
        let (mut requested, mut canonical) = (String::new(), String::new());
        let parts = self.resolve(reference, &mut requested, &mut canonical)?;
        Ok(Target { requested, canonical, parts })
    }

    /// The fast path alone, which may have no answer.
    pub(super) fn quickly<'r>(&self, reference: &'r str, requested: &mut String) -> Option<Answer<'r>> {
        let answer = self.frame.as_ref()?.resolve(fast::trim(reference), requested)?;
        // a fragment that counts has an encoding of its own, and is rare
        let unread = answer.fragment.is_some() && self.canonicalizer.rules().keep_fragments;
        (!unread).then_some(answer)
    }

    /// Appends the canonical form of what the fast path found.
    pub(super) fn finish(&self, answer: &Answer<'_>, requested: &str, canonical: &mut String) {
        if answer.plain && self.canonicalizer.copies_plain() {
            canonical.push_str(requested);
        } else {
            self.canonicalizer.write(requested, &answer.parts, None, canonical);
        }
    }

    /// The slow path alone, which answers everything.
    pub(super) fn resolve_slowly(
        &self,
        reference: &str,
        requested: &mut String,
        canonical: &mut String,
    ) -> Result<Parts, Reject> {
        requested.clear();
        canonical.clear();
        let url = whatwg::parse(reference, Some(self.base), self.encoding)?;
        let parts = whatwg::write_requested(&url, requested)?;
        let fragment = self.canonicalizer.kept_fragment(&url);
        self.canonicalizer.write(requested, &parts, fragment, canonical);
        Ok(parts)
    }
}
