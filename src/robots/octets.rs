//! One spelling for rules and paths, so that they can be compared octet by octet.
//!
//! RFC 9309 section 2.2.2: octets outside US-ASCII, and those that RFC 3986
//! does not allow as they stand, are compared percent-encoded; an escape of an
//! unreserved character is compared decoded; an escape of a reserved one is not
//! the character. Hexadecimal digits are compared without regard to case.
//!
//! Decisions:
//! - `%2A` and `%24` become the octets `*` and `$`, which in a path have no
//!   other meaning (section 2.2.3); in a rule the raw characters are operators
//!   and the decoded ones are not, which [`Octet::form`] tells apart.
//! - `%27` and `'` are one, although `'` is reserved: URL parsers escape it in
//!   a query and leave it in a path, so no author can know which will be asked.
//! - A percent sign without two hexadecimal digits stays as it is. A rule that
//!   ends in such a sign thereby matches every escape, as it does octet by octet.
//! - One pass, no fixed point: what decoding brings to light is not decoded again.

/// How an octet came to be what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It stood there, and stays.
    Plain,
    /// It stood there as an escape of a character that is compared decoded.
    Decoded,
    /// It is compared as `%XX`.
    Encoded,
}

/// One octet of a rule or path, with the form in which it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Octet {
    /// The value of the octet.
    pub(super) value: u8,
    /// How it is to be written.
    pub(super) form: Form,
}

/// Whether the octet may stand unescaped in a normalized path.
const fn stands(octet: u8) -> bool {
    octet > b' '
        && octet < 0x7f
        && !matches!(octet, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// Whether an escape of this octet is compared decoded.
fn decodes(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~' | b'*' | b'$' | b'\'')
}

/// The value of a hexadecimal digit.
fn digit(octet: u8) -> Option<u8> {
    (octet as char).to_digit(16).map(|value| value as u8)
}

/// The octet that an escape at the front of `rest` stands for.
fn escape(rest: &[u8]) -> Option<u8> {
    match *rest {
        [b'%', high, low, ..] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    }
}

/// The octets of a rule or path in the form in which they are compared.
pub(super) fn octets(mut rest: &[u8]) -> impl Iterator<Item = Octet> + '_ {
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (value, form, taken) = match escape(rest) {
            Some(value) if decodes(value) => (value, Form::Decoded, 3),
            Some(value) => (value, Form::Encoded, 3),
            None if stands(first) => (first, Form::Plain, 1),
            None => (first, Form::Encoded, 1),
        };
        rest = &rest[taken..];
        Some(Octet { value, form })
    })
}

/// Hands the octet over as it is written: itself, or `%XX`.
pub(super) fn write(octet: Octet, mut out: impl FnMut(u8)) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if octet.form == Form::Encoded {
        out(b'%');
        out(DIGITS[usize::from(octet.value >> 4)]);
        out(DIGITS[usize::from(octet.value & 15)]);
    } else {
        out(octet.value);
    }
}

/// Whether a path already is as it is compared, without a fragment.
fn is_normal(path: &[u8]) -> bool {
    /// Octets that need no look at their neighbours.
    const CLEAR: [bool; 256] = {
        let mut table = [false; 256];
        let mut octet = 0;
        while octet < 256 {
            table[octet] = stands(octet as u8) && octet as u8 != b'%' && octet as u8 != b'#';
            octet += 1;
        }
        table
    };
    let mut rest = path;
    while let Some(at) = rest.iter().position(|octet| !CLEAR[usize::from(*octet)]) {
        rest = &rest[at..];
        let lower = rest.iter().skip(1).take(2).any(u8::is_ascii_lowercase);
        match escape(rest) {
            Some(value) if lower || decodes(value) => return false,
            Some(_) => rest = &rest[3..],
            None if rest[0] == b'%' => rest = &rest[1..],
            None => return false,
        }
    }
    path.first() == Some(&b'/')
}

/// Hands over the octets of a path, normalized, its first `/` included.
fn write_path(path: &[u8], mut out: impl FnMut(u8)) {
    if path.first() != Some(&b'/') {
        out(b'/');
    }
    octets(path).for_each(|octet| write(octet, &mut out));
}

/// Calls `look` with a path and query in the form in which it is compared.
///
/// A fragment is cut off; an empty path, or a query without one, gets its `/`.
/// Nothing is copied where the path has that form already, as nearly all have
/// that a URL parser has written; others are rewritten on the stack, and only
/// a long one among them on the heap.
pub(super) fn with_normal_path<R>(path: &[u8], look: impl FnOnce(&[u8]) -> R) -> R {
    const ON_STACK: usize = 2048;
    if is_normal(path) {
        return look(path);
    }
    let path = &path[..memchr::memchr(b'#', path).unwrap_or(path.len())];
    // An octet becomes three at most, and a `/` may be put in front.
    if path.len() < ON_STACK / 3 {
        let mut buffer = [0; ON_STACK];
        let mut length = 0;
        write_path(path, |octet| {
            buffer[length] = octet;
            length += 1;
        });
        look(&buffer[..length])
    } else {
        let mut buffer = Vec::with_capacity(path.len() + path.len() / 4);
        write_path(path, |octet| buffer.push(octet));
        look(&buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::{is_normal, with_normal_path, write_path};
    use proptest::prelude::*;

    fn normal(path: &str) -> String {
        with_normal_path(path.as_bytes(), |path| String::from_utf8(path.to_vec()).expect("ASCII"))
    }

    #[test]
    fn one_spelling() {
        let pairs = [
            ("/a/ツ", "/a/%E3%83%84"),
            ("/%7ejoe%2Fx", "/~joe%2Fx"),
            ("/a%2ab%24", "/a*b$"),
            ("/a<b>", "/a%3Cb%3E"),
            ("/a%zz%", "/a%zz%"),
            ("/%%36%31", "/%61"),
            ("/q?n=O%27Neil", "/q?n=O'Neil"),
            ("?q", "/?q"),
            ("", "/"),
            ("/a?b#c", "/a?b"),
            ("#c", "/"),
        ];
        for (from, to) in pairs {
            assert_eq!(normal(from), to, "{from}");
        }
    }

    #[test]
    fn long_paths_are_normalized_like_short_ones() {
        for length in [1, 600, 681, 682, 683, 2047, 5000] {
            assert_eq!(normal(&"é".repeat(length)), format!("/{}", "%C3%A9".repeat(length)));
        }
    }

    #[test]
    fn a_normal_path_is_not_copied() {
        for path in ["/", "/a/b.html?x=1&y=%2F", "/%E3%83%84", "/100%", "/a%2", "/a%zz"] {
            assert!(is_normal(path.as_bytes()), "{path}");
        }
    }

    proptest! {
        #[test]
        fn the_short_cut_changes_nothing(path in "/([%a-f0-9A-F*$'~/ é|]|%[0-9a-fA-F]{2}){0,20}") {
            let mut long = Vec::new();
            write_path(path.as_bytes(), |octet| long.push(octet));
            prop_assert_eq!(normal(&path).into_bytes(), long);
        }
    }
}
