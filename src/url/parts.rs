//! Where the parts of a requested URL are.

use std::ops::Range;

/// Where origin and host stand in a requested URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Bytes that are `scheme://host[:port]`.
    pub origin_length: u16,
    /// The host name or address literal; an IPv6 address with its brackets.
    pub host: Range<usize>,
}

impl Parts {
    /// The parts of a requested URL that was made earlier. Any text is
    /// accepted; of one that is no requested URL the parts mean nothing.
    pub fn of(requested: &str) -> Self {
        let start = requested.find("://").map_or(0, |at| at + 3);
        let length = requested[start..].find(['/', '?', '#']).unwrap_or(requested.len() - start);
        let authority = &requested[start..start + length];
        let host = match authority.find(']') {
            Some(bracket) => bracket + 1,
            None => authority.find(':').unwrap_or(length),
        };
        Self { origin_length: u16::try_from(start + length).unwrap_or(0), host: start..start + host }
    }
}

/// A URL that may be fetched, on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What is requested.
    pub requested: String,
    /// What is compared.
    pub canonical: String,
    /// Where origin and host stand in `requested`.
    pub parts: Parts,
}

impl Target {
    /// The host name or address literal.
    pub fn host(&self) -> &str {
        &self.requested[self.parts.host.clone()]
    }

    /// `scheme://host[:port]`.
    pub fn origin(&self) -> &str {
        &self.requested[..self.origin_length()]
    }

    /// Bytes of `requested` that are its origin.
    pub fn origin_length(&self) -> usize {
        usize::from(self.parts.origin_length)
    }
}

/// The host of a requested URL; an IPv6 address with its brackets.
pub fn host_of(requested: &str) -> &str {
    &requested[Parts::of(requested).host]
}

/// `scheme://host[:port]` of a requested URL: the unit that robots.txt speaks for.
pub fn origin_of(requested: &str) -> &str {
    &requested[..usize::from(Parts::of(requested).origin_length)]
}

/// Path and query of a requested URL, from its first `/`: what robots.txt rules are matched with.
pub fn path_and_query(requested: &str) -> &str {
    &requested[usize::from(Parts::of(requested).origin_length)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_whatever_the_host() {
        for (url, host, origin) in [
            ("http://site.test/", "site.test", "http://site.test"),
            ("https://site.test:8443/a:b/c?d=e://f", "site.test", "https://site.test:8443"),
            ("http://[::1]/", "[::1]", "http://[::1]"),
            ("http://[::1]:8080/[x]", "[::1]", "http://[::1]:8080"),
            ("http://127.0.0.1:1/?a@b", "127.0.0.1", "http://127.0.0.1:1"),
        ] {
            assert_eq!(host_of(url), host);
            assert_eq!(origin_of(url), origin);
            assert_eq!(path_and_query(url), &url[origin.len()..]);
        }
    }

    #[test]
    fn no_text_panics() {
        for text in ["", "://", "a", "http://", "http://]", "é://é:é", "/x", "::"] {
            let _ = (host_of(text), origin_of(text), path_and_query(text));
        }
    }
}
