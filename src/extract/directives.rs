//! What pages and headers tell robots: `meta` robots, `X-Robots-Tag`, `rel`.
//!
//! Sources: Google's "Robots meta tag, data-nosnippet, and X-Robots-Tag
//! specifications" (directives, agent prefixes, values with colons); HTML standard
//! 4.6.7 (link types). Rules for all robots and rules for ours add up; nothing
//! takes a rule back. Of `rel`, only `nofollow` counts: `ugc` and `sponsored` say
//! who wrote a link, and search engines do follow those.

use crate::model::Nofollow;

/// The directives that a crawler acts on; `noindex` is none of them, a crawl is no index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Directives {
    /// Who asked first that links of the page be not followed.
    pub(super) nofollow: Option<Nofollow>,
}

/// Directives that have a value behind a colon, and so look like the name of a robot.
const WITH_VALUE: [&str; 4] = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

impl Directives {
    /// Adds what a `meta` with this `name` and `content` says, if it speaks to us.
    pub(super) fn add_meta(&mut self, name: &str, content: &str, agent: &str) {
        if is_for_us(name.trim(), agent) {
            content.split(',').for_each(|directive| self.add(directive, Nofollow::Meta));
        }
    }

    /// Adds what one `X-Robots-Tag` header says to us.
    ///
    /// A robot's name in front of a directive holds up to the next name.
    pub(super) fn add_header(&mut self, value: &str, agent: &str) {
        let mut for_us = true;
        for part in value.split(',') {
            let mut directive = part;
            if let Some((name, rest)) = part.split_once(':')
                && is_robot_name(name.trim())
            {
                for_us = is_for_us(name.trim(), agent);
                directive = rest;
            }
            if for_us {
                self.add(directive, Nofollow::Header);
            }
        }
    }

    fn add(&mut self, directive: &str, by: Nofollow) {
        let directive = directive.trim();
        if directive.eq_ignore_ascii_case("none") || directive.eq_ignore_ascii_case("nofollow") {
            self.nofollow.get_or_insert(by);
        }
    }
}

fn is_for_us(name: &str, agent: &str) -> bool {
    name.eq_ignore_ascii_case("robots")
        || name == "*"
        || (!agent.is_empty() && name.eq_ignore_ascii_case(agent))
}

/// A date's hours end in a colon too, but no robot's name has a blank.
fn is_robot_name(text: &str) -> bool {
    let is_directive = WITH_VALUE.iter().any(|name| text.eq_ignore_ascii_case(name));
    !text.is_empty() && !is_directive && !text.contains(|c: char| c.is_ascii_whitespace())
}

/// Whether a `rel` attribute has this token.
pub(super) fn has_token(rel: &[u8], token: &[u8]) -> bool {
    rel.split(u8::is_ascii_whitespace).any(|one| one.eq_ignore_ascii_case(token))
}
