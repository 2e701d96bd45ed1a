//! The key of a canonical URL: 64-bit XXH3 under a secret of the crawl.

use xxhash_rust::xxh3::xxh3_64_with_secret;

/// The secret under which a crawl hashes its URLs.
///
/// It keeps whoever writes links from easily aiming at the filter; it is not
/// cryptography. A crawl keeps its secret for life, since keys made under
/// another one mean nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySecret([u8; KeySecret::LENGTH]);

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("no random bytes for the crawl's secret: {0}; see that the system's random source works")]
pub struct SecretError(#[from] getrandom::Error);

impl KeySecret {
    /// Bytes of a secret: the size of XXH3's own.
    pub const LENGTH: usize = 192;

    /// A new secret from the operating system.
    pub fn random() -> Result<Self, SecretError> {
        let mut bytes = [0; Self::LENGTH];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// A secret that was kept.
    pub fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// The same secret for the same seed, for tests and measurements (SplitMix64, Steele, Lea and Flood 2014).
    pub fn from_seed(seed: u64) -> Self {
        let mut bytes = [0; Self::LENGTH];
        let mut state = seed;
        for word in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            word.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
        }
        Self(bytes)
    }

    /// The bytes to keep.
    pub fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    /// The key of a canonical URL.
    #[inline]
    pub fn key(&self, canonical: &str) -> u64 {
        xxh3_64_with_secret(canonical.as_bytes(), &self.0)
    }
}

/// Keeps the bytes out of logs.
impl std::fmt::Debug for KeySecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("KeySecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_was_kept_gives_the_same_keys() {
        let secret = KeySecret::random().expect("this system has random bytes");
        let kept = KeySecret::from_bytes(*secret.as_bytes());
        assert_eq!(secret.key("http://site.test/"), kept.key("http://site.test/"));
        assert_eq!(KeySecret::from_seed(7), KeySecret::from_seed(7));
    }

    #[test]
    fn another_secret_gives_other_keys() {
        let url = "http://site.test/a/page/with/a/path.html";
        assert_ne!(KeySecret::from_seed(1).key(url), KeySecret::from_seed(2).key(url));
        assert_ne!(KeySecret::random().expect("random bytes"), KeySecret::random().expect("random bytes"));
    }

    #[test]
    fn debugging_output_hides_the_secret() {
        assert_eq!(format!("{:?}", KeySecret::from_seed(1)), "KeySecret(..)");
    }
}
