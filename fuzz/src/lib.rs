//! What the fuzz targets share: how their inputs are taken apart, and where their seeds come from.
//!
//! Every input is plain bytes, laid out by its target with [`Input`]: numbers first, then texts that end in
//! [`END`], then the rest. The seeds are made by the target itself, from the rows of `tests/cases`, and
//! are never committed: see [`lay`].

mod cases;
mod disk;
mod files;
mod input;
mod memory;

pub use cases::{Row, reports, rows};
pub use disk::MemoryDisk;
pub use files::{Files, crawls, links, options, seeds};
pub use input::{END, Input, Pieces, input};
pub use memory::peak_of;

use std::path::Path;

/// The variable that names a directory for seeds.
const SEEDS: &str = "DRAGLINE_FUZZ_SEEDS";

/// Writes seeds into the directory that the environment names, one a file, and ends the process;
/// does nothing where none is named.
pub fn lay(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
    let Some(directory) = std::env::var_os(SEEDS) else { return };
    let directory = Path::new(&directory);
    for (number, seed) in seeds().iter().enumerate() {
        std::fs::write(directory.join(format!("seed-{number:04}")), seed).expect("a directory for seeds");
    }
    std::process::exit(0);
}
