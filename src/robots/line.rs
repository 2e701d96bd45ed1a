//! One line of robots.txt: what it says, whatever its spelling.
//!
//! Knows nothing of groups. RFC 9309 section 2.2.4 lets a crawler be lenient;
//! where authors err, the reading that fetches less is taken:
//! - Keys are compared without regard to case; `-`, `_` and blanks inside them
//!   do not count, nor do doubled letters.
//! - *Disallow* and *User-agent* are recognised with one letter too many, too
//!   few, wrong or swapped with its neighbour (which covers every misspelling
//!   that Google documents), and *Disallow* with an ending (`Disallowed`). A
//!   misspelt *Allow* is not, for it could only permit more.
//! - A forgotten colon is forgiven where the line is a known key and one word.
//! - Blanks are space and every control character, and the ones that pasted
//!   text brings along: no-break space, zero-width space, byte order mark.

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Line<'a> {
    /// Blank, or a comment only.
    Empty,
    /// `User-agent`, with its value.
    Agent(&'a [u8]),
    /// `Allow`, with its value.
    Allow(&'a [u8]),
    /// `Disallow`, with its value.
    Disallow(&'a [u8]),
    /// `Crawl-delay`, with its value.
    Delay(&'a [u8]),
    /// `Sitemap`, with its value.
    Sitemap(&'a [u8]),
    /// Anything else.
    Unknown,
}

/// The keys we act on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Key {
    Agent,
    Allow,
    Disallow,
    Delay,
    Sitemap,
}

impl Key {
    fn with(self, value: &[u8]) -> Line<'_> {
        match self {
            Key::Agent => Line::Agent(value),
            Key::Allow => Line::Allow(value),
            Key::Disallow => Line::Disallow(value),
            Key::Delay => Line::Delay(value),
            Key::Sitemap => Line::Sitemap(value),
        }
    }
}

/// Reads one line, without its end.
pub(super) fn read(line: &[u8]) -> Line<'_> {
    let line = trim(&line[..memchr::memchr(b'#', line).unwrap_or(line.len())]);
    if line.is_empty() {
        return Line::Empty;
    }
    if let Some(colon) = memchr::memchr(b':', line)
        && let Some(key) = key(trim(&line[..colon]))
    {
        return key.with(trim(&line[colon + 1..]));
    }
    without_colon(line).unwrap_or(Line::Unknown)
}

/// A known key, blanks, and one word (which may hold a colon: `sitemap http://…`).
fn without_colon(line: &[u8]) -> Option<Line<'_>> {
    let blank = line.iter().position(|octet| is_blank(*octet))?;
    let value = trim(&line[blank..]);
    let one_word = !value.iter().any(|octet| is_blank(*octet));
    key(&line[..blank]).filter(|_| one_word).map(|key| key.with(value))
}

fn is_blank(octet: u8) -> bool {
    octet <= b' ' || octet == 0x7f
}

/// The value without blanks at both ends.
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    loop {
        let start = text.iter().position(|octet| !is_blank(*octet)).unwrap_or(text.len());
        let end = text.iter().rposition(|octet| !is_blank(*octet)).map_or(start, |last| last + 1);
        text = &text[start..end];
        let (Some(first), Some(last)) = (text.first(), text.last()) else {
            return text;
        };
        let before = text.len();
        if !(first.is_ascii() && last.is_ascii()) {
            text = without_pasted_blank(text);
        }
        if text.len() == before {
            return text;
        }
    }
}

fn without_pasted_blank(mut text: &[u8]) -> &[u8] {
    for blank in ["\u{a0}", "\u{200b}", "\u{feff}"] {
        text = text.strip_prefix(blank.as_bytes()).unwrap_or(text);
        text = text.strip_suffix(blank.as_bytes()).unwrap_or(text);
    }
    text
}

/// The key that this text spells.
fn key(text: &[u8]) -> Option<Key> {
    const EXACT: [(&[u8], Key); 5] = [
        (b"disallow", Key::Disallow),
        (b"allow", Key::Allow),
        (b"user-agent", Key::Agent),
        (b"sitemap", Key::Sitemap),
        (b"crawl-delay", Key::Delay),
    ];
    let exact = EXACT.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    exact.map(|(_, key)| *key).or_else(|| misspelt(text))
}

/// The key that this text was meant to spell.
fn misspelt(text: &[u8]) -> Option<Key> {
    const LONGEST: usize = 16;
    let mut buffer = [0; LONGEST];
    let mut length = 0;
    for octet in text.iter().map(u8::to_ascii_lowercase) {
        match octet {
            b'-' | b'_' | b' ' | b'\t' => {}
            _ if !octet.is_ascii_lowercase() => return None,
            _ if length > 0 && buffer[length - 1] == octet => {}
            _ => {
                *buffer.get_mut(length)? = octet;
                length += 1;
            }
        }
    }
    match &buffer[..length] {
        folded if within_one_edit(folded, b"disalow") || folded.starts_with(b"disalow") => {
            Some(Key::Disallow)
        }
        folded if within_one_edit(folded, b"useragent") => Some(Key::Agent),
        b"sitemap" | b"sitemaps" => Some(Key::Sitemap),
        b"crawldelay" => Some(Key::Delay),
        _ => None,
    }
}

/// Whether one letter put in, left out, replaced or swapped with its
/// neighbour, or nothing at all, makes one word of the other.
fn within_one_edit(one: &[u8], other: &[u8]) -> bool {
    let front = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[front..], &other[front..]);
    let back = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&one[..one.len() - back], &other[..other.len() - back]) {
        ([] | [_], [] | [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, read};

    #[test]
    fn misspellings_of_disallow_and_user_agent() {
        for key in [
            "Dissallow",
            "dissalow",
            "Disalow",
            "Diasllow",
            "Disallaw",
            "disalloww",
            "isallow",
            "Dis-allow",
            "Desallow",
            "Disallowed",
            "\u{feff}Disallow",
            "Disallow\u{a0}",
            "disallow \t",
        ] {
            assert_eq!(read(format!("{key}: /x").as_bytes()), Line::Disallow(b"/x"), "{key}");
        }
        for key in ["useragent", "User agent", "user_agent", "User-agents", "ser-agent", "user-agnet"] {
            assert_eq!(read(format!("{key}: x").as_bytes()), Line::Agent(b"x"), "{key}");
        }
    }

    #[test]
    fn what_is_no_misspelling() {
        for key in ["alow", "allaw", "//Disallow", ";Disallow", "noindex", "disable", "agent", "host", ""] {
            assert_eq!(read(format!("{key}: /x").as_bytes()), Line::Unknown, "{key}");
        }
    }

    #[test]
    fn other_keys() {
        assert_eq!(read(b"site-map: http://a.test/"), Line::Sitemap(b"http://a.test/"));
        assert_eq!(read(b"Crawl delay: 3"), Line::Delay(b"3"));
        assert_eq!(read(b"ALLOW:/x"), Line::Allow(b"/x"));
    }

    #[test]
    fn a_forgotten_colon() {
        assert_eq!(read(b"disallow /vault"), Line::Disallow(b"/vault"));
        assert_eq!(read(b"disallow \t /a:b # c"), Line::Disallow(b"/a:b"));
        assert_eq!(read(b"sitemap http://a.test/s.xml"), Line::Sitemap(b"http://a.test/s.xml"));
        assert_eq!(read(b"allow us to explain"), Line::Unknown);
        assert_eq!(read(b"disallow"), Line::Unknown);
    }

    #[test]
    fn comments_and_blanks() {
        assert_eq!(read(b" \t\0"), Line::Empty);
        assert_eq!(read(b" # Disallow: /"), Line::Empty);
        assert_eq!(read(b"\0\0 Disallow: /x#y"), Line::Disallow(b"/x"));
        assert_eq!(read("Disallow:\u{a0}/x\u{a0} ".as_bytes()), Line::Disallow(b"/x"));
        assert_eq!(read(b"Disallow:"), Line::Disallow(b""));
    }
}
