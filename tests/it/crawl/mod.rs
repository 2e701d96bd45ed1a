//! Crawls of small scripted sites with the real binary, one module per kind of trouble.
//!
//! What is checked: the server's own log, and the files the crawl left.

mod accounts;
mod body;
mod canonical;
mod cookies;
mod dns;
mod end;
mod fairness;
mod framing;
mod lifecycle;
mod limits;
mod links;
mod memory;
mod misses;
mod politeness;
mod redirects;
mod resources;
mod retries;
mod robots;
mod scope;
mod security;
mod sitemap;
mod strategy;
mod traps;
