//! The false-positive rate: measured, beside the theory of the layout and beside what the filter reports.

use dragline::config::FilterKind;
use dragline::visited::{BlockedFilter, ClassicFilter, Filter, InstructionSet, Sizing};

use super::input::Random;

/// False positives at each point: their number is right to about a third of a per cent.
const HITS: u64 = 100_000;

const GROUP: usize = 512;

pub fn run(keys: u64, set: InstructionSet) {
    println!("\nfalse-positive rates, {keys} keys at load 1, at least {HITS} false positives a point");
    println!(
        "| filter | bits per URL | k | load | measured | ÷ theory | reported ÷ measured | last look ÷ measured |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut worst: f64 = 0.0;
    for bits_per_url in [8.0, 10.0, 12.0] {
        let sizing = Sizing::from_bits_per_url(FilterKind::Blocked, keys, bits_per_url).unwrap();
        let mut filter = BlockedFilter::with_instruction_set(sizing.bits, sizing.hashes, set).unwrap();
        worst = worst.max(points(&mut filter, &sizing, BlockedFilter::prefetch));
    }
    let sizing = Sizing::from_bits_per_url(FilterKind::Classic, keys, 10.0).unwrap();
    let mut filter = ClassicFilter::new(sizing.bits, sizing.hashes).unwrap();
    worst = worst.max(points(&mut filter, &sizing, |_, _| ()));
    println!(
        "\nfurthest from 1: {worst:.4} (must be ≤ 0.02): {}",
        if worst <= 0.02 { "met" } else { "MISSED" }
    );
}

/// Measures one filter at three loads; how far from 1 the worst quotient was.
fn points<F: Filter>(filter: &mut F, sizing: &Sizing, near: fn(&F, u64)) -> f64 {
    let mut random = Random(7);
    let (mut inserted, mut worst) = (0, 0.0_f64);
    for load in [0.5, 1.0, 2.0] {
        let target = (sizing.urls as f64 * load) as u64;
        while inserted < target {
            let keys: Vec<u64> = (0..(target - inserted).min(4096)).map(|_| random.next()).collect();
            filter.insert_batch(&keys);
            inserted += keys.len() as u64;
        }
        let unscanned = filter.estimate().rate;
        filter.refresh(usize::MAX);
        let measured = measure(filter, &mut random.clone(), near);
        let theory = measured / sizing.rate_at(target);
        let reported = [unscanned / measured, filter.estimate().rate / measured];
        println!(
            "| {:?} | {:.0} | {} | {load} | {measured:.3e} | {theory:.4} | {:.4} | {:.4} |",
            sizing.kind,
            sizing.bits_per_url(),
            sizing.hashes,
            reported[0],
            reported[1],
        );
        worst = [theory, reported[0], reported[1]]
            .iter()
            .fold(worst, |worst, ratio| worst.max((ratio - 1.0).abs()));
    }
    worst
}

/// Asks for keys that were never inserted until enough were false positives.
fn measure<F: Filter>(filter: &F, random: &mut Random, near: fn(&F, u64)) -> f64 {
    let (mut asked, mut hits) = (0_u64, 0_u64);
    let mut keys = [0; GROUP];
    while hits < HITS {
        for key in &mut keys {
            *key = random.next();
            near(filter, *key);
        }
        hits += keys.iter().filter(|key| filter.contains(**key)).count() as u64;
        asked += GROUP as u64;
    }
    hits as f64 / asked as f64
}
