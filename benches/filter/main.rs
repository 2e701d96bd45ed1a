//! How fast and how right the visited set's filters are, beside what they are compared with.
//!
//! `cargo bench --bench filter` runs everything (about five minutes);
//! `-- --quick` a smaller version; `-- --speed` or `-- --rates` one half only.
//! `-- --set portable|avx2|avx512` holds the blocked filter to one instruction set.
#![allow(unsafe_code, unreachable_pub)]
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::inline_always)]

mod input;
mod rates;
mod set;
mod sides;
mod speed;

use dragline::visited::InstructionSet;

/// What was asked for on the command line.
struct Options {
    quick: bool,
    speed: bool,
    rates: bool,
    set: InstructionSet,
}

fn main() {
    let options = parse(std::env::args().skip(1));
    println!("instruction set: {} (of {})", options.set.name(), names(InstructionSet::available()));
    println!("time: {}", input::CLOCK);
    if options.speed {
        let sizes: &[usize] = if options.quick { &[1_000_000] } else { &[1_000_000, 10_000_000] };
        for urls in sizes {
            speed::run(*urls, options.set, options.quick);
        }
        set::run();
    }
    if options.rates {
        rates::run(if options.quick { 1_000_000 } else { 10_000_000 }, options.set);
    }
}

fn parse(arguments: impl Iterator<Item = String>) -> Options {
    let mut options = Options { quick: false, speed: true, rates: true, set: InstructionSet::detect() };
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--speed" => options.rates = false,
            "--rates" => options.speed = false,
            "--set" => options.set = named(&arguments.next().unwrap_or_default()),
            // what cargo itself passes to every bench
            "--bench" => {}
            other => fail(&format!("unknown argument {other}")),
        }
    }
    options
}

fn named(name: &str) -> InstructionSet {
    let plain = |set: InstructionSet| set.name().to_lowercase().replace('-', "");
    let found = InstructionSet::available().iter().find(|set| plain(**set) == name);
    found.copied().unwrap_or_else(|| fail(&format!("this processor has no instruction set {name:?}")))
}

fn names(sets: &[InstructionSet]) -> String {
    sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(", ")
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}
