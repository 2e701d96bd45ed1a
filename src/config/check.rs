//! Grammar of the single values that need more than a number: regular
//! expressions, headers, tokens, proxies, files.
//!
//! Each function takes what was typed and gives what is used, or an error that
//! names the option. Who uses such a value asks here too, so that a [`Config`](super::Config)
//! made by hand is held to the same grammar.

use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use regex::RegexSet;

use super::{ConfigError, Span, date};

/// The most of a file of certificates that is read, in bytes.
const CA_FILE_LIMIT: u64 = 16 << 20;

/// Headers the crawler itself decides about, with what to do instead.
const OWN_HEADERS: [(&str, &str); 12] = [
    ("user-agent", "use --user-agent"),
    ("host", "it follows from the URL; use --resolve to reach another address"),
    ("accept-encoding", "it follows from what can be decoded within the budget"),
    ("content-length", "requests have no body"),
    ("transfer-encoding", "requests have no body"),
    ("expect", "requests have no body"),
    ("connection", "connections are managed by the crawler"),
    ("keep-alive", "connections are managed by the crawler"),
    ("proxy-connection", "connections are managed by the crawler"),
    ("te", "connections are managed by the crawler"),
    ("trailer", "connections are managed by the crawler"),
    ("upgrade", "connections are managed by the crawler"),
];

/// The regular expressions of an option, compiled to be searched for all at once.
///
/// # Errors
/// Where one is none, or takes too much memory.
pub fn expressions(option: &'static str, texts: &[String]) -> Result<RegexSet, ConfigError> {
    RegexSet::new(texts).map_err(|error| {
        // The set does not say which one it was; a set too large for its limit is blamed on the longest.
        let wrong = texts.iter().find_map(|text| Some((text, regex::Regex::new(text).err()?)));
        let longest = || Some((texts.iter().max_by_key(|text| text.len())?, error.clone()));
        match wrong.or_else(longest) {
            Some((text, error)) => ConfigError::value(option, text, not_an_expression(&error)),
            None => ConfigError::value(option, "", not_an_expression(&error)),
        }
    })
}

/// What is wrong, without the picture that points at it.
fn not_an_expression(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("would take more than {limit} bytes; make its repetitions smaller")
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            let problem = last.strip_prefix("error: ").unwrap_or(last);
            format!("no valid regular expression ({problem}); a \\ in front takes a character literally")
        }
    }
}

/// A header as it is typed: `Name: value`.
pub(super) fn header(text: &str) -> Result<(String, String), ConfigError> {
    let Some((name, value)) = text.split_once(':') else {
        return Err(ConfigError::value("header", text, "no colon; write it as 'Name: value'"));
    };
    let value = value.trim_matches([' ', '\t']);
    request_header(name, value)?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A header (RFC 9110, section 5) that the crawler may send.
///
/// # Errors
/// Where it may not; the value, which may be a secret, is not shown.
pub fn request_header(name: &str, value: &str) -> Result<(), ConfigError> {
    let wrong = |problem: String| Err(ConfigError::value("header", name, problem));
    if name.is_empty() || !name.bytes().all(is_token_byte) {
        return wrong("a header's name is letters, digits and dashes, without spaces".into());
    }
    if !is_header_value(value) {
        return wrong("a header's value is one line without control characters".into());
    }
    match OWN_HEADERS.iter().find(|own| name.eq_ignore_ascii_case(own.0)) {
        Some((_, remedy)) => wrong(format!("this header cannot be set; {remedy}")),
        None => Ok(()),
    }
}

/// A byte of a token (RFC 9110, section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_header_value(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

/// A `User-Agent` header.
///
/// # Errors
/// Where it is empty or cannot be sent.
pub fn user_agent(text: &str) -> Result<String, ConfigError> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(ConfigError::value(
            "user-agent",
            "''",
            "must not be empty; name your crawler and how to reach you",
        ));
    }
    if !trimmed.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        let problem = "must be one line of ASCII without control characters";
        return Err(ConfigError::value("user-agent", text, problem));
    }
    Ok(trimmed.to_owned())
}

/// A product token (RFC 9309, section 2.2.1: letters, `-` and `_`).
pub(super) fn robots_agent(text: &str) -> Result<String, ConfigError> {
    let well_formed = text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte));
    if text.is_empty() || !well_formed {
        let problem = "a product token is letters, '-' and '_' only (RFC 9309), without a version";
        return Err(ConfigError::value("robots-agent", text, problem));
    }
    Ok(text.to_owned())
}

/// The URL of a proxy.
///
/// # Errors
/// Where it is none; a password in it is not shown.
pub fn proxy(text: &str) -> Result<::url::Url, ConfigError> {
    const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];
    let wrong = |problem: &str| {
        let shown = match text.rsplit_once('@') {
            Some((_, place)) => format!("***@{place}"),
            None => text.to_owned(),
        };
        let remedy = "write it as http://host:port or socks5://host:port";
        ConfigError::value("proxy", shown, format!("{problem}; {remedy}"))
    };
    let parsed = ::url::Url::parse(text).map_err(|error| match error {
        ::url::ParseError::RelativeUrlWithoutBase => wrong("no scheme"),
        ::url::ParseError::EmptyHost => wrong("no host"),
        error => wrong(&error.to_string()),
    })?;
    if !SCHEMES.contains(&parsed.scheme()) {
        return Err(wrong("not the URL of a proxy"));
    }
    if parsed.host_str().is_none_or(str::is_empty) {
        return Err(wrong("no host"));
    }
    Ok(parsed)
}

/// The URL of a sitemap.
pub(super) fn sitemap(text: &str, longest: usize) -> Result<String, ConfigError> {
    let text = text.trim();
    let wrong = |problem: &str| {
        let problem = format!("{problem}; write it as https://host/sitemap.xml");
        ConfigError::value("sitemap", text, problem)
    };
    let url = ::url::Url::parse(text).map_err(|error| match error {
        ::url::ParseError::RelativeUrlWithoutBase => wrong("no scheme"),
        ::url::ParseError::EmptyHost => wrong("no host"),
        error => wrong(&error.to_string()),
    })?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(wrong("only http and https can be crawled"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let place = text.rsplit_once('@').map_or(text, |(_, place)| place);
        let problem = "a user name or password in a URL is not sent; log in with -H 'Authorization: ...'";
        return Err(ConfigError::value("sitemap", format!("***@{place}"), problem));
    }
    if url.as_str().len() > longest {
        return Err(wrong(&format!("longer than --max-url-length {longest}")));
    }
    Ok(text.to_owned())
}

/// A moment before which changes do not count: a date or time, kept as it is, or a span of time
/// before `now`, which becomes a time, so that a crawl that is resumed means the same one.
pub(super) fn sitemap_since(text: &str, now: SystemTime) -> Result<String, ConfigError> {
    let text = text.trim();
    if date::moments(text).is_some() {
        return Ok(text.to_owned());
    }
    let span = text.parse::<Span>().ok().filter(|_| text.contains(|one: char| one.is_ascii_alphabetic()));
    let Some(Span(ago)) = span else {
        let problem = "neither a date (2026-01-31), nor a time (2026-01-31T12:00Z), \
                       nor a time ago of at most a year (30d, 12h)";
        return Err(ConfigError::value("sitemap-since", text, problem));
    };
    let then = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().saturating_sub(ago);
    Ok(date::to_text(then.as_secs()))
}

/// A file of certificates in PEM form: it can be read and has some.
pub(super) fn ca_file(path: &Path) -> Result<(), ConfigError> {
    let option = "ca-file";
    let unreadable = |source| ConfigError::Unreadable { option, path: path.to_owned(), source };
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(CA_FILE_LIMIT).read_to_end(&mut text).map_err(unreadable)?;
    let marker: &[u8] = b"-----BEGIN CERTIFICATE-----";
    if !text.windows(marker.len()).any(|window| window == marker) {
        let problem = "holds no certificate in PEM form; convert it with 'openssl x509 -outform pem'";
        return Err(ConfigError::value(option, path.display(), problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers() {
        assert_eq!(header("Cookie: a=b:c").ok(), Some(("Cookie".into(), "a=b:c".into())));
        assert_eq!(header("X-Empty:").ok(), Some(("X-Empty".into(), String::new())));
        for text in [
            "",
            "Cookie",
            ": x",
            "A B: x",
            "A : x",
            "A: x\r\nB: y",
            "A: \0",
            "A\n: x",
            "Host: a",
            "user-AGENT: x",
        ] {
            assert!(header(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn tokens_and_agents() {
        assert!(robots_agent("my-bot_x").is_ok());
        for text in ["", "bot/1.0", "bot 2", "*", "bot7"] {
            assert!(robots_agent(text).is_err(), "{text}");
        }
        assert!(user_agent("bot/1.0 (+https://example.com/bot)").is_ok());
        for text in ["", "  ", "a\nb", "a\u{7f}", "bücher"] {
            assert!(user_agent(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn proxies() {
        for text in ["http://p:3128", "https://u:p@proxy.test", "socks5://[::1]:1080", "socks5h://p"] {
            assert!(proxy(text).is_ok(), "{text}");
        }
        for text in ["", "p:3128", "ftp://p", "http://", "socks5://", "proxy.test"] {
            assert!(proxy(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sitemaps() {
        for text in ["http://a.test/s.xml", " https://a.test:8443/s?x=1 ", "HTTP://[::1]/"] {
            assert_eq!(sitemap(text, 100).ok().as_deref(), Some(text.trim()), "{text}");
        }
        for text in ["", "s.xml", "/s.xml", "a.test/s.xml", "ftp://a.test/s.xml", "http://", "http://a b/"] {
            let message = sitemap(text, 100).expect_err("no sitemap").to_string();
            assert!(message.starts_with("--sitemap "), "{message}");
            assert!(message.ends_with("; write it as https://host/sitemap.xml"), "{message}");
        }
        assert!(sitemap(&format!("http://a.test/{}", "x".repeat(100)), 100).is_err());
    }

    #[test]
    fn moments_before_which_changes_do_not_count() {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let since = |text| sitemap_since(text, now).ok();
        assert_eq!(since(" 2026-01-31 ").as_deref(), Some("2026-01-31"));
        assert_eq!(since("2026-01-31T12:00:00+01:00").as_deref(), Some("2026-01-31T12:00:00+01:00"));
        assert_eq!(since("1d").as_deref(), Some("2023-11-13T22:13:20Z"));
        assert_eq!(since("1h30m").as_deref(), Some("2023-11-14T20:43:20Z"));
        for text in ["", "30", "soon", "400d", "-1d", "2026-13-01"] {
            let message = sitemap_since(text, now).expect_err("no moment").to_string();
            assert!(message.contains("nor a time ago"), "{message}");
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let message = sitemap("http://me:secret@a.test/", 100).expect_err("refused").to_string();
        assert!(message.starts_with("--sitemap ***@a.test/: "), "{message}");
        let message = proxy("ftp://me:secret@p").expect_err("no proxy").to_string();
        assert!(message.starts_with("--proxy ***@p: "), "{message}");
        let message = header("Cookie: secret\n").expect_err("no header").to_string();
        assert!(message.starts_with("--header Cookie: "), "{message}");
    }

    #[test]
    fn a_broken_expression_is_named_in_one_line() {
        let message = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            expressions("include", &texts).expect_err("not to be used").to_string()
        };
        assert_eq!(
            message(&["fine", "a(b"]),
            r"--include a(b: no valid regular expression (unclosed group); a \ in front takes a character literally"
        );
        let large = message(&["short", r"(\w{1000}){1000}"]);
        assert!(large.starts_with(r"--include (\w{1000}){1000}: would take more than"), "{large}");
        assert!(!large.contains('\n'), "{large}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*|[a-z*:.\\[\\]0-9]{0,30}") {
            let _ = (crate::config::address::resolve_rule(&text), header(&text), proxy(&text), robots_agent(&text));
        }
    }
}
