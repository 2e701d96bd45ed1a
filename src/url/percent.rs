//! The lossless part of the canonical form: one spelling for every octet.

/// Appends `text` with each percent-encoded octet in its one canonical
/// spelling, and each `%` that begins none as `%25`.
///
/// RFC 3986, sections 6.2.2.1 and 6.2.2.2. Idempotent: in what comes out every
/// `%` begins an octet that is in upper case and not unreserved. Decoding may
/// not bring forth a dot segment either: the parser has taken `%2e` for a dot
/// before.
pub(super) fn normalize(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match octet(rest) {
            Some(byte) => {
                rest = &rest[2..];
                push_octet(byte, out);
            }
            None => out.push_str("%25"),
        }
    }
    out.push_str(rest);
}

/// The octet that two hex digits at the start of `text` stand for.
fn octet(text: &str) -> Option<u8> {
    let [high, low, ..] = text.as_bytes() else {
        return None;
    };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    Some((high * 16 + low) as u8)
}

fn push_octet(byte: u8, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        out.push(char::from(byte));
    } else {
        out.push('%');
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// The octets that `text` stands for.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        octets.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        match octet(rest) {
            Some(byte) => {
                octets.push(byte);
                rest = &rest[2..];
            }
            None => octets.push(b'%'),
        }
    }
    octets.extend_from_slice(rest.as_bytes());
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(text: &str) -> String {
        let mut out = String::new();
        normalize(text, &mut out);
        out
    }

    #[test]
    fn octets_have_one_spelling() {
        for (text, expected) in [
            ("", ""),
            ("/plain", "/plain"),
            ("%7e%41%2D%2e%5f%30", "~A-._0"),
            ("%c3%bc", "%C3%BC"),
            ("%2f%3F%23%26%3d%2B%25", "%2F%3F%23%26%3D%2B%25"),
            ("%20%00%ff", "%20%00%FF"),
        ] {
            assert_eq!(normalized(text), expected, "{text}");
        }
    }

    #[test]
    fn a_lone_percent_is_the_octet_percent_and_completes_nothing() {
        for (text, expected) in [
            ("100%", "100%25"),
            ("100%25", "100%25"),
            ("%%36%31", "%2561"),
            ("%6%31", "%2561"),
            ("%2541", "%2541"),
            ("%zz%4", "%25zz%254"),
            ("%é1", "%25é1"),
        ] {
            assert_eq!(normalized(text), expected, "{text}");
            assert_eq!(normalized(expected), expected, "{text}, again");
            assert_eq!(decode(text), decode(expected), "{text}, decoded");
        }
    }
}
