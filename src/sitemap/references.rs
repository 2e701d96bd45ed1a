//! References of XML (XML 1.0 section 4.1) in a text or a value, decoded.

/// The entities that every document knows (section 4.6).
const ENTITIES: [(&str, char); 5] = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
/// Characters between `&` and `;` at most; what is longer is no reference.
const LONGEST_NAME: usize = 32;

/// Appends a text with its references decoded; whether all of them were known.
///
/// A `&` that begins none stands for itself: it is not well-formed, and common in URLs.
pub(super) fn decode(text: &str, out: &mut String) -> bool {
    let mut all_known = true;
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(name) = name_of(rest) else {
            out.push('&');
            continue;
        };
        if let Some(character) = character(name) {
            out.push(character);
            rest = &rest[name.len() + 1..];
        } else {
            all_known = false;
            out.push('&');
        }
    }
    out.push_str(rest);
    all_known
}

/// The name that stands before a `;`, behind a `&`.
fn name_of(text: &str) -> Option<&str> {
    let end = text.bytes().take(LONGEST_NAME + 1).position(|byte| byte == b';')?;
    let name = &text[..end];
    let number = name.strip_prefix('#').unwrap_or(name);
    let sound = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_alphanumeric());
    sound.then_some(name)
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_and_unknown_ones_told() {
        for (text, expected, known) in [
            ("a&amp;b", "a&b", true),
            ("&lt;&gt;&quot;&apos;", "<>\"'", true),
            ("&#252;&#xFC;&#Xfc;", "üüü", true),
            ("?a=1&b=2&c", "?a=1&b=2&c", true),
            ("&;&#;& amp;", "&;&#;& amp;", true),
            ("a&e;b", "a&e;b", false),
            ("&copy;", "&copy;", false),
            ("&#xD800;&#99999999999;", "&#xD800;&#99999999999;", false),
            ("&amp;amp;", "&amp;", true),
            ("&é;", "&é;", true),
            (
                "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;",
                "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;",
                true,
            ),
        ] {
            let mut out = String::new();
            assert_eq!((decode(text, &mut out), out.as_str()), (known, expected), "{text}");
        }
    }
}
