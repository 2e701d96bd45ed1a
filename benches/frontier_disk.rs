//! What a queued candidate costs on disk: pushed, claimed and acknowledged.
//!
//! Two crawls in turn, each at a tenth of its size first: over 1,000 hosts, each with a queue of
//! its own, and over 1,000,000 hosts, which share the buckets but for those that are open. Links
//! come in pages of 50, four in five of them to the host of the page; hosts by Zipf's law. While
//! a page is pushed, one in ten candidates is taken already; then the rest is taken.
//!
//! Processor time of this thread, less that of the same run without a frontier (making up URLs,
//! choosing hosts, finding the number of a host's queue). Each size runs in a process of its own,
//! so that its memory can be told.
//!
//! `--candidates 100M` for another size, `--memory 8MiB` for another share, `--quick` for less.
#![allow(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![allow(unsafe_code, reason = "the standard library does not tell a thread its processor time")]

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;

use dragline::budget::peak_resident_bytes;
use dragline::frontier::{
    BUCKETS, Claimed, DiskFrontier, DiskSettings, Frontier, FrontierError, QueueId, Ticket,
};
use dragline::model::{Candidate, Via};
use dragline::store::{Encoder, FileSystem};

/// Links of a page.
const LINKS: u64 = 50;
/// Of these, the ones to another host.
const AWAY: u64 = 10;
/// Candidates claimed at once.
const CLAIM: usize = 16;
/// Hosts that may have a queue of their own at once, where there are too many for all.
const OPEN: usize = 2_048;
/// The share of the frontier, in bytes: what stays below the bound of 32 MiB for the process.
const SHARE: u64 = 24 << 20;
/// Candidates pushed between two checkpoints: what some 100 MB of log hold.
const CHECKPOINT: u64 = 1_000_000;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).and_then(|value| number(value))
    };
    let memory = value("--memory").unwrap_or(SHARE);
    if let (Some(hosts), Some(candidates)) = (value("--hosts"), value("--run")) {
        return one_run(hosts, candidates, memory);
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let candidates = value("--candidates").unwrap_or(if quick { 1_000_000 } else { 10_000_000 });
    println!("pages of {LINKS} links; share of the frontier {} KiB", memory >> 10);
    println!("processor time a candidate, pushed + claimed + acknowledged, without making it up");
    println!(
        "{:>10}{:>12}{:>10}{:>12}{:>12}{:>14}{:>12}{:>12}{:>8}{:>9}",
        "hosts",
        "candidates",
        "CPU",
        "of it push",
        "making it",
        "its memory",
        "peak RSS",
        "disk each",
        "files",
        "moved"
    );
    for hosts in [1_000, 1_000_000] {
        for size in [candidates / 10, candidates] {
            let this = std::env::current_exe()?;
            let arguments = ["--hosts", "--run", "--memory"].into_iter().zip([hosts, size, memory]);
            let mut command = Command::new(this);
            for (name, value) in arguments {
                command.arg(name).arg(value.to_string());
            }
            if !command.status()?.success() {
                return Err("a run failed".into());
            }
        }
    }
    Ok(())
}

/// `10M`, `8MiB`, `1000`.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn one_run(hosts: u64, candidates: u64, memory: u64) -> Result<(), Failure> {
    let start = processor_time();
    let idle = Nothing::default().run(hosts, candidates)?;
    let making = processor_time() - start;
    let directory = tempfile::tempdir()?;
    let frontier =
        DiskFrontier::create(Arc::new(FileSystem), directory.path(), DiskSettings::within(memory))?;
    let start = processor_time();
    let mut crawl = Crawl::new(frontier, hosts);
    let done = crawl.run(hosts, candidates)?;
    let time = processor_time() - start;
    assert_eq!((done.0, done.1), (candidates, idle.1), "every candidate came out once");
    let each = |time: u64| time as f64 / 1e3 / candidates as f64;
    println!(
        "{hosts:>10}{candidates:>12}{:>7.3} µs{:>9.3} µs{:>9.3} µs{:>10.1} MiB{:>8.1} MiB{:>10.1} B{:>8}{:>9.2}",
        each(time.saturating_sub(making)),
        each(crawl.pushing.saturating_sub(idle.2)),
        each(making),
        crawl.memory as f64 / f64::from(1 << 20),
        peak_resident_bytes().unwrap_or_default() as f64 / f64::from(1 << 20),
        crawl.disk as f64 / crawl.queued as f64,
        crawl.files,
        crawl.moved as f64 / candidates as f64,
    );
    Ok(())
}

/// Makes up pages.
struct Site {
    hosts: u64,
    random: u64,
    next: u64,
    text: String,
    referrer: Option<Arc<str>>,
    page_host: u64,
}

impl Site {
    fn new(hosts: u64) -> Self {
        Self {
            hosts,
            random: 88_172_645_463_325_252,
            next: 0,
            text: String::new(),
            referrer: None,
            page_host: 0,
        }
    }

    /// A host by Zipf's law.
    fn host(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let even = (self.random >> 11) as f64 / (1_u64 << 53) as f64;
        ((self.hosts as f64 + 1.0).powf(even) - 1.0) as u64
    }

    /// The next link, and its host.
    fn link(&mut self) -> (u64, Candidate) {
        let number = self.next;
        self.next += 1;
        if number.is_multiple_of(LINKS) {
            self.page_host = self.host();
            let referrer = format!(
                "http://h{}.site.test/section/{}/articles/listing/{number}.html",
                self.page_host,
                number % 97
            );
            self.referrer = Some(Arc::from(referrer));
        }
        let host = if number % LINKS < AWAY { self.host() } else { self.page_host };
        self.text.clear();
        let key =
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xff51_afd7_ed55_8ccd);
        // Formatting into a string that is there cannot fail.
        let _ = write!(self.text, "http://h{host}.site.test");
        let origin_length = self.text.len() as u16;
        let _ = write!(
            self.text,
            "/section/{}/articles/of-the-year/{:08x}/index-of-it.html",
            number % 97,
            key >> 32
        );
        let candidate = Candidate {
            url: self.text.as_str().into(),
            origin_length,
            key,
            depth: 1 + (number / LINKS % 3) as u32,
            via: Via::Link,
            hops: 0,
            carries_scope: false,
            referrer: self.referrer.clone(),
        };
        (host, candidate)
    }
}

fn host_of(candidate: &Candidate) -> Option<u64> {
    candidate.url.strip_prefix("http://h")?.split_once('.')?.0.parse().ok()
}

/// The same work without a frontier.
#[derive(Default)]
struct Nothing {
    sum: u64,
}

impl Nothing {
    /// Candidates, a sum over their keys, and the time it took.
    fn run(&mut self, hosts: u64, candidates: u64) -> Result<(u64, u64, u64), Failure> {
        // To find the number of a host's queue in a table is work of whoever has the frontier.
        let open: HashMap<u64, QueueId> =
            (0..hosts.min(OPEN as u64)).map(|host| (host, QueueId(0))).collect();
        let start = processor_time();
        let mut site = Site::new(hosts);
        for _ in 0..candidates {
            let (host, candidate) = site.link();
            std::hint::black_box(open.get(&host));
            self.sum = self.sum.wrapping_add(candidate.key ^ host_of(&candidate).ok_or("no host")? ^ host);
        }
        Ok((candidates, self.sum, processor_time() - start))
    }
}

/// Puts candidates through a frontier, as an engine does that keeps a bounded number of hosts open.
struct Crawl {
    frontier: DiskFrontier,
    all_open: bool,
    /// Queues of hosts that are open.
    open: HashMap<u64, QueueId>,
    /// They take turns.
    turns: VecDeque<u64>,
    next_queue: u32,
    next_bucket: QueueId,
    claimed: VecDeque<Claimed>,
    taken: u64,
    sum: u64,
    moved: u64,
    pushing: u64,
    memory: usize,
    disk: u64,
    queued: u64,
    files: usize,
}

impl Crawl {
    fn new(frontier: DiskFrontier, hosts: u64) -> Self {
        Self {
            frontier,
            all_open: hosts <= OPEN as u64,
            open: HashMap::new(),
            turns: VecDeque::new(),
            next_queue: BUCKETS,
            next_bucket: QueueId(0),
            claimed: VecDeque::new(),
            taken: 0,
            sum: 0,
            moved: 0,
            pushing: 0,
            memory: 0,
            disk: 0,
            queued: 0,
            files: 0,
        }
    }

    fn run(&mut self, hosts: u64, candidates: u64) -> Result<(u64, u64, u64), Failure> {
        let start = processor_time();
        let mut site = Site::new(hosts);
        while site.next < candidates {
            let (host, candidate) = site.link();
            let queue = match self.open.get(&host) {
                Some(queue) => *queue,
                None if self.all_open => self.open_host(host),
                None => QueueId::bucket(host.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            };
            self.push(queue, host, &candidate)?;
            if site.next.is_multiple_of(CLAIM as u64 * 10) {
                self.take()?;
            }
            if site.next.is_multiple_of(CHECKPOINT) {
                self.checkpoint()?;
            }
        }
        self.frontier.spill()?;
        self.pushing = processor_time() - start;
        self.queued = self.frontier.len();
        self.disk = self.frontier.disk_bytes();
        self.files = self.frontier.segments();
        let mut next_checkpoint = self.taken + CHECKPOINT;
        while !self.frontier.is_empty() {
            self.take()?;
            if self.taken >= next_checkpoint {
                next_checkpoint += CHECKPOINT;
                self.checkpoint()?;
            }
        }
        Ok((self.taken, self.sum, 0))
    }

    /// A host has a turn while it has candidates: to ask a thousand drained ones, again and again,
    /// would be no cost of the frontier, and no engine does it.
    fn push(&mut self, queue: QueueId, host: u64, candidate: &Candidate) -> Result<(), FrontierError> {
        if !queue.is_bucket() && self.frontier.queue_len(queue) == 0 {
            self.turns.push_back(host);
        }
        self.frontier.push(queue, candidate).map(|_| ())
    }

    fn checkpoint(&mut self) -> Result<(), Failure> {
        self.memory = self.memory.max(self.frontier.memory_bytes());
        self.frontier.prepare_checkpoint()?;
        self.frontier.encode_state(&mut Encoder(&mut Vec::new()))?;
        Ok(self.frontier.checkpoint_done()?)
    }

    fn open_host(&mut self, host: u64) -> QueueId {
        let queue = QueueId(self.next_queue);
        self.next_queue += 1;
        self.open.insert(host, queue);
        queue
    }

    /// Takes up to [`CLAIM`] candidates of the next host that is open and has some; where there is
    /// room for more hosts a bucket is emptied by as many first.
    fn take(&mut self) -> Result<(), Failure> {
        if !self.all_open && self.open.len() + CLAIM <= OPEN {
            self.admit()?;
        }
        for _ in 0..self.turns.len() {
            let Some(host) = self.turns.pop_front() else { break };
            let Some(queue) = self.open.get(&host).copied() else { continue };
            self.frontier.claim(queue, CLAIM, &mut self.claimed)?;
            if self.frontier.queue_len(queue) > 0 {
                self.turns.push_back(host);
            } else if !self.all_open {
                self.open.remove(&host);
            }
            if !self.claimed.is_empty() {
                break;
            }
        }
        self.finish_claimed()
    }

    fn finish_claimed(&mut self) -> Result<(), Failure> {
        // Later ones are sometimes done earlier.
        while let Some(claimed) =
            if self.taken.is_multiple_of(3) { self.claimed.pop_back() } else { self.claimed.pop_front() }
        {
            let host = host_of(&claimed.candidate).ok_or("no host")?;
            self.sum = self.sum.wrapping_add(claimed.candidate.key ^ host ^ host);
            self.taken += 1;
            self.acknowledge(claimed.ticket)?;
        }
        Ok(())
    }

    fn acknowledge(&mut self, ticket: Ticket) -> Result<(), FrontierError> {
        self.frontier.acknowledge(ticket)
    }

    /// Moves candidates from the next bucket to queues of their hosts, which are opened.
    fn admit(&mut self) -> Result<(), Failure> {
        let Some(bucket) = self.frontier.next_bucket(self.next_bucket) else { return Ok(()) };
        self.next_bucket = QueueId((bucket.0 + 1) % BUCKETS);
        self.frontier.claim(bucket, CLAIM, &mut self.claimed)?;
        while let Some(claimed) = self.claimed.pop_front() {
            let host = host_of(&claimed.candidate).ok_or("no host")?;
            let queue = match self.open.get(&host) {
                Some(queue) => *queue,
                None => self.open_host(host),
            };
            self.push(queue, host, &claimed.candidate)?;
            self.frontier.acknowledge(claimed.ticket)?;
            self.moved += 1;
        }
        Ok(())
    }
}

/// Nanoseconds of processor time of this thread; without it there is nothing to report.
#[cfg(unix)]
fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if told == 0 { time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 } else { 0 }
}

/// Not told here.
#[cfg(not(unix))]
fn processor_time() -> u64 {
    0
}
