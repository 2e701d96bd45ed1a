//! `dragline status DIR`

use std::fmt::Write;
use std::path::PathBuf;

use dragline::engine::{Standing, Status};
use dragline::human::{bytes, grouped as count};
use dragline::sink::pretty_json;

use super::{ExitCode, Failure, escape, print};

/// Hosts shown, those with the longest queues first.
const HOSTS_SHOWN: usize = 10;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Tells how a crawl stands, beside it or after it.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let status = Status::read(&arguments.directory)?;
    if arguments.json {
        print(&pretty_json(&status).map_err(|error| Failure::new(ExitCode::Failed, error.to_string()))?)?;
    } else {
        print(&describe(&status))?;
    }
    match status.damage {
        Some(damage) => Err(Failure::new(ExitCode::StateDamaged, damage).with_remedy()),
        None => Ok(ExitCode::Done),
    }
}

fn describe(status: &Status) -> String {
    let mut rows: Vec<(&str, String)> = vec![("state", standing(status))];
    let figures = &status.figures;
    if !figures.is_object() {
        let text = match status.state {
            Standing::Running => "none yet: they come each --stats-interval",
            _ => "none: it ended before the first --stats-interval was over",
        };
        rows.push(("figures", text.into()));
    }
    let number = |path: &str| figures.pointer(path).and_then(serde_json::Value::as_u64);
    if let (Some(fetched), Some(ok), Some(failed)) =
        (number("/pages/fetched"), number("/pages/ok"), number("/pages/failed"))
    {
        rows.push(("pages", format!("{} ({} ok, {} failed)", count(fetched), count(ok), count(failed))));
    }
    if let (Some(queued), Some(unique), Some(doubts)) =
        (number("/urls/queued"), number("/urls/unique"), number("/urls/doubts_pending"))
    {
        let text = format!("{} queued, {} unique, {} doubts", count(queued), count(unique), count(doubts));
        rows.push(("urls", text));
    }
    let real = |path: &str| figures.pointer(path).and_then(serde_json::Value::as_f64);
    if let (Some(fill), Some(rate)) = (real("/filter/fill_ratio"), real("/filter/estimated_fpr")) {
        let health = figures["filter"]["health"].as_str().unwrap_or("unknown");
        rows.push((
            "filter",
            format!("{health}, {:.1} % full, {:.3} % false positives", fill * 100.0, rate * 100.0),
        ));
    }
    if let (Some(budget), Some(peak)) = (number("/memory/budget_bytes"), number("/memory/peak_rss_bytes")) {
        rows.push(("memory", format!("{} at most of {}", bytes(peak), bytes(budget))));
    }
    let disk = status.disk;
    rows.push(("disk", format!("{} results, {} state", bytes(disk.results_bytes), bytes(disk.state_bytes))));
    if let Some(elapsed) = real("/elapsed_s") {
        rows.push(("elapsed", format!("{elapsed:.0} s")));
    }
    let mut text = String::new();
    for (name, value) in rows {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name:<10} {value}");
    }
    text.push_str(&frontier(status));
    text
}

fn standing(status: &Status) -> String {
    match (status.state, &status.held_by, &status.end_reason) {
        (Standing::Running, Some(holder), _) => format!("running ({})", escape::escape(holder)),
        (Standing::Running, None, _) => "running".into(),
        (Standing::Complete, ..) => "complete".into(),
        (Standing::Damaged, ..) if status.resumable => {
            "results up to the last checkpoint are not as they were written; 'dragline resume' does not look at \
             them all, and goes on"
                .to_owned()
        }
        (Standing::Damaged, ..) => {
            "damaged, and cannot be resumed as it is; what follows may be wrong".to_owned()
        }
        (Standing::Unfinished, _, Some(reason)) => {
            format!("stopped ({}); 'dragline resume' goes on", escape::escape(reason))
        }
        (Standing::Unfinished, ..) => {
            "ended without a summary (killed, or the disk was full); 'dragline resume' goes on".into()
        }
    }
}

/// The longest queues at the last checkpoint.
fn frontier(status: &Status) -> String {
    let mut text = String::new();
    let frontier = &status.frontier;
    let beyond = frontier.open.iter().skip(HOSTS_SHOWN);
    let further: u64 = beyond.map(|waiting| waiting.urls).sum::<u64>() + frontier.other_hosts;
    for waiting in frontier.open.iter().take(HOSTS_SHOWN) {
        let _ = writeln!(text, "{:>12}  {}", count(waiting.urls), escape::escape(&waiting.origin));
    }
    if further > 0 {
        let _ = writeln!(text, "{:>12}  other hosts", count(further));
    }
    if !text.is_empty() {
        text.insert_str(0, "waiting at the last checkpoint:\n");
    }
    text
}
