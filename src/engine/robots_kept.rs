//! What was answered for each robots.txt, as `robots.jsonl` keeps it: written as it comes, and read
//! back by whoever has to explain a verdict.
//!
//! Knows nothing of when an origin is asked, nor of what its answer means for the schedule.

use super::core::{Core, CoreError};
use super::job::{Asked, RobotsAnswer};
use crate::frontier::OriginId;
use crate::model::PageError;
use crate::robots::{KeptRule, RobotsRules};
use crate::sink::encode_line;
use crate::url::without_userinfo;

/// Bytes of a line at most, unless the URLs in it alone take more.
const MOST_BYTES: usize = 64 << 10;

/// One line of `robots.jsonl`: an answer for one robots.txt, or that there was none.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct KeptAnswer {
    /// Whose robots.txt it is.
    pub(super) origin: String,
    /// What was asked, after redirects.
    pub(super) url: String,
    /// The status code, where an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    /// When it was asked, in RFC 3339 form (UTC).
    pub(super) fetched_at: String,
    /// Where it redirects to, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect_to: Option<String>,
    /// The rules that apply to our agent, where the answer says what they are: none of them allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rules: Option<Vec<KeptRule>>,
    /// Seconds between two requests that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) crawl_delay: Option<f64>,
    /// The sitemaps that it names, as written but for user names and passwords.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sitemaps: Vec<String>,
    /// Rules or sitemaps are left out here, since the line would be too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
    /// Why it could not be read, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<PageError>,
}

impl KeptAnswer {
    fn new(origin: &str, asked: &Asked, answer: &RobotsAnswer) -> Self {
        let mut kept = Self {
            origin: origin.to_owned(),
            url: asked.url.to_string(),
            status: asked.status,
            fetched_at: asked.at.clone(),
            redirect_to: None,
            rules: None,
            crawl_delay: None,
            sitemaps: Vec::new(),
            cut: false,
            error: None,
        };
        match answer {
            RobotsAnswer::Rules(rules) => kept.take_rules(rules),
            RobotsAnswer::Elsewhere { url, .. } => kept.redirect_to = Some(url.to_string()),
            RobotsAnswer::Failed { error, .. } => kept.error = Some(error.clone()),
        }
        kept
    }

    fn take_rules(&mut self, rules: &RobotsRules) {
        self.crawl_delay = rules.crawl_delay();
        let mut room = Room { left: MOST_BYTES.saturating_sub(encoded_length(self) + 64), cut: false };
        self.rules = Some(rules.kept_rules().map_while(|rule| room.take(rule)).collect());
        self.sitemaps =
            rules.sitemaps().map_while(|url| room.take(without_userinfo(url).into_owned())).collect();
        self.cut = room.cut;
    }
}

/// What a line may still take.
struct Room {
    left: usize,
    cut: bool,
}

impl Room {
    /// The same, where there is room for it.
    fn take<T: serde::Serialize>(&mut self, value: T) -> Option<T> {
        let length = encoded_length(&value);
        self.cut |= length > self.left;
        self.left = self.left.saturating_sub(length);
        (!self.cut).then_some(value)
    }
}

/// Bytes of a value as a line, its end counted for the comma that it needs in a list.
fn encoded_length<T: serde::Serialize>(value: &T) -> usize {
    let mut bytes = Vec::new();
    // What cannot be told in JSON is not written either.
    encode_line(value, &mut bytes).map_or(0, |()| bytes.len())
}

impl Core {
    /// Writes down what was answered for an origin's robots.txt.
    pub(super) fn keep_robots(
        &mut self,
        origin: OriginId,
        asked: &Asked,
        answer: &RobotsAnswer,
    ) -> Result<(), CoreError> {
        let Some(files) = &mut self.files else { return Ok(()) };
        let name = &self.schedule.origin(origin).name;
        Ok(files.robots(&KeptAnswer::new(name, asked, answer))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ErrorKind;
    use std::fmt::Write;
    use std::sync::Arc;

    fn line(answer: &RobotsAnswer) -> (String, KeptAnswer) {
        let asked =
            Asked { url: "http://a.test/robots.txt".into(), status: Some(200), at: "2026-01-01".into() };
        let mut line = Vec::new();
        encode_line(&KeptAnswer::new("http://a.test", &asked, answer), &mut line).expect("JSON");
        let line = String::from_utf8(line).expect("UTF-8");
        let back = serde_json::from_str(&line).expect("a line");
        (line, back)
    }

    fn rules(body: &str) -> RobotsAnswer {
        RobotsAnswer::Rules(Arc::new(RobotsRules::parse(body.as_bytes(), "dragline")))
    }

    #[test]
    fn each_kind_of_answer_has_its_line() {
        let body = "User-agent: *\nDisallow: /a\nCrawl-delay: 2\nSitemap: /s.xml\n";
        assert_eq!(
            line(&rules(body)).0,
            "{\"origin\":\"http://a.test\",\"url\":\"http://a.test/robots.txt\",\"status\":200,\
             \"fetched_at\":\"2026-01-01\",\"rules\":[{\"line\":2,\"rule\":\"Disallow: /a\"}],\
             \"crawl_delay\":2.0,\"sitemaps\":[\"/s.xml\"]}\n"
        );
        assert_eq!(line(&rules("")).1.rules, Some(Vec::new()));
        let to = line(&RobotsAnswer::Elsewhere { url: "http://b.test/r".into(), hops: 1 }).1;
        assert_eq!((to.rules, to.redirect_to.as_deref()), (None, Some("http://b.test/r")));
        let error = PageError { kind: ErrorKind::Timeout, detail: "head".into() };
        let failed = line(&RobotsAnswer::Failed { retry_after: None, error: error.clone() }).1;
        assert_eq!((failed.rules, failed.error), (None, Some(error)));
    }

    #[test]
    fn a_line_is_bounded_and_says_that_it_was_cut() {
        let mut body = "User-agent: *\n".to_owned();
        for number in 0..9000 {
            let _ = writeln!(body, "Disallow: /{number}\"\u{202e}\\");
        }
        let (text, kept) = line(&rules(&body));
        assert!(kept.cut && text.len() <= MOST_BYTES && text.len() > MOST_BYTES - 300, "{}", text.len());
        let lines: Vec<u32> = kept.rules.expect("rules").iter().map(|rule| rule.line).collect();
        assert_eq!(lines, (2..2 + lines.len() as u32).collect::<Vec<_>>());
        let sitemaps = "Sitemap: /\u{202e}\u{9b}\"\u{85}\n".repeat(1900);
        let (text, kept) = line(&rules(&sitemaps));
        assert!(text.len() <= MOST_BYTES && text.is_ascii(), "{}", text.len());
        assert_eq!(kept.cut, kept.sitemaps.len() < 1900);
    }
}
