//! Holds the sources to the layers: a module imports downwards only, and modules
//! of one row do not import each other. Also where `unsafe` may stand, and who may print.
//!
//! The sources are read as tokens; comments, documentation and strings do not count.

mod paths;
mod tokens;

use paths::{Mention, mentions};
use std::collections::BTreeMap;
use std::path::Path;
use tokens::{Token, tokens};

/// The layers, highest first. The command line stands in the binary, above the library's rows.
const ROWS: &[(u8, &[&str])] = &[
    (7, &["cli"]),
    (6, &["report"]),
    (5, &["engine"]),
    (4, &["frontier", "fetch", "sink", "stats", "site"]),
    (3, &["visited", "robots", "scope", "extract", "sitemap", "sketch"]),
    (2, &["store"]),
    (1, &["url", "model", "config"]),
    (0, &["budget", "cache", "human"]),
];

/// The roots of library and binary, which see everything.
const ROOTS: &[&str] = &["lib.rs", "main.rs"];

/// The leaf modules whose work needs `unsafe`: operating system and processor.
const UNSAFE_LEAVES: &[&str] =
    &["budget/system.rs", "sketch/letters.rs", "visited/memory.rs", "visited/simd.rs", "visited/simd/x86.rs"];

/// A source tree: path below `src/` → text.
type Tree = BTreeMap<String, String>;

fn row_of(module: &str) -> Option<u8> {
    ROWS.iter().find(|(_, modules)| modules.contains(&module)).map(|(row, _)| *row)
}

/// The top-level module a file belongs to: `url` for `url/key.rs` and `url.rs`.
fn module_of(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Everything in a tree that breaks a rule, one line each.
fn offences(tree: &Tree, leaves: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in tree {
        let tokens = tokens(text);
        unsafe_code(file, &tokens, leaves, &mut found);
        printing(file, &tokens, &mut found);
        if ROOTS.contains(&file.as_str()) {
            continue;
        }
        match row_of(module_of(file)) {
            Some(row) => layering(file, row, &tokens, &mut found),
            None => found.push(format!("{file}: module {} stands in no row", module_of(file))),
        }
    }
    found
}

fn layering(file: &str, row: u8, tokens: &[Token], found: &mut Vec<String>) {
    let own = module_of(file);
    // the binary's own tree: its `crate` is not the library, and every row is below it
    if own == "cli" {
        return;
    }
    for Mention { path, line } in mentions(file, tokens) {
        let Some(module) = path.first() else { continue };
        if module == own {
            continue;
        }
        match row_of(module) {
            None => found.push(format!("{file}:{line}: {} names no module of the table", path.join("::"))),
            Some(other) if other > row => found.push(format!("{file}:{line}: imports {module}, a row above")),
            Some(other) if other == row => {
                found.push(format!("{file}:{line}: imports {module} of its own row"));
            }
            Some(_) => {}
        }
    }
}

fn unsafe_code(file: &str, tokens: &[Token], leaves: &[&str], found: &mut Vec<String>) {
    if leaves.contains(&file) {
        return;
    }
    for token in tokens.iter().filter(|token| token.text == "unsafe" || token.text == "unsafe_code") {
        found.push(format!("{file}:{}: unsafe outside the known leaf modules", token.line));
    }
}

fn printing(file: &str, tokens: &[Token], found: &mut Vec<String>) {
    if file == "main.rs" || module_of(file) == "cli" {
        return;
    }
    for pair in tokens.windows(2) {
        let prints = ["print", "println", "eprint", "eprintln", "dbg"].contains(&pair[0].text.as_str());
        if prints && pair[1].text == "!" {
            found.push(format!("{file}:{}: prints, which is for cli alone", pair[0].line));
        }
    }
}

/// The rows of the table in the library's documentation.
fn documented_rows(library: &str) -> Vec<(u8, Vec<&str>)> {
    let cells = library.lines().filter_map(|line| line.strip_prefix("//! | "));
    cells
        .filter_map(|line| {
            let (row, modules) = line.split_once(" | ")?;
            // every other piece between backticks is a module's name
            Some((row.parse().ok()?, modules.split('`').skip(1).step_by(2).collect()))
        })
        .collect()
}

fn read_tree(root: &Path, below: &str, tree: &mut Tree) {
    for entry in std::fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            read_tree(root, &format!("{name}/"), tree);
        } else if Path::new(&name).extension().is_some_and(|extension| extension == "rs") {
            tree.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

fn sources() -> Tree {
    let mut tree = Tree::new();
    read_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut tree);
    tree
}

#[test]
fn the_sources_keep_to_the_layers() {
    let tree = sources();
    assert!(tree.len() > 10, "the sources were not found");
    let found = offences(&tree, UNSAFE_LEAVES);
    assert!(found.is_empty(), "{}", found.join("\n"));
    for leaf in UNSAFE_LEAVES {
        assert!(tree.contains_key(*leaf), "{leaf} is listed as a leaf and is not there");
    }
}

#[test]
fn every_module_of_the_table_exists() {
    let tree = sources();
    for module in ROWS.iter().flat_map(|(_, modules)| modules.iter()) {
        assert!(tree.keys().any(|file| module_of(file) == *module), "{module} stands in the table alone");
    }
}

#[test]
fn the_library_documents_this_very_table() {
    let library = &sources()["lib.rs"];
    let of_library = ROWS.iter().filter(|(_, modules)| *modules != ["cli"]);
    let expected: Vec<(u8, Vec<&str>)> = of_library.map(|(row, modules)| (*row, modules.to_vec())).collect();
    assert_eq!(documented_rows(library), expected);
}

/// What the rules find in a tree of one file.
fn offences_of(file: &str, text: &str) -> Vec<String> {
    offences(&Tree::from([(file.to_owned(), text.to_owned())]), &["budget/machine.rs"])
}

#[test]
fn each_kind_of_offence_is_found() {
    for (file, text) in [
        ("url/mod.rs", "use crate::engine::Owner;"),
        ("url/key.rs", "use super::super::engine;"),
        ("url.rs", "use super::store;"),
        ("robots/mod.rs", "use crate::{url, scope::Scope};"),
        ("robots/mod.rs", "use crate::{url::{self, Key}, model, extract};"),
        ("robots/mod.rs", "use {std::fmt, crate::visited};"),
        ("robots/mod.rs", "fn f() -> crate::fetch::Answer { g() }"),
        ("robots/mod.rs", "mod inner { use super::super::sink; }"),
        ("robots/mod.rs", "mod inner { mod deeper { fn f() { super::super::super::stats::f() } } }"),
        ("store/log.rs", "fn f<'a>(x: &'a str) { let c = 'x'; crate::frontier::f(c) }"),
        ("store/log.rs", "use crate::Crawl;"),
        ("novel/mod.rs", ""),
        ("novel.rs", ""),
        ("store/mod.rs", "fn f() { unsafe { g() } }"),
        ("store/mod.rs", "#![allow(unsafe_code)]"),
        ("lib.rs", "unsafe fn f() {}"),
        ("store/mod.rs", "fn f() { println!(\"x\") }"),
        ("engine/mod.rs", "fn f() { std::eprint!(\"x\") }"),
    ] {
        assert_eq!(offences_of(file, text).len(), 1, "{file}: {text}: {:?}", offences_of(file, text));
    }
}

#[test]
fn what_is_allowed_is_not_found() {
    for (file, text) in [
        ("engine/mod.rs", "use crate::{frontier::Frontier, url, budget::Share, fetch};"),
        ("robots/mod.rs", "mod parse; use self::parse::Rules; use crate::robots::parse::f; use ::url::Url;"),
        ("robots/parse.rs", "use super::Rules; use super::super::url::Key;"),
        ("robots/mod.rs", "mod tests { use super::*; use super::super::model::Via; }"),
        (
            "robots/mod.rs",
            "// use crate::engine\n/* unsafe /* nested */ crate::sink */ /// crate::fetch\nfn f() {}",
        ),
        (
            "robots/mod.rs",
            "const A: &str = \"crate::engine \\\" unsafe\"; const B: &str = r#\"crate::\"engine\"#;",
        ),
        (
            "robots/mod.rs",
            "const A: &[u8] = b\"unsafe\"; const B: char = '\"'; const C: char = '\\''; use crate::url;",
        ),
        ("budget/machine.rs", "#![allow(unsafe_code)] fn f() { unsafe { g() } }"),
        ("cli/crawl.rs", "use crate::cli::progress; fn f() { println!(\"x\") }"),
        ("main.rs", "mod cli; fn main() { eprintln!(\"x\") }"),
        ("sink/mod.rs", "fn print() { writeln!(out, \"x\") }"),
        ("sink/mod.rs", "pub(crate) struct A; pub(in crate::sink) struct B; pub(super) struct C;"),
    ] {
        assert_eq!(offences_of(file, text), Vec::<String>::new(), "{file}: {text}");
    }
}

#[test]
fn the_table_is_read_from_the_documentation() {
    let library =
        "//! text\n//! | row | modules |\n//! |---|---|\n//! | 4 | [`a`], [`b`] |\n//! | 0 | [`c`] |\n";
    assert_eq!(documented_rows(library), vec![(4, vec!["a", "b"]), (0, vec!["c"])]);
}
