//! The crawlers that are compared, each asked for the same: every page of the seed's host, no pause
//! between requests, robots.txt obeyed, and nothing kept that need not be.

use super::sites::Kind;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// A crawler.
pub(super) struct Side {
    /// What it is called here and, for peers, its program.
    pub(super) name: &'static str,
    /// It takes so long that it runs once, on a tenth of the synthetic site.
    pub(super) is_slow: bool,
    /// Completes its command line, for a seed and a folder that is its own.
    arguments: fn(&mut Command, &str, &Path) -> io::Result<()>,
}

/// Everything, ours first.
pub(super) fn all() -> Vec<Side> {
    vec![
        Side { name: "dragline", is_slow: false, arguments: dragline },
        Side { name: "wget2", is_slow: false, arguments: wget2 },
        Side { name: "wget", is_slow: false, arguments: wget },
        Side { name: "httrack", is_slow: true, arguments: httrack },
        Side { name: "scrapy", is_slow: true, arguments: scrapy },
    ]
}

impl Side {
    pub(super) fn is_ours(&self) -> bool {
        self.name == "dragline"
    }

    /// The environment variable that may name its program.
    pub(super) fn variable(&self) -> String {
        format!("DRAGLINE_BENCH_{}", self.name.to_uppercase())
    }

    pub(super) fn is_there(&self) -> bool {
        let mut command = Command::new(self.program());
        // Scrapy knows no --version, and says so by its exit code only
        let asked = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok()
    }

    /// What our time may be at most of its time.
    pub(super) fn bound(&self, kind: Kind) -> Option<f64> {
        match self.name {
            "dragline" => None,
            "wget2" if matches!(kind, Kind::Synthetic) => Some(0.7),
            _ => Some(1.0),
        }
    }

    pub(super) fn command(&self, seed: &str, folder: &Path) -> io::Result<Command> {
        let mut command = Command::new(self.program());
        command.current_dir(folder);
        (self.arguments)(&mut command, seed, folder)?;
        Ok(command)
    }

    fn program(&self) -> OsString {
        if self.is_ours() {
            return env!("CARGO_BIN_EXE_dragline").into();
        }
        std::env::var_os(self.variable()).unwrap_or_else(|| self.name.into())
    }
}

/// As a user runs it: with its state, its records and its fingerprints of pages.
#[expect(clippy::unnecessary_wraps, reason = "as the others do")]
fn dragline(command: &mut Command, seed: &str, folder: &Path) -> io::Result<()> {
    command.arg("crawl").arg(seed);
    command.args(["--delay", "0s", "--allow-private", "--progress", "none", "-o"]).arg(folder.join("crawl"));
    Ok(())
}

/// It reads links from what it has written, so a file has to be; it is deleted at once. With more
/// connections than its usual five it is no cheaper.
#[expect(clippy::unnecessary_wraps, reason = "as the others do")]
fn wget2(command: &mut Command, seed: &str, _: &Path) -> io::Result<()> {
    command.args(["-q", "-r", "--level=0", "--delete-after", "--no-hsts"]).arg(seed);
    Ok(())
}

/// The same, over the one connection that it has.
#[expect(clippy::unnecessary_wraps, reason = "as the others do")]
fn wget(command: &mut Command, seed: &str, _: &Path) -> io::Result<()> {
    command.args(["-q", "-r", "--level=0", "--delete-after", "--no-hsts"]).arg(seed);
    Ok(())
}

/// Only to look for links (`-p0`): no files, no cache, no index, no logs. Its limits on rate and
/// number of connections are lifted, and it keeps connections open. With more than its usual 8
/// sockets it does no better.
#[expect(clippy::unnecessary_wraps, reason = "as the others do")]
fn httrack(command: &mut Command, seed: &str, folder: &Path) -> io::Result<()> {
    command.arg(seed).arg("-O").arg(folder);
    command.args([
        "-q",
        "-Q",
        "-p0",
        "-C0",
        "-I0",
        "-%k",
        "-s2",
        "-c8",
        "-%!",
        "-%c0",
        "-A0",
        "-#L100000000",
    ]);
    Ok(())
}

/// The spider that its manual recommends for whole sites, which keeps nothing; it stops after some
/// pages, for all of them would take it the better part of an hour.
fn scrapy(command: &mut Command, seed: &str, folder: &Path) -> io::Result<()> {
    std::fs::write(folder.join("spider.py"), include_str!("spider.py"))?;
    command.args(["runspider", "spider.py", "-s", "CLOSESPIDER_PAGECOUNT=2000", "-a"]);
    command.arg(format!("seed={seed}"));
    Ok(())
}
