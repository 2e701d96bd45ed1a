//! Namespaces of XML (Namespaces in XML 1.0): which one a prefix stands for, as a number.

use xxhash_rust::xxh3::xxh3_64;

/// A namespace: the XXH3 of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Namespace(u64);

/// Declarations in force at most; one beyond is not known.
const MOST: usize = 256;

impl Namespace {
    /// Of a name without a prefix where nothing is declared.
    pub(super) const NONE: Namespace = Namespace(0);
    /// Of a prefix that nobody declared.
    const UNKNOWN: Namespace = Namespace(1);

    pub(super) fn named(name: &str) -> Self {
        let name = name.trim();
        if name.is_empty() { Self::NONE } else { Self(xxh3_64(name.as_bytes()).max(2)) }
    }
}

#[derive(Debug)]
struct Declaration {
    depth: u64,
    prefix: u64,
    namespace: Namespace,
}

/// The declarations in force.
#[derive(Debug, Default)]
pub(super) struct Namespaces(Vec<Declaration>);

impl Namespaces {
    /// Takes an attribute of an element at a depth for a declaration, if it is one.
    pub(super) fn declare(&mut self, depth: u64, attribute: &str, value: &str) {
        let prefix = match attribute.strip_prefix("xmlns") {
            Some("") => "",
            Some(prefix) if prefix.starts_with(':') => &prefix[1..],
            _ => return,
        };
        if self.0.len() < MOST {
            let prefix = xxh3_64(prefix.as_bytes());
            self.0.push(Declaration { depth, prefix, namespace: Namespace::named(value) });
        }
    }

    /// Lets go of those of elements at a depth and below.
    pub(super) fn leave(&mut self, depth: u64) {
        while self.0.last().is_some_and(|last| last.depth >= depth) {
            self.0.pop();
        }
    }

    /// The namespace of a name, and the name without its prefix.
    pub(super) fn of<'n>(&self, name: &'n str) -> (Namespace, &'n str) {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let hash = xxh3_64(prefix.as_bytes());
        let declared = self.0.iter().rev().find(|one| one.prefix == hash).map(|one| one.namespace);
        let otherwise = if prefix.is_empty() { Namespace::NONE } else { Namespace::UNKNOWN };
        (declared.unwrap_or(otherwise), local)
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Declaration>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_means_what_was_declared_last() {
        let mut namespaces = Namespaces::default();
        assert_eq!(namespaces.of("a"), (Namespace::NONE, "a"));
        assert_eq!(namespaces.of("n:a"), (Namespace::UNKNOWN, "a"));
        namespaces.declare(1, "xmlns", "urn:one");
        namespaces.declare(1, "xmlns:n", " urn:two ");
        namespaces.declare(1, "xmlnsx", "urn:three");
        namespaces.declare(3, "xmlns:n", "urn:one");
        assert_eq!(namespaces.of("n:a"), namespaces.of("a"));
        namespaces.leave(2);
        assert_eq!(namespaces.of("n:a").0, Namespace::named("urn:two"));
        namespaces.declare(2, "xmlns", "");
        assert_eq!(namespaces.of("a").0, Namespace::NONE);
        namespaces.leave(1);
        assert_eq!(namespaces.of("n:a").0, Namespace::UNKNOWN);
    }

    #[test]
    fn declarations_are_bounded() {
        let mut namespaces = Namespaces::default();
        for number in 0..1000 {
            namespaces.declare(1, &format!("xmlns:n{number}"), "urn:x");
        }
        assert_eq!(namespaces.of("n999:a").0, Namespace::UNKNOWN);
        assert_eq!(namespaces.of("n0:a").0, Namespace::named("urn:x"));
    }
}
