//! From the rules of a file, in its order, to the packed list that is searched.
//!
//! How the list is laid out, and why, is told in [`rules`](super::rules).

use super::octets::{Form, Octet, octets, write};
use super::rules::{ALLOW, ANCHORED, ENDS_IN_DOLLAR, ENDS_IN_STAR, LINE, NONE, Node, Rule, RuleList, WILD};
use memchr::memchr;
use std::cmp::Reverse;

/// As how many octets one is counted: an escape as it is written.
pub(super) fn counted(octet: Octet) -> u32 {
    let escaped =
        octet.form == Form::Encoded || octet.form == Form::Decoded && matches!(octet.value, b'*' | b'$');
    if escaped { 3 } else { 1 }
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
            octets_counted += counted(octet);
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

    /// Gives the rule that was added last another number of octets to win by.
    pub(super) fn set_octets(&mut self, octets: Option<u32>) {
        if let (Some(draft), Some(octets)) = (self.drafts.last_mut(), octets) {
            draft.octets = octets;
        }
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
            let order =
                |draft: &Draft| (Reverse(draft.octets), Reverse(draft.meta & ALLOW), draft.meta & ANCHORED);
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
            let (start, own) = (text.len() as u32, self.text(draft));
            let probe = probe(own, draft.head as usize);
            rules.push(Rule { start, octets: draft.octets, meta: draft.meta, probe });
            text.extend_from_slice(own);
        }
        RuleList { text: text.into(), rules: rules.into(), nodes: nodes.into() }
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
            if nodes.len().checked_sub(1).is_some_and(|last| head_of(last as u32) == head) {
                continue;
            }
            while open.last().is_some_and(|node| !head.starts_with(head_of(*node))) {
                open.pop();
            }
            let parent = open.last().copied().unwrap_or(NONE);
            open.push(nodes.len() as u32);
            nodes.push(Node { first: first as u32, head: draft.head, parent });
        }
        nodes.shrink_to_fit();
        nodes
    }
}

/// The last four octets of the longest literal in `text` behind the head, as in [`Rule::probe`].
fn probe(text: &[u8], head: usize) -> u32 {
    let literals = text[head..].split(|octet| *octet == WILD);
    let longest = literals.max_by_key(|literal| literal.len());
    longest.and_then(|literal| literal.last_chunk()).map_or(0, |octets| u32::from_le_bytes(*octets))
}
