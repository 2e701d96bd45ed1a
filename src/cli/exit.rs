//! The exit codes, in their only place, and the error that carries one.

use std::fmt::Write;
use std::io;

use dragline::config::ConfigError;
use dragline::engine::{
    CoreError, CrawlError, ExplainError, NearDuplicatesError, SetupError, StatusError, TogetherError,
};
use dragline::sink::DirectoryError;
use dragline::stats::EndReason;
use dragline::store::StateError;

/// How the process ends. The numbers are promised to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitCode {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Configuration = 3,
    DirectoryInUse = 4,
    AlreadyComplete = 5,
    StateDamaged = 6,
    DiskFull = 7,
    NothingFetched = 8,
    Disallowed = 9,
    Signal = 10,
    PageLimit = 11,
    TimeLimit = 12,
    SizeLimit = 13,
}

impl ExitCode {
    /// Every code, in the order of display.
    const ALL: [ExitCode; 14] = [
        ExitCode::Done,
        ExitCode::Failed,
        ExitCode::Usage,
        ExitCode::Configuration,
        ExitCode::DirectoryInUse,
        ExitCode::AlreadyComplete,
        ExitCode::StateDamaged,
        ExitCode::DiskFull,
        ExitCode::NothingFetched,
        ExitCode::Disallowed,
        ExitCode::Signal,
        ExitCode::PageLimit,
        ExitCode::TimeLimit,
        ExitCode::SizeLimit,
    ];

    fn describe(self) -> &'static str {
        match self {
            ExitCode::Done => "done",
            ExitCode::Failed => {
                "anything not named below; normalize: the URL cannot be crawled; robots: no verdict; explain: not known"
            }
            ExitCode::Usage => "bad usage: the command line cannot be understood, or no seed is left",
            ExitCode::Configuration => "bad configuration: a value, a file or a directory cannot be used",
            ExitCode::DirectoryInUse => "the crawl directory is in use, or holds an unfinished crawl",
            ExitCode::AlreadyComplete => "the crawl in the directory is already complete",
            ExitCode::StateDamaged => "the state in the crawl directory is damaged",
            ExitCode::DiskFull => "stopped: the disk is full",
            ExitCode::NothingFetched => "nothing could be fetched",
            ExitCode::Disallowed => "robots: the URL is disallowed",
            ExitCode::Signal => "stopped by a signal",
            ExitCode::PageLimit => "stopped at --max-pages",
            ExitCode::TimeLimit => "stopped at --max-time",
            ExitCode::SizeLimit => "stopped at a size limit",
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        (code as u8).into()
    }
}

impl From<EndReason> for ExitCode {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::Done => ExitCode::Done,
            EndReason::Signal => ExitCode::Signal,
            EndReason::PageLimit => ExitCode::PageLimit,
            EndReason::TimeLimit => ExitCode::TimeLimit,
            EndReason::SizeLimit => ExitCode::SizeLimit,
            EndReason::DiskFull => ExitCode::DiskFull,
            EndReason::StateDamaged => ExitCode::StateDamaged,
            EndReason::NothingFetched => ExitCode::NothingFetched,
            _ => ExitCode::Failed,
        }
    }
}

/// The table of exit codes, as `--help` shows it.
pub(super) fn table() -> String {
    let mut text = String::from("Exit codes:\n");
    for code in ExitCode::ALL {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {:>3}  {}", code as u8, code.describe());
    }
    // What shells report of a process that an interrupt has ended: the library leaves so.
    text + "  130  left at the third interrupt, without a summary\n"
}

/// Why a command ends without having done its work.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: ExitCode,
    /// One line that names the thing and the remedy.
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(code: ExitCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    /// A write that failed; a full disk has its own code.
    pub(super) fn writing(what: &str, error: &io::Error) -> Failure {
        if is_full(error) {
            let message = format!("{what}: the disk is full; make room, or give another --output");
            return Failure::new(ExitCode::DiskFull, message);
        }
        Failure::new(ExitCode::Failed, format!("{what}: cannot be written ({error})"))
    }

    /// Names what can be done about damage, where the message does not.
    pub(super) fn with_remedy(mut self) -> Failure {
        if self.code == ExitCode::StateDamaged && !self.message.contains("; ") {
            self.message.push_str(REMEDY);
        }
        self
    }
}

/// What can be done about a damaged crawl directory.
const REMEDY: &str = "; restore the directory from a copy, or begin another crawl with another --output \
    (what pages.jsonl holds can be read all the same)";

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure::new(ExitCode::Configuration, error.to_string())
    }
}

impl From<DirectoryError> for Failure {
    fn from(error: DirectoryError) -> Failure {
        let code = match &error {
            DirectoryError::State(error) => state(error),
            DirectoryError::Complete(_) | DirectoryError::NothingLeft(_) => ExitCode::AlreadyComplete,
            DirectoryError::Unfinished(_) | DirectoryError::InUse { .. } => ExitCode::DirectoryInUse,
            DirectoryError::Io { source, .. } if is_full(source) => ExitCode::DiskFull,
            _ => ExitCode::Configuration,
        };
        Failure::new(code, error.to_string()).with_remedy()
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Failure {
        match error {
            SetupError::Directory(error) => error.into(),
            SetupError::State(error) => error.into(),
            SetupError::Core(error) if error.is_disk_full() => {
                let message = format!("{error}; make room, and run the same command again");
                Failure::new(ExitCode::DiskFull, message)
            }
            SetupError::Core(error) => core(&error),
            SetupError::Stopped => Failure::new(ExitCode::Signal, error.to_string()),
            SetupError::NoSeeds | SetupError::NoSeedLeft(_) => {
                Failure::new(ExitCode::Usage, error.to_string())
            }
            error => Failure::new(ExitCode::Configuration, error.to_string()),
        }
    }
}

/// What it means that the state cannot be used.
fn state(error: &StateError) -> ExitCode {
    match error {
        StateError::Io { .. } if error.is_disk_full() => ExitCode::DiskFull,
        StateError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            ExitCode::Configuration
        }
        StateError::Io { .. } => ExitCode::Failed,
        StateError::Damaged { .. } | StateError::Newer { .. } | StateError::Older { .. } => {
            ExitCode::StateDamaged
        }
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Failure {
        let code = state(&error);
        let remedy = match code {
            ExitCode::DiskFull => "; make room, and run the same command again",
            _ => "",
        };
        Failure::new(code, format!("{error}{remedy}")).with_remedy()
    }
}

impl From<ExplainError> for Failure {
    fn from(error: ExplainError) -> Failure {
        match error {
            ExplainError::State(error) => error.into(),
            error => Failure::new(ExitCode::Configuration, error.to_string()),
        }
    }
}

impl From<TogetherError> for Failure {
    fn from(error: TogetherError) -> Failure {
        match error {
            TogetherError::State(error) => error.into(),
            TogetherError::Sketches(error) => error.into_state().into(),
            TogetherError::Write { file, source } => Failure::writing(&file.display().to_string(), &source),
            error => Failure::new(ExitCode::Configuration, error.to_string()),
        }
    }
}

impl From<StatusError> for Failure {
    fn from(error: StatusError) -> Failure {
        match error {
            StatusError::State(error) => error.into(),
            error => Failure::new(ExitCode::Configuration, error.to_string()),
        }
    }
}

impl From<NearDuplicatesError> for Failure {
    fn from(error: NearDuplicatesError) -> Failure {
        match error {
            NearDuplicatesError::State(error) => error.into(),
            error => Failure::new(ExitCode::Configuration, error.to_string()),
        }
    }
}

/// What ends a crawl before its time.
fn core(error: &CoreError) -> Failure {
    if error.is_disk_full() {
        let message = format!("{error}; make room, then 'dragline resume' goes on");
        return Failure::new(ExitCode::DiskFull, message);
    }
    match error {
        CoreError::Sink(source) => Failure::writing("results", source),
        _ if error.is_damage() => Failure::new(ExitCode::StateDamaged, error.to_string()).with_remedy(),
        _ => Failure::new(error.state().map_or(ExitCode::Failed, state), error.to_string()),
    }
}

impl From<CrawlError> for Failure {
    fn from(error: CrawlError) -> Failure {
        core(&error.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_number_once() {
        let table = table();
        for code in ExitCode::ALL {
            let rows =
                table.lines().filter(|line| line.starts_with(&format!("  {:>3}  ", code as u8))).count();
            assert_eq!(rows, 1, "{code:?}");
        }
    }

    #[test]
    fn the_readme_has_the_same_table() {
        let readme = include_str!("../../README.md").replace('`', "");
        for row in table().lines().skip(1) {
            let (code, text) = row.trim().split_once("  ").expect("a code and its text");
            assert!(readme.contains(&format!("\n| {code} | {text} |\n")), "{row}");
        }
    }

    #[test]
    fn damage_names_one_remedy() {
        let damaged = |problem| Failure::from(StateError::damaged("state/log".as_ref(), 3, problem));
        let bare = damaged("it ends too early");
        assert_eq!(bare.code, ExitCode::StateDamaged);
        assert!(bare.message.contains("restore the directory") && bare.message.contains("pages.jsonl"));
        let told = damaged("it is another one; put it back as it was").message;
        assert!(!told.contains("restore the directory"), "{told}");
        let other = Failure::new(ExitCode::Failed, "no damage").with_remedy();
        assert_eq!(other.message, "no damage");
    }

    #[test]
    fn a_full_disk_has_its_own_code() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(Failure::writing("x", &full).code, ExitCode::DiskFull);
        let other = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(Failure::writing("x", &other).code, ExitCode::Failed);
    }
}
