//! Which modules of the crate a file names, from its tokens.

use super::tokens::Token;

/// A path below the crate's root, wherever it was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// Every path of the file that starts with `crate`, `super` or `self`, seen from the crate's root.
pub(super) fn mentions(file: &str, tokens: &[Token]) -> Vec<Mention> {
    let base = module_path(file);
    // inline modules that are open here, each with the depth of braces it was opened at
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => {
                depth += 1;
                if let Some(name) = inline_module(tokens, index) {
                    inline.push((name, depth));
                }
            }
            "}" => {
                if inline.last().is_some_and(|(_, opened)| *opened == depth) {
                    inline.pop();
                }
                depth = depth.saturating_sub(1);
            }
            "crate" | "super" | "self" if starts_path(tokens, index) => {
                let here: Vec<&str> = base
                    .iter()
                    .map(String::as_str)
                    .chain(inline.iter().map(|(name, _)| name.as_str()))
                    .collect();
                for path in expand(tokens, &mut index.clone()) {
                    found.push(Mention { path: resolve(&here, &path), line: token.line });
                }
            }
            _ => {}
        }
    }
    found
}

/// `robots/parse.rs` is `robots::parse`, `robots/mod.rs` is `robots`.
fn module_path(file: &str) -> Vec<String> {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

/// The name of the module whose brace stands at `index`.
fn inline_module(tokens: &[Token], index: usize) -> Option<String> {
    let name = index.checked_sub(1).and_then(|at| tokens.get(at))?;
    let keyword = index.checked_sub(2).and_then(|at| tokens.get(at))?;
    (keyword.text == "mod").then(|| name.text.clone())
}

/// Whether a path begins here: a `::` follows and none stands before.
fn starts_path(tokens: &[Token], index: usize) -> bool {
    let text = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|token| token.text.as_str());
    if text(index.checked_sub(1)) == Some("::") {
        return false;
    }
    // `super` and `self` within a group belong to the path in front of the group
    text(Some(index + 1)) == Some("::")
}

/// All paths of a tree of paths, `a::{b, c::d}`; `index` moves behind it.
fn expand(tokens: &[Token], index: &mut usize) -> Vec<Vec<String>> {
    let mut prefix = Vec::new();
    loop {
        let Some(token) = tokens.get(*index) else {
            return vec![prefix];
        };
        *index += 1;
        if token.text == "{" {
            return group(tokens, index, &prefix);
        }
        prefix.push(token.text.clone());
        // a turbofish or the end of the path
        let goes_on = tokens.get(*index).is_some_and(|next| next.text == "::")
            && tokens.get(*index + 1).is_some_and(|next| next.text != "<");
        if !goes_on {
            return vec![prefix];
        }
        *index += 1;
    }
}

/// The members of a group, each with the prefix; the opening brace has been read.
fn group(tokens: &[Token], index: &mut usize, prefix: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    while let Some(token) = tokens.get(*index) {
        match token.text.as_str() {
            "}" => {
                *index += 1;
                return paths;
            }
            "," => *index += 1,
            // the new name says nothing of where it comes from
            "as" => *index += 2,
            _ => paths.extend(expand(tokens, index).into_iter().map(|path| [prefix, &path].concat())),
        }
    }
    paths
}

/// A path as written in module `here`, from the crate's root on.
fn resolve(here: &[&str], written: &[String]) -> Vec<String> {
    let mut path: Vec<String> = here.iter().map(|name| (*name).to_owned()).collect();
    for segment in written {
        match segment.as_str() {
            "crate" => path.clear(),
            "self" => {}
            "super" => drop(path.pop()),
            _ => path.push(segment.clone()),
        }
    }
    path
}
