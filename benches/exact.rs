//! The exact stage on disk, and what doubts cost the owner.
//!
//! `--keys 50M` sets the number of keys (10 million), `--part stage` or `--part doubts` runs one of
//! the two alone, `--quick` does with fewer. Processor time of this thread; peak of the resident
//! memory of the process, all of the benchmark's own included.
#![allow(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![allow(unsafe_code, reason = "the standard library does not tell a thread its processor time")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dragline::config::{Dedup, FilterKind};
use dragline::model::{Candidate, UrlKey, Via};
use dragline::store::FileSystem;
use dragline::visited::{
    Answer, DiskKeys, DiskKeysSettings, DiskSettings, Due, ExactKeys, Otherwise, Pace, Place, Settling,
    Sizing, Visited, VisitedSettings, worth_settling,
};

/// Links of a page.
const LINKS: u64 = 60;
/// Keys that are asked at once at most: a crawl asks as many as are worth it, some millions with 50M
/// keys; so many leave room, within the bound on memory, for what the bench holds beside the stage.
const MOST_ASKED: u64 = 300_000;
/// Bounds.
const STAGE_BOUND: f64 = 0.2;
const DOUBTS_BOUND: f64 = 0.5;
/// Pages that are made up at a time, beside the clock.
const PAGES: usize = 256;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let after = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).map(String::as_str)
    };
    let keys = match after("--keys") {
        Some(text) => match text.strip_suffix('M') {
            Some(millions) => millions.parse::<u64>()? * 1_000_000,
            None => text.parse()?,
        },
        None if quick => 1_000_000,
        None => 10_000_000,
    };
    let part = after("--part").unwrap_or("both");
    if part != "doubts" {
        stage(keys)?;
    }
    if part != "stage" {
        doubts(keys, quick)?;
    }
    Ok(())
}

/// Distinct well-mixed keys, as hashes of distinct URLs are.
fn key(number: u64) -> UrlKey {
    let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}

fn place(directory: &Path) -> Place {
    Place { storage: Arc::new(FileSystem), directory: directory.to_owned() }
}

/// Appends keys by pages, and asks for as many in bulk whenever that is worth it.
fn stage(keys: u64) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let settings = DiskKeysSettings { batch_bytes: 1 << 20, fence_bytes: 1 << 20 };
    let mut exact = DiskKeys::create(place(directory.path()), settings);
    let mut random = Random(88_172_645_463_325_252);
    let (mut appending, mut asking, mut slowest) = (0.0, 0.0, 0.0_f64);
    let (mut pending, mut asked, mut next, mut disk) = (0, 0, 0, 0);
    let (mut batch, mut unseen) = (Vec::new(), Vec::new());
    while next < keys {
        batch.clear();
        batch.extend((next..(next + LINKS * PAGES as u64).min(keys)).map(key));
        for page in batch.chunks(LINKS as usize) {
            let clock = Clock::start();
            exact.append(page)?;
            let time = clock.microseconds();
            appending += time;
            slowest = slowest.max(time);
        }
        next += batch.len() as u64;
        pending += batch.len() as u64;
        if next.is_multiple_of(LINKS * PAGES as u64 * 64) {
            disk = disk.max(on_disk(directory.path())?);
        }
        let most = worth_settling(exact.lookup_cost()).min(MOST_ASKED);
        while pending >= most || (next >= keys && pending > 0) {
            // one of eight is unseen
            let count = pending.min(most);
            let numbers: Vec<u64> = (0..count)
                .map(|_| random.below(next) + u64::from(random.below(8) == 0) * (1 << 40))
                .collect();
            batch.clear();
            batch.extend(numbers.iter().copied().map(key));
            let clock = Clock::start();
            exact.find_unseen(&batch, &mut unseen)?;
            asking += clock.microseconds();
            let mut first = std::collections::HashSet::new();
            for (number, unseen) in numbers.iter().zip(&unseen) {
                assert_eq!(*unseen, *number >= 1 << 40 && first.insert(*number), "the answers are exact");
            }
            pending -= count;
            asked += count;
        }
    }
    assert_eq!(exact.len(), keys);
    let peak = peak_mebibytes();
    let clock = Clock::start();
    while exact.idle_work(Duration::from_millis(10))? {}
    let rest = clock.microseconds();
    exact.prepare_checkpoint()?;
    exact.checkpoint_done()?;
    println!("exact stage: {keys} keys appended by pages of {LINKS}, {asked} asked in bulk, 7 of 8 seen");
    row("append, merges included", appending / keys as f64, "µs a key", None);
    row("merges left over", rest / keys as f64, "µs a key", None);
    row("ask", asking / asked as f64, "µs a key", None);
    let all = (appending + asking + rest) / (keys + asked) as f64;
    row("all, for a key that is appended or asked", all, "µs a key", Some(STAGE_BOUND));
    row("the slowest page of keys", slowest / 1e3, "ms", None);
    row("runs", exact.lookup_cost().runs as f64, "", None);
    row("peak resident memory", peak, "MiB", Some(16.0));
    row("of it counted by the stage", exact.memory_bytes() as f64 / f64::from(1 << 20), "MiB", None);
    row("on disk at the end", on_disk(directory.path())? as f64 / keys as f64, "B a key", Some(9.0));
    row("on disk at most, merges under way", disk as f64 / keys as f64, "B a key", None);
    Ok(())
}

/// Pages of links, 98 of 100 to known URLs anywhere, against far more keys than the table holds.
fn doubts(keys: u64, quick: bool) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let settings = VisitedSettings {
        dedup: Dedup::TwoStage,
        sizing: Sizing::from_bits_per_url(FilterKind::Blocked, keys * 11 / 10, 10.0)?,
        table_bytes: 1 << 20,
    };
    let disk = DiskSettings {
        place: place(directory.path()),
        keys: DiskKeysSettings { batch_bytes: 1 << 20, fence_bytes: 1 << 20 },
        doubts_bytes: 1 << 20,
        settle_bytes: 1 << 20,
    };
    let mut visited = Visited::create(&settings, &disk)?;
    for start in (0..keys).step_by(4096) {
        let batch: Vec<UrlKey> = (start..(start + 4096).min(keys)).map(key).collect();
        visited.replay_new(&batch)?;
    }
    let mut owner = Owner::new(visited, keys);
    let candidates =
        (4 * worth_settling(owner.visited.lookup_cost())).max(if quick { 100_000 } else { 1 << 20 });
    let mut random = Random(88_172_645_463_325_252);
    while owner.asked < candidates {
        owner.pages(&mut random)?;
    }
    let (all, pages) = (owner.asked as f64, owner.asked as f64 / LINKS as f64);
    println!(
        "owner with doubts: {keys} keys, table for {}, {LINKS} links a page, 98 % repeats",
        (1 << 20) * 10 / 94
    );
    row("candidates", all, "", None);
    row("pages", pages, "", None);
    row("of the candidates, doubts", owner.doubts as f64 / all * 100.0, "%", None);
    row("of the doubts, settled", owner.settled as f64 / owner.doubts as f64 * 100.0, "%", None);
    row("rescued", owner.rescued as f64, "", None);
    row("ask", owner.asking / all, "µs a candidate", None);
    row("doubt", owner.doubting / all, "µs a candidate", None);
    let unsettled = owner.settling / owner.settled.max(1) as f64 * owner.doubts as f64;
    row("settle", unsettled / all, "µs a candidate", None);
    row("all", (owner.asking + owner.doubting + unsettled) / all, "µs a candidate", Some(DOUBTS_BOUND));
    row("the slowest step of settling", owner.slowest / 1e3, "ms", None);
    row("doubts on disk at most", owner.disk as f64 / f64::from(1 << 20), "MiB", None);
    row("a doubt on disk", owner.bytes_each, "B", None);
    row("files of doubts at most", owner.files as f64, "", None);
    let filter = settings.sizing.bytes() as f64 / f64::from(1 << 20);
    row("peak resident memory, without the filter", peak_mebibytes() - filter, "MiB", None);
    Ok(())
}

struct Owner {
    visited: Visited,
    pace: Pace,
    next: u64,
    asked: u64,
    doubts: u64,
    settled: u64,
    rescued: u64,
    asking: f64,
    doubting: f64,
    settling: f64,
    slowest: f64,
    disk: u64,
    bytes_each: f64,
    files: usize,
}

impl Owner {
    fn new(visited: Visited, next: u64) -> Self {
        Owner {
            visited,
            pace: Pace::new(0.5, 4 << 20),
            next,
            asked: 0,
            doubts: 0,
            settled: 0,
            rescued: 0,
            asking: 0.0,
            doubting: 0.0,
            settling: 0.0,
            slowest: 0.0,
            disk: 0,
            bytes_each: 0.0,
            files: 0,
        }
    }

    fn pages(&mut self, random: &mut Random) -> Result<(), Failure> {
        let pages: Vec<Vec<Candidate>> = (0..PAGES).map(|_| self.page(random)).collect();
        let mut answers = Vec::new();
        for page in pages {
            let keys: Vec<UrlKey> = page.iter().map(|candidate| candidate.key).collect();
            let clock = Clock::start();
            self.visited.ask(&keys, &mut answers)?;
            self.asking += clock.microseconds();
            let clock = Clock::start();
            for (candidate, _) in page.iter().zip(&answers).filter(|(_, answer)| **answer == Answer::Doubt) {
                self.visited.doubt(candidate)?;
                self.doubts += 1;
            }
            self.doubting += clock.microseconds();
            self.asked += page.len() as u64;
            self.settle()?;
        }
        let spool = self.visited.doubts();
        if spool.disk_bytes() > self.disk {
            self.disk = spool.disk_bytes();
            self.bytes_each = self.disk as f64 / spool.len() as f64;
        }
        self.files = self.files.max(spool.files());
        Ok(())
    }

    /// What a turn of the loop does for settling.
    fn settle(&mut self) -> Result<(), Failure> {
        let clock = Clock::start();
        let now = Duration::from_secs_f64((self.asking + self.doubting + self.settling) / 1e6);
        let (pending, cost) = (self.visited.doubts().len(), self.visited.lookup_cost());
        if self.pace.due(now, pending, cost, self.visited.settling().is_some(), Otherwise::Busy) != Due::Now {
            return Ok(());
        }
        self.visited.freeze()?;
        if let Settling::Decided(slice, _) = self.visited.settle(Duration::from_millis(10))? {
            let keys: Vec<UrlKey> = slice.rescued.iter().map(|rescued| rescued.candidate.key).collect();
            self.visited.commit(slice.up_to, &keys)?;
            self.settled += slice.decided;
            self.rescued += keys.len() as u64;
        }
        let time = clock.microseconds();
        self.pace.spent(Duration::from_secs_f64(time / 1e6));
        self.settling += time;
        self.slowest = self.slowest.max(time);
        Ok(())
    }

    fn page(&mut self, random: &mut Random) -> Vec<Candidate> {
        let referrer: Arc<str> = url(random.below(self.next)).into();
        let links = 0..LINKS;
        links
            .map(|_| {
                let new = random.below(50) == 0;
                let number = if new { self.next } else { random.below(self.next) };
                self.next += u64::from(new);
                let url = url(number);
                let origin_length = url[8..].find('/').map_or(0, |end| end + 8) as u16;
                Candidate {
                    url: url.into(),
                    origin_length,
                    key: key(number),
                    depth: 3,
                    via: Via::Link,
                    hops: 0,
                    carries_scope: false,
                    referrer: Some(referrer.clone()),
                }
            })
            .collect()
    }
}

/// A URL of about 80 bytes.
fn url(number: u64) -> String {
    let host = key(number) % 1000;
    format!(
        "http://h{host}.site.test/section/{}/articles/of-the-year/{number:012}/index-of-it.html",
        number % 97
    )
}

fn row(name: &str, value: f64, unit: &str, bound: Option<f64>) {
    let bound = bound.map_or(String::new(), |bound| format!("  (at most {bound})"));
    println!("  {name:<56}{value:>14.3} {unit}{bound}");
}

fn on_disk(directory: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// The most resident memory that this process ever had; 0 where that is not told.
fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}

/// Processor time of this thread where the system tells it, else time as it passes.
struct Clock {
    processor: Option<u64>,
    passed: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { processor: processor_time(), passed: Instant::now() }
    }

    fn microseconds(&self) -> f64 {
        match (self.processor, processor_time()) {
            (Some(start), Some(end)) => (end - start) as f64 / 1e3,
            _ => self.passed.elapsed().as_secs_f64() * 1e6,
        }
    }
}

/// Nanoseconds of processor time of this thread.
#[cfg(unix)]
fn processor_time() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (told == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Not told here.
#[cfg(not(unix))]
fn processor_time() -> Option<u64> {
    None
}
