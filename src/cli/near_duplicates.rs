//! `dragline near-duplicates DIR`
//!
//! Owns how groups are shown, page by page as they are read; what belongs together is found by the library.

use std::fmt::Write;
use std::path::PathBuf;

use dragline::config::Size;
use dragline::engine::{Group, Member, NearDuplicates, PagesCompared, Search};
use dragline::human::{grouped as count, of};
use dragline::sink::encode_line;
use dragline::url::host_of;

use super::{ExitCode, Failure, escape, print_bytes};

/// Bytes gathered before they are printed.
const GATHERED: usize = 32 << 10;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Bits of 64 in which the fingerprints of two pages may differ, 0 to 10
    #[arg(long, value_name = "N", default_value_t = 3)]
    distance: u32,
    /// Use no more memory than this: 64 bytes a page, 40 a host, and 32 MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: Size,
    /// Print JSON, a line for each page and one of counts
    #[arg(long)]
    json: bool,
}

/// Lists the pages that are nearly the same, beside a crawl or after it.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let search = Search { distance: arguments.distance, memory: arguments.memory.0 };
    let found = NearDuplicates::find(&arguments.directory, search)?;
    let mut output = Output::default();
    if arguments.json {
        print_json(&found, arguments.distance, &mut output)?;
    } else {
        print_groups(&found, arguments.distance, &mut output)?;
    }
    output.print()?;
    Ok(ExitCode::Done)
}

/// Gathers what is printed, until nobody reads any more.
#[derive(Default)]
struct Output {
    gathered: Vec<u8>,
    is_over: bool,
}

impl Output {
    fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.gathered.extend_from_slice(text.as_bytes());
        self.print_if_full()
    }

    fn json<T: serde::Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        encode_line(value, &mut self.gathered)
            .map_err(|error| Failure::new(ExitCode::Failed, error.to_string()))?;
        self.print_if_full()
    }

    fn print_if_full(&mut self) -> Result<(), Failure> {
        if self.gathered.len() < GATHERED { Ok(()) } else { self.print() }
    }

    fn print(&mut self) -> Result<(), Failure> {
        self.is_over |= !print_bytes(&self.gathered)?;
        self.gathered.clear();
        Ok(())
    }
}

/// A page in JSON.
#[derive(serde::Serialize)]
struct Row {
    /// The number of its group, from 1.
    group: usize,
    /// The host of the group's first page.
    host: String,
    #[serde(flatten)]
    member: Member,
}

/// The last line of JSON.
#[derive(serde::Serialize)]
struct Counts {
    distance: u32,
    groups: usize,
    grouped: u64,
    #[serde(flatten)]
    compared: PagesCompared,
}

fn print_json(found: &NearDuplicates, distance: u32, output: &mut Output) -> Result<(), Failure> {
    for (number, group) in (1..).zip(found.groups()) {
        let mut host = None;
        for member in found.members(&group) {
            let member = member?;
            let host = host.get_or_insert_with(|| host_of(&member.url).to_owned()).clone();
            output.json(&Row { group: number, host, member })?;
            if output.is_over {
                return Ok(());
            }
        }
    }
    let (groups, grouped, compared) = (found.groups().len(), found.grouped(), found.compared);
    output.json(&Counts { distance, groups, grouped, compared })
}

fn print_groups(found: &NearDuplicates, distance: u32, output: &mut Output) -> Result<(), Failure> {
    let mut host = String::new();
    for group in found.groups() {
        print_group(found, &group, &mut host, output)?;
        if output.is_over {
            return Ok(());
        }
    }
    output.text(&told(found, distance))
}

fn print_group(
    found: &NearDuplicates,
    group: &Group,
    last_host: &mut String,
    output: &mut Output,
) -> Result<(), Failure> {
    for (place, member) in found.members(group).enumerate() {
        let Member { url, distance } = member?;
        if place == 0 {
            let host = host_of(&url);
            if host != last_host {
                output.text(&format!("{}\n", escape::escape(host)))?;
                host.clone_into(last_host);
            }
            output.text(&format!("  {}\n", of(group.pages(), "page")))?;
        }
        let difference = if place == 0 { "first".to_owned() } else { of(u64::from(distance), "bit") };
        output.text(&format!("    {difference:>7}  {}\n", escape::escape(&url)))?;
        if output.is_over {
            break;
        }
    }
    Ok(())
}

/// What was found in all, and what it was found among.
fn told(found: &NearDuplicates, distance: u32) -> String {
    let compared = &found.compared;
    let by_whole = compared.by_whole_text + compared.without_blocks;
    let mut text = format!(
        "{} with {} that are nearly the same (distance {distance}), of {} compared on {}\n",
        of(found.groups().len() as u64, "group"),
        of(found.grouped(), "page"),
        count(compared.by_own_text + by_whole),
        of(compared.hosts, "host"),
    );
    let notes = [
        (compared.by_own_text, "by what does not repeat over their host"),
        (compared.by_whole_text, "by their whole text, since little of it is their own"),
        (
            compared.without_blocks,
            "by their whole text, since their records list no blocks (crawled by an earlier version)",
        ),
        (compared.without_fingerprint, "not compared: failed, not HTML, or fewer than 16 words"),
        (compared.unreadable, "lines that cannot be read"),
    ];
    for (pages, note) in notes.iter().filter(|(pages, _)| *pages > 0) {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{:>12}  {note}", count(*pages));
    }
    text
}
