//! What robots.txt lets us fetch: RFC 9309, parsed once for our own agent.
//!
//! Owns the text of the file, from its bytes to a verdict. Knows nothing of how
//! the file was fetched, cached or retried (statuses, redirects and age are the
//! engine's), nor of how long a delay is honoured.
//!
//! [`RobotsRules::parse`] keeps the rules that apply to one agent and drops all
//! others; [`RobotsRules::allowed`] then answers without allocating (but for
//! paths that are both long and oddly spelt), in time that hardly grows with
//! the number of prefix rules, and linearly with the number of wildcard rules
//! that share the text before their first `*`.
//!
//! # Decisions
//!
//! | question | answer | source |
//! |---|---|---|
//! | which group | all groups with exactly our product token, case ignored, merged; else all groups of `*`, merged; else all is allowed | 2.2.1 |
//! | what names an agent | the letters, `_` and `-` at the front of the value; version and remarks behind it do not count (`bot/2.1`) | 2.2.1 |
//! | what ends a group | an agent line after an *Allow* or *Disallow*, with or without a value; never a blank line, a `Crawl-delay`, a `Sitemap`, or a line that we do not know | 2.2, 2.2.4 |
//! | our group has no rules | all is allowed, whatever `*` says | 2.2.1 |
//! | rules before the first agent line | ignored, also where no agent line follows at all: such a file names no robot | 2.2.1 |
//! | which rule | the one with the most octets, operators counted; *Allow* at a tie | 2.2.2 |
//! | spelling | see `octets`: escapes, non-ASCII, letter case of hexadecimal | 2.2.2 |
//! | `*` and `$` | any octets; the end of the path with its query, at the end of the rule only (elsewhere a plain character) | 2.2.3 |
//! | `%2A`, `%24` | the characters themselves | 2.2.3 |
//! | a value without `/` or `*` in front | no path pattern, matches nothing | 2.2 (ABNF) |
//! | an empty *Allow* or *Disallow* | no rule; it neither resets nor permits | 2.2 (ABNF) |
//! | `/robots.txt` | always allowed | 2.2.2 |
//! | dots in a rule | not resolved, the rule is no URL | 2.2.2 |
//! | line ends | CR, LF, CRLF in any mixture | 2.2 (ABNF) |
//! | byte order mark | skipped, also when cut short | 2.3 |
//! | UTF-16 with its mark | read as such: the RFC knows UTF-8 only, but whoever saved the file so meant it to be obeyed | beyond the RFC |
//! | misspelt keys, forgotten colons | see `line`: read where that restricts, not where it permits | 2.2.4 |
//! | HTML, binary, invalid UTF-8 | lines that can be read count, others do not | 2.3 |
//! | long lines | never cut: a shortened rule would cover paths that it does not name | 2.5 |
//! | size | the first [`MAX_BYTES`]; a line that crosses the limit does not count | 2.5 |
//! | rules longer than 384 KiB as they are compared | ignored: no URL of 64 KiB can match one | 2.5 |
//! | `Crawl-delay` | speaks to the agents of its group that are named above it; the longest counts where several do; what is no finite, non-negative decimal number is ignored | beyond the RFC |
//! | `Sitemap` | belongs to no group; listed as written | 2.2.4 |

mod build;
mod kept;
mod line;
mod octets;
mod parse;
mod reader;
mod rules;
#[cfg(test)]
mod tests;

pub use kept::KeptRule;
pub use reader::RobotsReader;
use rules::{Decision, RuleList};

/// Bytes of robots.txt that count (RFC 9309 section 2.5: at least 500 kibibytes).
///
/// Hand over one byte more where there is one, so that [`RobotsRules::truncated`] can tell.
pub const MAX_BYTES: usize = 512_000;
/// Sitemaps kept from one file; further ones are counted.
pub const MAX_SITEMAPS: usize = 2_000;
/// Bytes of sitemap URLs kept from one file; what passes them is counted.
pub const MAX_SITEMAP_BYTES: usize = 128 * 1024;
/// Bytes of [`Verdict::rule`] at most, before the sign that it was cut.
pub const MAX_RULE_TEXT: usize = 256;

/// The answer for one URL, and what decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The line of robots.txt that decided, from 1; absent where no rule matched.
    pub line: Option<u32>,
    /// The rule of that line as it was compared (`Disallow: /a*b$`), cut at [`MAX_RULE_TEXT`].
    pub rule: Option<String>,
}

/// The rules of one robots.txt for one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotsRules {
    rules: RuleList,
    /// The answer where no rule matches.
    otherwise: bool,
    crawl_delay: Option<f64>,
    sitemaps: Box<[Box<str>]>,
    sitemaps_dropped: u32,
    ignored_lines: u32,
    truncated: bool,
}

impl RobotsRules {
    /// Reads a file for the agent with this product token.
    ///
    /// Any bytes will do; what cannot be read is ignored and counted. [`RobotsReader`] does the same
    /// piece by piece.
    ///
    /// ```
    /// use dragline::robots::RobotsRules;
    ///
    /// let body = b"User-agent: *\nDisallow: /private\nAllow: /private/door$\n";
    /// let rules = RobotsRules::parse(body, "dragline");
    /// assert!(rules.allowed("/private/door"));
    /// assert!(!rules.allowed("/private/door/bell"));
    /// assert_eq!(rules.verdict("/private/").line, Some(2));
    /// ```
    pub fn parse(body: &[u8], agent_token: &str) -> Self {
        let mut reader = RobotsReader::new(agent_token);
        reader.feed(body);
        reader.finish()
    }

    /// For a host without robots.txt (RFC 9309 section 2.3.1.3).
    pub fn allow_all() -> Self {
        Self::without_rules(true)
    }

    /// For a host whose robots.txt cannot be reached (RFC 9309 section 2.3.1.4).
    pub fn disallow_all() -> Self {
        Self::without_rules(false)
    }

    fn without_rules(otherwise: bool) -> Self {
        RobotsRules {
            rules: RuleList::default(),
            otherwise,
            crawl_delay: None,
            sitemaps: Box::default(),
            sitemaps_dropped: 0,
            ignored_lines: 0,
            truncated: false,
        }
    }

    /// Whether a URL may be fetched, given as its path and query.
    ///
    /// Any spelling will do: raw UTF-8, escapes in either case; a missing `/`
    /// in front is added, a fragment is ignored.
    pub fn allowed(&self, path_and_query: &str) -> bool {
        self.decide(path_and_query).map_or_else(|otherwise| otherwise, |decision| decision.allowed)
    }

    /// As [`RobotsRules::allowed`], with the line that decided.
    pub fn verdict(&self, path_and_query: &str) -> Verdict {
        match self.decide(path_and_query) {
            Err(allowed) => Verdict { allowed, line: None, rule: None },
            Ok(decision) => Verdict {
                allowed: decision.allowed,
                line: Some(decision.line),
                rule: Some(self.rules.written(decision.rule(), MAX_RULE_TEXT)),
            },
        }
    }

    /// The rule that decides, or the answer that holds without one.
    fn decide(&self, path_and_query: &str) -> Result<Decision, bool> {
        octets::with_normal_path(path_and_query.as_bytes(), |path| match path {
            b"/robots.txt" => Err(true),
            _ => self.rules.decide(path).ok_or(self.otherwise),
        })
    }

    /// Seconds between two requests that our groups ask for; finite, not negative, not clamped.
    pub fn crawl_delay(&self) -> Option<f64> {
        self.crawl_delay
    }

    /// The sitemaps that the file names, as written and in its order; relative
    /// ones are relative to the file's own URL.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.sitemaps.iter().map(|url| &**url)
    }

    /// Sitemaps left out because of [`MAX_SITEMAPS`] or [`MAX_SITEMAP_BYTES`].
    pub fn sitemaps_dropped(&self) -> u32 {
        self.sitemaps_dropped
    }

    /// How many rules apply to us, repeated ones and those without effect left out.
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// Lines that could not be read or stood where they mean nothing; those of other agents' groups
    /// are not looked at.
    pub fn ignored_lines(&self) -> u32 {
        self.ignored_lines
    }

    /// Whether the file was longer than [`MAX_BYTES`].
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Bytes of memory that the rules take, for a cache that must stay inside its share.
    pub fn memory_bytes(&self) -> usize {
        let sitemaps: usize = self.sitemaps.iter().map(|url| size_of::<Box<str>>() + url.len()).sum();
        size_of::<Self>() + self.rules.heap_bytes() + sitemaps
    }
}
