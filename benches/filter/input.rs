//! What both sides of every comparison share: the URLs, their hash, the clock.

use xxhash_rust::xxh3::xxh3_64_with_secret;

/// Bytes of every URL.
pub const URL_BYTES: usize = 80;

/// URLs one after another in memory, so that hashing them reads memory as it does in a crawl.
pub struct Urls {
    bytes: Vec<u8>,
    secret: [u8; 192],
}

impl Urls {
    /// So many distinct URLs of [`URL_BYTES`] each.
    pub fn new(count: usize) -> Self {
        let mut bytes = Vec::with_capacity(count * URL_BYTES);
        huge_pages(&bytes);
        for number in 0..count as u64 {
            let start = bytes.len();
            bytes.extend_from_slice(
                b"https://www-000000.example.com/archive/000000000/pages/number-0000000000000.html",
            );
            digits(&mut bytes[start + 12..start + 18], number % 1000);
            digits(&mut bytes[start + 39..start + 48], number / 40);
            digits(&mut bytes[start + 62..start + 75], number.wrapping_mul(7919));
        }
        assert_eq!(bytes.len(), count * URL_BYTES);
        let mut random = Random(1);
        Urls { bytes, secret: std::array::from_fn(|_| random.next() as u8) }
    }

    pub fn len(&self) -> usize {
        self.bytes.len() / URL_BYTES
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(URL_BYTES).inspect(|url| near(url))
    }

    /// So many at a time; the last ones may be fewer.
    pub fn groups(&self, of: usize) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.bytes.chunks(of * URL_BYTES).map(|group| group.chunks_exact(URL_BYTES).inspect(|url| near(url)))
    }

    /// The key of a URL, as the crawl makes it.
    #[inline]
    pub fn key(&self, url: &[u8]) -> u64 {
        xxh3_64_with_secret(url, &self.secret)
    }
}

/// Asks for huge pages below the URLs, so that the tables of the memory manager are not what is measured.
fn huge_pages(bytes: &Vec<u8>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = (bytes.as_ptr() as usize).next_multiple_of(PAGE);
        let end = (bytes.as_ptr() as usize + bytes.capacity()) / PAGE * PAGE;
        // SAFETY: the pages lie inside the vector's allocation; the advice changes no content.
        unsafe { libc::madvise(start as *mut libc::c_void, end.saturating_sub(start), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// Asks for the bytes of a URL a little way ahead. Whoever asks the filter has just made the
/// URL, so that it is near; without this most of what is measured is reading URLs. It helps
/// every side alike.
#[inline(always)]
fn near(url: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const AHEAD: usize = 16 * URL_BYTES;
        let ahead = url.as_ptr().wrapping_add(AHEAD).cast::<i8>();
        // SAFETY: a prefetch reads nothing architecturally, whatever the address; SSE is part of x86-64.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(ahead);
            _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(64));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = url;
}

fn digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a bijection of a counter, so no number comes twice.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// What [`nanoseconds`] counts.
#[cfg(unix)]
pub const CLOCK: &str = "CPU time of the thread (other processes on the machine count less)";
/// What [`nanoseconds`] counts.
#[cfg(not(unix))]
pub const CLOCK: &str = "wall clock";

#[cfg(unix)]
fn nanoseconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

#[cfg(not(unix))]
fn nanoseconds() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as f64
}

/// How long it takes, in nanoseconds; its result is consumed.
pub fn time<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = nanoseconds();
    let result = std::hint::black_box(work());
    (nanoseconds() - start, result)
}

/// The middle one, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

/// Resident memory of this process in bytes, where the system tells.
pub fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
