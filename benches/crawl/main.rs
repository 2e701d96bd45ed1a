//! A whole crawl: processor time (user + system of the whole process) a page, beside `wget2`, `wget`,
//! `httrack` and Scrapy on the same site, taking turns.
//!
//! Two sites: the synthetic website, and Java's documentation behind nginx. All listen on
//! 127.0.0.1, are started anew for every run, and tell what they were asked for: pages are counted
//! by the server, and ours must be all of them. Slow peers run once, on a tenth of the synthetic
//! website, and Scrapy stops there after 2,000 pages: it is what a page costs that is compared.
//! Everybody's files go below `TMPDIR`.
//!
//! `-- --rounds 3 --pages 100000 --site synthetic|real --sides dragline,wget2,wget,httrack,scrapy`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark reports on standard output")]

mod child;
mod sides;
mod sites;

use child::Usage;
use sides::Side;
use sites::{Kind, Served, Server};
use std::error::Error;

/// What was asked for on the command line.
struct Options {
    rounds: usize,
    pages: u64,
    sites: Vec<Kind>,
    sides: Vec<String>,
}

/// One side's runs on one site.
#[derive(Default)]
struct Runs {
    usage: Vec<Usage>,
    served: Vec<Served>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = parse(std::env::args().skip(1))?;
    let mut sides = sides::all();
    sides.retain(|side| options.sides.is_empty() || options.sides.iter().any(|name| name == side.name));
    sides.retain(|side| {
        let found = side.is_there();
        if !found {
            println!("SKIPPED: {} is not installed ({} may name it)", side.name, side.variable());
        }
        found
    });
    for kind in &options.sites {
        if let Some(reason) = kind.missing() {
            println!("SKIPPED: {} site: {reason}", kind.name());
            continue;
        }
        measure(*kind, &sides, &options)?;
    }
    Ok(())
}

fn measure(kind: Kind, sides: &[Side], options: &Options) -> Result<(), Box<dyn Error>> {
    let mut all: Vec<Runs> = sides.iter().map(|_| Runs::default()).collect();
    for round in 0..options.rounds {
        for (side, runs) in sides.iter().zip(&mut all) {
            if side.is_slow && round > 0 {
                continue;
            }
            let pages = if side.is_slow { options.pages.div_ceil(10) } else { options.pages };
            let (usage, served) = run(kind, side, pages)?;
            eprintln!("{} site, round {}, {}: {usage:?} {served:?}", kind.name(), round + 1, side.name);
            runs.usage.push(usage);
            runs.served.push(served);
        }
    }
    print(kind, sides, &all, options.rounds);
    Ok(())
}

/// One crawl of a server that nobody has asked before.
fn run(kind: Kind, side: &Side, pages: u64) -> Result<(Usage, Served), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let website = Server::start(kind, pages)?;
    let mut command = side.command(website.seed(), folder.path())?;
    let usage = child::run(&mut command)?;
    let served = website.stop()?;
    if side.is_ours() {
        assert!(usage.succeeded, "the crawl failed");
        assert_eq!(served.pages, kind.pages(pages), "every page was fetched");
    }
    Ok((usage, served))
}

impl Runs {
    /// The median of what a page took, in milliseconds, of seconds that a run took.
    fn each(&self, seconds: fn(&Usage) -> f64) -> f64 {
        let runs = self.usage.iter().zip(&self.served);
        median(runs.map(|(usage, served)| seconds(usage) * 1e3 / served.pages.max(1) as f64).collect())
    }

    fn processor(&self) -> f64 {
        self.each(|usage| usage.processor)
    }
}

/// The table of one site: medians of all rounds, pages and requests of the last.
fn print(kind: Kind, sides: &[Side], all: &[Runs], rounds: usize) {
    println!("{} site, medians of {rounds} rounds (httrack and scrapy: of one)", kind.name());
    println!("  side         CPU ms/page    ours/its  wall ms/page  peak MiB    pages  requests");
    let ours = sides.iter().position(Side::is_ours).map(|at| all[at].processor());
    for (side, runs) in sides.iter().zip(all) {
        let Some(Served { pages, requests }) = runs.served.last() else { continue };
        let (processor, wall) = (runs.processor(), runs.each(|usage| usage.wall));
        let ratio = ours.map_or("-".to_owned(), |ours| format!("{:.3}", ours / processor));
        let peak = median(runs.usage.iter().map(|usage| usage.peak_bytes as f64).collect()) / 2_f64.powi(20);
        let bound = side.bound(kind).map_or(String::new(), |most| format!("  ours/its at most {most}"));
        let halted = match runs.usage.iter().filter(|usage| usage.stood_still).count() {
            0 => String::new(),
            times => format!("  did not end by itself: {times}"),
        };
        println!(
            "  {:<12} {processor:>11.4} {ratio:>11} {wall:>13.4} {peak:>9.1} {pages:>8} {requests:>9}{bound}{halted}",
            side.name,
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options { rounds: 3, pages: 100_000, sites: Kind::ALL.to_vec(), sides: Vec::new() };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--rounds" => options.rounds = value()?.parse()?,
            "--pages" => options.pages = value()?.parse()?,
            "--sides" => options.sides = value()?.split(',').map(str::to_owned).collect(),
            "--site" => {
                let name = value()?;
                options.sites.retain(|kind| kind.name() == name);
            }
            // what cargo itself passes to every bench
            "--bench" => {}
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let unknown = options.sides.iter().find(|name| sides::all().iter().all(|side| side.name != **name));
    match unknown {
        Some(name) => Err(format!("no side is called {name}").into()),
        None if options.sites.is_empty() => Err("--site takes synthetic or real".into()),
        None => Ok(options),
    }
}
