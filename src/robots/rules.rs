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
//! at most. Where many rules share a head, the path's four-octet sequences are
//! gathered first, and a rule whose literals need another is passed over.

use super::octets::{Form, octets, write};
use memchr::{memchr, memmem, memrchr};
use std::cmp::Reverse;

/// The operator `*` in a packed rule; a literal NUL is always escaped.
const WILD: u8 = 0;
/// No node: the parent of a node without one.
const NONE: u32 = u32::MAX;

const ALLOW: u32 = 1 << 31;
/// The rule must reach the end of the path.
const ANCHORED: u32 = 1 << 30;
/// A `*` at the end was dropped, for it changes nothing.
const ENDS_IN_STAR: u32 = 1 << 29;
/// The rule was written with a `$`; without `ANCHORED`, behind a `*` it meant nothing.
const ENDS_IN_DOLLAR: u32 = 1 << 28;
const LINE: u32 = ENDS_IN_DOLLAR - 1;

/// One rule: its text runs from `start` to the start of the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rule {
    start: u32,
    /// Octets of the normalized rule, by which it wins.
    octets: u32,
    /// Number of the line, and the flags above.
    meta: u32,
}

impl Rule {
    fn rank(&self) -> (u32, bool) {
        (self.octets, self.meta & ALLOW != 0)
    }
}

/// The rules that share a head: from `first` to the first of the next node.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    first: u32,
    head: u32,
    parent: u32,
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

/// The rules of the groups that apply to us.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RuleList {
    text: Box<[u8]>,
    rules: Box<[Rule]>,
    nodes: Box<[Node]>,
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
        while let Some(node) = self.nodes.get(at as usize) {
            let found = self.first_match(at, node, best.map(|(_, rule)| rule.rank()), path, &mut sequences);
            best = found.or(best);
            at = node.parent;
        }
        best.map(|(index, rule)| Decision {
            rule: index as u32,
            allowed: rule.meta & ALLOW != 0,
            line: rule.meta & LINE,
        })
    }

    /// The rule as a person would write it, `limit` octets of it at most.
    pub(super) fn text_of(&self, decision: Decision, limit: usize) -> String {
        let index = decision.rule as usize;
        let Some(rule) = self.rules.get(index) else {
            return String::new();
        };
        let mut out = String::from(if decision.allowed { "Allow: " } else { "Disallow: " });
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
        let end = self
            .rules
            .get(rule + 1)
            .map_or(self.text.len(), |next| next.start as usize);
        &self.text[self.rules[rule].start as usize..end]
    }

    fn head(&self, node: &Node) -> &[u8] {
        let start = self.rules[node.first as usize].start as usize;
        &self.text[start..start + node.head as usize]
    }

    /// The node with the longest head that the path begins with.
    fn last_head_in(&self, path: &[u8]) -> u32 {
        let after = self.nodes.partition_point(|node| self.head(node) <= path);
        let Some(mut at) = after.checked_sub(1) else {
            return NONE;
        };
        let common = self
            .head(&self.nodes[at])
            .iter()
            .zip(path)
            .take_while(|(a, b)| a == b)
            .count();
        while self.nodes[at].head as usize > common {
            match self.nodes[at].parent {
                NONE => return NONE,
                parent => at = parent as usize,
            }
        }
        at as u32
    }

    /// The winner among the rules of a node, if it beats `rank`.
    fn first_match(
        &self,
        at: u32,
        node: &Node,
        rank: Option<(u32, bool)>,
        path: &[u8],
        sequences: &mut Option<Sequences>,
    ) -> Option<(usize, Rule)> {
        /// With fewer rules, gathering the path's sequences costs more than it saves.
        const MANY: usize = 16;
        let end = self
            .nodes
            .get(at as usize + 1)
            .map_or(self.rules.len(), |next| next.first as usize);
        let many = end - node.first as usize > MANY;
        for index in node.first as usize..end {
            let rule = self.rules[index];
            if rank.is_some_and(|rank| rule.rank() <= rank) {
                return None;
            }
            let rest = &path[node.head as usize..];
            let anchored = rule.meta & ANCHORED != 0;
            let matches = match self.text(index)[node.head as usize..] {
                [] => !anchored || rest.is_empty(),
                [_, ref tail @ ..] => {
                    let hopeless = many
                        && !sequences
                            .get_or_insert_with(|| Sequences::of(path))
                            .may_match(tail);
                    !hopeless && tail_matches(tail, rest, anchored)
                }
            };
            if matches {
                return Some((index, rule));
            }
        }
        None
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
        for window in path.windows(4).filter_map(|window| window.first_chunk::<4>()) {
            let (word, bit) = Self::place(*window);
            bits[word] |= bit;
        }
        Sequences(bits)
    }

    fn place(sequence: [u8; 4]) -> (usize, u64) {
        let hash = u32::from_le_bytes(sequence).wrapping_mul(0x9E37_79B1);
        ((hash >> 26) as usize % Self::WORDS, 1 << (hash >> 20 & 63))
    }

    /// Whether the first and the last four octets of a rule's tail occur, where they are literal.
    fn may_match(&self, tail: &[u8]) -> bool {
        let ends = [tail.first_chunk::<4>(), tail.last_chunk::<4>()];
        ends.into_iter()
            .flatten()
            .filter(|sequence| !sequence.contains(&WILD))
            .all(|sequence| {
                let (word, bit) = Self::place(*sequence);
                self.0[word] & bit != 0
            })
    }
}

/// A rule while the file is being read.
#[derive(Debug, Clone, Copy)]
struct Draft {
    start: u32,
    length: u32,
    head: u32,
    octets: u32,
    meta: u32,
}

/// Gathers rules in the order of the file.
#[derive(Debug, Default)]
pub(super) struct RuleListBuilder {
    text: Vec<u8>,
    drafts: Vec<Draft>,
}

impl RuleListBuilder {
    /// Forgets all rules.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.drafts.clear();
    }

    /// Adds a rule; one that is no path pattern (empty, or without a `/` or `*`
    /// in front) can match no path and is left out, which `false` tells.
    pub(super) fn push(&mut self, value: &[u8], allow: bool, line: u32) -> bool {
        if !matches!(value.first(), Some(b'/' | b'*')) {
            return false;
        }
        let start = self.text.len();
        let mut octets_counted = 0;
        let mut meta = (line & LINE) | if allow { ALLOW } else { 0 };
        let mut rest = octets(value).peekable();
        while let Some(octet) = rest.next() {
            match (octet.form, octet.value) {
                (Form::Plain, b'*') if self.text[start..].last() == Some(&WILD) => {}
                (Form::Plain, b'*') => self.text.push(WILD),
                (Form::Plain, b'$') if rest.peek().is_none() => meta |= ANCHORED | ENDS_IN_DOLLAR,
                _ => write(octet, |octet| self.text.push(octet)),
            }
            let escaped = octet.form == Form::Encoded
                || octet.form == Form::Decoded && matches!(octet.value, b'*' | b'$');
            octets_counted += if escaped { 3 } else { 1 };
        }
        if self.text[start..].last() == Some(&WILD) {
            self.text.pop();
            meta = meta & !ANCHORED | ENDS_IN_STAR;
        }
        let text = &self.text[start..];
        self.drafts.push(Draft {
            start: start as u32,
            length: text.len() as u32,
            head: memchr(WILD, text).unwrap_or(text.len()) as u32,
            octets: octets_counted,
            meta,
        });
        true
    }

    fn text(&self, draft: &Draft) -> &[u8] {
        &self.text[draft.start as usize..(draft.start + draft.length) as usize]
    }

    fn head(&self, draft: &Draft) -> &[u8] {
        &self.text[draft.start as usize..(draft.start + draft.head) as usize]
    }

    /// Sorts and packs what was gathered.
    pub(super) fn finish(mut self) -> RuleList {
        let mut drafts = std::mem::take(&mut self.drafts);
        drafts.sort_unstable_by(|a, b| {
            let order = |draft: &Draft| {
                (
                    Reverse(draft.octets),
                    Reverse(draft.meta & ALLOW),
                    draft.meta & ANCHORED,
                )
            };
            let heads = self.head(a).cmp(self.head(b));
            let ranks = heads.then_with(|| order(a).cmp(&order(b)));
            let texts = ranks.then_with(|| self.text(a).cmp(self.text(b)));
            texts.then_with(|| (a.meta & LINE).cmp(&(b.meta & LINE)))
        });
        self.leave_out_idle(&mut drafts);
        let nodes = self.nodes(&drafts);
        let mut text = Vec::with_capacity(drafts.iter().map(|draft| draft.length as usize).sum());
        let mut rules = Vec::with_capacity(drafts.len());
        for draft in &drafts {
            rules.push(Rule {
                start: text.len() as u32,
                octets: draft.octets,
                meta: draft.meta,
            });
            text.extend_from_slice(self.text(draft));
        }
        RuleList {
            text: text.into(),
            rules: rules.into(),
            nodes: nodes.into(),
        }
    }

    /// Leaves out sorted rules that can never decide: repeated ones, and those
    /// behind a rule that matches whatever begins with their common head.
    fn leave_out_idle(&self, drafts: &mut Vec<Draft>) {
        let mut last: Option<Draft> = None;
        drafts.retain(|draft| {
            let idle = last.is_some_and(|last| {
                let covers_all = last.length == last.head && last.meta & ANCHORED == 0;
                let same_anchor = (last.meta ^ draft.meta) & ANCHORED == 0;
                covers_all && self.head(&last) == self.head(draft)
                    || same_anchor && self.text(&last) == self.text(draft)
            });
            if !idle {
                last = Some(*draft);
            }
            !idle
        });
    }

    /// The nodes of the sorted rules; one pass, with the open prefixes on a stack.
    fn nodes(&self, drafts: &[Draft]) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut open: Vec<u32> = Vec::new();
        for (first, draft) in drafts.iter().enumerate() {
            let head = self.head(draft);
            let head_of = |node: u32| self.head(&drafts[nodes[node as usize].first as usize]);
            if nodes
                .len()
                .checked_sub(1)
                .is_some_and(|last| head_of(last as u32) == head)
            {
                continue;
            }
            while open.last().is_some_and(|node| !head.starts_with(head_of(*node))) {
                open.pop();
            }
            let parent = open.last().copied().unwrap_or(NONE);
            open.push(nodes.len() as u32);
            nodes.push(Node {
                first: first as u32,
                head: draft.head,
                parent,
            });
        }
        nodes.shrink_to_fit();
        nodes
    }
}
