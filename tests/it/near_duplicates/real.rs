//! Copies of real pages with some of their words changed: how many are found, and which other pages are
//! taken for the same, before and after what repeats over the site is left out.
//!
//! A test run takes a sample of each site, spread evenly; with `DRAGLINE_FULL_SIZES=1` it takes all pages.
//! A word is changed by putting in its place one of another page. Of a page copies are made only
//! where so small a part of its words is one word or more. Pages are *unlike* if less
//! than four in five of the pairs of words that either has are in both.

use crate::harness::{full_sizes, skipped};
use dragline::extract::{PageContext, PageReader, TextSink};
use dragline::sketch::{
    Block, BlockCounter, Fingerprint, RepeatedBlocks, SimHasher, TEXT_BYTES, counting_step, distance,
};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Pages of one site in a usual run, at most.
const SAMPLE: usize = 300;

/// Words changed, of 10,000.
const EDITS: [usize; 6] = [10, 25, 50, 100, 200, 500];

/// The largest edit of which four in five copies must be found.
const SMALL_EDIT: usize = 50;

const DISTANCES: [u32; 3] = [3, 6, 10];

/// The visible text of a page, as far as it counts.
#[derive(Default)]
struct Text(Vec<u8>);

impl TextSink for Text {
    fn text(&mut self, bytes: &[u8]) {
        let room = TEXT_BYTES - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

struct Page {
    text: Vec<u8>,
    /// Where its words are.
    words: Vec<std::ops::Range<usize>>,
    simhash: u64,
    blocks: Vec<Block>,
}

impl Page {
    fn of(text: Vec<u8>) -> Option<Self> {
        let mut hasher = SimHasher::default();
        hasher.feed(&text);
        let (simhash, blocks) = hasher.finish_with_blocks()?;
        let mut words = Vec::new();
        let mut from = 0;
        while from < text.len() {
            let length = text[from..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            if length > 0 {
                words.push(from..from + length);
            }
            from += length + 1;
        }
        Some(Self { text, words, simhash, blocks })
    }

    fn word(&self, number: usize) -> &[u8] {
        &self.text[self.words[number].clone()]
    }

    /// A copy with so many of its words replaced.
    fn edited(&self, count: usize, vocabulary: &[&[u8]], dice: &mut Dice) -> Option<Self> {
        let mut places = std::collections::BTreeSet::new();
        while places.len() < count {
            places.insert(dice.below(self.words.len()));
        }
        let (mut text, mut from) = (Vec::new(), 0);
        for place in places {
            let word = self.words[place].clone();
            text.extend_from_slice(&self.text[from..word.start]);
            text.extend_from_slice(vocabulary[dice.below(vocabulary.len())]);
            from = word.end;
        }
        text.extend_from_slice(&self.text[from..]);
        text.truncate(TEXT_BYTES);
        Self::of(text)
    }

    /// Its pairs of words, sorted.
    fn pairs(&self) -> Vec<u64> {
        let hash = |bytes: &[u8]| {
            bytes.iter().fold(7, |hash: u64, byte| {
                (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
            })
        };
        let numbers: Vec<u64> = (0..self.words.len()).map(|number| hash(self.word(number))).collect();
        let mut pairs: Vec<u64> = numbers.windows(2).map(|pair| pair[0].rotate_left(17) ^ pair[1]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// The part that two sorted lists have in common of what either has.
fn resemblance(one: &[u64], other: &[u64]) -> f64 {
    let (mut left, mut right, mut both) = (0, 0, 0);
    while left < one.len() && right < other.len() {
        match one[left].cmp(&other[right]) {
            std::cmp::Ordering::Less => left += 1,
            std::cmp::Ordering::Greater => right += 1,
            std::cmp::Ordering::Equal => (left, right, both) = (left + 1, right + 1, both + 1),
        }
    }
    f64::from(both) / (one.len() + other.len() - both as usize).max(1) as f64
}

/// Numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = u128::from(self.0 ^ self.0 >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9_94D0_49BB_1331_11EB);
        ((mixed >> 64) as u64 % bound as u64) as usize
    }
}

fn collect_pages(directory: &Path, pages: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(path);
        }
    }
}

fn read(path: &Path) -> Option<Page> {
    let mut text = Text::default();
    let mut reader =
        PageReader::new(&PageContext { content_type: Some("text/html"), ..PageContext::default() });
    reader.feed_with(&std::fs::read(path).unwrap(), &mut text);
    reader.finish_with(&mut text);
    Page::of(text.0)
}

/// The pages of a package's directory; none, and a line that says so, where it is not installed.
fn pages_of(package: &str, directory: &str) -> Vec<Page> {
    let mut paths = Vec::new();
    collect_pages(Path::new(directory), &mut paths);
    paths.sort();
    if paths.is_empty() {
        let required = std::env::var("DRAGLINE_REQUIRE_PACKAGES").is_ok_and(|value| value == "1");
        assert!(!required, "{package} is not installed, and DRAGLINE_REQUIRE_PACKAGES=1 requires it");
        skipped(&format!("{package} is not installed"));
    }
    let step = if full_sizes() { 1 } else { paths.len().div_ceil(SAMPLE).max(1) };
    paths.iter().step_by(step).filter_map(|path| read(path)).collect()
}

/// A site, and what repeats on it.
struct Site {
    pages: Vec<Page>,
    repeated: RepeatedBlocks,
    after: Vec<Fingerprint>,
}

impl Site {
    fn new(pages: Vec<Page>) -> Self {
        let mut counter = BlockCounter::default();
        for page in pages.iter().step_by(counting_step(pages.len() as u32) as usize) {
            counter.meet(0, &page.blocks);
        }
        let mut site = Self { pages, repeated: counter.finish(), after: Vec::new() };
        site.after = site.pages.iter().map(|page| site.compared_by(page)).collect();
        site
    }

    fn compared_by(&self, page: &Page) -> Fingerprint {
        Fingerprint::of(page.simhash, &page.blocks, 0, &self.repeated)
    }

    /// Bits in which two pages differ before and after the second pass.
    fn differ(&self, one: usize, other: usize) -> [Option<u32>; 2] {
        let before = distance(self.pages[one].simhash, self.pages[other].simhash);
        [Some(before), self.after[one].distance(self.after[other])]
    }

    /// Pairs of different pages that are reported, before and after, for each distance, and unlike ones of these.
    fn false_matches(&self) -> [[(u64, u64); 3]; 2] {
        let pairs: Vec<Vec<u64>> = self.pages.iter().map(Page::pairs).collect();
        let mut found = [[(0, 0); 3]; 2];
        for one in 0..self.pages.len() {
            for other in 0..one {
                let differ = self.differ(one, other);
                if differ.iter().flatten().all(|bits| *bits > DISTANCES[2]) {
                    continue;
                }
                let unlike = u64::from(resemblance(&pairs[one], &pairs[other]) < 0.8);
                for (bits, found) in differ.iter().zip(&mut found) {
                    for (most, (all, of_unlike)) in DISTANCES.iter().zip(found) {
                        if bits.is_some_and(|bits| bits <= *most) {
                            (*all, *of_unlike) = (*all + 1, *of_unlike + unlike);
                        }
                    }
                }
            }
        }
        found
    }

    /// Copies with so many words of 10,000 changed: how many, and how many are found before and after, for each distance.
    fn recall(&self, edit: usize) -> (u64, [[u64; 3]; 2]) {
        let words =
            self.pages.iter().flat_map(|page| (0..page.words.len()).step_by(37).map(|n| page.word(n)));
        let vocabulary: Vec<&[u8]> = words.collect();
        let (mut dice, mut copies, mut found) = (Dice(edit as u64), 0, [[0; 3]; 2]);
        for (page, after) in self.pages.iter().zip(&self.after) {
            let count = page.words.len() * edit / 10_000;
            let Some(copy) = (count > 0).then(|| page.edited(count, &vocabulary, &mut dice)).flatten() else {
                continue;
            };
            copies += 1;
            let differ =
                [Some(distance(page.simhash, copy.simhash)), after.distance(self.compared_by(&copy))];
            for (bits, found) in differ.iter().zip(&mut found) {
                for (most, found) in DISTANCES.iter().zip(found) {
                    *found += u64::from(bits.is_some_and(|bits| bits <= *most));
                }
            }
        }
        (copies, found)
    }
}

/// Prints the table of one site, and holds it to what is promised.
fn measure(package: &str, directory: &str) {
    let site = Site::new(pages_of(package, directory));
    let count = site.pages.len() as u64;
    if count == 0 {
        return;
    }
    let own = site.after.iter().filter(|page| matches!(page, Fingerprint::Own(_))).count();
    let mut table =
        format!("\n{package}: {count} pages, {own} with enough of their own; at distance 3 / 6 / 10\n");
    let matches = site.false_matches();
    for (name, found) in ["first pass ", "second pass"].iter().zip(&matches) {
        let [near, middle, far] = found.map(|(all, unlike)| format!("{all} ({unlike} unlike)"));
        let _ = writeln!(
            table,
            "  {name}  pairs of different pages: {near} / {middle} / {far} of {}",
            count * (count - 1) / 2
        );
    }
    for edit in EDITS {
        let (copies, found) = site.recall(edit);
        let share = |found: u64| 100.0 * found as f64 / copies.max(1) as f64;
        let [before, after] = found.map(|found| found.map(|one| format!("{:.1}", share(one))).join(" / "));
        let percent = edit as f64 / 100.0;
        let _ = writeln!(
            table,
            "  {percent:>5} % of words changed: {copies:>5} copies, found % {before:>21} first pass, {after:>21} second"
        );
        let small = edit <= SMALL_EDIT;
        assert!(!small || copies > 10 && share(found[1][0]) >= 80.0, "too few copies are found: {table}");
    }
    // not `println!`, which the test harness keeps to itself
    let _best_effort = std::io::stderr().write_all(table.as_bytes());
    let unlike = matches[1][0].1;
    assert!(
        unlike * 10_000 <= count * (count - 1) / 2,
        "{unlike} pairs of unlike pages are taken for the same"
    );
}

#[test]
fn copies_of_the_documentation_of_postgresql_are_found() {
    measure("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html");
}

#[test]
fn copies_of_the_documentation_of_java_are_found() {
    measure("openjdk-17-doc", "/usr/share/doc/openjdk-17-jre-headless/api");
}

#[test]
fn copies_of_the_documentation_of_sqlite_are_found() {
    measure("sqlite3-doc", "/usr/share/doc/sqlite3");
}
