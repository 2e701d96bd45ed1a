//! `dragline normalize URL`

use clap::ArgMatches;
use dragline::config::Options;
use dragline::scope::canonical_rules;
use dragline::url::{Canonicalizer, without_userinfo};

use super::layers::{Layers, refuse_unused};
use super::{ExitCode, Failure, escape, print, say};

/// The shared options that matter here.
pub(super) const OPTIONS: [&str; 9] = [
    "sort-query",
    "strip-params",
    "strip-tracking",
    "strip-session-ids",
    "fold-www",
    "fold-https",
    "strip-trailing-slash",
    "keep-fragments",
    "max-url-length",
];

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The URL, as it would stand in a seed list
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    refuse_unused(matches, "normalize", &OPTIONS)?;
    let config = Layers::merge(arguments.options, matches, None)?.resolve()?;
    let canonicalizer = Canonicalizer::new(canonical_rules(&config.canonicalization));
    let target = canonicalizer.parse(&arguments.url).map_err(|reject| {
        Failure::new(ExitCode::Failed, format!("'{}': {reject}", without_userinfo(&arguments.url)))
    })?;
    if target.requested.len() > config.max_url_length {
        let message = format!("longer than --max-url-length {}", config.max_url_length);
        return Err(Failure::new(ExitCode::Failed, message));
    }
    print(&format!("{}\n", escape::escape(&target.canonical)))?;
    if has_userinfo(&arguments.url) {
        say::line("dragline: its user name and password are left out: they are never sent, nor told apart");
    }
    Ok(ExitCode::Done)
}

/// Whether a URL has a user name or a password in it, which a crawl drops.
pub(super) fn has_userinfo(text: &str) -> bool {
    url::Url::parse(text.trim())
        .is_ok_and(|url| url.has_host() && (!url.username().is_empty() || url.password().is_some()))
}
