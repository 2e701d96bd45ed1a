//! Keys of URLs, and maps of them.

use std::hash::{BuildHasherDefault, Hasher};

/// The 64-bit XXH3 of a canonical URL under the crawl's secret.
pub type UrlKey = u64;

/// What a canonical URL is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlHashes {
    /// Under the crawl's secret: within the crawl.
    pub key: UrlKey,
    /// Without any secret, so the same in every crawl: for sketches that are merged and compared.
    pub fingerprint: u64,
}

impl UrlHashes {
    /// Of what is no usable URL.
    pub const NONE: UrlHashes = UrlHashes { key: 0, fingerprint: 0 };
}

/// For maps and sets of keys.
pub type KeyHash = BuildHasherDefault<KeyHasher>;

/// Takes a number for its own hash: keys and fingerprints are hashes already.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
