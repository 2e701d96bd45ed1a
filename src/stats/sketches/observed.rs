//! What a batch of links tells the sketches: small enough to stand in the log, for most of it could not be
//! recomputed after a crash.

use crate::model::LinkBatch;
use crate::sketch::fingerprint;
use crate::store::{Decoder, Encoder, Malformed};
use crate::url::host_of;

/// Links that were met, without their text.
///
/// ```text
/// observed = how many · fingerprint of each link (8 bytes) · how many · fingerprint of each host (8 bytes) and its links
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedLinks {
    /// Fingerprints of the canonical forms of what is linked.
    pub links: Vec<u64>,
    /// Fingerprints of the hosts linked, and how often each is.
    pub hosts: Vec<(u64, u32)>,
}

impl ObservedLinks {
    /// Takes up what a batch holds, in place of what was there: every link that could be requested.
    pub fn take(&mut self, batch: &LinkBatch) {
        self.links.clear();
        self.hosts.clear();
        let mut last: (&str, u32) = ("", 0);
        for link in batch.links.iter().filter(|link| link.fingerprint != 0) {
            self.links.push(link.fingerprint);
            let url = batch.url(link);
            let origin = url.get(..usize::from(link.origin_length)).unwrap_or_default();
            // most links of a page stay on its host
            if origin == last.0 {
                last.1 += 1;
            } else {
                self.count_host(last);
                last = (origin, 1);
            }
        }
        self.count_host(last);
    }

    fn count_host(&mut self, (origin, links): (&str, u32)) {
        if links == 0 {
            return;
        }
        let host = fingerprint(host_of(origin));
        match self.hosts.iter_mut().find(|(known, _)| *known == host) {
            Some((_, count)) => *count += links,
            None => self.hosts.push((host, links)),
        }
    }

    /// Whether there was nothing to take up.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
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
        Ok(observed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SkipReason, UrlHashes, Via};

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
        batch.push("mailto:x", 0, UrlHashes::NONE, Via::Link, Some(SkipReason::OtherScheme));
        let mut observed = ObservedLinks::default();
        observed.take(&batch);
        assert_eq!(observed.links.len(), 4);
        assert_eq!(observed.hosts, [(fingerprint("a.test"), 3), (fingerprint("b.test"), 1)]);
        let mut bytes = Vec::new();
        observed.encode(&mut Encoder(&mut bytes));
        assert_eq!(ObservedLinks::decode(&mut Decoder(&bytes)), Ok(observed.clone()));
        assert!(ObservedLinks::decode(&mut Decoder(&bytes[..bytes.len() - 1])).is_err());
        observed.take(&LinkBatch::default());
        assert!(observed.is_empty() && observed.hosts.is_empty());
    }
}
