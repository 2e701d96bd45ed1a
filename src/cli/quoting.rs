//! Words as a shell takes them, for commands that a person may copy.

/// A word, in quotes where a shell would read more into it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=+%@".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_read_otherwise_is_quoted() {
        for (word, expected) in [
            ("rust", "rust"),
            ("/a/b-c.d", "/a/b-c.d"),
            ("my crawl", "'my crawl'"),
            ("", "''"),
            ("$x", "'$x'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
