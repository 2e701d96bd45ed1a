//! What the sketches of a crawl cost for a page: its links, the URLs among them that are new, its record.
//!
//! Pages are made up beside the clock, in rounds; processor time of this thread, medians over rounds. `--quick` does
//! with fewer.
#![allow(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![allow(unsafe_code, reason = "the standard library does not tell a thread its processor time")]

use dragline::budget::SketchBytes;
use dragline::config::defaults;
use dragline::model::{LinkBatch, Record, UrlHashes, Via};
use dragline::sketch::fingerprint;
use dragline::stats::{CrawlSketches, ObservedLinks, SketchSizes};

/// Links of a page, as on many real ones.
const LINKS: u64 = 40;
/// Pages in one round.
const PAGES: usize = 512;
/// Hosts, by Zipf's law: the n-th has 1/n of the first one's pages.
const HOSTS: u64 = 1_000;
/// Bounds on the microseconds for a page, and on the bytes of all.
const TIME_BOUND: f64 = 6.0;
const BYTES_BOUND: usize = 512 << 10;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 40 } else { 400 };
    let (error, risk) = (defaults::LINK_COUNT_ERROR, defaults::LINK_COUNT_RISK);
    let sizes = SketchSizes::within(SketchBytes::of(error, risk).usual, error, risk);
    let mut sketches = CrawlSketches::new(sizes);
    let mut site = Site { random: 88_172_645_463_325_252, pages: 0 };
    let mut observed = ObservedLinks::default();
    let (mut hashing, mut all) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let pages: Vec<Page> = (0..PAGES).map(|_| site.page()).collect();
        let begun = thread_time();
        let mut sum = 0_u64;
        for page in &pages {
            for link in &page.batch.links {
                sum ^= fingerprint(page.batch.url(link));
            }
        }
        std::hint::black_box(sum);
        let hashed = thread_time();
        for page in &pages {
            observed.take(&page.batch);
            sketches.links(&observed, Some(&page.batch));
            sketches.unique(&page.record.url);
            sketches.record(&page.record);
        }
        let ended = thread_time();
        hashing.push((hashed - begun) * 1e6 / PAGES as f64);
        all.push((ended - begun) * 1e6 / PAGES as f64);
    }
    let pages = rounds * PAGES;
    println!("all sketches of a crawl: {pages} pages of {LINKS} links, {HOSTS} hosts");
    println!("{:<52}{:>11}{:>12}", "processor time for a page", "median", "bound");
    println!("{:<52}{:>8.3} µs", "fingerprints of its links", median(&mut hashing));
    println!("{:<52}{:>8.3} µs{:>9.1} µs", "these, and all sketches", median(&mut all), TIME_BOUND);
    let bytes = sketches.memory_bytes();
    println!("{:<52}{:>7.1} KiB{:>8} KiB", "memory", bytes as f64 / 1024.0, BYTES_BOUND >> 10);
}

struct Page {
    batch: LinkBatch,
    record: Record,
}

/// Makes up pages: one link of each is new, the others go to what was there, mostly to few.
struct Site {
    random: u64,
    pages: u64,
}

impl Site {
    /// A number of SplitMix64 (Steele, Lea and Flood 2014).
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn page(&mut self) -> Page {
        let mut batch = LinkBatch::default();
        for link in 0..LINKS {
            let share = (self.random() >> 11) as f64 / (1_u64 << 53) as f64;
            // the smaller the number, the oftener
            let known = (self.pages as f64).powf(share) as u64;
            let (url, origin) = url(if link == 0 { self.pages } else { known });
            let hashes = UrlHashes { key: 1, fingerprint: fingerprint(&url) };
            batch.push(&url, origin, hashes, Via::Link, None);
        }
        let (url, _) = url(self.pages);
        self.pages += 1;
        Page { batch, record: self.record(&url) }
    }

    fn record(&mut self, url: &str) -> Record {
        let line = serde_json::json!({
            "url": url, "status": 200, "depth": 3, "via": "link", "wire_bytes": 900, "links": LINKS,
            "decoded_bytes": self.random() % 9000, "digest": format!("xxh3:{:016x}", self.random()),
            "first_byte_ms": self.random() % 90, "elapsed_ms": self.random() % 300, "fetched_at": "", "attempts": 1,
        });
        serde_json::from_value(line).expect("a record")
    }
}

/// The URL of a page, of some 80 bytes, and how many of them are its origin.
fn url(number: u64) -> (String, u16) {
    let host = (HOSTS as f64).powf((number.wrapping_mul(0x9E37_79B9) & 0xFFFF) as f64 / 65536.0) as u64;
    let origin = format!("https://h{host}.site{}.test", host % 100);
    let url = format!("{origin}/section/{}/a-page-with-a-name/{number}?view=all&page={number}", number % 50);
    (url, origin.len() as u16)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Seconds of processor time that this thread has had.
#[cfg(unix)]
fn thread_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is valid for the whole call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds on the clock, where the processor's are not told.
#[cfg(not(unix))]
fn thread_time() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}
