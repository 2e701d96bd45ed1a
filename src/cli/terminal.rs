//! A few lines at the foot of a terminal, drawn over again and again.
//!
//! Knows terminals, not what the lines say. Everything is written in one piece, and
//! failures are passed over: a terminal that went away is no reason to end a crawl.

use std::fmt::Write;

use console::Term;

/// Columns left free at the right: a terminal writes `^C` where the cursor stands when somebody
/// interrupts, and past the last column that would be a line more than is known of here, which
/// then stayed behind for good.
const FREE_COLUMNS: usize = 4;

/// Lines of the terminal that are left to what was there before.
const FREE_LINES: usize = 1;

/// The lines at the foot of the terminal on standard error.
#[derive(Debug)]
pub(super) struct Foot {
    terminal: Term,
    /// Those that stand there; the cursor is at the end of the last.
    drawn: Vec<String>,
}

impl Foot {
    /// None yet.
    pub(super) fn new() -> Foot {
        Foot { terminal: Term::stderr(), drawn: Vec::new() }
    }

    /// Draws these lines in place of those before, cut at the edges of the terminal.
    pub(super) fn draw(&mut self, lines: &[String]) {
        let (height, width) = self.terminal.size();
        let (height, width) = (usize::from(height), usize::from(width));
        let wiped = self.wiped();
        let room = height.saturating_sub(FREE_LINES).max(1);
        let columns = width.saturating_sub(FREE_COLUMNS).max(1);
        let cut = |line: &String| console::truncate_str(line, columns, "").into_owned();
        self.drawn = lines.iter().take(room).map(cut).collect();
        self.write(&(wiped + &self.drawn.join("\n")));
    }

    /// Prints a line above them.
    pub(super) fn print(&mut self, line: &str) {
        let text = format!("{}{line}\n{}", self.wiped(), self.drawn.join("\n"));
        self.write(&text);
    }

    /// Wipes them away.
    pub(super) fn clear(&mut self) {
        let wiped = self.wiped();
        self.drawn.clear();
        self.write(&wiped);
    }

    /// What wipes the lines away and leaves the cursor where the first began.
    fn wiped(&self) -> String {
        let mut text = String::from("\r");
        if self.drawn.len() > 1 {
            // Writing to a text cannot fail. ECMA-48, 8.3.22: cursor up.
            let _ = write!(text, "\u{1b}[{}A", self.drawn.len() - 1);
        }
        // ECMA-48, 8.3.39: erase to the end of the page.
        text + "\u{1b}[J"
    }

    fn write(&self, text: &str) {
        let _ = self.terminal.write_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wiped_is_what_was_drawn() {
        let mut foot = Foot::new();
        assert_eq!(foot.wiped(), "\r\u{1b}[J");
        foot.drawn = vec!["one".into()];
        assert_eq!(foot.wiped(), "\r\u{1b}[J");
        foot.drawn = vec!["one".into(), "two".into(), "three".into()];
        assert_eq!(foot.wiped(), "\r\u{1b}[2A\u{1b}[J");
    }
}
