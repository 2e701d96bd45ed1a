//! From the lines of robots.txt to the rules of our groups.
//!
//! Owns groups; how bytes become lines is [`reader`](super::reader)'s, what a single line says is
//! [`line`](super::line)'s, how rules are compared is [`rules`](super::rules)'s.
//! The decisions are listed in the module above.

use super::build::RuleListBuilder;
use super::line::Line;
use super::{MAX_SITEMAP_BYTES, MAX_SITEMAPS, RobotsRules};
use std::borrow::Cow;

/// Whom a group speaks of, as far as it matters to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Addressee {
    Others,
    Everyone,
    Us,
}

/// The group that is being read.
struct Group {
    addressee: Addressee,
    /// No rule has come yet, so another agent line joins it.
    open: bool,
}

/// Walks the lines and gathers what concerns us.
pub(super) struct Groups<'a> {
    agent: Agent<'a>,
    group: Option<Group>,
    /// A group of our own was met: those for everyone no longer count.
    named: bool,
    rules: RuleListBuilder,
    delay: Option<f64>,
    sitemaps: Sitemaps,
    ignored: u32,
}

impl<'a> Groups<'a> {
    /// Of a file that is read for this agent.
    pub(super) fn new(agent: &'a str) -> Self {
        Groups {
            agent: Agent::new(agent),
            group: None,
            named: false,
            rules: RuleListBuilder::default(),
            delay: None,
            sitemaps: Sitemaps::default(),
            ignored: 0,
        }
    }

    /// Bytes on the heap.
    pub(super) fn held_bytes(&self) -> usize {
        self.rules.held_bytes() + self.sitemaps.bytes + size_of_val(&*self.sitemaps.kept)
    }

    /// What the lines said; some of the file may have been left out.
    pub(super) fn finish(self, truncated: bool) -> RobotsRules {
        RobotsRules {
            rules: self.rules.finish(),
            otherwise: true,
            crawl_delay: self.delay,
            sitemaps: self.sitemaps.kept.into(),
            sitemaps_dropped: self.sitemaps.dropped,
            ignored_lines: self.ignored,
            truncated,
        }
    }

    /// Takes the line with this number, from 1.
    pub(super) fn take(&mut self, line: Line<'_>, number: u32) {
        match line {
            Line::Empty => {}
            Line::Unknown => self.ignored += 1,
            Line::Sitemap(value) => self.sitemaps.push(value),
            Line::Agent(value) => self.start_or_join(value),
            Line::Delay(value) => self.take_delay(value),
            Line::Allow(value) => self.take_rule(value, true, number),
            Line::Disallow(value) => self.take_rule(value, false, number),
        }
    }

    fn start_or_join(&mut self, value: &[u8]) {
        let addressee = self.agent.addressee(value);
        if addressee == Addressee::Us && !self.named {
            self.named = true;
            self.rules.clear();
            self.delay = None;
        }
        let mut group = self
            .group
            .take()
            .filter(|group| group.open)
            .unwrap_or(Group { addressee: Addressee::Others, open: true });
        group.addressee = group.addressee.max(addressee);
        self.group = Some(group);
    }

    fn concerns_us(&self) -> bool {
        match self.group.as_ref().map(|group| group.addressee) {
            Some(Addressee::Us) => true,
            Some(Addressee::Everyone) => !self.named,
            Some(Addressee::Others) | None => false,
        }
    }

    fn take_rule(&mut self, value: &[u8], allow: bool, number: u32) {
        let Some(group) = &mut self.group else {
            self.ignored += 1;
            return;
        };
        group.open = false;
        if self.concerns_us() && !self.rules.push(value, allow, number) && !value.is_empty() {
            self.ignored += 1;
        }
    }

    /// A delay speaks to the agents named above it, not to those that join its group later.
    fn take_delay(&mut self, value: &[u8]) {
        match seconds(value).filter(|_| self.group.is_some()) {
            None => self.ignored += 1,
            Some(delay) if self.concerns_us() => {
                self.delay = Some(self.delay.map_or(delay, |longest| longest.max(delay)));
            }
            Some(_) => {}
        }
    }
}

/// A delay: a decimal number, finite and not negative.
fn seconds(value: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number.abs())
}

/// Our product token, and how it is compared.
struct Agent<'a> {
    token: &'a [u8],
    /// The octets that a token consists of.
    belongs: fn(u8) -> bool,
}

impl<'a> Agent<'a> {
    /// A token of the RFC (letters, `_`, `-`) is compared with the RFC's token
    /// of the line. One that holds digits or dots too is compared with what the
    /// line has of those, lest `bot2` obey what was said to `bot3`.
    fn new(agent: &'a str) -> Self {
        fn standard(octet: u8) -> bool {
            octet.is_ascii_alphabetic() || matches!(octet, b'_' | b'-')
        }
        fn wide(octet: u8) -> bool {
            octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-' | b'.')
        }
        let token = front(super::line::trim(agent.as_bytes()), wide);
        let belongs = if token.iter().all(|octet| standard(*octet)) { standard } else { wide };
        Agent { token, belongs }
    }

    fn addressee(&self, value: &[u8]) -> Addressee {
        let named = front(value, self.belongs);
        match value {
            [b'*'] => Addressee::Everyone,
            [b'*', next, ..] if !next.is_ascii_alphanumeric() && *next < 0x80 => Addressee::Everyone,
            _ if !named.is_empty() && named.eq_ignore_ascii_case(self.token) => Addressee::Us,
            _ => Addressee::Others,
        }
    }
}

/// The octets at the front that satisfy `belongs`.
fn front(text: &[u8], belongs: fn(u8) -> bool) -> &[u8] {
    &text[..text.iter().position(|octet| !belongs(*octet)).unwrap_or(text.len())]
}

/// Sitemaps as named by the file, bounded in number and in bytes.
#[derive(Debug, Default)]
struct Sitemaps {
    kept: Vec<Box<str>>,
    bytes: usize,
    dropped: u32,
}

impl Sitemaps {
    fn push(&mut self, value: &[u8]) {
        if value.is_empty() {
            return;
        }
        let text = match std::str::from_utf8(value) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(escaped(value)),
        };
        if self.kept.len() == MAX_SITEMAPS || self.bytes + text.len() > MAX_SITEMAP_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += text.len();
        self.kept.push(text.into());
    }
}

/// A URL in no known encoding, its octets outside US-ASCII escaped.
fn escaped(value: &[u8]) -> String {
    use super::octets::{Form, Octet, write};
    let mut out = String::with_capacity(value.len() * 2);
    for &value in value {
        let form = if value.is_ascii() { Form::Plain } else { Form::Encoded };
        write(Octet { value, form }, |octet| out.push(char::from(octet)));
    }
    out
}
