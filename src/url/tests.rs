//! The cases that others have met, and the laws that hold for every URL.

mod cases;
mod laws;

use super::{Canonicalizer, Rules, Target};

/// The target of an absolute URL under the default rules.
fn plain(text: &str) -> Target {
    under(Rules::default(), text)
}

/// The target of an absolute URL under some rules.
fn under(rules: Rules, text: &str) -> Target {
    Canonicalizer::new(rules).parse(text).unwrap_or_else(|reject| panic!("{text}: {reject}"))
}

/// The rules with one switch on, by its name on the command line.
fn with_switch(name: &str) -> Rules {
    let mut rules = Rules::default();
    match name {
        "sort-query" => rules.sort_query = true,
        "strip-tracking" => rules.strip_tracking = true,
        "strip-session-ids" => rules.strip_session_ids = true,
        "fold-www" => rules.fold_www = true,
        "fold-https" => rules.fold_https = true,
        "strip-trailing-slash" => rules.strip_trailing_slash = true,
        "keep-fragments" => rules.keep_fragments = true,
        other => panic!("no switch is called {other}"),
    }
    rules
}
