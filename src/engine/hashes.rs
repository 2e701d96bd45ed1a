//! What a URL is known by: in this crawl, and in all of them.

use crate::model::UrlHashes;
use crate::sketch::fingerprint;
use crate::url::KeySecret;

/// The key of a canonical URL under a crawl's secret, and its fingerprint.
#[inline]
pub(super) fn hashes(secret: &KeySecret, canonical: &str) -> UrlHashes {
    UrlHashes { key: secret.key(canonical), fingerprint: fingerprint(canonical) }
}
