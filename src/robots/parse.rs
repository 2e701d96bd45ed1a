//! From the bytes of robots.txt to the rules of our groups.
//!
//! Owns groups, the size limit and encodings; what a single line says is
//! [`line`](super::line)'s, how rules are compared is [`rules`](super::rules)'s.
//! The decisions are listed in the module above.

use super::build::RuleListBuilder;
use super::line::{Line, read};
use super::{MAX_BYTES, MAX_SITEMAP_BYTES, MAX_SITEMAPS, RobotsRules};
use std::borrow::Cow;

/// Reads the file for one agent.
pub(super) fn parse(body: &[u8], agent: &str) -> RobotsRules {
    let (body, truncated) = within_limit(body);
    let text = as_octets(body);
    let mut reader = Reader::new(agent);
    for (line, number) in lines(&text).zip(1..) {
        reader.take(read(line), number);
    }
    RobotsRules {
        rules: reader.rules.finish(),
        otherwise: true,
        crawl_delay: reader.delay,
        sitemaps: reader.sitemaps.kept.into(),
        sitemaps_dropped: reader.sitemaps.dropped,
        ignored_lines: reader.ignored,
        truncated,
    }
}

/// The part of the file that counts: the whole lines among the first
/// [`MAX_BYTES`] (a rule cut in two would cover more, or other, paths than its author meant).
fn within_limit(body: &[u8]) -> (&[u8], bool) {
    match body.get(MAX_BYTES) {
        None => (body, false),
        Some(b'\r' | b'\n') => (&body[..MAX_BYTES], true),
        Some(_) => {
            let end = memchr::memrchr2(b'\r', b'\n', &body[..MAX_BYTES]).map_or(0, |at| at + 1);
            (&body[..end], true)
        }
    }
}

/// The file without its byte order mark, UTF-16 turned into UTF-8.
fn as_octets(body: &[u8]) -> Cow<'_, [u8]> {
    let utf16 = match body {
        [0xfe, 0xff, rest @ ..] => Some((encoding_rs::UTF_16BE, rest)),
        [0xff, 0xfe, rest @ ..] => Some((encoding_rs::UTF_16LE, rest)),
        _ => None,
    };
    if let Some((encoding, rest)) = utf16 {
        let (text, _) = encoding.decode_without_bom_handling(rest);
        return Cow::Owned(text.into_owned().into_bytes());
    }
    let mark = body.iter().zip([0xef, 0xbb, 0xbf]).take_while(|(octet, mark)| *octet == mark).count();
    Cow::Borrowed(&body[mark..])
}

/// The lines of a file, ended by CR, LF or CRLF.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(body);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = memchr::memchr2(b'\r', b'\n', text) else {
            return Some(text);
        };
        rest = Some(if text[end..].starts_with(b"\r\n") { &text[end + 2..] } else { &text[end + 1..] });
        Some(&text[..end])
    })
}

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
struct Reader<'a> {
    agent: Agent<'a>,
    group: Option<Group>,
    /// A group of our own was met: those for everyone no longer count.
    named: bool,
    rules: RuleListBuilder,
    delay: Option<f64>,
    sitemaps: Sitemaps,
    ignored: u32,
}

impl<'a> Reader<'a> {
    fn new(agent: &'a str) -> Self {
        Reader {
            agent: Agent::new(agent),
            group: None,
            named: false,
            rules: RuleListBuilder::default(),
            delay: None,
            sitemaps: Sitemaps::default(),
            ignored: 0,
        }
    }

    fn take(&mut self, line: Line<'_>, number: u32) {
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
