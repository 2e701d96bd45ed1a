//! From the rules of a file, in its order, to the packed list that is searched.
//!
//! How the list is laid out, and why, is told in [`rules`](super::rules). All is done in
//! place: a file of full size has up to 64,000 rules, of which 46,000 differ, and nothing is
//! held twice.

use super::octets::{Form, Octet, octets, write};
use super::rules::{
    ALLOW, ANCHORED, ENDS_IN_DOLLAR, ENDS_IN_STAR, LINE, NONE, Node, Rule, RuleList, WILD, head,
};
use std::cmp::Reverse;

/// As how many octets one is counted: an escape as it is written.
pub(super) fn counted(octet: Octet) -> u32 {
    let escaped =
        octet.form == Form::Encoded || octet.form == Form::Decoded && matches!(octet.value, b'*' | b'$');
    if escaped { 3 } else { 1 }
}

/// Octets of a normalized rule at most, which are half as many of literals at least: a URL of 64 KiB has no
/// more, were each of them escaped. (Of half a megabyte outside US-ASCII a rule would come to 1.5 MB.)
pub(super) const LONGEST_RULE: usize = 2 * (3 << 16);

/// Gathers rules in the order of the file.
#[derive(Debug, Default)]
pub(super) struct RuleListBuilder {
    text: Vec<u8>,
    rules: Vec<Rule>,
}

impl RuleListBuilder {
    /// Forgets all rules.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.rules.clear();
    }

    /// Bytes on the heap.
    pub(super) fn held_bytes(&self) -> usize {
        self.text.capacity() + self.rules.capacity() * size_of::<Rule>()
    }

    /// Adds a rule; one that is no path pattern (empty, or without a `/` or `*` in front), or is
    /// longer than any URL, can match no path and is left out, which `false` tells.
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
            octets_counted += counted(octet);
            if self.text.len() - start > LONGEST_RULE {
                self.text.truncate(start);
                return false;
            }
        }
        if self.text[start..].last() == Some(&WILD) {
            self.text.pop();
            meta = meta & !ANCHORED | ENDS_IN_STAR;
        }
        let text = &self.text[start..];
        let (length, probe) = (text.len() as u32, probe(text));
        self.rules.push(Rule { start: start as u32, length, octets: octets_counted, meta, probe });
        true
    }

    /// Gives the rule that was added last another number of octets to win by.
    pub(super) fn set_octets(&mut self, octets: Option<u32>) {
        if let (Some(rule), Some(octets)) = (self.rules.last_mut(), octets) {
            rule.octets = octets;
        }
    }

    /// Sorts and packs what was gathered.
    pub(super) fn finish(self) -> RuleList {
        let Self { mut text, mut rules } = self;
        text.shrink_to_fit();
        rules.sort_unstable_by(|a, b| {
            let order =
                |rule: &Rule| (Reverse(rule.octets), Reverse(rule.meta & ALLOW), rule.meta & ANCHORED);
            let (text_a, text_b) = (a.text(&text), b.text(&text));
            let heads = head(text_a).cmp(head(text_b));
            let ranks = heads.then_with(|| order(a).cmp(&order(b)));
            let texts = ranks.then_with(|| text_a.cmp(text_b));
            texts.then_with(|| (a.meta & LINE).cmp(&(b.meta & LINE)))
        });
        leave_out_idle(&text, &mut rules);
        rules.shrink_to_fit();
        if rules.iter().map(|rule| rule.length as usize).sum::<usize>() <= text.len() / 2 {
            text = repack(&text, &mut rules);
        }
        let nodes = nodes(&text, &rules);
        RuleList { text: text.into(), rules: rules.into(), nodes: nodes.into() }
    }
}

/// Leaves out sorted rules that can never decide: repeated ones, and those
/// behind a rule that matches whatever begins with their common head.
fn leave_out_idle(text: &[u8], rules: &mut Vec<Rule>) {
    let mut last: Option<Rule> = None;
    rules.retain(|rule| {
        let own = rule.text(text);
        let idle = last.is_some_and(|last| {
            let (before, anchored) = (last.text(text), last.meta & ANCHORED);
            let covers_all = head(before).len() == before.len() && anchored == 0;
            let same_anchor = anchored == rule.meta & ANCHORED;
            covers_all && before == head(own) || same_anchor && before == own
        });
        if !idle {
            last = Some(*rule);
        }
        !idle
    });
}

/// The text of these rules alone.
fn repack(text: &[u8], rules: &mut [Rule]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(rules.iter().map(|rule| rule.length as usize).sum());
    for rule in rules {
        let start = packed.len() as u32;
        packed.extend_from_slice(rule.text(text));
        rule.start = start;
    }
    packed
}

/// The nodes of the sorted rules; one pass, with the open prefixes on a stack.
fn nodes(text: &[u8], rules: &[Rule]) -> Vec<Node> {
    let head_at = |rule: usize| head(rules[rule].text(text));
    let begins = |rule: usize| rule == 0 || head_at(rule - 1) != head_at(rule);
    // counted first, since growing would hold up to three times as much
    let mut nodes: Vec<Node> = Vec::with_capacity((0..rules.len()).filter(|rule| begins(*rule)).count());
    let mut open: Vec<u32> = Vec::new();
    for first in (0..rules.len()).filter(|rule| begins(*rule)) {
        let of_node = |node: u32| head_at(nodes[node as usize].first as usize);
        while open.last().is_some_and(|node| !head_at(first).starts_with(of_node(*node))) {
            open.pop();
        }
        let parent = open.last().copied().unwrap_or(NONE);
        open.push(nodes.len() as u32);
        nodes.push(Node { first: first as u32, parent });
    }
    nodes
}

/// The last four octets of the longest literal in `text` behind the head, as in [`Rule::probe`].
fn probe(text: &[u8]) -> u32 {
    let literals = text[head(text).len()..].split(|octet| *octet == WILD);
    let longest = literals.max_by_key(|literal| literal.len());
    longest.and_then(|literal| literal.last_chunk()).map_or(0, |octets| u32::from_le_bytes(*octets))
}
