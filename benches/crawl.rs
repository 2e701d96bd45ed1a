//! A whole crawl: processor time (user + system) a page, beside `wget2` on the same site, interleaved.
//!
//! The synthetic website is served by another process. `--pages N` (100,000), `--rounds N` (3).
//! Without `wget2` its side is left out, and a line says so.
#![allow(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let pages = number("--pages", 100_000);
    let rounds = number("--rounds", 3);
    let folder = tempfile::tempdir()?;
    let wget2 = Command::new("wget2").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !wget2 {
        println!("SKIPPED: package wget2 is not installed, so there is nothing to compare with");
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let site = Site::start(pages)?;
        ours.push(dragline(&site, &folder.path().join(format!("crawl{round}")))?);
        drop(site);
        if wget2 {
            let site = Site::start(pages)?;
            theirs.push(peer(&site, folder.path())?);
        }
    }
    println!("{pages} pages on one host, processor time (user + system) a page, median of {rounds}");
    println!("{:<12}{:>10.4} ms", "dragline", median(&mut ours));
    if wget2 {
        println!("{:<12}{:>10.4} ms", "wget2", median(&mut theirs));
        println!("{:<12}{:>10.2}   (must be at most 1)", "ratio", median(&mut ours) / median(&mut theirs));
    }
    Ok(())
}

fn dragline(site: &Site, output: &Path) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dragline"));
    command.arg("crawl").arg(&site.url).args([
        "--delay",
        "0s",
        "--allow-private",
        "--progress",
        "none",
        "-o",
    ]);
    let time = processor_time(command.arg(output))?;
    let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(output.join("summary.json"))?)?;
    let fetched = summary["pages"]["fetched"].as_u64().unwrap_or_default();
    assert_eq!(summary["pages"]["by_status"]["200"], site.pages, "every page was fetched");
    Ok(time * 1e3 / fetched as f64)
}

fn peer(site: &Site, folder: &Path) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new("wget2");
    command.args(["-r", "--level=0", "--delete-after", "--max-threads=64", "-q"]).arg(&site.url);
    let time = processor_time(command.current_dir(folder))?;
    Ok(time * 1e3 / site.requests()? as f64)
}

/// Seconds of processor time that a command takes. One that has stopped doing anything (wget2
/// sometimes does not end by itself) is ended.
fn processor_time(command: &mut Command) -> Result<f64, Box<dyn Error>> {
    let before = children()?;
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let (mut last, mut idle) = (String::new(), 0);
    while process.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(50));
        let now = ticks(process.id()).unwrap_or_default();
        idle = if now == last { idle + 1 } else { 0 };
        last = now;
        if idle > IDLE {
            process.kill()?;
        }
    }
    Ok(children()? - before)
}

/// Looks at a process, 50 ms apart, without it doing anything, after which it is ended.
const IDLE: u32 = 100;

/// User and system time of a process: fields 14 and 15 of its `stat`.
fn ticks(process: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    Some(format!("{} {}", fields.get(11)?, fields.get(12)?))
}

/// Seconds of processor time of all children that have ended: fields 16 and 17 of `/proc/self/stat`.
fn children() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks: u64 = fields[13].parse::<u64>()? + fields[14].parse::<u64>()?;
    // Linux reports a hundred ticks a second to every program.
    Ok(ticks as f64 / 100.0)
}

/// The synthetic website in a process of its own.
struct Site {
    process: Child,
    url: String,
    pages: u64,
}

impl Site {
    fn start(pages: u64) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_dragline"))
            .args(["demo", "--serve", "--hosts", "1", "--listen", "127.0.0.1:0", "--pages"])
            .arg(pages.to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        for line in BufReader::new(output).lines() {
            if let Some(url) = line?.strip_prefix("seed ") {
                return Ok(Self { process, url: url.to_owned(), pages });
            }
        }
        Err("the website did not start".into())
    }

    /// Requests answered for anything but the lists.
    fn requests(&self) -> Result<u64, Box<dyn Error>> {
        use std::io::{Read, Write};
        let address = self.url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = std::net::TcpStream::connect(address)?;
        write!(stream, "GET /_log HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let count = |line: &str| line.split_once('\t').and_then(|(count, _)| count.parse::<u64>().ok());
        Ok(text.lines().filter_map(count).sum())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn number(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
    arguments.next().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
