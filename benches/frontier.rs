//! What one candidate costs the owner: asked and found a repeat, or asked, queued and taken again.
//!
//! Rounds of both kinds are interleaved in one run; processor time of this thread, medians.
//! `--quick` does with fewer URLs.
#![allow(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![allow(unsafe_code, reason = "the standard library does not tell a thread its processor time")]

use std::error::Error;
use std::time::Instant;

use dragline::engine::probe::OwnerProbe;
use dragline::model::{LinkBatch, Via};

/// Links of a page, as on many real ones.
const LINKS: usize = 40;
/// Pages in one measurement.
const PAGES: usize = 256;
/// Hosts, by Zipf's law: the n-th has 1/n of the first one's pages.
const HOSTS: u64 = 1_000;

/// Bounds on the microseconds a candidate may cost.
const REPEAT_BOUND: f64 = 0.15;
const NEW_BOUND: f64 = 1.0;

fn main() -> Result<(), Box<dyn Error>> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let urls: u64 = if quick { 200_000 } else { 1_000_000 };
    let mut probe = OwnerProbe::new(urls * 2)?;
    let mut site = Site { next: 0, random: 88_172_645_463_325_252 };
    assert!(probe.start()?, "there is a seed");
    probe.finish(site.fresh(&probe))?;
    while site.next < urls {
        pages(&mut probe, &mut site, Kind::New)?;
    }

    let (mut repeats, mut news) = (Vec::new(), Vec::new());
    for _ in 0..if quick { 21 } else { 101 } {
        repeats.push(pages(&mut probe, &mut site, Kind::Repeat)?);
        news.push(pages(&mut probe, &mut site, Kind::New)?);
    }
    let (unique, _) = probe.counts();
    println!("owner core in memory: {unique} URLs over {HOSTS} hosts, {LINKS} links a page");
    println!("{:<44}{:>14}{:>10}", "per candidate, apply + next", "CPU median", "bound");
    for (name, times, bound) in
        [("a repeat", &mut repeats, REPEAT_BOUND), ("a new one", &mut news, NEW_BOUND)]
    {
        println!("{name:<44}{:>11.3} µs{:>7.2} µs", median(times), bound);
    }
    println!("{:<44}{:>14.1}", "a new one ÷ a repeat", median(&mut news) / median(&mut repeats));
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Repeat,
    New,
}

/// Takes and ends [`PAGES`] pages; microseconds of processor time a candidate.
fn pages(probe: &mut OwnerProbe, site: &mut Site, kind: Kind) -> Result<f64, Box<dyn Error>> {
    let before = probe.counts();
    let batches: Vec<LinkBatch> =
        (0..PAGES).map(|_| if kind == Kind::New { site.fresh(probe) } else { site.known(probe) }).collect();
    let clock = Clock::start();
    for batch in batches {
        if !probe.start()? {
            return Err("the frontier ran dry".into());
        }
        probe.finish(batch)?;
    }
    let time = clock.microseconds();
    let after = probe.counts();
    let candidates = (PAGES * LINKS) as u64;
    let met = if kind == Kind::New { after.0 - before.0 } else { after.1 - before.1 };
    assert_eq!(met, candidates, "every candidate was of the kind that is measured");
    Ok(time / candidates as f64)
}

/// Makes up URLs of about 80 bytes.
struct Site {
    next: u64,
    random: u64,
}

impl Site {
    fn url(number: u64) -> String {
        // A host by Zipf's law from a number that is spread evenly.
        let even = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 53) as f64;
        let host = (((HOSTS + 1) as f64).powf(even) - 1.0) as u64;
        format!(
            "http://h{host}.site.test/section/{}/articles/of-the-year/{number:012}/index-of-it.html",
            number % 97
        )
    }

    fn fresh(&mut self, probe: &OwnerProbe) -> LinkBatch {
        let first = self.next;
        self.next += LINKS as u64;
        batch(probe, first..self.next)
    }

    /// Links to URLs that are known, anywhere.
    fn known(&mut self, probe: &OwnerProbe) -> LinkBatch {
        let numbers: Vec<u64> = (0..LINKS)
            .map(|_| {
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                self.random % self.next
            })
            .collect();
        batch(probe, numbers.into_iter())
    }
}

fn batch(probe: &OwnerProbe, numbers: impl Iterator<Item = u64>) -> LinkBatch {
    let urls: Vec<String> = numbers.map(Site::url).collect();
    probe.batch(urls.iter().map(String::as_str), Via::Link)
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

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
