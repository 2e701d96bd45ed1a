//! Text that may hold a user name and a password, made fit to be kept and shown.

use std::borrow::Cow;

/// Bytes that begin no reference and stand for nothing within its scheme and slashes: the WHATWG
/// standard trims C0 controls and spaces, and drops tabs and line ends anywhere.
fn is_dropped(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r')
}

/// A reference as it was written, without the user name and the password in it.
///
/// Whatever it is, crawlable or not: `ftp://u:p@h/`, `//u:p@h`, `http:\\u:p@h`, `http://u:p@` and
/// `http://u:p/w@h/` too, whose password runs on past the slash where a parser ends it. What stands
/// behind the host of a good URL, and a reference without an authority (`mailto:u@h`), stays.
///
/// ```
/// use dragline::url::without_userinfo;
/// assert_eq!(without_userinfo("ftp://u:p@host/a@b"), "ftp://host/a@b");
/// assert_eq!(without_userinfo("mailto:joe@host"), "mailto:joe@host");
/// ```
pub fn without_userinfo(reference: &str) -> Cow<'_, str> {
    let bytes = reference.as_bytes();
    if !bytes.contains(&b'@') {
        return Cow::Borrowed(reference);
    }
    let Some(start) = authority_start(bytes) else { return Cow::Borrowed(reference) };
    let ends = |byte: &u8| matches!(byte, b'/' | b'\\' | b'?' | b'#');
    let authority = start + bytes[start..].iter().position(ends).unwrap_or(bytes.len() - start);
    let at = |from: usize, to: usize| bytes[from..to].iter().rposition(|byte| *byte == b'@');
    // A host that cannot be one may be the beginning of a password with a slash in it.
    let userinfo = at(start, authority).or_else(|| {
        let usable = is_usable(&reference[..authority], start);
        if usable { None } else { at(start, bytes.len()) }
    });
    match userinfo {
        Some(end) => Cow::Owned(format!("{}{}", &reference[..start], &reference[start + end + 1..])),
        None => Cow::Borrowed(reference),
    }
}

/// Whether what stands before the path parses.
fn is_usable(front: &str, start: usize) -> bool {
    let scheme = front.trim_start_matches(|character: char| character <= ' ');
    let relative = scheme.starts_with(['/', '\\']);
    let text = if relative { format!("http://{}", &front[start..]) } else { front.to_owned() };
    ::url::Url::parse(&text).is_ok()
}

/// Where the authority of a reference begins, where it has one.
fn authority_start(bytes: &[u8]) -> Option<usize> {
    let blank = bytes.iter().position(|byte| *byte > b' ')?;
    let scheme = scheme_length(&bytes[blank..]);
    let special = match scheme {
        Some(length) => {
            let letters = bytes[blank..blank + length - 1].iter().filter(|byte| !is_dropped(**byte));
            let name: Vec<u8> = letters.map(u8::to_ascii_lowercase).collect();
            matches!(&*name, b"http" | b"https" | b"ftp" | b"ws" | b"wss")
        }
        // Relative to a page, which http or https brought.
        None => true,
    };
    let mut at = blank + scheme.unwrap_or(0);
    let mut slashes = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'/' => slashes += 1,
            b'\\' if special => slashes += 1,
            byte if is_dropped(*byte) => {}
            _ => break,
        }
        at += 1;
        if !special && slashes == 2 {
            break;
        }
    }
    // After a special scheme the slashes may be missing.
    let has_authority = slashes >= 2 || (special && scheme.is_some());
    has_authority.then_some(at)
}

/// Bytes of a scheme with its colon.
fn scheme_length(bytes: &[u8]) -> Option<usize> {
    let mut letters = 0;
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            b':' if letters > 0 => return Some(place + 1),
            b'a'..=b'z' | b'A'..=b'Z' => letters += 1,
            b'0'..=b'9' | b'+' | b'-' | b'.' if letters > 0 => {}
            byte if is_dropped(*byte) => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Canonicalizer;
    use proptest::prelude::*;

    #[test]
    fn names_and_passwords_go_and_all_else_stays() {
        for (written, kept) in [
            ("http://u:SECRET@h.test/a@b?c@d#e@f", "http://h.test/a@b?c@d#e@f"),
            ("HTTP:\\\\u:SECRET@h\\x@y", "HTTP:\\\\h\\x@y"),
            ("http:u:SECRET@h.test/", "http:h.test/"),
            ("https:////SECRET@h.test", "https:////h.test"),
            (" \u{1}ht\ntp:/\t/u:SECRET@h/", " \u{1}ht\ntp:/\t/h/"),
            ("ftp://u:SECRET@h/", "ftp://h/"),
            ("sftp://u:SEC@RET@h/x", "sftp://h/x"),
            ("//u:SECRET@h/", "//h/"),
            ("http://u:SECRET@", "http://"),
            ("http://u:SECRET@h o s t/", "http://h o s t/"),
            ("http://u:SEC/RET@h/p", "http://h/p"),
            ("http://u:SEC?RET@h/p", "http://h/p"),
            ("http://u:SECRET@h:99999/", "http://h:99999/"),
        ] {
            assert_eq!(without_userinfo(written), kept, "{written:?}");
        }
        for written in [
            "mailto:u@h",
            "javascript:f('a@b')",
            "data:,a@b",
            "/@u/x",
            "a@b",
            "?q=a@b",
            "#a@b",
            "http://h.test/@u",
            "http://h.test:80/a/@u?x",
            "sftp:u@h",
            "urn:/x@y",
            "",
            "@",
            "http:",
        ] {
            assert_eq!(without_userinfo(written), written);
        }
    }

    proptest! {
        /// What can be crawled stays the same page, and no name or password of it is left.
        #[test]
        fn a_url_stays_what_it_was(
            scheme in "(http|HTTPS|ftp)", slashes in "[/\\\\]{2,4}", user in "[a-z:@]{0,5}",
            rest in "[a-z]{1,3}(\\.test)?(:80)?[/?#]?[a-z@/?#]{0,6}",
        ) {
            let written = format!("{scheme}:{slashes}{user}SECRET@{rest}");
            let kept = without_userinfo(&written).into_owned();
            prop_assert!(!kept.contains("SECRET"), "{}", kept);
            let canonicalizer = Canonicalizer::default();
            if let Ok(before) = canonicalizer.parse(&written) {
                prop_assert_eq!(canonicalizer.parse(&kept).expect("a URL"), before);
                prop_assert_eq!(&without_userinfo(&kept), &kept);
            }
        }

        #[test]
        fn any_text_will_do(text in "\\PC{0,20}") {
            let _ = without_userinfo(&text);
        }
    }
}
