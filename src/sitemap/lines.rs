//! Text with one URL a line, as a stream.

use memchr::memchr2;

use super::{Found, LONGEST};

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: String,
    /// The line is longer than what is kept of it.
    cut: bool,
    pub(super) found: Found,
}

impl Lines {
    pub(super) fn feed(&mut self, mut text: &str) {
        while let Some(end) = memchr2(b'\n', b'\r', text.as_bytes()) {
            self.add(&text[..end]);
            self.end_line();
            text = &text[end + 1..];
        }
        self.add(text);
    }

    /// No more will come.
    pub(super) fn finish(&mut self) {
        self.end_line();
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.line.capacity() + self.found.held_bytes()
    }

    fn add(&mut self, piece: &str) {
        self.cut |= self.line.len() + piece.len() > LONGEST;
        if !self.cut {
            self.line.push_str(piece);
        }
    }

    fn end_line(&mut self) {
        let url = self.line.trim();
        if is_url(url) {
            self.found.push(url, !self.cut, false, None);
        }
        self.line.clear();
        self.cut = false;
    }
}

/// Whether a line is a URL and not words: it must be a whole one by the protocol, so it begins with
/// a scheme (RFC 3986 section 3.1).
fn is_url(line: &str) -> bool {
    let Some((scheme, _)) = line.split_once("://") else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_urls_are_entries() {
        let text =
            " http://a.test/a \r\nwords: http://a.test/no\n\n/no\rftp://a.test/\n# http://no\nHTTPS://b";
        for size in [1, 3, text.len()] {
            let mut lines = Lines::default();
            text.as_bytes()
                .chunks(size)
                .for_each(|piece| lines.feed(std::str::from_utf8(piece).expect("ASCII")));
            lines.finish();
            let urls: Vec<&str> = lines.found.entries().map(|entry| entry.url).collect();
            assert_eq!(urls, ["http://a.test/a", "ftp://a.test/", "HTTPS://b"]);
        }
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let mut lines = Lines::default();
        lines.feed("http://a.test/");
        (0..1000).for_each(|_| lines.feed(&"x".repeat(1000)));
        lines.feed("\nhttp://a.test/b");
        lines.finish();
        assert!(lines.held_bytes() < 4 * LONGEST);
        let entries: Vec<_> = lines.found.entries().map(|entry| (entry.usable, entry.url.len())).collect();
        assert_eq!(entries.len(), 2);
        assert!(!entries[0].0 && entries[1] == (true, 15));
    }
}
