//! Makes text from outside safe to show on a terminal.
//!
//! URLs, titles and error details come from strangers: a control character in
//! them could move the cursor or change the title of the window, and a
//! bidirectional override could make one address look like another.

use std::borrow::Cow;
use std::fmt::Write;

/// The most characters of one text that are shown.
const LONGEST: usize = 2000;

/// Text on one line in which nothing acts on the terminal: control, format and
/// invisible characters are shown as `\u{…}`, what is very long is cut.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    let long = text.char_indices().nth(LONGEST).map(|(position, _)| position);
    if long.is_none() && !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let shown = &text[..long.unwrap_or(text.len())];
    let mut safe = String::with_capacity(shown.len() + 16);
    for character in shown.chars() {
        if acts(character) {
            // Writing to a text cannot fail.
            let _ = write!(safe, "{}", character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    if long.is_some() {
        safe.push_str(" ...");
    }
    Cow::Owned(safe)
}

/// Whether a character does anything else than stand there.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown() {
        assert_eq!(escape("a\u{1b}[2Jb\r\n\u{7f}\u{9b}"), "a\\u{1b}[2Jb\\u{d}\\u{a}\\u{7f}\\u{9b}");
        assert_eq!(escape("moc.\u{202e}evil\u{2066}"), "moc.\\u{202e}evil\\u{2066}");
        assert_eq!(escape("a\u{200b}b\u{feff}"), "a\\u{200b}b\\u{feff}");
    }

    #[test]
    fn letters_of_any_script_stay() {
        for text in ["", "plain", "bücher.example/ü?q=ж", "日本語", "مرحبا"] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let long = "é".repeat(LONGEST + 1);
        let shown = escape(&long);
        assert_eq!(shown.chars().count(), LONGEST + 4);
        assert!(shown.ends_with(" ..."));
        assert_eq!(escape(&"é".repeat(LONGEST)).chars().count(), LONGEST);
    }
}
