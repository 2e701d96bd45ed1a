//! The plain data that flows through a crawl: candidate, links of a page, record.
//!
//! No behaviour beyond construction, so that every layer can share it.

mod error;
mod key;
mod link;
mod record;
mod skip;

pub use error::{ErrorKind, FailureClass, PageError};
pub use key::{KeyHash, KeyHasher, UrlHashes, UrlKey};
pub use link::{Candidate, Link, LinkBatch, Nofollow, Via};
pub use record::{CharsetName, Record, SitemapNote, Truncation};
pub use skip::SkipReason;
