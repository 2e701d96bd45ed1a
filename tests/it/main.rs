//! The integration tests: one binary, so that it is linked once.
//!
//! They see dragline from outside only: sources, command line, files, requests.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod architecture;
mod chain;
mod command;
mod crawl;
mod damage;
mod disk_full;
mod explain;
mod harness;
mod max_disk;
mod name_server;
mod near_duplicates;
mod next_steps;
mod report_cases;
mod reports;
mod resume;
mod robots_access;
mod rough;
mod safe_text;
mod server;
mod sites;
mod skip_crawled;
mod stopped_early;
mod synthetic;
mod together;
mod valve;
