//! What the whole visited set costs per candidate, hashing not included: asked by pages of 40 links.

use dragline::config::{Dedup, FilterKind};
use dragline::visited::{MemoryKeys, Sizing, Visited, VisitedSettings};

use super::input::{Random, median, time};

const LINKS: usize = 40;

const URLS: usize = 100_000;

pub fn run() {
    println!("\nthe visited set, {URLS} URLs, pages of {LINKS} links, ns per candidate");
    println!("| mode | table | new | repeat |");
    println!("|---|---|---|---|");
    for (name, dedup, table, table_bytes) in [
        ("two-stage", Dedup::TwoStage, "holds all", 4 << 20),
        ("two-stage", Dedup::TwoStage, "holds a quarter", 256 << 10),
        ("bloom", Dedup::Bloom, "none", 0),
        ("exact", Dedup::Exact, "holds all", 4 << 20),
    ] {
        let rounds: Vec<[f64; 2]> = (0..9).map(|_| round(dedup, table_bytes)).collect();
        let middle = |which: usize| median(&rounds.iter().map(|round| round[which]).collect::<Vec<_>>());
        println!("| {name} | {table} | {:.1} | {:.1} |", middle(0), middle(1));
    }
}

fn round(dedup: Dedup, table_bytes: u64) -> [f64; 2] {
    let sizing = Sizing::from_bits_per_url(FilterKind::Blocked, URLS as u64, 10.0).unwrap();
    let settings = VisitedSettings { dedup, sizing, table_bytes };
    let mut visited = Visited::new(&settings, Box::new(MemoryKeys::new())).unwrap();
    let mut random = Random(3);
    let keys: Vec<u64> = (0..URLS).map(|_| random.next()).collect();
    let mut answers = Vec::new();
    let mut pass = || {
        let (nanoseconds, ()) = time(|| {
            for page in keys.chunks(LINKS) {
                visited.ask(page, &mut answers).unwrap();
            }
        });
        nanoseconds / URLS as f64
    };
    [pass(), pass()]
}
