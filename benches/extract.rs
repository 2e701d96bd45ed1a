//! How fast links are read from HTML: the streaming reader beside the document tree and beside a bare tokenizer.
//!
//! All sides take turns on the same pages in one run; medians, and ratios to the streaming
//! reader, are printed. Pages: the documentation of PostgreSQL and OpenJDK where
//! installed, and two generated ones.

use dragline::extract::{PageContext, PageReader, reference};
use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use std::cell::Cell;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time for all rounds of one set of pages.
const TIME_PER_SET: Duration = Duration::from_secs(4);

/// Bytes of one set of pages at most.
const BYTES_PER_SET: usize = 8 << 20;

fn context() -> PageContext<'static> {
    PageContext { content_type: Some("text/html; charset=utf-8"), ..PageContext::default() }
}

/// A sink that counts tags, so that nothing but tokenization is measured.
#[derive(Default)]
struct Count(Cell<u64>);

impl TokenSink for Count {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        if matches!(token, Token::TagToken(_)) {
            self.0.set(self.0.get() + 1);
        }
        TokenSinkResult::Continue
    }
}

fn tokenize(page: &[u8]) -> u64 {
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(String::from_utf8_lossy(page).as_ref()));
    let tokenizer = Tokenizer::new(Count::default(), TokenizerOpts::default());
    while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.0.get()
}

fn collect_pages(directory: &Path, pages: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(path);
        }
    }
}

/// Pages of a package, spread evenly over it.
fn installed(directory: &str) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    collect_pages(Path::new(directory), &mut paths);
    paths.sort();
    let mut bytes = 0;
    let step = (paths.len() / 200).max(1);
    let pages = paths.iter().step_by(step).filter_map(|path| std::fs::read(path).ok());
    pages
        .take_while(|page| {
            bytes += page.len();
            bytes <= BYTES_PER_SET
        })
        .collect()
}

/// A page of about `bytes` bytes with this many links in plain text.
fn generated(links: usize, bytes: usize) -> Vec<u8> {
    let mut page = String::from(
        "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>A page &amp; its links</title></head><body>",
    );
    let share = bytes.saturating_sub(page.len()) / links;
    for number in 0..links {
        let line = format!(
            "<p class=\"text\"><a href=\"/section/{}/page-{number}.html\">Page {number}</a> ",
            number % 7
        );
        let words = "and so the text goes on for a while ";
        page.push_str(&line);
        page.extend(words.chars().cycle().take(share.saturating_sub(line.len() + 4)));
        page.push_str("</p>");
    }
    page.into_bytes()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

type Side<'a> = (&'a str, Box<dyn FnMut(&[u8]) -> u64 + 'a>);

fn sides() -> Vec<Side<'static>> {
    let mut reader = PageReader::new(&context());
    vec![
        (
            "streaming reader",
            Box::new(move |page| {
                reader.reset(&context());
                reader.feed(page);
                reader.finish().links_found()
            }),
        ),
        ("html5ever tokenizer only", Box::new(tokenize)),
        (
            "document tree (scraper)",
            Box::new(|page| reference::read(&context(), page, encoding_rs::UTF_8).links_found()),
        ),
    ]
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn measure(name: &str, pages: &[Vec<u8>]) {
    if pages.is_empty() {
        println!("SKIPPED: {name} not installed");
        return;
    }
    let bytes: usize = pages.iter().map(Vec::len).sum();
    let mut sides = sides();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); sides.len()];
    let begun = Instant::now();
    while times[0].len() < 3 || (begun.elapsed() < TIME_PER_SET && times[0].len() < 2000) {
        for ((_, side), times) in sides.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            for page in pages {
                black_box(side(page));
            }
            times.push(begun.elapsed());
        }
    }
    let links: u64 = pages.iter().map(|page| sides[0].1(page)).sum();
    println!("{name}: {} pages, {bytes} bytes, {links} links, {} rounds", pages.len(), times[0].len());
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times).as_secs_f64()).collect();
    for ((side, _), seconds) in sides.iter().zip(&medians) {
        let (rate, per_page) = (bytes as f64 / seconds / 1e6, seconds / pages.len() as f64 * 1e6);
        println!("  {side:<26} {rate:8.0} MB/s {per_page:10.2} µs/page {:8.2} x", seconds / medians[0]);
    }
}

fn main() {
    measure("generated, 5 KB, 40 links", &[generated(40, 5_000)]);
    measure("generated, 200 KB, 40 links", &[generated(40, 200_000)]);
    measure("postgresql-doc-15", &installed("/usr/share/doc/postgresql-doc-15/html"));
    measure("openjdk-17-doc", &installed("/usr/share/doc/openjdk-17-jre-headless/api"));
}
