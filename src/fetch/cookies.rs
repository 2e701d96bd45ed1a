//! The cookie jar (RFC 6265) of a crawl, bounded in hosts, cookies and bytes.
//!
//! Cookies live in memory only: a crawl that is resumed begins with none. Ports are not told apart (section 8.5); a domain
//! that is a public suffix is refused (section 5.3, step 5), and so is a cookie that does not keep what the prefix of its name
//! promises (RFC 6265bis section 4.1.3). Past a bound the oldest give way, and are counted.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ::url::Url;
use cookie_store::{Cookie, CookieDomain};

/// Domains with cookies at most.
const MAX_DOMAINS: usize = 4096;
/// Cookies of one domain at most (section 6.1 asks for 50).
const MAX_PER_DOMAIN: usize = 50;
/// Bytes of one `Set-Cookie` value at most (section 6.1 asks for 4096, without its attributes).
const MAX_COOKIE: usize = 5120;
/// Bytes of all cookies at most, however large the budget is.
const MAX_BYTES: usize = 4 << 20;
/// Bytes of one `Cookie` header at most; servers refuse larger ones.
const MAX_HEADER: usize = 16 * 1024;
/// What a cookie costs beyond its text.
const OVERHEAD: usize = 400;

struct Stored {
    cookie: Cookie<'static>,
    bytes: usize,
    /// Its place in the order of creation, which a new value does not change (section 5.3, step 11.3).
    created: u64,
}

#[derive(Default)]
struct Domain {
    cookies: Vec<Stored>,
    changed: u64,
}

#[derive(Default)]
struct Inner {
    domains: HashMap<Box<str>, Domain>,
    /// Domains by the time of their last change.
    order: BTreeMap<u64, Box<str>>,
    bytes: usize,
    most_bytes: usize,
    clock: u64,
}

/// The cookies of a crawl.
pub(super) struct CookieJar {
    inner: Mutex<Inner>,
    /// Domains in the jar, so that a crawl without cookies takes no lock.
    domains: AtomicUsize,
    dropped: AtomicU64,
}

impl CookieJar {
    /// A jar for so many bytes of cookies, or 4 MiB.
    pub(super) fn new(bytes: usize) -> CookieJar {
        let inner = Inner { most_bytes: bytes.min(MAX_BYTES), ..Inner::default() };
        CookieJar { inner: Mutex::new(inner), domains: AtomicUsize::new(0), dropped: AtomicU64::new(0) }
    }

    /// The `Cookie` header for a request, without the names in `except`; longer paths first, then older cookies
    /// (section 5.4).
    pub(super) fn header(&self, url: &Url, except: &[String]) -> Option<String> {
        if self.domains.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let host = url.host_str()?;
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<&Stored> = parents(host)
            .filter_map(|domain| inner.domains.get(domain))
            .flat_map(|domain| &domain.cookies)
            .filter(|stored| !stored.cookie.is_expired() && stored.cookie.matches(url))
            .filter(|stored| !except.iter().any(|name| name == stored.cookie.name()))
            .collect();
        found.sort_by_key(|stored| (std::cmp::Reverse(stored.cookie.path.len()), stored.created));
        let mut header = String::new();
        for stored in found {
            let (name, value) = (stored.cookie.name(), stored.cookie.value());
            if header.len() + name.len() + value.len() + 3 > MAX_HEADER {
                break;
            }
            let separator = if header.is_empty() { "" } else { "; " };
            header.extend([separator, name, "=", value]);
        }
        (!header.is_empty()).then_some(header)
    }

    /// Takes in the values of an answer's `Set-Cookie` headers.
    pub(super) fn store<'a>(&self, url: &Url, values: impl Iterator<Item = &'a [u8]>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut dropped = 0;
        for value in values {
            match acceptable(value, url) {
                Some(cookie) => dropped += inner.insert(cookie, value.len()),
                None => dropped += 1,
            }
        }
        self.domains.store(inner.domains.len(), Ordering::Relaxed);
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    /// Cookies refused or given up for room so far.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Inner {
    /// Adds, replaces or (where it has expired) removes a cookie; gives the number of others dropped for room.
    fn insert(&mut self, cookie: Cookie<'static>, length: usize) -> u64 {
        let Some(name) = cookie.domain.as_cow().map(|domain| Box::<str>::from(domain.as_ref())) else {
            return 1;
        };
        self.clock += 1;
        let domain = self.domains.entry(name.clone()).or_default();
        self.order.remove(&domain.changed);
        domain.changed = self.clock;
        let same = |stored: &Stored| {
            stored.cookie.name() == cookie.name()
                && stored.cookie.path == cookie.path
                && stored.cookie.domain == cookie.domain
        };
        let mut created = self.clock;
        if let Some(at) = domain.cookies.iter().position(same) {
            let old = domain.cookies.remove(at);
            self.bytes -= old.bytes;
            created = old.created;
        }
        let mut dropped = 0;
        if !cookie.is_expired() {
            let bytes = length + OVERHEAD;
            self.bytes += bytes;
            domain.cookies.push(Stored { cookie, bytes, created });
            if domain.cookies.len() > MAX_PER_DOMAIN {
                let oldest = domain.cookies.iter().enumerate().min_by_key(|(_, stored)| stored.created);
                if let Some(at) = oldest.map(|(at, _)| at) {
                    self.bytes -= domain.cookies.swap_remove(at).bytes;
                    dropped += 1;
                }
            }
        }
        if domain.cookies.is_empty() {
            self.domains.remove(&name);
        } else {
            self.order.insert(self.clock, name);
        }
        dropped + self.make_room()
    }

    fn make_room(&mut self) -> u64 {
        let mut dropped = 0;
        while self.domains.len() > MAX_DOMAINS || self.bytes > self.most_bytes {
            let Some((_, name)) = self.order.pop_first() else {
                break;
            };
            if let Some(domain) = self.domains.remove(&name) {
                self.bytes -= domain.cookies.iter().map(|stored| stored.bytes).sum::<usize>();
                dropped += domain.cookies.len() as u64;
            }
        }
        dropped
    }
}

/// The cookie of a `Set-Cookie` value, if `url` may set it.
fn acceptable(value: &[u8], url: &Url) -> Option<Cookie<'static>> {
    if value.len() > MAX_COOKIE {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?;
    let mut cookie = Cookie::parse(text, url).ok()?.into_owned();
    let has_control = |text: &str| text.bytes().any(|byte| byte.is_ascii_control());
    if cookie.name().is_empty() || has_control(cookie.name()) || has_control(cookie.value()) {
        return None;
    }
    if !keeps_promise(&cookie, url) {
        return None;
    }
    if let CookieDomain::Suffix(domain) = &cookie.domain
        && is_public_suffix(domain)
    {
        // the suffix's own site may set a cookie for itself alone
        if url.host_str() != Some(domain) {
            return None;
        }
        cookie.domain = CookieDomain::HostOnly(domain.clone());
    }
    Some(cookie)
}

/// Whether a cookie is what the prefix of its name says, whatever its case (RFC 6265bis sections 4.1.3
/// and 5.7): `__Secure-`, that a secure answer set it for secure requests; `__Host-`, that beyond
/// that it is for the whole of one host.
fn keeps_promise(cookie: &Cookie<'_>, url: &Url) -> bool {
    let begins_with = |prefix: &str| {
        cookie.name().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is_secure = || url.scheme() == "https" && cookie.secure() == Some(true);
    if begins_with("__Host-") {
        // written out: the path that a cookie has by default does not count
        let for_all = cookie.path.is_from_path_attr() && &*cookie.path == "/";
        return is_secure() && for_all && matches!(cookie.domain, CookieDomain::HostOnly(_));
    }
    !begins_with("__Secure-") || is_secure()
}

fn is_public_suffix(domain: &str) -> bool {
    psl::suffix(domain.as_bytes()).is_some_and(|suffix| suffix.as_bytes() == domain.as_bytes())
}

/// The host itself and every domain above it.
fn parents(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |name| name.split_once('.').map(|(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a test URL")
    }

    fn set(jar: &CookieJar, at: &str, value: &str) {
        jar.store(&url(at), std::iter::once(value.as_bytes()));
    }

    fn get(jar: &CookieJar, at: &str) -> String {
        jar.header(&url(at), &[]).unwrap_or_default()
    }

    #[test]
    fn a_cookie_comes_back_to_its_host_on_any_port() {
        let jar = CookieJar::new(usize::MAX);
        set(&jar, "http://a.example.com:8080/x/y", "k=v");
        assert_eq!(get(&jar, "http://a.example.com/x/z"), "k=v");
        assert_eq!(get(&jar, "http://a.example.com/"), "", "the default path is the directory");
        assert_eq!(get(&jar, "http://b.a.example.com/x/"), "", "host only");
        assert_eq!(get(&jar, "http://example.com/x/"), "");
    }

    #[test]
    fn a_domain_cookie_reaches_subdomains_but_not_public_suffixes() {
        let jar = CookieJar::new(usize::MAX);
        set(&jar, "http://a.example.com/", "d=1; Domain=example.com; Path=/");
        assert_eq!(get(&jar, "http://b.example.com/"), "d=1");
        for (at, value) in [
            ("http://a.example.com/", "s=1; Domain=com"),
            ("http://a.example.co.uk/", "s=1; Domain=co.uk"),
            ("http://a.github.io/", "s=1; Domain=github.io"),
            ("http://a.example.com/", "s=1; Domain=other.com"),
            ("http://a.site.test/", "s=1; Domain=test"),
        ] {
            let before = jar.dropped();
            set(&jar, at, value);
            assert_eq!(jar.dropped(), before + 1, "{value}");
        }
        assert_eq!(get(&jar, "http://b.github.io/"), "");
        set(&jar, "http://github.io/", "own=1; Domain=github.io");
        assert_eq!(get(&jar, "http://github.io/"), "own=1");
        assert_eq!(get(&jar, "http://c.github.io/"), "");
    }

    #[test]
    fn longer_paths_come_first_then_older_cookies() {
        let jar = CookieJar::new(usize::MAX);
        set(&jar, "http://a.test/", "old=1; Path=/");
        set(&jar, "http://a.test/", "new=1; Path=/");
        set(&jar, "http://a.test/", "deep=1; Path=/d");
        set(&jar, "http://a.test/", "old=2; Path=/");
        assert_eq!(get(&jar, "http://a.test/d/"), "deep=1; old=2; new=1");
        assert_eq!(jar.header(&url("http://a.test/"), &["old".to_owned()]), Some("new=1".to_owned()));
    }

    #[test]
    fn an_expired_or_secure_cookie_stays_here() {
        let jar = CookieJar::new(usize::MAX);
        set(&jar, "https://a.test/", "s=1; Secure");
        assert_eq!(get(&jar, "http://a.test/"), "");
        assert_eq!(get(&jar, "https://a.test/"), "s=1");
        set(&jar, "https://a.test/", "s=1; Max-Age=0");
        assert_eq!(get(&jar, "https://a.test/"), "");
        assert_eq!(jar.domains.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_prefix_is_a_promise() {
        let jar = CookieJar::new(usize::MAX);
        let mut dropped = 0;
        for (at, value) in [
            ("https://a.example.com/", "__Host-k=v; Path=/"),
            ("https://a.example.com/", "__Host-k=v; Secure"),
            ("https://a.example.com/", "__Host-k=v; Secure; Path=/d"),
            ("https://a.example.com/", "__Host-k=v; Secure; Path=/; Domain=a.example.com"),
            ("https://github.io/", "__Host-k=v; Secure; Path=/; Domain=github.io"),
            ("http://a.example.com/", "__Host-k=v; Secure; Path=/"),
            ("https://a.example.com/", "__hOST-k=v; Path=/"),
            ("https://a.example.com/", "__Secure-k=v; Path=/"),
            ("https://a.example.com/", "__SECURE-k=v"),
            ("http://a.example.com/", "__Secure-k=v; Secure"),
        ] {
            set(&jar, at, value);
            dropped += 1;
            assert_eq!((jar.dropped(), jar.domains.load(Ordering::Relaxed)), (dropped, 0), "{at} {value}");
        }
        for (at, value) in [
            ("https://a.example.com/", "__Host-k=1; Secure; Path=/"),
            ("https://a.example.com/", "__host-l=1; SECURE; Path=/; Domain="),
            ("https://a.example.com/", "__Secure-k=1; Secure; Domain=example.com"),
            ("http://a.example.com/", "__Hostess=1"),
            ("http://a.example.com/", "_Host-k=1"),
            ("http://a.example.com/", "__Host=1"),
        ] {
            set(&jar, at, value);
            assert_eq!(jar.dropped(), dropped, "{at} {value}");
        }
        let sent = get(&jar, "https://a.example.com/");
        assert_eq!(sent, "__Host-k=1; __host-l=1; __Secure-k=1; __Hostess=1; _Host-k=1; __Host=1");
        assert_eq!(get(&jar, "https://b.example.com/"), "__Secure-k=1");
    }

    #[test]
    fn bounds_hold_and_the_oldest_go() {
        let jar = CookieJar::new(usize::MAX);
        for i in 0..80 {
            set(&jar, "http://a.test/", &format!("k{i}=v"));
        }
        let header = get(&jar, "http://a.test/");
        assert!(!header.contains("k29=") && header.starts_with("k30=") && header.ends_with("k79=v"));
        assert_eq!(jar.dropped(), 30);
        set(&jar, "http://a.test/", &format!("big={}", "x".repeat(6000)));
        assert_eq!(jar.dropped(), 31);
        for i in 0..MAX_DOMAINS {
            set(&jar, &format!("http://h{i}.test/"), "k=v");
        }
        assert_eq!(get(&jar, "http://a.test/"), "");
        assert_eq!(get(&jar, "http://h0.test/"), "k=v");
        let value = "x".repeat(4000);
        for i in 0..2 * MAX_BYTES / 4000 {
            set(&jar, &format!("http://h{i}.test/"), &format!("k={value}"));
        }
        let inner = jar.inner.lock().expect("no test panicked");
        assert!(inner.bytes <= MAX_BYTES);
        let counted: usize =
            inner.domains.values().flat_map(|domain| &domain.cookies).map(|stored| stored.bytes).sum();
        assert_eq!(inner.bytes, counted);
        assert_eq!(inner.order.len(), inner.domains.len());
    }

    #[test]
    fn a_small_jar_holds_little_and_counts_what_it_gives_up() {
        let jar = CookieJar::new(2 * (OVERHEAD + 3));
        for host in ["a", "b", "c"] {
            set(&jar, &format!("http://{host}.test/"), "k=v");
        }
        assert_eq!(jar.dropped(), 1);
        assert_eq!((get(&jar, "http://a.test/"), get(&jar, "http://c.test/")), (String::new(), "k=v".into()));
        let none = CookieJar::new(0);
        set(&none, "http://a.test/", "k=v");
        assert_eq!((none.dropped(), get(&none, "http://a.test/")), (1, String::new()));
    }

    #[test]
    fn junk_is_dropped() {
        let jar = CookieJar::new(usize::MAX);
        for junk in ["", "=", ";;;", "no-value", "\u{1}=\u{2}", "\u{1}k=v", "a\tb=c"] {
            set(&jar, "http://a.test/", junk);
        }
        jar.store(&url("http://a.test/"), std::iter::once(&b"k=\xff\xfe"[..]));
        assert_eq!(get(&jar, "http://a.test/"), "");
    }
}
