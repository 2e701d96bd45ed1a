//! Runs the binary and reads what it left; every finished crawl is held to the law of sums.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Whether tests that have a full size run at it.
pub(crate) fn full_sizes() -> bool {
    std::env::var("DRAGLINE_FULL_SIZES").is_ok_and(|value| value == "1")
}

/// The size of a test: `usual` ends within seconds, `full` is what `CONTRIBUTING.md` tells how to ask for.
pub(crate) fn size<Number>(usual: Number, full: Number) -> Number {
    if full_sizes() { full } else { usual }
}

/// A guard against hanging; no test measures a time by it.
pub(crate) fn guard() -> Duration {
    Duration::from_secs(size(240, 7200))
}

/// Says on a line of its own that a test could not run, and why, and counts it.
pub(crate) fn skipped(why: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let so_far = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // not `eprintln!`, which the test harness keeps to itself
    let _best_effort = writeln!(std::io::stderr(), "\nSKIPPED: {why} ({so_far} skipped so far)");
}

/// What one run of the binary left.
pub(crate) struct Run {
    /// The exit code; absent where a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it printed on stderr.
    pub(crate) stderr: String,
    /// The rows of `pages.jsonl`.
    pub(crate) pages: Vec<Value>,
    /// The rows of `skipped.jsonl`.
    pub(crate) skipped: Vec<Value>,
    /// `summary.json`.
    pub(crate) summary: Value,
}

/// The binary, on its own.
pub(crate) fn dragline() -> Command {
    program(env!("CARGO_BIN_EXE_dragline"))
}

/// A program with pipes: no proxy, no settings from the environment of whoever runs the tests.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    for (name, _) in std::env::vars_os() {
        let lower = name.to_string_lossy().to_lowercase();
        if lower.ends_with("_proxy") || lower.starts_with("dragline") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A crawl in a directory of its own, private addresses allowed, without delay: what most tests want.
pub(crate) fn crawl<Argument: AsRef<str>>(arguments: &[Argument]) -> Run {
    let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    crawl_guarded(&[&["--allow-private"], &arguments[..]].concat())
}

/// The same, with private addresses refused.
pub(crate) fn crawl_guarded(arguments: &[&str]) -> Run {
    let directory = TempDir::new().unwrap();
    let mut all = vec!["--log-skipped"];
    all.extend(arguments);
    if !all.contains(&"--delay") {
        all.extend(["--delay", "0s"]);
    }
    let run = crawl_into(&directory.path().join("crawl"), &all);
    assert_eq!(run.number("urls.in_flight"), 0, "nothing in flight at the end");
    run
}

/// A crawl with exactly these arguments, into `output`.
pub(crate) fn crawl_into<Argument: AsRef<str>>(output: &Path, arguments: &[Argument]) -> Run {
    finish(start(output, arguments), output)
}

/// Starts a crawl and leaves it running.
pub(crate) fn start<Argument: AsRef<str>>(output: &Path, arguments: &[Argument]) -> Child {
    let mut command = dragline();
    command.arg("crawl").args(arguments.iter().map(AsRef::as_ref)).arg("-o").arg(output);
    command.spawn().unwrap()
}

/// Goes on with the crawl in a directory, and leaves it running.
pub(crate) fn resume(output: &Path, further: &[&str]) -> Child {
    dragline().arg("resume").arg(output).args(further).spawn().unwrap()
}

/// Goes on with the crawl in a directory, to its end.
pub(crate) fn resumed(output: &Path, further: &[&str]) -> Run {
    finish(resume(output, further), output)
}

/// Interrupts a process, as Ctrl-C would.
pub(crate) fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Waits until something is so; `what` is told where it never is.
#[track_caller]
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < guard(), "never was so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends a process at once, as `kill -9` would.
pub(crate) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Copies a directory, which is not there yet, with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// How often each URL has a record; the last line may be torn as long as nobody has recovered the crawl.
pub(crate) fn records(output: &Path) -> BTreeMap<String, u32> {
    let mut records = BTreeMap::new();
    let text = std::fs::read(output.join("pages.jsonl")).unwrap_or_default();
    for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        let row: Value = serde_json::from_slice(line).unwrap();
        *records.entry(row["url"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    records
}

/// Waits for a crawl and reads what it left in `output`.
pub(crate) fn finish(mut child: Child, output: &Path) -> Run {
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let code = wait(&mut child);
    stdout.join().unwrap();
    Run::left_in(output, code, stderr.join().unwrap())
}

/// Reads a pipe to its end beside the waiting, so that a full pipe blocks nobody.
fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).unwrap();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a process; its exit code, where no signal ended it.
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if started.elapsed() > guard() {
            child.kill().unwrap();
            panic!("the crawl did not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The rows of a file of JSON lines; none where it is absent.
pub(crate) fn rows(path: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}"))).collect()
}

/// The same of a file that is being written: the rows that are whole.
pub(crate) fn rows_so_far(path: &Path) -> Vec<Value> {
    let text = std::fs::read(path).unwrap_or_default();
    let whole = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    whole.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// A file to give a process for its standard error, and what has been written to it so far.
pub(crate) fn telling(directory: &TempDir) -> (std::fs::File, impl Fn() -> String + use<>) {
    let path = directory.path().join("said");
    let file = std::fs::File::create(&path).unwrap();
    (file, move || String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned())
}

impl Run {
    /// Reads what a crawl left in `output`, and holds it to the law of sums where it ended in order.
    pub(crate) fn left_in(output: &Path, code: Option<i32>, stderr: String) -> Run {
        let run = Run {
            code,
            stderr,
            pages: rows(&output.join("pages.jsonl")),
            skipped: rows(&output.join("skipped.jsonl")),
            summary: std::fs::read(output.join("summary.json"))
                .map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap()),
        };
        if !run.summary.is_null() {
            run.check_sums();
        }
        run
    }

    /// A number of the summary by its path, `urls.discovered`; 0 where absent.
    pub(crate) fn number(&self, path: &str) -> u64 {
        let value = path.split('.').fold(&self.summary, |value, name| &value[name]);
        value.as_u64().unwrap_or(0)
    }

    /// The sum over an object of counters.
    fn total(&self, path: &str) -> u64 {
        let value = path.split('.').fold(&self.summary, |value, name| &value[name]);
        value.as_object().map_or(0, |all| all.values().filter_map(Value::as_u64).sum())
    }

    /// How many URLs were skipped for a reason, before and after queueing.
    pub(crate) fn skips(&self, reason: &str) -> u64 {
        self.number(&format!("urls.skipped_before_queue.{reason}"))
            + self.number(&format!("urls.skipped_after_queue.{reason}"))
    }

    /// That nothing was taken for a trap: no cap was met and no alarm raised.
    #[track_caller]
    pub(crate) fn check_no_traps(&self) {
        for reason in [
            "url_too_long",
            "too_many_links",
            "path_too_deep",
            "repeated_segments",
            "repeated_parameters",
            "query_variants",
            "too_many_subdomains",
            "trap",
        ] {
            assert_eq!(self.skips(reason), 0, "{reason}: {}", self.summary["urls"]);
        }
        assert_eq!(self.number("notes.traps"), 0, "{}", self.stderr);
    }

    /// The record of a URL as requested.
    #[track_caller]
    pub(crate) fn page(&self, url: &str) -> &Value {
        let found: Vec<&Value> = self.pages.iter().filter(|page| page["url"] == url).collect();
        assert_eq!(found.len(), 1, "records of {url} among {:?}", self.urls());
        found[0]
    }

    /// The requested URLs of all records, sorted.
    pub(crate) fn urls(&self) -> Vec<&str> {
        let mut urls: Vec<&str> = self.pages.iter().filter_map(|page| page["url"].as_str()).collect();
        urls.sort_unstable();
        urls
    }

    /// What decided that a URL was skipped, by its first row of `skipped.jsonl`.
    pub(crate) fn skip_detail(&self, url: &str) -> Option<&str> {
        self.skipped.iter().find(|row| row["url"] == url)?["detail"].as_str()
    }

    /// Why a URL was skipped, by its row of `skipped.jsonl`.
    pub(crate) fn skip_reason(&self, url: &str) -> Option<&str> {
        self.skipped.iter().find(|row| row["url"] == url).and_then(|row| row["reason"].as_str())
    }

    /// The numbers of the summary add up among themselves and with the files.
    #[track_caller]
    fn check_sums(&self) {
        let fetched = self.number("pages.fetched");
        assert_eq!(fetched, self.pages.len() as u64, "fetched = lines of pages.jsonl");
        assert_eq!(fetched, self.number("pages.ok") + self.number("pages.failed"), "fetched = ok + failed");
        let failed = self.pages.iter().filter(|page| !page["error"].is_null()).count();
        assert_eq!(self.number("pages.failed"), failed as u64, "failed = records with an error");
        assert_eq!(self.total("pages.by_error"), failed as u64, "failed = sum of by_error");
        let answered = self.pages.iter().filter(|page| !page["status"].is_null()).count();
        assert_eq!(self.total("pages.by_status"), answered as u64, "answers = sum of by_status");
        assert_eq!(
            self.number("urls.discovered"),
            self.number("urls.repeats")
                + self.total("urls.skipped_before_queue")
                + self.number("urls.unique")
                + self.number("urls.doubts_pending"),
            "discovered = repeats + skipped before the queue + unique + doubts pending: {}",
            self.summary["urls"]
        );
        assert_eq!(
            self.number("urls.unique"),
            fetched
                + self.total("urls.skipped_after_queue")
                + self.number("urls.queued")
                + self.number("urls.in_flight"),
            "unique = fetched + skipped after the queue + queued + in flight: {}",
            self.summary["urls"]
        );
        self.check_rows();
    }

    /// One record per page, one row per skip where rows were asked for.
    #[track_caller]
    fn check_rows(&self) {
        let mut seen = BTreeSet::new();
        for page in &self.pages {
            let key = if page["canonical"].is_null() { &page["url"] } else { &page["canonical"] };
            assert!(seen.insert(key.to_string()), "two records of {key}");
        }
        if self.skipped.is_empty() {
            return;
        }
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &self.skipped {
            let reason = row["reason"].as_str().unwrap();
            // One row stands for all that a page has too many of, and begins with their number.
            let links = match reason {
                "too_many_links" => {
                    row["detail"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap()
                }
                _ => 1,
            };
            *counted.entry(reason).or_default() += links;
        }
        let before = self.summary["urls"]["skipped_before_queue"].as_object().unwrap();
        let after = self.summary["urls"]["skipped_after_queue"].as_object().unwrap();
        for reason in before.keys().chain(after.keys()) {
            let rows = counted.get(reason.as_str()).copied().unwrap_or_default();
            assert_eq!(rows, self.skips(reason), "rows and counter of {reason}");
        }
    }
}
