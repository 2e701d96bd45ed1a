//! The rules of RFC 9309 section 2.2.2 and 2.2.3 written down naively: every rule
//! is tried, every position of every `*` is tried. Shares no code with the module.

/// A character of a rule: literal, or an operator.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Symbol {
    Octet(u8),
    AnyRun,
    End,
}

/// The normalized spelling as symbols, and how many octets it has.
fn symbols(text: &str, is_rule: bool) -> (Vec<Symbol>, usize) {
    let (text, mut out, mut octets, mut at) = (text.as_bytes(), Vec::new(), 0, 0);
    while at < text.len() {
        let hex = text.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = hex.filter(|hex| hex.bytes().all(|octet| octet.is_ascii_hexdigit()));
        let code = code.filter(|_| text[at] == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let octet = code.unwrap_or(text[at]);
        let is_last = at + 1 == text.len();
        at += if code.is_some() { 3 } else { 1 };
        let unreserved = octet.is_ascii_alphanumeric() || b"-._~'".contains(&octet);
        let never_raw = octet <= b' ' || octet >= 0x7f || b"\"<>\\^`{|}".contains(&octet);
        let operator = b"*$".contains(&octet);
        octets += if unreserved || code.is_none() && !never_raw { 1 } else { 3 };
        match octet {
            b'*' if is_rule && code.is_none() => out.push(Symbol::AnyRun),
            b'$' if is_rule && code.is_none() && is_last => out.push(Symbol::End),
            _ if code.is_some() && !unreserved && !operator || never_raw => {
                out.extend(format!("%{octet:02X}").bytes().map(Symbol::Octet));
            }
            _ => out.push(Symbol::Octet(octet)),
        }
    }
    (out, octets)
}

/// Whether a rule matches: by a table over all prefixes of both sides.
fn matches(rule: &[Symbol], path: &[Symbol]) -> bool {
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for symbol in rule {
        let before = reached.clone();
        for at in 0..=path.len() {
            reached[at] = match symbol {
                Symbol::AnyRun => before[..=at].contains(&true),
                Symbol::End => at == path.len() && before[at],
                Symbol::Octet(_) => at > 0 && before[at - 1] && path[at - 1] == *symbol,
            };
        }
    }
    reached.contains(&true)
}

/// The verdict of rules, each `(is an Allow, value)`, on a path that begins with `/`.
pub(super) fn allowed<'a>(rules: impl IntoIterator<Item = (bool, &'a str)>, path: &str) -> bool {
    let path = symbols(path, false).0;
    let matching = rules.into_iter().filter_map(|(allow, value)| {
        let (rule, octets) = symbols(value, true);
        (value.starts_with(['/', '*']) && matches(&rule, &path)).then_some((octets, allow))
    });
    matching.max().is_none_or(|(_, allow)| allow)
}

#[test]
fn the_reference_itself() {
    assert!(!allowed([(false, "/a*b$")], "/axxb"));
    assert!(allowed([(false, "/a*b$")], "/axxbc"));
    assert!(allowed([(false, "/*"), (true, "/a")], "/a"));
    assert!(allowed([(false, "/%c3%a9"), (true, "/é")], "/é"));
}
