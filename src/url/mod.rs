//! URLs: how a reference becomes a request, which spellings are one page, and its key.
//!
//! Two strings stand for every URL. The *requested* one is the WHATWG
//! serialization of the URL as written, without fragment and userinfo: it is
//! what a server gets to see. The *canonical* one stands for all spellings of
//! a page: it is only ever compared (by its 64-bit key).
//!
//! By default the canonical form differs from the requested one in three
//! points, none of which can merge two pages of a sound server (RFC 3986,
//! section 6.2.2):
//!
//! - the hex digits of a percent-encoded octet are in upper case;
//! - octets that stand for unreserved characters are decoded, each once;
//! - a `%` that begins no such octet is spelled `%25`. A percent decoder
//!   (WHATWG URL, section 1.3) reads both as the octet `%`, so `100%` and
//!   `100%25` name one page; and as no lone `%` is left, decoding an octet can
//!   never complete another one: `%%36%31` is `%2561`, and stays so.
//!
//! Everything that may merge two pages is a switch in [`Rules`], off by default.
//! Whatever the rules, the canonical form of a canonical form is itself.
//!
//! Two points where the WHATWG standard goes further than the `url` crate are
//! mended here: `^` is encoded in paths, and a reference may begin with more
//! than two slashes.
//!
//! The module must not know why a URL is wanted: scope, robots and the crawl's
//! configuration are not its business.
//!
//! ```
//! use dragline::url::{Canonicalizer, KeySecret, Rules};
//!
//! let canonicalizer = Canonicalizer::new(Rules::default());
//! let page = canonicalizer.parse("HTTP://Site.Test:80/%7Ejoe/caf%c3%a9#menu")?;
//! assert_eq!(page.requested, "http://site.test/%7Ejoe/caf%c3%a9");
//! assert_eq!(page.canonical, "http://site.test/~joe/caf%C3%A9");
//! assert_eq!(page.host(), "site.test");
//!
//! let other = canonicalizer.parse("http://site.test/~joe/café")?;
//! let secret = KeySecret::from_seed(1);
//! assert_eq!(secret.key(&page.canonical), secret.key(&other.canonical));
//!
//! // The links of a page: two buffers serve them all.
//! let base = url::Url::parse(&page.requested).expect("a requested URL parses again");
//! let resolver = canonicalizer.resolver(&base, None);
//! let (mut requested, mut canonical) = (String::new(), String::new());
//! let parts = resolver.resolve("../list?page=2", &mut requested, &mut canonical)?;
//! assert_eq!(requested, "http://site.test/list?page=2");
//! assert_eq!(&requested[parts.host], "site.test");
//! assert!(resolver.resolve("mailto:joe@site.test", &mut requested, &mut canonical).is_err());
//! # Ok::<(), dragline::url::Reject>(())
//! ```

mod canonical;
mod fast;
mod key;
mod lossy;
mod names;
mod parts;
mod percent;
mod resolve;
#[cfg(test)]
mod tests;
mod userinfo;
mod whatwg;

pub use canonical::{Canonicalizer, Rules, fold_www};
pub use key::{KeySecret, SecretError};
pub use parts::{Parts, Target, host_of, origin_of, path_and_query};
pub use resolve::Resolver;
pub use userinfo::without_userinfo;
pub use whatwg::Reject;
