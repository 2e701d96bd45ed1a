//! The rules that apply to us, packed, and the search for the one that decides.
//!
//! RFC 9309 section 2.2.2: of the rules that match, the one with the most
//! octets decides, and *Allow* where two have as many. Octets are counted in
//! the normalized rule, operators included and runs of `*` as they were written.
//!
//! A rule's *head* is what stands before its first `*`. Rules are sorted by
//! head, rules with one head make a *node*, and each node knows the node of its
//! longest proper prefix. All heads that a path begins with are then the
//! ancestors of the last head that is not greater than the path: one binary
//! search finds them, however many rules there are. Within a node the rules
//! stand in the order in which they win, so that the first match ends it.
//!
//! Behind the head, each literal is searched for once, leftmost first, and
//! nothing is ever taken back: a later position could not leave more room for
//! what follows. Every search is linear, so a rule costs the length of the path
//! at most. Each rule also keeps a *probe*, four octets of its longest literal
//! behind the head: where many rules share a head, the path's sequences of four
//! are gathered first, and a rule whose probe is not among them is passed over.

use memchr::{memchr, memmem, memrchr};
use std::ops::Range;

/// The operator `*` in a packed rule; a literal NUL is always escaped.
pub(super) const WILD: u8 = 0;
/// No node: the parent of a node without one.
pub(super) const NONE: u32 = u32::MAX;

/// The rule is an *Allow*.
pub(super) const ALLOW: u32 = 1 << 31;
/// The rule must reach the end of the path.
pub(super) const ANCHORED: u32 = 1 << 30;
/// A `*` at the end was dropped, for it changes nothing.
pub(super) const ENDS_IN_STAR: u32 = 1 << 29;
/// The rule was written with a `$`; without `ANCHORED`, behind a `*` it meant nothing.
pub(super) const ENDS_IN_DOLLAR: u32 = 1 << 28;
/// The bits that hold the number of the line.
pub(super) const LINE: u32 = ENDS_IN_DOLLAR - 1;

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rule {
    /// Where its text starts.
    pub(super) start: u32,
    /// Bytes of its text.
    pub(super) length: u32,
    /// Octets of the normalized rule, by which it wins.
    pub(super) octets: u32,
    /// Number of the line, and the flags above.
    pub(super) meta: u32,
    /// Four octets that occur in every path it matches; 0 where there are none.
    pub(super) probe: u32,
}

/// What stands before the first `*` of a rule's text.
pub(super) fn head(text: &[u8]) -> &[u8] {
    &text[..memchr(WILD, text).unwrap_or(text.len())]
}

impl Rule {
    /// Its own part of the text of all rules.
    pub(super) fn text<'a>(&self, all: &'a [u8]) -> &'a [u8] {
        &all[self.start as usize..][..self.length as usize]
    }

    fn rank(&self) -> (u32, bool) {
        (self.octets, self.meta & ALLOW != 0)
    }
}

/// The rules that share a head: from `first` to the first of the next node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Node {
    /// The first of its rules.
    pub(super) first: u32,
    /// The node of the longest head that this one begins with.
    pub(super) parent: u32,
}

/// Which rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decision {
    rule: u32,
    /// Whether the path may be fetched.
    pub(super) allowed: bool,
    /// The line of the rule, from 1.
    pub(super) line: u32,
}

impl Decision {
    /// The place of the rule in the list.
    pub(super) fn rule(self) -> usize {
        self.rule as usize
    }
}

/// The rules of the groups that apply to us.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleList {
    /// The normalized rules, in the order of the file; some of it may belong to none.
    pub(super) text: Box<[u8]>,
    /// Sorted by head and, with one head, by rank.
    pub(super) rules: Box<[Rule]>,
    /// Sorted by head.
    pub(super) nodes: Box<[Node]>,
}

/// Where in the text a rule stands makes no difference.
impl PartialEq for RuleList {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Rule, b: &Rule| {
            Rule { start: b.start, ..*a } == *b && a.text(&self.text) == b.text(&other.text)
        };
        self.nodes == other.nodes
            && self.rules.len() == other.rules.len()
            && self.rules.iter().zip(&other.rules).all(|(a, b)| same(a, b))
    }
}

impl RuleList {
    /// How many rules there are, duplicates and rules without effect not counted.
    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.text) + size_of_val(&*self.rules) + size_of_val(&*self.nodes)
    }

    /// The rule that decides for a normalized path, where one matches.
    pub(super) fn decide(&self, path: &[u8]) -> Option<Decision> {
        let mut best: Option<(usize, Rule)> = None;
        let mut sequences = None;
        let mut at = self.last_head_in(path);
        while at != NONE {
            let rank = best.map(|(_, rule)| rule.rank());
            best = self.first_match(at, rank, path, &mut sequences).or(best);
            at = self.nodes[at as usize].parent;
        }
        best.map(|(index, rule)| Decision {
            rule: index as u32,
            allowed: rule.meta & ALLOW != 0,
            line: rule.meta & LINE,
        })
    }

    /// The line of a rule, from 1.
    pub(super) fn line(&self, rule: usize) -> u32 {
        self.rules.get(rule).map_or(0, |rule| rule.meta & LINE)
    }

    /// The octets by which a rule wins.
    pub(super) fn octets(&self, rule: usize) -> u32 {
        self.rules.get(rule).map_or(0, |rule| rule.octets)
    }

    /// A rule as a person would write it, `limit` octets of it at most.
    pub(super) fn written(&self, index: usize, limit: usize) -> String {
        let Some(rule) = self.rules.get(index) else {
            return String::new();
        };
        let mut out = String::from(if rule.meta & ALLOW != 0 { "Allow: " } else { "Disallow: " });
        let text = self.text(index);
        for (at, &octet) in text.iter().enumerate() {
            let last = at + 1 == text.len() && rule.meta & (ENDS_IN_STAR | ENDS_IN_DOLLAR) == 0;
            match octet {
                WILD => out.push('*'),
                b'*' => out.push_str("%2A"),
                b'$' if last => out.push_str("%24"),
                _ => out.push(char::from(octet)),
            }
            if out.len() >= limit {
                out.push('…');
                return out;
            }
        }
        out.extend((rule.meta & ENDS_IN_STAR != 0).then_some('*'));
        out.extend((rule.meta & ENDS_IN_DOLLAR != 0).then_some('$'));
        out
    }

    fn text(&self, rule: usize) -> &[u8] {
        self.rules[rule].text(&self.text)
    }

    fn head(&self, node: Node) -> &[u8] {
        head(self.text(node.first as usize))
    }

    /// The node with the longest head that the path begins with.
    fn last_head_in(&self, path: &[u8]) -> u32 {
        let after = self.nodes.partition_point(|node| self.head(*node) <= path);
        let Some(mut at) = after.checked_sub(1) else {
            return NONE;
        };
        let common = self.head(self.nodes[at]).iter().zip(path).take_while(|(a, b)| a == b).count();
        while self.head(self.nodes[at]).len() > common {
            match self.nodes[at].parent {
                NONE => return NONE,
                parent => at = parent as usize,
            }
        }
        at as u32
    }

    fn rules_of(&self, node: u32) -> Range<usize> {
        let next = self.nodes.get(node as usize + 1);
        self.nodes[node as usize].first as usize..next.map_or(self.rules.len(), |next| next.first as usize)
    }

    /// The winner among the rules of a node, if it beats `rank`. The path begins with the node's head.
    fn first_match(
        &self,
        node: u32,
        rank: Option<(u32, bool)>,
        path: &[u8],
        sequences: &mut Option<Sequences>,
    ) -> Option<(usize, Rule)> {
        /// With fewer rules, gathering the path's sequences costs more than it saves.
        const MANY: usize = 16;
        let range = self.rules_of(node);
        let known = (range.len() > MANY).then(|| &*sequences.get_or_insert_with(|| Sequences::of(path)));
        let head = self.head(self.nodes[node as usize]).len();
        for (rule, index) in self.rules[range.clone()].iter().zip(range) {
            if rank.is_some_and(|rank| rule.rank() <= rank) {
                return None;
            }
            let hopeless = known.is_some_and(|known| !known.may_hold(rule.probe));
            if !hopeless && self.rest_matches(index, head, &path[head..]) {
                return Some((index, *rule));
            }
        }
        None
    }

    /// Whether a rule matches behind its head.
    fn rest_matches(&self, rule: usize, head: usize, rest: &[u8]) -> bool {
        let anchored = self.rules[rule].meta & ANCHORED != 0;
        match &self.text(rule)[head..] {
            [] => !anchored || rest.is_empty(),
            [_, tail @ ..] => tail_matches(tail, rest, anchored),
        }
    }
}

/// Whether the literals of `tail` occur in `text` one after another, the last
/// one at its end where the rule is anchored.
fn tail_matches(mut tail: &[u8], mut text: &[u8], anchored: bool) -> bool {
    if anchored {
        let last = memrchr(WILD, tail);
        let Some(before) = text.strip_suffix(&tail[last.map_or(0, |at| at + 1)..]) else {
            return false;
        };
        let Some(last) = last else { return true };
        (tail, text) = (&tail[..last], before);
    }
    tail.split(|octet| *octet == WILD).all(|literal| {
        let found = memmem::find(text, literal);
        text = found.map_or(text, |at| &text[at + literal.len()..]);
        found.is_some()
    })
}

/// The four-octet sequences of a path, as a small Bloom filter with one hash:
/// a sequence that is not in it does not occur in the path.
struct Sequences([u64; Sequences::WORDS]);

impl Sequences {
    const WORDS: usize = 64;

    fn of(path: &[u8]) -> Self {
        let mut bits = [0; Self::WORDS];
        for octets in path.windows(4).filter_map(|window| window.first_chunk()) {
            let (word, bit) = Self::place(u32::from_le_bytes(*octets));
            bits[word] |= bit;
        }
        Sequences(bits)
    }

    fn place(sequence: u32) -> (usize, u64) {
        let hash = sequence.wrapping_mul(0x9E37_79B1);
        ((hash >> 26) as usize % Self::WORDS, 1 << (hash >> 20 & 63))
    }

    /// Whether the path may hold what the probe demands.
    fn may_hold(&self, probe: u32) -> bool {
        let (word, bit) = Self::place(probe);
        self.0[word] & bit != 0 || probe == 0
    }
}
