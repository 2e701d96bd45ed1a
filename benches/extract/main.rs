//! How fast the links of a page are read: ours beside `scraper`, `html5gum` and `lol_html`.
//!
//! Every side does the whole job: tags, character references decoded, `base`, every link joined to
//! an absolute URL. All take turns on the same pages in one run; what is printed are medians of the
//! processor time of this thread. Before anything is timed each side's set of URLs is compared with
//! what a document tree built by the standard yields: ours must be that set on every page, and a
//! peer's is counted where it is another. Pages: two generated ones, and three sites of documentation
//! where they are installed.

mod pages;
mod sides;

use pages::Page;
use sides::Side;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Time for all rounds of one set of pages.
const TIME_PER_SET: Duration = Duration::from_secs(6);

/// Milliseconds that the generated page of 4.7 KB may take ours at most.
const MOST_MILLISECONDS: f64 = 0.024;

/// Sides that ours must be so many times as fast as.
const BOUNDS: [(&str, f64); 2] = [("scraper", 2.5), ("lol_html", 1.3)];

/// The processor time of this thread so far; where the system does not tell, the time of day.
struct Clock {
    processor: Option<u64>,
    passed: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { processor: processor_time(), passed: Instant::now() }
    }

    fn seconds(&self) -> f64 {
        match (self.processor, processor_time()) {
            (Some(start), Some(end)) => (end - start) as f64 / 1e9,
            _ => self.passed.elapsed().as_secs_f64(),
        }
    }
}

/// Nanoseconds of processor time of this thread.
#[cfg(unix)]
#[allow(unsafe_code, reason = "the standard library does not tell")]
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

fn urls_of(side: &mut Side, page: &Page) -> BTreeSet<String> {
    let mut urls = BTreeSet::new();
    (side.read)(page, &mut |url| {
        urls.insert(url.to_owned());
    });
    urls
}

/// Holds every side's URLs against the document tree's; how many there are, and on how many pages each side differs.
fn compare(sides: &mut [Side], pages: &[Page]) -> (usize, Vec<usize>) {
    let mut links = 0;
    let mut differing = vec![0; sides.len()];
    for page in pages {
        let expected = sides::by_the_standard(page);
        links += expected.len();
        for (side, differing) in sides.iter_mut().zip(&mut differing) {
            let found = urls_of(side, page);
            if side.is_ours && !side.with_resources {
                assert_eq!(found, expected, "{}", page.name);
            } else if side.with_resources {
                assert!(found.is_superset(&expected), "{}", page.name);
            } else {
                *differing += usize::from(found != expected);
            }
        }
    }
    (links, differing)
}

/// Milliseconds that each side takes for all pages.
fn time(sides: &mut [Side], pages: &[Page]) -> (usize, Vec<f64>) {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); sides.len()];
    let begun = Instant::now();
    let mut round = 0;
    while round < 5 || (begun.elapsed() < TIME_PER_SET && round < 5000) {
        // each begins in turn, or the first would always find the caches as the last has left them
        for turn in 0..sides.len() {
            let number = (turn + round) % sides.len();
            let clock = Clock::start();
            for page in pages {
                (sides[number].read)(page, &mut |url| {
                    black_box(url);
                });
            }
            times[number].push(clock.seconds() * 1e3);
        }
        round += 1;
    }
    (round, times.iter_mut().map(|times| median(times)).collect())
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(name: &str, pages: &[Page], most: Option<f64>) {
    if pages.is_empty() {
        println!("SKIPPED: {name} is not installed");
        return;
    }
    let mut sides = sides::all();
    let (links, differing) = compare(&mut sides, pages);
    let bytes: usize = pages.iter().map(|page| page.body.len()).sum();
    let (rounds, medians) = time(&mut sides, pages);
    println!("{name}: {} pages, {bytes} bytes, {links} different URLs, {rounds} rounds", pages.len());
    let ours = medians[0];
    for ((side, milliseconds), differing) in sides.iter().zip(&medians).zip(differing) {
        let (rate, each) = (bytes as f64 / milliseconds / 1e3, milliseconds / pages.len() as f64);
        let ratio = milliseconds / ours;
        let bound = BOUNDS.iter().find(|(of, _)| *of == side.name);
        let bound = bound.map_or(String::new(), |(_, least)| format!(", must be at least {least}"));
        let note = if differing > 0 { format!(", other URLs on {differing} pages") } else { String::new() };
        println!("  {:<22} {rate:8.0} MB/s {each:10.4} ms/page {ratio:7.2} x{bound}{note}", side.name);
    }
    if let Some(most) = most {
        println!("  ours takes {:.4} ms a page, must be at most {most}", ours / pages.len() as f64);
    }
}

fn main() {
    measure("generated, 4.7 KB, 40 links", &[pages::generated(40, 4_700)], Some(MOST_MILLISECONDS));
    measure("generated, 200 KB, 40 links", &[pages::generated(40, 200_000)], None);
    for (name, directory) in pages::SITES {
        measure(name, &pages::installed(directory), None);
    }
}
