//! What a crawl knows about itself in a few hundred kilobytes: estimates of how many different URLs, hosts
//! and contents it met, what is frequent, how slow and how large pages are.
//!
//! Fed by the owner with what was met ([`links`](CrawlSketches::links)), what was new
//! ([`unique`](CrawlSketches::unique)) and what was written of pages ([`record`](CrawlSketches::record)), in that
//! batch after batch; nothing is locked. All of it is hashed without the crawl's secret, so that
//! sketches of several crawls can be merged and compared. A figure is an estimate, and is told with its bounds.
//!
//! It must not know where sketches are kept, nor when they are fed.

mod file;
mod observed;
mod portrait;
mod shape;
mod sizes;
#[cfg(test)]
mod tests;

pub use file::{CrawlPart, HostChange, KeptSketches, KeptSketchesError, encode};
pub use observed::ObservedLinks;
use observed::is_link;
pub use portrait::{Distincts, Frequency, LinkCounts, MostFrequent, Portrait, Spread, Spreads};
pub use sizes::SketchSizes;

use self::shape::{parameters, template};
use crate::model::{LinkBatch, Record};
use crate::scope::registrable_domain;
use crate::sketch::{
    CountEstimate, CountMin, CountSketch, Distinct, Frequent, FrequentKeys, Overlap, Quantiles, Update,
    fingerprint,
};
use crate::url::host_of;

/// Rows of a Count-Sketch: the median of five misses by more than its error once in some hundred times.
const CHANGE_DEPTH: usize = 5;

/// See the module's description.
#[derive(Debug, Clone)]
pub struct CrawlSketches {
    /// URLs that were linked or named, in scope or not.
    discovered: Distinct,
    /// URLs that were answered for.
    fetched: Distinct,
    /// Hosts of the URLs that were accepted.
    hosts: Distinct,
    /// Their registrable domains.
    domains: Distinct,
    /// Bodies, by digest.
    contents: Distinct,
    /// URLs that were answered for, to be held against those of another crawl.
    crawled: Overlap,
    /// How often each URL, and each host, was linked.
    link_counts: CountMin,
    /// Pages that were answered for, by host …
    frequent_hosts: Frequent,
    /// … and by registrable domain.
    frequent_domains: Frequent,
    /// URLs that were accepted, by template.
    templates: Frequent,
    /// The same by the parameters of their query.
    parameters: Frequent,
    /// What was linked most.
    targets: FrequentKeys,
    /// Milliseconds of the last attempt.
    latency: Quantiles,
    /// Milliseconds until the head of the answer.
    first_byte: Quantiles,
    /// Bytes of bodies, decoded.
    size: Quantiles,
    /// Links of a page.
    page_links: Quantiles,
    /// Pages that were answered for, by host, to be held against those of another crawl.
    pages_by_host: CountSketch,
    text: String,
}

impl CrawlSketches {
    /// Empty sketches of these sizes.
    pub fn new(sizes: SketchSizes) -> Self {
        let distinct = || Distinct::new(sizes.distinct_lg_k);
        Self {
            discovered: distinct(),
            fetched: distinct(),
            hosts: distinct(),
            domains: distinct(),
            contents: distinct(),
            crawled: Overlap::new(sizes.overlap_lg_k),
            link_counts: CountMin::new(sizes.count_error, sizes.count_risk, Update::Conservative),
            frequent_hosts: Frequent::new(sizes.frequent_items),
            frequent_domains: Frequent::new(sizes.frequent_few),
            templates: Frequent::new(sizes.frequent_items),
            parameters: Frequent::new(sizes.frequent_few),
            targets: FrequentKeys::new(sizes.frequent_targets),
            latency: Quantiles::new(sizes.compression),
            first_byte: Quantiles::new(sizes.compression),
            size: Quantiles::new(sizes.compression),
            page_links: Quantiles::new(sizes.compression),
            pages_by_host: CountSketch::new(sizes.change_width, CHANGE_DEPTH),
            text: String::new(),
        }
    }

    /// Takes in links that were met; `batch`, where it is still there, has their text.
    pub fn links(&mut self, observed: &ObservedLinks, batch: Option<&LinkBatch>) {
        let texts = batch.map(|batch| {
            (batch, batch.links.iter().filter(|link| link.fingerprint != 0 && is_link(link.via)))
        });
        match texts {
            Some((batch, links)) => {
                for (key, link) in observed.links.iter().zip(links) {
                    self.targets.add(*key, 1, Some(batch.url(link)));
                }
            }
            None => observed.links.iter().for_each(|key| self.targets.add(*key, 1, None)),
        }
        for key in &observed.links {
            self.discovered.add(*key);
            self.link_counts.add(*key, 1);
        }
        observed.named.iter().for_each(|url| self.discovered.add(*url));
        for (host, links) in &observed.hosts {
            self.link_counts.add(*host, *links);
        }
    }

    /// Takes in a URL that was accepted.
    pub fn unique(&mut self, url: &str) {
        let host = host_of(url);
        self.hosts.add(fingerprint(host));
        self.domains.add(fingerprint(registrable_domain(host).unwrap_or(host)));
        template(url, &mut self.text);
        self.templates.add(&self.text, 1);
        for name in parameters(url) {
            self.parameters.add(name, 1);
        }
    }

    /// Takes in what was written of a page, where it was answered for.
    pub fn record(&mut self, record: &Record) {
        if record.status.is_none() {
            return;
        }
        let url = fingerprint(record.canonical.as_deref().unwrap_or(&record.url));
        self.fetched.add(url);
        self.crawled.add(url);
        let host = host_of(&record.url);
        self.frequent_hosts.add(host, 1);
        self.frequent_domains.add(registrable_domain(host).unwrap_or(host), 1);
        self.pages_by_host.add(fingerprint(host), 1);
        if let Some(digest) = &record.digest {
            self.contents.add(fingerprint(digest));
        }
        self.latency.add(record.elapsed_ms as f64);
        if let Some(first_byte) = record.first_byte_ms {
            self.first_byte.add(first_byte as f64);
        }
        self.size.add(record.decoded_bytes as f64);
        self.page_links.add(record.links as f64);
    }

    /// How often a URL was linked, by the fingerprint of its canonical form; or a host, by that of its name.
    pub fn linked(&self, fingerprint: u64) -> CountEstimate {
        self.link_counts.estimate(fingerprint)
    }

    /// What does not depend on the order in which things were met, as far as they are told apart: estimates of how many
    /// there are, and the hashes of URLs that were answered for.
    #[cfg(test)]
    pub(crate) fn sets(&self) -> ([f64; 5], Vec<u64>) {
        let distinct = [&self.discovered, &self.fetched, &self.hosts, &self.domains, &self.contents];
        (distinct.map(Distinct::composite), self.crawled.retained())
    }

    /// Bytes in memory at most, whatever comes.
    pub fn most_memory_bytes(&self) -> usize {
        let distinct = [&self.discovered, &self.fetched, &self.hosts, &self.domains, &self.contents];
        let frequent = [&self.frequent_hosts, &self.frequent_domains, &self.templates, &self.parameters];
        let quantiles = [&self.latency, &self.first_byte, &self.size, &self.page_links];
        distinct.iter().map(|sketch| sketch.most_memory_bytes()).sum::<usize>()
            + frequent.iter().map(|sketch| sketch.most_memory_bytes()).sum::<usize>()
            + quantiles.iter().map(|sketch| sketch.most_memory_bytes()).sum::<usize>()
            + self.crawled.most_memory_bytes()
            + self.link_counts.memory_bytes()
            + self.targets.most_memory_bytes()
            + self.pages_by_host.memory_bytes()
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        let distinct = [&self.discovered, &self.fetched, &self.hosts, &self.domains, &self.contents];
        let frequent = [&self.frequent_hosts, &self.frequent_domains, &self.templates, &self.parameters];
        let quantiles = [&self.latency, &self.first_byte, &self.size, &self.page_links];
        distinct.iter().map(|sketch| sketch.memory_bytes()).sum::<usize>()
            + frequent.iter().map(|sketch| sketch.memory_bytes()).sum::<usize>()
            + quantiles.iter().map(|sketch| sketch.memory_bytes()).sum::<usize>()
            + self.crawled.memory_bytes()
            + self.link_counts.memory_bytes()
            + self.targets.memory_bytes()
            + self.pages_by_host.memory_bytes()
    }
}
