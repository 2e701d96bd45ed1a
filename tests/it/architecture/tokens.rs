//! Rust source as tokens: identifiers and single characters of punctuation, each with its line.
//!
//! Just enough of the language to know comments, strings and lifetimes from code.

/// An identifier, a number or one character of punctuation; `::` is one token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

/// The tokens of a source text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader { rest: text, line: 1, tokens: Vec::new() };
    while let Some(first) = reader.rest.chars().next() {
        reader.step(first);
    }
    reader.tokens
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl Reader<'_> {
    fn step(&mut self, first: char) {
        if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.skip(block_comment(self.rest));
        } else if let Some(length) = raw_string(self.rest) {
            self.skip(length);
        } else if first == '"' {
            self.skip(quoted(self.rest, '"'));
        } else if first == '\'' {
            self.quote();
        } else if first.is_alphanumeric() || first == '_' {
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            self.take(end.unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("::") {
            self.take(2);
        } else if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else {
            self.take(first.len_utf8());
        }
    }

    /// A character in quotes, or a lifetime.
    fn quote(&mut self) {
        let mut after = self.rest.chars().skip(1);
        let (second, third) = (after.next(), after.next());
        if second == Some('\\') || third == Some('\'') {
            self.skip(quoted(self.rest, '\''));
        } else {
            self.skip(1);
        }
    }

    fn take(&mut self, length: usize) {
        self.tokens.push(Token { text: self.rest[..length].to_owned(), line: self.line });
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        self.line += self.rest[..length].matches('\n').count();
        self.rest = &self.rest[length..];
    }
}

/// Bytes up to and with the closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == quote {
            return index + 1;
        }
    }
    text.len()
}

/// Bytes of a comment, the nested ones within it included.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut index = 0;
    while index < text.len() {
        let rest = &text.as_bytes()[index..];
        if rest.starts_with(b"/*") {
            depth += 1;
            index += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            index += 2;
            if depth == 0 {
                return index;
            }
        } else {
            index += 1;
        }
    }
    text.len()
}

/// Bytes of a raw string, where one begins here.
fn raw_string(text: &str) -> Option<usize> {
    let body = ["r", "br", "cr"].iter().find_map(|prefix| {
        let rest = text.strip_prefix(prefix)?;
        (rest.starts_with('#') || rest.starts_with('"')).then_some(rest)
    })?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    // `r#name` is an identifier
    let content = body[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = content.find(&end).map_or(content.len(), |at| at + end.len());
    Some(text.len() - content.len() + length)
}
