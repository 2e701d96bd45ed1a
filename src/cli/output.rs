//! The crawl directory before a crawl: claimed by a lock, never overwritten
//! unasked, never mistaken for a directory of somebody else's.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{ExitCode, Failure};

/// What a crawl leaves beside `state/`; `--fresh` deletes these and nothing else.
const FILES: [&str; 7] = [
    "crawl.toml",
    "pages.jsonl",
    "skipped.jsonl",
    "links.jsonl",
    "stats.jsonl",
    "summary.json",
    "report.html",
];

/// A crawl directory that no other process can claim as long as this lives.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    /// Whether the directory was made here, and so may be unmade.
    created: bool,
    /// The lock; released with the file.
    _lock: File,
}

impl Output {
    /// Claims a directory, making it where it does not exist.
    pub(super) fn claim(path: &Path, fresh: bool) -> Result<Output, Failure> {
        let created = !path.exists();
        if !created {
            refuse_strangers(path)?;
        }
        let state = path.join("state");
        fs::create_dir_all(&state).map_err(|error| unusable(path, &error))?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(state.join("lock"))
            .map_err(|error| unusable(path, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "{}: in use by another dragline; wait for it, or give another --output",
                    path.display()
                );
                return Err(Failure::new(ExitCode::DirectoryInUse, message));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(path, &error)),
        }
        if !fresh {
            refuse_crawls(path)?;
        }
        Ok(Output {
            path: path.to_owned(),
            created,
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where seeds are collected until it is certain that the crawl begins.
    pub(super) fn incoming_seeds(&self) -> PathBuf {
        self.path.join("state/seeds.new")
    }

    /// Where the seeds of the crawl are.
    pub(super) fn seeds(&self) -> PathBuf {
        self.path.join("state/seeds")
    }

    /// Begins the crawl: deletes what an earlier one left, puts the seeds and
    /// the frozen configuration in their places.
    pub(super) fn begin(&self, configuration: &str) -> Result<(), Failure> {
        let failed = |error| Failure::writing(&self.path.display().to_string(), &error);
        self.clear().map_err(failed)?;
        fs::rename(self.incoming_seeds(), self.seeds()).map_err(failed)?;
        write_private(&self.path.join("crawl.toml"), configuration).map_err(failed)
    }

    /// Leaves the directory as it was found.
    pub(super) fn withdraw(self) {
        // Whatever cannot be deleted is empty and harms nobody.
        let _ = fs::remove_file(self.incoming_seeds());
        if self.created {
            let _ = fs::remove_file(self.path.join("state/lock"));
            let _ = fs::remove_dir(self.path.join("state"));
            let _ = fs::remove_dir(&self.path);
        }
    }

    fn clear(&self) -> io::Result<()> {
        // The configuration marks a crawl that has begun, so it goes last.
        for name in FILES.iter().rev() {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        for entry in fs::read_dir(self.path.join("state"))? {
            let entry = entry?;
            if entry.file_name() == "lock" || entry.file_name() == "seeds.new" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// A configuration may hold cookies and passwords: only its owner reads it.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    let message = format!(
        "--output {}: cannot be written ({error}); give a directory that can",
        path.display()
    );
    Failure::new(ExitCode::Configuration, message)
}

/// Refuses what exists and is neither empty nor a crawl directory.
fn refuse_strangers(path: &Path) -> Result<(), Failure> {
    if !path.is_dir() {
        let message = format!("--output {}: is no directory; give another", path.display());
        return Err(Failure::new(ExitCode::Configuration, message));
    }
    let ours = path.join("crawl.toml").is_file() || path.join("state/lock").is_file();
    let empty = fs::read_dir(path)
        .map_err(|error| unusable(path, &error))?
        .next()
        .is_none();
    if ours || empty {
        return Ok(());
    }
    let message = format!(
        "--output {}: holds files but no crawl; give an empty directory or a new one",
        path.display()
    );
    Err(Failure::new(ExitCode::Configuration, message))
}

/// Refuses a directory in which a crawl has begun.
fn refuse_crawls(path: &Path) -> Result<(), Failure> {
    if !FILES.iter().any(|name| path.join(name).exists()) {
        return Ok(());
    }
    let (code, what) = if is_complete(path) {
        (ExitCode::AlreadyComplete, "the crawl in it is already complete")
    } else {
        (ExitCode::DirectoryInUse, "holds a crawl that is not complete")
    };
    let message = format!(
        "{}: {what}; give another --output, or --fresh to delete it and start over",
        path.display()
    );
    Err(Failure::new(code, message))
}

fn is_complete(path: &Path) -> bool {
    let summary = fs::read(path.join("summary.json")).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap_or_default();
    summary["end_reason"] == "done"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(path: &Path, fresh: bool) -> Output {
        let output = Output::claim(path, fresh).expect("claimed");
        fs::write(output.incoming_seeds(), "http://a.test/\n").expect("written");
        output.begin("depth = 1\n").expect("begun");
        output
    }

    #[test]
    fn one_process_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/crawl");
        let output = Output::claim(&path, false).expect("claimed");
        assert_eq!(
            Output::claim(&path, true).expect_err("in use").code,
            ExitCode::DirectoryInUse
        );
        output.withdraw();
        assert!(!path.exists());
    }

    #[test]
    fn a_crawl_is_kept_unless_fresh_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("crawl");
        drop(begun(&path, false));
        fs::write(path.join("pages.jsonl"), "{}").expect("written");
        fs::write(path.join("notes.txt"), "mine").expect("written");
        fs::create_dir(path.join("state/runs")).expect("made");
        let refused = Output::claim(&path, false).expect_err("holds a crawl");
        assert_eq!(refused.code, ExitCode::DirectoryInUse);
        fs::write(path.join("summary.json"), r#"{"end_reason":"done"}"#).expect("written");
        let refused = Output::claim(&path, false).expect_err("complete");
        assert_eq!(refused.code, ExitCode::AlreadyComplete);
        let output = begun(&path, true);
        assert!(!path.join("pages.jsonl").exists() && !path.join("state/runs").exists());
        assert!(path.join("notes.txt").exists() && output.seeds().exists());
    }

    #[test]
    fn a_strangers_directory_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("thesis.txt"), "mine").expect("written");
        let refused = Output::claim(folder.path(), true).expect_err("a stranger's");
        assert_eq!(refused.code, ExitCode::Configuration);
        let file = Output::claim(&folder.path().join("thesis.txt"), false).expect_err("a file");
        assert_eq!(file.code, ExitCode::Configuration);
        let below = Output::claim(&folder.path().join("thesis.txt/x"), false).expect_err("below a file");
        assert_eq!(below.code, ExitCode::Configuration);
    }
}
