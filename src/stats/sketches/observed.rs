//! What a batch of links tells the sketches: small enough to stand in the log, for most of it could not be
//! recomputed after a crash.

use crate::model::{LinkBatch, Via};
use crate::sketch::fingerprint;
use crate::store::{Decoder, Encoder, Malformed};
use crate::url::host_of;

/// Links that were met, without their text.
///
/// ```text
/// observed = how many · fingerprint of each link (8 bytes) · how many · fingerprint of each host (8 bytes) and its
///            links · how many · fingerprint of each URL that is no link (8 bytes)
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedLinks {
    /// Fingerprints of the canonical forms of what pages link to.
    pub links: Vec<u64>,
    /// Fingerprints of the hosts linked, and how often each is.
    pub hosts: Vec<(u64, u32)>,
    /// Fingerprints of seeds, and of what sitemaps name: discovered, and linked by nobody.
    pub named: Vec<u64>,
}

/// Numbers of a buffer that are kept for the next batch.
const KEPT: usize = 2048;

impl ObservedLinks {
    /// Takes up what a batch holds, in place of what was there: every link that could be requested.
    pub fn take(&mut self, batch: &LinkBatch) {
        self.links.clear();
        self.hosts.clear();
        self.named.clear();
        self.links.shrink_to(KEPT);
        self.hosts.shrink_to(KEPT);
        self.named.shrink_to(KEPT);
        let mut last: (&str, u32) = ("", 0);
        for link in batch.links.iter().filter(|link| link.fingerprint != 0) {
            if !is_link(link.via) {
                self.named.push(link.fingerprint);
                continue;
            }
            self.links.push(link.fingerprint);
            let url = batch.url(link);
            let origin = url.get(..usize::from(link.origin_length)).unwrap_or_default();
            // most links of a page stay on its host
            if origin == last.0 {
                last.1 += 1;
            } else {
                self.add_host(last);
                last = (origin, 1);
            }
        }
        self.add_host(last);
        self.hosts.sort_unstable();
        self.hosts.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            first.1 += if is_same { next.1 } else { 0 };
            is_same
        });
    }

    fn add_host(&mut self, (origin, links): (&str, u32)) {
        if links > 0 {
            self.hosts.push((fingerprint(host_of(origin)), links));
        }
    }

    /// Whether there was nothing to take up.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.named.is_empty()
    }

    /// Appends it, for [`decode`](Self::decode).
    pub fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.number(self.links.len() as u64);
        for link in &self.links {
            encoder.key(*link);
        }
        encoder.number(self.hosts.len() as u64);
        for (host, links) in &self.hosts {
            encoder.key(*host);
            encoder.number(u64::from(*links));
        }
        encoder.number(self.named.len() as u64);
        for url in &self.named {
            encoder.key(*url);
        }
    }

    /// Reads it back.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are none.
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let mut observed = Self::default();
        for _ in 0..decoder.number()? {
            observed.links.push(decoder.key()?);
        }
        for _ in 0..decoder.number()? {
            observed.hosts.push((decoder.key()?, decoder.small()?));
        }
        for _ in 0..decoder.number()? {
            observed.named.push(decoder.key()?);
        }
        Ok(observed)
    }
}

/// Whether a page says so, rather than the user or a sitemap.
pub(super) fn is_link(via: Via) -> bool {
    !matches!(via, Via::Seed | Via::SitemapFile | Via::Sitemap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SkipReason, UrlHashes};

    #[test]
    fn links_and_their_hosts_are_taken_up_and_read_back() {
        let mut batch = LinkBatch::default();
        for (url, origin) in [
            ("http://a.test/1", 13),
            ("http://b.test/", 13),
            ("http://a.test:80/2", 16),
            ("https://a.test/3", 14),
        ] {
            let hashes = UrlHashes { key: 1, fingerprint: fingerprint(url) };
            batch.push(url, origin, hashes, Via::Link, Some(SkipReason::OutOfScope));
        }
        let named = UrlHashes { key: 2, fingerprint: fingerprint("named") };
        batch.push("http://c.test/", 13, named, Via::Sitemap, None);
        batch.push("mailto:x", 0, UrlHashes::NONE, Via::Link, Some(SkipReason::OtherScheme));
        let mut observed = ObservedLinks::default();
        observed.take(&batch);
        assert_eq!((observed.links.len(), observed.named.as_slice()), (4, &[fingerprint("named")][..]));
        let mut hosts = [(fingerprint("a.test"), 3), (fingerprint("b.test"), 1)];
        hosts.sort_unstable();
        assert_eq!(observed.hosts, hosts);
        let mut bytes = Vec::new();
        observed.encode(&mut Encoder(&mut bytes));
        assert_eq!(ObservedLinks::decode(&mut Decoder(&bytes)), Ok(observed.clone()));
        assert!(ObservedLinks::decode(&mut Decoder(&bytes[..bytes.len() - 1])).is_err());
        observed.take(&LinkBatch::default());
        assert!(observed.is_empty() && observed.hosts.is_empty());
    }
}
