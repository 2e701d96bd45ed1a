//! Progress on standard error: a live display on a terminal, plain lines elsewhere.
//!
//! Owns when and where something is shown; the words are `screen`'s and `report`'s.

use std::io::IsTerminal;
use std::time::Duration;

use dragline::config::ProgressMode;
use dragline::report::{self, Rates};
use dragline::stats::{Snapshot, Summary};

use super::terminal::Foot;
use super::{escape, say, screen};

/// The live display's rates are those of about so much time.
const RATE_WINDOW: Duration = Duration::from_secs(3);

/// Where a crawl shows how it is getting on. Give it a snapshot a few times a
/// second; it shows what its mode allows.
pub(super) struct Display {
    form: Form,
    /// Where the rates are counted from, and where they will be next.
    anchors: [Snapshot; 2],
}

enum Form {
    Live { foot: Foot, colored: bool },
    Plain { interval: Duration, next: Duration },
    Silent,
}

impl Display {
    /// A display for this terminal; `interval` is the time between plain lines.
    pub(super) fn new(mode: ProgressMode, interval: Duration) -> Display {
        let live = can_redraw();
        let form = match mode {
            ProgressMode::None => Form::Silent,
            ProgressMode::Auto | ProgressMode::Bar if live => live_form(),
            // A display that moves makes no sense in a file or a pipe, even where it was asked for.
            ProgressMode::Auto | ProgressMode::Bar | ProgressMode::Plain => {
                Form::Plain { interval, next: interval }
            }
        };
        Display { form, anchors: [Snapshot::default(), Snapshot::default()] }
    }

    /// Shows a moment of the crawl.
    pub(super) fn snapshot(&mut self, snapshot: &Snapshot) {
        match &mut self.form {
            Form::Silent => {}
            Form::Plain { interval, next } => {
                if snapshot.elapsed >= *next {
                    *next = snapshot.elapsed + *interval;
                    let rates = Rates::between(&self.anchors[0], snapshot);
                    self.anchors[0] = snapshot.clone();
                    say::line(&report::progress_line(snapshot, &rates));
                }
            }
            Form::Live { foot, colored } => {
                if snapshot.elapsed >= self.anchors[1].elapsed + RATE_WINDOW {
                    self.anchors.swap(0, 1);
                    self.anchors[1] = snapshot.clone();
                }
                let rates = Rates::between(&self.anchors[0], snapshot);
                foot.draw(&screen::lines(snapshot, &rates, *colored));
            }
        }
    }

    /// Says something once, above a live display; whatever the mode.
    pub(super) fn notice(&mut self, text: &str) {
        let text = format!("dragline: {}", escape::escape(text));
        match &mut self.form {
            Form::Live { foot, .. } => foot.print(&text),
            Form::Plain { .. } | Form::Silent => say::line(&text),
        }
    }

    /// Takes the live display down and prints the table of the end.
    pub(super) fn finish(&mut self, summary: &Summary) {
        match &mut self.form {
            Form::Live { foot, .. } => foot.clear(),
            Form::Plain { .. } => {}
            Form::Silent => return,
        }
        say::text(&report::summary_table(summary));
    }

    /// Adds a row to that table; what is in it is safe to show.
    pub(super) fn add(&self, name: &str, text: &str) {
        if !matches!(self.form, Form::Silent) {
            say::text(&format!("{name:<15} {text}\n"));
        }
    }
}

fn live_form() -> Form {
    // See no-color.org: set and not empty.
    let colored = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Form::Live { foot: Foot::new(), colored }
}

fn can_redraw() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
