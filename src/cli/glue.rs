//! SEAM: what the commands need of modules that are written beside this one.
//! Each function stands for one call into the library.

use std::net::SocketAddr;
use std::path::Path;

use dragline::config::Config;
use dragline::stats::Summary;

use super::progress::Display;
use super::{ExitCode, Failure};

fn unavailable(what: &str) -> Failure {
    Failure::new(ExitCode::Failed, format!("{what}: not available in this build"))
}

/// The canonical form of a URL, or why it cannot be crawled (exit code `Failed`).
pub(super) fn canonical(_config: &Config, _url: &str) -> Result<String, Failure> {
    Err(unavailable("normalize"))
}

/// The verdict of a host's robots.txt on a URL and the line that decided it, as
/// text for standard output.
pub(super) fn robots(_config: &Config, _url: &str) -> Result<String, Failure> {
    Err(unavailable("robots"))
}

/// Whether a text is a URL that can be crawled; the reason names text and remedy.
pub(super) fn judge_seed(config: &Config, text: &str) -> Result<(), String> {
    let url = match url::Url::parse(text) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            return Err(format!("'{text}' has no scheme; write it as https://…"));
        }
        Err(error) => return Err(format!("'{text}' is no URL ({error}); mend or delete it")),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "'{text}' has the scheme '{}'; only http and https can be crawled",
            url.scheme()
        ));
    }
    if url.as_str().len() > config.max_url_length {
        return Err(format!(
            "'{text}' is longer than --max-url-length {}",
            config.max_url_length
        ));
    }
    Ok(())
}

/// Runs a crawl to its end.
pub(super) fn crawl(
    _config: &Config,
    _directory: &Path,
    _seeds: &Path,
    _display: &mut Display,
) -> Result<Summary, Failure> {
    Err(unavailable("crawl"))
}

/// A synthetic website that is being served.
#[derive(Debug)]
pub(super) struct Site {
    /// A seed for each host.
    pub(super) seeds: Vec<String>,
    /// The `--resolve` rules that lead to it.
    pub(super) resolve: Vec<String>,
}

/// Serves the synthetic website from this process.
pub(super) fn start_site(_pages: u64, _hosts: u64, _listen: SocketAddr) -> Result<Site, Failure> {
    Err(unavailable("demo"))
}

/// Serves the synthetic website until stopped.
pub(super) fn serve(_pages: u64, _hosts: u64, _listen: SocketAddr) -> Result<ExitCode, Failure> {
    Err(unavailable("demo --serve"))
}
