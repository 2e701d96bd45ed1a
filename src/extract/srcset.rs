//! The URLs in a `srcset` attribute.
//!
//! Source: HTML standard 4.8.4, "parse a srcset attribute". Which of the images a browser
//! would show is not decided here: all that it might are wanted.
//!
//! It must not know what becomes of the URLs, nor resolve them.

/// The URLs of all candidates whose descriptors are valid, in order, as written.
///
/// Linear in the length of the text, and allocates nothing.
pub(super) fn urls(srcset: &str) -> Urls<'_> {
    Urls { rest: srcset }
}

/// What [`urls`] walks along.
pub(super) struct Urls<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Urls<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start_matches(|c| is_space(c) || c == ',');
            if self.rest.is_empty() {
                return None;
            }
            let (url, rest) = self.rest.split_at(self.rest.find(is_space).unwrap_or(self.rest.len()));
            let without_commas = url.trim_end_matches(',');
            if without_commas.len() < url.len() {
                self.rest = rest;
                return Some(without_commas);
            }
            let mut descriptors = Descriptors::default();
            self.rest = descriptors.take(rest);
            if descriptors.are_valid() {
                return Some(url);
            }
        }
    }
}

fn is_space(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\u{C}' | '\r' | ' ')
}

/// What has been said of one candidate.
#[derive(Default)]
struct Descriptors {
    width: bool,
    density: bool,
    height: bool,
    error: bool,
}

impl Descriptors {
    /// Takes them off the text, up to a comma outside of parentheses; returns what follows it.
    fn take<'a>(&mut self, text: &'a str) -> &'a str {
        let mut start = None;
        let mut in_parentheses = false;
        for (at, character) in text.char_indices() {
            match character {
                ')' if in_parentheses => in_parentheses = false,
                _ if in_parentheses => {}
                ',' => {
                    self.add(&text[start.unwrap_or(at)..at]);
                    return &text[at + 1..];
                }
                _ if is_space(character) => {
                    if let Some(start) = start.take() {
                        self.add(&text[start..at]);
                    }
                }
                _ => {
                    start.get_or_insert(at);
                    in_parentheses = character == '(';
                }
            }
        }
        self.add(&text[start.unwrap_or(text.len())..]);
        ""
    }

    /// One descriptor; nothing at all is none.
    fn add(&mut self, descriptor: &str) {
        let Some(unit) = descriptor.bytes().last() else {
            return;
        };
        let number = descriptor.get(..descriptor.len() - 1).unwrap_or_default();
        let is_positive = || is_integer(number) && number.bytes().any(|digit| digit != b'0');
        let (seen, is_valid) = match unit {
            b'w' => (&mut self.width, !self.density && is_positive()),
            b'x' => (&mut self.density, !self.width && !self.height && is_density(number)),
            b'h' => (&mut self.height, !self.density && is_positive()),
            _ => {
                self.error = true;
                return;
            }
        };
        self.error |= !is_valid || std::mem::replace(seen, true);
    }

    /// A height alone says nothing that a browser could choose by.
    fn are_valid(&self) -> bool {
        !self.error && (self.width || !self.height)
    }
}

/// Digits and nothing else (HTML standard 2.3.4.2).
fn is_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A floating-point number as the standard spells it (2.3.4.3) that is not below zero.
fn is_density(text: &str) -> bool {
    let mantissa = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) if is_integer(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) => {
            mantissa
        }
        Some(_) => return false,
        None => text,
    };
    let (is_negative, mantissa) =
        mantissa.strip_prefix('-').map_or((false, mantissa), |mantissa| (true, mantissa));
    let is_number = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole.is_empty() || is_integer(whole)) && is_integer(fraction),
        None => is_integer(mantissa),
    };
    is_number && !(is_negative && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn candidates_end_where_the_standard_ends_them() {
        let rows: &[(&str, &[&str])] = &[
            ("", &[]),
            (" ,\n, ", &[]),
            ("a", &["a"]),
            ("a,b", &["a,b"]),
            ("a, b", &["a", "b"]),
            ("a,,, b ,,c", &["a", "b", "c"]),
            ("a 1x,b 2x", &["a", "b"]),
            ("a,b.png 1x,c 2x , d, e 100w", &["a,b.png", "c", "d", "e"]),
            ("a\u{C}1x,\tb\r2x", &["a", "b"]),
            ("data:image/png;base64,AA== 1x, b 2x", &["data:image/png;base64,AA==", "b"]),
            ("a (1x, b 2x), c", &["c"]),
            ("a (x) 1x, b", &["b"]),
            ("a 1x (, b 2x", &[]),
            ("a 1(x, y)x, b", &["b"]),
            ("a\u{A0}1x, b", &["a\u{A0}1x", "b"]),
        ];
        for (srcset, expected) in rows {
            assert_eq!(urls(srcset).collect::<Vec<_>>(), *expected, "{srcset:?}");
        }
    }

    #[test]
    fn a_candidate_with_a_wrong_descriptor_is_none() {
        let valid = [
            "",
            "1x",
            "0x",
            "-0x",
            ".5x",
            "1.5e3x",
            "1E-2x",
            "9w",
            "9w 3h",
            "3h 9w",
            "99999999999999999999w",
        ];
        let wrong = [
            "0w", "w", "-1w", "+1w", "1.5w", "9w 9w", "1x 1x", "9w 1x", "1x 9w", "9h", "9h 1x", "1x 9h",
            "9w 0h", "-1x", "-.1x", "1.x", "x", "1ex", "1e+x", "+1x", "NaNx", "infx", "1 x", "1X", "1q", "é",
            "1é", "9w 1q",
        ];
        for descriptors in valid {
            assert_eq!(urls(&format!("a {descriptors}, b")).collect::<Vec<_>>(), ["a", "b"], "{descriptors}");
        }
        for descriptors in wrong {
            assert_eq!(urls(&format!("a {descriptors}, b")).collect::<Vec<_>>(), ["b"], "{descriptors}");
        }
    }

    /// The standard's steps as written, one character at a time.
    fn model(srcset: &str) -> Vec<String> {
        let input: Vec<char> = srcset.chars().collect();
        let mut at = 0;
        let mut candidates = Vec::new();
        loop {
            while input.get(at).is_some_and(|c| is_space(*c) || *c == ',') {
                at += 1;
            }
            if at >= input.len() {
                return candidates;
            }
            let mut url = String::new();
            while let Some(c) = input.get(at).filter(|c| !is_space(**c)) {
                url.push(*c);
                at += 1;
            }
            let mut descriptors: Vec<String> = Vec::new();
            if url.ends_with(',') {
                url = url.trim_end_matches(',').to_owned();
            } else {
                let mut current = String::new();
                // 0: in a descriptor, 1: in parentheses, 2: after a descriptor
                let mut state = 0;
                while input.get(at).is_some_and(|c| is_space(*c)) {
                    at += 1;
                }
                loop {
                    let c = input.get(at).copied();
                    match (state, c) {
                        (0, Some(c)) if is_space(c) => {
                            if !current.is_empty() {
                                descriptors.push(std::mem::take(&mut current));
                                state = 2;
                            }
                        }
                        (0, Some(',')) => {
                            at += 1;
                            break;
                        }
                        (0, Some('(')) => {
                            current.push('(');
                            state = 1;
                        }
                        (1, Some(')')) => {
                            current.push(')');
                            state = 0;
                        }
                        (0 | 1, Some(c)) => current.push(c),
                        (2, Some(c)) if is_space(c) => {}
                        (2, Some(_)) => {
                            state = 0;
                            continue;
                        }
                        (_, _) => break,
                    }
                    at += 1;
                }
                if !current.is_empty() {
                    descriptors.push(current);
                }
            }
            if fit(&descriptors) {
                candidates.push(url);
            }
        }
    }

    fn fit(descriptors: &[String]) -> bool {
        let (mut width, mut density, mut height, mut error) = (None, None, None, false);
        for one in descriptors {
            let whole = |unit| {
                one.strip_suffix(unit).and_then(|number: &str| {
                    number
                        .bytes()
                        .all(|byte| byte.is_ascii_digit())
                        .then(|| number.parse::<u128>().ok())
                        .flatten()
                })
            };
            // what Rust takes beyond the standard: a sign, words, a bare point at the end
            let real = one.strip_suffix('x').filter(|number| {
                number.bytes().all(|byte| byte.is_ascii_digit() || b"-.eE+".contains(&byte))
                    && !number.starts_with('+')
                    && !number.ends_with('.')
                    && !number.contains(".e")
                    && !number.contains(".E")
            });
            if let Some(number) = whole('w') {
                error |= width.is_some() || density.is_some() || number == 0;
                width = Some(());
            } else if let Some(number) = real.and_then(|number| number.parse::<f64>().ok()) {
                error |= width.is_some() || density.is_some() || height.is_some() || number < 0.0;
                density = Some(());
            } else if let Some(number) = whole('h') {
                error |= height.is_some() || density.is_some() || number == 0;
                height = Some(());
            } else {
                error = true;
            }
        }
        !error && (height.is_none() || width.is_some())
    }

    proptest! {
        #[test]
        fn it_does_what_the_standard_s_steps_do(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "/b.png", ",", " ", "\n", "1x", "2w", "3h", "0w", "-1x", ".5", "e", "-", "(", ")", "é", "x",
                ]),
                0..14,
            ),
        ) {
            let srcset = pieces.concat();
            prop_assert_eq!(urls(&srcset).collect::<Vec<_>>(), model(&srcset), "{:?}", srcset);
        }
    }
}
