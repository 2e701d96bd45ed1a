//! A program run to its end, and what it used. It must not know what the program is for.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a process used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    /// Seconds of processor time, user and system, of all its threads.
    pub(super) processor: f64,
    /// Seconds from its start until its end, or until it stood still.
    pub(super) wall: f64,
    /// Its largest resident set.
    pub(super) peak_bytes: u64,
    /// It ended with exit code 0.
    pub(super) succeeded: bool,
    /// It did nothing any more without ending, and was ended.
    pub(super) stood_still: bool,
}

/// Time between two looks at a process.
const PAUSE: Duration = Duration::from_millis(20);

/// A process that has used no processor time for so long is ended. (`wget2` is known to wait for
/// ever behind its last page.)
const STANDSTILL: Duration = Duration::from_secs(5);

/// Runs a program to its end, without input or output.
pub(super) fn run(command: &mut Command) -> io::Result<Usage> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let (mut ticks, mut moved, mut stood_still, mut peak) = (None, begun, false, None);
    loop {
        if let Some(usage) = ended(&child)? {
            let end = if stood_still { moved } else { Instant::now() };
            let peak_bytes = peak.unwrap_or(usage.peak_bytes);
            return Ok(Usage { wall: (end - begun).as_secs_f64(), stood_still, peak_bytes, ..usage });
        }
        peak = peak_bytes(&child).or(peak);
        let now = processor_ticks(&child);
        if now.is_none() || now != ticks {
            (ticks, moved) = (now, Instant::now());
        } else if !stood_still && moved.elapsed() > STANDSTILL {
            stood_still = true;
            child.kill()?;
        }
        std::thread::sleep(PAUSE);
    }
}

/// User and system time of a process that runs, fields 14 and 15 of its `stat`; nothing where
/// the system has no such file.
fn processor_ticks(child: &Child) -> Option<[u64; 2]> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let mut fields = text.rsplit(')').next()?.split_whitespace().skip(11);
    Some([fields.next()?.parse().ok()?, fields.next()?.parse().ok()?])
}

/// The largest resident set of a process that runs; nothing where the system has no such file.
/// What is told of one that has ended is never below what this process, which started it, had.
fn peak_bytes(child: &Child) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// What a process has used, if it has ended.
#[cfg(unix)]
#[allow(unsafe_code, reason = "the standard library does not tell")]
fn ended(child: &Child) -> io::Result<Option<Usage>> {
    let mut status = 0;
    // SAFETY: all zeros is a value of this struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are valid for the answer, and nobody else waits for this process.
    let process = unsafe { libc::wait4(child.id() as i32, &raw mut status, libc::WNOHANG, &raw mut usage) };
    if process < 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    // Apple counts bytes, all others KiB
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    Ok((process > 0).then(|| Usage {
        processor: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        wall: 0.0,
        peak_bytes: usage.ru_maxrss as u64 * unit,
        succeeded: status == 0,
        stood_still: false,
    }))
}

/// Not told here.
#[cfg(not(unix))]
fn ended(_: &Child) -> io::Result<Option<Usage>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
