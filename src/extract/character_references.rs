//! Character references and what else stands for another character in text and attribute values.
//!
//! Source: HTML standard 13.2.5.72 to 13.2.5.80 (character references), 13.2.3.5
//! (line ends), 13.2.5.36 (NUL). It takes a whole value, after its end has been found:
//! no reference can hide the end of a value.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::memchr3;

/// Longer than every name in the table.
const LONGEST_NAME: usize = 40;

/// Whether the value is an attribute's, where `&copy=1` is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Attribute,
    Text,
}

/// Appends the characters that `raw` stands for; ill-formed UTF-8 becomes U+FFFD.
pub(super) fn decode_into(raw: &[u8], place: Place, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = memchr3(b'&', b'\r', 0, rest) {
        push_lossy(&rest[..at], out);
        let (special, behind) = (rest[at], &rest[at + 1..]);
        let taken = match special {
            b'&' => reference(behind, place, out),
            b'\r' => {
                out.push('\n');
                usize::from(behind.first() == Some(&b'\n'))
            }
            _ => {
                out.push(char::REPLACEMENT_CHARACTER);
                0
            }
        };
        rest = &behind[taken..];
    }
    push_lossy(rest, out);
}

/// Appends text, each ill-formed sequence replaced.
fn push_lossy(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => out.push_str(&String::from_utf8_lossy(bytes)),
    }
}

/// Appends what the reference behind an `&` stands for, or the `&` itself; returns the bytes taken.
fn reference(behind: &[u8], place: Place, out: &mut String) -> usize {
    let taken = match behind {
        [b'a', b'm', b'p', b';', ..] => {
            out.push('&');
            Some(4)
        }
        [b'#', digits @ ..] => numeric(digits, out).map(|taken| taken + 1),
        [first, ..] if first.is_ascii_alphanumeric() => named(behind, place, out),
        _ => None,
    };
    taken.unwrap_or_else(|| {
        out.push('&');
        0
    })
}

/// The digits behind `&#`, with or without an `x` in front, with or without a `;` behind.
fn numeric(behind: &[u8], out: &mut String) -> Option<usize> {
    let (prefix, radix) = if matches!(behind.first(), Some(b'x' | b'X')) { (1, 16) } else { (0, 10) };
    let mut code: u32 = 0;
    let mut taken = prefix;
    while let Some(digit) = behind.get(taken).and_then(|&byte| char::from(byte).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit);
        taken += 1;
    }
    if taken == prefix {
        return None;
    }
    out.push(character(code));
    Some(taken + usize::from(behind.get(taken) == Some(&b';')))
}

/// NUL, surrogates and what is out of range are replaced; C1 controls mean windows-1252.
fn character(code: u32) -> char {
    let replaced =
        code.checked_sub(0x80).and_then(|index| C1_REPLACEMENTS.get(index as usize).copied().flatten());
    match (replaced, code) {
        (Some(replaced), _) => replaced,
        (None, 0) => char::REPLACEMENT_CHARACTER,
        (None, _) => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// The longest name in the table that `behind` begins with.
fn named(behind: &[u8], place: Place, out: &mut String) -> Option<usize> {
    let (length, (first, second)) = longest_name(behind)?;
    let bare = behind[length - 1] != b';';
    let next = behind.get(length).copied().unwrap_or_default();
    if place == Place::Attribute && bare && (next == b'=' || next.is_ascii_alphanumeric()) {
        return None;
    }
    out.extend([first, second].into_iter().filter(|&code| code != 0).filter_map(char::from_u32));
    Some(length)
}

/// The table holds every beginning of a name as well, with no character behind it.
fn longest_name(behind: &[u8]) -> Option<(usize, (u32, u32))> {
    let window = &behind[..behind.len().min(LONGEST_NAME)];
    let letters = window.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(window.len());
    let end = letters + usize::from(window.get(letters) == Some(&b';'));
    let name = std::str::from_utf8(&window[..end]).ok()?;
    let mut longest = None;
    for length in 1..=end {
        match NAMED_ENTITIES.get(&name[..length]) {
            None => break,
            Some(&(0, _)) => {}
            Some(&characters) => longest = Some((length, characters)),
        }
    }
    longest
}
